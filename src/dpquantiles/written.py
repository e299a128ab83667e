"""Public parameters typed as text, which become values once the type of the column is known."""

import csv
import difflib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, default_grid
from dpquantiles.kinds import Datetime, Kind, named
from dpquantiles.sources.cells import parse
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.sources.named import check_readable
from dpquantiles.sources.tables import nearest
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
    return default_grid(kind, ends, None if resolution is None else _step(resolution, kind))


def stated_grid(type: str | None, bounds: tuple[str, str] | None, resolution: str | None) -> Grid:
    """The grid of a column, from public parameters alone."""
    name = type or next((name for name in GUESSED if _states(name, bounds, resolution)), "float")
    return grid_for(named(name), bounds, resolution)


def _states(name: str, bounds: tuple[str, str] | None, resolution: str | None) -> bool:
    """Whether bounds are written as values of a type; a number with a point is not an int."""
    texts = [*(bounds or ()), *([resolution] if resolution and name == "int" else [])]
    if name == "int" and any("." in text for text in texts):
        return False
    return bool(bounds) and all(parse(text.strip(), name) is not None for text in texts)


def _step(text: str, kind: Kind) -> Any:
    if kind.name not in SPANS:
        return value(text, kind, "resolution")
    step = parse(text.strip(), "timedelta")
    if step is None:
        raise InvalidValue(
            f"resolution must be a length of time, got {text!r}; for example 7d or 1h"
        )
    return step


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
        rows = [[key] for key in text.split(",")]
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
