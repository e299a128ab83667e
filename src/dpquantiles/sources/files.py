"""Data by name: files, patterns, addresses and queries; and single files that need no engine.

CSV files are read by the standard library, and Parquet files through PyArrow or Polars.
"""

import csv
import glob
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.kinds import BY_NAME, Kind
from dpquantiles.sources import memory
from dpquantiles.sources.cells import looks_like_a_value, read_cells
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.tables import nearest, suggestion

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
PATTERN = re.compile(r"[*?\[]")
PARQUET = (".parquet", ".pq")
PARQUET_MAGIC = b"PAR1"
NUMBER_TYPES = frozenset({"int", "float", "bool", "decimal"})
"""A Parquet column of one of these types may be read as any other of them."""


class Size(NamedTuple):
    """How much there is to read; None where only reading tells."""

    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Named:
    """The name of a file, a pattern of names, an address, or a query. Nothing has been opened yet.

    `type` states the type of the requested column, because CSV files do not declare types. `na` are
    cells of CSV files that mean a missing value.
    """

    name: str
    is_query: bool = False
    database: str | None = None
    type: str | None = None
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.type is not None:
            require.choice(BY_NAME, type=self.type)

    @classmethod
    def of(cls, text: str | Path) -> "Named":
        """A query if the text begins with a keyword of SQL, otherwise the name of files."""
        return cls(str(text), is_query=isinstance(text, str) and QUERY.match(text) is not None)

    def __str__(self) -> str:
        if not self.is_query:
            return self.name
        return f"a query of {self.database}" if self.database else "a query"

    @property
    def parts(self) -> list[str]:
        """All that names the data. Two requests with equal parts ask for the same data."""
        return [self.name] if self.database is None else [self.name, self.database]

    @property
    def is_many(self) -> bool:
        """Whether it is a query, a pattern or an address, which only DuckDB can read."""
        if self.is_query or is_remote(self.name):
            return True
        return bool(PATTERN.search(self.name)) and not Path(self.name).exists()

    @property
    def is_text(self) -> bool:
        """Whether these are CSV files, in which only the cells tell the types."""
        return not self.is_query and self._ending.endswith((".csv", ".csv.gz", ".tsv"))

    @property
    def is_parquet(self) -> bool:
        """Whether these are Parquet files, and DuckDB is installed to read their schemas."""
        named = self._ending.endswith(PARQUET) and not self.is_query
        return named and find_spec("duckdb") is not None

    @property
    def _ending(self) -> str:
        name = self.name.partition("?")[0] if is_remote(self.name) else self.name
        return name.lower()

    def unknown(self) -> Exception:
        """The error for files of a format that cannot be read."""
        if self._ending.endswith(PARQUET):
            return MissingBackend(
                f"'{self.name}' needs DuckDB to be read as a table: pip install "
                "'dpquantiles[duckdb]'"
            )
        return InvalidValue(
            f"the name of data files must end in .csv or .parquet, got {self.name!r}; "
            "for other forms write a query: SELECT ... FROM read_json('...')"
        )

    def size(self) -> Size:
        """How much there is to read, by the file system."""
        if self.is_query or is_remote(self.name):
            return Size()
        paths = glob.glob(self.name, recursive=True) if self.is_many else [self.name]
        if not paths:
            raise FileNotFoundError(f"no such file: '{self.name}'; check the path")
        return Size(len(paths), sum(map(os.path.getsize, paths)))


def is_remote(name: str) -> bool:
    """Whether a file is named by an address, such as https://example.org/data.csv."""
    return ADDRESS.match(name) is not None


def read_column(
    path: str | Path, column: str, type_name: str | None = None, na: Iterable[str] = ()
) -> TypedColumn:
    """One column of a .csv or .parquet file, and its type.

    A CSV file has no schema, so `type_name` states the type of the column. Without it, the cells
    tell the type (see `dpquantiles.sources.cells`). Either way, the type counts as public.
    """
    require_column(path, column)
    if Path(path).suffix.lower() == ".csv":
        return read_cells(_csv_cells(Path(path), column), column, type_name, na)
    return _read_parquet(Path(path), column, type_name)


def check_readable(path: Path) -> None:
    """Raise an OSError that says what to do if a file cannot be opened."""
    if path.is_dir():
        raise IsADirectoryError(f"a data file is needed, but '{path}' is a directory")
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: '{path}'{_near_file(path)}") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise type(error)(f"cannot read '{path}': {reason}; check its permissions") from None


def _near_file(path: Path) -> str:
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    return suggestion(path.name, beside) or "; check the path"


def require_column(path: str | Path, column: str) -> None:
    """Refuse a file without this column; only the names of its columns are read."""
    path = Path(path)
    check_readable(path)
    if path.suffix.lower() == ".csv":
        position(read_header(path, ",").names, column, path)
    elif path.suffix.lower() == ".parquet":
        _parquet_reader(path, column)
    else:
        raise InvalidValue(
            f"the name of a data file must end in .csv or .parquet, got '{path}'; "
            "write the table to one of these first"
        )


