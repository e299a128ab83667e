"""One column of a lazy table: its type by the schema, and a sorted view once it is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dpquantiles.grid import Grid
from dpquantiles.kinds import ANYTHING, Domain, Kind, column
from dpquantiles.sources.declared import domain_of
from dpquantiles.sources.numbers import Numbers
from dpquantiles.sources.scanned import ScannedView
from dpquantiles.sources.tables import Table
from dpquantiles.views import SortedView, filled, stand_in

ENGINES = {
    "polars": "polars",
    "duckdb": "duckdb",
    "pyspark": "pyspark",
    "pyspark[connect]": "pyspark",
    "ibis": "ibis",
    "dask": "dask",
}
"""By Narwhals' name of an engine, the module here that knows it."""


@dataclass(frozen=True)
class LazyColumn:
    """A column that its engine will scan; nothing of it has been read."""

    numbers: Numbers
    percent: Callable[[], float] | None = None
    """How much of the running scan is done, where the engine can tell."""
    domain: Domain = ANYTHING
    """What its declared type can hold."""

    @classmethod
    def of(
        cls, table: Table, name: str, percent: Callable[[], float] | None = None
    ) -> "LazyColumn":
        """A column of a table; the schema tells its type."""
        table.dtype(name)
        if table.engine not in ENGINES:
            raise TypeError(
                f"data must be a table of {', '.join(sorted(set(ENGINES.values())))} or a table in "
                f"memory, got one of {table.engine}; collect it first"
            )
        engine = import_module(f"dpquantiles.sources.{ENGINES[table.engine]}")
        try:
            numbers = engine.numbers(table, name)
        except TypeError as error:
            raise TypeError(f"column {name!r}: {error}") from None
        stated = table.domains.get(name) or numbers.domain
        return cls(numbers, percent, stated or domain_of(table.dtype(name)))

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
