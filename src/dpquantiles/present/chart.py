"""Charts: round values along axes of every type, and the frame that all pictures share.

Text and axes have the color of the surrounding text, so that a picture is legible on light and on
dark pages. Curves have colors that stand out on both. Pictures load nothing from outside.
"""

import datetime as dt
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.kinds.numbers import EXACT
from dpquantiles.present.words import exact

WIDTH, PLOT_HEIGHT = 440, 178
"""The width of a picture, and the height of the area for curves."""

CHARACTER, LINE_HEIGHT = 6.3, 14
"""The approximate size of a character of a label."""

COLORS = ("#3d85e0", "#e0872b", "#2f9e6b", "#b65fcf", "#d1495b", "#8a8d91")

EPOCH = dt.datetime(1970, 1, 1)
MINUTE, HOUR, DAY = 60, 3600, 86_400
CLOCK_STEPS = (1, 2, 5, 10, 15, 30)
TIME_STEPS = [
    *CLOCK_STEPS,
    *(MINUTE * n for n in CLOCK_STEPS),
    *(HOUR * n for n in (1, 2, 3, 6, 12)),
    *(DAY * n for n in (1, 2, 7, 14)),
]
MONTH_STEPS = [1, 2, 3, 6, *(12 * n * 10**k for k in range(4) for n in (1, 2, 5))]
DAYS_OF_MONTH = 30.4
LARGEST = sys.float_info.max


class Tick(NamedTuple):
    """A round value: its position and its label."""

    position: float
    label: str


