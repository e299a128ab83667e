"""The one way in: data of any origin are opened here by their schema, then read as columns.

Opening reads no record, with one exception: a table in memory may hold columns of Python objects,
whose types only the records tell. Lists and CSV files declare no types either, but they are not
read before `source` or `typed` is called, so that a budget can be charged first.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType
from dpquantiles.grid import Grid
from dpquantiles.kinds import BY_NAME, Datetime, Domain, Kind
from dpquantiles.kinds.domain import of_kind
from dpquantiles.privacy import Units
from dpquantiles.sources import files, memory, tables
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import engine_of, safe
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import InMemory, TypedColumn
from dpquantiles.sources.named import Named
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows, present, units_beside
from dpquantiles.views import SortedView

MOST_VALUES = 10_000_000
"""Values of several columns that are fetched together."""

Column = TypeVar("Column", bound=InMemory | LazyColumn)


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


class Opened(Protocol):
    """Data that were opened by their schema."""

    @property
    def table(self) -> Table | None:
        """All columns; None where data are a single one."""

    def declared(self, column: Any) -> Source | None:
        """A column whose type is declared, perhaps without its records; else None."""

    def source(self, column: Any) -> Source:
        """A column; where no type is declared, its records are read to tell it."""

    def rows(self, source: Source) -> int | None:
        """How many rows there are, where memory or metadata tells."""

    def typed(self, columns: Sequence[Any]) -> "Opened":
        """The same data, where these columns of CSV files have types; their cells tell them."""


def open_data(data: Any, column: str | None = None, stated: Kind | None = None) -> Opened:
    """A single column; or, where a column is named, the table, the files or the query it is in.

    Records without a declared type, as those of a list, are of the `stated` type; where none is
    stated, they are of the type that they look like.
    """
    if column is None:
        return SingleColumn(data, stated)
    require.column_name(column=column)
    name = Named.of(data) if isinstance(data, (str, Path)) else data
    if isinstance(name, Named) and not (name.is_many or name.is_parquet):
        files.require_column(name.name, column)
        return SingleFile(name)
    return open_whole(name, stated)


def open_whole(data: Any, stated: Kind | None = None) -> "WholeTable":
    """A table, files or a query, with all of its columns; files and queries through DuckDB."""
    name = Named.of(data) if isinstance(data, (str, Path)) else data
    if not isinstance(name, Named):
        return WholeTable(tables.open_table(data), stated)
    from dpquantiles.sources import relations

    path = name.database if name.is_query else None if name.is_many else name.name
    if path is not None:
        files.check_readable(Path(path))
    if name.is_query:
        return WholeTable(relations.open_query(name.name, name.database), stated, name)
    if name.is_text:
        return WholeTable(relations.open_csv(name.name), stated, name, is_text=True)
    if name.is_parquet:
        return WholeTable(relations.open_parquet(name.name), stated, name)
    raise name.unknown()


@dataclass(frozen=True, eq=False)
class SingleColumn:
    """A column by itself: an array, a list or a series."""

    data: Any = field(repr=False)
    stated: Kind | None = None
    table = None

    def declared(self, column: None = None) -> InMemory | None:
        empty = memory.without_records(self.data)
        return None if empty is None else replace(self, data=empty).source(column)

    def source(self, column: None = None) -> InMemory:  # noqa: ARG002
        return _in_zone(InMemory(memory.read(self.data, self.stated)), self.stated)

    def rows(self, source: Source) -> int:  # noqa: ARG002
        return len(self.data)

    def typed(self, columns: Sequence[None]) -> "SingleColumn":  # noqa: ARG002
        return self


@dataclass(frozen=True, eq=False)
class SingleFile:
    """A file that needs no engine: CSV, or Parquet where DuckDB is not installed."""

    file: Named
    table = None

    def declared(self, column: str) -> Source | None:  # noqa: ARG002
        """With a stated type, an empty column of it."""
        if self.file.type in (None, "datetime"):  # cells tell the time zone
            return None
        kind = BY_NAME[str(self.file.type)]
        return InMemory(TypedColumn(np.empty(0, dtype=object), kind, of_kind(kind)))

    def source(self, column: str) -> Source:
        return InMemory(files.read_column(self.file.name, column, self.file.type))

    def rows(self, source: Source) -> None:  # noqa: ARG002
        return None

    def typed(self, columns: Sequence[str]) -> "SingleFile":  # noqa: ARG002
        return self


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A table in memory or on an engine; the columns of CSV files are text until they are typed."""

    table: Table
    stated: Kind | None = None
    file: Named | None = None
    is_text: bool = False

    @property
    def _type(self) -> str | None:
        return None if self.file is None else self.file.type

    def declared(self, column: str) -> Source | None:
        self.table.dtype(column)
        if self.is_text and self._type in (None, "datetime"):  # cells tell the time zone
            return None
        frame = self.table.frame
        if self.table.lazy or memory.without_records(frame[column].to_native()) is None:
            return self.source(column)
        return replace(self, table=replace(self.table, frame=frame.head(0))).source(column)

    def source(self, column: str) -> Source:
        source = column_of(self.typed([column]).table, column, self.stated)
        if isinstance(source, LazyColumn):
            kind = files.as_kind(source.kind, column, self._type)
            source = replace(source, numbers=replace(source.numbers, kind=kind))
        return _in_zone(source, self.stated)

    def rows(self, source: Source) -> int | None:
        if self.table.rows:
            return self.table.rows()
        return source.length if self.table.lazy else len(self.table.frame)

    def typed(self, columns: Sequence[str]) -> "WholeTable":
        if not self.is_text:
            return self
        from dpquantiles.sources import relations

        table = relations.cast(self.table, columns, self._type)
        return replace(self, table=table, is_text=False)


