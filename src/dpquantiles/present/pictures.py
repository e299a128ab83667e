"""Pictures of results: marks at places of two axes, for SVG here and for Matplotlib in `axes`.

A release is the steps of its distribution, with a bar for each interval. Groups and columns are
rows: a line for all quantiles, a bar for the middle half of them, and a dot for the median.
"""

import datetime as dt
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, Literal, NamedTuple
from xml.etree.ElementTree import Element

from dpquantiles.intervals import Interval, MeasuredRanks
from dpquantiles.present import chart
from dpquantiles.present.chart import COLORS, PLOT_HEIGHT, Axis, Chart
from dpquantiles.present.ticks import DAY, Tick, position, share
from dpquantiles.present.words import exact, heading, labels, quantile
from dpquantiles.results import Description, GroupedRelease, Release

MANY_DOTS = 25
"""A curve with more dots than this has smaller ones."""

MOST_GROUPS = 40
"""Of more groups, those with the lowest and the highest medians are drawn."""

GROUP_HEIGHT, COLUMN_HEIGHT = 18, 48
"""The height of a row in pixels: for a group, and for a column with labels."""

FAR = 300
"""An answer that is this many times the middle half of the answers away is drawn at the edge."""

LONGEST_LABEL = 18
"""The most characters of a label in a description; fewer if two of them do not fit into a row."""

INSET = 8
"""The room between the outermost dots and the sides of the plot."""

SHARES = Axis([Tick(q, f"{q:.0%}") for q in (0, 0.25, 0.5, 0.75, 1)], 0, 1, place=float)

Place = tuple[float, float]
Side = Literal["above", "below left", "below right"]


class Mark(NamedTuple):
    """A line through places on the axes, or a dot or a label at a single one."""

    kind: Literal["curve", "interval", "line", "bar", "dot", "label"]
    places: Sequence[Place]
    text: str = ""
    side: Side = "above"


class Stroke(NamedTuple):
    """How a line is drawn."""

    width: float
    opacity: float


STROKES = {
    "curve": Stroke(1.8, 1),
    "interval": Stroke(5, 0.3),
    "line": Stroke(1.8, 0.6),
    "bar": Stroke(8, 0.45),
}


class Picture(NamedTuple):
    """Marks on two axes, with words around them."""

    name: str
    across: Axis
    up: Axis
    marks: Sequence[Mark]
    height: float = PLOT_HEIGHT
    heading: str = ""
    caption: str = ""
    dot: float = 3.2
    width: int = chart.WIDTH
    unit: float | None = None
    """For Matplotlib, what one step of its own axis is: a number, or a day; None for no such."""


Drawn = Release | GroupedRelease | Description


def picture(result: Drawn, width: int = chart.WIDTH) -> Picture:
    """The picture of a result."""
    if isinstance(result, Release):
        return _distribution(result, width)
    if isinstance(result, GroupedRelease):
        return _groups(result, width)
    return _description(result, width)


def svg(result: Drawn) -> str:
    """The picture of a result as a file of its own."""
    return drawn(picture(result)).svg()


def element(result: Drawn, width: int = chart.WIDTH) -> Element:
    """The picture of a result as a part of a page."""
    return drawn(picture(result, width)).root


def drawn(shown: Picture) -> Chart:
    """A picture as SVG."""
    drawing = Chart(
        shown.name,
        shown.across,
        shown.up,
        width=shown.width,
        height=shown.height,
        inset=INSET,
        heading=shown.heading,
        caption=textwrap.wrap(shown.caption, chart.line_length(shown.width)),
    )
    for mark in shown.marks:
        places = [drawing.at(place) for place in mark.places]
        if mark.kind == "label":
            _write(drawing, places[0], mark)
        elif mark.kind == "dot":
            drawing.dot(places[0], shown.dot, COLORS[0])
        else:
            width, opacity = STROKES[mark.kind]
            style = {"stroke-width": f"{width:g}", "stroke-opacity": f"{opacity:g}"}
            drawing.curve(places, COLORS[0], **{"class": mark.kind, **style})
    return drawing


def _write(drawing: Chart, place: Place, mark: Mark) -> None:
    x, y = place
    anchors = {"above": "middle", "below left": "start", "below right": "end"}
    if mark.side == "above":  # the label of a median near the edge stays in the picture
        half = chart.CHARACTER * len(mark.text) / 2
        x = max(drawing.left + half, min(x, drawing.right - half))
    lower = y - 9 if mark.side == "above" else y + 17
    drawing.text((x, lower), mark.text, anchor=anchors[mark.side])


