"""Figures of accuracy and of times: curves in, SVG and PNG out; titles are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TIMES = "\N{MULTIPLICATION SIGN}"
INK = "#222222"
FAINT = "#d9d9d9"
TIMED = {9: "-", 30: "--", 99: ":"}
"""The lines of the numbers of quantiles whose times are shown."""

ERROR_LIMITS = (0.15, 150.0)
"""The same for both accuracy panels, so that they can be compared."""

LABEL_GAP = 0.075
"""The least distance between two labels, as a share of the axis."""

# Colors of Okabe and Ito, which stay apart for every kind of color vision.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "dpquantiles",
}


class Curve(NamedTuple):
    """Values over a public number, with their standard errors."""

    x: Sequence[int]
    y: Floats
    error: Floats


Panel = dict[str, Curve]


class Look(NamedTuple):
    """How one contender is drawn, and what it is called."""

    label: str
    color: str
    line: str = "-"
    width: float = 1.8


ACCURACY_LOOKS = {
    "ours": Look("dpquantiles", BLUE, width=2.8),
    "paper": Look("the paper", VERMILION),
    "split": Look("ε split\nin m parts", GREEN),
    "paper spread": Look("the paper,\nties undone", PURPLE, "--"),
}


def draw(panels: Mapping[str, Panel], path: Path) -> None:
    """Draw the two accuracy panels."""
    with mpl.rc_context(STYLE):
        canvas, axes = plt.subplot_mosaic(
            "AB", figsize=(8, 4.1), layout=ConstrainedLayoutEngine(wspace=0.05)
        )
        draw_accuracy(axes["A"], panels["normal"])
        axes["A"].set_title(normal_title(panels["normal"]))
        draw_accuracy(axes["B"], panels["flights"])
        axes["B"].set_title(flights_title(panels["flights"]))
        write(canvas, path)


def draw_time(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the times that `benchmarks.speed` measured."""
    with mpl.rc_context(STYLE):
        canvas, axes = plt.subplots(figsize=(8, 4.1), layout=ConstrainedLayoutEngine())
        curves = time_curves(rows)
        draw_times(axes, curves)
        axes.set_title(times_title(curves))
        write(canvas, path)


def write(canvas: Figure, path: Path) -> None:
    """Write a figure as SVG, and as PNG beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    canvas.savefig(path.with_suffix(".png"), dpi=200)
    plt.close(canvas)


def draw_accuracy(axes: Axes, curves: Panel) -> None:
    """Rank error over the number of quantiles, both on log axes."""
    for name, curve in curves.items():
        look = ACCURACY_LOOKS[name]
        band = (curve.y - 2 * curve.error, curve.y + 2 * curve.error)
        axes.fill_between(curve.x, *band, color=look.color, alpha=0.18, linewidth=0)
        plot(axes, curve, look)
    log_axes(axes, xticks=curves["ours"].x)
    axes.set_ylim(*ERROR_LIMITS)
    label_ends(axes, {name: (ACCURACY_LOOKS[name], curve) for name, curve in curves.items()})
    axes.set_xlabel("quantiles released together (m)")
    axes.set_ylabel("mean error in ranks, of 1000")


def draw_times(axes: Axes, curves: Mapping[tuple[str, int], Curve]) -> None:
    """Time over that of `numpy.quantile` by number of records."""
    looks = {key: time_look(*key) for key in curves}
    axes.axhline(1.0, color=INK, linewidth=1.0)
    axes.annotate(
        "numpy.quantile (not private)",
        (0, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(6, 4),
        textcoords="offset points",
    )
    for key, curve in curves.items():
        plot(axes, curve, looks[key])
    log_axes(axes, xticks=sorted({x for curve in curves.values() for x in curve.x}))
    label_ends(axes, {key: (looks[key], curve) for key, curve in curves.items()})
    axes.set_xlabel("records")
    axes.set_ylabel("time, numpy.quantile = 1")


def time_look(name: str, m: int) -> Look:
    """Blue for us and vermilion for the paper; broken lines for more quantiles."""
    ours = name == "ours"
    label = f"{'dpquantiles' if ours else 'the paper'}, m = {m}"
    return Look(label, BLUE if ours else VERMILION, TIMED[m], 2.8 if ours else 1.8)


def time_curves(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], Curve]:
    """The time of the default call, and that of the paper's algorithm, over NumPy's."""
    cells = {(row["part"], row["n"], row["m"]): row for row in rows}
    sizes = sorted({n for part, n, _ in cells if part == "open"})
    curves = {}
    for m in TIMED:
        ours = {n: cells["open", n, m] for n in sizes}
        curves["ours", m] = time_curve({n: row["ratio"] for n, row in ours.items()})
        paper = {n: cells.get(("tuned", n, m), {}).get("theirs") for n in sizes}
        theirs = {n: took / ours[n]["theirs"] for n, took in paper.items() if took}
        if theirs:
            curves["paper", m] = time_curve(theirs)
    return curves


def time_curve(points: Mapping[int, float]) -> Curve:
    """Best times have no standard error."""
    return Curve(list(points), np.array(list(points.values())), np.zeros(len(points)))


def normal_title(curves: Panel) -> str:
    """What the first panel shows."""
    paper, split = (comparison(curves["ours"], curves[name]) for name in ("paper", "split"))
    return f"Normal data, m = {curves['ours'].x[-1]}:\n{paper} the paper,\n{split} splitting ε"


def flights_title(curves: Panel) -> str:
    """What the second panel shows."""
    paper, spread = (comparison(curves["ours"], curves[name]) for name in ("paper", "paper spread"))
    return (
        f"Flight delays in minutes, m = {curves['ours'].x[-1]}:\n{paper} the paper,\n"
        f"{spread} it with ties undone"
    )


def times_title(curves: Mapping[tuple[str, int], Curve]) -> str:
    """What the panel shows, where there are the most records."""
    most = curves["ours", min(TIMED)].x[-1]
    ratios = [f"{two_digits(float(curves['ours', m].y[-1]))}{TIMES} (m = {m})" for m in TIMED]
    listed = ", ".join(ratios)
    return f"The default call on {most:,} records takes\n{listed} the time of numpy.quantile"


def two_digits(number: float) -> str:
    """A positive number to two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):,g}"


