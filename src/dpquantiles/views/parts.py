"""Views of a part of another view: of a run of its records, or of records that were read ahead."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind
from dpquantiles.views.protocol import Demand, Ints, SortedView, among, merged


@dataclass(frozen=True, eq=False)
class ReadAhead:
    """Another view, with records that were read at once because they will probably be asked for.

    Only other questions reach the view itself.
    """

    view: SortedView
    index: Ints
    """The ascending positions of the records that were read."""
    records: Ints

    @classmethod
    def of(cls, view: SortedView, runs: Iterable[range]) -> "ReadAhead":
        """Read the records of these runs, which may overlap and go beyond the ends."""
        inside = (range(max(0, run.start), min(view.n, run.stop)) for run in runs)
        index = Demand(merged(sorted(inside, key=lambda run: run.start))).index
        return cls(view, index, view.order_statistics(index))

    @property
    def n(self) -> int:
        return self.view.n

    @property
    def missing(self) -> int | None:
        return self.view.missing

    @property
    def grid(self) -> Grid:
        return self.view.grid

    def order_statistics(self, index: Ints) -> Ints:
        places = np.searchsorted(self.index, index)
        if not among(self.index, index, places).all():
            return self.view.order_statistics(index)
        return self.records[places]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        steps = np.asarray(steps)
        before, after = np.append(-1, self.index), np.append(self.index, self.n)
        places = [np.searchsorted(self.records, steps, side) for side in ("left", "right")]
        below, through = (after[place] for place in places)
        # A rank is known if no record is missing between the two that the step lies between.
        gaps = [before[place] + 1 != after[place] for place in places]
        unknown = gaps[0] | gaps[1]
        if unknown.any():
            below[unknown], through[unknown] = self.view.ranks(steps[unknown])
        return below, through


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
    missing: None = None
    """A missing record is in no part."""

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
        """Count inside the part; records that were clamped to its ends count there."""
        below, through = self.view.ranks(np.asarray(steps) + self.low)
        below = np.where(steps <= 0, 0, np.clip(below - self.start, 0, self.n))
        last = np.asarray(steps) >= self.high - self.low
        through = np.where(last, self.n, np.clip(through - self.start, 0, self.n))
        return below, through
