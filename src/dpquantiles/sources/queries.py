"""Implements most of `Engine` for engines that compute cells by expressions of their own.

A cell is an expression of the engine, such as a Spark column or a text of SQL. It computes the
value of one column in each row.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.kinds.times import MICROSECONDS
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import CODE, Engine
from dpquantiles.sources.keys import whole_code
from dpquantiles.sources.memory import arrow_as_numpy, as_numpy
from dpquantiles.sources.tables import Table, is_time, kind_of
from dpquantiles.sources.units import ABSENT, ROW, UNIT

COPY, ORDER = "dpq_copy", "dpq_order"
"""Temporary columns, besides those of `units`."""

BATCH = 1 << 18
"""How many rows of ordered groups are fetched at once."""


class QueryEngine(Engine):
    """An engine whose queries are made of cells."""

    @abstractmethod
    def with_cells(self, native: Any, cells: Mapping[str, Any]) -> Any:
        """The native table with these columns replaced or added."""

    @abstractmethod
    def times(self, table: Table, column: str, dtype: Any) -> Numbers:
        """A safe column of dates, points in time or durations, in the form that is scanned."""

    @abstractmethod
    def text_code(self, native: Any, column: str) -> Any:
        """Text or a category as its bytes in UTF-8."""

    @abstractmethod
    def day_code(self, native: Any, column: str) -> Any:
        """Dates as days since 1970."""

    @abstractmethod
    def hash_cell(self, native: Any, columns: Sequence[str], key: int) -> Any:
        """A hash of these cells of each row, with a secret key.

        Different rows have different hashes, in an order that looks random.
        """

    def safe_cell(self, table: Table, column: str) -> Any:  # noqa: ARG002
        """A column in which all values are safe; None if they are already."""
        return None

    def unit_cell(self, table: Table, unit: str) -> Any:  # noqa: ARG002
        """Names of units in a form that the engine tells apart; None if it already does."""
        return None

    def safe(self, table: Table, columns: Sequence[str]) -> Table:
        cells = {column: self.safe_cell(table, column) for column in columns}
        return replace(table, frame=self._with(table.frame, cells))

    def numbers(self, table: Table, column: str) -> Numbers:
        dtype = self.dtype(table, column)
        if is_time(dtype):
            return self.times(table, column, dtype)
        value = nw.col(column)
        if dtype == nw.Boolean:
            value = value.cast(nw.Int32)  # some databases cannot cast to a narrower type
        return Numbers(table.frame.select(value.alias(VALUE)), kind_of(dtype), self)

    def coded(self, table: Table, types: Mapping[str, str]) -> Any:
        frame = table.frame.filter(*(~nw.col(name).is_null() for name in types))
        native, codes = frame.to_native(), {"str": self.text_code, "date": self.day_code}
        stated = types.items()
        cells = {name: codes[type_](native, name) for name, type_ in stated if type_ in codes}
        whole = [whole_code(frame, name) for name, type_ in stated if type_ == "int"]
        frame = self._with(frame, cells)
        return frame.with_columns(*whole) if whole else frame

    def bound_rows(
        self, table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits
    ) -> Table:
        own = {f"dpq_column_{i}": name for i, name in enumerate(columns)}
        cells = (nw.col(name).alias(alias) for alias, name in own.items())
        absent = nw.col(unit).is_null().alias(ABSENT)
        frame = table.frame.select(nw.col(unit).alias(UNIT), absent, *cells)
        frame = self._with(frame, {UNIT: self.unit_cell(Table(frame), UNIT)})
        frame = self._hashed(frame, (UNIT, *own), ROW, bits.getrandbits(62))
        frame = self.least_of_each(frame, tuple(own), rows, bits.getrandbits(62))
        return Table(frame.select(*(nw.col(alias).alias(name) for alias, name in own.items())))

    def least_of_each(self, frame: Any, columns: Sequence[str], rows: int, key: int) -> Any:
        """At most `rows` rows of each `UNIT`, chosen by the hashes of rows, `ROW`."""
        # Number the equal rows of a unit, so that every row has the same chance.
        copy = nw.col(ABSENT).cum_count().over(ABSENT, UNIT, ROW, order_by=columns)
        frame = frame.with_columns(copy.alias(COPY))
        frame = self._hashed(frame, (ROW, COPY), ORDER, key)
        place = nw.col(ABSENT).cum_count().over(ABSENT, UNIT, order_by=(ORDER, ROW, COPY))
        return frame.filter(place <= rows)

    def ticks(self, table: Table, cell: Any, dtype: Any) -> Numbers:
        """Times from a cell that holds whole numbers; see `as_ticks`."""
        return as_ticks(self._with(table.frame, {VALUE: cell}).select(VALUE), dtype, self)

    def _hashed(self, frame: Any, columns: Sequence[str], name: str, key: int) -> Any:
        return self._with(frame, {name: self.hash_cell(frame.to_native(), columns, key)})

    def _with(self, frame: Any, cells: Mapping[str, Any]) -> Any:
        """The frame with these columns replaced or added. A column whose cell is None stays."""
        changed = {name: cell for name, cell in cells.items() if cell is not None}
        return nw.from_native(self.with_cells(frame.to_native(), changed)) if changed else frame


def as_ticks(frame: Any, dtype: Any, engine: Engine) -> Numbers:
    """Times whose `VALUE` is a whole number: days for dates, else the time unit of the type."""
    unit = "D" if dtype == nw.Date else dtype.time_unit
    letter = "m" if dtype == nw.Duration else "M"

    def array(series: Any) -> NDArray[Any]:
        whole: NDArray[np.int64] = as_numpy(series).astype(np.int64, copy=False)
        return whole.view(f"{letter}8[{unit}]")

    return Numbers(frame, kind_of(dtype), engine, tick=MICROSECONDS[unit], array=array)


def in_order(
    engine: Engine, frame: Any, runs: Sequence[range], batches: Callable[[Any], Any]
) -> Iterator[Any]:
    """The rows of adjoining runs of places, run by run, from Arrow batches of one ordered query."""
    inside = nw.col(CODE) >= runs[0].start, nw.col(CODE) < runs[-1].stop
    with engine.failure_reported():
        reader = batches(frame.filter(*inside).sort(CODE).to_native())
        left = next(reader, None)
    for run in runs:
        pieces = []
        while left is not None:
            cut = int(np.searchsorted(arrow_as_numpy(left.column(CODE)), run.stop))
            pieces.append(left.slice(0, cut))
            if cut < len(left):
                left = left.slice(cut)
                break
            with engine.failure_reported():
                left = next(reader, None)
        yield memory.of_batches(pieces, reader.schema)