def _csv_cells(path: Path, column: str) -> list[str]:
    with _csv_rows(path) as rows:
        names = header_of(rows, path).names
        index = position(names, column, path)
        if len(names) > 1:  # in a file with one column, a blank line is a missing cell
            rows = filter(None, rows)
        return [row[index].strip() if index < len(row) else "" for row in rows]


@contextmanager
def _csv_rows(path: Path, comma: str = ",") -> Iterator[Iterator[list[str]]]:
    # The csv module raises on cells over 128 kB, and data must never raise. The limit belongs to
    # the whole process: it is not reset, because another thread may be reading.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield csv.reader(file, delimiter=comma)


class Header(NamedTuple):
    """The names of the columns, and the number of blank lines before them."""

    names: tuple[str, ...]
    blank: int


def header_of(rows: Iterator[list[str]], path: str | Path) -> Header:
    """The first line that is not blank, which names the columns."""
    blank, names = next(((count, row) for count, row in enumerate(rows) if row), (0, []))
    header = Header(tuple(name.strip() for name in names), blank)
    if not any(header.names):
        raise InvalidValue(
            f"'{path}' must begin with a line of column names, got none; "
            "add one, and below it one line per record"
        )
    return header


def read_header(path: Path, comma: str) -> Header:
    """The header of a CSV file, compressed or not. Nothing else of it is read."""
    check_readable(path)
    try:
        with _csv_rows(path, comma) as rows:
            return header_of(rows, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidValue(
            f"'{path}' cannot be read as CSV ({type(error).__name__}); it may be cut off or damaged"
        ) from None


def position(names: Sequence[str], column: str, path: str | Path) -> int:
    """The index of the column; ValueError if there is none, or more than one."""
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        raise InvalidValue(
            f"'{path}' must have one column {column!r}, got {names.count(column)}; rename them"
        )
    raise InvalidValue(f"'{path}' has no column {column!r}{first_line(column, names)}")


def first_line(wanted: str, columns: Iterable[str]) -> str:
    """For a message: the columns that the first line names, unless that line may be a record."""
    names = tuple(columns)
    if any("\ufffd" in name or "\0" in name for name in names):
        return "; it does not look like text in UTF-8, so write it as CSV in UTF-8 first"
    if any(map(looks_like_a_value, names)):
        return (
            "; its first line holds numbers or dates, so it may be a record and is not shown; "
            "the first line must name the columns"
        )
    return nearest(wanted, names)


def check_parquet(path: Path) -> None:
    """Refuse a file that cannot be opened, or whose first bytes are not those of Parquet."""
    check_readable(path)
    with path.open("rb") as file:
        if file.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise InvalidValue(f"'{path}' is not a Parquet file; rename it if it is a CSV file")


def _parquet_reader(path: Path, column: str) -> Callable[[str], Any]:
    """How to read a column that the footer of a file names."""
    check_parquet(path)
    library = next(filter(find_spec, ("pyarrow", "polars")), None)
    if library is None:
        raise MissingBackend(
            f"'{path}' is a Parquet file, which needs a library to read it: "
            "pip install 'dpquantiles[pyarrow]'"
        )
    with _damage_reported(path):
        names, read = _open_parquet(path, library)
    position(names, column, path)
    return read


def _read_parquet(path: Path, column: str, type_name: str | None) -> TypedColumn:
    read = _parquet_reader(path, column)
    with _damage_reported(path):
        series = read(column)
    try:
        typed = memory.read(series)
    except InvalidType as error:
        raise InvalidType(f"column {column!r}: {error}") from None
    return typed._replace(kind=as_kind(typed.kind, column, type_name))


def _open_parquet(path: Path, library: str) -> tuple[Sequence[str], Callable[[str], Any]]:
    """The names of the columns, and a function that reads one."""
    if library == "pyarrow":
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(path)
        return file.schema_arrow.names, lambda column: file.read(columns=[column]).column(column)
    import polars as pl

    frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    names = frame.collect_schema().names()
    return names, lambda column: frame.select(column).collect().get_column(column)


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    """Replace the error of a library for a broken file by one that quotes nothing of the file."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is not an Exception
        raise InvalidValue(
            f"'{path}' cannot be read as a Parquet file ({type(error).__name__}); "
            "it may be cut off or damaged, so write it again"
        ) from None


def as_kind(kind: Kind, column: str, type_name: str | None) -> Kind:
    """The stated type, if there is one and the schema allows it; otherwise the schema's type."""
    if type_name in (None, kind.name):
        return kind
    if {type_name, kind.name} <= NUMBER_TYPES:
        return BY_NAME[str(type_name)]
    raise InvalidType(
        f"column {column!r} is of type {kind.name} by the file's schema, and cannot be read "
        f"as {type_name}; leave the type out"
    )
