"""A release for a terminal or a file: an aligned table with a picture beside, or CSV."""

import csv as csv_format
import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dpquantiles.present.axis import position, share
from dpquantiles.present.words import columns, exact, statements
from dpquantiles.results import Release

WIDTH = 80
TRACK = 36
"""Cells of the picture: each row's dot stands where its value lies."""

DOT, LINE = "●", "─"


def render(release: Release, width: int = WIDTH) -> str:
    """A release as plain text: the table, the picture, the guarantee in words."""
    lines = table(columns(release), dots(release.values, width=min(width // 2, TRACK)))
    for statement in statements(release):
        lines += ["", *textwrap.wrap(statement, width, break_on_hyphens=False)]
    return "\n".join(lines)


def table(cells: Mapping[str, Sequence[str]], picture: Sequence[str] = ()) -> list[str]:
    """Columns under their titles, all but the first to the right, and a picture of each row."""
    widths = [max(map(len, [title, *column])) for title, column in cells.items()]
    rows = [tuple(cells), *zip(*cells.values(), strict=True)]
    lines = [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for first, *rest in rows
    ]
    beside = ["", *picture] if picture else [""] * len(rows)
    return [f"  {line}  {dot}".rstrip() for line, dot in zip(lines, beside, strict=True)]


def dots(values: Sequence[Any], width: int = TRACK) -> list[str]:
    """The quantile function on its side: one line per value, as long as the value is large."""
    places = [position(value) for value in values]
    if len(set(places)) < 2:
        return []
    ends = min(places), max(places)
    steps = [round(share(place, *ends) * (width - 1)) for place in places]
    return [f" {LINE * step}{DOT}" for step in steps]


def csv(release: Release) -> str:
    """A release as CSV, complete to the last digit: q, value, and the ends of intervals, if any."""
    written = io.StringIO()
    writer = csv_format.writer(written, lineterminator="\n")
    intervals = None if release.ranks is None else release.interval()
    writer.writerow(("q", "value") if intervals is None else ("q", "value", "lower", "upper"))
    for k, (q, value) in enumerate(zip(release.q, release.values, strict=True)):
        ends = () if intervals is None else intervals[k]
        # An open end is an empty cell.
        shown = ("" if end is None else exact(end) for end in ends)
        writer.writerow((repr(q), exact(value), *shown))
    return written.getvalue()


def profiles(known: Mapping[str, Mapping[str, Any]], width: int = WIDTH) -> str:
    """Mechanisms for a terminal: each with when to use it, and what it can do."""
    return "\n\n".join(_profile(name, profile, width) for name, profile in known.items())


def _profile(name: str, profile: Mapping[str, Any], width: int) -> str:
    facts = {
        "budgets": ", ".join(profile["kinds"]),
        "neighbors": ", ".join(profile["neighbors"]),
        "bounds": "needed" if profile["needs_bounds"] else "not needed",
        "cost": profile["cost"],
    }
    title = f"{name} (research only)" if profile["research_only"] else name
    when = textwrap.wrap(profile["when"], width - 2)
    lines = [f"{label:10}{fact}" for label, fact in facts.items()]
    return "\n".join([title, *(f"  {line}" for line in [*when, *lines])])
