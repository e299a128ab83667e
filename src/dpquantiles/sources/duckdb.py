"""DuckDB: columns of its relations, and relations of files and queries that it opens itself."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpquantiles.errors import MissingBackend
from dpquantiles.kinds import INT64, Datetime, Kind
from dpquantiles.sources.files import first_line, position
from dpquantiles.sources.numbers import Numbers, as_numbers, as_ticks, is_time
from dpquantiles.sources.predicates import VALUE
from dpquantiles.sources.tables import Table, nearest

try:
    import duckdb
except ImportError:
    raise MissingBackend(
        "files by pattern or address, SQL queries and DuckDB databases need DuckDB: "
        "pip install 'dpquantiles[duckdb]'"
    ) from None

FAR = 2**62
"""Where infinite times go, in microseconds: beyond every grid, and yet a number."""


def safe(table: Table, columns: Sequence[str]) -> Table:
    """Integers of 128 bits as ones of 64, times in microseconds, infinite ones as far ones."""
    given = ((quoted(column), table.dtype(column)) for column in columns)
    changed = [f"{sql} AS {name}" for name, dtype in given if (sql := _safe(name, dtype))]
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
    if dtype.time_unit == "ns":
        whole = f"epoch_ns({name}) // 1000 - (epoch_ns({name}) % 1000 < 0)::BIGINT"
        far = f"CASE WHEN {name} > '1970-01-01' THEN {FAR} ELSE -{FAR} END"
        return f"make_timestamp(CASE WHEN isinf({name}) THEN {far} ELSE {whole} END)"
    zoned = dtype.time_zone is not None
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


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native relation with one more column: a hash of these cells of each row, by a key."""
    cells = ", ".join([str(key), *map(quoted, columns)])
    mark = duckdb.SQLExpression(f"hash({cells})").alias(name)
    return table.frame.to_native().select(duckdb.StarExpression(), mark)


SAMPLE = 10_000
"""How many cells of CSV files tell the type of a column that none is stated for."""

SQL_TYPES = {
    **{"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "decimal": "DECIMAL(18, 6)"},
    **{"date": "DATE", "datetime": "TIMESTAMP", "timedelta": "INTERVAL"},
}

CSV: dict[str, Any] = {
    **{"auto_detect": False, "header": True, "quotechar": '"', "escapechar": '"'},
    **{"null_padding": True, "strict_mode": False, "ignore_errors": True, "parallel": False},
    "max_line_size": 1 << 27,
}
"""Cells are text until each is cast for itself, so that no record can make a scan fail.

A line is left out when a cell that is asked for is not UTF-8: DuckDB has no way to keep it. (As
Latin-1 it refuses the bytes 128 to 159, and with them most of UTF-8.)
"""


@dataclass(frozen=True)
class Opened:
    """A relation on a connection of our own, and how far its running query is."""

    relation: Any
    connection: Any
    listing: Callable[[str, Iterable[str]], str] = nearest
    """How a message lists its columns."""

    @property
    def table(self) -> Table:
        import narwhals.stable.v2 as nw

        return Table(nw.from_native(self.relation), self.listing)

    def percent(self) -> float:
        """How much of the running query is done, 0 to 100; negative where DuckDB cannot tell."""
        return float(self.connection.query_progress())


def _connect(database: str = ":memory:") -> Any:
    connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def _opened(relation: Any, connection: Any) -> Opened:
    connection.execute("SET preserve_insertion_order = false")  # order is of no use here
    return Opened(relation, connection)


def open_query(sql: str, database: str | None = None) -> Opened:
    """What one SELECT gives, of a database file that is opened read-only or of files it names."""
    try:
        connection = _connect(database or ":memory:")
    except duckdb.Error as error:
        raise OSError(
            f"cannot open the database '{database}' read-only ({type(error).__name__}); check that "
            "it is a DuckDB file, and that no other process writes to it"
        ) from None
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise ValueError(f"sql must be one SELECT statement, got {sql!r}")
        return _opened(connection.sql(sql), connection)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        # These come before any record is read and quote the query, not the data.
        raise ValueError(f"sql must be a query that DuckDB can run: {_line(error)}") from None
    except duckdb.Error as error:
        raise OSError(
            f"the query cannot be planned ({type(error).__name__}); check the files it names"
        ) from None


def open_parquet(names: str) -> Opened:
    """Parquet files by name, pattern or address."""
    connection = _connect()
    return _opened(_read(names, lambda: connection.read_parquet(names)), connection)


def open_csv(names: str, columns: Sequence[str], kind_of: Callable[..., Kind]) -> Opened:
    """CSV files by name, pattern or address; samples of their cells tell the columns' types.

    All other columns stay text.
    """
    connection = _connect()
    comma = "\t" if names.lower().endswith(".tsv") else ","
    types = dict.fromkeys(_header(names, connection, comma), "VARCHAR")
    text = _read(names, lambda: connection.read_csv(names, sep=comma, columns=types, **CSV))
    cast = {}
    for column in columns:
        position(text.columns, column, names)
        cells = text.select(duckdb.ColumnExpression(column)).limit(SAMPLE).fetchall()
        kind = kind_of(column, [(cell or "").strip() for (cell,) in cells])
        typed = f"TRY_CAST(trim({quoted(column)}) AS {_sql_type(kind)})"
        cast[column] = duckdb.SQLExpression(typed).alias(column)
    others = [duckdb.ColumnExpression(name) for name in text.columns if name not in cast]
    opened = _opened(text.select(*others, *cast.values()), connection)
    return replace(opened, listing=first_line)


def _header(names: str, connection: Any, comma: str) -> list[str]:
    """The names of the columns: the first line, which is read as one cell."""
    whole = {**CSV, "header": False, "quotechar": "", "escapechar": "", "sep": "\x02"}
    read = _read(
        names, lambda: connection.read_csv(names, columns={"line": "VARCHAR"}, **whole).limit(1)
    )
    lines = [line for (line,) in read.fetchall()]
    header = [name.strip() for name in next(csv.reader(lines, delimiter=comma), [])]
    if not any(header) or len(set(header)) < len(header):
        raise ValueError(
            f"'{names}' must begin with a line of column names, all different; write one, and "
            "below it one line per record"
        )
    # DuckDB knows no column without a name, such as data frames write for their row labels.
    return [name or f"column{place}" for place, name in enumerate(header)]


def _sql_type(kind: Kind) -> str:
    zoned = isinstance(kind, Datetime) and kind.zone is not None
    return "TIMESTAMPTZ" if zoned else SQL_TYPES[kind.name]


def _read(names: str, read: Any) -> Any:
    """A relation of files, or an error that quotes nothing of them."""
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
        raise ValueError(
            f"'{names}' cannot be read as a table ({type(error).__name__}); it may be cut off or "
            "damaged, or out of reach, or its files may have different columns"
        ) from None


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def parquet_rows(names: str) -> int:
    """How many rows Parquet files hold, by their footers."""
    query = "SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)"
    (rows,) = _read(names, lambda: _connect().execute(query, [names]).fetchone())
    return int(rows or 0)
