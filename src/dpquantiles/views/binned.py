"""An unsorted array as a sorted view that opens only the bins in question."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid
from dpquantiles.kernels.binned import BINS, Binned, binned
from dpquantiles.kernels.cut_out import Cut, cut_out
from dpquantiles.views.protocol import Ints, Limits

FEW = 1 << 16
"""So few records are sorted at once."""

MOST_OPENED = 4
"""If more than one in this many records must be sorted, all are."""

CHUNK = 1 << 18
SPARSE = 3
"""A table for 2**SPARSE times as many parts as records tells most of them apart."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2**64 times the golden ratio, which spreads consecutive numbers evenly."""


@dataclass(eq=False)
class BinnedRecords:
    """Records that are not missing, on a grid.

    The map to the grid is monotone, so records are binned as raw numbers, and only those of opened
    bins are encoded and sorted. A bin within one step need not be opened.
    """

    numbers: NDArray[Any]
    grid: Grid
    missing: int
    _opened: NDArray[np.bool_] = field(init=False, repr=False)
    """Which bins are open."""
    _pool: Ints = field(init=False, repr=False)
    """The steps of all records in open bins, in ascending order."""
    _slack: float = field(init=False, repr=False, default=math.inf)
    """All bins with more records than this are open, or within one step."""
    _asked: bool = field(init=False, repr=False, default=False)
    """Whether order statistics were asked for: bins pay from the second time on."""

    def __post_init__(self) -> None:
        self._opened, self._pool = np.zeros(BINS, dtype=bool), np.empty(0, dtype=np.int64)

    @property
    def n(self) -> int:
        return len(self.numbers)

    @cached_property
    def _bins(self) -> Binned | None:
        """The bins; None if all records are sorted instead."""
        return binned(self.numbers) if self.n > FEW else None

    @cached_property
    def _sorted(self) -> Ints:
        return np.sort(self.grid.encode(self.numbers))

    def order_statistics(self, index: Ints) -> Ints:
        cut = self._cut_out(index)
        if cut is not None:
            return np.sort(self.grid.encode(cut.numbers))[index - cut.before]
        if self._bins is None:
            return self._sorted[index]
        ends = np.cumsum(self._bins.counts)
        place = np.searchsorted(ends, index, side="right")
        if not self._open(self._bins, np.unique(place)):
            return self._sorted[index]
        steps, opened = np.empty(len(index), dtype=np.int64), self._opened[place]
        steps[~opened] = self._ends(self._bins, place[~opened])[0]
        in_pool = index - ends[place] + np.cumsum(self._bins.counts * self._opened)[place]
        steps[opened] = self._pool[in_pool[opened]]
        return steps

    def _cut_out(self, index: Ints) -> Cut | None:
        """The records around the first positions asked for, if these are close together."""
        first, self._asked = not self._asked, True
        if not first or self.n <= FEW or not len(index):
            return None
        return cut_out(self.numbers, int(index[0]), int(index[-1]))

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        both = np.concatenate([steps, np.add(steps, 1)])
        if self._bins is None or not self._open(self._bins, self._around(both)):
            below = np.searchsorted(self._sorted, both)
        else:
            below, _ = self._below(both)
        return below[: len(steps)], below[len(steps) :]

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step, about `slack` apart."""
        if self._bins is not None and slack < self._slack:
            self._open(self._bins, self._bins.counts > slack)
            self._slack = slack
        if self._bins is None:
            below = np.searchsorted(self._sorted, steps)
            return below, below
        return self._below(steps)

    def _open(self, bins: Binned, wanted: NDArray[np.bool_] | Ints) -> bool:
        """Sort the records of these bins; False if so many are wanted that all must be sorted."""
        closed = np.zeros(BINS, dtype=bool)
        closed[wanted] = True
        found = np.flatnonzero(closed & ~self._opened & (bins.counts > 0))
        low, high = self._ends(bins, found)
        found = found[low < high]
        if MOST_OPENED * int(bins.counts[found].sum()) > self.n:
            self._bins = None
            return False
        if len(found):
            closed[:] = False
            closed[found] = True
            more = np.sort(self.grid.encode(bins.collected(self.numbers, closed)))
            self._pool = np.concatenate([self._pool, more])
            self._pool.sort(kind="stable")  # fast, because both parts are in order
            self._opened |= closed
            self.__dict__.pop("_closed", None)
        return True

    def _ends(self, bins: Binned, which: Ints) -> tuple[Ints, Ints]:
        """The steps between which all records of some bins lie."""
        below, above = bins.line.ends(which)
        return self.grid.encode(below), self.grid.encode(above)

    @cached_property
    def _all_ends(self) -> tuple[Ints, Ints]:
        """The steps between which the records of each bin lie; both ascend."""
        assert self._bins is not None
        low, high = self._ends(self._bins, np.arange(BINS))
        return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]

    def _span(self, steps: Ints) -> tuple[Ints, Ints]:
        """The first bin that may hold records on both sides of each step, and that after them.

        All records of bins before the first lie below the step.
        """
        low, high = self._all_ends
        first = np.searchsorted(high, steps, side="left")
        return first, np.maximum(first, np.searchsorted(low, steps, side="left"))

    def _around(self, steps: Ints) -> NDArray[np.bool_]:
        """The bins that may hold records on both sides of a step."""
        starts, stops = (np.bincount(bins, minlength=BINS + 1) for bins in self._span(steps))
        return np.asarray(np.cumsum(starts - stops)[:BINS] > 0)

    @cached_property
    def _closed(self) -> Ints:
        """How many records of closed bins come before each bin, and how many there are."""
        assert self._bins is not None
        return np.append(0, np.cumsum(self._bins.counts * ~self._opened))

    def _below(self, steps: Ints) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step."""
        first, stop = self._span(steps)
        least = self._closed[first] + np.searchsorted(self._pool, steps, side="left")
        return least, least + self._closed[stop] - self._closed[first]

    def occupied(self, length: int, limits: Limits) -> int:
        """How many parts of `length` steps contain records, within the limits."""
        if self._seems_to_occupy(length, limits.high):
            return limits.high
        found = np.empty(0, dtype=np.int64)
        for start in range(0, self.n, CHUNK):
            parts = self.grid.encode(self.numbers[start : start + CHUNK]) // length
            ordered = np.sort(np.concatenate([found, parts]))  # np.unique is slower
            found = ordered[np.diff(ordered, prepend=-1) > 0]
            if len(found) >= limits.high:
                break
        return limits.clamped(len(found))

    def _seems_to_occupy(self, length: int, enough: int) -> bool:
        """Whether some records are in at least so many parts, without sorting any.

        Parts are marked in a table. Two parts may share a place, so marks are never too many.
        """
        some = self.numbers[: 2 * enough]
        bits = max(1, len(some)).bit_length() + SPARSE
        table = np.zeros(1 << bits, dtype=bool)
        for start in range(0, len(some), CHUNK):
            parts = self.grid.encode(some[start : start + CHUNK]) // length
            table[(parts.view(np.uint64) * MIX) >> np.uint64(64 - bits)] = True
        return int(np.count_nonzero(table)) >= enough
