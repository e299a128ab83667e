"""The type of a column: from its dtype or, for Python objects, from the types of its records.

A column's type is public, like its name. A list has no declared type, so the types of most of its
records decide. A single odd record among many never raises an error.
"""

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.errors import InvalidType
from dpquantiles.kinds.numbers import BOOLEAN, INTEGER, NUMBER_TYPES, REAL, DecimalUnits
from dpquantiles.kinds.protocol import Kind, described
from dpquantiles.kinds.times import DATE, DURATION, Datetime, zone_by_name

BY_NAME: dict[str, Kind] = {
    kind.name: kind for kind in (REAL, INTEGER, BOOLEAN, DecimalUnits(), DATE, Datetime(), DURATION)
}

BY_DTYPE: dict[str, Kind] = {
    "b": BOOLEAN,
    "i": INTEGER,
    "u": INTEGER,
    "f": REAL,
    "m": DURATION,
    "M": Datetime(),
}


def named(name: str, zone: str | None = None) -> Kind:
    """The type that a release names; a time zone that this machine lacks is ignored."""
    kind = BY_NAME[require.choice(BY_NAME, type=name)]
    try:
        return Datetime(zone_by_name(zone)) if zone and kind == Datetime() else kind
    except ValueError:
        return kind


def infer(array: NDArray[Any]) -> Kind:
    """The type of a column; TypeError if the library has no quantiles for it."""
    if array.dtype == object:
        return _of_records(np.ma.compressed(array))
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] in ("Y", "M", "W", "D"):
        return DATE
    if array.dtype.kind not in BY_DTYPE:
        raise unsupported(described(array))
    return BY_DTYPE[array.dtype.kind]


def unsupported(got: str) -> TypeError:
    """The error for a column whose type has no quantiles."""
    return InvalidType(
        f"data must be numbers, booleans, decimals, dates, datetimes or durations, got {got}"
    )


FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("duration", (dt.timedelta, np.timedelta64)),
    ("number", NUMBER_TYPES),
    ("datetime", (dt.datetime, np.datetime64)),
    ("date", (dt.date,)),
)
"""Types that may be mixed in one list; the first family that fits counts."""


def _family(kind: type) -> str:
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    return next((name for name, types in FAMILIES if issubclass(kind, types)), "other")


def _of_records(records: NDArray[Any]) -> Kind:
    types = Counter(map(type, records))
    if len(types) > 1:
        # NaN also marks missing dates, so it says nothing about the type of other records.
        types -= Counter(type(record) for record in records if _is_nan(record))
    families: Counter[str] = Counter()
    for kind, count in types.items():
        families[_family(kind)] += count
    typed = {name: count for name, count in families.items() if name not in ("missing", "other")}
    if not typed:
        if families["other"]:
            raise unsupported("text or other objects")
        return REAL
    family = max(typed, key=lambda name: (typed[name], name))
    if family == "number":
        return _widest({kind for kind in types if _family(kind) == "number"})
    if family == "datetime":
        moments = {kind for kind in types if _family(kind) == "datetime"}
        return _of_moments([record for record in records if type(record) in moments])
    return DATE if family == "date" else DURATION


def _is_nan(record: object) -> bool:
    return issubclass(type(record), float) and math.isnan(record)  # type: ignore[arg-type]


def _widest(types: set[type]) -> Kind:
    """The narrowest number type that includes all of these."""
    if any(issubclass(kind, Decimal) for kind in types):
        return DecimalUnits()
    if all(issubclass(kind, (bool, np.bool_)) for kind in types):
        return BOOLEAN
    if all(issubclass(kind, (int, np.integer, np.bool_)) for kind in types):
        return INTEGER
    return REAL


def _of_moments(records: list[Any]) -> Kind:
    """Dates if all are NumPy dates; else naive or aware, like most of them, in a common zone."""
    if all(isinstance(r, np.datetime64) and infer(np.array([r])) == DATE for r in records):
        return DATE
    zones = [record.tzinfo for record in records if _is_aware(record)]
    return Datetime() if 2 * len(zones) < len(records) else Datetime(_common(zones))


def _is_aware(record: Any) -> bool:
    try:
        return record.utcoffset() is not None
    except Exception:
        return False


def _common(zones: list[dt.tzinfo]) -> dt.tzinfo:
    try:
        (zone,) = set(zones)
    except Exception:
        return dt.UTC
    return zone