def comparison(ours: Curve, theirs: Curve) -> str:
    """The last points of two curves in words; equal where two standard errors do not part them."""
    mine, other = float(ours.y[-1]), float(theirs.y[-1])
    if abs(mine - other) < 2 * float(np.hypot(ours.error[-1], theirs.error[-1])):
        return "as accurate as"
    if mine < other:
        return f"{two_digits(other / mine)}{TIMES} less error than"
    return f"{two_digits(mine / other)}{TIMES} more error than"


def plot(axes: Axes, curve: Curve, look: Look) -> None:
    """One line with its points."""
    axes.plot(
        curve.x,
        curve.y,
        look.line,
        color=look.color,
        linewidth=look.width,
        marker="o",
        markersize=4.5,
        clip_on=False,
        label=look.label,
    )


def log_axes(axes: Axes, xticks: Sequence[int]) -> None:
    """Log scales with plain numbers, and faint lines to read values by."""
    axes.set(xscale="log", yscale="log")
    axes.set_xlim(right=xticks[-1])
    axes.xaxis.set_major_locator(FixedLocator(list(xticks)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.yaxis.set_major_locator(FixedLocator([a * 10.0**b for b in range(-3, 6) for a in (1, 3)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def label_ends(axes: Axes, curves: Mapping[Any, tuple[Look, Curve]]) -> None:
    """Name each line beside its last point, with labels pushed apart where lines meet."""
    to_share = axes.transData + axes.transAxes.inverted()
    ends = [
        (*to_share.transform((curve.x[-1], curve.y[-1])), look) for look, curve in curves.values()
    ]
    ends.sort(key=lambda end: float(end[1]))
    heights = pushed_apart([float(y) for _, y, _ in ends])
    for (x, _, look), height in zip(ends, heights, strict=True):
        axes.annotate(
            look.label,
            (float(x), height),
            xycoords="axes fraction",
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )


def pushed_apart(heights: Sequence[float]) -> list[float]:
    """Ascending heights with at least the label gap between neighbors, close to where they were."""
    steps = LABEL_GAP * np.arange(len(heights))
    free = np.asarray(heights) - steps
    raised, lowered = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    return list((raised + lowered) / 2 + steps)
