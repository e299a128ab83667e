"""One column of a lazy table: its type by the schema, and a sorted view once it is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind, column
from dpquantiles.sources.numbers import Numbers
from dpquantiles.sources.scanned import ScannedView
from dpquantiles.sources.tables import Table
from dpquantiles.sources.values import engine_of, safe
from dpquantiles.views import SortedView, filled, stand_in


@dataclass(frozen=True)
class LazyColumn:
    """A column that its engine will scan; nothing of it has been read."""

    numbers: Numbers
    percent: Callable[[], float] | None = None
    """How much of the running scan is done, where the engine can tell."""

    @classmethod
    def of(
        cls, table: Table, name: str, percent: Callable[[], float] | None = None
    ) -> "LazyColumn":
        """A column of a table; the schema tells its type."""
        table.dtype(name)
        engine = engine_of(table)
        try:
            return cls(engine.numbers(safe(table.select([name]), [name]), name), percent)
        except TypeError as error:
            raise TypeError(f"column {name!r}: {error}") from None

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

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """Scan it once, and answer questions with few scans more."""
        self.check(grid, missing)
        present = ScannedView(self.numbers, grid)
        return filled(present, missing, present.missing)
