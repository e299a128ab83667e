"""Sorted views of arrays in memory, which sort no more of them than is needed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.grid import Grid
from dpquantiles.kinds import clamp, column
from dpquantiles.views.binned import BinnedRecords
from dpquantiles.views.protocol import Ints, Limits, SortedView, occupied, rough_ranks

DROP = "drop"
MISSING_POLICIES = (DROP, "lower", "upper")


class ArrayView:
    """Records of an array, list or tuple on a grid.

    `missing` says what becomes of a missing record: "drop" leaves it out, "lower"
    or "upper" replaces it by an end of the grid, and a value of the data's type by that value.
    """

    def __init__(self, values: Iterable[Any], grid: Grid, *, missing: Any = DROP) -> None:
        numbers, absent = column(grid.kind, values)
        present = numbers if absent is None else numbers[~absent]
        self._records = filled(BinnedRecords(present, grid, len(numbers) - len(present)), missing)

    @property
    def grid(self) -> Grid:
        return self._records.grid

    @property
    def n(self) -> int:
        """The number of records; missing ones that were left out do not count."""
        return self._records.n

    @property
    def missing(self) -> int | None:
        """How many missing records were left out; None if they were replaced."""
        return self._records.missing

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        if len(index) and not 0 <= index[0] <= index[-1] < self.n:
            raise LookupError("a position outside the records was requested")
        return self._records.order_statistics(index)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        return self._records.ranks(steps)

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step, about `slack` apart."""
        return rough_ranks(self._records, steps, slack)

    def occupied(self, length: int, limits: Limits) -> int:
        """How many parts of `length` steps contain records, within the limits."""
        return occupied(self._records, length, limits)


def stand_in(grid: Grid, missing: Any) -> int:
    """The step that replaces a missing record."""
    if isinstance(missing, str):
        return 0 if require.choice(MISSING_POLICIES, missing=missing) == "lower" else grid.size - 1
    number = grid.kind.number(missing, "missing")
    return int(grid.encode(np.array([clamp(number) if isinstance(number, int) else number]))[0])


def is_dropped(missing: Any) -> bool:
    """Whether a policy leaves missing records out."""
    return isinstance(missing, str) and missing == DROP


def filled(present: SortedView, missing: Any) -> SortedView:
    """The records that are present, plus replacements for the missing ones unless dropped."""
    step = stand_in(present.grid, missing)
    return present if is_dropped(missing) else FilledView(present, step, present.missing or 0)


@dataclass(frozen=True)
class FilledView:
    """Another view, and `count` more records at `step`."""

    view: SortedView
    step: int
    count: int
    missing: None = None

    @property
    def n(self) -> int:
        """The number of records, including the added ones."""
        return self.view.n + self.count

    @property
    def grid(self) -> Grid:
        return self.view.grid

    @cached_property
    def _before(self) -> int:
        """How many records of the view come before the added ones."""
        # Asking for a rank may scan the records, which is in vain if none are added.
        return int(self.view.ranks(np.array([self.step]))[0][0]) if self.count else 0

    def order_statistics(self, index: Ints) -> Ints:
        after = index >= self._before + self.count
        present = after | (index < self._before)
        steps = np.full(len(index), self.step, dtype=np.int64)
        steps[present] = self.view.order_statistics((index - self.count * after)[present])
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        below, through = self.view.ranks(steps)
        return below + self.count * (self.step < steps), through + self.count * (self.step <= steps)

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        added = self.count * (self.step < steps)
        least, most = rough_ranks(self.view, steps, slack)
        return least + added, most + added

    def occupied(self, length: int, limits: Limits) -> int:
        if not self.count:
            return occupied(self.view, length, limits)
        start = self.step - self.step % length
        first, stop = self.view.ranks(np.array([start, start + length]))[0]
        added = int(first == stop)
        others = Limits(limits.low - added, limits.high - added)
        return occupied(self.view, length, others) + added


@dataclass(frozen=True, eq=False)
class SortedSteps:
    """A sorted array of steps as a view."""

    grid: Grid
    steps: Ints
    missing: int | None = None

    @property
    def n(self) -> int:
        return len(self.steps)

    def order_statistics(self, index: Ints) -> Ints:
        return self.steps[index]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        below, through = (np.searchsorted(self.steps, steps, side) for side in ("left", "right"))
        return below, through
