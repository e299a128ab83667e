"""Where to ask for more answers, so that each quantile has one a little below and one above.

Everything here follows from public numbers, and nothing here decides whether an interval is right:
a bad place makes it wide, never wrong.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from dpquantiles.intervals import POPULATION, Intervals

HEAVY_TAILS = 1.15
"""By how much sums of Laplace noise need more room than normal noise of their variance."""

REFUTED = 2.4
"""Standard deviations that an answer is placed beyond what must be refuted."""

FURTHER = 0.5
"""An answer this share of the shift further out will do, when it is there anyway."""


@dataclass(frozen=True, kw_only=True)
class RankNoise:
    """How uncertain answers and measured ranks will be, as rates of Laplace noise in ranks."""

    answers: float
    ranks: float
    size: float = math.inf
    """Of the public size, where it is a private count."""


class Brackets(NamedTuple):
    """All quantiles to ask for, and which of them are to be cut below and above their answers."""

    q: tuple[float, ...]
    lower: frozenset[float]
    upper: frozenset[float]


def place(q: Sequence[float], size: int, asked: Intervals, noise: RankNoise) -> Brackets:
    """Brackets for ascending distinct quantiles of `size` records."""
    brackets = _place(q, size, _shifts(q, size, asked, noise, 3 * len(q), 2 * len(q)))
    # What is shared makes all answers and ranks more certain, so less shift is needed.
    cuts = len(brackets.lower) + len(brackets.upper)
    return _place(q, size, _shifts(q, size, asked, noise, len(brackets.q), cuts))


def _shifts(
    q: Sequence[float], size: int, asked: Intervals, noise: RankNoise, answers: int, cuts: int
) -> list[int]:
    """Ranks between each quantile and its ends.

    Errors of answers, and of ranks, walk from end to end and are pinned at both, so their variance
    is that of a bridge.
    """
    population = asked.of == POPULATION
    z = -NormalDist().inv_cdf((1 - asked.level) / (4 if population else 2))
    shifts = []
    for k, quantile in enumerate(q, start=1):
        place = k / (len(q) + 1)
        bridge = place * (1 - place)
        answer = bridge * (answers + 1) * _variance(noise.answers)
        # A size that is off by d moves the answers by about d / 2 more than their quantiles.
        answer += _variance(noise.size) / 4
        rank = bridge * (cuts + 1) * _variance(noise.ranks)
        sampling = math.sqrt(size * quantile * (1 - quantile)) if population else 0.0
        margin = z * (HEAVY_TAILS * math.sqrt(rank) + sampling)
        shifts.append(1 + math.ceil(margin + REFUTED * math.sqrt(answer + rank)))
    return shifts


def _variance(rate: float) -> float:
    """Of a discrete Laplace variable, P[z] proportional to exp(-rate |z|)."""
    return 0.5 / math.sinh(min(rate, 600.0) / 2) ** 2


def _place(q: Sequence[float], size: int, shifts: Sequence[int]) -> Brackets:
    """Answers at the shifted ranks, or at ones that are there anyway; none beyond the records."""
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
    """The quantile of an answer with a rank in first .. last, the nearest to what is wanted."""
    ranks = sorted(places)
    there = ranks[bisect_left(ranks, first) : bisect_left(ranks, last + 1)]
    nearest = min(there, key=lambda rank: abs(rank - wanted), default=wanted)
    return places.setdefault(nearest, nearest / size)
