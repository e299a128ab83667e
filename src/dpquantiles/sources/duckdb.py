"""DuckDB: columns of its relations, and relations of files and queries that it opens itself."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpquantiles.errors import MissingBackend
from dpquantiles.kinds import Datetime, Domain, Kind
from dpquantiles.kinds.domain import TRUTHS, days, decimals, floats, integers, of_kind, times
from dpquantiles.sources.files import first_line, position
from dpquantiles.sources.numbers import (
    Numbers,
    as_numbers,
    as_ticks,
    in_microseconds,
    is_time,
)
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

SQL_DOMAINS = {
    **{"int": integers(64, signed=True), "float": floats(64), "bool": TRUTHS},
    **{"decimal": decimals(18, 6), "date": days(32)},
    **{"datetime": times("datetime", "us"), "timedelta": times("duration", "us")},
}
"""What these types can hold."""

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
    domains: Mapping[str, Domain] = field(default_factory=dict, hash=False)
    """Of columns that were text: what they can hold."""

    @property
    def table(self) -> Table:
        import narwhals.stable.v2 as nw

        return Table(nw.from_native(self.relation), self.listing, self.domains)

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
    cast, domains = {}, {}
    for column in columns:
        position(text.columns, column, names)
        cells = text.select(duckdb.ColumnExpression(column)).limit(SAMPLE).fetchall()
        kind = kind_of(column, [(cell or "").strip() for (cell,) in cells])
        typed = f"TRY_CAST(trim({quoted(column)}) AS {_sql_type(kind)})"
        cast[column] = duckdb.SQLExpression(typed).alias(column)
        domains[column] = text_domain(kind)
    others = [duckdb.ColumnExpression(name) for name in text.columns if name not in cast]
    opened = _opened(text.select(*others, *cast.values()), connection)
    return replace(opened, listing=first_line, domains=domains)


def text_domain(kind: Kind) -> Domain:
    """What text can hold that is cast to a type: all that the type can, and finer values."""
    return replace(SQL_DOMAINS[kind.name], name="", unit=of_kind(kind).unit)


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
