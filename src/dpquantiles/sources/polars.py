"""Lazy frames of Polars, run by its streaming engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpquantiles.sources.numbers import Numbers, as_numbers, as_ticks, is_time
from dpquantiles.sources.predicates import VALUE, any_of
from dpquantiles.sources.tables import Table


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


def named(table: Table, unit: str) -> Any:
    """The frame with a column of units as Polars keeps them apart.

    Categories are text: the numbers behind them depend on other rows, and must not be hashed.
    """
    import narwhals.stable.v2 as nw

    coded = table.dtype(unit) in (nw.Categorical, nw.Enum)
    return table.frame.with_columns(nw.col(unit).cast(nw.String)) if coded else table.frame


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native frame with one more column: a hash of these cells of each row, by a key."""
    import polars as pl

    cells = pl.struct([pl.col(column) for column in columns])
    return table.frame.to_native().with_columns(cells.hash(seed=key).alias(name))
