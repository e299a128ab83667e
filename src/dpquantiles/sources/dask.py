"""Data frames of Dask, whose partitions of pandas become numbers one by one, on the workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType
from dpquantiles.kinds import INT64, REAL, DecimalUnits, Kind, as_array, column
from dpquantiles.sources import keys, meeting, memory, units
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Intervals, Map, Parted, Range
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import BIN, CODE, COUNT, HIGH, LOW, MISSING, Engine
from dpquantiles.sources.queries import as_ticks
from dpquantiles.sources.tables import Table, is_time, kind_of, open_table
from dpquantiles.views.protocol import Ints

APART = 4
"""Bins are computed of every so many records, and between two of them if these differ."""


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
        """The rows of a unit meet in one partition, which keeps a few of them.

        That takes names that can be compared in all partitions alike, and rows in an order of their
        own. Other rows are fetched first.
        """
        needed = list(dict.fromkeys((unit, *columns)))
        native = table.frame.to_native()[needed]
        stated = meeting.stated_type(native.dtypes[unit], table.dtype(unit))
        if stated is None or self.is_derived(native):
            fetched = Table(self.collected(nw.from_native(native)))
            return units.bound_rows(fetched, unit, rows, columns, bits)
        placed = [
            delayed(meeting.placed)(part, unit, stated, number)
            for number, part in enumerate(native.to_delayed())
        ]
        meta = meeting.placed(native._meta, unit, stated, 0)
        # Names are not written to disk, as other ways to shuffle would do.
        met = dd.from_delayed(placed, meta=meta, verify_meta=False).shuffle(
            on=meeting.PLACE, shuffle_method="tasks"
        )
        asked = unit, rows, list(columns), bits.getrandbits(62)
        meta = meeting.kept(meta, *asked)
        return Table(nw.from_native(met.map_partitions(meeting.kept, *asked, meta=meta)))

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


def _records(part: Any) -> tuple[NDArray[Any], int]:
    """The values of one partition in ascending order, and the number of missing ones.

    A sort is faster than a look at each record, and other threads work meanwhile. Then the records
    of a bin, or of a range, are neighbors.
    """
    read = memory.read(part[VALUE], REAL).values
    own = read.compressed() if isinstance(read, np.ma.MaskedArray) else read
    if own.dtype == object:
        # Doubles are faster to compare than decimals. What is left is to order equal doubles.
        numbers, missing = column(REAL, own)
        present = slice(None) if missing is None else ~missing
        ordered = np.sort(own[present][np.argsort(numbers[present])], kind="stable")
    else:
        ordered = np.sort(own)
        if own.dtype.kind == "f":
            ordered = ordered[: np.searchsorted(ordered, np.nan)]
    return ordered, len(read) - len(ordered)


def _positions(values: NDArray[Any]) -> NDArray[np.float64]:
    return values.astype(np.float64, copy=False)


def _inside(part: Any, ranges: Sequence[Range]) -> Any:
    """The values of one partition in some ascending ranges."""
    values, _ = _records(part)
    low, high = (np.array(ends, dtype=values.dtype) for ends in zip(*ranges, strict=True))
    places = _places(np.searchsorted(values, low), np.searchsorted(values, high, side="right"))
    return pd.DataFrame({VALUE: values[places]})


def _within(part: Any, bins: Parted, intervals: Intervals) -> Any:
    """The values of one partition in some intervals, and the place of the interval as `CODE`."""
    values, _ = _records(part)
    positions = _positions(values)
    low, high = bins.around(np.unique(intervals.first // bins.parts))
    # What lies outside of all bins belongs to the first or the last one.
    least, most = bins.around(np.array([0, bins.bins - 1]))
    start = np.where(low <= least[0], 0, np.searchsorted(positions, low))
    stop = np.where(high >= most[1], len(values), np.searchsorted(positions, high, side="right"))
    near = _places(start, stop)
    parts = bins.places(positions[near])
    first = np.searchsorted(parts, intervals.first)
    length = np.searchsorted(parts, intervals.last, side="right") - first
    inside = near[_places(first, first + length)]
    return pd.DataFrame({VALUE: values[inside], CODE: np.repeat(np.arange(len(length)), length)})


def _places(start: Ints, stop: Ints) -> Ints:
    """All places in some ranges whose ends ascend, and which may overlap."""
    start = np.maximum(start, np.append(0, stop)[:-1])
    length = np.maximum(stop - start, 0)
    return np.repeat(start - np.cumsum(length) + length, length) + np.arange(length.sum())


def _tally(part: Any, asked: str) -> Any:
    """One row for each number in a column of one partition."""
    values, each = part[VALUE].to_numpy(), np.ones(len(part), dtype=np.int64)
    return _tallied(asked, part[asked].to_numpy(), each, values, values)


def _tally_bins(part: Any, asked: Map) -> Any:
    """One row for each bin that holds records of one partition, and one for missing records."""
    values, missing = _records(part)
    starts, bins = _starts(_positions(values), asked)
    stops, none = np.append(starts, len(values))[1:], np.zeros(1, dtype=values.dtype)
    columns = {
        BIN: np.append(MISSING, bins),
        COUNT: np.append(missing, stops - starts),
        LOW: np.append(none, values[starts]),
        HIGH: np.append(none, values[stops - 1]),
    }
    return pd.DataFrame(columns).iloc[0 if missing else 1 :]


def _starts(positions: NDArray[np.float64], bins: Map) -> tuple[Ints, Ints]:
    """The bins that hold some of these ascending positions, and the place where each starts."""
    count = len(positions)
    some = np.minimum(np.arange(0, count + APART - 1, APART), count - 1)[:count]
    rough = bins.places(positions[some])
    changed = np.flatnonzero(rough[1:] != rough[:-1])
    places = _places(some[changed], some[changed + 1] + 1)
    found = bins.places(positions[places])
    first = np.flatnonzero(found[1:] != found[:-1]) + 1
    return np.append(some[:1], places[first]), np.append(rough[:1], found[first])


def _joined(tallies: Any) -> Any:
    """One tally for several."""
    name = tallies.columns[0]
    return _tallied(name, *(tallies[column].to_numpy() for column in tallies.columns))


def _tallied(name: str, numbers: Ints, counts: Ints, low: NDArray[Any], high: NDArray[Any]) -> Any:
    """The rows with the same number become one."""
    order = np.argsort(numbers, kind="stable")  # this is fast, because they are a few sorted runs
    numbers = numbers[order]
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    columns = {
        name: numbers[starts],
        COUNT: np.add.reduceat(counts[order], starts),
        LOW: np.minimum.reduceat(low[order], starts),
        HIGH: np.maximum.reduceat(high[order], starts),
    }
    return pd.DataFrame(columns)


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
