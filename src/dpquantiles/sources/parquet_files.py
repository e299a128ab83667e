"""A column of one Parquet file, without an engine: by PyArrow or Polars."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.sources import memory
from dpquantiles.sources.csv_files import position
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Named, check_parquet
from dpquantiles.sources.tables import as_kind


def require_column(file: Named, column: str) -> None:
    """Refuse a file without this column; only its footer is read."""
    _reader(Path(file.name), column)


def read_column(file: Named, column: str) -> TypedColumn:
    """One column and its type."""
    path = Path(file.name)
    read = _reader(path, column)
    with _damage_reported(path):
        series = read(column)
    try:
        typed = memory.read(series)
    except InvalidType as error:
        raise InvalidType(f"column {column!r}: {error}") from None
    return typed._replace(kind=as_kind(typed.kind, column, file.type))


def _reader(path: Path, column: str) -> Callable[[str], Any]:
    """How to read a column that the footer of a file names."""
    check_parquet(path)
    library = next(filter(find_spec, ("pyarrow", "polars")), None)
    if library is None:
        raise MissingBackend(
            f"'{path}' is a Parquet file, which needs a library to read it: "
            "pip install 'dpquantiles[pyarrow]'"
        )
    with _damage_reported(path):
        names, read = _open(path, library)
    position(names, column, path)
    return read


def _open(path: Path, library: str) -> tuple[Sequence[str], Callable[[str], Any]]:
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
