"""DuckDB: columns of its relations."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from dpquantiles.errors import MissingBackend
from dpquantiles.kinds import INT64
from dpquantiles.sources.numbers import Numbers, as_numbers, as_ticks, is_time
from dpquantiles.sources.predicates import VALUE
from dpquantiles.sources.tables import Table

try:
    import duckdb as duckdb  # for the relations that are opened here, too
except ImportError:
    raise MissingBackend(
        "files by pattern or address, SQL queries and DuckDB databases need DuckDB: "
        "pip install 'dpquantiles[duckdb]'"
    ) from None

FAR = 2**62
"""Where infinite times go, in microseconds: beyond every grid, and yet a number."""


def safe(table: Table, columns: Sequence[str]) -> Table:
    """Integers of 128 bits as ones of 64, times in microseconds, infinite ones as far ones."""
    given = ((quoted(column), *_typed(table, column)) for column in columns)
    changed = [f"{sql} AS {name}" for name, cell, dtype in given if (sql := _safe(cell, dtype))]
    return _projected(table, f"* REPLACE ({', '.join(changed)})") if changed else table


def numbers(table: Table, column: str) -> Numbers:
    """A safe column as DuckDB compares and bins it."""
    dtype = table.dtype(column)
    if is_time(dtype):
        ticks = _projected(table, f"{_ticks(quoted(column), dtype)} AS {VALUE}")
        found = as_ticks(ticks.frame, dtype)
    else:
        found = as_numbers(table, column)
    return replace(found, collect=_collect, engine="DuckDB", extra="duckdb")


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _projected(table: Table, sql: str) -> Table:
    import narwhals.stable.v2 as nw

    return replace(table, frame=nw.from_native(table.frame.to_native().project(sql)))


def _typed(table: Table, column: str) -> tuple[str, Any]:
    """A column in SQL, and its type; nanoseconds with a zone, which Narwhals does not know, too."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    if str(native.types[native.columns.index(column)]) == "TIMESTAMPTZ_NS":
        return f"CAST({quoted(column)} AS TIMESTAMP_NS)", nw.Datetime("ns", "UTC")
    return quoted(column), table.dtype(column)


def _safe(name: str, dtype: Any) -> str | None:
    """A column as it can be scanned, in SQL; None where it can be as it is."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Int128:
        return _clamped(name, f"({INT64.min})", str(INT64.max), "BIGINT")
    if dtype == nw.UInt128:  # which is not compared with negative numbers
        return _clamped(name, "0", str(INT64.max), "BIGINT")
    if dtype == nw.Duration:
        return _interval(name)
    if dtype != nw.Datetime:
        return None
    zoned = dtype.time_zone is not None
    if dtype.time_unit == "ns":
        whole = f"epoch_ns({name}) // 1000 - (epoch_ns({name}) % 1000 < 0)::BIGINT"
        far = f"CASE WHEN {name} > '1970-01-01' THEN {FAR} ELSE -{FAR} END"
        ticks = f"CASE WHEN isinf({name}) THEN {far} ELSE {whole} END"
        return f"make_timestamp{'tz' * zoned}({ticks})"
    stated = "TIMESTAMPTZ" if zoned else f"TIMESTAMP_{dtype.time_unit}".removesuffix("_us")
    low, high = (f"make_timestamp{'tz' * zoned}({end})::{stated}" for end in (-FAR, FAR))
    return _clamped(name, low, high, "TIMESTAMPTZ" if zoned else "TIMESTAMP")


def _clamped(name: str, low: str, high: str, stated: str) -> str:
    """A column between two ends, in a type that holds both; NULL stays NULL."""
    below, above = f"WHEN {name} < {low} THEN {low}", f"WHEN {name} > {high} THEN {high}"
    # The cast of each branch is its own, so that no value is cast that does not fit.
    return f"CASE {below}::{stated} {above}::{stated} ELSE {name}::{stated} END"


def _interval(name: str) -> str:
    """Lengths of time in microseconds alone; months have 30 days, as everywhere in DuckDB."""
    far = f"CASE WHEN {name} > INTERVAL '0 days' THEN {INT64.max} ELSE -{INT64.max} END"
    whole = f"coalesce(TRY(epoch_us({name})), {far})"
    return f"CASE WHEN {name} IS NOT NULL THEN to_microseconds({whole}) END"


def _ticks(name: str, dtype: Any) -> str:
    """Days of dates, else microseconds."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Date:  # infinite ones are the largest numbers of days there are
        return f"CAST({name} - DATE '1970-01-01' AS BIGINT)"
    return f"epoch_us({name})"


