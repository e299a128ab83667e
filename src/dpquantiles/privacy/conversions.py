"""Formulas that turn one measure of privacy into another; plain numbers, rounded to the safe side.

Every search ends on the side where the stated guarantee holds.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from dpquantiles import require

SEARCH_STEPS = 200
SAFE = 1 - 1e-12


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest x in [low, high] for which a monotone condition holds, from below."""
    if holds(high):
        return high
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest x in [low, high] for which a monotone condition holds, from above."""
    while not holds(high):
        low, high = high, 2 * high
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def composed_delta(per_call: float, epsilon: float, calls: int) -> float:
    """delta of `calls` exponential mechanisms at `per_call` each, together at epsilon.

    Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (arXiv 1909.13830v3), Theorem 3, for mechanisms that are chosen beforehand.
    """
    if calls * per_call <= epsilon:
        return 0.0
    worst = 0.0
    for level in range(calls + 1):
        t = min(max((epsilon + (level + 1) * per_call) / (calls + 1), 0.0), per_call)
        worst = max(worst, _excess(t, per_call, epsilon, calls))
    return min(1.0, worst / SAFE)


def _excess(t: float, per_call: float, epsilon: float, calls: int) -> float:
    """The sum of Theorem 3 for one t: calls Bernoulli losses t or t - per_call."""
    p = (math.exp(-t) - math.exp(-per_call)) / -math.expm1(-per_call)
    if p <= 0:
        return 0.0
    log_p, log_other = math.log(p), math.log1p(-p) if p < 1 else -math.inf
    terms = []
    for i in range(calls + 1):
        loss = calls * t - i * per_call
        if loss <= epsilon:
            break
        log_count = math.lgamma(calls + 1) - math.lgamma(i + 1) - math.lgamma(calls - i + 1)
        other = i * log_other if i else 0.0
        log_weight = log_count + (calls - i) * log_p + other + epsilon
        if log_weight > -745:
            terms.append(math.exp(log_weight) * math.expm1(loss - epsilon))
    return math.fsum(terms)


@lru_cache(maxsize=1024)
def per_call_epsilon(epsilon: float, delta: float, calls: int) -> float:
    """The largest epsilon at which `calls` exponential mechanisms together are (epsilon, delta)-DP.

    The mechanisms must be chosen beforehand (nonadaptive). The inverse of `composed_epsilon`.
    """
    require.positive(epsilon=epsilon)
    require.fraction(delta=delta)
    require.count(minimum=1, calls=calls)
    high = 2 * epsilon
    while composed_delta(high, epsilon, calls) <= delta:
        high *= 2
    return _largest(lambda x: composed_delta(x, epsilon, calls) <= delta, epsilon / calls, high)


@lru_cache(maxsize=1024)
def composed_epsilon(per_call: float, delta: float, calls: int) -> float:
    """The least epsilon of `calls` exponential mechanisms at `per_call` each, at this delta."""
    require.positive(per_call=per_call)
    require.fraction(delta=delta)
    require.count(minimum=1, calls=calls)
    top = calls * per_call
    return min(top, _smallest(lambda e: composed_delta(per_call, e, calls) <= delta, 0.0, top))


def bounded_range_rho(eta: float) -> float:
    """rho of a mechanism whose privacy loss has a range of at most eta, such as an exponential one.

    Dong, Durfee, Rogers (arXiv 1909.13830v3) reduce such a mechanism to a randomized response; its
    worst case gives eta / (e^eta - 1) - 1 + ln((e^eta - 1) / eta), which is below eta^2 / 8. Where
    that cancels, its series eta^2 / 8 - eta^4 / 576 + eta^6 / 25920 - ... is cut off above it.
    """
    require.positive(eta=eta)
    if eta < 0.1:
        return eta**2 / 8 * (1 - eta**2 / 72 * (1 - eta**2 / 45)) / SAFE
    if eta > 700:
        return (eta - 1 - math.log(eta)) / SAFE
    return (eta / math.expm1(eta) - 1 + math.log(math.expm1(eta) / eta)) / SAFE


def bounded_range_eta(rho: float) -> float:
    """The largest range whose `bounded_range_rho` is at most rho."""
    require.positive(rho=rho)
    top = max(1.0, 4 * math.sqrt(rho), 2 * rho + 10)
    return _largest(lambda eta: bounded_range_rho(eta) <= rho, 0.0, top)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The delta at which rho-zCDP gives (epsilon, delta)-DP.

    Canonne, Kamath, Steinke (arXiv 2004.00010v3), Corollary 13: the infimum over orders a of
    exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a. Every order gives a valid delta, so the
    search for the best one cannot err on the wrong side.
    """
    require.positive(rho=rho)
    low, high = 1.01, max(2.0, (epsilon + 1) / rho + 2)
    for _ in range(SEARCH_STEPS):
        order = (low + high) / 2
        slope = (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)
        low, high = (order, high) if slope < 0 else (low, order)
    log_delta = (high - 1) * (high * rho - epsilon) + high * math.log1p(-1 / high)
    return min(1.0, math.exp(min(0.0, log_delta - math.log(high - 1))) / SAFE)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least epsilon at which rho-zCDP gives (epsilon, delta)-DP."""
    require.positive(rho=rho)
    require.fraction(delta=delta)
    guess = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return _smallest(lambda epsilon: zcdp_delta(rho, epsilon) <= delta, 0.0, guess)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho at which rho-zCDP gives (epsilon, delta)-DP."""
    require.positive(epsilon=epsilon)
    require.fraction(delta=delta)
    return _largest(lambda rho: rho <= 0 or zcdp_delta(rho, epsilon) <= delta, 0.0, epsilon + 1)
