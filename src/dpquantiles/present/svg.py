"""The released quantile function as an SVG picture that needs nothing from outside.

Text and axes take the color of the text around, so that the picture is legible on light and on
dark pages alike; the curve is of a blue that stands out from both.
"""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from dpquantiles.present.axis import Tick, position, share, ticks
from dpquantiles.results import Release

WIDTH, HEIGHT = 440, 230
TOP, RIGHT, BOTTOM = 12, 16, 40
CHARACTER = 6.3
"""About the width of a character of an axis label."""

CURVE = "#3d85e0"
QUANTILE_TICKS = (0, 0.25, 0.5, 0.75, 1)
VALUE_TICKS = 5


class _Frame:
    """Where quantiles and values stand in the picture."""

    def __init__(self, values: Sequence[Any], marks: Sequence[Tick]) -> None:
        places = [position(value) for value in values] + [mark.position for mark in marks]
        self.low, self.high = min(places), max(places)
        self.left = 14 + CHARACTER * max(len(mark.label) for mark in marks)

    def x(self, q: float) -> float:
        return round(self.left + q * (WIDTH - self.left - RIGHT), 1)

    def y(self, place: float) -> float:
        floor = HEIGHT - BOTTOM - 6
        return round(floor - share(place, self.low, self.high) * (floor - TOP), 1)

    def bar(self, value: Any, side: int) -> float:
        """The height of a lower (-1) or upper end of an interval, at most that of the frame."""
        beyond = self.low if side < 0 else self.high
        place = beyond if value is None else position(value)
        return self.y(min(max(place, self.low), self.high))


def picture(release: Release) -> Element:
    """The quantile function: a dot for every answer, a bar for its interval, joined in order."""
    seen = [*release.values, *_known_ends(release)]
    marks = ticks(seen, VALUE_TICKS)
    frame = _Frame(seen, marks)
    root = canvas("Released values by quantile", WIDTH, HEIGHT)
    _value_axis(root, frame, marks)
    _quantile_axis(root, frame)
    if release.ranks is not None:
        _bars(root, frame, release)
    _curve(root, frame, release)
    return root


def _known_ends(release: Release) -> list[Any]:
    """Ends of intervals, but not open ones, nor those at the ends of the grid, maybe far away."""
    intervals = () if release.ranks is None else release.interval()
    far = (None,) if release.ranks is None else (None, *release.ranks.ends)
    return [end for interval in intervals for end in interval if end not in far]


def _bars(root: Element, frame: _Frame, release: Release) -> None:
    """A bar for every interval, cut off at the frame where it goes on to the end of the grid."""
    for q, (lower, upper) in zip(release.q, release.interval(), strict=True):
        x, bottom, top = frame.x(q), frame.bar(lower, -1), frame.bar(upper, 1)
        places = {"x1": f"{x:g}", "x2": f"{x:g}", "y1": f"{bottom:g}", "y2": f"{top:g}"}
        style = {"stroke": CURVE, "stroke-width": "5", "stroke-opacity": "0.3", "class": "interval"}
        SubElement(root, "line", places | style)


def _value_axis(root: Element, frame: _Frame, marks: Sequence[Tick]) -> None:
    for mark in marks:
        height = frame.y(mark.position)
        line(root, (frame.left, height), (WIDTH - RIGHT, height), opacity=0.16)
        text(root, (frame.left - 8, height + 4), mark.label, anchor="end")


def _quantile_axis(root: Element, frame: _Frame) -> None:
    base = HEIGHT - BOTTOM
    line(root, (frame.left, base), (WIDTH - RIGHT, base), opacity=0.5)
    for q in QUANTILE_TICKS:
        line(root, (frame.x(q), base), (frame.x(q), base + 4), opacity=0.5)
        text(root, (frame.x(q), base + 17), f"{q:g}", anchor="middle")
    text(root, (frame.x(0.5), HEIGHT - 6), "quantile", anchor="middle")


def _curve(root: Element, frame: _Frame, release: Release) -> None:
    answers = sorted(zip(release.q, map(position, release.values), strict=True))
    points = [(frame.x(q), frame.y(place)) for q, place in answers]
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    style = {"fill": "none", "stroke": CURVE, "stroke-width": "1.8", "stroke-linejoin": "round"}
    SubElement(root, "polyline", {"points": path, **style})
    radius = "3.2" if len(points) <= 25 else "1.6"
    for x, y in points:
        SubElement(root, "circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": radius, "fill": CURVE})


def canvas(label: str, width: int, height: int) -> Element:
    """An empty picture, and what it is called for those who cannot see it."""
    return Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "role": "img",
            "aria-label": label,
            "style": "max-width:100%;font:11px system-ui,sans-serif",
        },
    )


def line(
    root: Element, start: tuple[float, float], end: tuple[float, float], *, opacity: float
) -> None:
    """A straight line in the color of the text around."""
    ends = zip(("x1", "y1", "x2", "y2"), (*start, *end), strict=True)
    stroke = {"stroke": "currentColor", "stroke-opacity": str(opacity)}
    SubElement(root, "line", {name: f"{place:g}" for name, place in ends} | stroke)


def text(root: Element, place: tuple[float, float], words: str, *, anchor: str) -> None:
    """Words at a place, in the color of the text around."""
    at = {"x": f"{place[0]:g}", "y": f"{place[1]:g}", "text-anchor": anchor}
    SubElement(root, "text", at | {"fill": "currentColor", "opacity": "0.8"}).text = words
