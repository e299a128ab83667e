"""What can be known of named data before they are read: tables, columns and declared types."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidType
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.csv_files import read_header
from dpquantiles.sources.named import Named, check_readable
from dpquantiles.sources.source import open_whole
from dpquantiles.sources.tables import kind_of

TABLES = (
    "SELECT table_name, table_type = 'VIEW' FROM information_schema.tables "
    "WHERE table_schema = current_schema() AND table_catalog = current_database() "
    "ORDER BY table_name"
)

DUCKDB_MARK = slice(8, 12), b"DUCK"
"""Where a DuckDB file says what it is."""


def is_database(path: Path) -> bool:
    """Whether a file is a database of DuckDB, by its first bytes."""
    place, mark = DUCKDB_MARK
    with path.open("rb") as file:
        return file.read(place.stop)[place] == mark


def tables(database: Path) -> dict[str, bool]:
    """The tables of a database, which is opened read-only; and whether each of them is a view."""
    from dpquantiles.sources import relations

    check_readable(database)
    listed: Any = relations.open_query(TABLES, str(database), alone=True).frame.to_native()
    return {str(name): bool(is_view) for name, is_view in listed.fetchall()}


def table(database: Path, name: str) -> Named:
    """A table or a view of a database, as data by name; a view cannot read anything else."""
    from dpquantiles.sources.duckdb import quoted

    query = f"SELECT * FROM {quoted(name)}"
    return Named(query, is_query=True, database=str(database), alone=True)


def columns(data: Named) -> Mapping[str, str | None]:
    """The columns with their declared types; None where only the records tell a type."""
    if data.is_text:
        check_readable(Path(data.name))
        names = Counter(read_header(Path(data.name), data.comma).names)
        return {name: None for name, times in names.items() if name and times == 1}
    schema = open_whole(data).table.frame.collect_schema()
    return {name: _type(dtype) for name, dtype in schema.items()}


def _type(dtype: Any) -> str:
    """The name of a type: one that has quantiles, text, or what the library calls it."""
    try:
        return kind_of(dtype).name
    except InvalidType:
        return "text" if dtype == nw.String else str(dtype).lower()
