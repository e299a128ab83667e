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
    "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
    "AND table_schema = current_schema() ORDER BY table_name"
)

DUCKDB_MARK = slice(8, 12), b"DUCK"
"""Where a DuckDB file says what it is."""


def is_database(path: Path) -> bool:
    """Whether a file is a database of DuckDB, by its first bytes."""
    place, mark = DUCKDB_MARK
    with path.open("rb") as file:
        return file.read(place.stop)[place] == mark


def tables(database: Path) -> list[str]:
    """The tables of a database, which is opened read-only; views are left out."""
    from dpquantiles.sources import relations

    check_readable(database)
    listed: Any = relations.open_query(TABLES, str(database)).frame.to_native()
    return [str(name) for (name,) in listed.fetchall()]


def table(database: Path, name: str) -> Named:
    """A table of a database, as data by name."""
    from dpquantiles.sources.duckdb import quoted

    return Named(f"SELECT * FROM {quoted(name)}", is_query=True, database=str(database))


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