def _unit(values: Sequence[Any]) -> float | None:
    if all(isinstance(value, dt.date) and 600 < value.year < 9400 for value in values):
        return DAY  # with margins, dates beyond leave the years that Matplotlib knows
    plain = all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
    return 1 if plain else None


def _distribution(release: Release, width: int) -> Picture:
    """The share of records up to each value, in steps from answer to answer."""
    near = _near([*release.values, *_near_ends(release)], release.values)
    across = Axis.fitting(near or [0], SHARES, _title(release), width)
    answers = sorted(zip(release.q, _inside(across, release.values), strict=True))
    dots = [(place, q) for q, place in answers]
    corners = [(place, low) for (_, low), (place, _) in pairwise(dots)]
    steps = [place for pair in zip(dots[1:], corners, strict=True) for place in reversed(pair)]
    return Picture(
        "Share of records up to each value",
        across,
        SHARES,
        [
            *_interval_bars(release, across),
            *([Mark("curve", [dots[0], *steps])] if len(dots) > 1 else []),
            *(Mark("dot", [dot]) for dot in dots),
        ],
        heading="Share of records up to each value",
        caption=" ".join([*_interval_caption(release.ranks), *_far_caption(release.values)]),
        dot=3.2 if len(dots) <= MANY_DOTS else 1.6,
        width=width,
        unit=_unit(release.values),
    )


def _title(release: Release | GroupedRelease) -> str:
    """The name of the axis of values: that of the column, if it has one."""
    return chart.short(release.column or "value")


