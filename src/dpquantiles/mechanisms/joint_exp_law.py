"""The law of JointExp on one data set: the probability of every answer, and exact draws.

Equation numbers are those of `joint_exp.py` and of the proof `joint_exp.md`.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid
from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats, Logarithms
from dpquantiles.kernels.joint import Axes, Masses, WalkBack, ends, forward
from dpquantiles.kernels.places import End, Ints, Places
from dpquantiles.kernels.scans import Decay
from dpquantiles.mechanisms.mechanism import steps_of, values_in_order
from dpquantiles.views import Demand, SortedView
from dpquantiles.views.protocol import merged


class Setting(NamedTuple):
    """The parameters that follow from public numbers alone."""

    reach: int
    most_end: int
    """S of (1): the most that the way to the end of the data costs."""
    beyond: int
    """How many points answers have beyond the grid: one if the number of records is private."""
    rate: float
    log_floor: float
    log_volume: float
    log_range: float
    """The logarithms of masses that matter are at most this far from zero."""
    algebra: Algebra

    def end(self, n: int | Ints, surplus: int | Ints, targets: Ints) -> End:
        """How paths end on n records; points beyond them may be outside the window."""
        tops = (n - targets).astype(np.float64)
        possible = (tops <= self.reach) & (self.beyond > 0)
        return End(surplus, self.most_end, np.where(possible, tops, math.inf))


IRRELEVANT = 128.0
"""Masses this many nats below the floor need no precision; see "Rounding" in the proof."""


class Window(NamedTuple):
    """The window of ranks, the longest axis that it allows, and the floor, before rounding."""

    reach: int
    leaving: int
    """L of (4): what leaving the window costs at least."""
    most_end: int
    longest: int
    nominal: float
    log_floor: float

    def masses(self, log_volume: float) -> tuple[Algebra, float]:
        """How masses are stored on a grid with this many possible answers, and their log range."""
        algebra = algebras.choose(log_volume, self.log_floor, self.longest, self.nominal)
        return algebra, self.range(log_volume)

    def range(self, log_volume: float) -> float:
        """The most nats by which a mass that matters differs from one."""
        return 2 * log_volume + max(0.0, -self.log_floor) + IRRELEVANT


def log_floor(rate: float, leaving: int, delta: int) -> float:
    """log B of (4)."""
    return -rate * (leaving - delta) - log_expm1(rate * delta)


def log_expm1(x: float) -> float:
    """log(exp(x) - 1) for x > 0, without overflow."""
    return x + math.log(-math.expm1(-x))


class Geometry(NamedTuple):
    """The position of the axis; where it goes beyond the records, it is cut off."""

    setting: Setting
    targets: Ints
    n: int
    surplus: int
    start: int
    length: int

    def enough(self, cost: float) -> int:
        """A reach that no path leaves for less than this cost.

        A path to error e costs |e|. From there to the end of the data it costs its distance from
        there, or at most S of (1).
        """
        surplus, most_end = abs(self.surplus), self.setting.most_end
        farthest = min(cost, max((cost + surplus) / 2, cost - most_end))
        return max(0, math.ceil(farthest) - 1)

    def narrowed(self, reach: int) -> "Geometry":
        """The geometry with a window that is not wider than this."""
        start, stop = max(self.start, -reach), min(self.start + self.length - 1, reach)
        setting = self.setting._replace(reach=reach)
        return self._replace(setting=setting, start=start, length=stop - start + 1)

    def axes(self, places: Places, strip: "Strip") -> Axes:
        """The axes of a pass, whose records lie at these places of a strip."""
        end, data = self.setting.end(self.n, self.surplus, self.targets), strip.cuts
        return Axes(self.targets, self.start, self.length, places, strip.offsets, data, end)


def runs(geometry: Geometry, n: int) -> tuple[range, ...]:
    """The positions of the records on both sides of every rank of every axis, merged."""
    first = geometry.targets + geometry.start
    return merged([range(max(0, a - 1), min(n, a + geometry.length)) for a in first.tolist()])


class Placed(NamedTuple):
    """Where runs of positions stand, one behind the other."""

    starts: list[int]
    places: list[int]

    @classmethod
    def of(cls, runs: tuple[range, ...]) -> "Placed":
        """Ascending runs."""
        return cls([run.start for run in runs], list(accumulate(map(len, runs), initial=0)))

    @property
    def stop(self) -> int:
        """The place after all of them."""
        return self.places[-1]

    def of_one(self, position: int) -> int:
        """The place of a position in one of the runs."""
        run = bisect_right(self.starts, position) - 1
        return self.places[run] + position - self.starts[run]


class Strip(NamedTuple):
    """The records around all axes, in ascending order, and where those of each axis begin.

    Where an axis goes beyond the records, -1 stands before all of them and `size`, that of the
    grid, after all of them.
    """

    steps: Ints
    offsets: list[int]
    before: int
    """How many entries stand before all records."""
    stop: int
    """Where the records end."""

    @classmethod
    def of(cls, view: SortedView, geometry: Geometry) -> "Strip":
        """The records of a view."""
        fetched, first = runs(geometry, view.n), geometry.targets + geometry.start - 1
        steps = view.order_statistics(Demand(runs=fetched).index)
        before, after = max(0, -int(first[0])), geometry.length + 1
        padded = np.concatenate(
            [np.full(before, -1), steps, np.full(after, view.grid.size)], dtype=np.int64
        )
        placed = Placed.of(fetched)

        def place(record: int) -> int:
            """Where a record stands on the strip."""
            if record < 0:
                return before + record
            return before + (placed.stop if record >= view.n else placed.of_one(record))

        offsets = [place(record) for record in first.tolist()]
        return cls(padded, offsets, before, before + placed.stop)

    def shortened(self, skipped: int, length: int) -> "Strip":
        """The strip of axes of this length that begin some cells later."""
        firsts = [offset + skipped for offset in self.offsets]
        kept = merged([range(first, first + length + 1) for first in firsts])
        placed = Placed.of(kept)
        # What stands after all records stays.
        index = np.append(Demand(runs=kept).index, len(self.steps) - 1)
        before, stop = index.searchsorted([self.before, self.stop]).tolist()
        return Strip(self.steps[index], [placed.of_one(first) for first in firsts], before, stop)

    @property
    def cuts(self) -> range:
        """The cuts between neighbors on the strip that have a record beside them."""
        return range(self.before - 1, self.stop)

    def row(self, step: int, length: int) -> Ints:
        """The records around one axis."""
        return self.steps[self.offsets[step] : self.offsets[step] + length + 1]


@dataclass(frozen=True)
class JointExpLaw:
    """The law (3) of JointExp on one data set."""

    grid: Grid
    geometry: Geometry
    decay: Decay
    strip: Strip
    axes: Axes
    masses: Masses
    order: Ints
    halves: bool = False
    """Whether the strip holds half steps, because records need not be grid points."""

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, view: SortedView, geometry: Geometry, order: Ints) -> "JointExpLaw":
        """The law on the records of a view; `order` sorts the quantiles."""
        strip = Strip.of(view, geometry)
        places = Places.of_steps(strip.steps[:-1], strip.steps[1:], view.grid.size)
        return cls._of(view.grid, geometry, strip, places, order, halves=False)

    @classmethod
    @np.errstate(all="ignore")
    def of_halves(cls, grid: Grid, geometry: Geometry, strip: Strip, order: Ints) -> "JointExpLaw":
        """The law on a grid whose half steps are on the strip."""
        places = Places.of_halves(strip.steps[:-1], strip.steps[1:])
        return cls._of(grid, geometry, strip, places, order, halves=True)

    @classmethod
    def _of(
        cls,
        grid: Grid,
        geometry: Geometry,
        strip: Strip,
        places: Places,
        order: Ints,
        *,
        halves: bool,
    ) -> "JointExpLaw":
        axes = geometry.axes(places, strip)
        decay = Decay.of(geometry.setting.rate, geometry.length, geometry.setting.algebra)
        masses = forward(axes, decay)
        return cls(grid, geometry, decay, strip, axes, masses, order, halves)

    @property
    def setting(self) -> Setting:
        """The public part of the geometry."""
        return self.geometry.setting

    @cached_property
    def log_window(self) -> float:
        """The log mass of all answers whose path is inside."""
        algebra = self.setting.algebra
        return algebra.log(float(algebra.total(self._ends)))

    @property
    def log_uniform(self) -> float:
        """The log mass of the floor: B times the number of possible answers."""
        return self.setting.log_floor + self.setting.log_volume

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability of exactly these values, in the order of the quantiles."""
        steps = steps_of(self.grid, values, len(self.order))[self.order]
        return float(self.log_probabilities(steps[np.newaxis])[0])

    @np.errstate(all="ignore")
    def log_probabilities(self, answers: Ints) -> Floats:
        """Those of many answers: rows of steps, in the order of ascending quantiles."""
        # Answers beyond all records are released as the last point of the grid.
        last_points = np.count_nonzero(answers == self.grid.size - 1, axis=1)
        fewest = answers.shape[1] - self.setting.beyond * last_points
        logs = np.full(len(answers), -math.inf)
        for count, costs in enumerate(self._costs(answers)):
            weights = np.logaddexp(-self.setting.rate * costs, self.setting.log_floor)
            np.logaddexp(logs, weights, out=logs, where=fewest <= count)
        ascending = (answers[:, 1:] >= answers[:, :-1]).all(axis=1)
        return np.where(ascending, logs - self._log_whole, -math.inf)

    @cached_property
    def _log_whole(self) -> float:
        return float(np.logaddexp(self.log_window, self.log_uniform))

    @np.errstate(all="ignore")
    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        return values_in_order(self.grid, self.draw_steps(bits), self.order)

    def _costs(self, answers: Ints) -> Iterator[Floats]:
        """Minus (1) of the first 0, 1, 2, ... answers of each row; the others lie beyond all data.

        It is inf where the path leaves the window; ranks outside it are not needed.
        """
        start, length, end = self.geometry.start, self.geometry.length, self.axes.end
        path, cost = np.zeros(len(answers), dtype=np.int64), np.zeros(len(answers))
        yield cost + end.cost(path, 0)
        for k, steps in enumerate((2 * answers + 1 if self.halves else answers).T):
            row = self.strip.row(k, length)
            low = start - 1 + row.searchsorted(steps, side="left")
            high = start - 1 + row.searchsorted(steps, side="right")
            moved = np.minimum(np.maximum(path, low), high)
            cost += np.abs(moved - path)
            cost[(high < start) | (low > start + length - 1)] = math.inf
            path = moved
            yield cost + end.cost(path, k + 1)

    @cached_property
    def _ends(self) -> Floats:
        """The mass of whole answers, by how many lie on the grid and the error of the last cut."""
        times, total = self.setting.algebra.times, self.masses.total
        counts = self.axes.end.counts
        return np.concatenate([times(total[k], ends(self.axes, self.decay, k)) for k in counts])

    def draw_steps(self, bits: Bits) -> list[int]:
        if draws.chooses_first(bits, self.log_uniform, self.log_window, Logarithms()):
            points = self.grid.size + self.setting.beyond
            drawn = draws.sorted_with_repeats(bits, points, len(self.order))
        else:
            end = draws.weighted(bits, self._ends, self.setting.algebra)
            row, cell = divmod(end, self.geometry.length)
            drawn = WalkBack(self.axes, self.masses, self.decay, bits).back(
                self.axes.end.counts[row], cell
            )
        last = self.grid.size - 1
        return [min(step, last) for step in drawn] + [last] * (len(self.order) - len(drawn))
