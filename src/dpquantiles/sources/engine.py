"""Engines of data: how lazy tables are read where they live, and what every engine promises.

Each engine has a module with a subclass of `Engine`, and a line in `ENGINES`. They all promise that
no value of any record makes a query fail, that errors quote nothing of the data, and that choices
follow from schemas and plans alone, which are public.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, MissingBackend, ScanFailed, is_interrupt
from dpquantiles.kinds import Domain, Kind
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Map, Range, by_halves
from dpquantiles.sources.tables import Table, domain_of
from dpquantiles.views.protocol import Ints

ENGINES = {
    "polars": "polars.Polars",
    "duckdb": "duckdb.DuckDB",
    "pyspark": "pyspark.Spark",
    "pyspark[connect]": "pyspark.Spark",
    "ibis": "ibis.Ibis",
    "dask": "dask.Dask",
}
"""By Narwhals' name of an engine, the module here and the class in it."""

BIN, MISSING = "bin", -1
"""The column of bins, and the bin of missing values."""

COUNT, LOW, HIGH = "count", "low", "high"
"""The columns of a frame grouped by bins: its size, its least and its greatest value."""

POSITION = "p"
"""The column of positions, where values do not cast to them."""

_DTYPES = {"float": "f8", "int": "i8", "bool": "i1", "date": "M8[D]", "datetime": "M8[us]"}
_DTYPES |= {"timedelta": "m8[us]", "decimal": "O"}


def engine_of(table: Table) -> "Engine":
    """The engine of a lazy table."""
    if table.engine not in ENGINES:
        modules = sorted({place.partition(".")[0] for place in ENGINES.values()})
        raise InvalidType(
            f"data must be a table of {', '.join(modules)} or a table in "
            f"memory, got one of {table.engine}; collect it first"
        )
    return _engine(ENGINES[table.engine])


@cache
def _engine(place: str) -> "Engine":
    module, _, name = place.partition(".")
    engine: Engine = getattr(import_module(f"dpquantiles.sources.{module}"), name)()
    return engine


def safe(table: Table, columns: Sequence[str]) -> Table:
    """The same rows, with values in these columns that can be compared, hashed and collected.

    Tables in memory are safe as they are, because `kinds` converts them record by record.
    """
    return engine_of(table).safe(table, columns) if table.lazy else table


@contextmanager
def pinned(table: Table) -> Iterator[Table]:
    """The same rows, which do not change while the body runs."""
    if not table.lazy:
        yield table
        return
    with engine_of(table).pinned(table.frame) as frame:
        yield replace(table, frame=frame)


