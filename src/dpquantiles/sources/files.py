"""Columns of files: CSV by the standard library, Parquet through PyArrow or Polars."""

import csv
import gzip
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.kinds import BY_NAME, Kind
from dpquantiles.sources import memory
from dpquantiles.sources.cells import looks_like_a_value, read_cells
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.tables import nearest, suggestion

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
PARQUET_MAGIC = b"PAR1"
NUMBER_TYPES = frozenset({"int", "float", "bool", "decimal"})
"""Types that a Parquet column of numbers may be read as, whatever its schema says."""


def read_column(path: str | Path, column: str, type_name: str | None = None) -> TypedColumn:
    """One column of a .csv or .parquet file, and its type.

    A CSV file has no schema: `type_name` states the type of the column, and without it the cells
    tell (see `dpquantiles.sources.cells`). Either way the type of a column counts as public.
    """
    require_column(path, column)
    read = _read_csv if Path(path).suffix.lower() == ".csv" else _read_parquet
    return read(Path(path), column, type_name)


def check_readable(path: Path) -> None:
    """Raise an OSError that says what to do, where a file cannot be opened."""
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
    """Refuse a file without this column, from the names of its columns alone."""
    path = Path(path)
    check_readable(path)
    if path.suffix.lower() == ".csv":
        with _csv_rows(path) as rows:
            position(header_of(rows, path).names, column, path)
    elif path.suffix.lower() == ".parquet":
        _parquet_reader(path, column)
    else:
        raise InvalidValue(
            f"the name of a data file must end in .csv or .parquet, got '{path}'; "
            "write the table to one of these first"
        )


def _read_csv(path: Path, column: str, type_name: str | None) -> TypedColumn:
    with _csv_rows(path) as rows:
        names = header_of(rows, path).names
        index = position(names, column, path)
        if len(names) > 1:  # a blank line is a missing cell where there is but one to a line
            rows = filter(None, rows)
        cells = [row[index].strip() if index < len(row) else "" for row in rows]
    return read_cells(cells, column, type_name)


@contextmanager
def _csv_rows(path: Path, comma: str = ",") -> Iterator[Iterator[list[str]]]:
    # The csv module raises on cells over 128 kB, and data must never raise. The limit is one of the
    # whole process, so it is not put back while another thread may be reading.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    written = gzip.open if path.suffix.lower() == ".gz" else open
    with written(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield csv.reader(file, delimiter=comma)


class Header(NamedTuple):
    """The names of the columns, and how many blank lines come before them."""

    names: tuple[str, ...]
    blank: int


def header_of(rows: Iterator[list[str]], path: str | Path) -> Header:
    """The first line that is not blank."""
    blank, names = next(((count, row) for count, row in enumerate(rows) if row), (0, []))
    header = Header(tuple(name.strip() for name in names), blank)
    if not any(header.names):
        raise InvalidValue(
            f"'{path}' must begin with a line of column names, got none; "
            "add one, and below it one line per record"
        )
    return header


def read_header(path: Path, comma: str) -> Header:
    """The header of a CSV file, compressed or not; nothing else of it is read."""
    check_readable(path)
    try:
        with _csv_rows(path, comma) as rows:
            return header_of(rows, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidValue(
            f"'{path}' cannot be read as CSV ({type(error).__name__}); it may be cut off or damaged"
        ) from None


def position(names: Sequence[str], column: str, path: str | Path) -> int:
    """The index of the column; an error where there is none, or more than one."""
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        raise InvalidValue(
            f"'{path}' must have one column {column!r}, got {names.count(column)}; rename them"
        )
    raise InvalidValue(f"'{path}' has no column {column!r}{first_line(column, names)}")


def first_line(wanted: str, columns: Iterable[str]) -> str:
    """For a message: the columns that a first line names; nothing of one that may be a record."""
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
    """Refuse what cannot be opened, or is no Parquet file by its first bytes."""
    check_readable(path)
    with path.open("rb") as file:
        if file.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise InvalidValue(f"'{path}' is not a Parquet file; rename it if it is a CSV file")


def _parquet_reader(path: Path, column: str) -> Callable[[str], Any]:
    """How to read a column that the footer of a file names."""
    check_parquet(path)
    library = _parquet_library(path)
    with _damage_reported(path):
        names, read = library(path)
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


_ParquetFile = tuple[Sequence[str], Callable[[str], Any]]
"""The names of the columns, and how to read one."""


def _parquet_library(path: Path) -> Callable[[Path], _ParquetFile]:
    if find_spec("pyarrow"):
        return _open_with_pyarrow
    if find_spec("polars"):
        return _open_with_polars
    raise MissingBackend(
        f"'{path}' is a Parquet file, which needs a library to read it: "
        "pip install 'dpquantiles[pyarrow]'"
    )


def _open_with_polars(path: Path) -> _ParquetFile:
    import polars as pl

    frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    names = frame.collect_schema().names()
    return names, lambda column: frame.select(column).collect().get_column(column)


def _open_with_pyarrow(path: Path) -> _ParquetFile:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    return file.schema_arrow.names, lambda column: file.read(columns=[column]).column(column)


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    """Replace what a library raises for a broken file by an error that quotes nothing of it."""
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
    """The stated type, where one is stated and the schema allows it; else the schema's."""
    if type_name in (None, kind.name):
        return kind
    if {type_name, kind.name} <= NUMBER_TYPES:
        return BY_NAME[str(type_name)]
    raise InvalidType(
        f"column {column!r} is of type {kind.name} by the file's schema, and cannot be read "
        f"as {type_name}; leave the type out"
    )
