"""Data by the name of where they are: files, patterns, addresses and SQL queries."""

import glob
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpquantiles import require
from dpquantiles.errors import InvalidValue, MissingBackend
from dpquantiles.kinds import BY_NAME
from dpquantiles.sources.files import ADDRESS

QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
PATTERN = re.compile(r"[*?\[]")
PARQUET = (".parquet", ".pq")


class Size(NamedTuple):
    """How much there is to read; None where only reading would tell."""

    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Named:
    """A file, a pattern or an address, or a query; nothing of it has been opened.

    `type` states the type of the column that is wanted, which CSV files do not declare.
    """

    name: str
    is_query: bool = False
    database: str | None = None
    type: str | None = None

    def __post_init__(self) -> None:
        if self.type is not None:
            require.choice(BY_NAME, type=self.type)

    @classmethod
    def of(cls, text: str | Path) -> "Named":
        """What text stands for where a table is wanted: a query by its first word, else files."""
        return cls(str(text), is_query=isinstance(text, str) and QUERY.match(text) is not None)

    def __str__(self) -> str:
        if not self.is_query:
            return self.name
        return f"a query of {self.database}" if self.database else "a query"

    @property
    def parts(self) -> list[str]:
        """All that names the data: another request for the same parts is for the same data."""
        return [self.name] if self.database is None else [self.name, self.database]

    @property
    def is_many(self) -> bool:
        """Whether it is a pattern or an address, which DuckDB resolves."""
        if self.is_query or ADDRESS.match(self.name):
            return True
        return bool(PATTERN.search(self.name)) and not Path(self.name).exists()

    @property
    def is_text(self) -> bool:
        """Whether files are CSV, where only cells tell types."""
        return not self.is_query and self._ending.endswith((".csv", ".csv.gz", ".tsv"))

    @property
    def is_parquet(self) -> bool:
        """Whether files are Parquet and DuckDB is there, so that footers tell types."""
        named = self._ending.endswith(PARQUET) and not self.is_query
        return named and find_spec("duckdb") is not None

    @property
    def _ending(self) -> str:
        address = ADDRESS.match(self.name)
        return (self.name.partition("?")[0] if address else self.name).lower()

    def unknown(self) -> Exception:
        """The error of files that cannot be read here."""
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
        """How much there is to read, as the file system tells."""
        if self.is_query or ADDRESS.match(self.name):
            return Size()
        paths = glob.glob(self.name, recursive=True) if self.is_many else [self.name]
        if not paths:
            raise FileNotFoundError(f"no such file: '{self.name}'; check the path")
        return Size(len(paths), sum(map(os.path.getsize, paths)))
