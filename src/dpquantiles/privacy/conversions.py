"""Numbers of privacy: how they are rounded, and formulas that turn one measure into another.

The rounding rule: numbers are exact fractions until they become doubles. Whatever is spent is
rounded down (`below`), whatever is stated is rounded up (`above`). A formula with exponentials or
logarithms is computed in doubles and multiplied or divided by `SAFE`, whichever is safe. Every
search ends on the side where the stated guarantee holds.
"""

import math
import struct
import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import lru_cache

from dpquantiles import require

SAFE = 1 - 1e-12
"""One step in doubles, including a function of the C library, is wrong by less than 2**-51 of its
result. Formulas here take fewer than a hundred steps, so their error is below 1e-13 where nothing
cancels. `bounded_range_rho` cancels the most: from terms of size one to 0.00125. It takes only a
few steps, so its error is still below 1e-12 of the result."""


def below(number: Fraction) -> float:
    """The largest double that is not above a number."""
    try:
        nearest = float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -math.inf
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def above(number: Fraction) -> float:
    """The least double that is not below a number."""
    return -below(-number)


def root_below(number: Fraction) -> float:
    """The largest double whose square is not above a number."""
    root = math.sqrt(below(number))
    while Fraction(root) ** 2 > number:
        root = math.nextafter(root, 0.0)
    return root


def reading(number: float) -> Fraction:
    """The decimal number that a double is written as: 1/10 for 0.1, whose double is a bit more."""
    return Fraction(repr(float(number)))


def written(number: Fraction) -> float:
    """The nearest double to a number, or the next one up if the nearest is written as less."""
    nearest = float(number)
    return nearest if reading(nearest) >= number else math.nextafter(nearest, math.inf)


def in_words(number: float, digits: int = 6) -> str:
    """A number in few digits, never rounded down."""
    nearest = f"{number:.{digits}g}"
    if float(nearest) >= number:
        return nearest
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(upward.create_decimal(repr(number))):.{digits}g}"


def greatest_double(holds: Callable[[float], bool]) -> float:
    """The greatest positive double up to which a condition holds; 0.0 if it never does.

    Positive doubles have the order of the integers with the same bits, so halving ends exactly.
    """
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(_double(middle)) else (low, middle)
    return _double(low)


