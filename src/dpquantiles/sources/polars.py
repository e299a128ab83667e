"""Lazy frames of Polars, run by its streaming engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpquantiles.kinds import INT64
from dpquantiles.sources.numbers import Numbers, as_numbers, as_ticks, is_time
from dpquantiles.sources.predicates import VALUE, any_of
from dpquantiles.sources.tables import Table


def safe(table: Table, columns: Sequence[str]) -> Table:
    """Integers of 128 bits as ones of 64."""
    import narwhals.stable.v2 as nw
    import polars as pl

    wide = [column for column in columns if table.dtype(column) in (nw.Int128, nw.UInt128)]
    least = {column: INT64.min if table.dtype(column) == nw.Int128 else 0 for column in wide}
    narrow = [pl.col(name).clip(low, INT64.max).cast(pl.Int64) for name, low in least.items()]
    native = table.frame.to_native().with_columns(narrow)
    return replace(table, frame=nw.from_native(native))


def numbers(table: Table, column: str) -> Numbers:
    """A column as Polars compares and bins it."""
    import narwhals.stable.v2 as nw

    dtype = table.dtype(column)
    if is_time(dtype):
        ticks = nw.col(column).cast(nw.Int64).alias(VALUE)
        found = as_ticks(table.frame.select(ticks), dtype)
    else:
        found = as_numbers(table, column)
    return replace(found, keep=any_of, collect=_collect, engine="Polars", extra="polars")


def _collect(frame: Any) -> Any:
    return frame.collect(backend="polars", engine="streaming")


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native frame with one more column: a hash of these cells of each row, by a key."""
    import polars as pl

    cells = pl.struct([pl.col(column) for column in columns])
    return table.frame.to_native().with_columns(cells.hash(seed=key).alias(name))