class Engine(ABC):
    """One engine. Frames are lazy frames of Narwhals; `native` is what they wrap."""

    name: str
    """What messages call it."""
    extra: str
    """The extra of this package that installs what it needs."""
    backend = "pyarrow"
    """The library that holds what is collected."""

    @abstractmethod
    def safe(self, table: Table, columns: Sequence[str]) -> Table:
        """The same rows, where each value of these columns can be compared, hashed and collected.

        Values that only some engines can hold are clamped, one by one, and all others stay exactly
        what they are. Doing it twice changes nothing.
        """

    @abstractmethod
    def numbers(self, table: Table, column: str) -> "Numbers":
        """A safe column as it is scanned; InvalidType where its type has no quantiles here."""

    @abstractmethod
    def coded(self, table: Table, types: Mapping[str, str]) -> Any:
        """The rows that have keys in all these columns, with codes in place of the keys.

        A code is a plain value, different for different keys, that can always be collected.
        """

    @abstractmethod
    def bound_rows(
        self, table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits
    ) -> Table:
        """At most `rows` rows of every unit, chosen as `dpquantiles.sources.units` says."""

    @abstractmethod
    def is_derived(self, native: Any) -> bool:
        """Whether rows are computed from more than one row each, or by chance, so that two runs may
        differ; the plan alone tells, and when in doubt they are.
        """

    @abstractmethod
    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """The rows of a query computed once, and kept until the context ends, whatever happens."""

    def transaction(self, native: Any) -> AbstractContextManager[Any]:  # noqa: ARG002
        """A context in which all scans see one state of all tables, where the engine has such."""
        return nullcontext()

    def dtype(self, table: Table, column: str) -> Any:
        """The type of a column as Narwhals calls it."""
        return table.dtype(column)

    def domain(self, table: Table, column: str) -> Domain:
        """What the declared type of a column can hold."""
        return domain_of(self.dtype(table, column))

    def keep(self, frame: Any, ranges: Sequence[Range]) -> Any:
        """The rows whose `VALUE` lies in one of these ascending ranges, by a filter on the value
        itself, so that the engine can skip what it rules out.
        """
        return by_halves(frame, ranges)

    def grouped(self, numbers: "Numbers", frame: Any, bins: Map) -> Any:
        """Count rows by bins: one row for each bin with `BIN`, `COUNT`, `LOW` and `HIGH`."""
        position, value = numbers.position, nw.col(VALUE)
        frame = frame.with_columns(bins.prepared(position).alias("prepared"))
        place = bins.bin(position, nw.col("prepared")).cast(nw.Int32)
        bin_of = nw.when(numbers.missing).then(nw.lit(MISSING)).otherwise(place)
        binned = frame.select(value, bin_of.cast(nw.Int32).alias(BIN))
        least, greatest = value.min().alias(LOW), value.max().alias(HIGH)
        return binned.group_by(BIN).agg(nw.len().alias(COUNT), least, greatest)

    def collect(self, frame: Any) -> Any:
        """Run a query, and bring its rows here."""
        return frame.collect(backend=self.backend)

    def collected(self, frame: Any) -> Any:
        """The rows of a query; ScanFailed, which quotes nothing, where the engine fails."""
        with self.failure_reported():
            return self.collect(frame)

    @contextmanager
    def pinned(self, frame: Any) -> Iterator[Any]:
        """The same rows, which stand still while the body runs.

        All scans of one release must see one set of records. Databases read them in a transaction.
        What is computed from tables rather than read from them, such as groups, joins and samples,
        may come out differently at each run, so it is computed once and kept. What no engine keeps,
        such as files that are replaced, is found by comparing scans, and refused.
        """
        with ExitStack() as stack:
            with self.failure_reported():
                native = stack.enter_context(self._still(frame.to_native()))
            yield nw.from_native(native)
            with self.failure_reported():
                stack.close()

    @contextmanager
    def _still(self, native: Any) -> Iterator[Any]:
        with self.transaction(native):
            if not self.is_derived(native):
                yield native
                return
            with self.kept(native) as rows:
                yield rows

    def require_same(self, *, same: bool) -> None:
        """Refuse to go on where one scan contradicts another."""
        if not same:
            raise ScanFailed(
                f"the data in {self.name} changed between two scans, so nothing was released; "
                "read from a table that stands still, such as a snapshot, and ask again"
            )

    @contextmanager
    def failure_reported(self) -> Iterator[None]:
        """Replace errors of the engine by ones that quote nothing of the data."""
        try:
            yield
        except SystemExit:
            raise
        except ImportError as error:
            raise MissingBackend(
                f"reading from {self.name} needs {error.name or 'another library'}: "
                f"pip install 'dpquantiles[{self.extra}]'"
            ) from None
        except BaseException as error:  # a panic in Rust is not an Exception
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise ScanFailed(
                f"{self.name} failed while the data were read ({type(error).__name__}), so "
                "nothing was released; its own message may quote data and is left out. Check the "
                "connection and that the same query runs there, then ask again"
            ) from None


class Counts(NamedTuple):
    """Bins that hold records, in no particular order, and how many records are missing."""

    low: Any
    """The least value of each bin, as a Narwhals series."""
    high: Any
    counts: Ints
    missing: int


def plain(series: Any) -> NDArray[Any]:
    """Collected values as an array that a kind can read."""
    return memory.read(series.to_native()).values


@dataclass(frozen=True)
class Numbers:
    """A column as it is scanned: values that compare, and positions, doubles in the same order."""

    frame: Any
    """A lazy frame with the column `VALUE`, and `POSITION` where values do not cast to doubles."""
    kind: Kind
    engine: Engine
    tick: Fraction = Fraction(1)
    """What a position counts: a plain number, or microseconds."""
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
        """Scan once: the size, the least and the greatest value of each bin; within ranges only."""
        with self.engine.failure_reported():
            frame = self.frame if ranges is None else self.engine.keep(self.frame, ranges)
            rows = self.engine.collect(self.engine.grouped(self, frame, bins)).sort(BIN)
            index, counts = (rows[name].to_numpy().astype(np.int64) for name in (BIN, COUNT))
            absent = int(np.searchsorted(index, MISSING, side="right"))
            present = rows[absent:]
            missing = int(counts[:absent].sum())
            return Counts(present[LOW], present[HIGH], counts[absent:], missing)

    def fetch(self, ranges: Sequence[Range]) -> NDArray[Any]:
        """Scan once: the values in these ranges, in no particular order."""
        with self.engine.failure_reported():
            rows = self.engine.collect(self.engine.keep(self.frame, ranges).select(VALUE))
            return self.array(rows[VALUE])
