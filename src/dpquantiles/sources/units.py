"""Rows per unit bounded inside the engine: of every unit at most k rows, by a keyed random order.

Which rows of a unit are kept depends on its own rows and on random numbers only; a table in memory
gets one number per row, and a lazy table, which is read several times, an order that a secret key
and the cells of a row determine. Proof: `privacy/units.md`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kernels.many_draws import Bools, Ints, words
from dpquantiles.sources.lazy import ENGINES
from dpquantiles.sources.tables import Table

ORDER, ABSENT, UNIT, ROW, CODE = (f"dpq_{name}" for name in ("order", "absent", "u", "row", "code"))
"""Columns that are added for a while."""


def bound_rows(table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits) -> Table:
    """At most `rows` rows per unit, with the columns that are named, which tell rows apart.

    Rows without a unit are the rows of one unit.
    """
    import narwhals.stable.v2 as nw

    names, dtype = tuple(dict.fromkeys(columns)), table.dtype(unit, "unit")
    named = _named(nw.col(unit), dtype).alias(UNIT)
    absent = nw.col(unit).is_null().alias(ABSENT)
    if table.engine == "dask":  # it cannot number rows within units
        needed = dict.fromkeys((unit, *names))
        table = Table(table.frame.select(*needed).collect(backend="pandas"))
    if not table.lazy:
        kept = _chosen(table.frame.select(named, absent), rows, bits)
        series = nw.new_series(ROW, kept, nw.Boolean, backend=table.frame.implementation)
        return Table(table.frame.select(*names).filter(series))
    marked = _ordered(Table(table.frame.with_columns(named, absent)), (UNIT, *names), bits)
    place = nw.col(ABSENT).cum_count().over(ABSENT, UNIT, order_by=(ORDER, *names))
    return Table(marked.filter(place <= rows).select(*names))


def present(table: Table, column: str) -> Table:
    """The rows with a value, for policies that drop missing ones row by row."""
    import narwhals.stable.v2 as nw

    value = nw.col(column)
    held = table.frame.filter(~value.is_null())
    return Table(held.filter(~value.is_nan()) if table.dtype(column).is_float() else held)


def _named(unit: Any, dtype: Any) -> Any:
    """Names of units without nulls, which not every engine takes for one group."""
    import narwhals.stable.v2 as nw

    if dtype.is_integer():
        return unit.fill_null(0)
    return (unit if dtype == nw.String else unit.cast(nw.String)).fill_null("")


def _chosen(units: Any, rows: int, bits: Bits) -> Bools:
    """Which rows in memory are kept: of every unit those with the least random numbers."""
    codes = _codes(units[UNIT]) + 1
    codes[units[ABSENT].to_numpy()] = 0
    order = np.lexsort((words(bits, len(codes)), codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    place = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    kept = np.zeros(len(codes), dtype=bool)
    kept[order[place < rows]] = True
    return kept


def _codes(units: Any) -> Ints:
    """Equal numbers for equal names."""
    if units.dtype.is_integer():
        return np.unique(units.to_numpy(), return_inverse=True)[1].astype(np.int64)
    import narwhals.stable.v2 as nw

    frame = units.to_frame().with_row_index(ROW)
    numbered = frame.select(UNIT).unique().with_row_index(CODE)
    joined = frame.join(numbered, on=UNIT, how="inner").select(nw.col(ROW, CODE).cast(nw.Int64))
    codes = np.empty(len(frame), dtype=np.int64)
    codes[joined[ROW].to_numpy()] = joined[CODE].to_numpy()
    return codes


def _ordered(table: Table, columns: Sequence[str], bits: Bits) -> Any:
    """A lazy frame with one more column, a hash of a secret key and the cells of a row."""
    import narwhals.stable.v2 as nw

    engine = import_module(f"dpquantiles.sources.{ENGINES[table.engine]}")
    return nw.from_native(engine.hashed(table, columns, ORDER, bits.getrandbits(62)))
