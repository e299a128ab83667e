"""Data frames of Dask, whose partitions of pandas become numbers one by one, on the workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType
from dpquantiles.kinds import INT64, REAL, DecimalUnits, Kind, as_array, column
from dpquantiles.sources import keys, memory, units
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Intervals, Map, Parted, Range, cells_over
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import BIN, CODE, COUNT, HIGH, LOW, MISSING, Engine
from dpquantiles.sources.queries import as_ticks
from dpquantiles.sources.tables import Table, is_time, kind_of, open_table

MOST_DENSE = 1 << 21
"""Up to so many bins of a partition are counted in an array with a place for each."""

CELLS = 1 << 16
"""The cells of equal width that tell most rows which may lie in a range from all others."""

FOLDED = 1 << 18
"""The places of a table of wanted bins, of which each stands for all bins with the same rest."""

SLICE = 1 << 17
"""So many rows of a partition are computed at a time, because what this makes fits in caches."""


class Dask(Engine):
    """Partitions are tables in memory, so the code for those runs on each of them."""

    name, extra, backend = "Dask", "dask", "pandas"

    def numbers(self, table: Table, column: str) -> Numbers:
        dtype, native = table.dtype(column), table.frame.to_native()
        kind, own = kind_of(dtype), native[[column]].rename(columns={column: VALUE})
        if isinstance(kind, DecimalUnits):
            decimals = nw.from_native(own.map_partitions(_exact, meta={VALUE: object}))
            return Numbers(decimals, kind, self, array=lambda cells: as_array(cells.to_list()))
        if is_time(dtype) or dtype == nw.Boolean:
            whole = nw.from_native(own.map_partitions(_whole, kind, meta={VALUE: "Int64"}))
            times = _in_microseconds(dtype)
            return as_ticks(whole, times, self) if is_time(dtype) else Numbers(whole, kind, self)
        stated = own.map_partitions(_as_stated, kind, own.dtypes[VALUE], meta=own._meta)
        return Numbers(nw.from_native(stated), kind, self)

    def coded(self, table: Table, types: Mapping[str, str]) -> Any:
        native, meta = table.frame.to_native(), _coded(table.frame.to_native()._meta, types)
        return nw.from_native(native.map_partitions(_coded, types, meta=meta))

    def bound_rows(
        self, table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits
    ) -> Table:
        """Fetch the rows first, because Dask cannot number the rows of a unit."""
        needed = dict.fromkeys((unit, *columns))
        collected = Table(self.collected(table.frame.select(*needed)))
        return units.bound_rows(collected, unit, rows, columns, bits)

    def keep(self, frame: Any, ranges: Sequence[Range]) -> Any:
        return _by_partition(frame, _inside, ranges)

    def grouped(self, numbers: Numbers, frame: Any, bins: Map) -> Any:  # noqa: ARG002
        """Each partition counts its own rows, so that no column of bins is ever kept."""
        return _reduced(frame, _tally_bins, bins)

    @contextmanager
    def within(self, numbers: Numbers, bins: Parted, intervals: Intervals) -> Iterator[Any]:
        """The values in some intervals. Each partition finds the intervals of its own rows."""
        yield _by_partition(numbers.frame, _within, bins, intervals)

    def tallied(self, frame: Any, name: str) -> Any:
        return _reduced(frame, _tally, name)

    def collect(self, frame: Any) -> Any:
        """Dask joins the steps of a partition to one only if it is told to."""
        return super().collect(nw.from_native(frame.to_native().optimize()))

    def is_derived(self, native: Any) -> bool:
        return not all(map(_is_plain, native.expr.walk()))

    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """Keep the rows on the workers."""
        return nullcontext(native.persist())

    def uploaded(
        self, native: Any, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        keys = {name: native.dtypes[name] for name in columns if name in native.columns}
        rows = nw.from_dict(columns, schema, backend="pandas").to_native().astype(keys)
        return nullcontext(dd.from_pandas(rows, npartitions=1))  # type: ignore[no-untyped-call]


def _by_partition(frame: Any, work: Callable[..., Any], *asked: Any) -> Any:
    """What a function of one partition makes of all of them."""
    native = frame.to_native()
    return nw.from_native(native.map_partitions(work, *asked, meta=work(native._meta, *asked)))


def _reduced(frame: Any, tally: Callable[..., Any], asked: Any) -> Any:
    """Each partition tallies its own rows, and then a few of these tallies become one."""
    native, chunk = frame.to_native(), partial(tally, asked=asked)
    tallies = native.reduction(chunk, _joined, _joined, meta=chunk(native._meta))
    return nw.from_native(tallies)


def _inside(part: Any, ranges: Sequence[Range]) -> Any:
    """The rows of one partition whose values lie in one of these ascending ranges."""
    values = _values(part)
    numbers, null = _comparable(values)
    low, high = (np.array(ends, dtype=numbers.dtype) for ends in zip(*ranges, strict=True))
    cells, wanted = cells_over(low.astype(np.float64), high.astype(np.float64), CELLS)
    found = []
    for rows in _slices(len(values)):
        positions, _ = _located(values[rows])
        # Most rows are outside of all cells with a range. Looking cells up is faster than a search.
        near = (cells.low <= positions) & (positions <= cells.high) & ~null[rows]
        place = rows.start + np.flatnonzero(wanted[cells.places(positions)] & near)
        # The only range that can hold a number is the first that does not end below it.
        first = np.minimum(np.searchsorted(high, numbers[place]), len(high) - 1)
        inside = (low[first] <= numbers[place]) & (numbers[place] <= high[first])
        found.append(place[np.asarray(inside, dtype=bool)])
    return part.iloc[np.concatenate(found)]


def _within(part: Any, bins: Parted, intervals: Intervals) -> Any:
    """The values of one partition in some intervals, and the place of the interval as `CODE`."""
    values, wholes = _values(part), np.unique(intervals.first // bins.parts)
    cells, in_cells = cells_over(*bins.around(wholes), CELLS)
    # There may be very many bins, so some of them share a place.
    in_bins = np.zeros(FOLDED, dtype=bool)
    in_bins[wholes & (FOLDED - 1)] = True
    found, codes = [], []
    for rows in _slices(len(values)):
        positions, missing = _located(values[rows])
        # Most rows are in bins without an interval, and most of these are in other cells already.
        near = np.flatnonzero(in_cells[cells.places(positions)] & ~missing)
        places = bins.places(positions[near])
        wanted = np.flatnonzero(in_bins[places // bins.parts & (FOLDED - 1)])
        order = wanted[np.argsort(places[wanted])]  # searches in order are faster
        near, places = near[order], places[order]
        code = np.searchsorted(intervals.first, places, side="right") - 1
        inside = (code >= 0) & (places <= intervals.last[code])
        found.append(rows.start + near[inside])
        codes.append(code[inside])
    own = {VALUE: part[VALUE].iloc[np.concatenate(found)], CODE: np.concatenate(codes)}
    return pd.DataFrame(own)


def _values(part: Any) -> NDArray[Any]:
    """The values of one partition, masked where null."""
    return memory.read(part[VALUE], REAL).values


def _slices(count: int) -> Iterator[slice]:
    """So many rows, `SLICE` at a time; no rows are one slice."""
    for start in range(0, max(1, count), SLICE):
        yield slice(start, start + SLICE)


def _located(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The positions of some values, zero for missing ones, and which values are missing."""
    numbers, missing = column(REAL, values)
    positions = numbers.astype(np.float64, copy=False)
    if missing is None:
        return positions, np.zeros(len(positions), dtype=bool)
    return np.where(missing, 0.0, positions), missing