def column_of(table: Table, column: str, stated: Kind | None = None) -> InMemory | LazyColumn:
    """One column of a table; records without a declared type are of the stated one, if any."""
    if table.lazy:
        return LazyColumn.of(table, column)
    table.dtype(column)
    try:
        return InMemory(memory.read(table.frame[column].to_native(), stated))
    except InvalidType as error:
        raise InvalidType(f"column {column!r}: {error}") from None


def _in_zone(source: Column, stated: Kind | None) -> Column:
    if stated == Datetime() and isinstance(source.kind, Datetime) and source.kind.zone:
        raise InvalidType("data must be naive datetimes like the grid, got ones with a time zone")
    return source


@contextmanager
def pinned_columns(
    opened: Opened, sources: Mapping[Any, Source], units: Units, missing: Any, bits: Bits
) -> Iterator[Mapping[Any, Source]]:
    """The same columns, of rows that stand still while the body runs.

    Of every unit at most so many rows count. Where missing values are dropped from a single column,
    they are dropped first, so that they take no place of a unit's rows.
    """
    columns = tuple(sources)
    if not isinstance(opened, WholeTable) or (len(columns) == 1 and units.column is None):
        ((column, source),) = sources.items()
        with source.pinned() as still:
            yield {column: still}
        return
    rows = opened.table
    if units.column is not None:
        rows, unit = units_beside(rows, units.column, columns)
        if len(columns) == 1 and isinstance(missing, str) and missing == "drop":
            rows = present(rows, columns[0])
        rows = bound_rows(rows, unit, units.rows, columns, bits)
    with _pinned_table(rows.select(columns)) as still_rows:
        fetched = _fetched(still_rows, columns) if len(columns) > 1 else still_rows
        yield {name: column_of(fetched, name, source.kind) for name, source in sources.items()}


@contextmanager
def _pinned_table(rows: Table) -> Iterator[Table]:
    if not rows.lazy:
        yield rows
        return
    with engine_of(rows).pinned(rows.frame) as frame:
        yield replace(rows, frame=frame)


def _fetched(table: Table, columns: Sequence[str]) -> Table:
    """Columns of a lazy table in memory, by one scan for all, where they are numbers and few.

    Else each is scanned where it is. The number of rows decides on the work alone.
    """
    if not table.lazy or not all(table.dtype(column).is_numeric() for column in columns):
        return table
    engine = engine_of(table)
    rows = engine.collected(table.frame.select(nw.len().alias("rows")))["rows"][0]
    if int(rows) * len(columns) > MOST_VALUES:
        return table
    return Table(engine.collected(safe(table.select(columns), columns).frame))
