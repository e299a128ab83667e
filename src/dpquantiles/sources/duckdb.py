"""Relations of DuckDB."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from dpquantiles.errors import MissingBackend
from dpquantiles.kinds import INT64
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Map
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import BIN, MISSING, UNORDERED
from dpquantiles.sources.queries import BATCH, COPY, QueryEngine, in_order
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import ROW, UNIT

try:
    import duckdb as duckdb  # `relations` uses it too
except ImportError:
    raise MissingBackend(
        "groups and units in files, patterns, URLs, SQL queries and databases need DuckDB: "
        "pip install 'dpquantiles[duckdb]'"
    ) from None

FAR = 2**62
"""Replaces infinite times, in microseconds: it lies beyond every grid."""

ROWS = "dpq_rows"
"""The name of a relation in the statements that are run on it."""

PLAIN = frozenset({"PROJECTION", "FILTER", "UNION", "DUMMY_SCAN", "EMPTY_RESULT", "UNNEST"})
PLAIN |= {"SEQ_SCAN", "TABLE_SCAN", "COLUMN_DATA_SCAN", "PANDAS_SCAN", "RANGE"}
PLAIN |= {"READ_PARQUET", "PARQUET_SCAN", "READ_CSV", "READ_CSV_AUTO"}
PLAIN |= {"PYTHON_ARROW_SCAN", "ARROW_SCAN", "ARROW_SCAN_DUMB"}
"""Steps of a plan that give the same rows in every run on the same data."""

HIDDEN = (
    "SELECT sql FROM duckdb_views() WHERE NOT internal UNION ALL SELECT macro_definition FROM "
    "duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"
)
"""Selects the definitions of views and macros, which a query may use without showing them."""

VOLATILE = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"

MOST_WRITTEN = 1 << 14
"""The most rows of a table that one statement writes."""

RANDOM = f"({ROW}::DOUBLE + 0.5) / 2.0 ** 64"
EARLIEST = f"((-ln({RANDOM}) / {COPY} * 2.0 ** 56)::BIGINT::HUGEINT << 64) + {ROW}"
"""Orders the rows of a unit, with `COPY` copies of each: the least of so many random numbers.

