"""One column of a lazy table: its type by the schema, and a sorted view once it is opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dpquantiles.errors import InvalidType
from dpquantiles.grid import Grid
from dpquantiles.kinds import ANYTHING, Domain, Kind, column
from dpquantiles.sources.engine import Numbers, engine_of
from dpquantiles.sources.scanned import ScannedView
from dpquantiles.sources.tables import Table
from dpquantiles.views import SortedView, filled, stand_in


@dataclass(frozen=True)
class LazyColumn:
    """A column that its engine will scan; nothing of it has been read."""

    numbers: Numbers
    domain: Domain = ANYTHING
    """What its declared type can hold."""

    @classmethod
    def of(cls, table: Table, name: str) -> "LazyColumn":
        """A column of a table; the schema tells its type."""
        table.dtype(name)
        engine = engine_of(table)
        try:
            numbers = engine.numbers(engine.safe(table.select([name]), [name]), name)
        except InvalidType as error:
            raise InvalidType(f"column {name!r}: {error}") from None
        return cls(numbers, table.domains.get(name) or engine.domain(table, name))

    @property
    def kind(self) -> Kind:
        """The type of its values."""
        return self.numbers.kind

    @property
    def length(self) -> None:
        """Only a scan tells how many records there are."""
        return None

    def check(self, grid: Grid, missing: Any) -> None:
        """Refuse a grid, or a stand-in for missing values, that is of another type."""
        stand_in(grid, missing)
        column(grid.kind, self.numbers.blank)

    @contextmanager
    def pinned(self) -> Iterator["LazyColumn"]:
        """The same column of records that stand still, as far as the engine can keep them."""
        with self.numbers.engine.pinned(self.numbers.frame) as frame:
            yield replace(self, numbers=replace(self.numbers, frame=frame))

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """Scan it once, and answer questions with few scans more."""
        return self.counted_view(grid, missing)[0]

    def counted_view(self, grid: Grid, missing: Any) -> tuple[SortedView, int]:
        """The view, and how many rows were scanned for it, whatever became of missing values."""
        self.check(grid, missing)
        present = ScannedView(self.numbers, grid)
        return filled(present, missing, present.missing), present.n + present.missing
