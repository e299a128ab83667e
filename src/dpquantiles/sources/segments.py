"""The sorted records of a column, divided into segments of known size and ends."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.forking import cached_property
from dpquantiles.views.protocol import Ints


class Run(NamedTuple):
    """Consecutive segments, from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Segments:
    """Disjoint segments in ascending order, with their ends as values and as grid steps."""

    least: NDArray[Any]
    greatest: NDArray[Any]
    low: Ints
    high: Ints
    counts: Ints
    fetched: NDArray[np.bool_]
    """Whether all records of the segment were fetched."""
    first: Ints
    """The first part of a bin that holds these records and no others; -1 where there is none."""
    last: Ints
    """The last such part of the same bin."""

    @classmethod
    def of(
        cls,
        ends: tuple[NDArray[Any], NDArray[Any]],
        numbers: tuple[NDArray[Any], NDArray[Any]],
        steps: tuple[Ints, Ints],
        counts: Ints,
        own: tuple[Ints, Ints],
    ) -> "Segments":
        """Segments from bins or parts of them, in any order. Those that overlap become one."""
        order = np.lexsort((numbers[1], numbers[0]))
        least, greatest, low, high, count = (array[order] for array in (*ends, *steps, counts))
        bottom, top = numbers[0][order], numbers[1][order]
        reached = np.maximum.accumulate(top)
        apart = np.ones(len(top), dtype=bool)
        apart[1:] = bottom[1:] >= reached[:-1]
        starts = np.flatnonzero(apart)
        highest, sizes = starts, np.diff(starts, append=len(top))
        if (sizes > 1).any():  # the segment ends where the highest of its bins ends
            parts = np.split(top, starts[1:])[: len(starts)]
            highest = starts + np.array([np.argmax(part) for part in parts], dtype=np.int64)
        alone = (np.where(sizes == 1, part[order][starts], -1) for part in own)
        sums = np.add.reduceat(count, starts) if len(top) else count
        fetched = np.zeros(len(starts), dtype=bool)
        ends_found = (least[starts], greatest[highest], low[starts], high[highest])
        return cls(*ends_found, sums, fetched, *alone)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all records are known: they were fetched, share one step, or are the two ends."""
        return np.asarray(self.fetched | (self.low == self.high) | (self.counts <= 2))

    @cached_property
    def through(self) -> Ints:
        """How many records there are up to the end of each segment."""
        return np.cumsum(self.counts)

    @property
    def fetched_before(self) -> Ints:
        """How many records of fetched segments come before each segment."""
        sizes = self.counts * self.fetched
        return np.asarray(np.cumsum(sizes) - sizes)

    def only(self, some: NDArray[np.bool_]) -> "Segments":
        """Some of them."""
        return Segments(*(array[some] for array in self._arrays))

    def with_fetched(self, some: NDArray[np.bool_]) -> "Segments":
        """The same segments, after the records of some were fetched."""
        return replace(self, fetched=self.fetched | some)

    def below(self, pool: Ints, steps: Ints) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step; `pool` is as in `counting`."""
        if not len(self.counts):
            return np.zeros_like(steps), np.zeros_like(steps)
        exact, _ = self.counting(pool, steps)
        place = np.maximum(np.searchsorted(self.low, steps) - 1, 0)
        inside = (self.low[place] < steps) & (steps <= self.high[place]) & ~self.complete[place]
        through = self.through[place]
        least = np.where(inside, through - self.counts[place] + 1, exact)
        return least, np.where(inside, through - 1, exact)

    def touched(self, steps: Ints) -> NDArray[np.bool_]:
        """The segments that one of the steps falls into, ends included."""
        steps = np.sort(steps)
        before = np.searchsorted(steps, self.low, side="left")
        return np.asarray(np.searchsorted(steps, self.high, side="right") > before)

    def replaced(self, gone: NDArray[np.bool_], new: "Segments") -> "Segments":
        """Replace some segments by others that cover the same records."""
        pairs = zip(self._arrays, new._arrays, strict=True)
        both = [np.concatenate([old[~gone], fresh]) for old, fresh in pairs]
        order = np.lexsort((both[3], both[2]))  # by low, then by high
        return Segments(*(array[order] for array in both))

    def runs(self, wanted: Ints, most: int) -> list[Run]:
        """Runs that cover the wanted segments but no fetched one.

        There are at most `most` runs, or as many as fetched segments make necessary.
        """
        breaks = np.flatnonzero(np.diff(wanted) > 1)
        ends = np.append(0, self.through)
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
        before = np.append(0, self.through)
        return Segments(
            self.least[first],
            self.greatest[last],
            self.low[first],
            self.high[last],
            before[last + 1] - before[first],
            self.fetched[first],
            np.full(len(first), -1),
            np.full(len(first), -1),
        )

    def agrees_with(self, other: "Segments") -> bool:
        """Whether segments of all records, none of them fetched, can hold the same records."""
        if self.counts.sum() != other.counts.sum():
            return False
        through, none = self.through, np.empty(0, dtype=np.int64)
        return all(
            bool((other.below(none, steps)[0] <= ranks).all())
            and bool((ranks <= other.below(none, steps + 1)[1]).all())
            for steps, ranks in ((self.low, through - self.counts), (self.high, through))
        )

    def filled_by(self, low: Ints, high: Ints, counts: Ints) -> bool:
        """Whether pieces, in ascending order, can hold exactly the records of these segments.

        For each segment, a piece must end at the same step after the same number of records, and
        the next piece must begin where the next segment begins. This notices records that moved
        from one segment to another, even if the total number of records is the same.
        """
        ends, piece_ends = self.through, np.cumsum(counts)
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

        `pool` has the steps of all fetched segments.
        """
        places, sums = self._unfetched
        below, through = (
            sums[np.searchsorted(places, steps, side=side)]
            + np.searchsorted(pool, steps, side=side)
            for side in ("left", "right")
        )
        return below, through

    @cached_property
    def _unfetched(self) -> tuple[Ints, Ints]:
        """Ascending steps of records that were not fetched, and how many records precede each.

        Of each segment, one record is at its low end and the others are at its high end. That is
        exact if the segment is complete, or if no step falls into it.
        """
        free = ~self.fetched
        places = np.concatenate([self.low[free], self.high[free]])
        weights = np.concatenate([np.ones(int(free.sum()), np.int64), self.counts[free] - 1])
        order = np.argsort(places, kind="stable")
        return places[order], np.append(0, np.cumsum(weights[order]))

    def inner(self, points: int) -> Run | None:
        """The segments without the two ends of a grid of this many points."""
        inside = np.flatnonzero((self.low > 0) & (self.high < points - 1))
        return Run(int(inside[0]), int(inside[-1])) if len(inside) else None

    def middle(self, run: Run, rows: int) -> Run:
        """The segments around the middle record of a run that hold this many records, or all."""
        ends = self.through
        before = int(ends[run.first] - self.counts[run.first])
        start = max(before, (before + int(ends[run.last]) - rows) // 2)
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, start + rows))
        return Run(first, min(last, run.last))

    def parts(self, pool: Ints, length: int) -> tuple[int, int]:
        """The least and the greatest number of parts of `length` steps that contain records."""
        first, last = self.low // length, self.high // length
        least = 1 + (last > first)
        most = np.minimum(self.counts, last - first + 1)
        known = np.diff(pool // length, prepend=-1) > 0
        ends = np.cumsum(self.counts * self.fetched)
        inside = np.append(0, np.cumsum(known))
        starts = ends - self.counts * self.fetched
        # Count the part of a segment's first record too, if an earlier segment shares it.
        counted = inside[ends] - inside[np.minimum(starts + 1, len(pool))] + 1
        least, most = (np.where(self.fetched, counted, bound) for bound in (least, most))
        shared = int(np.count_nonzero(first[1:] == last[:-1]))
        return int(least.sum()) - shared, int(most.sum()) - shared
