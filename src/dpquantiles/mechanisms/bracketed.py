"""Bracketed: answers of any mechanism, and measured ranks that prove intervals around them.

    share      RANK_SHARE of the budget pays for ranks, the rest for the mechanism
    answers    the requested quantiles, and others a little below and above each (`place`)
    cuts       just below the answers for lower ends, just above the answers for upper ends
    counts     records between neighboring cuts, and under swap those that are missing and left
               out, each plus discrete Laplace noise                                            (1)
    intervals  what the counts refute, from outside inward (`intervals.ranks`)                   (2)

The intervals are valid for every data set and every mechanism, because they depend only on (1). The
mechanism and the places of the other answers only affect their width. Proof: `bracketed.md` beside
this file.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid, TypedGrid
from dpquantiles.intervals import POPULATION, Intervals, MeasuredRanks
from dpquantiles.kernels import draws
from dpquantiles.kinds import ANYTHING, Domain
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.count import COUNT_SHARE, PrivateCount
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

RANK_SHARE = Fraction(1, 3)
"""The share of a budget that measures ranks."""

HEAVY_TAILS = 1.15
"""The factor by which Laplace sums need more room than normal noise of the same variance."""

REFUTED = 2.4
"""How many standard deviations beyond the rank to refute an answer is placed."""

FURTHER = 0.5
"""An existing answer is used if it is at most this share of the shift too far out."""


@dataclass(frozen=True, kw_only=True)
class RankNoise:
    """The uncertainty of answers and of measured ranks, as rates of Laplace noise in ranks."""

    answers: float
    ranks: float
    size: float = math.inf
    """The rate of the public size, where it is a private count."""


class Brackets(NamedTuple):
    """All quantiles to draw, and those whose answers become lower and upper cuts."""

    q: tuple[float, ...]
    lower: frozenset[float]
    upper: frozenset[float]


@dataclass(frozen=True, kw_only=True)
class Bracketed:
    """Quantiles `q` by the named mechanism, and intervals, within one budget."""

    mechanism: str
    budget: Guarantee
    q: tuple[float, ...]
    intervals: Intervals
    size: int | None = None
    domain: Domain = ANYTHING
    """The values of the data's declared type, which intervals must cover."""

    inner: Mechanism = field(init=False, repr=False, compare=False)
    """The mechanism for `q` alone, within the budget that the ranks leave."""

    def __post_init__(self) -> None:
        _, rest = self.budget.split(RANK_SHARE)
        inner = registry.build(self.mechanism, rest, q=self.q, size=self.size)
        object.__setattr__(self, "inner", inner)

    @property
    def guarantee(self) -> Guarantee:
        """The budget, without a delta if the mechanism needs none."""
        return self.inner.profile.spent(self.budget)

    @property
    def _swap(self) -> bool:
        return self.budget.neighbors is Neighbors.SWAP

    @property
    def rank_rate(self) -> Fraction:
        """The rate of the noise: a swap changes two counts by one, other neighbors change one."""
        ranks, _ = self.budget.split(RANK_SHARE)
        return min(Fraction(ranks.counting_rate()), draws.MOST_RATE)

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """All records, because the answers decide which ranks are measured."""
        return Demand.everything(n)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """Draw the answers, and measure the ranks around them."""
        size, rest = self._sized(view, bits)
        brackets, mechanism = self._answering(size, rest)
        if self._buys_size and not _accepts(mechanism, view.grid):
            # A bought size must not decide about an error, so such intervals stay open.
            brackets = Brackets(self.q, frozenset(), frozenset())
            mechanism = replace(mechanism, q=self.q)
        drawn = mechanism.release(view, bits)
        answers = dict(zip(drawn.q, drawn.values, strict=True))
        return replace(
            drawn,
            q=self.q,
            values=tuple(answers[q] for q in self.q),
            guarantee=drawn.guarantee and self.guarantee,
            provenance={**drawn.provenance, **self._provenance(size)},
            ranks=self._measure(view, brackets, answers, bits),
        )

    def answering(self, size: int) -> Mechanism:
        """The mechanism that draws these quantiles and those beside them, for a public size."""
        return self._answering(size, self.inner.budget)[1]

    def _answering(self, size: int, rest: Guarantee) -> tuple[Brackets, Mechanism]:
        brackets = place(self.q, size, self.intervals, self._noise(rest))
        stated = size if not self._swap and self.inner.profile.uses_size else None
        return brackets, replace(self.inner, budget=rest, q=brackets.q, size=stated)

    @property
    def _buys_size(self) -> bool:
        return not self._swap and self.size is None

    def _count(self) -> tuple[PrivateCount, Guarantee]:
        """The private count that buys a size, and the budget that is then left for the answers."""
        count, rest = self.inner.budget.split(COUNT_SHARE)
        return PrivateCount(budget=count), rest

    def _sized(self, view: SortedView, bits: Bits) -> tuple[int, Guarantee]:
        """The public size, bought if it is neither public nor stated, and the budget left."""
        if not self._buys_size:
            counted = self.inner.counted(view)
            return counted if self.size is None else self.size, self.inner.budget
        count, rest = self._count()
        # If this cannot work without brackets, raise before bits are drawn.
        sized = 0 if self.inner.profile.uses_size else None
        replace(self.inner, budget=rest, size=sized).demand(0, view.grid)
        return count.draw(view.n, bits), rest

    def _provenance(self, size: int) -> dict[str, object]:
        return {
            "budget": self.guarantee.to_dict(),
            "size": size,
            "rank_share": float(RANK_SHARE),
            **({"size_share": float(1 - RANK_SHARE) * COUNT_SHARE} if self._buys_size else {}),
        }

    def _noise(self, rest: Guarantee) -> RankNoise:
        """The noise for JointExp; other mechanisms may have larger errors."""
        return RankNoise(
            answers=rest.without_delta.bounded_range() / (2 * rest.neighbors.records),
            ranks=float(self.rank_rate),
            size=float(self._count()[0].rate) if self._buys_size else math.inf,
        )

    def _measure(
        self, view: SortedView, brackets: Brackets, answers: dict[float, Any], bits: Bits
    ) -> MeasuredRanks:
        """Draw the counts (1). A cut is named by the step above it."""
        grid = view.grid
        lower, upper = (
            _steps(grid, [answers[q] for q in sorted(ends)])
            for ends in (brackets.lower, brackets.upper)
        )
        cuts = np.unique(np.concatenate([lower, upper + 1]))
        cuts = cuts[(cuts > 0) & (cuts < grid.size)]
        below, _ = view.ranks(cuts)
        counts = np.diff(np.concatenate([[0], below, [view.n]]))
        hidden = self._swap and view.missing is not None
        counts = np.append(counts, self.inner.left_out(view)) if hidden else counts
        noise = draws.discrete_laplaces(bits, self.rank_rate, len(counts))
        noisy = (counts + noise).tolist()
        missing = noisy.pop() if hidden else None
        typed = TypedGrid(grid, self.domain)
        return MeasuredRanks(
            requested=self.intervals,
            lower=typed.lower(cuts),
            upper=typed.upper(cuts),
            counts=tuple(noisy),
            rate=float(self.rank_rate),
            size=self.inner.counted(view) if self._swap else None,
            missing=missing,
            ends=typed.ends,
        )


