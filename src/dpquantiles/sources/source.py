"""The one way in: data of any origin as a source, whose type is known before it is read."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from dpquantiles.errors import InvalidType
from dpquantiles.grid import Grid
from dpquantiles.kinds import Datetime, Domain, Kind
from dpquantiles.sources import memory, tables
from dpquantiles.sources.engine import engine_of, safe
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import InMemory
from dpquantiles.sources.named import open_named, open_named_table
from dpquantiles.sources.tables import Table
from dpquantiles.views import SortedView

MOST_VALUES = 10_000_000
"""Values of several columns that are fetched together."""


class Source(Protocol):
    """One column of data. Its type is public; its records are read when a view is opened."""

    @property
    def kind(self) -> Kind:
        """The type of its values."""

    @property
    def domain(self) -> Domain:
        """What its declared type can hold."""

    @property
    def length(self) -> int | None:
        """How many records there are, missing ones included; None where only a scan tells."""

    def check(self, grid: Grid, missing: Any) -> None:
        """Refuse a grid, or a stand-in for missing values, that is of another type."""

    def pinned(self) -> AbstractContextManager["Source"]:
        """The same column, whose records stand still while the context lasts."""

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """The records on a grid, with a policy for missing ones."""


def open_source(data: Any, column: str | None = None, stated: Kind | None = None) -> Source:
    """A column, or the named column of a table, of a file, or of what a SQL query gives.

    Records without a declared type, as those of a list, are of the `stated` type; where none is
    stated, they are of the type that they look like.
    """
    source = _open(data, column, stated)
    if stated == Datetime() and isinstance(source.kind, Datetime) and source.kind.zone:
        raise InvalidType("data must be naive datetimes like the grid, got ones with a time zone")
    return source


def open_table(data: Any, columns: Sequence[str]) -> Table:
    """A table, files, or what a SQL query gives; of CSV files these columns get their types."""
    if isinstance(data, (str, Path)):
        return open_named_table(data, columns)
    return tables.open_table(data)


@contextmanager
def pinned_table(table: Table, columns: Sequence[str]) -> Iterator[Table]:
    """These columns of a table, whose records stand still while the body runs."""
    rows = table.select(columns)
    if not table.lazy:
        yield rows
        return
    with engine_of(rows).pinned(rows.frame) as frame:
        yield replace(rows, frame=frame)


def fetched(table: Table, columns: Sequence[str]) -> Table:
    """Columns of a lazy table in memory, by one scan for all, where they are numbers and few.

    Else each is scanned where it is. The number of rows decides on the work alone.
    """
    import narwhals.stable.v2 as nw

    if not table.lazy or not all(table.dtype(column).is_numeric() for column in columns):
        return table
    engine = engine_of(table)
    rows = engine.collected(table.frame.select(nw.len().alias("rows")))["rows"][0]
    if int(rows) * len(columns) > MOST_VALUES:
        return table
    return Table(engine.collected(safe(table.select(columns), columns).frame))


def _open(data: Any, column: str | None, stated: Kind | None) -> Source:
    if isinstance(data, (InMemory, LazyColumn)):
        return data
    if column is None:
        return InMemory(memory.read(data, stated))
    if isinstance(data, (str, Path)):
        return open_named(data, column)
    table = tables.open_table(data)
    if table.lazy:
        return LazyColumn.of(table, column)
    table.dtype(column)
    try:
        return InMemory(memory.read(table.frame[column].to_native(), stated))
    except InvalidType as error:
        raise InvalidType(f"column {column!r}: {error}") from None