def _double(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


SEARCH_STEPS = 200
HIGHEST_ORDER = 1e150
"""The limit of a search for the best Renyi order; its square is still a double."""

ROUNDING = 1e-11
"""An upper bound on the rounding error of one factor of a term of `composed_delta`, in nats."""


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
    """The delta of `calls` exponential mechanisms at `per_call` each, together at epsilon.

    Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (arXiv 1909.13830v3), Theorem 3, for mechanisms that are chosen beforehand.
    """
    if calls * Fraction(per_call) <= Fraction(epsilon):
        return 0.0
    levels = ((epsilon + (level + 1) * per_call) / (calls + 1) for level in range(calls))
    sums = (_excess(t, per_call, epsilon, calls) for t in levels if t < per_call)
    worst = max(sums, default=0.0)
    # Each loss is rounded by less than 2**-50 of the largest loss; chances add up to at most one.
    return min(1.0, worst * (1 + ROUNDING * calls) + 2.0**-50 * calls * per_call)


def _excess(t: float, per_call: float, epsilon: float, calls: int) -> float:
    """The sum of Theorem 3 for one t. Each call loses t or t - per_call, i calls the latter.

    The chances of these losses are p = (e^-t - e^-per_call) / (1 - e^-per_call) and 1 - p on one
    data set, and e^t p and e^(t - per_call) (1 - p) on its neighbor. The terms use the chances on
    the neighbor, which neither cancel nor overflow.
    """
    scale = math.log(-math.expm1(-per_call))
    log_first = math.log(-math.expm1(t - per_call)) - scale
    log_other = t - per_call + math.log(-math.expm1(-t)) - scale
    terms = []
    for i in range(calls + 1):
        loss = calls * t - i * per_call
        if loss <= epsilon:
            break
        log_count = math.lgamma(calls + 1) - math.lgamma(i + 1) - math.lgamma(calls - i + 1)
        log_chance = log_count + (calls - i) * log_first + i * log_other
        terms.append(math.exp(min(0.0, log_chance)) * -math.expm1(epsilon - loss))
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
    return _largest(lambda x: composed_delta(x, epsilon, calls) <= delta, 0.0, high)


@lru_cache(maxsize=1024)
def composed_epsilon(per_call: float, delta: float, calls: int) -> float:
    """The least epsilon of `calls` exponential mechanisms at `per_call` each, at this delta."""
    require.positive(per_call=per_call)
    require.fraction(delta=delta)
    require.count(minimum=1, calls=calls)
    top = above(calls * Fraction(per_call))
    return min(top, _smallest(lambda e: composed_delta(per_call, e, calls) <= delta, 0.0, top))


def bounded_range_rho(eta: float) -> float:
    """The rho of a mechanism whose privacy loss has a range of at most eta.

    Exponential mechanisms are of this kind. Dong, Durfee, Rogers (arXiv 1909.13830v3) reduce them
    to a randomized response. Its worst case is eta / (e^eta - 1) - 1 + ln((e^eta - 1) / eta), which
    is below eta^2 / 8. For a small eta this cancels, so the first terms of its alternating series
    eta^2 / 8 - eta^4 / 576 + eta^6 / 25920 - ... are used, which are above it.
    """
    require.positive(eta=eta)
    if eta < 0.1:
        return eta**2 / 8 * (1 - eta**2 / 72 * (1 - eta**2 / 45)) / SAFE
    if eta > 700:
        return (eta - 1 - math.log(eta)) / SAFE
    return (eta / math.expm1(eta) - 1 + math.log(math.expm1(eta) / eta)) / SAFE


@lru_cache(maxsize=1024)
def bounded_range_eta(rho: float) -> float:
    """The largest range whose `bounded_range_rho` is at most rho."""
    require.positive(rho=rho)
    top = max(1.0, 4 * math.sqrt(rho), 2 * rho + 10)
    return _largest(lambda eta: bounded_range_rho(eta) <= rho, 0.0, top)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The delta at which rho-zCDP gives (epsilon, delta)-DP.

    Canonne, Kamath, Steinke (arXiv 2004.00010v3), Corollary 13: the infimum over orders a of
    exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a. Every order gives a valid delta, so an
    inexact search is safe. The result is never zero.
    """
    require.positive(rho=rho)
    low, high = 1.01, max(2.0, min((epsilon + 1) / rho + 2, HIGHEST_ORDER))
    for _ in range(SEARCH_STEPS):
        order = (low + high) / 2
        slope = (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)
        low, high = (order, high) if slope < 0 else (low, order)
    log_delta = (high - 1) * (high * rho - epsilon) + high * math.log1p(-1 / high)
    delta = math.exp(min(0.0, log_delta - math.log(high - 1))) / SAFE
    # Take the next double, because tiny numbers are rounded by more than a factor, or to zero.
    return min(1.0, math.nextafter(delta, math.inf))


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


def renyi_excess(epsilon: float, delta: float) -> float:
    """The x for which 1 + x is the Renyi order that allows the largest rho at (epsilon, delta).

    The derivatives of `zcdp_delta` give rho = ln(1 / ((1 + x) delta)) / x^2 at that order, and
    epsilon = (1 + 2x) rho + ln(x / (1 + x)), which falls as x grows.
    """
    return greatest_double(
        lambda x: (1 + 2 * x) * _best_rho(x, delta) - math.log1p(1 / x) >= epsilon
    )


def _best_rho(x: float, delta: float) -> float:
    """The rho for which 1 + x is the best order at a delta."""
    return (-math.log(delta) - math.log1p(x)) / x / x


def renyi_limit(excess: float, epsilon: float, delta: float) -> float:
    """The most Renyi divergence of order 1 + excess within (epsilon, delta); negative if none."""
    gained, lost = _slack(excess, delta)
    return epsilon + gained - lost - (1 - SAFE) * (epsilon + gained + lost)


def renyi_epsilon(epsilon: float, rho: float, delta: float) -> float:
    """The least epsilon of a budget whose best order allows a divergence of epsilon + order rho."""
    excess = greatest_double(lambda x: epsilon + (1 + x) * rho <= (1 + x) * _best_rho(x, delta))
    spent = epsilon + (1 + excess) * rho
    gained, lost = _slack(excess, delta)
    least = spent - gained + lost + (1 - SAFE) * (spent + gained + lost)
    return max(math.ulp(0.0), least)


def _slack(x: float, delta: float) -> tuple[float, float]:
    """Two terms that turn a divergence of order 1 + x into an epsilon: one less, and one more.

    By equation (2) of `filters.md`, epsilon is
    divergence - ln(1 + 1/x) + ln(1 / ((1 + x) delta)) / x.
    """
    gained = math.log1p(1 / x) + math.log1p(x) / x
    return gained, -math.log(delta) / x
