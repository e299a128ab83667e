"""The share of every member of a grid family: the mass of its answers inside over their number.

Members with the same step share their points, and those whose points lie alike among the records
pass through the kernel together; there, ranges differ only at their two ends. The notation is that
of `joint_exp_family.md`, section "Shares".
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpquantiles.grid import GridFamily
from dpquantiles.kernels import ranges as kernel
from dpquantiles.kernels.algebra import Floats, Logarithms
from dpquantiles.kernels.joint import Axes
from dpquantiles.kernels.places import Bools, Ints, Places
from dpquantiles.kernels.ranges import Beginnings, Passed, UpperEnds
from dpquantiles.kernels.scans import Decay

BATCH = 1 << 15
"""About how many cells pass together, so that they stay in the cache."""

FEW = 32
"""For so few cuts the best path is found faster than a pass."""

ROOM = 100.0
"""How many nats the vectors of a pass may be ahead of those of a member that shares it."""


def log_volumes(points: int | Ints | Floats, most: int) -> Floats:
    """log C(K + a - 1, a), the number of sorted vectors with repeats, for a = 0 .. most."""
    a = np.arange(most, dtype=np.float64)
    ratios = (np.asarray(points, dtype=np.float64)[..., None] + a) / (a + 1)
    logs = np.zeros((*ratios.shape[:-1], most + 1))
    np.cumsum(np.log(ratios), axis=-1, out=logs[..., 1:])
    return logs


class RecordStrip(NamedTuple):
    """The axes of all steps, without what lies on them, and where the records lie."""

    axes: Axes
    first: int
    """The place of the first record."""
    stop: int
    """The place after the last record."""

    @property
    def bottom(self) -> int:
        """The place of the cut before all records."""
        return self.first - 1

    @property
    def basis(self) -> int:
        """In how many ways answers may begin before all records: by how many lie there."""
        return 1 + int(np.isfinite(self.gap_costs(self.bottom)).sum())

    def padded(self, halves: Ints) -> Ints:
        """Rows of records in half steps, with half steps that are no points around them."""
        padded = np.empty((len(halves), len(self.axes.places.first) + 1), dtype=np.int64)
        padded[:, : self.first] = halves[:, :1] & ~1
        padded[:, self.first : self.stop] = halves
        padded[:, self.stop :] = halves[:, -1:] + 1 & ~1
        return padded

    def can_pass(self, padded: Ints, ends: Ints, most: float) -> Bools:
        """By row, whether answers can cost at most this much, as far as it is easy to tell.

        The window of every answer has a point, or an end of the data. If there are only few cuts
        with a point, the best path through them is short enough. `ends` has the last cut of each
        row that may have points.
        """
        first = np.array(self.axes.offsets)
        last = first + self.axes.length
        below, above = padded[:, :-1], padded[:, 1:]
        occupied: Bools = np.logical_or(above > below, below & 1 == 1)
        occupied[:, self.bottom], occupied[np.arange(len(ends)), ends] = True, True
        counts = np.zeros((len(padded), padded.shape[1]), dtype=np.int64)
        np.cumsum(occupied, axis=1, out=counts[:, 1:])
        reached = (counts[:, last] > counts[:, first]) | (last >= self.stop)
        passing: Bools = np.asarray(reached.all(axis=1))
        for row in np.flatnonzero(passing & (counts[:, -1] <= FEW)):
            passing[row] = self._best_path(np.flatnonzero(occupied[row])) <= most
        return passing

    def _best_path(self, cuts: Ints) -> float:
        """The least cost of answers at these cuts, in any order."""
        errors, end = self.axes.start + self.cells(cuts).T, self.axes.end
        outside = np.where(
            (errors < self.axes.start) | (errors >= self.axes.start + self.axes.length),
            math.inf,
            0.0,
        )
        cost, best = np.abs(errors[0]) + outside[0], math.inf
        for k in range(1, len(errors) + 1):
            if k in end.counts:
                best = min(best, float((cost + end.cost(errors[k - 1], k)).min()))
            if k < len(errors):
                ways = cost[:, None] + np.abs(errors[k] - errors[k - 1][:, None])
                cost = ways.min(axis=0) + outside[k]
        return best

    def cells(self, cuts: int | Ints) -> Ints:
        """The cells of cuts on the axis of every step, which may be beyond its ends."""
        return np.asarray(np.asarray(cuts)[..., None] - np.array(self.axes.offsets))

    def gap_costs(self, cuts: int | Ints) -> Floats:
        """How far the path of the first a = 1 .. m answers goes if they lie in the gap of a cut.

        It is infinite if the path leaves the window.
        """
        cells, targets = self.cells(cuts), self.axes.targets
        on_axis = (cells >= 0) & (cells[..., :1] < self.axes.length)
        cost = np.abs(self.axes.start + cells[..., :1]) + targets - targets[0]
        return np.where(on_axis, cost, math.inf)

    def least_costs(self, low: Ints, high: Ints) -> Floats:
        """What the answers of ranges between two cuts cost at least.

        The first answer is not below the low cut, and the last on the grid not above the high one.
        """
        above = np.maximum(0, self.axes.start + self.cells(low)[:, 0])
        lasts = np.minimum(self.axes.start + self.cells(high).T, above)
        costs = [
            2 * above - lasts[count - 1] + self.axes.end.cost(lasts[count - 1], count)
            for count in self.axes.end.counts
            if count
        ]
        return np.asarray(np.min(costs, axis=0))


class Ranges(NamedTuple):
    """Members of a family, and where they lie among the records; an entry per member."""

    member: Ints
    pattern: Ints
    """How their points lie among the records: members with the same number pass together."""
    low: Ints
    """The place of the cut before the first record of each member."""
    high: Ints
    """The place of the cut after its last record."""
    before: Ints
    """How many of its points lie before its first record."""
    after: Ints
    """How many lie after its last record."""

    def of(self, some: Bools | Ints) -> "Ranges":
        """Some of them."""
        return Ranges(*(array[some] for array in self))


def log_shares(
    family: GridFamily,
    strip: RecordStrip,
    steps: Ints,
    decay: Decay,
    beyond: int,
    most: float,
) -> Floats:
    """log(Z / V) of every member; `steps` are the records of the strip on the finest grid.

    Answers have `beyond` points beyond the grid, one or none. The shares of members whose answers
    all cost more than `most` may be given as zero.
    """
    masses = np.full(len(family.members), -math.inf)
    ranges, records = _placed(family, strip, steps)
    alone = ranges.low >= ranges.high
    masses[alone] = _in_one_gap(family.points[alone], strip, ranges.low[alone], decay)
    ranges = ranges.of(~alone & (strip.least_costs(ranges.low, ranges.high) <= most))
    for some, halves in _batches(strip, *_patterns(family, strip, ranges, records), most):
        masses[some.member] = _pass(strip, some, halves, decay)
    if 0 in strip.axes.end.counts:
        np.logaddexp(masses, -decay.rate * strip.axes.end.cost(0, 0), out=masses)
    return masses - log_volumes(family.points + beyond, len(strip.axes.targets))[:, -1]


def _placed(family: GridFamily, strip: RecordStrip, steps: Ints) -> tuple[Ranges, list[Ints]]:
    """All members, with one pattern for each step; and the records in half steps, by pattern."""
    ranges = Ranges(np.arange(len(family.members)), *np.empty((5, len(family.members)), np.int64))
    patterns: list[Ints] = []
    for index, halves in family.halves(steps):
        records = halves[strip.first : strip.stop]
        low, high = family.low[index], family.high[index]
        first, stop = records.searchsorted(low, "right"), records.searchsorted(high, "left")
        padded = np.concatenate([low[:1], records, high[:1]])
        ranges.low[index], ranges.high[index] = strip.bottom + first, strip.bottom + stop
        ranges.before[index] = padded[first + 1] - low >> 1
        ranges.after[index] = family.points[index] - (padded[stop] - low + 1 >> 1)
        ranges.pattern[index] = len(patterns)
        patterns.append(records)
    return ranges, patterns


class Patterns(NamedTuple):
    """How points lie among the records, up to whole points; a row per pattern."""

    halves: Ints
    """The records in half steps."""
    ends: Ints
    """The last cut with points; all records behind it are moved to the end of these points."""


def _patterns(
    family: GridFamily, strip: RecordStrip, ranges: Ranges, records: list[Ints]
) -> tuple[Ranges, Patterns]:
    """Ranges by pattern. Few steps have several patterns: only those with records far away.

    If a range shared a pass with points far beyond its own, its mass would underflow.
    """
    numbers: dict[tuple[int, bytes], int] = {}
    rows: list[Ints] = []
    pattern, times = np.empty_like(ranges.pattern), math.exp(ROOM / len(strip.axes.targets))
    for step in np.unique(ranges.pattern):
        index, points = np.flatnonzero(ranges.pattern == step), records[step] >> 1
        here = ranges.of(index)
        first, last = here.low - strip.bottom, here.high - strip.bottom
        reach = times * family.points[here.member] - here.before
        latest = np.searchsorted(points, points[first] + reach, "right")
        moved = records[step] - (records[step][:1] & ~1)
        for end, some in _shared_ends(last, np.maximum(latest, last)):
            row = np.minimum(moved, moved[end - 1] + 1 & ~1) if end < len(moved) else moved
            number = numbers.setdefault((end, row.tobytes()), len(rows))
            if number == len(rows):
                rows.append(row)
            pattern[index[some]] = number
    ends = np.array([strip.bottom + end for end, _ in numbers], dtype=np.int64)
    return ranges._replace(pattern=pattern), Patterns(np.array(rows), ends)


def _shared_ends(earliest: Ints, latest: Ints) -> Iterator[tuple[int, Ints]]:
    """As few ends as suffice, each with those that share it: it lies between their two bounds."""
    left = np.arange(len(earliest))
    while len(left):
        end = int(latest[left].min())
        served = earliest[left] <= end
        yield end, left[served]
        left = left[~served]


def _in_one_gap(points: Ints, strip: RecordStrip, cuts: Ints, decay: Decay) -> Floats:
    """The log masses of members all of whose points lie in the gap of a cut.

    All answers with as many points on the grid have the same path.
    """
    costs, errors = strip.gap_costs(cuts), strip.axes.start + strip.cells(cuts)
    vectors, end = log_volumes(points, costs.shape[1]), strip.axes.end
    logs = [
        vectors[:, k] - decay.rate * (costs[:, k - 1] + end.cost(errors[:, k - 1], k))
        for k in end.counts
        if k
    ]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def _batches(
    strip: RecordStrip, ranges: Ranges, patterns: Patterns, most: float
) -> Iterator[tuple[Ranges, Ints]]:
    """Ranges whose patterns pass together, and these patterns, by which they are numbered anew.

    Patterns whose answers cost more than `most` are left out.
    """
    if not len(ranges.member):
        return
    halves = strip.padded(patterns.halves)
    ranges = ranges.of(strip.can_pass(halves, patterns.ends, most)[ranges.pattern])
    # Patterns with about as many lower ends pass together.
    ends = np.unique(ranges.pattern * halves.shape[1] + ranges.low - strip.bottom)
    lows = np.bincount(ends // halves.shape[1], minlength=len(halves))
    order = np.argsort(lows, kind="stable")[np.count_nonzero(lows == 0) :]
    size = max(1, BATCH // (strip.axes.length * strip.basis))
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        place = np.full(len(halves), -1)
        place[batch] = np.arange(len(batch))
        some = ranges.of(place[ranges.pattern] >= 0)
        yield some._replace(pattern=place[some.pattern]), halves[batch]


def _pass(strip: RecordStrip, ranges: Ranges, halves: Ints, decay: Decay) -> Floats:
    """Pass the points of some patterns, and read off the log masses of all their ranges."""
    places = Places.of_halves(halves[:, None, :-1], halves[:, None, 1:])
    axes, lows = replace(strip.axes, places=places), Lows.of(strip, ranges)
    points = lows.points(halves)
    volumes = log_volumes(points, len(strip.axes.targets))
    which, row, heads = lows.heads(ranges, volumes)
    some = ranges.of(which)
    ends = UpperEnds(some.pattern, row, strip.cells(some.high).T)
    passed = kernel.forward(axes, lows.beginnings(strip, volumes, decay), ends, points, decay)
    logs = heads + _tails(strip, passed, some, ends.cells, volumes[some.pattern, row].T, decay)
    return np.asarray(
        np.logaddexp.reduceat(logs, np.searchsorted(which, np.arange(len(ranges.low))))
    )


class Lows(NamedTuple):
    """How the answers of ranges may begin, each a row of the pass of their pattern.

    Most lower ends have a row of their own, because there are few. The last rows, `first` + a for
    a = 0 .. `basis` - 1, are for ranges that begin before all records, if these are more: a answers
    lie before the first record. Then no range that begins there has a row of its own.
    """

    first: int
    basis: int
    own: Ints
    """By row: its pattern, its number, its cut, and how many points lie before its first record."""
    row: Ints
    """The row of every range; -1 if it needs all rows of the basis."""

    @classmethod
    def of(cls, strip: RecordStrip, ranges: Ranges) -> "Lows":
        """The lower ends of some ranges."""
        ends = np.stack([ranges.pattern, ranges.low, ranges.before])
        order = np.lexsort(ends[::-1])
        new = np.append(True, (np.diff(ends[:, order]) != 0).any(axis=0))
        end, ends = np.empty_like(order), ends[:, order[new]]
        end[order] = np.cumsum(new) - 1
        basis, bottom = strip.basis, ends[1] == strip.bottom
        # All patterns have as many rows, so if one of them has a basis, all may use theirs.
        if np.bincount(ends[0], bottom).max() <= basis:
            basis, bottom = 0, np.zeros_like(bottom)
        own, row = ends[:, ~bottom], np.full(ends.shape[1], -1)
        row[~bottom] = np.arange(own.shape[1]) - np.searchsorted(own[0], own[0])
        return cls(int(row.max()) + 1, basis, np.stack([own[0], row[~bottom], *own[1:]]), row[end])

    def points(self, halves: Ints) -> Floats:
        """By pattern and row, how many points answers may have until the last record."""
        whole = halves >> 1
        points = np.repeat(whole[:, -1:] - whole[:, :1], self.first + self.basis, axis=1)
        pattern, row, cut, before = self.own
        points[pattern, row] = before + whole[pattern, -1] - whole[pattern, cut + 1]
        return np.asarray(np.maximum(1.0, points))

    def heads(self, ranges: Ranges, volumes: Floats) -> tuple[Ints, Ints, Floats]:
        """Pairs of a range and a row that counts for it, and the log factor with which it does."""
        shared = self.row < 0
        counts = np.where(shared, self.basis, 1)
        which = np.repeat(np.arange(len(counts)), counts)
        row, factors = np.repeat(self.row, counts), np.zeros(len(which))
        row[shared[which]] = np.tile(self.first + np.arange(self.basis), np.count_nonzero(shared))
        vectors = log_volumes(ranges.before[shared], volumes.shape[-1] - 1)
        moved = vectors - volumes[ranges.pattern[shared], -1]
        factors[shared[which]] = moved[:, : self.basis].ravel()
        return which, row, factors

    def beginnings(self, strip: RecordStrip, volumes: Floats, decay: Decay) -> Beginnings:
        """All rows, for patterns and rows of these numbers of vectors."""
        *shape, steps = volumes.shape
        beginnings = Beginnings(
            cut=np.full(shape, strip.bottom),
            anywhere=np.zeros(shape, dtype=bool),
            entries=np.full((steps, *shape), decay.algebra.zero),
        )
        beginnings.anywhere[:, self.first : self.first + 1] = True
        shared = decay.mass(-decay.rate * strip.gap_costs(strip.bottom))
        for a in range(1, self.basis):
            beginnings.entries[a, :, self.first + a] = shared[a - 1]
        pattern, row, cut, before = self.own
        beginnings.cut[pattern, row], beginnings.anywhere[pattern, row] = cut, True
        vectors = (log_volumes(before, steps - 1) - volumes[pattern, row])[:, 1:]
        entries = decay.mass(vectors - decay.rate * strip.gap_costs(cut))
        beginnings.entries[1:, pattern, row] = entries.T
        return beginnings


def _tails(
    strip: RecordStrip, passed: Passed, ranges: Ranges, cells: Ints, volumes: Floats, decay: Decay
) -> Floats:
    """The log masses of all answers of ranges, each by one row.

    The first k answers lie on the grid, and b of them behind the last record of the range. Row a of
    `volumes` has the numbers of vectors of a answers, and row k of `cells` where the range ends.
    """
    axes, m, logs = strip.axes, len(strip.axes.targets), decay.algebra.logs
    after, factors = log_volumes(ranges.after, m).T, np.full((m, len(ranges.high)), -math.inf)
    for k in passed.below:
        last, fade = cells[k - 1], decay.rate * (axes.targets[k - 1] - axes.targets[:k])
        end = np.where(last >= 0, -decay.rate * axes.end.cost(axes.start + last, k), -math.inf)
        ways = end + after[k:0:-1] + volumes[:k] - fade[:, None]
        np.logaddexp(factors[:k], ways, out=factors[:k])
    factors[cells >= axes.length] = -math.inf
    terms = [logs(mass) + volumes[k] for k, mass in passed.below.items()]
    terms += [logs(mass) + factor for mass, factor in zip(passed.entering, factors, strict=True)]
    return Logarithms().total(np.stack(terms))
