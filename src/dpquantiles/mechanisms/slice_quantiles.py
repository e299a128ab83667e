"""SliceQuantiles: noisy ranks first, then one small exponential mechanism around each.

Imola, Boninsegna, Keller, Aamand, Roy Chowdhury, Pagh, "Differentially Private Quantiles with
Smaller Error" (arXiv 2505.13662v2), on an integer grid and with exact noise. Windows shrink where
noisy ranks come close to each other, so every outcome of the noise is allowed.

    ranks     r_i = T_i + eta_i,  eta_i = sum of z_j over the Fenwick nodes j of the prefix i,
              P[z_j] proportional to exp(-a |z_j|)                                            (1)
    gap       g_i = min(r_i - max_{j<i} r_j,  min_{j>i} r_j - r_i)                            (2)
    cap       k_i = (g_i - w) / t, cut to [0, h]                                              (3)
    answer    P[o_i = o] proportional to exp(-c min(k_i, dist(r_i, [lo(o), hi(o)])))          (4)

`lo(o)` and `hi(o)` count the records below o, and at or below o. There are infinitely many more
records below the first grid point and above the last. Adding or removing a record moves all records
after it by one rank. The noise can compensate by moving a suffix of the ranks, and only the windows
on both sides of the record change. With L nodes over any index, and D the most nodes in which two
indices differ, the price is

    add-remove   L a + c (2 + 1/t) + ln(1 + m / 2w)
    swap         D a + c (3 + 2/t) + ln(1 + m / 2w)                                           (5)

The published accounting is eps_1 + 2 eps_2 and 2 eps_1 + 3 eps_2, for windows that do not overlap.
(5) is valid for every outcome of the noise. 1/t pays for windows that shrink, and the last term for
the one rank that only the larger data set has. Proof: `slice_quantiles.md`.

Only 2h records around every rank are read; the noise decides which.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import DemandTooLarge, InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kernels import draws
from dpquantiles.kernels.struck import struck_below
from dpquantiles.mechanisms.mechanism import Mechanism, Profile, target_ranks
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

Ints = NDArray[np.int64]

RANK_SHARE = Fraction(3, 5)
"""The share of epsilon that pays for noisy ranks."""

EDGE_SHARE = Fraction(1, 20)
"""The share that pays for the last term of (5)."""

MISS_CHANCE = 0.01
"""The approximate chance that an answer lies outside its window, or that a window shrinks."""

LEAST_SLOPE, MOST_SLOPE = 2, 32
"""t of (3): from 2 on, windows are disjoint; the larger it is, the less shrinking costs."""

MOST_WEIGHTS = 1 << 22
"""The most different weights of (4); they are stored as integers of about 80 bytes each."""

MOST_DECAY = Fraction(64)
GUARD_BITS = 64


class SlicePlan(NamedTuple):
    """The public numbers that determine privacy."""

    targets: Ints
    """T of (1) if no record is missing."""
    noise: Fraction
    """a of (1)."""
    decay: Fraction
    """c of (4), per rank."""
    reach: int
    """h of (3)."""
    slope: int
    """t of (3)."""
    margin: int
    """w of (3)."""


@dataclass(frozen=True, kw_only=True)
class SliceQuantiles(Mechanism):
    """Quantiles `q` within one budget, for many quantiles of very many records.

    `size` is the public size under add-remove neighbors, where it must be given. If the targets are
    too close for windows of a useful size, it raises an error, from public numbers alone.
    """

    name: ClassVar[str] = "slice_quantiles"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="m R, R about 2 ln(m K) / epsilon",
        when="Quantiles that are far apart, of very large data with very many possible values.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._noise() < draws.LEAST_RATE:
            raise InvalidValue(f"epsilon must be at least 1e-9 here, got {self.epsilon!r}")

    def _checked_size(self) -> int | None:
        if (self.size is None) != (self.neighbors is Neighbors.SWAP):
            raise InvalidValue(
                "size must be given under add-remove neighbors, and left out under swap, where the "
                f"number of records is public, got {self.size!r}; where none is public, as with "
                "private keys, choose another mechanism"
            )
        return None if self.size is None else require.count(size=self.size)

    @property
    def epsilon(self) -> float:
        """The whole epsilon; for a rho, the epsilon whose square is twice the rho."""
        return self.budget.noise_rate

    @property
    def guarantee(self) -> PureDP:
        """epsilon-differential privacy, for every outcome of the noise."""
        return PureDP(epsilon=self.epsilon, neighbors=self.neighbors)

    def demand(self, n: int, grid: Grid) -> Demand:
        """All records, because ranks are noisy; it reads 2h of them around each rank."""
        self.plan(n, grid)
        return Demand.everything(n)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
        plan = self.plan(self.counted(view), view.grid)
        noise = prefix_noise(draws.discrete_laplaces(bits, plan.noise, self._m))
        ranks = self.targets(plan, view) + noise
        caps = caps_of(ranks, plan)
        windows = windows_of(view, ranks, -(-caps // plan.slope))
        table = weights(plan)
        drawn = [
            draw(bits, *slots(window, int(cap), view.grid.size, plan.slope), table)
            for window, cap in zip(windows, caps, strict=True)
        ]
        steps = dict(zip(sorted(set(self.q)), sorted(drawn), strict=True))
        values = view.grid.decode(np.array([steps[q] for q in self.q], dtype=np.int64))
        return self.released(view, bits, values, size=self.public_size(self.counted(view)))

    def targets(self, plan: SlicePlan, view: SortedView) -> Ints:
        """T of (1): the public targets, less the ranks that missing records strike."""
        size, missing = np.array([self.counted(view), self.left_out(view)])
        return plan.targets - struck_below(plan.targets, size, missing)

    @property
    def _m(self) -> int:
        return len(set(self.q))

    def _noise(self) -> Fraction:
        nodes = diameter(self._m) if self.neighbors is Neighbors.SWAP else self._m.bit_length()
        return min(draws.MOST_RATE, RANK_SHARE * Fraction(self.epsilon) / nodes)

    def plan(self, n: int, grid: Grid) -> SlicePlan:
        """All parameters, from public numbers; raises if windows would be too small."""
        nu, q = self.public_size(n), np.array(sorted(set(self.q)))
        targets = target_ranks(q, nu)
        edge = EDGE_SHARE * Fraction(self.epsilon)
        margin = math.ceil(Fraction(self._m) / (2 * edge + edge**2))
        spread = self._spread()
        whole, shrinking = (3, 2) if self.neighbors is Neighbors.SWAP else (2, 1)
        budget = (1 - RANK_SHARE - EDGE_SHARE) * Fraction(self.epsilon)
        depth = math.log(2 * self._m * grid.size / MISS_CHANCE)
        unit, slope = depth / float(budget), MOST_SLOPE
        if self._m > 1:
            spare = int(np.diff(targets).min()) - margin - spread
            slope = min(slope, math.floor((spare / unit - shrinking) / whole))
        if slope < LEAST_SLOPE:
            gap = 1 + margin + spread + (LEAST_SLOPE * whole + shrinking) * unit
            raise InvalidValue(self._refusal(nu, gap / float(np.diff(q).min())))
        decay = min(MOST_DECAY, budget / (whole + Fraction(shrinking, slope)))
        reach = math.ceil(depth / decay)
        if slope * reach > MOST_WEIGHTS:
            raise DemandTooLarge(
                f"epsilon={self.epsilon:g} needs windows of {2 * reach} ranks around each quantile "
                "by slice_quantiles; use a larger epsilon, or mechanism 'joint_exp'"
            )
        return SlicePlan(targets, self._noise(), decay, reach, slope, margin)

    def _spread(self) -> int:
        """How much noise may narrow a gap, except with a chance of MISS_CHANCE."""
        nodes = self._m.bit_length() + 1
        return math.ceil(2 / self._noise() * (0.3 * nodes + math.log(self._m / MISS_CHANCE)))

    def _refusal(self, nu: int, needed: float) -> str:
        what = "size" if self.size is not None else "the number of records"
        return (
            f"{what} must be at least about {needed:.2g} for {self._m} such quantiles at "
            f"epsilon={self.epsilon:g} by slice_quantiles, got {nu}; use a larger epsilon, fewer "
            "quantiles, or mechanism 'joint_exp' (few quantiles) or 'agg_tree' (many)"
        )


def diameter(m: int) -> int:
    """D of (5): the most nodes in which the Fenwick paths of two indices 1 .. m+1 differ.

    The parent of node k is k plus its lowest bit; m+1 stands for the root.
    """
    height, longest = [0] * (m + 2), 0
    for k in range(1, m + 1):
        parent = min(m + 1, k + (k & -k))
        longest = max(longest, height[parent] + height[k] + 1)
        height[parent] = max(height[parent], height[k] + 1)
    return longest


def prefix_noise(nodes: Ints) -> Ints:
    """eta of (1): entry i-1 is the sum of node i, node i minus its lowest bit, and so on."""
    sums = np.zeros(len(nodes) + 1, dtype=np.int64)
    for i in range(1, len(nodes) + 1):
        sums[i] = nodes[i - 1] + sums[i - (i & -i)]
    return sums[1:]


def caps_of(ranks: Ints, plan: SlicePlan) -> Ints:
    """The caps (3) in units of 1/t of a rank, over the last axis."""
    top = plan.slope * plan.reach
    gaps = np.full(ranks.shape, top + plan.margin, dtype=np.int64)
    after = ranks[..., 1:] - np.maximum.accumulate(ranks, axis=-1)[..., :-1]
    least = np.minimum.accumulate(ranks[..., ::-1], axis=-1)[..., ::-1]
    gaps[..., 1:] = np.minimum(gaps[..., 1:], after)
    gaps[..., :-1] = np.minimum(gaps[..., :-1], least[..., 1:] - ranks[..., :-1])
    return np.clip(gaps - plan.margin, 0, top)


def windows_of(view: SortedView, ranks: Ints, reaches: Ints) -> list[Ints]:
    """The sorted records r-C+1 .. r+C for every rank r, filled up with the ends of the grid."""
    runs = [
        np.arange(rank - reach, rank + reach)
        for rank, reach in zip(ranks.tolist(), reaches.tolist(), strict=True)
    ]
    index = np.concatenate(runs)
    real = np.unique(index[(index >= 0) & (index < view.n)])
    records = view.order_statistics(real)
    windows = []
    for run in runs:
        steps = np.where(run < 0, 0, view.grid.size - 1).astype(np.int64)
        inside = (run >= 0) & (run < view.n)
        steps[inside] = records[np.searchsorted(real, run[inside])]
        windows.append(steps)
    return windows


def slots(window: Ints, cap: int, points: int, slope: int) -> tuple[Ints, Ints, Ints]:
    """The grid as runs of points of equal weight (4): starts, lengths, exponents in units c/t."""
    reach = len(window) // 2
    if reach == 0:
        return np.array([0]), np.array([points]), np.array([cap])
    starts = np.concatenate([[0], window[:reach], window[reach:] + 1])
    lengths = np.diff(starts, append=points)
    near = slope * np.abs(np.arange(1 - reach, reach))
    return starts, lengths, np.concatenate([[cap], near, [cap]])


def weights(plan: SlicePlan) -> Sequence[int]:
    """Integers in place of exp(-c e / t) for e = 0, 1, ..., t h.

    Each is at least the next one, and at most exp(c/t) times the next one, exactly.
    """
    return _weights(exp_below(plan.decay / plan.slope), plan.slope * plan.reach)


@lru_cache(maxsize=1)
def _weights(factor: int, most: int) -> tuple[int, ...]:
    """Kept for the next draw at the same public numbers: there may be very many weights."""
    table = [1 << GUARD_BITS]
    for _ in range(most):
        table.append(table[-1] * factor >> GUARD_BITS)
    return tuple(reversed(table))


@lru_cache(maxsize=64)
def exp_below(x: Fraction) -> int:
    """exp(x) for x >= 0 in units of 2**-GUARD_BITS, rounded down, from its power series."""
    scale = 1 << GUARD_BITS
    whole, total, term = math.floor(x * scale), scale, scale
    for k in range(1, 4 * GUARD_BITS):
        term = term * whole // (k * scale)
        total += term
    return total


def draw(bits: Bits, starts: Ints, lengths: Ints, exponents: Ints, table: Sequence[int]) -> int:
    """Draw a grid point in exact proportion to the weight of its slot."""
    heights = [table[e] for e in exponents.tolist()]
    masses = (a * b for a, b in zip(heights, lengths.tolist(), strict=True))
    through = list(accumulate(masses, initial=0))
    drawn = draws.below(bits, through[-1])
    slot = bisect_right(through, drawn) - 1
    return int(starts[slot] + (drawn - through[slot]) // heights[slot])