The least of n exponential numbers is distributed as one of them divided by n. It is below 2**62
here, so it fits with the hash in 126 bits. The hash makes all of a unit's rows differ.
"""


class DuckDB(QueryEngine):
    """Cells are texts of SQL."""

    name, extra = "DuckDB", "duckdb"
    together = 1  # it finds the rows of some keys fast, but needs much memory by itself

    def with_cells(self, native: Any, cells: Mapping[str, str]) -> Any:
        names = dict.fromkeys((*native.columns, *cells))
        columns = {name: duckdb.SQLExpression(cells.get(name, quoted(name))) for name in names}
        return native.select(*(column.alias(name) for name, column in columns.items()))

    def safe_cell(self, table: Table, column: str) -> str | None:
        """Integers get 64 bits, and times become finite and whole microseconds."""
        native, cell, dtype = table.frame.to_native(), quoted(column), table.dtype(column)
        if str(native.types[native.columns.index(column)]) == "TIMESTAMPTZ_NS":  # not in Narwhals
            cell, dtype = f"CAST({cell} AS TIMESTAMP_NS)", nw.Datetime("ns", "UTC")
        if dtype == nw.Int128:
            return _clamped(cell, f"({INT64.min})", str(INT64.max), "BIGINT")
        if dtype == nw.UInt128:  # it cannot be compared with negative numbers
            return _clamped(cell, "0", str(INT64.max), "BIGINT")
        if dtype == nw.Duration:
            return _interval(cell)
        return _moment(cell, dtype) if dtype == nw.Datetime else None

    def times(self, table: Table, column: str, dtype: Any) -> Numbers:
        days = self.day_code(table.frame.to_native(), column)
        return self.ticks(table, days if dtype == nw.Date else _microseconds(column), dtype)

    def text_code(self, native: Any, column: str) -> str:  # noqa: ARG002
        """Bytes, because DuckDB sorts text that is not UTF-8 wrongly, and fails to return it."""
        return f"encode(CAST({quoted(column)} AS VARCHAR))"

    def day_code(self, native: Any, column: str) -> str:  # noqa: ARG002
        """Infinite dates have the largest numbers of days."""
        return f"CAST({quoted(column)} - DATE '1970-01-01' AS BIGINT)"

    def unit_cell(self, table: Table, unit: str) -> str | None:
        """Text becomes bytes."""
        text = table.dtype(unit) == nw.String
        return self.text_code(table.frame.to_native(), unit) if text else None

    def hash_cell(self, native: Any, columns: Sequence[str], key: int) -> str:  # noqa: ARG002
        """Hash twice: DuckDB joins the hashes of cells by XOR, which orders rows unevenly."""
        return f"hash(hash({', '.join([str(key), *map(quoted, columns)])}))"

    def least_of_each(self, frame: Any, columns: Sequence[str], rows: int, key: int) -> Any:
        """One row of each unit by two aggregates, which DuckDB computes faster than windows."""
        if rows > 1:
            return super().least_of_each(frame, columns, rows, key)
        least = ", ".join(f"min({name}) AS {name}" for name in columns)
        unit, native = f"{UNIT}, {ROW}", frame.to_native()
        alike = native.aggregate(f"{unit}, {least}, count(*) AS {COPY}", unit)
        # A plain `arg_min` would pass over rows whose cell is null.
        cells = ", ".join(f"arg_min_null({name}, {EARLIEST}) AS {name}" for name in columns)
        return nw.from_native(alike.aggregate(cells, UNIT))

    def binned(self, numbers: Numbers, frame: Any, bins: Map) -> Any:  # noqa: ARG002
        """Written as SQL, because Narwhals guards every root against negative numbers."""
        native, value = frame.to_native(), quoted(VALUE)
        floating = frame.collect_schema()[VALUE].is_float()
        missing = f"{value} IS NULL" + (f" OR isnan({value})" if floating else "")
        place = f"CAST({bins.sql(f'CAST({value} AS DOUBLE)')} AS BIGINT)"
        bin_of = f"CASE WHEN {missing} THEN {MISSING} ELSE {place} END AS {BIN}"
        return nw.from_native(native.project(f"{value}, {bin_of}"))

    def collect(self, frame: Any) -> Any:
        plain, lengths = self._without_intervals(frame)
        return _with_durations(super().collect(plain), lengths)

    def portions(self, frame: Any, runs: Sequence[range]) -> Iterator[Any]:
        """Many by one scan that DuckDB orders, on disk if memory is short."""
        if len(runs) <= UNORDERED:
            yield from super().portions(frame, runs)
            return
        plain, lengths = self._without_intervals(frame)
        for rows in in_order(self, plain, runs, _batches):
            yield _with_durations(rows, lengths)

    def _without_intervals(self, frame: Any) -> tuple[Any, list[str]]:
        """Intervals as microseconds, because `safe` made all of them plain lengths of time."""
        schema = frame.collect_schema().items()
        lengths = {name: _microseconds(name) for name, dtype in schema if dtype == nw.Duration}
        return self._with(frame, lengths), list(lengths)

    def transaction(self, native: Any) -> AbstractContextManager[None]:
        connection = getattr(native, "_con", None)
        return transaction(_runner(native), getattr(connection, "rollback", None))

    def is_derived(self, native: Any) -> bool:
        return is_derived(native, _runner(native))

    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """Keep the rows in a temporary table, which DuckDB moves to disk if memory is short."""
        return _temporary(partial(native.query, ROWS), [f"SELECT * FROM {ROWS}"], native)

    def uploaded(
        self, native: Any, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """A temporary table, from one text for each column: DuckDB reads long lists slowly.

        It keeps what it took to read a statement, so a long table takes several.
        """
        starts = range(0, len(next(iter(columns.values()))), MOST_WRITTEN)
        written = (_written(columns, schema, start) for start in starts)
        return _temporary(_runner(native), written, native)


@contextmanager
def _temporary(run: Callable[[str], Any], queries: Iterable[str], native: Any) -> Iterator[Any]:
    """The results of queries, in one temporary table on the connection of a relation."""
    name = f"dpq_{uuid4().hex}"
    try:
        for place, query in enumerate(queries):
            start = f"INSERT INTO {name}" if place else f"CREATE TEMP TABLE {name} AS"
            run(f"{start} {query}")
        yield run(f"SELECT * FROM {name}")
    finally:
        with suppress(duckdb.Error):  # a failed transaction has already dropped the table
            _runner(native)(f"DROP TABLE IF EXISTS {name}")


def _written(columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any], start: int) -> str:
    """A query of some rows of a table: at most `MOST_WRITTEN` from a place on."""
    some = slice(start, start + MOST_WRITTEN)
    cells = (_unnested(name, parts[some], schema[name]) for name, parts in columns.items())
    return f"SELECT {', '.join(cells)}"


def _unnested(name: str, parts: Sequence[Any], dtype: Any) -> str:
    """A column of whole numbers, booleans or bytes."""
    texts = map(bytes.hex, parts) if dtype == nw.Binary else map(str, parts)
    cell = f"unnest(string_split('{','.join(texts)}', ','))"
    stated = {nw.Boolean: "BOOLEAN", nw.Int32: "INTEGER", nw.UInt64: "UBIGINT"}.get(dtype, "BIGINT")
    cell = f"unhex({cell})" if dtype == nw.Binary else f"CAST({cell} AS {stated})"
    return f"{cell} AS {quoted(name)}"


def _batches(native: Any) -> Any:
    """A reader of Arrow batches; it was renamed in DuckDB 1.4."""
    reader = getattr(native, "to_arrow_reader", None) or native.fetch_record_batch
    return reader(BATCH)


def _with_durations(rows: Any, lengths: Sequence[str]) -> Any:
    return rows.with_columns(nw.col(*lengths).cast(nw.Duration("us"))) if lengths else rows


def quoted(name: str) -> str:
    """A name as an identifier of SQL, whatever characters it holds."""
    return '"' + name.replace('"', '""') + '"'


def _microseconds(column: str) -> str:
    return f"epoch_us({quoted(column)})"


def _moment(cell: str, dtype: Any) -> str:
    """Points in time in microseconds. Infinite ones become very far ones."""
    zoned = dtype.time_zone is not None
    if dtype.time_unit == "ns":
        whole = f"epoch_ns({cell}) // 1000 - (epoch_ns({cell}) % 1000 < 0)::BIGINT"
        far = f"CASE WHEN {cell} > '1970-01-01' THEN {FAR} ELSE -{FAR} END"
        ticks = f"CASE WHEN isinf({cell}) THEN {far} ELSE {whole} END"
        return f"make_timestamp{'tz' * zoned}({ticks})"
    stated = "TIMESTAMPTZ" if zoned else f"TIMESTAMP_{dtype.time_unit}".removesuffix("_us")
    low, high = (f"make_timestamp{'tz' * zoned}({end})::{stated}" for end in (-FAR, FAR))
    return _clamped(cell, low, high, "TIMESTAMPTZ" if zoned else "TIMESTAMP")


def _clamped(cell: str, low: str, high: str, stated: str) -> str:
    """A cell clamped between two ends, in a type that holds both. NULL stays NULL."""
    below, above = f"WHEN {cell} < {low} THEN {low}", f"WHEN {cell} > {high} THEN {high}"
    # Each branch has its own cast, so that only values that fit are cast.
    return f"CASE {below}::{stated} {above}::{stated} ELSE {cell}::{stated} END"


def _interval(cell: str) -> str:
    """Lengths of time in microseconds. A month has 30 days, as everywhere in DuckDB."""
    far = f"CASE WHEN {cell} > INTERVAL '0 days' THEN {INT64.max} ELSE -{INT64.max} END"
    whole = f"coalesce(TRY(epoch_us({cell})), {far})"
    return f"CASE WHEN {cell} IS NOT NULL THEN to_microseconds({whole}) END"


def _runner(relation: Any) -> Callable[[str], Any]:
    """A function that runs a statement on the connection of a relation.

    Running it through the relation would bind the relation first. That takes a while for thousands
    of files, and is impossible in a failed transaction. So the connection is used if it is known.
    """
    connection = getattr(relation, "_con", None)
    run: Callable[[str], Any] = partial(relation.query, ROWS)
    return run if connection is None else connection.sql


@contextmanager
def transaction(run: Callable[[str], Any], rollback: Callable[[], Any] | None) -> Iterator[None]:
    """Open a transaction, which sees one state of all tables.

    None is opened if it could not be ended, or if the user has opened one. Without a transaction
    of the user, two statements have two different transaction numbers.
    """
    if rollback is None or _number(run) == _number(run):
        yield
        return
    run("BEGIN TRANSACTION")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # the connection may be gone
            rollback()


def _number(run: Callable[[str], Any]) -> Any:
    return run("SELECT txid_current()").fetchall()


def is_derived(relation: Any, run: Callable[[str], Any]) -> bool:
    """Whether two runs may give different rows, judging by the plan and the text of the query."""
    steps = relation.query(ROWS, f"EXPLAIN (FORMAT json) SELECT * FROM {ROWS}").fetchall()[0][1]
    if not all(map(_is_plain, json.loads(steps))):
        return True
    texts = [relation.sql_query(), *(text for (text,) in run(HIDDEN).fetchall())]
    called = {name.lower() for text in texts for name in re.findall(r'(\w+)"?\s*\(', str(text))}
    return any(name.lower() in called for (name,) in run(VOLATILE).fetchall())


def _is_plain(step: dict[str, Any]) -> bool:
    sampled = any("sample" in detail.lower() for detail in step["extra_info"])
    plain = step["name"].strip() in PLAIN and not sampled
    return plain and all(map(_is_plain, step["children"]))
