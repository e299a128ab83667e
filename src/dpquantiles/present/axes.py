"""Pictures in Matplotlib: the marks of a picture in axes that callers can go on with."""

import datetime as dt
from typing import Any

from dpquantiles.errors import MissingBackend
from dpquantiles.present.chart import COLORS
from dpquantiles.present.pictures import STROKES, Picture
from dpquantiles.present.ticks import DAY, EPOCH

PIXELS = 72
"""How many pixels of an SVG are an inch here, so that both are about as large."""


MOST_DIGITS = 1e8
"""Numbers beyond have powers of ten in place of all digits."""


def draw(picture: Picture, ax: Any = None) -> Any:
    """Draw a picture in these axes, or in new ones, and return them."""
    try:
        from matplotlib import pyplot
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, get_epoch
    except ImportError:
        raise MissingBackend(
            "plot needs Matplotlib: pip install 'dpquantiles[plot]'; to_svg() needs no library"
        ) from None
    if ax is None:
        size = (6.4, 1.2 + picture.height / PIXELS)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    epoch = dt.datetime.fromisoformat(get_epoch())  # type: ignore[no-untyped-call]
    start = (EPOCH - epoch) / dt.timedelta(days=1) if picture.unit == DAY else 0.0
    for mark in picture.marks:
        xs = [start + x / (picture.unit or 1) for x, _ in mark.places]
        ys = [y for _, y in mark.places]
        if mark.kind == "label":
            side = {"above": "center", "below left": "left", "below right": "right"}[mark.side]
            move = (0, 7) if mark.side == "above" else (0, -15)
            ax.annotate(
                mark.text, (xs[0], ys[0]), move, textcoords="offset points", ha=side, fontsize=8
            )
        elif mark.kind == "dot":
            ax.plot(xs, ys, "o", color=COLORS[0], markersize=1.6 * picture.dot)
        else:
            width, opacity = STROKES[mark.kind]
            style = {"linewidth": width, "alpha": opacity, "solid_capstyle": "butt"}
            ax.plot(xs, ys, color=COLORS[0], **style)
    _label(picture, ax)
    if picture.unit == DAY:
        ax.xaxis_date()
        locator = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif picture.unit and picture.across.high < MOST_DIGITS:
        ax.xaxis.set_major_formatter("{x:,.10g}")
    return ax


def _label(picture: Picture, ax: Any) -> None:
    ax.set_yticks(
        [tick.position for tick in picture.up.ticks], [tick.label for tick in picture.up.ticks]
    )
    ax.set_ylim(picture.up.low, picture.up.high)
    if picture.unit is None:
        ax.set_xticks(
            [tick.position for tick in picture.across.ticks],
            [tick.label for tick in picture.across.ticks],
        )
    ax.set_xlabel("\n".join(filter(None, [picture.across.title, picture.caption])))
    ax.set_title(picture.heading, fontsize="medium", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