def _accepts(mechanism: Mechanism, grid: Grid) -> bool:
    """Whether so many answers are allowed; with tiny budgets their windows are too large."""
    try:
        mechanism.demand(0, grid)
    except ValueError:
        return False
    return True


def _steps(grid: Grid, values: list[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Answers as steps of their grid."""
    numbers = [grid.kind.number(value, "values") for value in values]
    return grid.encode(np.array(numbers)) if numbers else np.empty(0, dtype=np.int64)


def place(q: Sequence[float], size: int, intervals: Intervals, noise: RankNoise) -> Brackets:
    """Choose where to draw more answers, so that each quantile has one below and one above it.

    `q` are ascending distinct quantiles of `size` records. Everything follows from public numbers.
    A bad place makes an interval wide, never wrong.
    """
    brackets = _place(q, size, _shifts(q, size, intervals, noise, 3 * len(q), 2 * len(q)))
    # Shared answers leave fewer of them, each more accurate, so smaller shifts are enough.
    cuts = len(brackets.lower) + len(brackets.upper)
    return _place(q, size, _shifts(q, size, intervals, noise, len(brackets.q), cuts))


def _shifts(
    q: Sequence[float], size: int, intervals: Intervals, noise: RankNoise, answers: int, cuts: int
) -> list[int]:
    """How many ranks the ends of an interval are placed away from each quantile.

    The errors of answers and of ranks are random walks that are pinned at both ends, so their
    variance is that of a bridge.
    """
    population = intervals.of == POPULATION
    z = -NormalDist().inv_cdf((1 - intervals.level) / (4 if population else 2))
    shifts = []
    for k, quantile in enumerate(q, start=1):
        place = k / (len(q) + 1)
        bridge = place * (1 - place)
        answer = bridge * (answers + 1) * _variance(noise.answers)
        # A size that is off by d moves the answers by about d / 2.
        answer += _variance(noise.size) / 4
        rank = bridge * (cuts + 1) * _variance(noise.ranks)
        sampling = math.sqrt(size * quantile * (1 - quantile)) if population else 0.0
        margin = z * (HEAVY_TAILS * math.sqrt(rank) + sampling)
        shifts.append(1 + math.ceil(margin + REFUTED * math.sqrt(answer + rank)))
    return shifts


def _variance(rate: float) -> float:
    """The variance of a discrete Laplace variable, P[z] proportional to exp(-rate |z|)."""
    return 0.5 / math.sinh(min(rate, 600.0) / 2) ** 2


def _place(q: Sequence[float], size: int, shifts: Sequence[int]) -> Brackets:
    """Place answers at the shifted ranks, or reuse others nearby; none lie beyond the records."""
    ranks = [round(quantile * size) for quantile in q]
    places = dict(zip(reversed(ranks), reversed(q), strict=True))
    lower, upper = set(), set()
    for rank, shift in zip(ranks, shifts, strict=True):
        room = int(FURTHER * shift)
        if rank - shift > 0:
            lower.add(_serve(places, rank - shift - room, rank - shift, rank - shift, size))
        if rank + shift < size:
            upper.add(_serve(places, rank + shift, rank + shift + room, rank + shift, size))
    return Brackets(tuple(sorted({*q, *places.values()})), frozenset(lower), frozenset(upper))


def _serve(places: dict[int, float], first: int, last: int, wanted: int, size: int) -> float:
    """The quantile of the answer in ranks first .. last nearest to `wanted`, or a new one."""
    ranks = sorted(places)
    there = ranks[bisect_left(ranks, first) : bisect_left(ranks, last + 1)]
    nearest = min(there, key=lambda rank: abs(rank - wanted), default=wanted)
    return places.setdefault(nearest, nearest / size)