def position(value: Any) -> float:
    """A number that grows with the value: seconds for dates and times, else the number itself."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - EPOCH).total_seconds()
    if isinstance(value, dt.date):
        return float((value.toordinal() - EPOCH.toordinal()) * DAY)
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return float(value)


def share(place: float, low: float, high: float) -> float:
    """The place of a position between low and high, from 0 to 1; 0.5 if they are equal.

    It computes with halves, because the distance of two doubles may overflow.
    """
    span = high / 2 - low / 2
    return (place / 2 - low / 2) / span if span else 0.5


def ticks(values: Sequence[Any], most: int) -> list[Tick]:
    """At most about `most` round values between the smallest and the largest."""
    low, high = min(values, key=position), max(values, key=position)
    first, last = position(low), position(high)
    if first == last or isinstance(low, bool):
        return [Tick(position(value), exact(value)) for value in dict.fromkeys((low, high))]
    if isinstance(low, dt.date):
        marks = list(_calendar_ticks(first, last, most, days_only=type(low) is dt.date))
    elif isinstance(low, dt.timedelta):
        marks = list(_duration_ticks(first, last, most))
    else:
        with localcontext(EXACT):
            marks = list(_number_ticks(first, last, most))
    # A narrow range may hold no round value at all; then its ends are the labels.
    return marks if len(marks) > 1 else [Tick(first, exact(low)), Tick(last, exact(high))]


def _number_step(span: float, most: int) -> Decimal:
    """The smallest of 1, 2, 5, 10, ... that divides the span into at most `most` parts."""
    power = math.floor(math.log10(span / most))
    steps = [Decimal(n).scaleb(power) for n in (1, 2, 5, 10)]
    return next((step for step in steps if span <= most * float(step)), steps[-1])


def _number_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    step = _number_step(min(last - first, LARGEST), most)
    for k in _multiples(first, last, float(step)):
        yield Tick(float(k * step), _number_label(k * step))


def _number_label(number: Decimal) -> str:
    if number == 0:
        return "0"
    small = -5 <= number.adjusted() <= 7
    return f"{number.normalize():f}" if small else f"{number.normalize():e}".replace("e+", "e")


def _multiples(first: float, last: float, step: float) -> range:
    slack = 1e-9
    return range(math.ceil(first / step - slack), math.floor(last / step + slack) + 1)


def _duration_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    step = _duration_step(last - first, most)
    for k in _multiples(first, last, step):
        yield Tick(k * step, exact(dt.timedelta(seconds=k * step)))


def _duration_step(span: float, most: int) -> float:
    """Round parts of a second, round readings of a clock, or round numbers of days."""
    if span <= most:
        return float(_number_step(span, most))
    clock = (step for step in TIME_STEPS if step < DAY and span <= most * step)
    return next(clock, DAY * float(_number_step(span / DAY, most)))


def _calendar_ticks(first: float, last: float, most: int, *, days_only: bool) -> Iterator[Tick]:
    steps = [step for step in TIME_STEPS if step >= (DAY if days_only else 1)]
    step = next((step for step in steps if last - first <= most * step), None)
    if step is None:
        yield from _month_ticks(first, last, most)
        return
    written = 10 if step >= DAY else 16 if step >= MINUTE else 19
    for k in _multiples(first, last, step):
        yield Tick(k * step, _instant(k * step).isoformat(sep=" ")[:written])


def _month_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    months = (last - first) / (DAY * DAYS_OF_MONTH)
    step = next((step for step in MONTH_STEPS if months <= most * step), MONTH_STEPS[-1])
    start, stop = _instant(first), _instant(last)
    for month in range(start.year * 12 // step * step, stop.year * 12 + 12, step):
        if month >= 12 and start <= (day := dt.datetime(month // 12, month % 12 + 1, 1)) <= stop:
            yield Tick(position(day), day.isoformat()[: 4 if step >= 12 else 7])


def _instant(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)


class Axis(NamedTuple):
    """Labeled places along one side of a picture, from the lowest place to the highest."""

    ticks: Sequence[Tick]
    low: float
    high: float
    title: str = ""
    place: Callable[[Any], float] = position
    """The place of a value, in the same unit as the other places."""

    @classmethod
    def linear(cls, values: Sequence[Any], most: int, title: str = "") -> "Axis":
        """An axis for values of one type, with at most about so many labels."""
        marks = ticks(values, most)
        places = [*map(position, values), *(mark.position for mark in marks)]
        return cls(marks, min(places), max(places), title)

    @classmethod
    def logarithmic(cls, numbers: Sequence[float], title: str = "") -> "Axis":
        """An axis for positive numbers, labeled at powers of ten, and between where there is room.

        If all numbers are close together, the axis spans one power of ten around them.
        """
        low, high = math.log10(min(numbers)), math.log10(max(numbers))
        if high - low < 0.1:
            low, high = low - 0.5, high + 0.5
        steps = (1, 2, 5) if high - low < 2.5 else (1,)
        powers = range(math.floor(low), math.ceil(high) + 1)
        marks = [step * 10.0**power for power in powers for step in steps]
        shown = [Tick(math.log10(mark), f"{mark:g}") for mark in marks]
        inside = [tick for tick in shown if low - 1e-9 <= tick.position <= high + 1e-9]
        return cls(inside, low, high, title, math.log10)

    def share(self, place: float) -> float:
        """How far along the axis a place is, from 0 to 1; places beyond it count as its ends."""
        return min(max(share(place, self.low, self.high), 0.0), 1.0)


class Chart:
    """A picture that starts with its frame: a title, two axes, and lines of text below.

    Args:
        name: A name for people who cannot see the picture.
        across: The axis at the bottom.
        up: The axis on the left.
        width: The width of the whole picture.
        right: How much room there is to the right of the plot.
        gap: The distance of the lowest value from the bottom.
        heading: A line above the plot.
        caption: Lines below the plot.
    """

    def __init__(
        self,
        name: str,
        across: Axis,
        up: Axis,
        *,
        width: int = WIDTH,
        right: float = 16,
        gap: float = 0,
        heading: str = "",
        caption: Sequence[str] = (),
    ) -> None:
        self.across, self.up, self.width = across, up, width
        self.left = 14 + CHARACTER * max(len(tick.label) for tick in up.ticks)
        self.right = width - right
        self.top = 30 if heading else 12
        self.bottom = self.top + PLOT_HEIGHT
        self.floor = self.bottom - gap
        height = self.bottom + 40 + (LINE_HEIGHT * len(caption) + 12 if caption else 0)
        style = "max-width:100%;font:11px system-ui,sans-serif"
        size = {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)}
        named = {"role": "img", "aria-label": name, "style": style}
        self.root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **named})
        self.text((8, 14), heading)
        for k, line in enumerate(caption):
            self.text((8, self.bottom + 56 + LINE_HEIGHT * k), line)
        self._draw_axes()

    def _draw_axes(self) -> None:
        for tick in self.up.ticks:
            height = self._height(tick.position)
            self.line((self.left, height), (self.right, height), opacity=0.16)
            self.text((self.left - 8, height + 4), tick.label, anchor="end")
        self.line((self.left, self.bottom), (self.right, self.bottom), opacity=0.5)
        for tick in self.across.ticks:
            x = self._distance(tick.position)
            self.line((x, self.bottom), (x, self.bottom + 4), opacity=0.5)
            self.text((x, self.bottom + 17), tick.label, anchor=self._anchor(x, tick.label))
        middle = (self.left + self.right) / 2
        self.text((middle, self.bottom + 34), self.across.title, anchor="middle")

    def _anchor(self, x: float, label: str) -> str:
        """The side of a label that its tick is at, so that the label stays in the picture."""
        half = CHARACTER * len(label) / 2
        if x < half:
            return "start"
        return "end" if x > self.width - half else "middle"

    def _distance(self, place: float) -> float:
        return round(self.left + self.across.share(place) * (self.right - self.left), 1)

    def _height(self, place: float) -> float:
        return round(self.floor - self.up.share(place) * (self.floor - self.top), 1)

    def x(self, value: Any) -> float:
        """The horizontal position of a value of the lower axis."""
        return self._distance(self.across.place(value))

    def y(self, value: Any) -> float:
        """The vertical position of a value of the left axis."""
        return self._height(self.up.place(value))

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        opacity: float,
        **style: str,
    ) -> None:
        """A straight line, in the color of the surrounding text unless `stroke` is given."""
        places = zip(("x1", "y1", "x2", "y2"), (*start, *end), strict=True)
        ends = {name: f"{place:g}" for name, place in places}
        stroke = {"stroke": "currentColor", "stroke-opacity": str(opacity)}
        SubElement(self.root, "line", ends | stroke | style)

    def curve(self, points: Sequence[tuple[float, float]], color: str, **style: str) -> None:
        """Straight lines from point to point."""
        path = {"points": " ".join(f"{x:g},{y:g}" for x, y in points), "fill": "none"}
        stroke = {"stroke": color, "stroke-width": "1.8", "stroke-linejoin": "round"}
        SubElement(self.root, "polyline", path | stroke | style)

    def text(
        self, place: tuple[float, float], words: str, *, anchor: str = "start", color: str = ""
    ) -> None:
        """Words at a place, in the color of the surrounding text unless another is given."""
        at = {"x": f"{place[0]:g}", "y": f"{place[1]:g}", "text-anchor": anchor}
        fill = {"fill": color} if color else {"fill": "currentColor", "opacity": "0.8"}
        if words:
            SubElement(self.root, "text", at | fill).text = words

    def svg(self) -> str:
        """The picture as a file of its own."""
        return tostring(self.root, encoding="unicode")
