"""Public parameters typed as text, which become values or raise an error that helps.

Some of them become values only once the type of the column is known.
"""

import csv
import difflib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dpquantiles import privacy, require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, default_grid
from dpquantiles.intervals import DATA, SUBJECTS, Intervals, require_level
from dpquantiles.kinds import Datetime, Kind, named
from dpquantiles.privacy import Guarantee
from dpquantiles.sources.cells import parse
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.sources.named import Dialect, check_readable
from dpquantiles.sources.tables import nearest, suggestion
from dpquantiles.views import MISSING_POLICIES

SPANS = frozenset({"date", "datetime", "timedelta"})
"""Types in which the distance between two values is a length of time."""

EXAMPLES = {
    "int": "18",
    "float": "0.5",
    "bool": "true",
    "decimal": "9.99",
    "date": "2024-05-31",
    "datetime": "2024-05-31T12:30",
    "timedelta": "1h 30min",
}

GUESSED = ("int", "float", "date", "datetime", "timedelta")
"""The types that the spelling of bounds may tell, in the order in which they are tried."""

LONGEST_DATE = len("2024-05-31")
"""Longer text has a time, too."""

MOST_DIGITS = 1000
"""Longer numbers would take long to become whole ones."""

MOST_QUANTILES = 100_000
"""The most quantiles that one range may stand for."""


