"""A column that stays in its engine, and a sorted view of it that needs few scans.

The first scan counts the records in public bins. The records that a mechanism then asks for lie in
a few of these bins. One more scan fetches the values in them or, if these are too many, divides
them into finer bins first. If the least and the greatest value of a bin fall on the same grid step,
there is nothing to fetch.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, finest
from dpquantiles.kernels.cells import parts
from dpquantiles.kinds import ANYTHING, Domain, Kind, column, measure
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Even, Intervals, Pieces, Range, finely, first_map
from dpquantiles.sources.columns import Counts, Numbers
from dpquantiles.sources.engine import engine_of, renamed
from dpquantiles.sources.memory import as_numpy
from dpquantiles.sources.segments import Run, Segments
from dpquantiles.sources.tables import Table
from dpquantiles.views import Limits, SortedView, filled, stand_in
from dpquantiles.views.protocol import Ints

MOST_ROWS = 2_000_000
"""If the wanted bins hold more rows than this, they are divided before they are fetched."""

FEW_ROWS = 1 << 17
"""If the bins around some steps hold more rows than this, the engine counts on both sides."""

WORTHWHILE = 4
"""Dividing bins pays off only if more than this many rows per wanted row would be fetched."""

MOST_RANGES = 256
"""The most ranges of one query. If there are more, the nearest ones are joined."""

MOST_ROUGH = 1 << 17
"""If crowded bins hold more rows than this, all bins are divided."""

FINE_BINS = 1 << 16
"""About how many bins there are when all are divided."""

STILL_CROWDED = 16
"""Then only bins with so many times as many records as they should have count as crowded."""

MORE_CELLS = 3
"""The engine looks for occupied cells among this many times as many records as parts would do."""

MOST_CELLS = 2.0**40
"""The most cells; with more of them, rounded positions could matter."""

MOST_REFINEMENTS = 8
"""After this many scans for finer bins, the wanted bins are fetched in any case."""


@dataclass(frozen=True)
class LazyColumn:
    """A column that its engine will scan. Nothing of it has been read."""

    numbers: Numbers
    domain: Domain = ANYTHING
    """What its declared type can hold."""

    @classmethod
    def of(cls, table: Table, name: str) -> "LazyColumn":
        """A column of a table, with its type from the schema."""
        table.dtype(name)
        engine = engine_of(table)
        try:
            own = renamed(table, {VALUE: name})
            numbers = engine.numbers(engine.safe(own, [VALUE]), VALUE)
        except InvalidType as error:
            raise InvalidType(f"column {name!r}: {error}") from None
        return cls(numbers, table.domains.get(name) or engine.domain(table, name))

    @property
    def kind(self) -> Kind:
        """The type of its values."""
        return self.numbers.kind

    def check(self, grid: Grid, missing: Any) -> None:
        """Refuse a grid, or a stand-in for missing values, that is of another type."""
        stand_in(grid, missing)
        column(grid.kind, self.numbers.blank)

    @contextmanager
    def pinned(self) -> Iterator["LazyColumn"]:
        """The same column, whose records do not change, as far as the engine can prevent it."""
        with self.numbers.engine.pinned(self.numbers.frame) as frame:
            yield replace(self, numbers=replace(self.numbers, frame=frame))

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """The records on a grid, with a policy for missing ones. This scans the column once."""
        return self.counted_view(grid, missing)[0]

    def counted_view(self, grid: Grid, missing: Any) -> tuple[SortedView, int]:
        """The view, and the number of rows that were scanned for it, missing values included."""
        self.check(grid, missing)
        present = ScannedView(self.numbers, grid)
        return filled(present, missing), present.n + present.missing


class ScannedView:
    """The records of a lazy column on a grid, without missing ones."""

    def __init__(self, numbers: Numbers, grid: Grid) -> None:
        self.grid = grid
        self.scans = 1
        self._numbers = numbers
        self._refinements = 0
        self._rough_slack = math.inf
        """How far apart rough ranks are, about."""
        self._map = first_map(grid, numbers.tick)
        """The map to the bins that became segments."""
        counted = numbers.count_bins(self._map)
        self.missing = counted.missing
        self._segments = self._segmented(counted)
        self._pool: Ints = np.empty(0, dtype=np.int64)
        """The steps of all fetched records, in ascending order."""

    @property
    def n(self) -> int:
        """The number of records that are not missing."""
        return int(self._segments.counts.sum())

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        if len(index) and not 0 <= index[0] <= index[-1] < self.n:
            raise LookupError("a position outside the records was asked for")
        while True:
            ends = self._segments.through
            place = np.searchsorted(ends, index, side="right")
            incomplete = np.unique(place[~self._segments.complete[place]])
            if not len(incomplete):
                break
            self._learn(incomplete, len(index))
        segments = self._segments
        offset = index - (ends - segments.counts)[place]
        steps = np.where(offset == 0, segments.low[place], segments.high[place])
        fetched = segments.fetched[place]
        steps[fetched] = self._pool[(segments.fetched_before[place] + offset)[fetched]]
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        while True:
            touched = self._segments.touched(steps)
            incomplete = np.flatnonzero(touched & ~self._segments.complete)
            if not len(incomplete):
                return self._segments.counting(self._pool, steps)
            if not self._divided(incomplete, steps):
                self._learn(incomplete, len(steps))

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        """At least and at most how many records lie below each step, about `slack` apart."""
        limit, divided = slack, False
        while self._rough_slack > slack:
            crowded = np.flatnonzero(~self._segments.complete & (self._segments.counts > limit))
            rows = int(self._segments.counts[crowded].sum())
            if not len(crowded):
                self._rough_slack = slack
            elif rows > MOST_ROUGH and not divided and self._refinements < MOST_REFINEMENTS:
                self._refine_all()
                limit, divided = STILL_CROWDED * slack, True
            else:  # no bin may stay crowded, because cells inside it would be cut to single steps
                self._learn(crowded, 0)
        return self._segments.below(self._pool, steps)

    def occupied(self, length: int, limits: Limits) -> int:
        """How many parts of `length` steps contain records, within the limits.

        Segments tell at least how many there are, and at most. If that does not decide, the engine
        counts cells that hold records. Only in the last resort, records are fetched.
        """
        if self._undecided(length, limits) and self._fills_cells(length, limits.high):
            return limits.high
        if self._undecided(length, limits):
            return limits.clamped(parts(self.order_statistics(np.arange(self.n)), length))
        return limits.clamped(self._segments.parts(self._pool, length)[0])

    def _fills_cells(self, length: int, enough: int) -> bool:
        """Whether records in the middle fill so many cells that they fill `enough` parts.

        Cells are twice as long as the longest part there, so a part lies in at most two of them,
        also if positions are rounded. Records that are clamped to an end are not in the middle.
        """
        grid, inner = finest(self.grid), self._segments.inner(self.grid.size)
        if not isinstance(grid, (UniformGrid, FloatGrid)) or inner is None:
            return False
        run = self._segments.middle(inner, MORE_CELLS * enough)
        low, high = int(self._segments.low[run.first]), int(self._segments.high[run.last])
        # Points are farthest apart at an end, because they get rarer away from zero.
        ends = grid.decode(np.array([low, low + 1, high - 1, high]))
        points = [Fraction(grid.kind.number(end, "grid")) for end in ends]
        apart = max(points[1] - points[0], points[3] - points[2])
        cell = float(2 * length * apart * measure(grid.kind) / self._numbers.tick)
        whole = self._piece(run)
        count = int(min((whole.high - whole.low) / cell, MOST_CELLS))
        if count < 2 * enough or not whole.helps:
            return False
        self.scans += 1
        cells = replace(whole, bins=count)
        return self._numbers.occupied_bins(cells, [self._range(run)]) >= 2 * enough

    def _undecided(self, length: int, limits: Limits) -> bool:
        least, most = map(limits.clamped, self._segments.parts(self._pool, length))
        return least < most

    def _learn(self, wanted: Ints, questions: int) -> None:
        """Learn more about some segments: divide them, or fetch all their records."""
        if np.count_nonzero(np.diff(wanted) > 1) >= MOST_RANGES and self._fetched_apart(wanted):
            return
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
        return self._segments.least.item(run.first), self._segments.greatest.item(run.last)

    def _refine(self, runs: list[Run]) -> None:
        pieces = [self._piece(run) for run in runs]
        bins = Pieces.of([(piece.low, piece.high) for piece in pieces])
        counted = self._numbers.count_bins(bins, [self._range(run) for run in runs])
        nowhere = np.full(max(counted.bins, default=-1) + 1, -1)  # these are not bins of the map
        finer = self._segmented(counted, Intervals(nowhere, nowhere))
        wholes = self._segments.joined(runs)
        same = wholes.filled_by(finer.low, finer.high, finer.counts)
        self._numbers.engine.require_same(same=same)
        self._segments = self._segments.replaced(self._segments.covered(runs), finer)
        self._refinements += 1
        self.scans += 1

    def _refine_all(self) -> None:
        """Divide the bins of the first scan, all alike, into about `FINE_BINS`."""
        times = max(2, FINE_BINS // len(self._segments.counts))
        self._map = replace(self._map, bins=min(self._map.bins * times, int(MOST_CELLS)))
        counted = self._numbers.count_bins(self._map)
        finer = self._segmented(counted)
        same = counted.missing == self.missing and self._segments.agrees_with(finer)
        self._numbers.engine.require_same(same=same)
        self._segments, self._pool = finer, np.empty(0, dtype=np.int64)
        self._refinements += 1
        self.scans += 1

    def _divided(self, wanted: Ints, steps: Ints) -> bool:
        """Count the records of segments on both sides of some steps, if fetching costs more."""
        segments = self._segments
        wanted = wanted[segments.last[wanted] > segments.first[wanted]]
        if segments.counts[wanted].sum() <= FEW_ROWS or self._refinements == MOST_REFINEMENTS:
            return False
        wholes = Intervals(segments.first[wanted], segments.last[wanted])
        which, intervals = wholes.cut(self._cuts(steps))
        if len(which):
            counted = self._numbers.count_within(finely(self._map), intervals)
            self._replace(wanted[which], self._segmented(counted, intervals))
        return len(which) > 0

    def _cuts(self, steps: Ints) -> Ints:
        """The parts of bins around the records of each step, so that these are counted apart."""
        grid = finest(self.grid)
        if not isinstance(grid, (UniformGrid, FloatGrid)):
            return np.empty(0, dtype=np.int64)
        unit = float(measure(grid.kind) / self._numbers.tick)
        below, at, above = (grid.numbers(steps + k).astype(np.float64) for k in (-1, 0, 1))
        ends = np.concatenate([below + at, at + above]) / 2 * unit
        cells = finely(self._map).places(ends)
        return np.union1d(cells, cells + 1)

    def _replace(self, wanted: Ints, finer: Segments) -> None:
        """Put finer segments in the place of others."""
        gone = np.zeros(len(self._segments.counts), dtype=bool)
        gone[wanted] = True
        wholes = self._segments.only(gone)
        same = wholes.filled_by(finer.low, finer.high, finer.counts)
        self._numbers.engine.require_same(same=same)
        self._segments = self._segments.replaced(gone, finer)
        self._refinements += 1
        self.scans += 1

    def _fetched_apart(self, wanted: Ints) -> bool:
        """Fetch segments that are far apart, if they are parts of bins and hold few records."""
        segments = self._segments
        rows = int(segments.counts[wanted].sum())
        if rows > MOST_ROWS or (segments.first[wanted] < 0).any():
            return False
        intervals = Intervals(segments.first[wanted], segments.last[wanted])
        covered = np.zeros(len(segments.counts), dtype=bool)
        covered[wanted] = True
        self._keep(covered, self._numbers.fetch_within(finely(self._map), intervals))
        return True

    def _fetch(self, runs: list[Run]) -> None:
        values = self._numbers.fetch([self._range(run) for run in runs])
        self._keep(self._segments.covered(runs), values)

    def _keep(self, covered: NDArray[np.bool_], values: NDArray[Any]) -> None:
        """Keep the fetched values of some segments."""
        steps = np.sort(self.grid.encode(self._as_numbers(values)))
        wanted = self._segments.only(covered)
        same = wanted.filled_by(steps, steps, np.ones_like(steps))
        self._numbers.engine.require_same(same=same)
        self._pool = np.sort(np.concatenate([self._pool, steps]))
        self._segments = self._segments.with_fetched(covered)
        self.scans += 1

    def _segmented(self, bins: Counts, intervals: Intervals | None = None) -> Segments:
        arrays = (self._numbers.array(bins.low), self._numbers.array(bins.high))
        numbers = (self._as_numbers(arrays[0]), self._as_numbers(arrays[1]))
        if intervals is None:
            each = finely(self._map).parts
            own = bins.bins * each, (bins.bins + 1) * each - 1
        else:
            own = intervals.first[bins.bins], intervals.last[bins.bins]
        return Segments.of(
            (_ends(bins.low), _ends(bins.high)),
            numbers,
            (self.grid.encode(numbers[0]), self.grid.encode(numbers[1])),
            bins.counts,
            own,
        )

    def _as_numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        return column(self.grid.kind, values).numbers


def _ends(series: Any) -> NDArray[Any]:
    """The values of a series for use in the next query: plain numbers, else Python objects."""
    dtype = series.dtype
    if dtype.is_float() or (dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128)):
        return as_numpy(series)
    return np.fromiter(series.to_list(), dtype=object, count=len(series))
