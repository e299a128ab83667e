"""The shelf: the data that the studio may open, which are those in one folder and no others."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpquantiles.errors import InvalidValue, PublicError
from dpquantiles.sources import catalog
from dpquantiles.sources.named import PARQUET, PATTERN, TEXT, Named

MOST_ITEMS = 500
"""The most files and tables that are listed."""

DATABASES = (".duckdb", ".ddb", ".db")
BETWEEN = ": "
"""Stands between the name of a database and that of its table."""


class Item(NamedTuple):
    """A file, or a table of a database, under the name that people see and that forms send."""

    name: str
    path: Path
    table: str | None = None
    is_view: bool = False

    def data(self, type: str | None = None) -> Named:
        """The item as data by name; `type` states the type of a column of a CSV file."""
        if self.table is not None:
            return catalog.table(self.path, self.table)
        return Named(str(self.path), type=type)

    @property
    def is_text(self) -> bool:
        """Whether only the cells of the file tell the types of its columns."""
        return self.data().is_text

    @property
    def dataset(self) -> str:
        """A name for the data set of a ledger."""
        return self.table or self.path.name.split(".")[0]

    def columns(self) -> Mapping[str, str | None]:
        """The columns with their declared types."""
        return catalog.columns(self.data())


@dataclass(frozen=True)
class Shelf:
    """A folder or a single file; nothing outside of it is listed or opened, also through links."""

    root: Path | None = None
    _real: Path = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.root is not None and not self.root.exists():
            raise FileNotFoundError(f"no such folder or file: '{self.root}'; check the path")
        real = Path() if self.root is None else self.root.resolve()
        object.__setattr__(self, "_real", real)
        if self.root is not None and real.is_file() and not self.items():
            raise Named(str(self.root)).unknown()

    def items(self) -> list[Item]:
        """All data on the shelf, by name; at most `MOST_ITEMS`."""
        found = []
        for item in self._files():
            found += self._tables(item) if _is_database(item.path) else [item]
            if len(found) > MOST_ITEMS:
                break
        return found[:MOST_ITEMS]

    def item(self, name: str) -> Item:
        """The item of this name. Names are compared with those that are there, never opened."""
        for file in self._files():
            if file.name == name and not _is_database(file.path):
                return file
            if name.startswith(file.name + BETWEEN) and _is_database(file.path):
                for table in self._tables(file):
                    if table.name == name:
                        return table
        raise InvalidValue("this data is not there, or no longer; choose other data")

    def _tables(self, database: Item) -> list[Item]:
        if find_spec("duckdb") is None:
            return []
        with suppress(PublicError):  # a damaged one must not hide the others
            return [
                Item(f"{database.name}{BETWEEN}{table}", database.path, table, is_view)
                for table, is_view in catalog.tables(database.path).items()
            ]
        return []

    def _files(self) -> Iterator[Item]:
        if self.root is None:
            return
        if self._real.is_file():
            yield from filter(None, [self._file(self._real, self._real.name)])
            return
        for folder, folders, names in os.walk(self._real):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                item = self._file(path, path.relative_to(self._real).as_posix())
                if item is not None:
                    yield item

    def _file(self, path: Path, name: str) -> Item | None:
        """A file that lies here, wherever links lead; None for any other."""
        if path.name.startswith(".") or not path.name.lower().endswith(
            (*TEXT, *PARQUET, *DATABASES)
        ):
            return None
        if PATTERN.search(name) or not name.isprintable():
            return None  # such a name stands for many files, or cannot be shown
        try:
            real = path.resolve(strict=True)
            inside = real == self._real or real.is_relative_to(self._real)
            if not inside or not real.is_file():
                return None
            if name.lower().endswith(DATABASES) and not catalog.is_database(real):
                return None
        except (OSError, RuntimeError):
            return None  # it vanished, nobody may read it, or links lead in a circle
        return Item(name, real)


def _is_database(path: Path) -> bool:
    return path.name.lower().endswith(DATABASES)