def quantiles(text: str) -> tuple[float, ...]:
    """Numbers, percentiles, names and ranges, separated by commas; each quantile once."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return require.quantiles(q=list(dict.fromkeys(q for item in items for q in _item(item))))


def _item(text: str) -> Iterator[float]:
    if ":" in text:
        yield from _range(text)
    elif re.fullmatch(r"[pP][\d.]+", text):
        percentage = _decimal(text[1:])
        if percentage > 100:
            raise InvalidValue(f"q must lie between p0 and p100, got {text}")
        yield float(percentage / 100)
    elif suggestion(text, require.NAMED_QUANTILES):
        yield from require.quantiles(q=text)
    else:
        number = _decimal(text)
        if number.is_finite() and 1 < number <= 100:
            raise InvalidValue(
                f"q must lie between 0 and 1, got {text}; the percentile is p{text}, which is "
                f"{number / 100:f} as a quantile"
            )
        yield float(number)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidValue(
            f"q must be numbers between 0 and 1, percentiles, names or ranges, separated by "
            f"commas, got {text!r}; for example 0.25,0.5,0.75 or p99.9 or deciles or 0.1:0.9:0.1"
        ) from None


def _range(text: str) -> Iterator[float]:
    """start:stop:step with both ends, in exact decimals: 0.1:0.9:0.1 gives the nine deciles."""
    parts = [_decimal(part.strip()) for part in text.split(":")]
    if len(parts) != 3 or not all(part.is_finite() for part in parts):
        raise InvalidValue(f"q must give ranges as start:stop:step, got {text!r}")
    start, stop, step = parts
    if step <= 0 or stop < start:
        raise InvalidValue(f"q must give ranges that ascend, start <= stop, step > 0, got {text!r}")
    if stop - start > step * MOST_QUANTILES:
        raise InvalidValue(f"q must be at most {MOST_QUANTILES} quantiles, got {text!r}")
    for k in range(int((stop - start) / step) + 1):
        yield float(start + k * step)


def epsilon(text: str) -> float:
    """The privacy budget as one number."""
    return require.positive(epsilon=number("epsilon", text, "1"))


def budget(epsilon: str | None, delta: str | None, rho: str | None, neighbors: str) -> Guarantee:
    """The privacy budget: epsilon, epsilon and delta, or rho."""
    if epsilon is None and rho is None:
        raise InvalidValue("epsilon must be given, for example --epsilon 1 (or --rho 0.5)")
    return privacy.budget(
        epsilon=None if epsilon is None else number("epsilon", epsilon, "1"),
        delta=None if delta is None else number("delta", delta, "1e-6"),
        rho=None if rho is None else number("rho", rho, "0.5"),
        neighbors=neighbors,
    )


def intervals(level: str | None, of: str) -> Intervals | None:
    """Intervals at a level, of the data or of the population."""
    subject = require.choice(SUBJECTS, intervals_of=of)
    if level is None:
        if subject != DATA:
            raise InvalidValue(f"intervals must be given with intervals-of, got {of!r} alone")
        return None
    return Intervals(require_level(intervals=number("intervals", level, "0.95")), subject)


def number(parameter: str, text: str, example: str) -> float:
    """One number."""
    parsed = parse(text, "float")
    if parsed is None:
        raise InvalidValue(
            f"{parameter} must be a positive, finite number, got {text!r}; try {example}"
        )
    return float(parsed)


def whole(parameter: str, text: str) -> int:
    """A whole number, which may be written as 1000000, 1_000_000 or 1e6."""
    try:
        number = Decimal(text)
        if number.is_finite() and number.adjusted() <= MOST_DIGITS and number == int(number):
            return int(number)
    except InvalidOperation:
        pass
    raise InvalidValue(f"{parameter} must be a whole number, got {text!r}")


def dialect(
    delimiter: str | None, decimal: str, thousands: str | None, na: Iterable[str] | None
) -> Dialect:
    """How CSV files are written; a tab may be typed by its name, or as in Python."""
    tab = delimiter is not None and delimiter.lower() in ("\\t", "tab")
    return Dialect("\t" if tab else delimiter, decimal, thousands, tuple(na or ()))


def value(text: str, kind: Kind, parameter: str) -> Any:
    """The value of a parameter, in the type of the column."""
    parsed = _parse(text, kind)
    if parsed is None:
        raise InvalidValue(
            f"{parameter} must be of type {kind.name} like the column, got {text!r}; "
            f"for example {EXAMPLES[kind.name]}"
        )
    return parsed


def _parse(text: str, kind: Kind) -> Any:
    """A value, or None. A datetime without a time zone is in the time zone of the column."""
    parsed = parse(text.strip(), kind.name)
    if isinstance(kind, Datetime) and parsed is not None and parsed.tzinfo is None:
        return parsed.replace(tzinfo=kind.zone)
    return parsed


def grid_for(kind: Kind, bounds: tuple[str, str] | None, resolution: str | None) -> Grid:
    """The grid for a column of this type, with these bounds and this resolution."""
    ends = None if bounds is None else tuple(value(end, kind, "bounds") for end in bounds)
    step = None if resolution is None else distance(resolution, kind, "resolution")
    return default_grid(kind, ends, step)


def stated_grid(type: str | None, bounds: tuple[str, str] | None, resolution: str | None) -> Grid:
    """The grid of a column, from public parameters alone."""
    told = None if bounds is None else told_type(bounds, resolution)
    return grid_for(named(type or told or "float"), bounds, resolution)


def told_type(ends: Sequence[str], resolution: str | None = None) -> str | None:
    """The type that the spelling of two values tells; None if it tells none."""
    return next((name for name in GUESSED if _states(name, ends, resolution)), None)


def _states(name: str, ends: Sequence[str], resolution: str | None) -> bool:
    """Whether values are of a type; a number with a point is no int, and a day with a time no date.

    A file may have times in a column of dates, so `parse` would leave them out.
    """
    texts = [*ends, *([resolution] if resolution and name == "int" else [])]
    if name == "int" and any("." in text for text in texts):
        return False
    if name == "date" and any(len(text.strip()) > LONGEST_DATE for text in texts):
        return False
    return all(parse(text.strip(), name) is not None for text in texts)


def distance(text: str, kind: Kind, parameter: str) -> Any:
    """A distance between values, in the type that such distances have."""
    if kind.name not in SPANS:
        return value(text, kind, parameter)
    length = parse(text.strip(), "timedelta")
    if length is None:
        raise InvalidValue(
            f"{parameter} must be a length of time, got {text!r}; for example 7d or 1h"
        )
    return length


def missing_policy(text: str, kind: Kind) -> Any:
    """A policy for missing values, or a value of the column's type that replaces them."""
    if text in MISSING_POLICIES:
        return text
    stand_in = _parse(text, kind)
    if stand_in is None or (isinstance(stand_in, float) and not math.isfinite(stand_in)):
        near = difflib.get_close_matches(text, MISSING_POLICIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"for example {EXAMPLES[kind.name]}"
        raise InvalidValue(
            f"missing must be one of {', '.join(map(repr, MISSING_POLICIES))} or a value of "
            f"type {kind.name}, got {text!r}; {hint}"
        )
    return stand_in


def keys(text: str | Sequence[Sequence[str]], columns: KeyColumns) -> list[tuple[Any, ...]]:
    """Keys from a CSV file with a column for each part, from a list separated by commas, or rows.

    Rows are never taken for the name of a file.
    """
    if not isinstance(text, str):
        rows: Sequence[Sequence[str]] = text
    elif text.lower().endswith(".csv") or Path(text).exists():
        rows = _read_rows(Path(text), columns.by)
    elif len(columns.by) == 1:
        rows = [[key.strip()] for key in text.split(",")]
    else:
        raise InvalidValue(
            f"keys must be a CSV file with the columns {', '.join(columns.by)}, got {text!r}"
        )
    return [tuple(_part(*part) for part in zip(row, columns.types, strict=True)) for row in rows]


def _read_rows(path: Path, by: Sequence[str]) -> list[list[str]]:
    check_readable(path)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        header = [name.strip() for name in next(rows, [])]
        for name in by:
            if name not in header:
                raise InvalidValue(f"keys: '{path}' has no column {name!r}{nearest(name, header)}")
        places = [header.index(name) for name in by]
        kept = [row for row in rows if row]
    return [[row[i].strip() if i < len(row) else "" for i in places] for row in kept]


def _part(text: str, type_name: str) -> Any:
    """One part of a key, in the type of its column. Text that does not fit stays text."""
    if type_name == "str":
        return text
    parsed = parse(text.strip(), type_name)
    return text if parsed is None else parsed
