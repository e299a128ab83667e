"""Public parameters that were typed as text: they become values once a column's type is known."""

import csv
import difflib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, default_grid
from dpquantiles.kinds import Datetime, Kind
from dpquantiles.sources.cells import parse
from dpquantiles.sources.files import check_readable
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.sources.tables import nearest
from dpquantiles.views.filled import MISSING_POLICIES

SPANS = frozenset({"date", "datetime", "timedelta"})
"""Types whose distances are lengths of time."""

EXAMPLES = {
    "int": "18",
    "float": "0.5",
    "bool": "true",
    "decimal": "9.99",
    "date": "2024-05-31",
    "datetime": "2024-05-31T12:30",
    "timedelta": "1h 30min",
}


class Written(str):
    """A parameter as somebody typed it, such as a bound on the command line."""

    __slots__ = ()


def value(parameter: Any, kind: Kind, name: str) -> Any:
    """A parameter in the type of a column."""
    if not isinstance(parameter, Written):
        return parameter
    parsed = _parse(parameter, kind)
    if parsed is None:
        raise InvalidValue(
            f"{name} must be of type {kind.name} like the column, got {str(parameter)!r}; "
            f"for example {EXAMPLES[kind.name]}"
        )
    return parsed


def _parse(text: str, kind: Kind) -> Any:
    """A value, or None; a clock reading is one in the time zone of the column."""
    parsed = parse(text.strip(), kind.name)
    if isinstance(kind, Datetime) and parsed is not None and parsed.tzinfo is None:
        return parsed.replace(tzinfo=kind.zone)
    return parsed


def grid_for(kind: Kind, bounds: tuple[Any, Any] | None, resolution: Any) -> Grid:
    """The grid of a column of this type, from bounds and resolution as they were given."""
    ends = (
        None
        if bounds is None
        else (value(bounds[0], kind, "bounds"), value(bounds[1], kind, "bounds"))
    )
    return default_grid(kind, ends, _step(resolution, kind))


def _step(resolution: Any, kind: Kind) -> Any:
    if not isinstance(resolution, Written) or kind.name not in SPANS:
        return value(resolution, kind, "resolution")
    step = parse(resolution.strip(), "timedelta")
    if step is None:
        raise InvalidValue(
            f"resolution must be a length of time, got {str(resolution)!r}; for example 7d or 1h"
        )
    return step


def missing_policy(missing: Any, kind: Kind) -> Any:
    """A policy for missing values, or a value of the column's type that stands in for them."""
    if not isinstance(missing, Written) or missing in MISSING_POLICIES:
        return missing
    stand_in = _parse(missing, kind)
    if stand_in is None or (isinstance(stand_in, float) and not math.isfinite(stand_in)):
        near = difflib.get_close_matches(missing, MISSING_POLICIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"for example {EXAMPLES[kind.name]}"
        raise InvalidValue(
            f"missing must be one of {', '.join(map(repr, MISSING_POLICIES))} or a value of "
            f"type {kind.name}, got {str(missing)!r}; {hint}"
        )
    return stand_in


def keys(given: Any, columns: KeyColumns) -> Any:
    """Keys of a CSV file with a column for each part, or of a list with commas between."""
    if not isinstance(given, Written):
        return given
    if given.lower().endswith(".csv") or Path(given).exists():
        rows = _read_rows(Path(given), columns.by)
    elif len(columns.by) == 1:
        rows = [[key] for key in given.split(",")]
    else:
        raise InvalidValue(
            f"keys must be a CSV file with the columns {', '.join(columns.by)}, got {str(given)!r}"
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
    """One part of a key in the type of its column; text that does not fit stays text."""
    if type_name == "str":
        return text
    parsed = parse(text.strip(), type_name)
    return text if parsed is None else parsed