def _comparable(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values that can be compared, and which of them are null. Others stand in for these."""
    if values.dtype != object:
        return np.ma.getdata(values), np.ma.getmaskarray(values)
    null, comparable = pd.isna(values), values.copy()
    comparable[null] = Decimal(0)
    return comparable, null


def _tally(part: Any, asked: str) -> Any:
    """One row for each number in a column of one partition."""
    numbers, _ = _comparable(_values(part))
    return _tallied(part[asked].to_numpy(), None, numbers, numbers, asked)


def _tally_bins(part: Any, asked: Map) -> Any:
    """One row for each bin that holds rows of one partition."""
    values = _values(part)
    places = np.empty(len(values), dtype=np.int64)
    for rows in _slices(len(values)):
        positions, missing = _located(values[rows])
        places[rows] = np.where(missing, MISSING, asked.places(positions))
    numbers, _ = _comparable(values)
    return _tallied(places, None, numbers, numbers, BIN)


def _joined(tallies: Any) -> Any:
    """One tally for several."""
    name, *columns = tallies.columns
    count, low, high = (tallies[column].to_numpy() for column in columns)
    return _tallied(tallies[name].to_numpy(), count, low, high, name)


def _tallied(
    own: NDArray[Any],
    count: NDArray[Any] | None,
    least: NDArray[Any],
    greatest: NDArray[Any],
    name: str,
) -> Any:
    """The rows with the same number become one. Counting small numbers needs no sort."""
    first, last = (own.min(), own.max()) if len(own) else (0, -1)
    dense = last - first <= MOST_DENSE
    names = np.arange(first, last + 1) if dense else np.unique(own)
    counts = np.zeros(len(names), dtype=np.int64)
    low, high = (np.full(len(names), end) for end in _ends(least.dtype))
    for rows in _slices(len(own)):
        place = own[rows] - first if dense else np.searchsorted(names, own[rows])
        np.add.at(counts, place, 1 if count is None else count[rows])
        with np.errstate(invalid="ignore"):  # missing values may be NaN
            np.minimum.at(low, place, least[rows])
            np.maximum.at(high, place, greatest[rows])
    found = np.flatnonzero(counts)
    cells = {name: names[found], COUNT: counts[found], LOW: low[found], HIGH: high[found]}
    return pd.DataFrame(cells)


def _ends(dtype: Any) -> tuple[Any, Any]:
    """The greatest and the least number of a type, which are replaced by any other."""
    if dtype.kind == "O":
        return Decimal("Infinity"), Decimal("-Infinity")
    if dtype.kind == "f":
        return dtype.type(np.inf), dtype.type(-np.inf)
    return dtype.type(np.iinfo(dtype).max), dtype.type(np.iinfo(dtype).min)


def _exact(part: Any) -> Any:
    """One partition of decimals, as Python's own, which are exact at any size."""
    decimals = [_decimal(cell) for cell in part[VALUE].tolist()]
    return pd.DataFrame({VALUE: pd.Series(decimals, part.index, dtype=object)})


def _decimal(cell: Any) -> Decimal | None:
    number = Decimal(cell) if isinstance(cell, (int, float, Decimal)) else None
    return None if number is None or number.is_nan() else number


def _whole(part: Any, kind: Kind) -> Any:
    """One partition of another type, as the whole numbers of its kind."""
    numbers, missing = _read(part, kind)
    whole = pd.arrays.IntegerArray(numbers.astype(np.int64), missing)
    return pd.DataFrame({VALUE: whole}, index=part.index)


def _as_stated(part: Any, kind: Kind, stated: Any) -> Any:
    """One partition of numbers, in the type that the schema states.

    Dask does not compare the two, and the type of a partition may depend on its records: if all of
    them are missing, pandas often takes none.
    """
    if part[VALUE].dtype == stated:
        return part
    numbers, missing = _read(part, kind)
    own = np.dtype(getattr(stated, "numpy_dtype", stated))
    if own.kind == "f":
        return pd.DataFrame({VALUE: np.where(missing, np.nan, numbers)}, index=part.index)
    if numbers.dtype.kind == "f":
        numbers = column(kind, np.where(missing, 0, numbers).astype(object)).numbers
    least, most = np.iinfo(own).min, min(np.iinfo(own).max, INT64.max)
    whole = pd.arrays.IntegerArray(np.clip(numbers, least, most).astype(own), missing)
    return pd.DataFrame({VALUE: whole}, index=part.index)


def _read(part: Any, kind: Kind) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The numbers of one partition of any type; records of another kind count as missing."""
    try:
        numbers, missing = column(kind, memory.read(part[VALUE], kind).values)
    except InvalidType:  # read record by record
        numbers, missing = column(kind, as_array(part[VALUE].tolist()))
    return numbers, np.zeros(len(part), dtype=bool) if missing is None else missing


def _in_microseconds(dtype: Any) -> Any:
    """The same type, but times other than dates are counted in microseconds."""
    if dtype == nw.Datetime:
        return nw.Datetime("us", dtype.time_zone)
    return nw.Duration("us") if dtype == nw.Duration else dtype


def _coded(part: Any, types: Mapping[str, str]) -> Any:
    return keys.coded(open_table(part), types).to_native()


def _is_plain(step: Any) -> bool:
    """Whether a step gives the same rows in every run. Functions of the user may not."""
    names = {base.__name__ for base in type(step).__mro__}
    blockwise = "Blockwise" in names and "Sample" not in names
    return "FromGraph" in names or (blockwise and not any(map(_is_foreign, step.operands)))


def _is_foreign(operand: Any) -> bool:
    """Whether an operand is a function that is neither Dask's nor ours."""
    if not callable(operand) or isinstance(operand, type):
        return False
    whole = operand.func if isinstance(operand, partial) else operand
    return not str(getattr(whole, "__module__", None)).startswith(("dask.", __name__))
