"""Confidence bounds on a probability from counts: exact ones for proof, fast ones for search.

A Clopper-Pearson bound is the probability at which as many hits, or more, have a chance of just
`risk`: it holds with confidence 1 - risk for every true probability and any number of trials.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from dpquantiles.kernels.algebra import Floats

HALVINGS = 200
"""Enough for bounds as small as a double can be; the search stops when it moves no more."""

MOST_TERMS = 100_000
TINY = 1e-300


def lower(hits: int, trials: int, risk: float) -> float:
    """A number that the probability exceeds, with confidence 1 - risk."""
    if hits == 0:
        return 0.0
    return _crossing(lambda p: tail(hits, trials, p) <= risk)[0]


def upper(hits: int, trials: int, risk: float) -> float:
    """A number that the probability stays below, with confidence 1 - risk."""
    if hits == trials:
        return 1.0
    return _crossing(lambda p: 1.0 - tail(hits + 1, trials, p) > risk)[1]


def _crossing(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Where a condition that holds for small numbers ends: the last and the first beyond it."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def tail(hits: int, trials: int, p: float) -> float:
    """P[at least so many hits], which is the regularized incomplete beta function."""
    if hits <= 0 or p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 0.0
    a, b = float(hits), float(trials - hits + 1)
    if p > (a + 1) / (a + b + 2):
        return 1.0 - _front(b, a, 1.0 - p)
    return _front(a, b, p)


def _front(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction (Lentz), for x below its mean or little above."""
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1))
    fraction = d
    for k in range(1, MOST_TERMS):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        for term in (even, odd):
            d = 1.0 / _apart(1.0 + term * d)
            c = _apart(1.0 + term / c)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return math.exp(log_front) * fraction / a


def _apart(x: float) -> float:
    """The number, kept away from zero."""
    return x if abs(x) > TINY else TINY


def near(hits: Floats, trials: int, risk: float) -> tuple[Floats, Floats]:
    """About the same bounds for many counts at once, by Wilson's score: good enough to search."""
    z = NormalDist().inv_cdf(1.0 - risk)
    share, slack = hits / trials, z * z / trials
    middle = share + slack / 2
    spread = np.sqrt(slack * (share * (1.0 - share) + slack / 4))
    return (middle - spread) / (1 + slack), (middle + spread) / (1 + slack)
