"""AboveThreshold: walk along public candidates until a noisy count reaches a noisy threshold.

Durfee, "Unbounded Differentially Private Quantile and Maximum Estimation" (arXiv 2305.01177v2),
with the candidates on a grid and the noise drawn exactly. Proof: `above_threshold.md`.

    candidates   c_0 < c_1 < ...: public steps whose distances grow geometrically                (1)
    counts       f_i = number of records at or before c_i on the walk,  N = n records in all
    threshold    A = ceil(p N + E),  E exponential of rate e_1                                  (2)
    stop         at the first i with f_i + V_i >= A,  P[V_i >= k] = exp(-e_2 k), k = 0, 1, ...   (3)
    law          P[i] = sum_a P[A = a] h_i(a) prod_{j<i} (1 - h_j(a)),                          (4)
                 h_i(a) = exp(-e_2 max(a - f_i, 0))
    price        add-remove max((1 - p) e_1, p e_1 + e_2),  swap e_1 + e_2                      (5)

The walk goes up with p = q for q >= 1/2, and down with p = 1 - q otherwise. So it crosses empty
stretches while the count is still far below the threshold. If nothing stops the walk, the answer is
the last candidate. Counts are whole numbers, so only the ceiling (2) of the threshold matters. It
is drawn exactly, from a coin and a geometric number. We choose e_1 = e_2. Each of m quantiles gets
epsilon / m; of a rho it gets rho / m, which pays for an epsilon whose square is twice that. The
answers are sorted afterwards, which is post-processing.

On a grid of few points, every point is a candidate. On larger grids with bounds, candidates lie at
growth^i - 1 steps from the lower end. Without bounds they lie on both sides of zero, at distances
unit (growth^i - 1). One walk covers both sides, where the paper has two searches, so nothing is
spent on the sign. The growth follows from the grid and the number of candidates, which are public.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import FloatGrid, Grid, finest
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Floats
from dpquantiles.mechanisms.mechanism import (
    Profile,
    WithLaw,
    log_probability_in_order,
    steps_of,
    values_in_order,
)
from dpquantiles.privacy import Neighbors
from dpquantiles.views import Demand, SortedView

Ints = NDArray[np.int64]

REAL_UNIT = 2.0**-20
"""Without bounds, real candidates are evenly spaced below about this, and geometrically above."""

REAL_FARTHEST = 2.0**128
"""Without bounds, the ends of the grid are the only real candidates beyond this, so that the others
are close together."""

SCREEN = 32
"""How many of the first coins of a rare event are tossed together."""


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(WithLaw):
    """Quantiles `q` within one budget; each has its own walk and an equal share of the budget.

    `candidates` is the largest number of candidates. No bounds are needed.
    """

    name: ClassVar[str] = "above_threshold"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="m C for C candidates",
        when="One extreme quantile, such as a bound for clipping, when no upper bound is known.",
        uses_size=False,
    )
    candidates: int = 2**16

    def __post_init__(self) -> None:
        super().__post_init__()
        count = require.count(minimum=2, candidates=self.candidates)
        object.__setattr__(self, "candidates", count)
        if min(map(self.rate, self.q)) < draws.LEAST_RATE:
            raise InvalidValue(
                "the budget must leave a rate of at least 2**-40 for the noise of every quantile, "
                f"got {self.budget.measure}={self.budget.amount!r}; use a larger budget"
            )

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """The ranks of all candidates."""
        return Demand(steps=candidate_steps(grid, self.candidates))

    def law(self, view: SortedView) -> "AboveThresholdLaw":
        """The exact distribution (4) of every walk on the records of a view."""
        steps = candidate_steps(view.grid, self.candidates)
        below, through = view.ranks(steps)
        walks = tuple(self._walk(q, view.n, below, through) for q in sorted(self.q))
        order = np.argsort(self.q, kind="stable")
        return AboveThresholdLaw(view.grid, steps, walks, order)

    def public_numbers(self, n: int) -> dict[str, object]:  # noqa: ARG002
        """The largest number of candidates."""
        return {"candidates": self.candidates}

    @property
    def each(self) -> float:
        """The epsilon of one walk."""
        return self.budget.divided(len(self.q)).noise_rate

    def rate(self, q: float) -> Fraction:
        """e_1 = e_2 for one quantile, from the epsilon of a walk and the price (5)."""
        walked = max(Fraction(q), 1 - Fraction(q))
        factor = Fraction(2) if self.neighbors is Neighbors.SWAP else 1 + walked
        return Fraction(self.each) / factor

    def _walk(self, q: float, n: int, below: Ints, through: Ints) -> "ThresholdWalk":
        rising = q >= 0.5
        counts = through if rising else (n - below)[::-1]
        walked = Fraction(q) if rising else 1 - Fraction(q)
        return ThresholdWalk(counts=counts, target=walked * n, rate=self.rate(q), rising=rising)


def candidate_steps(grid: Grid, most: int) -> Ints:
    """(1) as ascending steps, including both ends of the grid; all steps if there are few."""
    if grid.size <= most:
        return np.arange(grid.size, dtype=np.int64)
    if isinstance(finest(grid), FloatGrid):
        unit, farthest = (1.0, math.inf) if grid.kind.integral else (REAL_UNIT, REAL_FARTHEST)
        ends = grid.decode(np.array([0, grid.size - 1]))
        largest = max(abs(float(grid.kind.number(end, "bounds"))) for end in ends)
        side = unit * _geometric_distances(min(largest, farthest) / unit, most // 2)
        steps = grid.encode(np.concatenate([-side[::-1], side]))
    else:
        steps = np.rint(_geometric_distances(grid.size - 1, most)).astype(np.int64)
    ascending: Ints = np.clip(np.concatenate([[0], steps, [grid.size - 1]]), 0, grid.size - 1)
    return ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]


def _geometric_distances(largest: float, count: int) -> Floats:
    """growth^i - 1 from 0 to `largest`."""
    return np.expm1(np.linspace(0.0, math.log1p(largest), max(count, 2)))


@dataclass(frozen=True)
class ThresholdWalk:
    """One walk: the counts at the candidates in its order, and the target of the threshold."""

    counts: Ints
    target: Fraction
    rate: Fraction
    rising: bool

    def draw(self, bits: Bits) -> int:
        """Draw the position where the walk stops, by (2) and (3), exactly."""
        missing = self._threshold(bits) - self.counts
        stop = int(np.argmax(missing <= 0)) if missing[-1] <= 0 else len(missing) - 1
        for position, units in self._screened(missing[:stop], bits):
            if self._passes(int(missing[position]), units, bits):
                return position
        return stop

    def _threshold(self, bits: Bits) -> int:
        """(2): a coin decides about the first whole number; beyond it, the rest is geometric."""
        first = math.ceil(self.target)
        if not draws.bernoulli_exp(bits, self.rate * (first - self.target)):
            return first
        return first + 1 + draws.geometric(bits, self.rate)

    def _screened(self, missing: Ints, bits: Bits) -> Iterator[tuple[int, int]]:
        """Positions that survive the first coins of (3), and the number of these coins.

        A coin of probability exp(-x) consists of floor(x) coins of probability 1/e and one for the
        rest. A coin of 1/e starts with a fair coin, and fails if that shows tails. These fair coins
        are tossed for all positions together, at most as many as floor(x) for each.
        """
        if not len(missing):
            return iter(())
        least = min(float(self.rate) * (1 - 2.0**-40), 1e6)
        units = np.minimum(least * missing, SCREEN).astype(np.int64)
        tossed = bits.getrandbits(SCREEN * len(missing)).to_bytes(SCREEN // 8 * len(missing))
        heads = (np.int64(1) << units) - 1
        survives = np.frombuffer(tossed, dtype=">u4") & heads == heads
        # With few records most positions survive, and the walk stops at one of the first.
        return ((int(i), int(units[i])) for i in np.flatnonzero(survives))

    def _passes(self, missing: int, units: int, bits: Bits) -> bool:
        """Toss the remaining coins of a survivor."""
        if not all(_rest_of_unit_coin(bits) for _ in range(units)):
            return False
        return draws.bernoulli_exp(bits, self.rate * missing - units)

    @cached_property
    def log_probabilities(self) -> Floats:
        """(4): the log probability of stopping at each position."""
        rate, result = float(self.rate), np.full(len(self.counts), -math.inf)
        for a, log_chance in zip(*self._log_thresholds(), strict=True):
            hazard = -rate * np.maximum(a - self.counts, 0)
            hazard[-1] = 0.0
            with np.errstate(divide="ignore"):
                survival = np.cumsum(np.log(-np.expm1(hazard)))
            hazard[1:] += survival[:-1]
            result = np.logaddexp(result, log_chance + hazard)
        return result

    def _log_thresholds(self) -> tuple[Ints, Floats]:
        """All a that matter to some position, and log P[A = a]."""
        rate, first = float(self.rate), math.ceil(self.target)
        beyond = math.ceil((50 + math.log(len(self.counts))) / rate)
        above = np.arange(max(0, int(self.counts[-1]) - first) + beyond + 1)
        head = float(first - self.target)
        start = np.where(above > 0, above - 1 + head, 0.0)
        with np.errstate(divide="ignore"):
            return first + above, np.log(-np.expm1(-rate * (above + head - start))) - rate * start


def _rest_of_unit_coin(bits: Bits) -> bool:
    """The rest of a coin of probability 1/e after its fair coin showed heads: true with 2/e."""
    tosses = 3
    while draws.below(bits, tosses) == 0:
        tosses += 1
    return tosses % 2 == 1


@dataclass(frozen=True, eq=False)
class AboveThresholdLaw:
    """The law of all answers: independent walks whose results are sorted."""

    grid: Grid
    steps: Ints
    walks: tuple[ThresholdWalk, ...]
    order: Ints

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability of exactly these values, in the order of the quantiles."""
        answer = steps_of(self.grid, values, len(self.walks))[self.order]
        if (np.diff(answer) < 0).any() or not np.isin(answer, self.steps).all():
            return -math.inf
        places = np.searchsorted(self.steps, answer)
        chances = np.array([self._by_step(walk)[places] for walk in self.walks])
        _, repeats = np.unique(answer, return_counts=True)
        return log_probability_in_order(chances, repeats.tolist())

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        stops = [walk.draw(bits) for walk in self.walks]
        walked = [
            stop if walk.rising else len(self.steps) - 1 - stop
            for walk, stop in zip(self.walks, stops, strict=True)
        ]
        return values_in_order(self.grid, self.steps[np.sort(walked)], self.order)

    @staticmethod
    def _by_step(walk: ThresholdWalk) -> Floats:
        return walk.log_probabilities if walk.rising else walk.log_probabilities[::-1]
