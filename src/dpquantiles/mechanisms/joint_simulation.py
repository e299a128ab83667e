"""Many quick draws of JointExp at once, for plans: one data set and many draws, or many of each.

The masses and walks are those of the kernels for many data sets. A plan needs no secrecy: masses
are rescaled at every step, so that small ones may underflow, and the axis of errors is only as long
as draws ever go. It is lengthened until they stay away from its ends.
"""

import math
import random
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np

from dpquantiles.kernels import many_draws
from dpquantiles.kernels.algebra import Floats, ScaledDoubles
from dpquantiles.kernels.many_backward import Walks
from dpquantiles.kernels.many_forward import Columns, Factors, Step, forward
from dpquantiles.views import Demand, SortedView
from dpquantiles.views.protocol import Ints, merged

PROBES = 16
"""How many of many data sets show how long the axis of errors must be."""

LONGEST_AXIS, LONGEST_BATCH_AXIS = 4096, 1024
"""The longest axes to start with, for one data set and for many."""

ENDLESS_AXIS = 1 << 16
"""An axis of so many cells is not lengthened any more, however near its ends draws come."""

MOST_CELLS = 1 << 22
"""Cells of the masses of a batch: about a quarter of a gigabyte."""

MOST_WALKED = 1 << 24
"""Cells that draws choose among at once: about half a gigabyte."""

ALGEBRA = ScaledDoubles(log_scale=0.0, ramp=600.0)
"""Rescaled masses are at most one, so that scans may raise them by this much."""

LEAST_MASS = 1e-250
"""Whole answers of less mass have lost their precision."""


