"""DuckDB: columns of its relations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


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
