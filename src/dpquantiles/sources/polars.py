"""Lazy frames of Polars, run by its streaming engine."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


STEPS = frozenset({"parquet", "csv", "ipc", "ndjson", "df", "project", "selection:", "estimated"})
STEPS |= {"select", "simple", "with_columns:", "filter", "from", "union", "plan", "cache", "end"}
"""First words of the lines that Polars writes for plans which give the same rows at every run."""

ROW_BY_ROW = frozenset({"alias", "cast", "strict_cast", "is_null", "is_not_null", "is_nan"})
ROW_BY_ROW |= {"is_not_nan", "fill_null", "fill_nan", "is_in", "is_between", "then", "otherwise"}
ROW_BY_ROW |= {"not", "abs", "neg", "round", "floor", "ceil", "clip", "sqrt", "log", "exp", "pow"}
"""Functions of one row; those of text and of dates are others."""


@contextmanager
def pinned(frame: Any) -> Iterator[Any]:
    """A lazy frame whose rows stand still: in memory, where they are more than rows of files."""
    yield frame.collect(engine="streaming").lazy() if is_derived(frame.explain()) else frame


def is_derived(plan: str) -> bool:
    """Whether rows are computed from more than a row each, or by a function that is not known."""
    plan = re.sub(r"SCAN \[.*\]", "", re.sub(r'"(?:[^"\\]|\\.)*"', "", plan))
    first = {
        line.split()[0].partition("[")[0].lower() for line in plan.splitlines() if line.split()
    }
    called = {name for space, name in re.findall(r"\.(str\.|dt\.)?(\w+)\(", plan) if not space}
    return not (first <= STEPS | {""} and called <= ROW_BY_ROW)
