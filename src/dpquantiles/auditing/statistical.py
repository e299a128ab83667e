"""A lower bound on epsilon from draws: an event that two neighbors give with different chances.

Draws of two neighbors are cut into three parts. On the first part, the labels of outputs
(`events.looks`) are ordered by how much more often one neighbor gives them. Every beginning of that
order is an event. On the second part, the event with the largest bound is chosen, among all looks
and both directions. On the third part, the event is counted. If the function is
(epsilon, delta)-differentially private and p, p' are the probabilities of the event, then

    epsilon >= ln((p - delta) / p')                                                            (1)

The bound uses exact confidence bounds for p and p', so it is wrong with a chance of at most `risk`,
whatever the search did.

The confidence bounds on a probability are those of Clopper and Pearson: the probability at which as
many hits, or more, have a chance of just `risk`. They hold for every true probability and any
number of trials. The search uses Wilson's score, which is about the same and fast.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.auditing.events import Labels, Look, looks
from dpquantiles.errors import InvalidValue
from dpquantiles.kernels.algebra import Floats

Ints = NDArray[np.int64]

PARTS = 4
"""Out of four draws, one orders the labels, one chooses the event, and two test it."""

LEAST_DRAWS = 8

NEGLIGIBLE = 50
"""Probabilities are left out of a tail when all of them are less than exp(-NEGLIGIBLE) each, over
the first: the digits of the sum do not show them."""


class Evidence(NamedTuple):
    """An event, and its numbers of hits in the draws that test it."""

    event: str
    more: int
    """The hits among the draws of the neighbor that gives it more often."""
    less: int
    trials: int
    delta: float
    risk: float

    @property
    def epsilon(self) -> float:
        """The bound (1); zero if there is none."""
        more = lower(self.more, self.trials, self.risk / 2) - self.delta
        less = upper(self.less, self.trials, self.risk / 2)
        return max(0.0, math.log(more / less)) if more > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.event}: an event with {self.more:,} hits against {self.less:,} "
            f"in {self.trials:,} draws of each"
        )


def evidence(one: Sequence[Any], other: Sequence[Any], delta: float, risk: float) -> Evidence:
    """The best event of these draws, tested on draws that had no part in choosing it."""
    if not len(one) == len(other) >= LEAST_DRAWS:
        raise InvalidValue(f"draws must be at least {LEAST_DRAWS} of each neighbor, got {len(one)}")
    part = np.minimum(np.arange(len(one)) % PARTS, 2)
    both = np.concatenate([part, part])
    trials = np.bincount(part, minlength=3)
    best: tuple[float, str, Ints] | None = None
    for look in looks([*one, *other], both == 0):
        counts = _counts(look, both, len(one))
        for direction in (counts, counts[::-1]):
            bound, event = _chosen(direction, int(trials[1]), delta, risk)
            if best is None or bound > best[0]:
                best = (bound, look.name, direction[:, 2, event].sum(axis=1))
    assert best is not None
    more, less = best[2].tolist()
    return Evidence(best[1], more, less, int(trials[2]), delta, risk)


def _counts(look: Look, part: Labels, draws: int) -> Ints:
    """How often each label was seen: by neighbor, part and label."""
    _, label = np.unique(look.labels, return_inverse=True)
    width = int(label.max()) + 1
    neighbor = np.arange(2 * draws) // draws
    flat = (neighbor * 3 + part) * width + label
    return np.bincount(flat, minlength=6 * width).reshape(2, 3, width)


def _chosen(counts: Ints, trials: int, delta: float, risk: float) -> tuple[float, Ints]:
    """The largest bound (1) on the second part, and the labels of its event.

    Labels that are not in the first part have no place in the order, so no event has them.
    """
    shown = np.flatnonzero(counts[0, 0])
    ratios = (counts[0, 0, shown] + 0.5) / (counts[1, 0, shown] + 0.5)
    order = shown[np.argsort(-ratios, kind="stable")]
    hits: Floats = counts[:, 1, order].cumsum(axis=1).astype(np.float64)
    if not len(order):
        return 0.0, order
    more = near(hits[0], trials, risk / 2)[0] - delta
    less = near(hits[1], trials, risk / 2)[1]
    bounds = np.log(np.maximum(more, 1e-300)) - np.log(less)
    best = int(np.argmax(bounds))
    return float(bounds[best]), order[: best + 1]


def lower(hits: int, trials: int, risk: float) -> float:
    """A number that the probability exceeds, with confidence 1 - risk."""
    low, high = 0.0, 1.0 if hits else 0.0
    while low < (middle := (low + high) / 2) < high:  # until no number lies between them
        low, high = (middle, high) if tail(hits, trials, middle) <= risk else (low, middle)
    return low


def upper(hits: int, trials: int, risk: float) -> float:
    """A number that the probability stays below, with confidence 1 - risk."""
    return 1.0 - lower(trials - hits, trials, risk)


def tail(hits: int, trials: int, p: float) -> float:
    """P[at least so many hits], as a sum of probabilities on the shorter side."""
    if hits <= 0 or p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 0.0
    if hits < trials * p:
        return 1.0 - tail(trials - hits + 1, trials, 1.0 - p)
    ways = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
    first = math.exp(ways + hits * math.log(p) + (trials - hits) * math.log1p(-p))
    # Ratio i is at most exp(-i / (trials - hits)), so the product of the first i is small.
    few = math.isqrt(2 * NEGLIGIBLE * (trials - hits)) + 2
    more = np.arange(hits, min(trials, hits + few))
    ratios = (trials - more) / (more + 1) * (p / (1.0 - p))  # each probability over the one before
    return first * (1.0 + float(np.cumprod(ratios).sum()))


def near(hits: Floats, trials: int, risk: float) -> tuple[Floats, Floats]:
    """About the same bounds for many counts at once, by Wilson's score; good enough to search."""
    z = NormalDist().inv_cdf(1.0 - risk)
    share, slack = hits / trials, z * z / trials
    middle = share + slack / 2
    spread = np.sqrt(slack * (share * (1.0 - share) + slack / 4))
    return (middle - spread) / (1 + slack), (middle + spread) / (1 + slack)
