"""The sorted order of a column in segments: how many records each holds, and its two ends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.views.protocol import Ints


class Run(NamedTuple):
    """Consecutive segments first .. last, both included."""

    first: int
    last: int


class Segments(NamedTuple):
    """Disjoint segments in ascending order: ends as the engine has them, and as grid steps."""

    least: NDArray[Any]
    greatest: NDArray[Any]
    low: Ints
    high: Ints
    counts: Ints
    fetched: NDArray[np.bool_]
    """Whether all their steps were fetched."""

    @classmethod
    def of(
        cls,
        ends: tuple[NDArray[Any], NDArray[Any]],
        numbers: tuple[NDArray[Any], NDArray[Any]],
        steps: tuple[Ints, Ints],
        counts: Ints,
    ) -> "Segments":
        """Segments from bins in any order; bins whose numbers overlap are one segment."""
        order = np.lexsort((numbers[1], numbers[0]))
        least, greatest, low, high, count = (a[order] for a in (*ends, *steps, counts))
        bottom, top = numbers[0][order], numbers[1][order]
        reached = np.maximum.accumulate(top)
        apart = np.ones(len(top), dtype=bool)
        apart[1:] = bottom[1:] >= reached[:-1]
        starts = np.flatnonzero(apart)
        # Where bins overlap, the segment ends where the highest of them does.
        parts = np.split(top, starts[1:])[: len(starts)]
        highest = starts + np.array([np.argmax(part) for part in parts], dtype=np.int64)
        sums = np.add.reduceat(count, starts) if len(top) else count
        fetched = np.zeros(len(starts), dtype=bool)
        return cls(least[starts], greatest[highest], low[starts], high[highest], sums, fetched)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether nothing is left to ask: one step, or two records, which are the two ends."""
        return np.asarray(self.fetched | (self.low == self.high) | (self.counts <= 2))

    @property
    def fetched_before(self) -> Ints:
        """How many records of fetched segments come before each segment."""
        sizes = self.counts * self.fetched
        return np.asarray(np.cumsum(sizes) - sizes)

    def touched(self, steps: Ints) -> NDArray[np.bool_]:
        """Segments between whose ends, these included, one of the steps lies."""
        steps = np.sort(steps)
        before = np.searchsorted(steps, self.low, side="left")
        return np.asarray(np.searchsorted(steps, self.high, side="right") > before)

    def replaced(self, gone: NDArray[np.bool_], new: "Segments") -> "Segments":
        """Some segments replaced by others that cover the same records."""
        both = [np.concatenate([old[~gone], fresh]) for old, fresh in zip(self, new, strict=True)]
        order = np.lexsort((both[3], both[2]))  # by low, then by high
        return Segments(*(array[order] for array in both))

    def runs(self, wanted: Ints, most: int) -> list[Run]:
        """At most so many runs that cover the wanted segments, and fetched ones never."""
        breaks = np.flatnonzero(np.diff(wanted) > 1)
        ends = np.append(0, np.cumsum(self.counts))
        gaps = ends[wanted[breaks + 1]] - ends[wanted[breaks] + 1]
        blocked = np.diff(np.append(0, np.cumsum(self.fetched))[wanted])[breaks] > 0
        # Keep the widest gaps, and all that hide a fetched segment.
        order = np.lexsort((-gaps, ~blocked))
        keep = np.sort(breaks[order[: max(most - 1, int(blocked.sum()))]])
        firsts, lasts = np.append(0, keep + 1), np.append(keep, len(wanted) - 1)
        return [Run(int(wanted[a]), int(wanted[b])) for a, b in zip(firsts, lasts, strict=True)]

    def covered(self, runs: Sequence[Run]) -> NDArray[np.bool_]:
        """The segments that the runs hold."""
        mask = np.zeros(len(self.counts), dtype=bool)
        for run in runs:
            mask[run.first : run.last + 1] = True
        return mask

    def joined(self, runs: Sequence[Run]) -> "Segments":
        """Every run as one segment."""
        first, last = (np.array(ends, dtype=np.int64) for ends in zip(*runs, strict=True))
        before = np.append(0, np.cumsum(self.counts))
        return Segments(
            self.least[first],
            self.greatest[last],
            self.low[first],
            self.high[last],
            before[last + 1] - before[first],
            self.fetched[first],
        )

    def filled_by(self, low: Ints, high: Ints, counts: Ints) -> bool:
        """Whether pieces, in ascending order, may hold the records of all these segments.

        Some pieces must end where a segment does, after as many records, and the next must begin
        where the next segment does. So records that moved from one segment to another are noticed,
        even where the number of all records is the same.
        """
        ends, piece_ends = np.cumsum(self.counts), np.cumsum(counts)
        if not len(ends) or not len(piece_ends) or ends[-1] != piece_ends[-1]:
            return len(ends) == len(piece_ends) == 0
        last = np.searchsorted(piece_ends, ends)
        first = np.append(0, last[:-1] + 1)
        return bool(
            np.array_equal(piece_ends[last], ends)
            and np.array_equal(low[first], self.low)
            and np.array_equal(high[last], self.high)
        )

    def counting(self, pool: Ints, steps: Ints) -> tuple[Ints, Ints]:
        """Records below, and at or below, each step, given the steps of all fetched segments.

        A segment that is not fetched counts at its two ends, which is exact for those that are
        complete and for those that no step touches.
        """
        free = ~self.fetched
        places = np.concatenate([self.low[free], self.high[free]])
        weights = np.concatenate([np.ones(int(free.sum()), np.int64), self.counts[free] - 1])
        order = np.argsort(places, kind="stable")
        sums = np.append(0, np.cumsum(weights[order]))
        below, through = (
            sums[np.searchsorted(places[order], steps, side=side)]
            + np.searchsorted(pool, steps, side=side)
            for side in ("left", "right")
        )
        return below, through
