"""The sorted records of a column, divided into segments of known size and ends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.views.protocol import Ints


class Run(NamedTuple):
    """Consecutive segments, from `first` to `last`, both included."""

    first: int
    last: int


class Segments(NamedTuple):
    """Disjoint segments in ascending order, with their ends as values and as grid steps."""

    least: NDArray[Any]
    greatest: NDArray[Any]
    low: Ints
    high: Ints
    counts: Ints
    fetched: NDArray[np.bool_]
    """Whether all records of the segment were fetched."""

    @classmethod
    def of(
        cls,
        ends: tuple[NDArray[Any], NDArray[Any]],
        numbers: tuple[NDArray[Any], NDArray[Any]],
        steps: tuple[Ints, Ints],
        counts: Ints,
    ) -> "Segments":
        """Segments from bins in any order. Bins whose numbers overlap become one segment."""
        order = np.lexsort((numbers[1], numbers[0]))
        least, greatest, low, high, count = (a[order] for a in (*ends, *steps, counts))
        bottom, top = numbers[0][order], numbers[1][order]
        reached = np.maximum.accumulate(top)
        apart = np.ones(len(top), dtype=bool)
        apart[1:] = bottom[1:] >= reached[:-1]
        starts = np.flatnonzero(apart)
        # If bins overlap, the segment ends where the highest of them ends.
        parts = np.split(top, starts[1:])[: len(starts)]
        highest = starts + np.array([np.argmax(part) for part in parts], dtype=np.int64)
        sums = np.add.reduceat(count, starts) if len(top) else count
        fetched = np.zeros(len(starts), dtype=bool)
        return cls(least[starts], greatest[highest], low[starts], high[highest], sums, fetched)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all records are known: they were fetched, share one step, or are the two ends."""
        return np.asarray(self.fetched | (self.low == self.high) | (self.counts <= 2))

    @property
    def fetched_before(self) -> Ints:
        """How many records of fetched segments come before each segment."""
        sizes = self.counts * self.fetched
        return np.asarray(np.cumsum(sizes) - sizes)

    def touched(self, steps: Ints) -> NDArray[np.bool_]:
        """The segments that one of the steps falls into, ends included."""
        steps = np.sort(steps)
        before = np.searchsorted(steps, self.low, side="left")
        return np.asarray(np.searchsorted(steps, self.high, side="right") > before)

    def replaced(self, gone: NDArray[np.bool_], new: "Segments") -> "Segments":
        """Replace some segments by others that cover the same records."""
        both = [np.concatenate([old[~gone], fresh]) for old, fresh in zip(self, new, strict=True)]
        order = np.lexsort((both[3], both[2]))  # by low, then by high
        return Segments(*(array[order] for array in both))

    def runs(self, wanted: Ints, most: int) -> list[Run]:
        """Runs that cover the wanted segments but no fetched one.

        There are at most `most` runs, or as many as fetched segments make necessary.
        """
        breaks = np.flatnonzero(np.diff(wanted) > 1)
        ends = np.append(0, np.cumsum(self.counts))
        gaps = ends[wanted[breaks + 1]] - ends[wanted[breaks] + 1]
        blocked = np.diff(np.append(0, np.cumsum(self.fetched))[wanted])[breaks] > 0
        # Keep the gaps with the most records, and all gaps with a fetched segment.
        order = np.lexsort((-gaps, ~blocked))
        keep = np.sort(breaks[order[: max(most - 1, int(blocked.sum()))]])
        firsts, lasts = np.append(0, keep + 1), np.append(keep, len(wanted) - 1)
        return [Run(int(wanted[a]), int(wanted[b])) for a, b in zip(firsts, lasts, strict=True)]

    def covered(self, runs: Sequence[Run]) -> NDArray[np.bool_]:
        """The segments in these runs, as a mask."""
        mask = np.zeros(len(self.counts), dtype=bool)
        for run in runs:
            mask[run.first : run.last + 1] = True
        return mask

    def joined(self, runs: Sequence[Run]) -> "Segments":
        """One segment for each run."""
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
        """Whether pieces, in ascending order, can hold exactly the records of these segments.

        For each segment, a piece must end at the same step after the same number of records, and
        the next piece must begin where the next segment begins. This notices records that moved
        from one segment to another, even if the total number of records is the same.
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
        """How many records lie below, and at or below, each step.

        `pool` has the steps of all fetched segments. A segment that was not fetched counts as one
        record at its low end and the others at its high end. That is exact if the segment is
        complete, or if no step falls into it.
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
