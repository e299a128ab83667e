"""One column of a lazy table: its type by the schema, and a sorted view once it is opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dpquantiles.errors import InvalidType
from dpquantiles.grid import Grid
from dpquantiles.kinds import ANYTHING, Domain, Kind, column
from dpquantiles.sources.declared import domain_of
from dpquantiles.sources.numbers import Numbers
from dpquantiles.sources.scan import held
from dpquantiles.sources.scanned import ScannedView
from dpquantiles.sources.tables import Table
from dpquantiles.sources.values import engine_of, safe
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
            column = safe(table.select([name]), [name])
            numbers = engine.numbers(column, name)
        except InvalidType as error:
            raise InvalidType(f"column {name!r}: {error}") from None
        stated = table.domains.get(name) or column.domains.get(name) or numbers.domain
        return cls(numbers, stated or domain_of(table.dtype(name)))

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
        """The same column of records that stand still, as far as the engine can hold them."""
        with pinned(self.numbers, self.numbers.frame) as frame:
            yield replace(self, numbers=replace(self.numbers, frame=frame))

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """Scan it once, and answer questions with few scans more."""
        return self.counted_view(grid, missing)[0]

    def counted_view(self, grid: Grid, missing: Any) -> tuple[SortedView, int]:
        """The view, and how many rows were scanned for it, whatever became of missing values."""
        self.check(grid, missing)
        present = ScannedView(self.numbers, grid)
        return filled(present, missing, present.missing), present.n + present.missing


@contextmanager
def pinned(numbers: Numbers, frame: Any) -> Iterator[Any]:
    """A lazy frame on the engine of these numbers whose records stand still while the body runs.

    All scans of one release must see one set of records. Databases read them in one transaction.
    What is computed from tables rather than read from them, such as groups, joins and samples, may
    come out differently whenever it is computed, so it is kept once it was. Plans tell which is
    which, and plans are public. What no engine can hold, such as files that are replaced, is found
    by `ScannedView`, which compares scans.
    """
    import narwhals.stable.v2 as nw

    with held(numbers, engine_of(Table(frame)).pinned(frame.to_native())) as native:
        yield nw.from_native(native)
