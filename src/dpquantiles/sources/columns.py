"""Columns in the form that engines scan: values, their positions, and the scans of both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import Kind
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Intervals, Map, Parted, Range
from dpquantiles.sources.engine import BIN, CODE, COUNT, HIGH, LOW, MISSING, POSITION, Engine
from dpquantiles.sources.memory import as_numpy
from dpquantiles.views.protocol import Ints

_DTYPES = {"float": "f8", "int": "i8", "bool": "i1", "date": "M8[D]", "datetime": "M8[us]"}
_DTYPES |= {"timedelta": "m8[us]", "decimal": "O"}


class Counts(NamedTuple):
    """The bins that hold records, and the number of missing records."""

    low: Any
    """The least value of each bin, as a Narwhals series."""
    high: Any
    counts: Ints
    bins: Ints
    """The number of each bin or interval."""
    missing: int


def plain(series: Any) -> NDArray[Any]:
    """Collected values as an array that a kind can read."""
    return memory.read(series.to_native()).values


@dataclass(frozen=True)
class Numbers:
    """A column in the form that is scanned: values, and their positions.

    Values can be compared. Positions are doubles in the same order.
    """

    frame: Any
    """A lazy frame with the column `VALUE`, and `POSITION` if values do not cast to doubles."""
    kind: Kind
    engine: Engine
    tick: Fraction = Fraction(1)
    """The size of one unit of position: a plain number, or microseconds."""
    array: Callable[[Any], NDArray[Any]] = plain
    """Collected values as an array that a kind can read."""
    locate: Callable[[Any], float] = float
    """The position of one value."""

    @property
    def blank(self) -> NDArray[Any]:
        """An array of this type without records."""
        return np.empty(0, dtype=_DTYPES[self.kind.name])

    @property
    def position(self) -> Any:
        """The positions, as an expression."""
        schema = self.frame.collect_schema()
        return nw.col(POSITION if POSITION in schema else VALUE).cast(nw.Float64)

    @property
    def missing(self) -> Any:
        """Whether a value is missing, as an expression: null, or not a number."""
        value, dtype = nw.col(VALUE), self.frame.collect_schema()[VALUE]
        return value.is_null() | value.is_nan() if dtype.is_float() else value.is_null()

    def count_bins(self, bins: Map, ranges: Sequence[Range] | None = None) -> Counts:
        """Scan once for the size, least and greatest value of each bin, in some ranges or in all.

        Only bins that hold records are found.
        """
        with self.engine.failure_reported():
            frame = self.frame if ranges is None else self.engine.keep(self.frame, ranges)
            return self._counts(self.engine.grouped(self, frame, bins), BIN)

    def count_within(self, bins: Parted, intervals: Intervals) -> Counts:
        """Scan once for the size, least and greatest value of each interval of parts of bins."""
        with self.engine.failure_reported(), self.engine.within(self, bins, intervals) as rows:
            return self._counts(self.engine.tallied(rows, CODE), CODE)

    def _counts(self, grouped: Any, name: str) -> Counts:
        rows = self.engine.collect(grouped).sort(name)
        index, counts = (as_numpy(rows[column]).astype(np.int64) for column in (name, COUNT))
        absent = int(np.searchsorted(index, MISSING, side="right"))
        present = rows[absent:]
        missing = int(counts[:absent].sum())
        return Counts(present[LOW], present[HIGH], counts[absent:], index[absent:], missing)

    def occupied_bins(self, bins: Map, ranges: Sequence[Range]) -> int:
        """Scan once for the number of bins that hold values in these ranges."""
        with self.engine.failure_reported():
            grouped = self.engine.grouped(self, self.engine.keep(self.frame, ranges), bins)
            return int(self.engine.collect(grouped.select(nw.len().alias(COUNT)))[COUNT][0])

    def fetch(self, ranges: Sequence[Range]) -> NDArray[Any]:
        """Scan once for the values in these ranges, in no particular order."""
        with self.engine.failure_reported():
            rows = self.engine.collect(self.engine.keep(self.frame, ranges).select(VALUE))
            return self.array(rows[VALUE])

    def fetch_within(self, bins: Parted, intervals: Intervals) -> NDArray[Any]:
        """Scan once for the values in these intervals, in no particular order."""
        with self.engine.failure_reported(), self.engine.within(self, bins, intervals) as rows:
            return self.array(self.engine.collect(rows.select(VALUE))[VALUE])
