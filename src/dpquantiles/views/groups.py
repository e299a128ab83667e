"""Sorted views of many data sets at once: all records in one array, ordered by group and step."""

from dataclasses import dataclass

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.views.protocol import Ints


@dataclass(frozen=True, eq=False)
class SortedSteps:
    """A sorted array of steps as a view."""

    grid: Grid
    steps: Ints

    @property
    def n(self) -> int:
        return len(self.steps)

    def order_statistics(self, index: Ints) -> Ints:
        return self.steps[index]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        return np.searchsorted(self.steps, steps, "left"), np.searchsorted(
            self.steps, steps, "right"
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """The records of groups 0, 1, ...: sorted within each group, one group after the other."""

    grid: Grid
    steps: Ints
    ends: Ints
    """Where each group ends."""

    @classmethod
    def of(cls, grid: Grid, codes: Ints, steps: Ints, count: int) -> "Groups":
        """Records with the codes 0 .. count-1 of their groups, in any order."""
        ends = np.cumsum(np.bincount(codes, minlength=count))
        if count * grid.size <= 2**63:
            # One number holds group and step, so that one plain sort will do.
            together = np.sort(codes * np.int64(grid.size) + steps)
            return cls(grid, together % np.int64(grid.size), ends)
        return cls(grid, steps[np.lexsort((steps, codes))], ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ints:
        """Where each group starts."""
        return self.ends - self.n

    @property
    def n(self) -> Ints:
        """The number of records of each group."""
        return np.diff(self.ends, prepend=0)

    def view(self, group: int) -> SortedSteps:
        """One group as a data set of its own."""
        start = self.ends[group - 1] if group else 0
        return SortedSteps(self.grid, self.steps[start : self.ends[group]])
