"""Lazy frames of Polars, run by its streaming engine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dpquantiles.kinds import INT64
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Intervals, Map, Parted, Range, Roots, any_of, cells_over
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import BIN, MISSING, MOST_LISTED
from dpquantiles.sources.queries import QueryEngine
from dpquantiles.sources.tables import Table

STEPS = frozenset({"parquet", "csv", "ipc", "ndjson", "df", "project", "selection:", "estimated"})
STEPS |= {"select", "simple", "with_columns:", "filter", "from", "union", "plan", "cache", "end"}
"""First words of the lines in a plan of Polars that gives the same rows in every run."""

ROW_BY_ROW = frozenset({"alias", "cast", "strict_cast", "is_null", "is_not_null", "is_nan"})
ROW_BY_ROW |= {"is_not_nan", "fill_null", "fill_nan", "is_in", "is_between", "then", "otherwise"}
ROW_BY_ROW |= {"not", "abs", "neg", "round", "floor", "ceil", "clip", "sqrt", "log", "exp", "pow"}
"""Functions of a single row. Functions of text and of dates are allowed by their namespace."""

CELLS = 1 << 15
"""The cells of equal width that tell most rows which may lie in an interval from all others."""


class Polars(QueryEngine):
    """Cells are expressions of Polars."""

    name = "Polars"
    extra = backend = "polars"

    def with_cells(self, native: Any, cells: Mapping[str, Any]) -> Any:
        return native.with_columns(**cells)

    def safe_cell(self, table: Table, column: str) -> Any:
        """Integers of 128 bits become integers of 64 bits."""
        dtype = table.dtype(column)
        if dtype not in (nw.Int128, nw.UInt128):
            return None
        least = INT64.min if dtype == nw.Int128 else 0
        return pl.col(column).clip(least, INT64.max).cast(pl.Int64)

    def times(self, table: Table, column: str, dtype: Any) -> Numbers:
        return self.ticks(table, pl.col(column).cast(pl.Int64), dtype)

    def text_code(self, native: Any, column: str) -> Any:  # noqa: ARG002
        return pl.col(column).cast(pl.String).cast(pl.Binary)

    def day_code(self, native: Any, column: str) -> Any:  # noqa: ARG002
        return pl.col(column).cast(pl.Int64)

    def unit_cell(self, table: Table, unit: str) -> Any:
        """Categories become text, because the numbers behind them depend on other rows."""
        numbered = table.dtype(unit) in (nw.Categorical, nw.Enum)
        return pl.col(unit).cast(pl.String) if numbered else None

    def hash_cell(self, native: Any, columns: Sequence[str], key: int) -> Any:  # noqa: ARG002
        return pl.struct([pl.col(column) for column in columns]).hash(seed=key)

    def binned(self, numbers: Numbers, frame: Any, bins: Map) -> Any:
        """Small integers, because groups by them hold less memory. No value makes a cast fail."""
        position = numbers.position
        prepared = frame.with_columns(bins.prepared(position).alias("prepared"))
        place = bins.bin(position, nw.col("prepared")).alias(BIN)
        whole = pl.Int32 if bins.span < 1 << 31 else pl.Int64
        bin_of = pl.col(BIN).cast(whole, strict=False).fill_null(MISSING)
        return nw.from_native(prepared.select(VALUE, place).to_native().with_columns(bin_of))

    @contextmanager
    def within(self, numbers: Numbers, bins: Parted, intervals: Intervals) -> Iterator[Any]:
        """Most rows are in cells without an interval, which takes fewer roots to tell."""
        near = numbers.frame
        if isinstance(bins, Roots):
            wholes = np.unique(intervals.first // bins.parts)
            cells, wanted = cells_over(*bins.around(wholes), CELLS)
            listed = np.flatnonzero(wanted).tolist()
            if len(listed) <= MOST_LISTED:
                near = self.binned(numbers, near, cells).filter(nw.col(BIN).is_in(listed))
        with super().within(replace(numbers, frame=near.select(VALUE)), bins, intervals) as rows:
            yield rows

    def keep(self, frame: Any, ranges: Sequence[Range]) -> Any:
        return any_of(frame, ranges)

    def collect(self, frame: Any) -> Any:
        return frame.collect(backend="polars", engine="streaming")

    def is_derived(self, native: Any) -> bool:
        plan = re.sub(r"SCAN \[.*\]", "", re.sub(r'"(?:[^"\\]|\\.)*"', "", native.explain()))
        lines = [line.split() for line in plan.splitlines() if line.split()]
        first = {words[0].partition("[")[0].lower() for words in lines}
        called = {name for space, name in re.findall(r"\.(str\.|dt\.)?(\w+)\(", plan) if not space}
        return not (first <= STEPS | {""} and called <= ROW_BY_ROW)

    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """Keep the rows in memory."""
        return nullcontext(native.collect(engine="streaming").lazy())

    def uploaded(
        self,
        native: Any,  # noqa: ARG002
        columns: Mapping[str, Sequence[Any]],
        schema: Mapping[str, Any],
    ) -> AbstractContextManager[Any]:
        return nullcontext(nw.from_dict(columns, schema, backend="polars").lazy().to_native())
