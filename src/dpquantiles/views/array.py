"""Sorted views of arrays in memory, which sort no more of them than is needed."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid
from dpquantiles.kinds import clamp, column
from dpquantiles.views.binned import BinnedRecords
from dpquantiles.views.protocol import Ints, Limits, SortedView, occupied, rough_ranks

PORTION = 1_000_000
"""The most rows of several groups that are drawn together."""

CHUNK = 1 << 16
"""Records that are changed together, in the cache."""

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


class AnyGroups(Protocol):
    """The records of groups 0, 1, ..., in memory or not."""

    @property
    def grid(self) -> Grid:
        """The public grid of all records."""

    @property
    def n(self) -> Ints:
        """The number of records of each group."""

    @property
    def missing(self) -> Ints | None:
        """How many missing records of each group were left out of n; None where none ever are."""

    def __len__(self) -> int:
        """The number of groups."""

    def views(self, which: Ints) -> Iterator[SortedView]:
        """Some groups, in this order, each as a data set of its own."""

    def portions(self) -> Iterator[tuple[Ints, "Groups"]]:
        """All groups in portions that fit in memory: their places, and their records."""


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
        """Records with the codes 0 .. count-1 of their groups, in any order.

        The steps may be sorted where they stand, because there may be many.
        """
        ends = np.cumsum(np.bincount(codes, minlength=count))
        if count * grid.size <= 2**63:
            # Group and step fit into one number, so a single plain sort is enough.
            for start in range(0, len(steps), CHUNK):
                part = slice(start, start + CHUNK)
                steps[part] += codes[part] * np.int64(grid.size)
            steps.sort()
            steps %= grid.size
            return cls(grid, steps, ends, missing)
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

    def views(self, which: Ints) -> Iterator[SortedView]:
        """Some groups, in this order, each as a data set of its own."""
        return map(self.view, which.tolist())

    def portions(self) -> Iterator[tuple[Ints, "Groups"]]:
        """All groups, in the same portions as if they came from an engine."""
        for run in portions(self.n if self.missing is None else self.n + self.missing):
            start, stop = (int(self.ends[end - 1]) if end else 0 for end in (run.start, run.stop))
            some, ends = slice(run.start, run.stop), self.ends[run.start : run.stop] - start
            missing = None if self.missing is None else self.missing[some]
            yield np.array(run), Groups(self.grid, self.steps[start:stop], ends, missing)
