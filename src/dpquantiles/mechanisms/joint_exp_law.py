"""The law of JointExp on one data set: the probability of every answer, and exact draws.

Equation numbers are those of `joint_exp.py` and of the proof `joint_exp.md`.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats, Logarithms
from dpquantiles.kernels.joint import Axes, Masses, WalkBack, ends, forward
from dpquantiles.kernels.places import Ints, Places
from dpquantiles.kernels.scans import Decay
from dpquantiles.mechanisms.mechanism import steps_of, values_in_order
from dpquantiles.views import Demand, SortedView
from dpquantiles.views.protocol import merged


class Setting(NamedTuple):
    """The parameters that follow from public numbers alone."""

    reach: int
    cap: int
    """If |E| exceeds this, it counts as outside."""
    rate: float
    log_floor: float
    log_volume: float
    log_range: float
    """The logarithms of masses that matter are at most this far from zero."""
    algebra: Algebra


class Geometry(NamedTuple):
    """The position of the axis; under add-remove it depends on n, like the law itself."""

    setting: Setting
    targets: Ints
    surplus: int
    far: bool
    """Whether |E| exceeds the cap: then no path counts as inside, and only the floor is left."""
    start: int
    length: int

    def axes(self, places: Places, offsets: list[int]) -> Axes:
        """The axes of a pass, whose records lie at these places."""
        return Axes(self.targets, self.start, self.length, places, offsets)


def runs(geometry: Geometry, n: int) -> tuple[range, ...]:
    """The positions of the records on both sides of every rank of every axis, merged."""
    first = geometry.targets + geometry.start
    return merged([range(max(0, a - 1), min(n, a + geometry.length)) for a in first.tolist()])


class Strip(NamedTuple):
    """The records around all axes, in ascending order, and where those of each axis begin.

    Where an axis goes beyond the records, -1 stands before all of them and `size`, that of the
    grid, after all of them.
    """

    steps: Ints
    offsets: list[int]

    @classmethod
    def of(cls, view: SortedView, geometry: Geometry) -> "Strip":
        """The records of a view."""
        fetched, first = runs(geometry, view.n), geometry.targets + geometry.start - 1
        steps = view.order_statistics(Demand(runs=fetched).index)
        before, after = max(0, -int(first[0])), geometry.length + 1
        padded = np.concatenate(
            [np.full(before, -1), steps, np.full(after, view.grid.size)], dtype=np.int64
        )
        starts, lengths = [run.start for run in fetched], [len(run) for run in fetched]
        places = list(accumulate(lengths, initial=before))

        def place(record: int) -> int:
            """Where a record stands on the strip."""
            if record < 0:
                return before + record
            if record >= view.n:
                return places[-1]
            run = bisect_right(starts, record) - 1
            return places[run] + record - starts[run]

        return cls(padded, [place(record) for record in first.tolist()])

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

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, view: SortedView, geometry: Geometry, order: Ints) -> "JointExpLaw":
        """The law on the records of a view; `order` sorts the quantiles."""
        strip = Strip.of(view, geometry)
        places = Places.of_steps(strip.steps[:-1], strip.steps[1:], view.grid.size)
        axes = geometry.axes(places, strip.offsets)
        setting = geometry.setting
        decay = Decay.of(setting.rate, geometry.length, setting.algebra)
        return cls(view.grid, geometry, decay, strip, axes, forward(axes, decay), order)

    @property
    def setting(self) -> Setting:
        """The public part of the geometry."""
        return self.geometry.setting

    @cached_property
    def log_window(self) -> float:
        """The log mass of all answers whose path is inside."""
        if self.geometry.far:
            return -math.inf
        algebra = self.setting.algebra
        return algebra.log(float(algebra.total(self._ends)))

    @property
    def log_uniform(self) -> float:
        """The log mass of the floor: B times the number of possible answers."""
        return self.setting.log_floor + self.setting.log_volume

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability of exactly these values, in the order of the quantiles."""
        answer = steps_of(self.grid, values, len(self.order))[self.order]
        if (np.diff(answer) < 0).any():
            return -math.inf
        utility = self._utility(answer)
        weight = np.logaddexp(self.setting.rate * utility, self.setting.log_floor)
        return float(weight - np.logaddexp(self.log_window, self.log_uniform))

    @np.errstate(all="ignore")
    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        return values_in_order(self.grid, self._draw_steps(bits), self.order)

    def _utility(self, answer: Ints) -> float:
        """(1), or -inf if the path leaves the window; ranks outside it are not needed."""
        start, length = self.geometry.start, self.geometry.length
        path, cost = 0, 0
        if self.geometry.far:
            return -math.inf
        for k, step in enumerate(answer):
            row = self.strip.row(k, length)
            low = start - 1 + int(np.searchsorted(row, step, side="left"))
            high = start - 1 + int(np.searchsorted(row, step, side="right"))
            if high < start or low > start + length - 1:
                return -math.inf
            moved = min(max(path, low), high)
            cost += abs(moved - path)
            path = moved
        return -cost - abs(self.geometry.surplus - path)

    @cached_property
    def _ends(self) -> Floats:
        """The mass of whole answers by the error of their last cut."""
        away = ends(self.axes, self.decay, self.geometry.surplus)
        return np.asarray(self.setting.algebra.times(self.masses.total[-1], away))

    def _draw_steps(self, bits: Bits) -> list[int]:
        if draws.chooses_first(bits, self.log_uniform, self.log_window, Logarithms()):
            return draws.sorted_with_repeats(bits, self.grid.size, len(self.order))
        last = draws.weighted(bits, self._ends, self.setting.algebra)
        return WalkBack(self.axes, self.masses, self.decay, bits).back(last)
