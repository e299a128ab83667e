"""Opens files (by name, pattern or address) and SQL queries as tables of DuckDB."""

import csv
import glob
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidValue, MissingBackend, UnreadableData
from dpquantiles.kinds import BY_NAME, INT64, Datetime, Domain, Kind
from dpquantiles.kinds.domain import of_kind
from dpquantiles.sources import layouts
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.cells import (
    BY_RULE,
    FALSE,
    NUMBERS,
    SAMPLE,
    TRUE,
    USUAL,
    WHITESPACE,
    missing_cells,
    read_cells,
)
from dpquantiles.sources.csv_files import Header, first_line, header_of, read_header
from dpquantiles.sources.duckdb import DuckDB, duckdb, quoted
from dpquantiles.sources.layouts import Layout, text
from dpquantiles.sources.named import Dialect, Named, check_parquet, is_remote
from dpquantiles.sources.tables import Listing, Table, domain_of, nearest

SQL_TYPES = {
    **{"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "decimal": "DECIMAL(18, 6)"},
    **{"date": "DATE", "datetime": "TIMESTAMP", "timedelta": "INTERVAL"},
}

CSV = {
    **{"auto_detect": "false", "header": "true", "quote": "'\"'", "escape": "'\"'"},
    **{"null_padding": "true", "strict_mode": "false", "ignore_errors": "true"},
    **{"parallel": "false", "max_line_size": str(1 << 27)},
}
"""All cells are read as text and then cast one by one, so that no record can make a scan fail.

DuckDB leaves out a line if a cell that it reads is not UTF-8, and has no option to keep it. (With
the encoding Latin-1 it refuses the bytes 128 to 159, and so most of UTF-8.)
"""

WHOLE_LINE = {**CSV, "header": "false", "quote": "''", "escape": "''", "delim": "'\x02'"}
"""Reads each line as one cell."""


def _connect(database: str = ":memory:") -> Any:
    connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def _table(
    relation: Any, connection: Any, origin: str | None = None, listing: Listing = nearest
) -> Table:
    """A relation on a connection of our own, which reports the progress of its queries."""
    connection.execute("SET preserve_insertion_order = false")  # the order of rows does not matter
    return Table(
        nw.from_native(relation),
        listing,
        percent=lambda: float(connection.query_progress()),
        origin=origin,
    )


def open_query(sql: str, database: str | None = None, *, alone: bool = False) -> Table:
    """The result of one SELECT, on files that it names or a database that is opened read-only.

    `alone` lets it read nothing else than the database: views may name any file.
    """
    try:
        connection = _connect(database or ":memory:")
    except duckdb.Error as error:
        raise UnreadableData(
            f"cannot open the database '{database}' read-only ({type(error).__name__}); check that "
            "it is a DuckDB file, and that no other process writes to it"
        ) from None
    try:
        if alone:
            connection.execute("SET enable_external_access = false")
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InvalidValue(f"sql must be one SELECT statement, got {sql!r}")
        return _table(connection.sql(sql), connection)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        # These errors come before any record is read, and quote the query but no data.
        line = str(error).strip().partition("\n")[0]
        raise InvalidValue(f"sql must be a query that DuckDB can run: {line}") from None
    except duckdb.PermissionException:
        raise UnreadableData(
            f"the query reads files other than the database '{database}', which is not allowed here"
        ) from None
    except duckdb.Error as error:
        raise UnreadableData(
            f"the query cannot be planned ({type(error).__name__}); check the files it names"
        ) from None


def open_parquet(names: str) -> Table:
    """Parquet files by name, pattern or address."""
    connection = _connect()
    if Path(names).exists():
        check_parquet(Path(names))
    groups = _same_footers(connection, _files(connection, names))
    parts = [_layout(connection, files, f"read_parquet({_listed(files)})") for files in groups]
    table = _joined(connection, names, parts, nearest)

    def rows() -> int:
        query = "SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)"
        # Fetch the whole answer, because the release needs a free connection.
        ((total,),) = _read(names, lambda: connection.execute(query, [names]).fetchall())
        return int(total or 0)

    return replace(table, rows=rows)


def _same_footers(connection: Any, files: Sequence[str]) -> list[list[str]]:
    """Group files with equal columns and types. The footer of a single file is not read."""
    if len(files) == 1:
        return [list(files)]
    for file in files:
        if not is_remote(file):
            check_parquet(Path(file))
    fields = "file_name, name, type, type_length, num_children, converted_type, scale, precision"

    def footer_rows(some: Sequence[str]) -> Any:
        query = f"SELECT {fields}, logical_type FROM parquet_schema({_listed(some)})"
        return connection.sql(query).fetchall()

    try:
        rows = footer_rows(files)
    except duckdb.Error:  # one file is damaged: read them one by one, to name it
        rows = [row for file in files for row in _read(file, partial(footer_rows, [file]))]
    columns = _grouped((file, tuple(column)) for file, *column in rows)
    # Skip the first entry of a footer: it is the root, and writers name it as they like.
    return list(_grouped((tuple(stated[1:]), file) for file, stated in columns.items()).values())


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group the second parts of pairs by their first parts, in order of appearance."""
    groups: dict[Any, list[Any]] = {}
    for first, second in pairs:
        groups.setdefault(first, []).append(second)
    return groups


def open_csv(named: Named) -> Table:
    """CSV files by name, pattern or address, with all columns as text."""
    connection, names, comma = _connect(), named.name, named.comma
    files = _files(connection, names)
    groups = _grouped((_header(connection, file, comma), file) for file in files)
    parts = [_csv_layout(connection, same, header, comma) for header, same in groups.items()]
    return _joined(connection, names, parts, partial(first_line, comma=comma))


def cast(
    table: Table, columns: Sequence[str], type_name: str | None = None, dialect: Dialect = USUAL
) -> Table:
    """Cast columns of CSV files to the stated type, or to the types that their first cells tell."""
    relation, kinds = table.frame.to_native(), {}
    for column in columns:
        table.dtype(column)
        kinds[column] = _text_kind(relation, column, type_name, dialect)
    cells = {column: _cast_cell(quoted(column), kind, dialect) for column, kind in kinds.items()}
    frame = nw.from_native(DuckDB().with_cells(relation, cells))
    domains = {column: _domain(kind, frame, column) for column, kind in kinds.items()}
    return replace(table, frame=frame, domains=domains)


def _domain(kind: Kind, frame: Any, column: str) -> Domain:
    """What cells can hold: any number and, of other types, what they are cast to, or finer."""
    if kind.name in BY_RULE:
        return of_kind(kind)
    return replace(domain_of(frame.collect_schema()[column]), name="", unit=of_kind(kind).unit)


def _cast_cell(cell: str, kind: Kind, dialect: Dialect) -> str:
    """A cell of text in a type; NULL if it does not fit, or means a missing value.

    Numbers and truth values are those of `cells.parse_cell`.
    """
    # Trimming is slow in DuckDB, and most cells need none.
    trimmed = f"trim({cell}, {text(WHITESPACE)})"
    cell = f"CASE WHEN regexp_full_match({cell}, '[!-~]*') THEN {cell} ELSE {trimmed} END"
    tried = f"TRY_CAST({{}} AS {_sql_type(kind)})"
    if kind.name == "bool":
        # DuckDB would turn a long IN (...) into a join, which may run differently in every scan.
        true, false = (f"list_contains({_texts(some)}, lower({cell}))" for some in (TRUE, FALSE))
        cast = f"CASE WHEN {true} THEN true WHEN {false} THEN false END"
    elif kind.name in NUMBERS:
        plain = cell if dialect.marks == "." else f"translate({cell}, {text(dialect.marks)}, '.')"
        number = f"CASE WHEN regexp_full_match({cell}, {text(dialect.number)}) THEN {plain} END"
        whole = f"regexp_full_match({cell}, {text(dialect.whole)})"
        cast = _whole(number, whole) if kind.name == "int" else tried.format(number)
    else:
        cast = tried.format(cell)
    if not dialect.na:
        return cast
    gone = _texts(sorted(missing_cells(dialect.na)))
    return f"CASE WHEN NOT list_contains({gone}, lower({cell})) THEN {cast} END"


def _whole(number: str, whole: str) -> str:
    """A number as an integer of 64 bits: rounded half to even, and clamped."""
    real = f"TRY_CAST({number} AS DOUBLE)"
    ends = f"WHEN {real} >= 2.0 ** 63 THEN {INT64.max} WHEN {real} < -(2.0 ** 63) THEN {INT64.min}"
    # The outer cast is needed because SQL takes the least integer for one of 128 bits.
    near = f"(CASE {ends} ELSE TRY_CAST(round_even({real}, 0) AS BIGINT) END)::BIGINT"
    return f"coalesce(CASE WHEN {whole} THEN TRY_CAST({number} AS BIGINT) END, {near})"


def _texts(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(text, texts))}]"


def _text_kind(relation: Any, column: str, type_name: str | None, dialect: Dialect) -> Kind:
    if type_name not in (None, "datetime"):  # the cells of datetimes tell their time zone
        return BY_NAME[str(type_name)]
    cells = relation.select(duckdb.ColumnExpression(column)).limit(SAMPLE).fetchall()
    return read_cells([(cell or "").strip() for (cell,) in cells], column, type_name, dialect).kind


def _header(connection: Any, file: str, comma: str) -> Header:
    if not is_remote(file):
        return read_header(Path(file), comma)
    source = f"read_csv({text(file)}, {_options(WHOLE_LINE)}, columns = {{'line': 'VARCHAR'}})"
    lines = _read(file, lambda: connection.sql(f"FROM {source} LIMIT 1").fetchall())
    return header_of(csv.reader([line or "" for (line,) in lines], delimiter=comma), file)


def _csv_layout(connection: Any, files: list[str], header: Header, comma: str) -> Layout:
    """Name the cells ourselves, because DuckDB refuses names that are empty or occur twice."""
    own = {f"dpq_cell_{place}": name for place, name in enumerate(header.names)}
    cells = ", ".join(f"{cell}: 'VARCHAR'" for cell in own)
    options = {**CSV, "delim": text(comma), "skip": str(header.blank), "columns": f"{{{cells}}}"}
    layout = _layout(connection, files, f"read_csv({_listed(files)}, {_options(options)})")
    times = Counter(filter(None, header.names))
    columns = {name: quoted(cell) for cell, name in own.items() if times[name] == 1}
    # DuckDB adds a column for every folder with a name such as county=Kent.
    folders = {name: type_ for name, type_ in layout.types.items() if name not in own}
    return layout._replace(
        cells={name: quoted(name) for name in folders} | columns,
        types=folders | dict.fromkeys(columns, "VARCHAR"),
        repeated=[name for name, count in times.items() if count > 1],
    )


def _layout(connection: Any, files: Sequence[str], source: str) -> Layout:
    """The layout that DuckDB finds before it reads any record."""
    relation = _read(files[0], lambda: connection.sql(f"FROM {source}"))
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return Layout(files, source, {name: quoted(name) for name in types}, types)


def _joined(connection: Any, names: str, parts: Sequence[Layout], listing: Listing) -> Table:
    """Join all files into one table."""
    relation = _read(names, lambda: connection.sql(layouts.union(parts)))
    return _table(relation, connection, names, layouts.refusal(parts, listing))


def _files(connection: Any, names: str) -> list[str]:
    """The files that a name, a pattern or an address stands for."""
    if Path(names).exists() or (is_remote(names) and "*" not in names):
        return [names]
    query = f"SELECT file FROM glob({text(names)}) ORDER BY file"
    files = [file for (file,) in _read(names, lambda: connection.sql(query).fetchall())]
    if not files:
        raise FileNotFoundError(f"no such file: '{names}'; check the path")
    return files


def _listed(files: Iterable[str]) -> str:
    """A list of files in SQL, escaped so that none is taken for a pattern."""
    return _texts(file if is_remote(file) else glob.escape(file) for file in files)


def _options(options: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def _sql_type(kind: Kind) -> str:
    zoned = isinstance(kind, Datetime) and kind.zone is not None
    return "TIMESTAMPTZ" if zoned else SQL_TYPES[kind.name]


def _read(names: str, read: Callable[[], Any]) -> Any:
    """Call `read`. If DuckDB fails, raise an error that quotes nothing of the files."""
    try:
        return read()
    except duckdb.Error as error:
        if "No files found" in str(error):
            raise FileNotFoundError(f"no such file: '{names}'; check the path") from None
        if "httpfs" in str(error):
            raise MissingBackend(
                f"'{names}' is remote; to read it, DuckDB needs its extension httpfs; install it "
                'once, while connected to the internet: python -c "import duckdb; '
                "duckdb.sql('INSTALL httpfs')\""
            ) from None
        raise InvalidValue(
            f"'{names}' cannot be read as a table ({type(error).__name__}); it may be cut off or "
            "damaged, or out of reach"
        ) from None
