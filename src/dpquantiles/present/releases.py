"""Results for people: every kind of result as text, HTML, Markdown and CSV."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from dpquantiles.present import chart, pictures, tables
from dpquantiles.present.ticks import position, share
from dpquantiles.present.words import (
    coverage,
    exact,
    heading,
    hidden,
    labels,
    missing_values,
    notes,
    promise,
    quantile,
)
from dpquantiles.results import Description, GroupedRelease, Release

MOST_ROWS = 50
"""The most groups that a table shows; frames, JSON and CSV have all of them."""

LEAST_TRACK = 8
"""A picture beside a table is left out if there is less room for it."""

OPEN_BELOW, OPEN_ABOVE = "or less", "or more"
"""The words for an open end of an interval in a table."""

MOST_SHORT = 10
"""The most rows that Python shows of a result."""

VALUE = "value"
"""The title of answers that are of a column without a name."""

FACTS = ("size", "expected_error")
"""The columns that say how far to trust a group."""

Shown = Release | GroupedRelease | Description


def text(result: Shown, width: int = tables.WIDTH) -> str:
    """A result as plain text: its table, with a picture if it is a release, and its promise."""
    shown = tables.narrowed(columns(result), width, keys(result))
    room = width - max(map(len, tables.lines(shown))) - len("   ")
    pictures: list[str] = []
    if isinstance(result, Release) and room >= LEAST_TRACK:
        pictures = dots(result.values, min(width, 2 * room))
    lines = [*_above(result, width), *tables.lines(shown, pictures, keys(result))]
    lines += [f"  {line}" for line in _left_out(result)]
    return "\n".join([*lines, *tables.wrapped(statements(result), width)])


def short(result: Shown, width: int = tables.WIDTH) -> str:
    """What Python shows: the first and the last rows of the table, the promise, and warnings."""
    shown = tables.shortened(columns(result, most=None), MOST_SHORT)
    table = tables.lines(tables.narrowed(shown, width, keys(result)), (), keys(result))
    lines = [*_above(result, width), *table]
    said = [promise(result), *_elsewhere(result), *hidden(result), *_warnings(result)]
    return "\n".join([*lines, *tables.wrapped(said, width)])


def _title(result: Shown) -> str:
    """What stands above a table of groups, if the column has a name."""
    named = isinstance(result, GroupedRelease) and result.column is not None
    return heading(result) if named else ""


def _above(result: Shown, width: int) -> list[str]:
    """The same as lines of text, with an empty one below."""
    return [*tables.wrapped([_title(result)], width)[1:], ""] if _title(result) else []


def keys(result: Shown) -> int:
    """How many columns of its table name the rows."""
    return len(result.by) if isinstance(result, GroupedRelease) else 1


def html(result: Shown) -> str:
    """A result as HTML, with a picture."""
    alone = isinstance(result, Release)
    parts = [tables.cells(columns(result), 300 if alone else 420, keys(result))]
    if len(result) and not (alone and len(set(result.q)) == 1):
        parts.append(pictures.element(result))
    first, *more = statements(result)
    said = [" ".join([*_left_out(result), first]), *more]
    return tables.html(parts, said, good=result.guarantee is not None, above=_title(result))


def markdown(result: Shown) -> str:
    """A result as Markdown: its whole table, and the statements below it."""
    table = tables.markdown(columns(result, most=None), keys(result))
    return "\n\n".join(filter(None, [_title(result), table, *statements(result)]))


def csv(result: Shown) -> str:
    """A result as CSV: a row for each quantile and group; an open end is an empty cell."""
    return tables.csv(result.columns())


def columns(result: Shown, most: int | None = MOST_ROWS) -> dict[str, list[str]]:
    """A result as columns of labels, by quantile; for groups, the first rows of the wide form."""
    if isinstance(result, GroupedRelease):
        rows = list(islice(zip(result.keys, result.values, strict=True), most))
        names = {name: [exact(key[i]) for key, _ in rows] for i, name in enumerate(result.by)}
        answers = [labels([values[i] for _, values in rows]) for i in range(len(result.q))]
        wide = names | dict(zip(map(quantile, result.q), answers, strict=True))
        return wide | _ends(result, most) | facts(result, most) if len(result.q) == 1 else wide
    shown = {"q": [quantile(q) for q in result.q]}
    if isinstance(result, Description):
        return shown | {name: labels(release.values) for name, release in result.releases.items()}
    ends = _ends(result)
    title = chart.short(" ".join((result.column or VALUE).split()))
    title = VALUE if title in shown or title in ends else title
    return shown | {title: labels(result.values)} | ends


def _ends(result: Release | GroupedRelease, most: int | None = None) -> dict[str, list[str]]:
    """The ends of intervals as columns of labels; none if there are no intervals."""
    table, shown = _beside(result), {}
    for name, beyond in (("lower", OPEN_BELOW), ("upper", OPEN_ABOVE)):
        if name in table:
            title, ends = table[name]
            closed = iter(labels([end for end in ends[:most] if end is not None]))
            shown[title] = [beyond if end is None else next(closed) for end in ends[:most]]
    return shown


def ranges(result: Shown, most: int | None = None) -> dict[str, list[str]]:
    """The intervals of groups in words, by quantile, where their table has no columns for them."""
    if not isinstance(result, GroupedRelease) or len(result.q) == 1:
        return {}
    every = len(result.q)
    ends = _ends(result, None if most is None else most * every).values()
    written = [_range(*pair) for pair in zip(*ends, strict=True)]
    return {quantile(q): written[i::every] for i, q in enumerate(result.q) if written}


def _range(lower: str, upper: str) -> str:
    """The two ends of an interval as one phrase."""
    if lower == OPEN_BELOW and upper == OPEN_ABOVE:
        return "any value"
    if lower == OPEN_BELOW:
        return f"{upper}\u00a0{lower}"
    return f"{lower}\u00a0{upper}" if upper == OPEN_ABOVE else f"{lower} to\u00a0{upper}"


def facts(result: Shown, most: int | None = None) -> dict[str, list[str]]:
    """The size and the expected error of each group as columns of labels, where they are known."""
    if not isinstance(result, GroupedRelease):
        return {}
    known = [column for name, column in _beside(result).items() if name in FACTS]
    every = len(result.q)
    return {title: [f"{fact:,}" for fact in some[::every][:most]] for title, some in known}


def _beside(result: Release | GroupedRelease) -> dict[str, tuple[str, list[Any]]]:
    """The columns of a frame after its keys: title and cells, by the name without underscore.

    A column has an underscore at the end of its title if a key has its name.
    """
    columns = islice(result.columns().items(), keys(result), None)
    return {title.rstrip("_"): (title, cells) for title, cells in columns}


def _left_out(result: Shown) -> list[str]:
    """A line that says how many groups are not shown, if any."""
    more = len(result) - MOST_ROWS if isinstance(result, GroupedRelease) else 0
    return [f"... and {more:,} more"] if more > 0 else []


def statements(result: Shown) -> list[str]:
    """The statements below a result: promise, intervals, hidden groups, missing values, notes."""
    if isinstance(result, Description):
        by_column = [
            f"{name}: {note}"
            for name, release in result.releases.items()
            for note in notes(release)
        ]
        return [promise(result), *missing_values(result.releases.values()), *by_column]
    intervals = [" ".join([*covered(result), *_elsewhere(result)])] if result.ranks else []
    said = [*intervals, *hidden(result), *missing_values([result]), *notes(result)]
    return [promise(result), *said]


ELSEWHERE = "The intervals are in to_frame(), and in JSON, CSV, Parquet and HTML files."


def covered(result: Release | GroupedRelease) -> list[str]:
    """What intervals mean."""
    if not result.ranks:
        return []
    ranks = result.ranks if isinstance(result, Release) else result.ranks[0]
    return [coverage(ranks.requested)]


def _elsewhere(result: Shown) -> list[str]:
    """Where the intervals are, if the table has no room for them."""
    if not isinstance(result, GroupedRelease) or len(result.q) == 1 or not result.ranks:
        return []
    return [ELSEWHERE]


def _warnings(result: Shown) -> list[str]:
    """The warnings about the answers, each once."""
    parts = result.releases.values() if isinstance(result, Description) else [result]
    warned = [part.provenance.get("warnings") for part in parts]
    return list(dict.fromkeys(one for some in warned if isinstance(some, list) for one in some))


def dots(values: Sequence[Any], width: int = tables.WIDTH) -> list[str]:
    """The quantile function as lines of characters, one for each value."""
    places = [position(value) for value in values]
    if len(set(places)) < 2:
        return []
    shares = [share(place, min(places), max(places)) for place in places]
    return tables.dots(shares, min(width // 2, tables.TRACK))
