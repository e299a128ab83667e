"""Keeps at most k rows of each unit, in memory or inside the engine, by a random order.

Which rows of a unit are kept depends only on the unit's own rows and on random numbers. In memory,
each row gets a random number. A lazy table is read several times, so a secret key and the cells of
a row determine its place in the order. Proof: `privacy/units.md`.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType
from dpquantiles.kernels.draws import words
from dpquantiles.kernels.many_draws import Bools, Ints
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import engine_of, safe
from dpquantiles.sources.memory import arrow_as_numpy, as_arrow, as_numpy
from dpquantiles.sources.tables import Table, free_name, short

PLAIN = (str, bytes, int, float, Decimal, Fraction, np.generic, dt.date, dt.time, dt.timedelta)
"""Types of Python objects that can be compared with each other without an error."""

UNIT, ABSENT, ROW, NUMBER = "dpq_u", "dpq_absent", "dpq_row", "dpq_number"
"""Temporary columns, in frames whose other columns do not have the user's names."""


def require_units(table: Table, unit: str) -> Any:
    """The type of the column that names units; TypeError if such a type cannot name units.

    A column of Python objects declares no type, so any objects are accepted.
    """
    dtype = table.names_type(unit, "unit")
    plain = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Date, nw.Datetime, nw.Time)
    if dtype.is_numeric() or dtype in plain or (dtype == nw.Object and not table.lazy):
        return dtype
    raise InvalidType(
        "unit must name a column of text, numbers, booleans, dates or times, got "
        f"{short(unit)!r} of type {dtype}; cast it to text first"
    )


def bound_rows(table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits) -> Table:
    """At most `rows` rows of each unit, with these columns only, which also tell rows apart.

    All rows without a unit count as one unit.
    """
    names = tuple(dict.fromkeys(columns))
    require_units(table, unit)
    if table.lazy:
        return engine_of(table).bound_rows(table, unit, rows, names, bits)
    absent = absent_in(table, unit).alias(ABSENT)
    kept = _chosen(table.frame.select(nw.col(unit).alias(UNIT), absent), rows, bits)
    series = nw.new_series(ROW, kept, nw.Boolean, backend=table.frame.implementation)
    return Table(table.frame.select(*names).filter(series))


def units_beside(table: Table, unit: str, columns: Sequence[str]) -> tuple[Table, str]:
    """Columns of safe values beside the names of units, and the name of the column of units.

    Names of units stay as they are, even if they are one of the value columns too. If they were
    clamped, two units could become one.
    """
    alias = free_name(UNIT, columns)
    return safe(Table(table.frame.select(nw.col(unit).alias(alias), *columns)), columns), alias


def absent_in(table: Table, column: str) -> Any:
    """Whether each cell of a column is missing. Comparing Python objects may raise."""
    if table.lazy or not is_untyped(table.frame[column]):
        return nw.col(column).is_null()
    gone = [_is_missing(cell) for cell in table.frame[column].to_list()]
    return nw.new_series(column, gone, nw.Boolean, backend=table.frame.implementation)


def named(table: Table, columns: Iterable[str]) -> Any:
    """The rows in memory in which no cell of these columns is missing: mostly all rows."""
    frame = table.frame
    # PyArrow takes long to filter a table, even if it drops nothing.
    holed = [name for name in columns if is_untyped(frame[name]) or frame[name].null_count()]
    return frame.filter(*(~absent_in(table, name) for name in holed)) if holed else frame


def present(table: Table, column: str) -> Table:
    """The rows whose value is not missing."""
    value = nw.col(column)
    rows = table.frame.filter(~absent_in(table, column))
    return Table(rows.filter(~value.is_nan()) if table.dtype(column).is_float() else rows)


def _is_missing(cell: Any) -> bool:
    """Whether a Python object is None, not equal to itself, or raises when it is compared."""
    try:
        return cell is None or bool(cell != cell)
    except Exception:
        return True


FEW_ROWS = 8
"""Up to so many rows of a unit are chosen without sorting all rows."""


def _chosen(units: Any, rows: int, bits: Bits) -> Bools:
    """Which rows in memory are kept: those of each unit with the least random numbers."""
    numbers = words(bits, len(units))
    if rows == 1 and units.implementation.is_polars() and not is_untyped(units[UNIT]):
        kept = _least_in_polars(units, numbers)
        if kept is not None:
            return kept
    absent = as_numpy(units[ABSENT]).astype(bool)
    return least_of_each(coded_units(units[UNIT], absent), numbers, rows)


def _least_in_polars(units: Any, numbers: NDArray[np.uint64]) -> Bools | None:
    """The rows with the least number of each unit, in one pass; None if two of a unit are equal.

    Polars takes all rows without a unit as one unit, as its own groups do.
    """
    drawn = nw.new_series(NUMBER, numbers, nw.UInt64, backend="polars")
    numbered = units.select(UNIT).with_columns(drawn)
    least = numbered.select(nw.col(NUMBER) == nw.col(NUMBER).min().over(UNIT))[NUMBER]
    alone = numbered[UNIT].filter(least).is_unique().all()
    return np.asarray(least.to_numpy(), dtype=bool) if alone else None