class ReferenceView(SortedView, Protocol):
    """A sorted view of made-up records, which offers more than one of real records."""

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn on these records."""

    @property
    def labels(self) -> int:
        """Into how many labels every step is cut, to tell tied records apart."""

    @property
    def points(self) -> int:
        """How many steps there are, labels included."""

    @property
    def contrast(self) -> float:
        """The logarithm of the room between clusters of records over that inside them."""

    @property
    def outside(self) -> float:
        """The logarithm of the room around all records over that between them."""

    def resized(self, n: int) -> Self:
        """The same shape with another number of records."""

    def told_apart(self, labels: int) -> Self:
        """The same records, with so many labels for every step."""

    def below(self, steps: Ints) -> Ints:
        """How many records lie below each step."""

    def occupied(self, length: int) -> int:
        """How many runs of so many steps hold records."""


@dataclass(frozen=True, eq=False)
class RecordRuns:
    """Runs of records of a reference on runs of its steps: each is a data set of its own."""

    view: ReferenceView
    start: Ints
    stop: Ints
    """The positions of the records, the last one excluded."""
    low: Ints
    high: Ints
    """The steps, the last one included."""

    @classmethod
    def whole(cls, view: ReferenceView) -> "RecordRuns":
        """All records, as a single data set."""
        return cls(view, *(np.array([x]) for x in (0, view.n, 0, view.points - 1)))

    @classmethod
    def between(cls, view: ReferenceView, low: Ints, high: Ints, *, last: bool) -> "RecordRuns":
        """The records from low up to high, which the last run includes."""
        start, stop = view.below(low), view.below(high)
        return cls(view, start, np.full_like(stop, view.n) if last else stop, low, high)

    @property
    def n(self) -> Ints:
        """The number of records of every data set."""
        return self.stop - self.start

    def columns(self, targets: Ints, axis: range, chosen: Ints) -> Columns:
        """The chosen data sets side by side, with the same targets and axis of errors for all.

        Records that are on no axis are left out, and ranks are counted without them.
        """
        windows = [range(max(0, t + axis.start - 1), t + axis.stop) for t in targets.tolist()]
        kept = Demand(runs=merged(windows)).index
        first = np.array([window.start for window in windows])
        targets = targets - first + np.searchsorted(kept, first)
        n = np.searchsorted(kept, self.n[chosen])
        kept = kept[: int(n.max())]
        place = np.minimum(kept[:, None] + self.start[chosen], self.view.n - 1)
        low, high = self.low[chosen], self.high[chosen]
        records = np.full((len(kept) + 2, len(chosen)), -1, dtype=np.int64)
        records[1:-1] = np.clip(self.view.order_statistics(place), low, high) - low
        rows = np.arange(len(records))[:, None]
        records = np.where(rows <= n, records, high - low + 1)
        start, stop = (np.full(len(chosen), end) for end in (axis.start, axis.stop - 1))
        return Columns(records, n, np.repeat(targets[:, None], len(chosen), axis=1), start, stop)


class Trial(NamedTuple):
    """Row w: the answers of draw w as steps; and the least and the largest error of their cuts."""

    steps: Ints
    lowest: int
    highest: int


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Draws of JointExp at one rate, around the same targets in all data sets.

    `size` is the public size of every data set, which may differ from its number of records.
    """

    runs: RecordRuns
    targets: Ints
    rate: float
    size: int
    bits: random.Random

    def draw(self, which: Ints) -> Ints:
        """One draw from each data set that `which` names: steps from the lower end of its run.

        Of many data sets, a few show first how long the axis must be.
        """
        n, surplus = self.runs.n, self.runs.n - self.size
        deepest, highest = -int(self.targets.max()), int(n.max() - self.targets.min())
        half = self._half_axis()
        tried = which[:PROBES] if len(n) > 1 else which
        while True:
            first = max(min(0, int(surplus.min())) - half, min(0, deepest))
            stop = min(max(0, int(surplus.max())) + half, max(0, highest)) + 1
            trial = self._try(tried, range(first, stop))
            edge = max(1, (stop - first) // 16)
            too_high = first > min(0, deepest) and trial.lowest < first + edge
            too_low = stop <= max(0, highest) and trial.highest >= stop - edge
            if (too_high or too_low) and stop - first < ENDLESS_AXIS:
                half *= 4
            elif len(tried) == len(which):
                return trial.steps
            else:
                tried = which

    def _half_axis(self) -> int:
        """How far errors may go: some decays, and on uneven data as far as all answers together
        would for the room between clusters, where that can be afforded.

        Where the room around all records may be worth leaving them for, errors may go all the way:
        there its logarithm exceeds half of what every answer pays for that.
        """
        rate, m, view = self.rate, len(self.targets), self.runs.view
        most_records = float(self.runs.n.max())
        decays = 8 + 2 * math.sqrt(m)
        most = LONGEST_AXIS if len(self.runs.n) == 1 else LONGEST_BATCH_AXIS
        far = min(decays + m * view.contrast / 2, max(decays, most * rate / 2))
        if view.outside > rate * most_records / (m + 1):
            far = max(far, min(rate * most_records, most * rate / 2))
        return math.ceil(far / rate)

    def _try(self, which: Ints, axis: range) -> Trial:
        """Draws on one axis, in batches of data sets and of draws that fit in memory."""
        data, own = np.unique(which, return_inverse=True)
        size = max(1, MOST_CELLS // (len(self.targets) * len(axis)))
        trials: list[Trial] = []
        for begin in range(0, len(data), size):
            columns = self.runs.columns(self.targets, axis, data[begin : begin + size])
            surplus = (self.runs.n - self.size)[data[begin : begin + size]]
            mine = own[(own >= begin) & (own < begin + size)] - begin
            trials += self._walks(columns, surplus, mine, len(axis))
        steps, lowest, highest = zip(*trials, strict=True)
        return Trial(np.concatenate(steps), min(lowest), max(highest))

    @np.errstate(all="ignore")
    def _walks(self, columns: Columns, surplus: Ints, which: Ints, length: int) -> list[Trial]:
        factors, trials = Factors.of(self.rate, columns, ALGEBRA), []
        steps = forward(columns, factors, rescaled=True)
        weights = _last_ranks(columns, factors, steps[-1], surplus)
        for some in np.array_split(which, math.ceil(len(which) * length / MOST_WALKED)):
            rank = steps[-1].first + many_draws.weighted(self.bits, weights[:, some])
            answers, ranks = Walks(columns, factors, steps, self.bits, some).back(rank)
            errors = ranks - columns.targets[:, some]
            trials.append(Trial(answers.T, int(errors.min()), int(errors.max())))
        return trials


def _last_ranks(columns: Columns, factors: Factors, step: Step, surplus: Ints) -> Floats:
    """The weight of every rank of the last cut.

    Where the price of the surplus would leave no mass, it is not charged.
    """
    ranks = step.first + np.arange(len(step.total))[:, None]
    away = np.abs(ranks - columns.targets[-1] - surplus)
    weights = step.total * factors.fall[np.minimum(away, len(factors.fall) - 1)]
    return np.where(weights.sum(axis=0) > LEAST_MASS, weights, step.total)
