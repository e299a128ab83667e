"""The share of every member of a grid family: the mass of its answers inside over their number.

Members with the same step share their points, and those whose points lie alike among the records
pass through the kernel together; there, ranges differ only at their two ends. The notation is that
of `joint_exp_family.md`, section "Shares".
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpquantiles.grid import GridFamily
from dpquantiles.kernels import ranges
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.joint import Axes
from dpquantiles.kernels.places import Bools, Ints, Places
from dpquantiles.kernels.ranges import Beginnings, Passed
from dpquantiles.kernels.scans import Decay

BATCH = 1 << 14
"""About how many cells pass together, so that they stay in the cache."""


def log_volumes(points: int | Ints, most: int) -> Floats:
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

    def padded(self, halves: Ints) -> Ints:
        """Records in half steps, with half steps that are no points before and behind them."""
        before, after = halves[0] & ~1, halves[-1] + 1 & ~1
        places = len(self.axes.places.first) + 1
        ends = (self.first, places - self.stop)
        return np.pad(halves, ends, constant_values=(before, after))

    def can_pass(self, halves: Ints) -> bool:
        """Whether the window of every answer has a point, or an end of the data."""
        padded, first = self.padded(halves), np.array(self.axes.offsets)
        last = first + self.axes.length
        below, above = padded[first], padded[last]
        occupied = (above > below) | (below & 1 == 1) | (first <= self.bottom) | (last >= self.stop)
        return bool(occupied.all())

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


class Core(NamedTuple):
    """Members whose points lie alike among the records."""

    halves: Ints
    """The records of the strip in half steps of the members' points, up to whole points."""
    which: Ints
    """The members."""
    low: Ints
    """The place of the cut before the first record of each member."""
    high: Ints
    """The place of the cut after its last record."""
    before: Ints
    """How many of its points lie before its first record."""
    after: Ints
    """How many lie after its last record."""

    @property
    def points(self) -> int:
        """How many points lie between the first and the last record of the strip."""
        return max(1, int((self.halves[-1] + 1) // 2 - self.halves[0] // 2))


def log_shares(
    family: GridFamily, strip: RecordStrip, steps: Ints, decay: Decay, beyond: int
) -> Floats:
    """log(Z / V) of every member; `steps` are the records of the strip on the finest grid.

    Answers have `beyond` points beyond the grid, one or none.
    """
    masses = np.full(len(family.members), -math.inf)
    cores: dict[bytes, Core] = {}
    for index, halves in family.halves(steps):
        core = _placed(family, strip, index, halves)
        alone = core.low >= core.high
        masses[index[alone]] = _in_one_gap(family, strip, index[alone], core.low[alone], decay)
        pattern = core.halves.tobytes()
        core = Core(core.halves, *(array[~alone] for array in core[1:]))
        if pattern in cores:
            pairs = zip(cores[pattern][1:], core[1:], strict=True)
            core = Core(core.halves, *(np.concatenate(pair) for pair in pairs))
        cores[pattern] = core
    passing = [core for core in cores.values() if len(core.which) and strip.can_pass(core.halves)]
    size = max(1, BATCH // (strip.axes.length * (len(strip.axes.targets) + 1)))
    for start in range(0, len(passing), size):
        _pass(strip, passing[start : start + size], decay, masses)
    if 0 in strip.axes.end.counts:
        np.logaddexp(masses, -decay.rate * strip.axes.end.cost(0, 0), out=masses)
    return masses - log_volumes(family.points + beyond, len(strip.axes.targets))[:, -1]


def _placed(family: GridFamily, strip: RecordStrip, index: Ints, halves: Ints) -> Core:
    """Where the members of one step lie among the records."""
    records = halves[strip.first : strip.stop]
    low, high = family.low[index], family.high[index]
    first, stop = records.searchsorted(low, "right"), records.searchsorted(high, "left")
    padded = np.concatenate([low[:1], records, high[:1]])
    return Core(
        halves=records - (records[:1] & ~1),
        which=index,
        low=strip.first + first - 1,
        high=strip.first + stop - 1,
        before=padded[first + 1] - low >> 1,
        after=family.points[index] - (padded[stop] - low + 1 >> 1),
    )


def _in_one_gap(
    family: GridFamily, strip: RecordStrip, which: Ints, cuts: Ints, decay: Decay
) -> Floats:
    """The log masses of members all of whose points lie in the gap of a cut.

    All answers with as many points on the grid have the same path.
    """
    costs, errors = strip.gap_costs(cuts), strip.axes.start + strip.cells(cuts)
    vectors, end = log_volumes(family.points[which], costs.shape[1]), strip.axes.end
    logs = [
        vectors[:, k] - decay.rate * (costs[:, k - 1] + end.cost(errors[:, k - 1], k))
        for k in end.counts
        if k
    ]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def _pass(strip: RecordStrip, cores: list[Core], decay: Decay, masses: Floats) -> None:
    """Pass the points of some cores, and read off the log masses of all their members."""
    m = len(strip.axes.targets)
    points = np.array([float(core.points) for core in cores])
    volumes = log_volumes(points, m)
    lows = [Lows.of(strip, core) for core in cores]
    beginnings = _beginnings(strip, lows, volumes, decay)
    halves = np.stack([strip.padded(core.halves) for core in cores])
    places = Places.of_halves(halves[:, None, :-1], halves[:, None, 1:])
    passed = ranges.forward(replace(strip.axes, places=places), beginnings, points, decay)
    for number, (core, low) in enumerate(zip(cores, lows, strict=True)):
        heads = low.heads(core, volumes[number], beginnings.cut.shape[1])
        tails = _tails(strip, passed.of(number), core, volumes[number], decay)
        masses[core.which] = np.logaddexp.reduce(heads + tails, axis=1)


class Lows(NamedTuple):
    """How the answers of a core's members may begin, each a row of a pass.

    Row a = 0 .. `basis` - 1 is for members that begin before all records: a answers lie before the
    first record. Every other lower end has a row of its own, because there are few.
    """

    basis: int
    cuts: Ints
    """The place of each other lower end, and how many points lie before its first record."""
    row: Ints
    """The row of every member that has its own."""
    own: Bools
    """Which members these are."""

    @classmethod
    def of(cls, strip: RecordStrip, core: Core) -> "Lows":
        """The lower ends of a core."""
        own = core.low > strip.bottom
        basis = 1 + int(np.isfinite(strip.gap_costs(strip.bottom)).sum())
        ends = np.stack([core.low, core.before])[:, own]
        cuts, row = np.unique(ends, axis=1, return_inverse=True)
        return cls(basis, cuts, basis + row.ravel(), own)

    def heads(self, core: Core, volumes: Floats, rows: int) -> Floats:
        """The log factor with which each row counts for each member."""
        heads = np.full((len(core.which), rows), -math.inf)
        vectors = log_volumes(core.before[~self.own], len(volumes) - 1) - volumes
        heads[~self.own, : self.basis] = vectors[:, : self.basis]
        heads[np.flatnonzero(self.own), self.row] = 0.0
        return heads


def _beginnings(strip: RecordStrip, lows: list[Lows], volumes: Floats, decay: Decay) -> Beginnings:
    basis, m = lows[0].basis, volumes.shape[1] - 1
    shape = len(lows), basis + max(low.cuts.shape[1] for low in lows)
    beginnings = Beginnings(
        cut=np.full(shape, strip.bottom),
        anywhere=np.zeros(shape, dtype=bool),
        entries=np.full((m + 1, *shape), decay.algebra.zero),
    )
    beginnings.anywhere[:, 0] = True
    costs = strip.gap_costs(strip.bottom)
    for a in range(1, basis):
        beginnings.entries[a, :, a] = decay.mass(-decay.rate * costs[a - 1])
    for number, low in enumerate(lows):
        (cut, before), rows = low.cuts, slice(basis, basis + low.cuts.shape[1])
        beginnings.cut[number, rows], beginnings.anywhere[number, rows] = cut, True
        vectors = log_volumes(before, m)[:, 1:] - volumes[number, 1:]
        entries = decay.mass(vectors - decay.rate * strip.gap_costs(cut))
        beginnings.entries[1:, number, rows] = entries.T
    return beginnings


def _tails(strip: RecordStrip, passed: Passed, core: Core, volumes: Floats, decay: Decay) -> Floats:
    """The log masses of all answers by member and row.

    The first k answers lie on the grid, and b of them behind the last record of the member.
    """
    axes, cells, m = strip.axes, strip.cells(core.high), len(strip.axes.targets)
    after, factors = log_volumes(core.after, m), np.full((m, len(cells)), -math.inf)
    for k in passed.whole:
        last, fade = cells[:, k - 1], decay.rate * (axes.targets[k - 1] - axes.targets)
        end = np.where(last >= 0, -decay.rate * axes.end.cost(axes.start + last, k), -math.inf)
        for b in range(1, k + 1):
            factor = end + after[:, b] + volumes[k - b + 1] - fade[k - b]
            np.logaddexp(factors[k - b], factor, out=factors[k - b])
    factors = np.where((cells < axes.length).T, factors, -math.inf)
    before = [_before_gap(passed, k, cells[:, k - 1], decay) + volumes[k] for k in passed.whole]
    tails = np.logaddexp.reduce(before, axis=0)
    at = np.clip(cells, 0, axes.length - 1)
    for row in reversed(range(m)):
        entering = decay.algebra.logs(passed.entering[row][:, at[:, row]])
        np.logaddexp(tails, entering + factors[row], out=tails)
    return np.asarray(tails.T)


def _before_gap(passed: Passed, k: int, last: Ints, decay: Decay) -> Floats:
    """The log masses by row of k answers at cells before the last one, or at the atom there."""
    algebra, length = decay.algebra, passed.whole[k].shape[1]
    empty = np.full((len(passed.whole[k]), 1), algebra.zero)
    mass = np.concatenate([empty, passed.whole[k]], axis=1)[:, np.clip(last, 0, length)]
    at_atom = passed.upper[k][:, np.clip(last, 0, length - 1)]
    np.copyto(mass, algebra.add(mass, at_atom), where=(last >= 0) & (last < length))
    return algebra.logs(mass)
