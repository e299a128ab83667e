"""Sorted views, the demands of mechanisms on them, and views that answer one demand."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kernels.cells import parts

Ints = NDArray[np.int64]


class SortedView(Protocol):
    """Records as grid steps in ascending order, wherever they are stored."""

    @property
    def n(self) -> int:
        """The number of records; missing ones that were left out do not count."""

    @property
    def missing(self) -> int | None:
        """How many missing records were left out; None where none ever are, so that n is all."""

    @property
    def grid(self) -> Grid:
        """The public grid that the records were mapped to."""

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (0 .. n-1, ascending) of the sorted records."""

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""


class Limits(NamedTuple):
    """A count matters only between these numbers; one outside is replaced by the nearer of them."""

    low: int
    high: int

    def clamped(self, count: int) -> int:
        """The nearest number within the limits."""
        return max(self.low, min(count, self.high))


@runtime_checkable
class CountingView(Protocol):
    """A view that can tell less than all ranks and records, and reads less for it."""

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step, about `slack` apart."""

    def occupied(self, length: int, limits: Limits) -> int:
        """How many parts of `length` steps contain records, within the limits."""


def occupied(view: SortedView, length: int, limits: Limits) -> int:
    """How many parts of `length` steps contain records, within the limits."""
    if isinstance(view, CountingView):
        return view.occupied(length, limits)
    return limits.clamped(parts(view.order_statistics(np.arange(view.n)), length))


def rough_ranks(view: SortedView, steps: Ints, slack: int) -> tuple[Ints, Ints]:
    """At least and at most how many records lie below each step, about `slack` apart."""
    if isinstance(view, CountingView):
        return view.rough_ranks(steps, slack)
    below, _ = view.ranks(steps)
    return below, below


def _empty() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Demand:
    """What a mechanism will read from a view, stated in advance.

    `runs` are positions of sorted records, as ascending disjoint ranges. `steps` are the steps
    whose ranks are needed.
    """

    runs: tuple[range, ...] = ()
    steps: Ints = field(default_factory=_empty)

    @classmethod
    def everything(cls, n: int) -> "Demand":
        """All records, for mechanisms whose next question depends on an earlier answer."""
        return cls(runs=(range(n),) if n else ())

    def __iter__(self) -> Iterator[range]:
        return iter(self.runs)

    @property
    def index(self) -> Ints:
        """All positions, ascending."""
        runs = [np.arange(run.start, run.stop, dtype=np.int64) for run in self.runs]
        return np.concatenate([*runs, _empty()])


def merged(runs: list[range]) -> tuple[range, ...]:
    """Join runs that touch and drop empty ones; the runs must ascend by their starts."""
    joined: list[range] = []
    for run in runs:
        if joined and run.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(run.stop, joined[-1].stop))
        elif run:
            joined.append(run)
    return tuple(joined)


@dataclass(frozen=True, eq=False)
class WindowView:
    """The number of records, the grid, and the answers to one demand.

    Any other question raises an error.
    """

    n: int
    missing: int | None
    grid: Grid
    index: Ints
    records: Ints
    steps: Ints
    below: Ints
    through: Ints

    @classmethod
    def of(cls, view: SortedView, demand: Demand) -> "WindowView":
        """Read what a mechanism demands from another view."""
        index, steps = demand.index, np.unique(demand.steps)
        records = view.order_statistics(index)
        counts, ranks = (view.n, view.missing), view.ranks(steps)
        return cls(*counts, view.grid, index, records, steps, *ranks)

    def order_statistics(self, index: Ints) -> Ints:
        return self.records[_places(self.index, index)]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        places = _places(self.steps, steps)
        return self.below[places], self.through[places]


def _places(available: Ints, wanted: Ints) -> Ints:
    """The position of each wanted number among the available ones, which ascend."""
    places = np.searchsorted(available, wanted)
    if not among(available, wanted, places).all():
        raise LookupError("something outside the demand was requested")
    return places


def among(available: Ints, wanted: Ints, places: Ints) -> NDArray[np.bool_]:
    """Whether each wanted number is among the available ones, at its place."""
    present = places < len(available)
    present[present] = available[places[present]] == np.asarray(wanted)[present]
    return present


@dataclass(frozen=True)
class CopiedView:
    """Another view, in which every record counts `copies` times."""

    view: SortedView
    copies: int

    @property
    def n(self) -> int:
        return self.copies * self.view.n

    @property
    def missing(self) -> int | None:
        return None if self.view.missing is None else self.copies * self.view.missing

    @property
    def grid(self) -> Grid:
        return self.view.grid

    def order_statistics(self, index: Ints) -> Ints:
        records, copied = np.unique(np.asarray(index) // self.copies, return_inverse=True)
        return self.view.order_statistics(records)[copied]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        below, through = self.view.ranks(steps)
        return self.copies * below, self.copies * through


def copied(view: SortedView, copies: int) -> SortedView:
    """A view in which every record counts so many times; the view itself for once."""
    return CopiedView(view, copies) if copies > 1 else view


def copied_demand(runs: tuple[range, ...], copies: int) -> Demand:
    """The demand for records whose copies have these positions."""
    records = [range(run.start // copies, -(-run.stop // copies)) for run in runs]
    return Demand(runs=merged(records))
