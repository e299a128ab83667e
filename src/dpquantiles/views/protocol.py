"""What a sorted view promises, what a mechanism demands of one, and a view of just that."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind

Ints = NDArray[np.int64]


class SortedView(Protocol):
    """Records as grid steps, in order, without saying where they are or how they are sorted."""

    @property
    def n(self) -> int:
        """The number of records."""

    @property
    def grid(self) -> Grid:
        """The public grid that the records were mapped to."""

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (0 .. n-1, ascending) of the sorted records."""

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""


def _nothing() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Demand:
    """What a mechanism will ask of a view, stated before it asks.

    These are positions of sorted records, as ascending disjoint runs, and steps whose ranks are
    wanted.
    """

    runs: tuple[range, ...] = ()
    steps: Ints = field(default_factory=_nothing)

    @classmethod
    def everything(cls, n: int) -> "Demand":
        """All records: for mechanisms whose later questions depend on their earlier answers."""
        return cls(runs=(range(n),) if n else ())

    def __iter__(self) -> Iterator[range]:
        return iter(self.runs)

    @property
    def index(self) -> Ints:
        """All positions, ascending."""
        runs = [np.arange(run.start, run.stop, dtype=np.int64) for run in self.runs]
        return np.concatenate([*runs, _nothing()])


def merged(runs: list[range]) -> tuple[range, ...]:
    """Runs in ascending order of their starts, joined where they touch; empty ones left out."""
    joined: list[range] = []
    for run in runs:
        if joined and run.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(run.stop, joined[-1].stop))
        elif run:
            joined.append(run)
    return tuple(joined)


@dataclass(frozen=True, eq=False)
class WindowView:
    """`n`, the grid, and the answers to one demand, as an engine would send them.

    Nothing else can be asked of it.
    """

    n: int
    grid: Grid
    index: Ints
    records: Ints
    steps: Ints
    below: Ints
    through: Ints

    @classmethod
    def of(cls, view: SortedView, demand: Demand) -> "WindowView":
        """The part of a view that a mechanism demands."""
        index, steps = demand.index, np.unique(demand.steps)
        records = view.order_statistics(index)
        return cls(view.n, view.grid, index, records, steps, *view.ranks(steps))

    def order_statistics(self, index: Ints) -> Ints:
        return self.records[_places(self.index, index)]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        places = _places(self.steps, steps)
        return self.below[places], self.through[places]


def _places(available: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands among those that are available, which ascend."""
    places = np.searchsorted(available, wanted)
    present = places < len(available)
    present[present] = available[places[present]] == np.asarray(wanted)[present]
    if not present.all():
        raise LookupError("something outside the demand was asked for")
    return places


@dataclass(frozen=True)
class PartGrid:
    """The steps low .. high of a grid, counted from zero."""

    grid: Grid
    low: int
    high: int

    @property
    def kind(self) -> Kind:
        return self.grid.kind

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def encode(self, numbers: NDArray[Any]) -> Ints:
        return np.clip(self.grid.encode(numbers), self.low, self.high) - self.low

    def decode(self, steps: Ints) -> list[Any]:
        return self.grid.decode(steps + self.low)

    def describe(self) -> dict[str, object]:
        return {**self.grid.describe(), "part": (self.low, self.high)}


@dataclass(frozen=True)
class PartView:
    """The records at positions start .. stop-1 of the sorted order, on the steps low .. high."""

    view: SortedView
    start: int
    stop: int
    low: int
    high: int

    @property
    def n(self) -> int:
        return self.stop - self.start

    @property
    def grid(self) -> PartGrid:
        return PartGrid(self.view.grid, self.low, self.high)

    def order_statistics(self, index: Ints) -> Ints:
        steps = self.view.order_statistics(np.asarray(index) + self.start)
        return np.clip(steps, self.low, self.high) - self.low

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """Counts inside the part; at its ends they include what was clamped there."""
        below, through = self.view.ranks(np.asarray(steps) + self.low)
        below = np.where(steps <= 0, 0, np.clip(below - self.start, 0, self.n))
        last = np.asarray(steps) >= self.high - self.low
        through = np.where(last, self.n, np.clip(through - self.start, 0, self.n))
        return below, through