def _near(values: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
    """Values that are not absurdly far away, as answers about too few records may be."""
    places = sorted(map(position, answers))
    spare = len(places) // 4
    if not spare or places[spare] == places[-1 - spare]:
        return list(values)
    low, high = places[spare], places[-1 - spare]
    reach = FAR * (high - low)
    return [value for value in values if low - reach <= position(value) <= high + reach]


def _far_caption(answers: Sequence[Any]) -> list[str]:
    count = len(answers) - len(_near(answers, answers))
    if not count:
        return []
    who = "One answer lies" if count == 1 else f"{count} answers lie"
    return [f"{who} far outside, and {'is' if count == 1 else 'are'} drawn at the edge."]


def _near_ends(release: Release) -> list[Any]:
    """The ends of intervals, without open ones and ends of the grid, which may be far away."""
    if release.ranks is None:
        return []
    far = (None, *release.ranks.ends)
    return [end for interval in release.interval() for end in interval if end not in far]


def _interval_bars(release: Release, across: Axis) -> Iterator[Mark]:
    """A bar for every interval, cut off at the edge of the plot where its end is far away."""
    if release.ranks is None:
        return
    for q, interval in zip(release.q, release.interval(), strict=True):
        yield _interval_bar(across, q, *interval)


def _interval_bar(across: Axis, height: float, lower: Any, upper: Any) -> Mark:
    left = across.low if lower is None else max(position(lower), across.low)
    right = across.high if upper is None else min(position(upper), across.high)
    return Mark("interval", [(left, height), (right, height)])


def _interval_caption(ranks: MeasuredRanks | None) -> list[str]:
    if ranks is None:
        return []
    level = 100 * ranks.requested.level
    return [f"Bars contain the true quantile with a chance of at least {level:.6g}%."]


class Row(NamedTuple):
    """Which of some quantiles make the line, the bar and the dot of a row."""

    first: int
    low: int
    middle: int | None
    high: int
    last: int

    @classmethod
    def of(cls, q: Sequence[float]) -> "Row":
        """The outermost, those around the middle half, and the one next to the median."""
        order = sorted(range(len(q)), key=q.__getitem__)
        spare = len(order) // 4
        middle = min(order, key=lambda k: abs(q[k] - 0.5))
        inside = len(order) == 1 or middle not in (order[0], order[-1])
        return cls(order[0], order[spare], middle if inside else None, order[-1 - spare], order[-1])

    def marks(self, places: Sequence[float], height: float) -> Iterator[Mark]:
        """The marks of a row, from the places of all its answers."""
        if self.first != self.low:
            yield Mark("line", [(places[self.first], height), (places[self.last], height)])
        if self.first != self.last:
            yield Mark("bar", [(places[self.low], height), (places[self.high], height)])
        if self.middle is not None:
            yield Mark("dot", [(places[self.middle], height)])

    def legend(self, q: Sequence[float]) -> str:
        """What the marks mean."""
        parts = []
        if self.first != self.low:
            parts.append(f"line: {quantile(q[self.first])} to {quantile(q[self.last])}")
        if self.first != self.last:
            parts.append(f"bar: {quantile(q[self.low])} to {quantile(q[self.high])}")
        if self.middle is not None:
            parts.append(f"dot: {quantile(q[self.middle])}")
        return f"Quantiles, {'; '.join(parts)}."


def _groups(release: GroupedRelease, width: int) -> Picture:
    """A row for each group, on one axis, with the highest median at the top."""
    row = Row.of(release.q)
    by = row.low if row.middle is None else row.middle
    rows = sorted(range(len(release)), key=lambda k: position(release.values[k][by]))
    half, hidden = MOST_GROUPS // 2, len(rows) - MOST_GROUPS
    shown = rows if hidden <= 0 else [*rows[:half], None, *rows[-half:]]
    up = Axis.rows(
        ["…" if k is None else ", ".join(map(exact, release.keys[k])) for k in shown], width
    )
    heights = {k: height for height, k in enumerate(shown) if k is not None}
    values = [value for k in heights for value in release.values[k]]
    bars = _group_intervals(release, heights)
    ends = [end for _, interval in bars for end in interval if end is not None]
    near = _near([*values, *ends], values) or [0]
    across = Axis.fitting(near, up, _title(release), width)
    left_out = f" {hidden:,} groups in the middle are left out." if hidden > 0 else ""
    return Picture(
        heading(release),
        across,
        up,
        [
            *(_interval_bar(across, height, *interval) for height, interval in bars),
            *(
                mark
                for k, height in heights.items()
                for mark in row.marks(_inside(across, release.values[k]), height)
            ),
        ],
        height=max(1, len(shown)) * GROUP_HEIGHT,
        heading=chart.short(heading(release), chart.line_length(width)),
        caption=" ".join(
            [
                row.legend(release.q) + left_out,
                *(_interval_caption(release.ranks[0]) if bars and release.ranks else []),
                *_far_caption(values),
            ]
        ),
        width=width,
        unit=_unit(values),
    )


def _group_intervals(
    release: GroupedRelease, heights: Mapping[int, int]
) -> list[tuple[int, Interval]]:
    """The heights of groups and their intervals; none where there are several quantiles."""
    if not release.ranks or len(release.q) > 1:
        return []
    ends = release.columns()
    return [(height, Interval(ends["lower"][k], ends["upper"][k])) for k, height in heights.items()]


def _inside(across: Axis, values: Sequence[Any]) -> list[float]:
    """The places of values, at an edge of the plot where they lie beyond it."""
    return [min(max(position(value), across.low), across.high) for value in values]


def _description(description: Description, width: int) -> Picture:
    """A row for each column, from the top, each on its own scale with labels."""
    row, marks = Row.of(description.q), list[Mark]()
    names = list(reversed(list(description)))
    up = Axis.rows(names, width)
    room = width - chart.RIGHT - chart.margin(up) - 2 * INSET
    most = min(LONGEST_LABEL, int(room / 2 / chart.CHARACTER))
    for height, name in enumerate(names):
        values = description[name].values
        spots = [position(value) for value in values]
        ends = (spots[row.first], spots[row.last])
        places = [share(spot, *ends) for spot in spots]
        marks += row.marks(places, height)
        written = _brief(values, most)
        if row.middle is not None:
            marks.append(Mark("label", [(places[row.middle], height)], written[row.middle]))
        if ends[0] != ends[1]:
            marks += [
                Mark("label", [(0, height)], written[row.first], "below left"),
                Mark("label", [(1, height)], written[row.last], "below right"),
            ]
    return Picture(
        "Quantiles by column",
        Axis([], 0, 1, place=float),
        up,
        marks,
        height=len(names) * COLUMN_HEIGHT,
        heading="Quantiles by column, each on its own scale",
        caption=row.legend(description.q),
        width=width,
    )


def _brief(values: Sequence[Any], most: int) -> list[str]:
    """Short labels: times to the day, the minute or the second, whichever their span needs."""
    written = labels(values)
    if values and all(isinstance(value, dt.datetime) for value in values):
        span = position(max(values)) - position(min(values))
        shown = slice(10) if span >= 10 * DAY else slice(16) if span >= 600 else slice(5, 19)
        written = [value.isoformat(sep=" ")[shown] for value in values]
    return [_shortened(value, label, most) for value, label in zip(values, written, strict=True)]


def _shortened(value: Any, label: str, most: int) -> str:
    long = len(label) > most
    return f"{value:.6g}" if long and isinstance(value, Real) else chart.short(label, most)
