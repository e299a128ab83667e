"""Records of many groups: sorted within each group, and handed over in portions."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.views.array import SortedSteps
from dpquantiles.views.protocol import Ints, SortedView

PORTION = 1_000_000
"""The most rows of several groups that are drawn together."""


def portions(rows: Ints) -> list[range]:
    """Divide groups with so many rows into runs of at most `PORTION` rows, or of one larger group.

    Draws depend on it, so it must not depend on where the rows are stored.
    """
    ends, cuts = np.cumsum(rows), [0]
    while cuts[-1] < len(rows):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        stop = int(np.searchsorted(ends, before + PORTION, side="right"))
        cuts.append(max(stop, cuts[-1] + 1))
    return [range(*ends) for ends in itertools.pairwise(cuts)]


class GroupedRecords(Protocol):
    """The records of groups 0, 1, ..., wherever they are stored."""

    @property
    def grid(self) -> Grid:
        """The public grid that the records were mapped to."""

    @property
    def n(self) -> Ints:
        """The number of records of each group."""

    @property
    def missing(self) -> Ints | None:
        """How many missing records of each group were left out; None where none ever are."""

    def some(self, places: Ints) -> "Groups":
        """The records of a few groups."""

    def portions(self) -> Iterator[tuple[range, "Groups"]]:
        """The records of all groups, in order, in portions that `portions` divides them into."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The records of groups 0, 1, ...: sorted within each group, one group after the other."""

    grid: Grid
    steps: Ints
    ends: Ints
    """Where each group ends."""
    missing: Ints | None = None
    """How many missing records of each group were left out; None where none ever are."""
    apart: Mapping[int, SortedView] = field(default_factory=dict)
    """Views of groups that are too large to be fetched, and have no records here."""

    @classmethod
    def of(
        cls, grid: Grid, codes: Ints, steps: Ints, count: int, missing: Ints | None = None
    ) -> "Groups":
        """Records with the codes 0 .. count-1 of their groups, in any order."""
        ends = np.cumsum(np.bincount(codes, minlength=count))
        if count * grid.size <= 2**63:
            # Group and step fit into one number, so a single plain sort is enough.
            together = np.sort(codes * np.int64(grid.size) + steps)
            return cls(grid, together % np.int64(grid.size), ends, missing)
        return cls(grid, steps[np.lexsort((steps, codes))], ends, missing)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ints:
        """Where each group starts."""
        return np.concatenate([[0], self.ends[:-1]])

    @cached_property
    def n(self) -> Ints:
        """The number of records of each group."""
        n = np.diff(self.ends, prepend=0)
        for group, view in self.apart.items():
            n[group] = view.n
        return n

    def view(self, group: int) -> SortedView:
        """One group as a data set of its own."""
        if group in self.apart:
            return self.apart[group]
        start = self.ends[group - 1] if group else 0
        missing = None if self.missing is None else int(self.missing[group])
        return SortedSteps(self.grid, self.steps[start : self.ends[group]], missing)

    def gathered(self, wanted: NDArray[np.bool_]) -> "Groups":
        """The same groups, with the records here of all the wanted ones."""
        views = {group: view for group, view in sorted(self.apart.items()) if wanted[group]}
        if not views:
            return self
        places = np.repeat(self.ends[list(views)], [view.n for view in views.values()])
        steps = [view.order_statistics(np.arange(view.n)) for view in views.values()]
        held = np.diff(self.ends, prepend=0)
        held[list(views)] = self.n[list(views)]
        return replace(
            self,
            steps=np.insert(self.steps, places, np.concatenate(steps)),
            ends=np.cumsum(held),
            apart={group: view for group, view in self.apart.items() if group not in views},
        )

    def some(self, places: Ints) -> "Groups":
        """The records of a few groups."""
        each = [self.steps[self.starts[place] : self.ends[place]] for place in places.tolist()]
        ends = np.cumsum([len(steps) for steps in each], dtype=np.int64)
        missing = None if self.missing is None else self.missing[places]
        return Groups(self.grid, np.concatenate([_NOTHING, *each]), ends, missing)

    def portions(self) -> Iterator[tuple[range, "Groups"]]:
        """All groups, in the same portions as if they came from an engine."""
        for run in portions(self.n if self.missing is None else self.n + self.missing):
            start, stop = (int(self.ends[end - 1]) if end else 0 for end in (run.start, run.stop))
            some, ends = slice(run.start, run.stop), self.ends[run.start : run.stop] - start
            missing = None if self.missing is None else self.missing[some]
            yield run, Groups(self.grid, self.steps[start:stop], ends, missing)


_NOTHING: Ints = np.empty(0, dtype=np.int64)
