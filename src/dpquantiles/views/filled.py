"""A sorted view with one step repeated: what stands in for missing records."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.grid import Grid
from dpquantiles.kinds import clamp
from dpquantiles.views.protocol import Ints, SortedView

MISSING_POLICIES = ("drop", "lower", "upper")


def stand_in(grid: Grid, missing: Any) -> int:
    """The step that stands in for a missing record."""
    if isinstance(missing, str):
        return 0 if require.choice(MISSING_POLICIES, missing=missing) == "lower" else grid.size - 1
    number = grid.kind.number(missing, "missing")
    return int(grid.encode(np.array([clamp(number) if isinstance(number, int) else number]))[0])


def filled(present: SortedView, missing: Any, count: int) -> SortedView:
    """The records that are present, and what stands in for the missing ones, if anything does."""
    step = stand_in(present.grid, missing)
    dropped = isinstance(missing, str) and missing == "drop"
    return present if dropped or not count else FilledView(present, step, count)


@dataclass(frozen=True)
class FilledView:
    """Another view, and `count` more records at `step`."""

    view: SortedView
    step: int
    count: int

    @property
    def n(self) -> int:
        """The number of records, those that stand in included."""
        return self.view.n + self.count

    @property
    def grid(self) -> Grid:
        return self.view.grid

    @cached_property
    def _before(self) -> int:
        """They come after all records that lie below their step."""
        return int(self.view.ranks(np.array([self.step]))[0][0])

    def order_statistics(self, index: Ints) -> Ints:
        after = index >= self._before + self.count
        present = after | (index < self._before)
        steps = np.full(len(index), self.step, dtype=np.int64)
        steps[present] = self.view.order_statistics((index - self.count * after)[present])
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        below, through = self.view.ranks(steps)
        return below + self.count * (self.step < steps), through + self.count * (self.step <= steps)