def least_of_each(codes: Ints, numbers: NDArray[np.uint64], rows: int) -> Bools:
    """The places of the least numbers of each code, at most `rows`; the first of equal ones."""
    if rows > FEW_ROWS:
        return _least_by_sorting(codes, numbers, rows)
    kept, unseen = np.zeros(len(codes), dtype=bool), np.iinfo(np.uint64).max
    code, number, place = codes, numbers, np.arange(len(codes))
    for more in reversed(range(rows)):
        # The stated type matters: NumPy would take another one of 64 bits, which is much slower.
        least = np.full(int(codes.max(initial=0)) + 1, unseen, dtype=np.uint64)
        np.minimum.at(least, code, number)
        found = number == least[code]
        if np.count_nonzero(found) != np.count_nonzero(least != unseen):
            return _least_by_sorting(codes, numbers, rows)  # two equal numbers of 64 random bits
        kept[place[found]] = True
        if more:
            code, number, place = code[~found], number[~found], place[~found]
    return kept


def _least_by_sorting(codes: Ints, numbers: NDArray[np.uint64], rows: int) -> Bools:
    order = np.lexsort((numbers, codes))
    kept = np.zeros(len(codes), dtype=bool)
    kept[order[turns(codes[order]) < rows]] = True
    return kept


def turns(ordered: Ints) -> Ints:
    """For ascending codes, how many of the same code come before each."""
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))


def coded_units(units: Any, absent: Bools) -> Ints:
    """The code of each row's unit, and zero for rows without one."""
    codes = _codes(units, absent) + 1
    codes[absent] = 0
    return codes


def _codes(units: Any, absent: Bools) -> Ints:
    """A number for each row: equal for equal names, different for different names."""
    native = units.to_native()
    # Python compares objects itself: other libraries may fail on what such a column holds.
    if is_untyped(units):
        return _object_codes(units.to_list(), absent)
    if units.implementation.is_polars():
        first = nw.col(ROW).min().over(UNIT)
        rows = units.alias(UNIT).to_frame().with_row_index(ROW).select(first)
        return np.asarray(rows[ROW].to_numpy(), dtype=np.int64)
    if has_codes(units):
        return np.asarray(native.cat.codes, dtype=np.int64)
    if units.dtype.is_integer():
        return _numbered(as_numpy(units.fill_null(0)))
    if units.dtype.is_float():  # Arrow would tell -0.0 from 0.0, and NaNs apart by their bits
        return _numbered(as_numpy(units).astype(np.float64))
    arrow = as_arrow(units)
    if arrow is None:
        return np.asarray(native.factorize()[0], dtype=np.int64)
    if hasattr(arrow.type, "value_type"):  # a dictionary, which may contain a value twice
        values = arrow.cast(arrow.type.value_type)
        return _codes(nw.from_native(values, series_only=True), absent)
    parts = [
        arrow_as_numpy(part.indices.fill_null(-1)) for part in arrow.dictionary_encode().chunks
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts], dtype=np.int64)


def _numbered(numbers: NDArray[Any]) -> Ints:
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = numbers.min(), numbers.max()
        if int(high) - int(low) < len(numbers):  # there is nothing to sort, and nothing overflows
            return np.asarray(numbers.astype(np.int64) - low.astype(np.int64))
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def has_codes(series: Any) -> bool:
    """Whether a column in memory is a categorical one of pandas, with categories of any type."""
    return hasattr(getattr(series.to_native(), "cat", None), "codes")


def is_untyped(series: Any) -> bool:
    """Whether a column in memory holds Python objects, whose types only the records tell."""
    return str(getattr(series.to_native(), "dtype", "")).lower() == "object"


def _object_codes(units: list[Any], absent: Bools) -> Ints:
    """Number Python objects as Python compares them, so that 1 and "1" are two units.

    Objects without a hash are compared by their `repr`. Objects that raise even then count as
    missing, with the number -1.
    """
    seen: dict[Any, int] = {}
    rows = zip(units, absent.tolist(), strict=True)
    codes = (-1 if gone else _object_code(unit, seen) for unit, gone in rows)
    return np.fromiter(codes, dtype=np.int64, count=len(units))


def _moment(unit: Any) -> Any:
    """A datetime with a zone in UTC, because in its zone Python calls repeated hours equal."""
    zoned = isinstance(unit, dt.datetime) and unit.tzinfo is not None
    return unit.astimezone(dt.UTC) if zoned else unit


def _object_code(unit: Any, seen: dict[Any, int]) -> int:
    kind = type(unit)
    # Objects of unknown types are compared only with objects of the same type.
    family = "plain" if issubclass(kind, PLAIN) else kind
    for name in (lambda: _moment(unit), lambda: (kind, repr(unit))):
        with suppress(Exception):
            return seen.setdefault((family, name()), len(seen))
    return -1
