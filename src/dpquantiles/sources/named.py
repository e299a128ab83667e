"""Columns by the name of where they are: files, patterns, addresses, and SQL queries."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.kinds import BY_NAME, Kind
from dpquantiles.sources import files
from dpquantiles.sources.cells import read_cells
from dpquantiles.sources.files import ADDRESS
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import InMemory
from dpquantiles.sources.tables import Table

if TYPE_CHECKING:
    from dpquantiles.sources.relations import Opened

QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
PATTERN = re.compile(r"[*?\[]")


Column = InMemory | LazyColumn


def open_named(name: str | Path, column: str) -> Column:
    """A column of files, or of a SQL query."""
    require.column_name(column=column)
    if isinstance(name, str) and QUERY.match(name):
        return open_query(name, column)
    return open_files(str(name), column)


def open_named_table(name: str | Path, columns: Sequence[str]) -> Table:
    """Files, or what a SQL query gives, as a table; of CSV files these columns get their types."""
    for column in columns:
        require.column_name(column=column)
    if isinstance(name, str) and QUERY.match(name):
        from dpquantiles.sources import relations

        return relations.open_query(name).table
    return open_table_files(str(name), columns).table


def open_table_files(name: str, columns: Sequence[str], type_name: str | None = None) -> "Opened":
    """Whole files by name, pattern or address; of CSV files these columns get their types."""
    from dpquantiles.sources import relations

    if not is_many(name):
        files.check_readable(Path(name))
    if is_text(name):
        return relations.open_csv(name, columns, _kind_of(type_name))
    if knows_schema(name):
        return relations.open_parquet(name)
    raise _unknown_files(name)


def _kind_of(type_name: str | None) -> Callable[[str, list[str]], Kind]:
    return lambda column, cells: read_cells(cells, column, type_name).kind


def open_files(name: str, column: str, type_name: str | None = None) -> Column:
    """A column of one file, of all files of a pattern, or of what is at an address.

    A single CSV file needs no library to be read, a Parquet file DuckDB, PyArrow or Polars.
    """
    if type_name is not None:
        require.choice(BY_NAME, type=type_name)
    if is_many(name):
        return _many(name, column, type_name)
    if knows_schema(name):
        files.check_parquet(Path(name))
        return _parquet(name, column, type_name)
    return InMemory(files.read_column(name, column, type_name))


def require_column(name: str, column: str) -> None:
    """Refuse CSV files of which one lacks this column, from the names of their columns alone."""
    if is_many(name) and is_text(name):
        open_table_files(name, []).require(column, name)
    elif is_many(name):
        raise _unknown_files(name)
    else:
        files.require_column(name, column)


def is_text(name: str) -> bool:
    """Whether files are CSV, where only cells tell types."""
    return _ending(name).endswith((".csv", ".csv.gz", ".tsv"))


def knows_schema(name: str) -> bool:
    """Whether types can be told here without a look at the records."""
    return _ending(name).endswith((".parquet", ".pq")) and find_spec("duckdb") is not None


def open_query(
    sql: str, column: str, database: str | None = None, type_name: str | None = None
) -> LazyColumn:
    """A column of what a SELECT gives."""
    from dpquantiles.sources import relations

    if database is not None:
        files.check_readable(Path(database))
    opened = relations.open_query(sql, database)
    return _as_type(LazyColumn.of(opened.table, column, opened.percent), column, type_name)


def is_many(name: str) -> bool:
    """Whether a name is a pattern or an address, which DuckDB resolves."""
    if ADDRESS.match(name):
        return True
    return bool(PATTERN.search(name)) and not Path(name).exists()


def _ending(name: str) -> str:
    return (name.partition("?")[0] if ADDRESS.match(name) else name).lower()


def _many(name: str, column: str, type_name: str | None) -> LazyColumn:
    from dpquantiles.sources import relations

    if is_text(name):
        opened = relations.open_csv(name, [column], _kind_of(type_name))
        return LazyColumn.of(opened.table, column, opened.percent)
    if knows_schema(name):
        return _parquet(name, column, type_name)
    raise _unknown_files(name)


def _unknown_files(name: str) -> ValueError:
    return InvalidValue(
        f"the name of data files must end in .csv or .parquet, got {name!r}; "
        "for other forms write a query: SELECT ... FROM read_json('...')"
    )


def _parquet(name: str, column: str, type_name: str | None) -> LazyColumn:
    from dpquantiles.sources import relations

    opened = relations.open_parquet(name)
    opened.require(column, name)
    return _as_type(LazyColumn.of(opened.table, column, opened.percent), column, type_name)


def _as_type(lazy: LazyColumn, column: str, type_name: str | None) -> LazyColumn:
    kind = files.as_kind(lazy.kind, column, type_name)
    return replace(lazy, numbers=replace(lazy.numbers, kind=kind))
