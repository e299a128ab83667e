"""Where the data of a command are: files by name, pattern or address, or a query."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.kinds import BY_NAME, Domain, Kind
from dpquantiles.kinds.domain import of_kind
from dpquantiles.sources.metadata import Measure, measure
from dpquantiles.sources.named import (
    is_many,
    is_text,
    knows_schema,
    open_files,
    open_query,
    open_table_files,
    require_column,
)
from dpquantiles.sources.source import Source
from dpquantiles.sources.tables import Table

if TYPE_CHECKING:
    from dpquantiles.sources.relations import Opened


class Schema(NamedTuple):
    """A column's type, and what values of its declared type can be."""

    kind: Kind
    domain: Domain


@dataclass(frozen=True)
class Place:
    """A file or a query, one of the two."""

    file: str | None
    sql: str | None = None
    database: str | None = None

    def __post_init__(self) -> None:
        if (self.file is None) == (self.sql is None):
            raise InvalidValue("data must be named once: a FILE, or a query with --sql")
        if self.database is not None and self.sql is None:
            raise InvalidValue("database must come with --sql, the query to run in it")

    def __str__(self) -> str:
        if self.file is not None:
            return self.file
        return f"a query of {self.database}" if self.database else "a query"

    @property
    def is_text(self) -> bool:
        """Whether only cells, and no schema, tell types."""
        return self.file is not None and is_text(self.file)

    def open(self, column: str, type_name: str | None) -> Source:
        """The column, as a source."""
        if self.file is not None:
            return open_files(self.file, column, type_name)
        return open_query(str(self.sql), column, self.database, type_name)

    def table(self, column: str, type_name: str | None) -> "Opened":
        """All columns, of which one gets its type from its cells where there is no schema."""
        from dpquantiles.sources import relations

        if type_name is not None:
            require.choice(BY_NAME, type=type_name)
        if self.file is not None:
            return open_table_files(self.file, [column], type_name)
        return relations.open_query(str(self.sql), self.database)

    def columns(self) -> Table:
        """All columns by the schema, those of CSV files as text; no record is read."""
        from dpquantiles.sources import relations

        if self.file is not None:
            return open_table_files(self.file, []).table
        return relations.open_query(str(self.sql), self.database).table

    def schema(self, column: str, type_name: str | None, *, whole: bool = False) -> Schema | None:
        """The column's type without a look at its records; None where nothing else tells.

        `whole` says that other columns matter too, so that DuckDB reads the file.
        """
        if self.file is None or knows_schema(self.file):
            source = self.open(column, type_name)
            return Schema(source.kind, source.domain)
        require_column(self.file, column)
        if type_name is None:
            return None
        kind = BY_NAME[require.choice(BY_NAME, type=type_name)]
        return Schema(
            kind, self._text_domain(kind) if whole or is_many(self.file) else of_kind(kind)
        )

    def _text_domain(self, kind: Kind) -> Domain:
        from dpquantiles.sources import relations

        return relations.text_domain(kind)

    def size(self) -> Measure:
        """How much there is to read."""
        return Measure(None, None, None) if self.file is None else measure(self.file)
