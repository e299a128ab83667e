"""Relations that DuckDB opens here: of files by name, pattern or address, and of queries."""

import csv
import glob
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidValue, MissingBackend, UnreadableData
from dpquantiles.kinds import BY_NAME, Datetime, Domain, Kind
from dpquantiles.kinds.domain import TRUTHS, days, decimals, floats, integers, of_kind, times
from dpquantiles.sources import layouts
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.cells import read_cells
from dpquantiles.sources.duckdb import duckdb, quoted
from dpquantiles.sources.files import (
    ADDRESS,
    Header,
    check_parquet,
    first_line,
    header_of,
    read_header,
)
from dpquantiles.sources.layouts import Layout, text
from dpquantiles.sources.tables import Listing, Table, nearest

SAMPLE = 10_000
"""How many cells of CSV files tell the type of a column that none is stated for."""

SQL_TYPES = {
    **{"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "decimal": "DECIMAL(18, 6)"},
    **{"date": "DATE", "datetime": "TIMESTAMP", "timedelta": "INTERVAL"},
}

SQL_DOMAINS = {
    **{"int": integers(64, signed=True), "float": floats(64), "bool": TRUTHS},
    **{"decimal": decimals(18, 6), "date": days(32)},
    **{"datetime": times("datetime", "us"), "timedelta": times("duration", "us")},
}
"""What these types can hold."""

CSV = {
    **{"auto_detect": "false", "header": "true", "quote": "'\"'", "escape": "'\"'"},
    **{"null_padding": "true", "strict_mode": "false", "ignore_errors": "true"},
    **{"parallel": "false", "max_line_size": str(1 << 27)},
}
"""Cells are text until each is cast for itself, so that no record can make a scan fail.

A line is left out when a cell that is asked for is not UTF-8: DuckDB has no way to keep it. (As
Latin-1 it refuses the bytes 128 to 159, and with them most of UTF-8.)
"""

WHOLE_LINE = {**CSV, "header": "false", "quote": "''", "escape": "''", "delim": "'\x02'"}
"""A line as one cell."""


def _connect(database: str = ":memory:") -> Any:
    connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def _table(
    relation: Any, connection: Any, origin: str | None = None, listing: Listing = nearest
) -> Table:
    """A relation on a connection of our own, which tells how far its running query is."""
    connection.execute("SET preserve_insertion_order = false")  # order is of no use here
    return Table(
        nw.from_native(relation),
        listing,
        percent=lambda: float(connection.query_progress()),
        origin=origin,
    )


def open_query(sql: str, database: str | None = None) -> Table:
    """What one SELECT gives, of a database file that is opened read-only or of files it names."""
    try:
        connection = _connect(database or ":memory:")
    except duckdb.Error as error:
        raise UnreadableData(
            f"cannot open the database '{database}' read-only ({type(error).__name__}); check that "
            "it is a DuckDB file, and that no other process writes to it"
        ) from None
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InvalidValue(f"sql must be one SELECT statement, got {sql!r}")
        return _table(connection.sql(sql), connection)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        # These come before any record is read and quote the query, not the data.
        raise InvalidValue(f"sql must be a query that DuckDB can run: {_line(error)}") from None
    except duckdb.Error as error:
        raise UnreadableData(
            f"the query cannot be planned ({type(error).__name__}); check the files it names"
        ) from None


def open_parquet(names: str) -> Table:
    """Parquet files by name, pattern or address."""
    connection = _connect()
    if Path(names).exists():
        check_parquet(Path(names))
    found = [
        _layout(connection, files, f"read_parquet({_listed(files)})")
        for files in _same_footers(connection, _files(connection, names))
    ]
    listing = layouts.refusal(found, nearest)
    table = _table(_joined(connection, names, found), connection, names, listing)
    return replace(table, rows=lambda: _rows(connection, names))


def _rows(connection: Any, names: str) -> int:
    """How many rows Parquet files hold, by their footers."""
    query = "SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)"
    # All rows of the answer are fetched: the connection must be free for the release.
    ((rows,),) = _read(names, lambda: connection.execute(query, [names]).fetchall())
    return int(rows or 0)


def _same_footers(connection: Any, files: Sequence[str]) -> list[list[str]]:
    """Files of the same columns and types together; one file needs no look at its footer here."""
    if len(files) == 1:
        return [list(files)]
    for file in files:
        if not _is_remote(file):
            check_parquet(Path(file))
    told = "file_name, name, type, type_length, num_children, converted_type, scale, precision"

    def rows(some: Sequence[str]) -> Any:
        query = f"SELECT {told}, logical_type FROM parquet_schema({_listed(some)})"
        return connection.sql(query).fetchall()

    try:
        found = rows(files)
    except duckdb.Error:  # one of them is damaged, and the message names it
        found = [row for file in files for row in _read(file, partial(rows, [file]))]
    footers: dict[str, list[Any]] = {}
    for file, *column in found:
        footers.setdefault(file, []).append(tuple(column))
    return _grouped({file: tuple(columns[1:]) for file, columns in footers.items()})


def _grouped(told: dict[str, Any]) -> list[list[str]]:
    """Files by what is told of them, in the order of the first of each."""
    groups: dict[Any, list[str]] = {}
    for file, same in told.items():
        groups.setdefault(same, []).append(file)
    return list(groups.values())


def open_csv(names: str) -> Table:
    """CSV files by name, pattern or address; all columns are text."""
    connection = _connect()
    comma = "\t" if names.lower().endswith(".tsv") else ","
    headers = {file: _header(connection, file, comma) for file in _files(connection, names)}
    found = [
        _csv_layout(connection, files, headers[files[0]], comma) for files in _grouped(headers)
    ]
    listing = layouts.refusal(found, first_line)
    return _table(_joined(connection, names, found), connection, names, listing)


def cast(table: Table, columns: Sequence[str], type_name: str | None = None) -> Table:
    """Columns of CSV files in the stated type, or in the types that samples of their cells tell."""
    relation = table.frame.to_native()
    typed, domains = {}, {}
    for column in columns:
        table.dtype(column)
        kind = _text_kind(relation, column, type_name)
        value = f"TRY_CAST(trim({quoted(column)}) AS {_sql_type(kind)})"
        typed[column] = duckdb.SQLExpression(value).alias(column)
        domains[column] = text_domain(kind)
    others = [duckdb.ColumnExpression(name) for name in relation.columns if name not in typed]
    frame = nw.from_native(relation.select(*others, *typed.values()))
    return replace(table, frame=frame, domains=domains)


def _text_kind(relation: Any, column: str, type_name: str | None) -> Kind:
    if type_name not in (None, "datetime"):  # cells tell the time zone
        return BY_NAME[str(type_name)]
    cells = relation.select(duckdb.ColumnExpression(column)).limit(SAMPLE).fetchall()
    return read_cells([(cell or "").strip() for (cell,) in cells], column, type_name).kind


def text_domain(kind: Kind) -> Domain:
    """What text can hold that is cast to a type: all that the type can, and finer values."""
    return replace(SQL_DOMAINS[kind.name], name="", unit=of_kind(kind).unit)


def _header(connection: Any, file: str, comma: str) -> Header:
    if not _is_remote(file):
        return read_header(Path(file), comma)
    source = f"read_csv({text(file)}, {_options(WHOLE_LINE)}, columns = {{'line': 'VARCHAR'}})"
    lines = _read(file, lambda: connection.sql(f"FROM {source} LIMIT 1").fetchall())
    return header_of(csv.reader([line or "" for (line,) in lines], delimiter=comma), file)


def _csv_layout(connection: Any, files: list[str], told: Header, comma: str) -> Layout:
    """Cells get names of our own: DuckDB lets no name be empty, or occur twice."""
    own = {f"dpq_cell_{place}": name for place, name in enumerate(told.names)}
    cells = ", ".join(f"{cell}: 'VARCHAR'" for cell in own)
    stated = {**CSV, "delim": text(comma), "skip": str(told.blank), "columns": f"{{{cells}}}"}
    layout = _layout(connection, files, f"read_csv({_listed(files)}, {_options(stated)})")
    times = Counter(filter(None, told.names))
    named = {name: quoted(cell) for cell, name in own.items() if times[name] == 1}
    # What DuckDB adds are the names of folders, such as county=Kent.
    folders = {name: type_ for name, type_ in layout.types.items() if name not in own}
    return layout._replace(
        cells={name: quoted(name) for name in folders} | named,
        types=folders | dict.fromkeys(named, "VARCHAR"),
        repeated=[name for name, count in times.items() if count > 1],
    )


def _layout(connection: Any, files: Sequence[str], source: str) -> Layout:
    """What DuckDB knows of files before it reads a record."""
    relation = _read(files[0], lambda: connection.sql(f"FROM {source}"))
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return Layout(files, source, {name: quoted(name) for name in types}, types)


def _joined(connection: Any, names: str, found: Sequence[Layout]) -> Any:
    return _read(names, lambda: connection.sql(layouts.union(found)))


def _files(connection: Any, names: str) -> list[str]:
    """The files that a name, a pattern or an address stands for."""
    if Path(names).exists() or (_is_remote(names) and "*" not in names):
        return [names]
    query = f"SELECT file FROM glob({text(names)}) ORDER BY file"
    found = [file for (file,) in _read(names, lambda: connection.sql(query).fetchall())]
    if not found:
        raise FileNotFoundError(f"no such file: '{names}'; check the path")
    return found


def _is_remote(file: str) -> bool:
    return ADDRESS.match(file) is not None


def _listed(files: Iterable[str]) -> str:
    """Files as SQL takes them, where what looks like a pattern is a name."""
    known = (file if _is_remote(file) else glob.escape(file) for file in files)
    return f"[{', '.join(map(text, known))}]"


def _options(stated: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in stated.items())


def _sql_type(kind: Kind) -> str:
    zoned = isinstance(kind, Datetime) and kind.zone is not None
    return "TIMESTAMPTZ" if zoned else SQL_TYPES[kind.name]


def _read(names: str, read: Callable[[], Any]) -> Any:
    """What is known of files, or an error that quotes nothing of them."""
    try:
        return read()
    except duckdb.Error as error:
        if "No files found" in str(error):
            raise FileNotFoundError(f"no such file: '{names}'; check the path") from None
        if "httpfs" in str(error):
            raise MissingBackend(
                f"'{names}' is remote, for which DuckDB needs its extension httpfs; install it "
                'once, with a connection to the internet: python -c "import duckdb; '
                "duckdb.sql('INSTALL httpfs')\""
            ) from None
        raise InvalidValue(
            f"'{names}' cannot be read as a table ({type(error).__name__}); it may be cut off or "
            "damaged, or out of reach"
        ) from None


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
