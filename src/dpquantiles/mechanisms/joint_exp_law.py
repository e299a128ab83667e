"""The law of JointExp on one data set: the probability of every answer, and exact draws.

Equation numbers are those of `joint_exp.py` and of the proof `joint_exp.md`.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats, Logarithms
from dpquantiles.kernels.joint import Ints, Masses, WalkBack, forward
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


def runs(geometry: Geometry, n: int) -> tuple[range, ...]:
    """The positions of the records on both sides of every rank of every axis, merged."""
    first = geometry.targets + geometry.start
    return merged([range(max(0, a - 1), min(n, a + geometry.length)) for a in first.tolist()])


def _records(view: SortedView, geometry: Geometry) -> Ints:
    """Row k has the records around the ranks of step k+1, -1 before all, and the size after all."""
    n, width = view.n, geometry.length + 1
    fetched = runs(geometry, n)
    steps = view.order_statistics(Demand(runs=fetched).index)
    starts, offsets = [run.start for run in fetched], np.cumsum([0, *map(len, fetched)])
    records = np.full((len(geometry.targets), width), -1, dtype=np.int64)
    for row, target in zip(records, geometry.targets.tolist(), strict=True):
        first = target + geometry.start - 1
        row[max(0, n - first) :] = view.grid.size
        low, high = max(0, first), min(n, first + width)
        if low < high:
            run = bisect_right(starts, low) - 1
            place = int(offsets[run]) + low - starts[run]
            row[low - first : high - first] = steps[place : place + high - low]
    return records


@dataclass(frozen=True)
class JointExpLaw:
    """The law (3) of JointExp on one data set."""

    grid: Grid
    geometry: Geometry
    decay: Decay
    records: Ints
    masses: Masses
    order: Ints

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, view: SortedView, geometry: Geometry, order: Ints) -> "JointExpLaw":
        """The law on the records of a view; `order` sorts the quantiles."""
        records = _records(view, geometry)
        setting = geometry.setting
        decay = Decay.of(setting.rate, geometry.length, setting.algebra)
        masses = forward(records, geometry.targets, geometry.start, view.grid.size, decay)
        return cls(view.grid, geometry, decay, records, masses, order)

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
        for row, step in zip(self.records, answer, strict=True):
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
        errors = np.arange(self.geometry.start, self.geometry.start + self.geometry.length)
        away = self.setting.algebra.factor(
            self.setting.rate * np.abs(errors - self.geometry.surplus)
        )
        return np.asarray(self.setting.algebra.times(self.masses.total[-1], away))

    def _draw_steps(self, bits: Bits) -> list[int]:
        if draws.chooses_first(bits, self.log_uniform, self.log_window, Logarithms()):
            return draws.sorted_with_repeats(bits, self.grid.size, len(self.order))
        last = draws.weighted(bits, self._ends, self.setting.algebra)
        walk = WalkBack(self.records, self.masses, self.geometry.targets, self.decay, bits)
        return walk.back(last)
