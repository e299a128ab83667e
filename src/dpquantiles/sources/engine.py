"""Engines: how lazy tables are read where their data is, and what every engine guarantees.

Each engine has a module with a subclass of `Engine`, and a line in `ENGINES`. Every engine
guarantees that no value of a record makes a query fail, that errors quote no data, and that all
choices depend only on schemas and plans, which are public.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, MissingBackend, ScanFailed, is_interrupt
from dpquantiles.kinds import Domain
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Intervals, Map, Parted, Range, by_halves
from dpquantiles.sources.tables import BACKENDS, Table, domain_of

if TYPE_CHECKING:
    from dpquantiles.sources.columns import Numbers

ENGINES = {
    "polars": "polars.Polars",
    "duckdb": "duckdb.DuckDB",
    "pyspark": "pyspark.Spark",
    "pyspark[connect]": "pyspark.Spark",
    "ibis": "ibis.Ibis",
    "dask": "dask.Dask",
}
"""The module and the class of each engine, by the name that Narwhals gives it."""

BIN, MISSING = "bin", -1
"""The column of bins, and the bin of missing values."""

COUNT, LOW, HIGH = "count", "low", "high"
"""The columns of a frame grouped by bins: the size, least and greatest value of each bin."""

CODE = "dpq_code"
"""The column of the place that the key of a row has in a list of keys."""

UNORDERED = 16
"""Up to so many portions, a few scans cost less than ordering the rows."""

MOST_LISTED = 4096
"""The most bins that a query lists. Engines read long lists slowly."""

WHOLE, FIRST, LAST = "whole", "first", "last"
"""The columns of intervals of parts of bins: the bin, its first part and its last one."""

POSITION = "p"
"""The column of positions, for values that cannot be cast to positions."""


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


def backend_of(table: Table) -> str:
    """The library for the results from a table: its own, or the one that collects its rows."""
    if table.lazy:
        return engine_of(table).backend
    return table.engine if table.engine in BACKENDS else "pyarrow"


def safe(table: Table, columns: Sequence[str]) -> Table:
    """The same rows, with values in these columns that can be compared, hashed and collected.

    Tables in memory stay as they are, because `kinds` converts their records one by one.
    """
    return engine_of(table).safe(table, columns) if table.lazy else table


def renamed(table: Table, columns: Mapping[str, str]) -> Table:
    """The same rows with only these columns: new names, and the names that they have."""
    if table.lazy:
        frame = engine_of(table).renamed(table.frame, columns)
    else:
        frame = table.frame.select(*(nw.col(old).alias(new) for new, old in columns.items()))
    known = table.domains
    domains = {new: known[old] for new, old in columns.items() if old in known}
    return replace(table, frame=frame, domains=domains)


@contextmanager
def pinned(table: Table) -> Iterator[Table]:
    """The same rows, which do not change while the body runs."""
    if not table.lazy:
        yield table
        return
    with engine_of(table).pinned(table.frame) as frame:
        yield replace(table, frame=frame)


class Engine(ABC):
    """One engine. A `frame` is a lazy frame of Narwhals, and `native` the object that it wraps."""

    name: str
    """The name of the engine in messages."""
    extra: str
    """The extra of this package that installs the libraries it needs."""
    backend = "pyarrow"
    """The library that holds collected rows."""
    together = 4
    """How many portions of groups are fetched at once, if the engine does not order rows."""

    def safe(self, table: Table, columns: Sequence[str]) -> Table:  # noqa: ARG002
        """The same rows, where each value of these columns can be compared, hashed and collected.

        Values that only some engines can hold are clamped, one by one. All others stay exactly as
        they are. Calling this twice changes nothing more.
        """
        return table

    def renamed(self, frame: Any, columns: Mapping[str, str]) -> Any:
        """Columns under new names, given by the names that they have."""
        return frame.select(*(nw.col(old).alias(new) for new, old in columns.items()))

    @abstractmethod
    def numbers(self, table: Table, column: str) -> "Numbers":
        """A safe column in the form that is scanned; InvalidType if its type is not supported."""

    @abstractmethod
    def coded(self, table: Table, types: Mapping[str, str]) -> Any:
        """The rows that have keys in all these columns, with the keys replaced by codes.

        A code is a plain value that can always be collected. Different keys have different codes.
        """

    @abstractmethod
    def bound_rows(
        self, table: Table, unit: str, rows: int, columns: Sequence[str], bits: Bits
    ) -> Table:
        """At most `rows` rows of each unit, chosen as `dpquantiles.sources.units` describes."""

    @abstractmethod
    def is_derived(self, native: Any) -> bool:
        """Whether two runs of a query may give different rows, judging by its plan alone.

        That is so if a row depends on more than one row of a table, or on chance. When in doubt,
        the answer is yes.
        """

    @abstractmethod
    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """Compute the rows of a query once, and keep them until the context ends."""

    @abstractmethod
    def uploaded(
        self, native: Any, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """A small native table with these columns, beside another one that it can be joined to."""

    @contextmanager
    def with_places(
        self, frame: Any, names: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """The rows with one of these keys, and the place of the key in the list as `CODE`."""
        dtypes = frame.collect_schema()
        columns = {name: [key[i] for key in keys] for i, name in enumerate(names)}
        schema = {**{name: dtypes[name] for name in names}, CODE: nw.Int32}
        with ExitStack() as stack:
            with self.failure_reported():
                places = {**columns, CODE: range(len(keys))}
                table = stack.enter_context(self.uploaded(frame.to_native(), places, schema))
                joined = frame.join(nw.from_native(table), on=list(names), how="inner")
            yield joined
            with self.failure_reported():
                stack.close()

    def portions(self, frame: Any, runs: Sequence[range]) -> Iterator[Any]:
        """The rows of each of these ascending runs of places, with as few scans as possible."""
        for start in range(0, len(runs), self.together):
            some = runs[start : start + self.together]
            # The rows are named nowhere here, so they are gone before the next ones are fetched.
            yield from _split(self.collected(_among(frame, some[0].start, some[-1].stop)), some)

    def transaction(self, native: Any) -> AbstractContextManager[Any]:  # noqa: ARG002
        """A context in which all scans see the same state of all tables, if the engine has one."""
        return nullcontext()

    def dtype(self, table: Table, column: str) -> Any:
        """The type of a column as Narwhals calls it."""
        return table.dtype(column)

    def domain(self, table: Table, column: str) -> Domain:
        """What the declared type of a column can hold."""
        return domain_of(self.dtype(table, column))

    def keep(self, frame: Any, ranges: Sequence[Range]) -> Any:
        """The rows whose `VALUE` lies in one of these ascending ranges.

        The filter compares the value itself, so that the engine can skip blocks of rows.
        """
        return by_halves(frame, ranges)

    def binned(self, numbers: "Numbers", frame: Any, bins: Map) -> Any:
        """The values of rows, and their positions if there are any, beside their bins as `BIN`."""
        position, columns = numbers.position, frame.collect_schema()
        own = [name for name in (VALUE, POSITION) if name in columns]
        frame = frame.with_columns(bins.prepared(position).alias("prepared"))
        place = bins.bin(position, nw.col("prepared")).cast(nw.Int64)
        bin_of = nw.when(numbers.missing).then(nw.lit(MISSING)).otherwise(place)
        return frame.select(*own, bin_of.cast(nw.Int64).alias(BIN))

    def grouped(self, numbers: "Numbers", frame: Any, bins: Map) -> Any:
        """Group rows by bin: one row for each bin, with `BIN`, `COUNT`, `LOW` and `HIGH`."""
        return self.tallied(self.binned(numbers, frame, bins), BIN)

    def tallied(self, frame: Any, name: str) -> Any:
        """One row for each number in a column, with `COUNT`, `LOW` and `HIGH`."""
        least, greatest = nw.col(VALUE).min().alias(LOW), nw.col(VALUE).max().alias(HIGH)
        return frame.group_by(name).agg(nw.len().alias(COUNT), least, greatest)

    @contextmanager
    def within(self, numbers: "Numbers", bins: Parted, intervals: Intervals) -> Iterator[Any]:
        """The values in some intervals of parts of bins, and the place of the interval as `CODE`.

        Rows meet the intervals of their bin in a join, and stay with the one that they are in. Most
        rows are in none of these bins, and never get there if the bins are few enough to be listed.
        """
        wholes, first, last = (
            places.tolist() for places in (intervals.first // bins.parts, *intervals)
        )
        near, listed = numbers.frame, sorted(set(wholes))
        if len(listed) <= MOST_LISTED:
            near = self.binned(numbers, near, replace(bins, parts=1))
            near = near.filter(nw.col(BIN).is_in(listed)).drop(BIN)
        parts = self.binned(numbers, near, bins)
        parts = parts.with_columns((nw.col(BIN) // bins.parts).cast(nw.Int64).alias(WHOLE))
        columns = {WHOLE: wholes, FIRST: first, LAST: last}
        schema = {**dict.fromkeys(columns, nw.Int64), CODE: nw.Int32}
        places = {**columns, CODE: range(len(first))}
        with self.uploaded(numbers.frame.to_native(), places, schema) as table:
            joined = parts.join(nw.from_native(table), on=[WHOLE], how="inner")
            inside = nw.col(BIN) >= nw.col(FIRST), nw.col(BIN) <= nw.col(LAST)
            yield joined.filter(*inside).select(VALUE, CODE)

    def collect(self, frame: Any) -> Any:
        """Run a query and fetch its rows."""
        return frame.collect(backend=self.backend)

    def collected(self, frame: Any) -> Any:
        """Run a query and fetch its rows; ScanFailed, which quotes no data, if the engine fails."""
        with self.failure_reported():
            return self.collect(frame)

    @contextmanager
    def pinned(self, frame: Any) -> Iterator[Any]:
        """The same rows, which do not change while the body runs.

        All scans of one release must see the same records. Databases read them in a transaction.
        Rows that are computed from tables, such as groups, joins and samples, may be different in
        each run, so they are computed once and kept. Other changes, such as files that are
        replaced, are noticed by comparing scans, and then the release is refused.
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
        """Stop if one scan contradicts another."""
        if not same:
            raise ScanFailed(
                f"the data in {self.name} changed between two scans, so nothing was released; "
                "read from a table that does not change, such as a snapshot, and try again"
            )

    @contextmanager
    def failure_reported(self) -> Iterator[None]:
        """Replace errors of the engine by errors that quote no data."""
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
                f"{self.name} failed while the data was read ({type(error).__name__}), so "
                "nothing was released; its own message may quote data and is left out. Check the "
                "connection and that the same query runs there, then try again"
            ) from None


def _split(rows: Any, runs: Sequence[range]) -> Iterator[Any]:
    """Fetched rows, run by run."""
    if len(runs) == 1:
        yield rows
        return
    for run in runs:
        yield _among(rows, run.start, run.stop)


def _among(frame: Any, start: int, stop: int) -> Any:
    """The rows whose place is in start .. stop-1."""
    return frame.filter(nw.col(CODE) >= start, nw.col(CODE) < stop)
