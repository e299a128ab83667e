"""Many quick draws of JointExp at once, for plans: from one data set, or from many.

The masses and walks are those of the kernels for many data sets. A plan has nothing to protect. So
masses are rescaled at every step, and small ones may underflow. The axis of errors is only as long
as needed: it is lengthened until draws stay away from its ends. No answer lies beyond all records,
because the sizes of plans are right.
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
from dpquantiles.kernels.places import Places
from dpquantiles.views import Demand, SortedView
from dpquantiles.views.protocol import Ints, merged

PROBES = 16
"""How many data sets are tried first, to see how long the axis of errors must be."""

LONGEST_AXIS, LONGEST_BATCH_AXIS = 4096, 1024
"""The longest axes to start with: for one data set, and for many."""

ENDLESS_AXIS = 1 << 16
"""An axis of this many cells is not lengthened any more."""

MOST_CELLS = 1 << 22
"""The most cells of the masses of a batch: about a quarter of a gigabyte."""

MOST_WALKED = 1 << 24
"""The most cells that draws choose among at once: about half a gigabyte."""

ALGEBRA = ScaledDoubles(log_scale=0.0, ramp=600.0)
"""Rescaled masses are at most one, so scans may raise them by this many nats."""

LEAST_MASS = 1e-250
"""Whole answers with less mass have lost their precision."""


class ReferenceView(SortedView, Protocol):
    """A sorted view of made-up records, with more methods than a view of real records."""

    @property
    def seed(self) -> int:
        """The seed of all draws on these records."""

    @property
    def labels(self) -> int:
        """The number of labels per step, which tell tied records apart."""

    @property
    def points(self) -> int:
        """The size of the grid, counted in labels."""

    @property
    def contrast(self) -> float:
        """The log of the ratio of the room between clusters to the room inside them."""

    @property
    def outside(self) -> float:
        """The log of the ratio of the room around all records to the room between them."""

    def resized(self, n: int) -> Self:
        """The same shape with another number of records."""

    def told_apart(self, labels: int) -> Self:
        """The same records, with this many labels per step."""

    def below(self, steps: Ints) -> Ints:
        """How many records lie below each step."""

    def occupied(self, length: int) -> int:
        """How many runs of `length` steps contain records."""


@dataclass(frozen=True, eq=False)
class RecordRuns:
    """Parts of a reference: runs of its records on runs of its steps, each a separate data set."""

    view: ReferenceView
    start: Ints
    stop: Ints
    """The positions of the records; `stop` is excluded."""
    low: Ints
    high: Ints
    """The steps; `high` is included."""

    @classmethod
    def whole(cls, view: ReferenceView) -> "RecordRuns":
        """All records, as a single data set."""
        return cls(view, *(np.array([x]) for x in (0, view.n, 0, view.points - 1)))

    @classmethod
    def between(cls, view: ReferenceView, low: Ints, high: Ints, *, last: bool) -> "RecordRuns":
        """The records from `low` to below `high`; the last run also has those at `high`."""
        start, stop = view.below(low), view.below(high)
        return cls(view, start, np.full_like(stop, view.n) if last else stop, low, high)

    @property
    def n(self) -> Ints:
        """The number of records of every data set."""
        return self.stop - self.start

    def columns(self, targets: Ints, axis: range, chosen: Ints) -> Columns:
        """The chosen data sets, one per column, with the same targets and axis of errors.

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
        size = high - low + 1
        records = np.where(rows <= n, records, size)
        places = Places.of_steps(records[:-1], records[1:], size)
        start, stop = (np.full(len(chosen), end) for end in (axis.start, axis.stop - 1))
        return Columns(places, n, np.repeat(targets[:, None], len(chosen), axis=1), start, stop)


class Trial(NamedTuple):
    """The answers of draw w as steps in row w, and the smallest and largest error of all cuts."""

    steps: Ints
    lowest: int
    highest: int


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Draws of JointExp with the same rate and targets on all data sets.

    `size` is the public size of every data set, which may differ from its number of records.
    """

    runs: RecordRuns
    targets: Ints
    rate: float
    size: int
    bits: random.Random

    def draw(self, which: Ints) -> Ints:
        """One draw from each data set in `which`, as steps from the lower end of its run.

        With many data sets, a few are tried first to see how long the axis must be.
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
        """How large errors may be at first.

        They may be a few decays. On uneven data they may be as large as the room between clusters
        could make them for all answers together, if memory allows. If the room around all records
        is so large that answers may leave the records, errors may go all the way: then its
        logarithm exceeds half of what every answer pays for that.
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
        """Draw with a given axis, in batches of data sets and draws that fit in memory."""
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

    The price of the surplus is left out if it would leave no mass.
    """
    ranks = step.first + np.arange(len(step.total))[:, None]
    away = np.abs(ranks - columns.targets[-1] - surplus)
    weights = step.total * factors.fall[np.minimum(away, len(factors.fall) - 1)]
    return np.where(weights.sum(axis=0) > LEAST_MASS, weights, step.total)
