"""Upper bounds on the chance that noise or sampling moves a measured rank by a given amount.

The noise of a measured rank is (1 - share) U + share V, where U and V are sums of independent
discrete Laplace variables, P[z] proportional to exp(-rate |z|). All functions round chances up.
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FINEST_RATE = 0.02
"""For smaller rates, noise is counted in steps of several records."""

SLACK = 1e-11
"""More than the error of the Fourier transform: rounding, and its finite length."""

MOST_DEVIATION = 1e5
"""Up to this standard deviation, the binomial distribution of sampling is summed exactly."""


class Sum(NamedTuple):
    """The distribution of a sum; entry i belongs to the value i - half."""

    half: int
    chance: Floats
    tail: Floats
    """The chance of this value or more."""


@lru_cache(maxsize=512)
def noise_sum(rate: float, terms: int) -> Sum:
    """The distribution of a sum of discrete Laplace variables, by its characteristic function.

    One variable has (1 - p)^2 / (1 - 2 p cos t + p^2) with p = exp(-rate): real and positive.
    """
    half = math.ceil((8 * math.sqrt(2 * terms) + 45) / rate) + 1
    length = 1 << (2 * half + 1).bit_length()
    p, angle = math.exp(-rate), 2 * np.pi * np.arange(length // 2 + 1) / length
    one = (1 - p) ** 2 / ((1 - p) ** 2 + 4 * p * np.sin(angle / 2) ** 2)
    circle = np.maximum(np.fft.irfft(one**terms, length), 0.0)
    chance = np.concatenate([circle[-half:], circle[: half + 1]])
    return Sum(half, chance, np.cumsum(chance[::-1])[::-1])


def noise_tail(least: float, *, rate: float, left: int, right: int, share: float) -> float:
    """The chance that (1 - share) U + share V >= `least`, U of `left` and V of `right` terms."""
    step = max(1, math.floor(FINEST_RATE / rate))
    if step > 1:
        # A geometric variable is floor(E / rate) for an exponential E. It is at most `step` times
        # the variable of the same E at rate `step * rate`, plus `step`.
        least = least / step - (left * (1 - share) + right * share)
    low, high = noise_sum(step * rate, left), noise_sum(step * rate, right)
    values = np.arange(-low.half, low.half + 1)
    with np.errstate(all="ignore"):
        needed = np.ceil((least - 1e-6 - (1 - share) * values) / share)
    # With share = 0 the right side has no weight, and 0 / 0 means "already reached".
    needed = np.clip(np.nan_to_num(needed, nan=-np.inf), -high.half, high.half + 1)
    tail = np.append(high.tail, 0.0)
    return float(low.chance @ tail[(needed + high.half).astype(np.int64)]) + SLACK


def log_noise_bound(
    least: Floats, *, rate: float, left: NDArray[np.int64], right: NDArray[np.int64], share: Floats
) -> Floats:
    """Chernoff's bound on the log of `noise_tail`, for many cuts at once, at a few tilts."""
    best = np.zeros(len(least))
    for tilt in (0.1, 0.2, 0.3, 0.5, 0.7):
        grown = left * _log_moment(tilt * rate * (1 - share), rate)
        grown += right * _log_moment(tilt * rate * share, rate)
        best = np.minimum(best, grown - tilt * rate * least)
    return best


def _log_moment(tilt: Floats, rate: float) -> Floats:
    """log E[exp(tilt z)] for one discrete Laplace variable z, with |tilt| < rate."""
    p = math.exp(-rate)
    moment = -np.log1p(-p * np.expm1(tilt) / (1 - p)) - np.log1p(-p * np.expm1(-tilt) / (1 - p))
    return np.asarray(moment, dtype=np.float64)


def noise_margin(chance: float, *, rate: float, terms: int) -> int:
    """The smallest margin that a sum of `terms` variables reaches with at most this chance."""
    low, high = 0, 1
    while noise_tail(high, rate=rate, left=terms, right=0, share=0.0) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        reached = noise_tail(middle, rate=rate, left=terms, right=0, share=0.0)
        low, high = (middle, high) if reached > chance else (low, middle)
    return high


@lru_cache(maxsize=4096)
def sampling_margin(n: int, q: float, chance: float) -> float:
    """How far below q n the number of records up to the population's q-quantile may be.

    Fewer than q n - margin of n drawn records lie at or below it with at most this chance. The
    number of these records is binomial, or larger where there are ties. The margin is q n if
    nothing can be said.
    """
    deviation = math.sqrt(n * q * (1 - q))
    if deviation == 0:
        return 0.0
    if deviation > MOST_DEVIATION:
        return -NormalDist().inv_cdf(chance) * deviation * 1.001 + 1
    window = math.ceil(12 * deviation) + 60
    mode = min(n, math.floor((n + 1) * q))
    first, last = max(0, mode - window), min(n, mode + window)
    k = np.arange(first, last, dtype=np.float64)
    ratios = np.log(n - k) - np.log(k + 1) + math.log(q) - math.log1p(-q)
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    at_most = np.cumsum(weights) / weights.sum() * (1 + 1e-9)
    # The largest k such that fewer than k records have at most this chance.
    fewest = first + int(np.searchsorted(at_most, chance, side="right"))
    return q * n - fewest
