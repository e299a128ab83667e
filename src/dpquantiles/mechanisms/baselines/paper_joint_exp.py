"""PaperJointExp: JointExp as published, on the continuum, to reproduce the paper.

Gillenwater, Joseph, Kulesza, "Differentially Private Quantiles" (arXiv 2102.08244), Sections 3.1 to
3.3. The sorted records x_1 .. x_n between the bounds x_0 = a and x_{n+1} = b divide the range into
n + 1 intervals; ties give intervals of width zero. Proof: `paper_joint_exp.md` beside this file.

    utility    u(s) = - sum_{k=1}^{m+1} |i_k - i_{k-1} - n_k|,  i_0 = 0, i_{m+1} = n            (1)
    law        P[s] proportional to exp(c u(s)) prod_k w(i_k) / prod_i count_i(s)!              (2)
    rate       c = epsilon / (2 D),  D = 2 (swap),  D = 2 (1 - min_k gap_k) (add-remove)        (3)

for nondecreasing sequences s of m intervals with widths w. Here gap_k = q_k - q_{k-1}, and
n_k = gap_k n with the true n and no rounding. Then a uniform point is drawn in each interval, and
the points are sorted. The paper computes sums by Fourier transform, which loses all masses 16
digits below the largest one, so its answers are wrong from about 80 quantiles on. Here each of
these sums is two scans of positive terms, in logarithms:

    first copy      A_k(i) = sum_{j<i} F_{k-1}(j) exp(-c |i - j - n_k|)                         (4)
    all copies      F_k(i) = sum_{r=1}^{k} w(i)^r / r! A_{k-r+1}(i) exp(-c N_{k,r}),            (5)
                    N_{k,r} the sum of the last r - 1 of n_1 .. n_k

Research only: the points are floating-point numbers whose last digits depend on the ends of the
interval, which are records. Rounding to the grid helps, but there is no proof that it is enough.
Answers on tied data are bad, as in the paper. `joint_exp` has neither flaw.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import FloatGrid, Grid, finest
from dpquantiles.kernels import draws, scans
from dpquantiles.kernels.algebra import Floats, Logarithms
from dpquantiles.kernels.scans import Decay
from dpquantiles.kernels.smooth import uniform
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.privacy import Neighbors
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PaperJointExp(Mechanism):
    """All quantiles `q` at once within an epsilon, as published; research only."""

    name: ClassVar[str] = "paper_joint_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate"),
        neighbors=("swap", "add-remove"),
        cost="m n + m^2 n",
        when="Only to reproduce figures from the paper.",
        uses_size=False,
        needs_bounds=True,
        research_only=True,
    )

    @property
    def gaps(self) -> Floats:
        """The differences between neighboring quantiles, including 0 and 1."""
        return np.diff([0.0, *sorted(self.q), 1.0])

    @property
    def sensitivity(self) -> float:
        """D of (3)."""
        return 2.0 if self.neighbors is Neighbors.SWAP else 2.0 * (1.0 - float(self.gaps.min()))

    def demand(self, n: int, grid: Grid) -> Demand:
        """All records, because every interval has a mass."""
        _require_even_spacing(grid)
        return Demand.everything(n)

    def intervals(self, view: SortedView) -> "IntervalLaw":
        """The law (2) of the intervals on the records of a view."""
        records = view.order_statistics(np.arange(view.n, dtype=np.int64))
        edges = np.concatenate([[0], records, [view.grid.size - 1]]).astype(np.float64)
        return IntervalLaw(edges, self.gaps * view.n, self.budget.amount / (2 * self.sensitivity))

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
        _require_even_spacing(view.grid)
        steps = np.zeros(len(self.q), dtype=np.int64)
        if view.grid.size > 1:
            points = self.intervals(view).draw_points(bits)
            steps[np.argsort(self.q, kind="stable")] = np.rint(points).astype(np.int64)
        steps = np.minimum(steps, view.grid.size - 1)
        return self.released(view, bits, view.grid.decode(steps))


def _require_even_spacing(grid: Grid) -> None:
    if isinstance(finest(grid), FloatGrid):
        raise InvalidValue(
            "bounds must be given for paper_joint_exp, which measures lengths of intervals, got a "
            "grid without bounds; joint_exp and above_threshold work without bounds"
        )


@dataclass(frozen=True, eq=False)
class IntervalLaw:
    """The law (2) for given edges x_0 .. x_{n+1}, advances n_1 .. n_{m+1} and rate c."""

    edges: Floats
    advances: Floats
    rate: float

    @property
    def last(self) -> int:
        """n, which is also the index of the last interval."""
        return len(self.edges) - 2

    @property
    def count(self) -> int:
        """m, the number of intervals to draw."""
        return len(self.advances) - 1

    @cached_property
    def log_widths(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.diff(self.edges))

    @cached_property
    def masses(self) -> tuple[Floats, Floats]:
        """The logarithms of A (4) and F (5); row k-1 is for the k-th answer."""
        first = np.full((self.count, self.last + 1), -math.inf)
        total = first.copy()
        decay = Decay.of(self.rate, 2 * self.last + 1, Logarithms())
        for k in range(self.count):
            if k:
                first[k] = self._step(total[k - 1], float(self.advances[k]), decay)
            else:
                first[0] = self._fade(np.arange(self.last + 1), 0)
            total[k] = Logarithms().total(self._copies(first, k, slice(None)))
        return first, total

    def _fade(self, distance: Ints, k: int) -> Floats:
        """log exp(-c |distance - n_{k+1}|)."""
        return np.asarray(-self.rate * np.abs(distance - self.advances[k]))

    def _step(self, mass: Floats, advance: float, decay: Decay) -> Floats:
        """(4): intervals at most `whole` back form a window, those further back a prefix."""
        whole = min(math.floor(advance), self.last)
        padded = np.concatenate([np.full(whole, -math.inf), mass])
        near = scans.window(padded, whole, decay)[: len(mass)] - self.rate * (advance - whole)
        far = np.full(len(mass), -math.inf)
        far[whole + 1 :] = scans.prefix(mass, decay)[: len(mass) - whole - 1]
        return np.logaddexp(near, far - self.rate * (whole + 1 - advance))

    def _copies(self, first: Floats, k: int, cells: slice) -> Floats:
        """The terms of (5): row r-1 is for r copies that end with answer k, counted from zero."""
        copies = np.arange(1, k + 2)
        stayed = np.concatenate([[0.0], np.cumsum(self.advances[k:0:-1])])
        fixed = -self.rate * stayed - np.array([math.lgamma(r + 1) for r in copies])
        volumes = copies[:, None] * self.log_widths[cells]
        return np.asarray(first[k::-1, cells] + fixed[:, None] + volumes)

    @cached_property
    def log_mass(self) -> float:
        """The log of the sum of all weights."""
        return float(Logarithms().total(self._ends()))

    def _ends(self) -> Floats:
        distance = self.last - np.arange(self.last + 1)
        return np.asarray(self.masses[1][-1] + self._fade(distance, self.count))

    def log_probability(self, sequence: tuple[int, ...]) -> float:
        """The log probability of a sequence of intervals."""
        chosen, repeats = np.unique(sequence, return_counts=True)
        utility = -np.abs(np.diff([0, *sequence, self.last]) - self.advances).sum()
        volume = (repeats * self.log_widths[chosen]).sum()
        orders = sum(math.lgamma(r + 1) for r in repeats.tolist())
        return float(self.rate * utility + volume - orders - self.log_mass)

    def draw(self, bits: Bits) -> list[int]:
        """Draw a sequence of intervals, from the last to the first."""
        first, total = self.masses
        k, weights, drawn = self.count - 1, self._ends(), list[int]()
        while True:
            interval = draws.weighted(bits, weights, Logarithms())
            terms = self._copies(first, k, slice(interval, interval + 1))[:, 0]
            copies = 1 + draws.weighted(bits, terms, Logarithms())
            drawn += [interval] * copies
            k -= copies
            if k < 0:
                return drawn[::-1]
            distance = interval - np.arange(interval)
            weights = total[k, :interval] + self._fade(distance, k + 1)

    def draw_points(self, bits: Bits) -> Floats:
        """Draw a uniform point in each drawn interval, and sort the points."""
        intervals = np.array(self.draw(bits))
        share = np.array([uniform(bits) for _ in intervals])
        low, high = self.edges[intervals], self.edges[intervals + 1]
        return np.sort(low + share * (high - low))
