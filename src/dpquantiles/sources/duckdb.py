"""DuckDB: columns of its relations."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from dpquantiles.errors import MissingBackend
from dpquantiles.sources.numbers import (
    Numbers,
    as_numbers,
    as_ticks,
    in_microseconds,
    is_time,
)
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

WHOLE = (-(2**63), 2**63 - 1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """An interrupt stays one: DuckDB makes an error of it, and others may follow."""
    try:
        yield
    except Exception as error:
        found: BaseException | None = error
        while found is not None:
            if str(found) == "Query interrupted":
                raise KeyboardInterrupt from None
            found = found.__context__
        raise


def numbers(table: Table, column: str) -> Numbers:
    """A column as DuckDB compares and bins it."""
    import narwhals.stable.v2 as nw

    dtype = table.dtype(column)
    if is_time(dtype):
        ticks = _projected(table, _ticks(quoted(column), dtype))
        found = as_ticks(ticks, in_microseconds(dtype))
    elif dtype in (nw.Int128, nw.UInt128):
        low, high = WHOLE
        name = quoted(column)
        clamped = f"CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high}"
        narrow = _projected(table, f"CAST({clamped} ELSE {name} END AS BIGINT)")
        found = replace(as_numbers(table, column), frame=narrow)
    else:
        found = as_numbers(table, column)
    return replace(found, collect=_collect, engine="DuckDB", extra="duckdb")


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _projected(table: Table, sql: str) -> Any:
    import narwhals.stable.v2 as nw

    relation = table.frame.to_native()
    return nw.from_native(relation.select(duckdb.SQLExpression(sql).alias(VALUE)))


def _ticks(name: str, dtype: Any) -> str:
    """Days of dates, else microseconds, rounded down; what cannot be told is NULL."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Date:  # infinite ones are the largest numbers of days there are
        return f"CAST({name} - DATE '1970-01-01' AS BIGINT)"
    whole = f"epoch_us({name})"
    if dtype == nw.Duration:
        return f"TRY({whole})"
    if dtype.time_unit == "ns":
        whole = f"(epoch_ns({name}) - (epoch_ns({name}) % 1000 + 1000) % 1000) // 1000"
    far = f"CASE WHEN {name} > '1970-01-01' THEN {FAR} ELSE -{FAR} END"
    return f"CASE WHEN isinf({name}) THEN {far} ELSE TRY({whole}) END"


@_interruptible()
def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native relation with one more column: a hash of these cells of each row, by a key."""
    cells = ", ".join([str(key), *map(quoted, columns)])
    mark = duckdb.SQLExpression(f"hash({cells})").alias(name)
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
    with _interruptible(), transaction(run, getattr(connection, "rollback", None)):
        if not _is_derived(relation, run):
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


def _is_derived(relation: Any, run: Callable[[str], Any]) -> bool:
    """Whether rows are computed from more than a row each, or by chance; the plan tells."""
    steps = relation.query(OWN, f"EXPLAIN (FORMAT json) SELECT * FROM {OWN}").fetchall()[0][1]
    if not all(map(_is_plain, json.loads(steps))):
        return True
    texts = [relation.sql_query(), *(text for (text,) in run(HIDDEN).fetchall())]
    called = {name.lower() for text in texts for name in re.findall(r"(\w+)\s*\(", str(text))}
    return any(name in called for (name,) in run(VOLATILE).fetchall())


def _is_plain(step: dict[str, Any]) -> bool:
    sampled = any("sample" in told.lower() for told in step["extra_info"])
    known = step["name"].strip() in PLAIN and not sampled
    return known and all(map(_is_plain, step["children"]))
