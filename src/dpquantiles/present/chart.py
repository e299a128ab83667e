"""Charts: axes of every type, and the frame that all pictures share.

Text and axes have the color of the surrounding text, so that a picture is legible on light and on
dark pages. Curves have colors that stand out on both. Pictures load nothing from outside.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.present.ticks import Tick, position, share, ticks

WIDTH, NARROW, PLOT_HEIGHT, RIGHT = 440, 300, 178, 16
"""The width of a picture, also on phones, the height of its plot, and the room to the right."""

CHARACTER, LINE_HEIGHT = 6.3, 14
"""The approximate size of a character of a label."""

LONGEST_NAME = 36
"""The most characters of a name in a picture; longer ones end in dots."""

ROW_SHARE = 18
"""The name of a row, which takes room from the plot, has a character for so many pixels of it."""

COLORS = ("#3d85e0", "#e0872b", "#2f9e6b", "#b65fcf", "#d1495b", "#8a8d91")


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
    def fitting(
        cls, values: Sequence[Any], up: "Axis", title: str = "", width: int = WIDTH
    ) -> "Axis":
        """A linear axis below another one, with as many labels as have room beside each other."""
        left = margin(up)
        room = width - RIGHT - left
        for most in range(6, 0, -1):
            axis = cls.linear(values, most, title)
            ends = [
                _extent(left + axis.share(tick.position) * room, tick.label, width)
                for tick in axis.ticks
            ]
            if all(end + CHARACTER < start for (_, end), (start, _) in pairwise(ends)):
                return axis
        return axis._replace(ticks=axis.ticks[:1])

    @classmethod
    def rows(cls, names: Sequence[str], width: int = WIDTH) -> "Axis":
        """An axis with a label for every row, from the bottom to the top; a row is one high."""
        marks = [Tick(k, short(name, width // ROW_SHARE)) for k, name in enumerate(names)]
        return cls(marks, -0.5, max(len(names), 1) - 0.5, place=float)

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


def short(name: str, most: int = LONGEST_NAME) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def line_length(width: int = WIDTH) -> int:
    """The most characters of a line of text above or below the plot."""
    return int((width - 16) / CHARACTER)


def margin(up: Axis) -> float:
    """The room for the labels of an axis on the left."""
    return 18 + CHARACTER * max((len(tick.label) for tick in up.ticks), default=0)


def _extent(x: float, label: str, width: float) -> tuple[float, float]:
    """Where a label below a place starts and ends, moved so that it stays in the picture."""
    half = CHARACTER * len(label) / 2
    middle = max(half, min(x, width - half))
    return middle - half, middle + half


class Chart:
    """A picture that starts with its frame: a title, two axes, and lines of text below.

    Args:
        name: A name for people who cannot see the picture.
        across: The axis at the bottom.
        up: The axis on the left.
        width: The width of the whole picture.
        right: How much room there is to the right of the plot.
        height: The height of the plot.
        inset: The distance of the lowest and highest places of the lower axis from both sides.
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
        right: float = RIGHT,
        height: float = PLOT_HEIGHT,
        inset: float = 0,
        heading: str = "",
        caption: Sequence[str] = (),
    ) -> None:
        self.across, self.up, self.width, self.inset = across, up, width, inset
        self.left = margin(up)
        self.right = width - right
        self.top = 30 if heading else 12
        self.bottom = self.top + height
        below = self.bottom + (40 if across.ticks else 0)
        whole = f"{below + (LINE_HEIGHT * len(caption) + 12 if caption else 0):g}"
        style = "max-width:100%;height:auto;font:11px system-ui,sans-serif;color-scheme:light dark"
        size = {"viewBox": f"0 0 {width} {whole}", "width": str(width), "height": whole}
        named = {"role": "img", "aria-label": name, "style": style}
        self.root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **named})
        self.text((8, 14), heading)
        for k, line in enumerate(caption):
            self.text((8, below + 16 + LINE_HEIGHT * k), line)
        self._draw_axes()

    def _draw_axes(self) -> None:
        for tick in self.up.ticks:
            height = self._height(tick.position)
            self.line((self.left, height), (self.right, height), opacity=0.16)
            self.text((self.left - 8, height + 4), tick.label, anchor="end")
        if not self.across.ticks:
            return
        self.line((self.left, self.bottom), (self.right, self.bottom), opacity=0.5)
        free = -CHARACTER
        for tick in self.across.ticks:
            x = self._distance(tick.position)
            self.line((x, self.bottom), (x, self.bottom + 4), opacity=0.5)
            start, end = _extent(x, tick.label, self.width)
            if start > free:  # a label that would stand on another one is left out
                self.text(((start + end) / 2, self.bottom + 17), tick.label, anchor="middle")
                free = end + CHARACTER
        middle = (self.left + self.right) / 2
        self.text((middle, self.bottom + 34), self.across.title, anchor="middle")

    def _distance(self, place: float) -> float:
        room = self.right - self.left - 2 * self.inset
        return round(self.left + self.inset + self.across.share(place) * room, 1)

    def _height(self, place: float) -> float:
        return round(self.bottom - self.up.share(place) * (self.bottom - self.top), 1)

    def x(self, value: Any) -> float:
        """The horizontal position of a value of the lower axis."""
        return self._distance(self.across.place(value))

    def y(self, value: Any) -> float:
        """The vertical position of a value of the left axis."""
        return self._height(self.up.place(value))

    def at(self, place: tuple[float, float]) -> tuple[float, float]:
        """Where a pair of places on both axes lies."""
        return self._distance(place[0]), self._height(place[1])

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

    def area(self, points: Sequence[tuple[float, float]], color: str, opacity: float) -> None:
        """A filled area."""
        path = {"points": " ".join(f"{x:g},{y:g}" for x, y in points)}
        SubElement(self.root, "polygon", path | {"fill": color, "fill-opacity": f"{opacity:g}"})

    def dot(self, place: tuple[float, float], radius: float, color: str) -> None:
        """A round mark."""
        where = {"cx": f"{place[0]:g}", "cy": f"{place[1]:g}", "r": f"{radius:g}", "fill": color}
        SubElement(self.root, "circle", where)

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