def _collect(frame: Any) -> Any:
    """The rows as Arrow has them; intervals as durations, which are all that they are here."""
    import narwhals.stable.v2 as nw

    lengths = [name for name, dtype in frame.collect_schema().items() if dtype == nw.Duration]
    if not lengths:
        return frame.collect(backend="pyarrow")
    counted = ", ".join(f"epoch_us({quoted(name)}) AS {quoted(name)}" for name in lengths)
    found = _projected(Table(frame), f"* REPLACE ({counted})").frame.collect(backend="pyarrow")
    return found.with_columns(nw.col(*lengths).cast(nw.Duration("us")))


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The relation with columns of keys as codes: the bytes of text, the days of dates."""
    import narwhals.stable.v2 as nw

    def code(name: str) -> Any:
        sql = {"str": as_bytes(quoted(name)), "date": _ticks(quoted(name), nw.Date())}
        found = duckdb.SQLExpression(sql.get(types.get(name, ""), quoted(name)))
        return found.alias(name)

    return nw.from_native(table.frame.to_native().select(*map(code, table.names)))


def as_bytes(text: str) -> str:
    """Text as its bytes: DuckDB sorts text that is not UTF-8 wrongly, and fails to give it out."""
    return f"encode(CAST({text} AS VARCHAR))"


def named(table: Table, unit: str) -> Any:
    """The relation with a column of units as DuckDB keeps them apart: text as bytes."""
    import narwhals.stable.v2 as nw

    return coded(table, {unit: "str"} if table.dtype(unit) == nw.String else {})


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native relation with one more column: a hash of these cells of each row, by a key.

    Hashes of several cells are joined by XOR, which alone would order rows unevenly.
    """
    cells = ", ".join([str(key), *map(quoted, columns)])
    mark = duckdb.SQLExpression(f"hash(hash({cells}))").alias(name)
    return table.frame.to_native().select(duckdb.StarExpression(), mark)


OWN = "dpq_rows"
"""What statements call the relation that they are run for."""

PLAIN = frozenset({"PROJECTION", "FILTER", "UNION", "DUMMY_SCAN", "EMPTY_RESULT", "UNNEST"})
PLAIN |= {"SEQ_SCAN", "TABLE_SCAN", "COLUMN_DATA_SCAN", "PANDAS_SCAN", "RANGE"}
PLAIN |= {"READ_PARQUET", "PARQUET_SCAN", "READ_CSV", "READ_CSV_AUTO"}
PLAIN |= {"PYTHON_ARROW_SCAN", "ARROW_SCAN", "ARROW_SCAN_DUMB"}
"""Steps of a plan that give the same rows whenever they run on the same data."""

HIDDEN = (
    "SELECT sql FROM duckdb_views() WHERE NOT internal UNION ALL SELECT macro_definition FROM "
    "duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"
)
"""Text that a query may stand for without quoting it."""

VOLATILE = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"


@contextmanager
def pinned(relation: Any) -> Iterator[Any]:
    """A relation whose rows stand still: read in one transaction, and kept where computed.

    What is kept is a temporary table, for which DuckDB uses the disk where memory is short.
    """
    # A statement for a relation binds it first: that takes a while for thousands of files, and a
    # transaction that failed does not allow it. Only the connection ends such a transaction.
    connection = getattr(relation, "_con", None)
    run = partial(relation.query, OWN) if connection is None else connection.sql
    with transaction(run, getattr(connection, "rollback", None)):
        if not is_derived(relation, run):
            yield relation
            return
        name = f"dpq_{uuid4().hex}"
        try:
            relation.query(OWN, f"CREATE TEMP TABLE {name} AS SELECT * FROM {OWN}")
            yield relation.query(OWN, f"SELECT * FROM {name}")
        finally:
            with suppress(duckdb.Error):  # a transaction that failed takes the table with it
                run(f"DROP TABLE IF EXISTS {name}")


@contextmanager
def transaction(run: Callable[[str], Any], rollback: Callable[[], Any] | None) -> Iterator[None]:
    """A transaction of our own, which sees one state of all tables.

    There is none where it could not be ended, nor within one of the user's: outside of
    transactions, every statement is one and has a number of its own.
    """
    if rollback is None or _number(run) == _number(run):
        yield
        return
    run("BEGIN TRANSACTION")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # it may have died with its connection
            rollback()


def _number(run: Callable[[str], Any]) -> Any:
    return run("SELECT txid_current()").fetchall()


def is_derived(relation: Any, run: Callable[[str], Any]) -> bool:
    """Whether rows are computed from more than a row each, or by chance; the plan tells."""
    steps = relation.query(OWN, f"EXPLAIN (FORMAT json) SELECT * FROM {OWN}").fetchall()[0][1]
    if not all(map(_is_plain, json.loads(steps))):
        return True
    texts = [relation.sql_query(), *(text for (text,) in run(HIDDEN).fetchall())]
    called = {name.lower() for text in texts for name in re.findall(r'(\w+)"?\s*\(', str(text))}
    return any(name.lower() in called for (name,) in run(VOLATILE).fetchall())


def _is_plain(step: dict[str, Any]) -> bool:
    sampled = any("sample" in told.lower() for told in step["extra_info"])
    known = step["name"].strip() in PLAIN and not sampled
    return known and all(map(_is_plain, step["children"]))
