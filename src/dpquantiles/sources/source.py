"""The one way in: data of any origin as a source, whose type is known before it is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpquantiles.grid import Grid
from dpquantiles.kinds import Datetime, Kind
from dpquantiles.sources import memory, tables
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.tables import Table
from dpquantiles.views import ArrayView, SortedView


class Source(Protocol):
    """One column of data. Its type is public; its records are read when a view is opened."""

    @property
    def kind(self) -> Kind:
        """The type of its values."""

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """The records on a grid, with a policy for missing ones."""


@dataclass(frozen=True)
class InMemory:
    """A column that is already here."""

    typed: TypedColumn

    @property
    def kind(self) -> Kind:
        return self.typed.kind

    def view(self, grid: Grid, missing: Any) -> SortedView:
        return ArrayView(self.typed.values, grid, missing=missing)


def open_source(data: Any, column: str | None = None, stated: Kind | None = None) -> Source:
    """A column, or the named column of a table, of a file, or of what a SQL query gives.

    Records without a declared type, as those of a list, are of the `stated` type; where none is
    stated, they are of the type that they look like.
    """
    source = _open(data, column, stated)
    if stated == Datetime() and isinstance(source.kind, Datetime) and source.kind.zone:
        raise TypeError("data must be naive datetimes like the grid, got ones with a time zone")
    return source


def open_table(data: Any) -> Table:
    """A table, a file, or what a SQL query gives, as a table."""
    if isinstance(data, (str, Path)):
        from dpquantiles.sources import duckdb

        data = duckdb.open_text(data)
    return tables.open_table(data)


def _open(data: Any, column: str | None, stated: Kind | None) -> Source:
    if isinstance(data, (InMemory, LazyColumn)):
        return data
    if column is None:
        return InMemory(memory.read(data, stated))
    table = open_table(data)
    if table.lazy:
        return LazyColumn.of(table, column)
    table.dtype(column)
    try:
        return InMemory(memory.read(table.frame[column].to_native(), stated))
    except TypeError as error:
        raise TypeError(f"column {column!r}: {error}") from None
