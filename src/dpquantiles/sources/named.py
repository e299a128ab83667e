"""Data by name: files, patterns, addresses and queries, and how CSV files are written."""

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.forking import cached_property
from dpquantiles.kinds import BY_NAME
from dpquantiles.sources.tables import suggestion

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
PATTERN = re.compile(r"[*?\[]")
TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
PARQUET_MAGIC = b"PAR1"

ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
"""Separators of thousands that people do not tell apart."""


class Size(NamedTuple):
    """How much there is to read; None where only reading tells."""

    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Dialect:
    """How CSV files are written: what stands between cells, inside numbers, and for no value."""

    delimiter: str | None = None
    """Between cells; None for a comma, or for a tab in files named .tsv."""
    decimal: str = "."
    thousands: str | None = None
    na: tuple[str, ...] = ()
    """More cells that mean a missing value."""

    def __post_init__(self) -> None:
        for name in ("delimiter", "decimal", "thousands"):
            mark = getattr(self, name)
            if mark is not None and (not isinstance(mark, str) or not _is_mark(mark)):
                raise InvalidValue(
                    f"{name} must be one character that is not a letter, digit, quote or line end, "
                    f"got {mark!r}; for example {';' if name == 'delimiter' else ','!r}"
                )
        if self.decimal == self.thousands:
            raise InvalidValue(f"thousands must differ from decimal, got {self.decimal!r} for both")

    @property
    def stated(self) -> dict[str, str]:
        """What differs from usual CSV files, as text."""
        marks = {name: getattr(self, name) for name in ("delimiter", "decimal", "thousands")}
        given = {name: mark for name, mark in marks.items() if mark not in (None, ".")}
        return given | ({"na": ", ".join(map(repr, self.na))} if self.na else {})

    @cached_property
    def number(self) -> str:
        """A pattern of numbers that Python and SQL engines understand alike."""
        return (
            rf"(?i)[+-]?(?:{self._digits}(?:{re.escape(self.decimal)}[0-9]*)?"
            rf"|{re.escape(self.decimal)}[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?"
        )

    @cached_property
    def whole(self) -> str:
        """A pattern of whole numbers; all of them are numbers."""
        return rf"[+-]?{self._digits}"

    @property
    def _digits(self) -> str:
        grouped = rf"[0-9]{{1,3}}(?:[{re.escape(self._separators)}][0-9]{{3}})+"
        return rf"(?:[0-9]+|{grouped})" if self.thousands else "[0-9]+"

    @property
    def _separators(self) -> str:
        return ALIKE.get(self.thousands or "", self.thousands or "")

    @property
    def marks(self) -> str:
        """The decimal mark, and then what may separate thousands."""
        return self.decimal + self._separators

    def plain(self, cell: str) -> str:
        """A number with a point for its decimal mark, and nothing between thousands."""
        return cell.translate(str.maketrans(self.decimal, ".", self._separators))


def _is_mark(text: str) -> bool:
    return len(text) == 1 and not text.isalnum() and text not in '"\r\n\0+-'


@dataclass(frozen=True)
class Named:
    """The name of a file, a pattern of names, an address, or a query. Nothing has been opened yet.

    `type` states the type of the requested column, because CSV files do not declare types.
    """

    name: str
    is_query: bool = False
    database: str | None = None
    type: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    shown: str | None = None
    """What users call the file, where it stands in for something else."""
    alone: bool = False
    """Whether the query may read its database alone, and no other files."""

    def __post_init__(self) -> None:
        if self.type is not None:
            require.choice(BY_NAME, type=self.type)

    @classmethod
    def of(cls, text: str | Path) -> "Named":
        """A query if the text begins with a keyword of SQL, otherwise the name of files."""
        return cls(str(text), is_query=isinstance(text, str) and QUERY.match(text) is not None)

    def __str__(self) -> str:
        if not self.is_query:
            return self.shown or self.name
        return f"a query of {self.database}" if self.database else "a query"

    @property
    def parts(self) -> list[str]:
        """All that names the data. Two requests with equal parts ask for the same data."""
        name = self.shown or self.name
        return [name] if self.database is None else [name, self.database]

    @property
    def is_many(self) -> bool:
        """Whether it is a query, a pattern or an address, which only DuckDB can read."""
        if self.is_query or is_remote(self.name):
            return True
        return bool(PATTERN.search(self.name)) and not Path(self.name).exists()

    @property
    def is_text(self) -> bool:
        """Whether these are CSV files, in which only the cells tell the types."""
        stated = self.dialect.delimiter is not None
        return not self.is_query and (stated or self._ending.endswith(TEXT))

    @property
    def comma(self) -> str:
        """What stands between the cells of these CSV files."""
        return self.dialect.delimiter or ("\t" if ".tsv" in self._ending[-7:] else ",")

    @property
    def is_parquet(self) -> bool:
        """Whether these are Parquet files, and DuckDB is installed to read their schemas."""
        return self.is_named_parquet and find_spec("duckdb") is not None

    @property
    def is_named_parquet(self) -> bool:
        """Whether the name is that of Parquet files."""
        return not self.is_query and not self.is_text and self._ending.endswith(PARQUET)

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
            f"the names of data files must end in .csv, .tsv, .csv.gz or .parquet, got "
            f"{self.name!r}; if it is a CSV file, state what separates its cells with "
            "delimiter=','; for other formats write a query: SELECT ... FROM read_json('...')"
        )

    def size(self) -> Size:
        """How much there is to read, by the file system."""
        if self.is_query or is_remote(self.name) or self.shown:
            return Size()
        paths = glob.glob(self.name, recursive=True) if self.is_many else [self.name]
        if not paths:
            raise FileNotFoundError(f"no such file: '{self.name}'; check the path")
        return Size(len(paths), sum(map(os.path.getsize, paths)))


def csv(
    path: str | Path,
    *,
    type: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    na: str | Iterable[str] = (),
) -> Named:
    """CSV files that are written in an unusual way, to be passed in place of their name.

    Args:
        path: The name of a file, or a pattern or an address, which DuckDB reads.
        type: The type of the column that is asked for: "int", "float", "bool", "decimal", "date",
            "datetime" or "timedelta". By default the first ten thousand cells tell it.
        delimiter: What stands between cells; by default a comma, and a tab in .tsv files.
        decimal: The decimal mark of numbers: "," in many European files.
        thousands: What stands between thousands, such as "," in 31,000.
        na: Cells that mean a missing value, such as "-999". Empty cells and those that are not of
            the column's type do in any case.
    """
    if not isinstance(path, (str, Path)):
        raise InvalidType(f"path must be the name of CSV files, got {require.shown(path)}")
    cells = (na,) if isinstance(na, str) else tuple(na)
    if not all(isinstance(cell, str) for cell in cells):
        raise InvalidType(f"na must be text or a list of texts, got {require.shown(na)}")
    named = Named(str(path), type=type, dialect=Dialect(delimiter, decimal, thousands, cells))
    if not named.is_text:
        raise named.unknown()
    return named


def is_remote(name: str) -> bool:
    """Whether a file is named by an address, such as https://example.org/data.csv."""
    return ADDRESS.match(name) is not None


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


def check_parquet(path: Path) -> None:
    """Refuse a file that cannot be opened, or whose first bytes are not those of Parquet."""
    check_readable(path)
    with path.open("rb") as file:
        if file.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            raise InvalidValue(f"'{path}' is not a Parquet file; rename it if it is a CSV file")
