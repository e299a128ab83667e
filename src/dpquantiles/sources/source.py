"""The way in: open data of any origin by their schema, then read them column by column.

Opening reads no records, with one exception: a table in memory may have columns of Python objects,
and only the records of such a column tell its type. Lists and CSV files declare no types either,
but they are not read before `source` or `typed` is called, so that a budget can be charged first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType
from dpquantiles.kinds import BY_NAME, Datetime, Kind
from dpquantiles.kinds.domain import of_kind
from dpquantiles.privacy import Units
from dpquantiles.sources import csv_files, memory, parquet_files, tables
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.cells import BY_RULE
from dpquantiles.sources.engine import engine_of, pinned, renamed, safe
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Named, check_readable
from dpquantiles.sources.tables import Table, as_kind
from dpquantiles.sources.units import bound_rows, present, units_beside

MOST_VALUES = 10_000_000
"""Several columns are fetched together if they have at most this many values in all."""

PERSON = "dpq_person"
"""The column of units. Columns have our own names, because engines misread some of others."""

Source = TypedColumn | LazyColumn
"""One column. Its type is public, and its records are read when a view of them is opened."""


class Opened(ABC):
    """Data that were opened by their schema."""

    table: Table | None
    """All columns; None where the data is a single column."""

    @property
    def place(self) -> Literal["memory", "engine"]:
        """Where records are read: only lazy tables are scanned by an engine.

        A single file may be read in both ways, depending on its cells. So it counts as one in
        memory, because this kind is public.
        """
        return "engine" if self.table is not None and self.table.lazy else "memory"

    @abstractmethod
    def declared(self, column: Any) -> Source | None:
        """A column whose type is declared, perhaps without its records; None for other columns."""

    @abstractmethod
    def source(self, column: Any) -> Source:
        """A column. If its type is not declared, its records are read to find it out."""

    def rows(self) -> int | None:
        """How many rows there are; None where only a scan tells."""
        return None

    def typed(self, columns: Sequence[Any]) -> "Opened":  # noqa: ARG002
        """The same data, with types for these columns if they come from CSV files."""
        return self


def open_data(data: Any, column: str | None = None, stated: Kind | None = None) -> Opened:
    """Open a single column or, if a column is named, the table, files or query that it is part of.

    Records without a declared type, such as those of a list, are read as the `stated` type. If none
    is stated, the records themselves tell their type.
    """
    if column is None:
        return SingleColumn(data, stated)
    require.column_name(column=column)
    name = Named.of(data) if isinstance(data, (str, Path)) else data
    if isinstance(name, Named) and not (name.is_many or name.is_parquet):
        return SingleFile.of(name, column)
    return open_whole(name, stated)


def open_whole(data: Any, stated: Kind | None = None) -> "WholeTable":
    """Open a table, files or a query with all columns. DuckDB reads the files and queries."""
    name = Named.of(data) if isinstance(data, (str, Path)) else data
    if not isinstance(name, Named):
        return WholeTable(tables.open_table(data), stated)
    from dpquantiles.sources import relations

    path = name.database if name.is_query else None if name.is_many else name.name
    if path is not None:
        check_readable(Path(path))
    if name.is_query:
        table = relations.open_query(name.name, name.database, alone=name.alone)
        return WholeTable(table, stated, name)
    if name.is_text:
        return WholeTable(relations.open_csv(name), stated, name, is_text=True)
    if name.is_parquet:
        return WholeTable(relations.open_parquet(name.name), stated, name)
    raise name.unknown()


@dataclass(frozen=True, eq=False)
class SingleColumn(Opened):
    """A column by itself: an array, a list or a series."""

    data: Any = field(repr=False)
    stated: Kind | None = None
    table = None

    def declared(self, column: None = None) -> Source | None:
        empty = memory.without_records(self.data)
        return None if empty is None else replace(self, data=empty).source(column)

    def source(self, column: None = None) -> Source:  # noqa: ARG002
        return _in_zone(memory.read(self.data, self.stated), self.stated)

    def rows(self) -> int:
        return len(self.data)


@dataclass(frozen=True, eq=False)
class SingleFile(Opened):
    """A file that needs no engine: CSV, or Parquet where DuckDB is not installed.

    DuckDB reads the numbers of a CSV file faster, where it is installed.
    """

    file: Named
    table = None

    @classmethod
    def of(cls, file: Named, column: str) -> "SingleFile":
        """Refuse a file without this column; only a header or a footer is read."""
        check_readable(Path(file.name))
        if not file.is_text and not file.is_named_parquet:
            raise file.unknown()
        (csv_files if file.is_text else parquet_files).require_column(file, column)
        return cls(file)

    def declared(self, column: str) -> Source | None:  # noqa: ARG002
        """An empty column of the stated type, if one is stated."""
        if self.file.type in (None, "datetime"):  # the cells of datetimes tell their time zone
            return None
        kind = BY_NAME[str(self.file.type)]
        return TypedColumn(np.empty(0, dtype=object), kind, of_kind(kind))

    def source(self, column: str) -> Source:
        if not self.file.is_text:
            return parquet_files.read_column(self.file, column)
        kind = csv_files.column_kind(self.file, column)
        by_engine = kind.name in BY_RULE and find_spec("duckdb") is not None
        if not by_engine or not csv_files.is_plain(self.file):
            typed = replace(self.file, type=kind.name)
            return csv_files.read_column(typed, column)
        return open_whole(replace(self.file, type=kind.name)).source(column)


@dataclass(frozen=True, eq=False)
class WholeTable(Opened):
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
        if self.is_text and self._type in (None, "datetime"):  # as in `SingleFile`
            return None
        frame = self.table.frame
        if self.table.lazy or memory.without_records(frame[column].to_native()) is None:
            return self.source(column)
        return replace(self, table=replace(self.table, frame=frame.head(0))).source(column)

    def source(self, column: str) -> Source:
        source = column_of(self.typed([column]).table, column, self.stated)
        if isinstance(source, LazyColumn):
            kind = as_kind(source.kind, column, self._type)
            source = replace(source, numbers=replace(source.numbers, kind=kind))
        return _in_zone(source, self.stated)

    def rows(self) -> int | None:
        if self.table.rows:
            return self.table.rows()
        return None if self.table.lazy else len(self.table.frame)

    def typed(self, columns: Sequence[str]) -> "WholeTable":
        if not self.is_text:
            return self
        from dpquantiles.sources import relations

        assert self.file is not None
        table = relations.cast(self.table, columns, self._type, self.file.dialect)
        return replace(self, table=table, is_text=False)


def column_of(table: Table, column: str, stated: Kind | None = None) -> Source:
    """One column of a table. Records without a declared type are read as the stated one, if any."""
    if table.lazy:
        return LazyColumn.of(table, column)
    table.dtype(column)
    try:
        return memory.read(table.frame[column].to_native(), stated)
    except InvalidType as error:
        raise InvalidType(f"column {column!r}: {error}") from None


def _in_zone(source: Source, stated: Kind | None) -> Source:
    if stated == Datetime() and isinstance(source.kind, Datetime) and source.kind.zone:
        raise InvalidType("data must be naive datetimes like the grid, got ones with a time zone")
    return source


@contextmanager
def pinned_columns(
    opened: Opened, sources: Mapping[Any, Source], units: Units, drop_first: bool, bits: Bits
) -> Iterator[Mapping[Any, Source]]:
    """The same columns, with rows that do not change while the body runs.

    At most `units.rows` rows of each unit are kept. The missing values of a single column may be
    dropped first, so that they do not use up a unit's rows. Where the number of units is public, a
    unit without any value counts in it and must stay.
    """
    columns = tuple(sources)
    if not isinstance(opened, WholeTable) or (len(columns) == 1 and units.column is None):
        ((column, source),) = sources.items()
        with source.pinned() as still:
            yield {column: still}
        return
    own = {f"dpq_column_{i}": name for i, name in enumerate(columns)}
    people = {} if units.column is None else {PERSON: units.column}
    rows = renamed(opened.table, {**own, **people})
    if units.column is not None:
        rows, unit = units_beside(rows, PERSON, tuple(own))
        if len(columns) == 1 and drop_first:
            rows = present(rows, *own)
        rows = bound_rows(rows, unit, units.rows, tuple(own), bits)
    with pinned(rows.select(own)) as still_rows:
        fetched = _fetched(still_rows, tuple(own)) if len(columns) > 1 else still_rows
        yield {name: column_of(fetched, ours, sources[name].kind) for ours, name in own.items()}


def _fetched(table: Table, columns: Sequence[str]) -> Table:
    """Fetch columns of a lazy table by one scan, if they hold numbers and not too many of them.

    Otherwise each column is scanned by itself. The number of rows decides only how much work is
    done, not what is released.
    """
    if not table.lazy or not all(table.dtype(column).is_numeric() for column in columns):
        return table
    engine = engine_of(table)
    rows = engine.collected(table.frame.select(nw.len().alias("rows")))["rows"][0]
    if int(rows) * len(columns) > MOST_VALUES:
        return table
    return Table(engine.collected(safe(table.select(columns), columns).frame))
