"""Results for people: every kind of result as text, HTML and CSV, and a picture of a release."""

from collections.abc import Sequence
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from dpquantiles.present import tables
from dpquantiles.present.chart import COLORS, Axis, Chart, Tick, position, share
from dpquantiles.present.words import (
    coverage,
    exact,
    labels,
    missing_values,
    notes,
    promise,
    quantile,
)
from dpquantiles.results import Description, GroupedRelease, Release

MOST_ROWS = 50
"""The most groups that a table shows; frames, JSON and CSV have all of them."""

OPEN_BELOW, OPEN_ABOVE = "or less", "or more"
"""The words for an open end of an interval in a table."""

MANY_DOTS = 25
"""A curve with more dots than this has smaller ones."""

QUANTILES = Axis([Tick(q, f"{q:g}") for q in (0, 0.25, 0.5, 0.75, 1)], 0, 1, "quantile", float)
MOST_LABELS = 5

Shown = Release | GroupedRelease | Description


def text(result: Shown, width: int = tables.WIDTH) -> str:
    """A result as plain text: its table, with a picture if it is a release, and its promise."""
    pictures = dots(result.values, width) if isinstance(result, Release) else []
    more = [f"  {line}" for line in _left_out(result)]
    lines = tables.lines(columns(result), pictures) + more
    return "\n".join([*lines, *tables.wrapped(statements(result), width)])


def html(result: Shown) -> str:
    """A result as HTML, with a picture if it is a release of several quantiles."""
    alone = isinstance(result, Release)
    parts = [tables.cells(columns(result), height=232 if alone else 420)]
    if isinstance(result, Release) and len(set(result.q)) > 1:
        parts.append(picture(result))
    first, *more = statements(result)
    said = [" ".join([*_left_out(result), first]), *more]
    return tables.html(parts, said, good=result.guarantee is not None)


def csv(result: Release | GroupedRelease) -> str:
    """A result as CSV: a row for each quantile and group; an open end is an empty cell."""
    if isinstance(result, GroupedRelease):
        return tables.csv(result.long())
    ends = {} if result.ranks is None else _ends(result)
    return tables.csv({"q": result.q, "value": result.values, **ends})


def columns(result: Shown) -> dict[str, list[str]]:
    """A result as columns of labels, by quantile; for groups, the first rows of the wide form."""
    if isinstance(result, GroupedRelease):
        rows = list(islice(zip(result.keys, result.values, strict=True), MOST_ROWS))
        keys = {name: [exact(key[i]) for key, _ in rows] for i, name in enumerate(result.by)}
        answers = [labels([values[i] for _, values in rows]) for i in range(len(result.q))]
        return keys | dict(zip(map(quantile, result.q), answers, strict=True))
    shown = {"q": [quantile(q) for q in result.q]}
    if isinstance(result, Description):
        return shown | {name: labels(release.values) for name, release in result.releases.items()}
    shown["value"] = labels(result.values)
    if result.ranks is not None:
        for (name, ends), beyond in zip(
            _ends(result).items(), (OPEN_BELOW, OPEN_ABOVE), strict=True
        ):
            closed = iter(labels([end for end in ends if end is not None]))
            shown[name] = [beyond if end is None else next(closed) for end in ends]
    return shown


def _ends(release: Release) -> dict[str, list[Any]]:
    intervals = release.interval()
    return {"lower": [end.lower for end in intervals], "upper": [end.upper for end in intervals]}


def _left_out(result: Shown) -> list[str]:
    """A line that says how many groups are not shown, if any."""
    more = len(result) - MOST_ROWS if isinstance(result, GroupedRelease) else 0
    return [f"... and {more:,} more"] if more > 0 else []


def statements(result: Shown) -> list[str]:
    """The statements below a result: its promise, intervals, missing values, notes."""
    if isinstance(result, Description):
        by_column = [
            f"{name}: {note}"
            for name, release in result.releases.items()
            for note in notes(release)
        ]
        return [promise(result), *missing_values(result.releases.values()), *by_column]
    ranks = result.ranks if isinstance(result, Release) else None
    covered = [] if ranks is None else [coverage(ranks.requested)]
    return [promise(result), *covered, *missing_values([result]), *notes(result)]


def dots(values: Sequence[Any], width: int = tables.WIDTH) -> list[str]:
    """The quantile function as lines of characters, one for each value."""
    places = [position(value) for value in values]
    if len(set(places)) < 2:
        return []
    shares = [share(place, min(places), max(places)) for place in places]
    return tables.dots(shares, min(width // 2, tables.TRACK))


def picture(release: Release) -> Element:
    """The quantile function: a curve with a dot for every answer and a bar for its interval."""
    up = Axis.linear([*release.values, *_near_ends(release)], MOST_LABELS)
    chart = Chart("Released values by quantile", QUANTILES, up, gap=6)
    if release.ranks is not None:
        _draw_intervals(chart, release)
    answers = sorted(zip(release.q, map(position, release.values), strict=True))
    points = [(chart.x(q), chart.y(place)) for q, place in answers]
    chart.curve(points, COLORS[0])
    radius = "3.2" if len(points) <= MANY_DOTS else "1.6"
    for x, y in points:
        dot = {"cx": f"{x:g}", "cy": f"{y:g}", "r": radius, "fill": COLORS[0]}
        SubElement(chart.root, "circle", dot)
    return chart.root


def _near_ends(release: Release) -> list[Any]:
    """The ends of intervals, without open ones and ends of the grid, which may be far away."""
    if release.ranks is None:
        return []
    far = (None, *release.ranks.ends)
    return [end for interval in release.interval() for end in interval if end not in far]


def _draw_intervals(chart: Chart, release: Release) -> None:
    """A bar for every interval, cut off at the edge of the plot where its end is far away."""
    style = {"stroke": COLORS[0], "stroke-width": "5", "class": "interval"}
    for q, (lower, upper) in zip(release.q, release.interval(), strict=True):
        x, bottom = chart.x(q), chart.floor if lower is None else chart.y(lower)
        top = chart.top if upper is None else chart.y(upper)
        chart.line((x, bottom), (x, top), opacity=0.3, **style)
