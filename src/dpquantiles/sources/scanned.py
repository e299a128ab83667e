"""A sorted view of a column that stays where it lives: few scans, and few values fetched.

The first scan counts public bins. What is asked for after that lies in some of them: their values
are fetched by one more scan, or, where they are too many, binned finer first. A bin whose least
and greatest value fall on one grid step holds nothing to fetch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kinds import column
from dpquantiles.sources.bins import Even, Pieces, Range, first_map
from dpquantiles.sources.engine import Counts, Numbers
from dpquantiles.sources.segments import Run, Segments
from dpquantiles.views.protocol import Ints

MOST_ROWS = 5_000_000
"""Wanted bins that hold more rows than this are binned again before they are fetched."""

WORTHWHILE = 4
"""Binning again pays only where far more rows would be fetched than are asked for."""

MOST_RANGES = 256
"""The most ranges of one query; beyond, the nearest are joined."""

MOST_REFINEMENTS = 4
"""After so many scans for finer bins, what is wanted is fetched."""


class ScannedView:
    """Records of a column of a lazy table, missing ones left out, on a grid."""

    def __init__(self, numbers: Numbers, grid: Grid) -> None:
        self.grid = grid
        self.scans = 1
        self._numbers = numbers
        self._refinements = 0
        counted = numbers.count_bins(first_map(grid, numbers.tick))
        self.missing = counted.missing
        self._segments = self._segmented(counted)
        self._pool: Ints = np.empty(0, dtype=np.int64)
        """The steps of all held segments, in order."""

    @property
    def n(self) -> int:
        """The number of records that are not missing."""
        return int(self._segments.counts.sum())

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        if len(index) and not 0 <= index[0] <= index[-1] < self.n:
            raise LookupError("a position outside the records was asked for")
        while True:
            ends = np.cumsum(self._segments.counts)
            place = np.searchsorted(ends, index, side="right")
            unsettled = np.unique(place[~self._segments.settled[place]])
            if not len(unsettled):
                break
            self._settle(unsettled, len(index))
        segments = self._segments
        offset = index - (ends - segments.counts)[place]
        steps = np.where(offset == 0, segments.low[place], segments.high[place])
        held = segments.held[place]
        steps[held] = self._pool[(segments.held_before[place] + offset)[held]]
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        while True:
            touched = self._segments.touched(steps)
            unsettled = np.flatnonzero(touched & ~self._segments.settled)
            if not len(unsettled):
                return self._segments.counting(self._pool, steps)
            self._settle(unsettled, len(steps))

    def _settle(self, wanted: Ints, questions: int) -> None:
        """Learn more about some segments: finer ones, or all their steps."""
        runs = self._segments.runs(wanted, MOST_RANGES)
        rows = int(self._segments.counts[self._segments.covered(runs)].sum())
        fine = [run for run in runs if self._piece(run).helps]
        if (
            rows > max(MOST_ROWS, WORTHWHILE * questions)
            and fine
            and self._refinements < MOST_REFINEMENTS
        ):
            self._refine(fine)
        else:
            self._fetch(runs)

    def _piece(self, run: Run) -> Even:
        low, high = (self._numbers.locate(end) for end in self._range(run))
        return Even(low, high)

    def _range(self, run: Run) -> Range:
        return self._segments.least[run.first], self._segments.greatest[run.last]

    def _refine(self, runs: list[Run]) -> None:
        pieces = [self._piece(run) for run in runs]
        bins = Pieces.of([(piece.low, piece.high) for piece in pieces])
        finer = self._segmented(self._numbers.count_bins(bins, [self._range(r) for r in runs]))
        wholes = self._segments.joined(runs)
        same = wholes.filled_by(finer.low, finer.high, finer.counts)
        self._numbers.engine.require_same(same=same)
        self._segments = self._segments.replaced(self._segments.covered(runs), finer)
        self._refinements += 1
        self.scans += 1

    def _fetch(self, runs: list[Run]) -> None:
        values = self._numbers.fetch([self._range(run) for run in runs])
        steps = np.sort(self.grid.encode(self._as_numbers(values)))
        covered = self._segments.covered(runs)
        wanted = Segments._make(array[covered] for array in self._segments)
        same = wanted.filled_by(steps, steps, np.ones_like(steps))
        self._numbers.engine.require_same(same=same)
        self._pool = np.sort(np.concatenate([self._pool, steps]))
        self._segments = self._segments._replace(held=self._segments.held | covered)
        self.scans += 1

    def _segmented(self, found: Counts) -> Segments:
        arrays = (self._numbers.array(found.low), self._numbers.array(found.high))
        numbers = (self._as_numbers(arrays[0]), self._as_numbers(arrays[1]))
        return Segments.of(
            (_objects(found.low), _objects(found.high)),
            numbers,
            (self.grid.encode(numbers[0]), self.grid.encode(numbers[1])),
            found.counts,
        )

    def _as_numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        return column(self.grid.kind, values).numbers


def _objects(series: Any) -> NDArray[Any]:
    """The values of a series as Python has them, for use in the next query."""
    return np.fromiter(series.to_list(), dtype=object, count=len(series))
