"""A part of a sorted view: consecutive records on a part of the grid, as a data set of its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind
from dpquantiles.views.protocol import Ints, SortedView


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
