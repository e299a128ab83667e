"""Rows per unit bounded inside the engine: of every unit at most k rows, by a keyed random order.

Which rows of a unit are kept depends on its own rows and on random numbers only; a table in memory
gets one number per row, and a lazy table, which is read several times, an order that a secret key
and the cells of a row determine. Proof: `privacy/units.md`.
"""

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kernels.many_draws import Bools, Ints, words
from dpquantiles.sources.frames import free_name
from dpquantiles.sources.tables import Table, short
from dpquantiles.sources.values import engine_of, safe

PLAIN = (str, bytes, int, float, Decimal, Fraction, np.generic, dt.date, dt.time, dt.timedelta)
"""Types of Python objects that compare with each other and never raise."""

ORDER, ABSENT, UNIT, ROW, CODE = (f"dpq_{name}" for name in ("order", "absent", "u", "row", "code"))
"""Columns that are added for a while, to a frame that holds no column under a name of the user."""


def require_units(table: Table, unit: str) -> Any:
    """The type of the column that names units; TypeError where the schema states one without names.

    A column of Python objects states no type, so all that it may hold is accepted.
    """
    import narwhals.stable.v2 as nw

    dtype = table.names_type(unit, "unit")
    plain = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Date, nw.Datetime, nw.Time)
    if dtype.is_numeric() or dtype in plain or (dtype == nw.Object and not table.lazy):
        return dtype
    raise TypeError(
        "unit must name a column of text, numbers, booleans, dates or times, got "
        f"{short(unit)!r} of type {dtype}; cast it to text first"
    )


def bound_rows(table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits) -> Table:
    """At most `rows` rows per unit, with the columns that are named, which tell rows apart.

    Rows without a unit are the rows of one unit.
    """
    import narwhals.stable.v2 as nw

    names, dtype = tuple(dict.fromkeys(columns)), require_units(table, unit)
    if table.engine == "dask":  # it cannot number rows within units
        needed = dict.fromkeys((unit, *names))
        table = Table(table.frame.select(*needed).collect(backend="pandas"))
    absent = nw.col(unit).is_null().alias(ABSENT)
    if not table.lazy:
        kept = _chosen(table.frame.select(nw.col(unit).alias(UNIT), absent), rows, bits)
        series = nw.new_series(ROW, kept, nw.Boolean, backend=table.frame.implementation)
        return Table(table.frame.select(*names).filter(series))
    own = tuple(f"dpq_column_{i}" for i in range(len(names)))
    cells = (nw.col(name).alias(alias) for name, alias in zip(names, own, strict=True))
    named = table.frame.select(_named(nw.col(unit), dtype).alias(UNIT), absent, *cells)
    marked = _ordered(Table(named), (UNIT, *own), bits)
    place = nw.col(ABSENT).cum_count().over(ABSENT, UNIT, order_by=(ORDER, *own))
    back = (nw.col(alias).alias(name) for name, alias in zip(names, own, strict=True))
    return Table(marked.filter(place <= rows).select(*back))


def units_beside(table: Table, unit: str, columns: Sequence[str]) -> tuple[Table, str]:
    """Columns of safe values beside the names of units, and what the column of names is called.

    Names stay as they are, also where they are among the values: else units could become one.
    """
    import narwhals.stable.v2 as nw

    alias = free_name(UNIT, columns)
    return safe(Table(table.frame.select(nw.col(unit).alias(alias), *columns)), columns), alias


def present(table: Table, column: str) -> Table:
    """The rows with a value, for policies that drop missing ones row by row."""
    import narwhals.stable.v2 as nw

    if not table.lazy and is_untyped(table.frame[column]):
        kept = [not _is_missing(cell) for cell in table.frame[column].to_list()]
        return Table(table.frame.filter(kept))
    value = nw.col(column)
    held = table.frame.filter(~value.is_null())
    return Table(held.filter(~value.is_nan()) if table.dtype(column).is_float() else held)


def _is_missing(cell: Any) -> bool:
    """Whether a Python object is None or not equal to itself; or raises when it is asked."""
    try:
        return cell is None or bool(cell != cell)
    except Exception:
        return True


def _named(unit: Any, dtype: Any) -> Any:
    """Names of units without nulls, which not every engine takes for one group."""
    import narwhals.stable.v2 as nw

    if dtype.is_integer():
        return unit.fill_null(0)
    return unit.cast(nw.String).fill_null("")


def _chosen(units: Any, rows: int, bits: Bits) -> Bools:
    """Which rows in memory are kept: of every unit those with the least random numbers."""
    absent = units[ABSENT].to_numpy().astype(bool)
    codes = _codes(units[UNIT], absent) + 1
    codes[absent] = 0
    order = np.lexsort((words(bits, len(codes)), codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    place = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    kept = np.zeros(len(codes), dtype=bool)
    kept[order[place < rows]] = True
    return kept


def _codes(units: Any, absent: Bools) -> Ints:
    """Equal numbers for equal names, and different ones for different names."""
    import narwhals.stable.v2 as nw

    native = units.to_native()
    # What such a column is taken for depends on its records, and not all text in it can be written.
    if is_untyped(units):
        return _object_codes(units.to_list(), absent)
    if has_codes(units):
        return np.asarray(native.cat.codes, dtype=np.int64)
    if units.dtype.is_integer():
        return np.unique(units.fill_null(0).to_numpy(), return_inverse=True)[1].astype(np.int64)
    text = units if units.dtype == nw.String else units.cast(nw.String)
    frame = text.fill_null("").to_frame().with_row_index(ROW)
    numbered = frame.select(UNIT).unique().with_row_index(CODE)
    joined = frame.join(numbered, on=UNIT, how="inner").select(nw.col(ROW, CODE).cast(nw.Int64))
    codes = np.empty(len(frame), dtype=np.int64)
    codes[joined[ROW].to_numpy()] = joined[CODE].to_numpy()
    return codes


def has_codes(series: Any) -> bool:
    """Whether a column in memory holds categories of pandas, which may be of any type."""
    return hasattr(getattr(series.to_native(), "cat", None), "codes")


def is_untyped(series: Any) -> bool:
    """Whether a column in memory holds Python objects, of which only the records tell the types."""
    return str(getattr(series.to_native(), "dtype", "")).lower() == "object"


def _object_codes(units: list[Any], absent: Bools) -> Ints:
    """As Python compares them: 1 and "1" are two units. What has no hash is told apart in words.

    What raises when it is looked at has no name, as if it were missing: -1.
    """
    seen: dict[Any, int] = {}
    rows = zip(units, absent.tolist(), strict=True)
    codes = (-1 if gone else _object_code(unit, seen) for unit, gone in rows)
    return np.fromiter(codes, dtype=np.int64, count=len(units))


def _object_code(unit: Any, seen: dict[Any, int]) -> int:
    kind = type(unit)
    # Objects of unknown types are compared with their like alone, so that none can name another.
    family = "plain" if issubclass(kind, PLAIN) else kind
    for name in (lambda: unit, lambda: (kind, repr(unit))):
        with suppress(Exception):
            return seen.setdefault((family, name()), len(seen))
    return -1


def _ordered(table: Table, columns: Sequence[str], bits: Bits) -> Any:
    """A lazy frame with one more column, a hash of a secret key and the cells of a row."""
    import narwhals.stable.v2 as nw

    hashed = engine_of(table).hashed(table, columns, ORDER, bits.getrandbits(62))
    return nw.from_native(hashed)
