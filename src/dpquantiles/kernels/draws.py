"""Exact draws from random bits: coins, integers, subsets, weighted choices, discrete Laplace.

A double p is a fraction num / 2**k, so a coin of probability p compares k random bits with num, and
is exact. Several coins make up a probability below the smallest double, so no tail is cut off.
"""

import math
import operator
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits, is_private
from dpquantiles.errors import InvalidValue
from dpquantiles.kernels.algebra import Algebra, Floats

FAINT = 512.0
"""A log probability below -FAINT is tossed as several coins."""

FAINTEST = 1e-200
"""Smaller odds are tossed by their logarithm, which cannot underflow."""


SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
"""Below this, doubles lose their relative precision."""


Take = Callable[[NDArray[np.int64]], NDArray[np.uint64]]
"""Takes a word of 64 random bits for each of the draws at these places."""


def words(bits: Bits, count: int) -> NDArray[np.uint64]:
    """`count` words of 64 random bits."""
    if is_private(bits):
        return np.frombuffer(os.urandom(8 * count), dtype="<u8")
    return np.frombuffer(bits.getrandbits(64 * count).to_bytes(8 * count, "little"), dtype="<u8")


def coin(bits: Bits, probability: float) -> bool:
    """True with exactly this probability."""
    numerator, denominator = probability.as_integer_ratio()
    return bits.getrandbits(denominator.bit_length() - 1) < numerator


def exp_coin(bits: Bits, log_probability: float) -> bool:
    """True with probability exp(log_probability), even where that underflows."""
    while log_probability < -FAINT:
        if log_probability == -math.inf or not coin(bits, math.exp(-FAINT)):
            return False
        log_probability += FAINT
    return coin(bits, math.exp(log_probability))


def chooses_first(bits: Bits, first: float, second: float, algebra: Algebra) -> bool:
    """True with probability first / (first + second), by a coin for the lighter side."""
    if first == second:
        return bits.getrandbits(1) == 0
    if first < second:
        return _chooses_lighter(bits, first, second, algebra)
    return not _chooses_lighter(bits, second, first, algebra)


def _chooses_lighter(bits: Bits, lighter: float, heavier: float, algebra: Algebra) -> bool:
    odds = algebra.odds(lighter, heavier)
    if odds > FAINTEST:
        return coin(bits, odds / (1.0 + odds))
    log_odds = algebra.log(lighter) - algebra.log(heavier)
    return exp_coin(bits, log_odds - math.log1p(math.exp(log_odds)))


def below(bits: Bits, bound: int) -> int:
    """A uniform integer in 0 .. bound-1, by rejection."""
    width = (bound - 1).bit_length()
    while (candidate := bits.getrandbits(width)) >= bound:
        pass
    return candidate


def weighted(
    bits: Bits,
    weights: Floats,
    algebra: Algebra,
    exact: Callable[[int], float] | None = None,
) -> int:
    """An index drawn in exact proportion to its weight; uniform if all weights are zero.

    In a unit that is a power of two, every weight is a whole number plus a fraction. Every index
    has as many places as its whole number, and one extra place. Draw a place. An extra place counts
    only with a probability equal to the fraction of its weight; otherwise draw again. So a weight
    below 2**-PRECISION of the largest may be stated as zero if `exact` knows it.
    """
    shares = algebra.shares(weights)
    largest = shares.item(shares.argmax())
    if not largest > 0.0:
        return below(bits, len(weights))
    exponent = min(PRECISION, SUM_BITS - len(shares).bit_length()) - math.frexp(largest)[1]
    ends = np.ldexp(shares, exponent).astype(np.int64).cumsum()
    total: int = ends.item(-1)
    while (place := below(bits, total + len(shares))) >= total:
        if exact is not None and weights[place - total] == algebra.zero:
            weights = weights.copy()
            weights[place - total] = exact(place - total)
            shares = algebra.shares(weights)
        share, weight = shares.item(place - total), weights.item(place - total)
        # For logarithms the largest share is 1, and a share below the normal doubles was rounded.
        # For doubles the shares are the weights themselves, and always exact.
        if share >= SMALLEST_NORMAL or largest < 1.0:
            counts = fraction_coin(bits, share, exponent)
        else:
            log_share = algebra.log(weight) - algebra.log(float(weights.max())) + math.log(largest)
            counts = exp_coin(bits, log_share + exponent * math.log(2))
        if counts:
            return place - total
    return int(ends.searchsorted(place, side="right"))


def fraction_coin(bits: Bits, share: float, exponent: int) -> bool:
    """True with a probability equal to the fractional part of share * 2**exponent."""
    numerator, denominator = share.as_integer_ratio()
    width = denominator.bit_length() - 1 - exponent
    return width > 0 and bits.getrandbits(width) < numerator % (1 << width)


def sorted_with_repeats(bits: Bits, choices: int, count: int) -> list[int]:
    """A uniform nondecreasing vector of `count` integers in 0 .. choices-1.

    Subtracting 0, 1, 2, ... from a sorted `count`-subset of 0 .. choices+count-2 gives such a
    vector. Floyd's method draws the subset.
    """
    chosen: set[int] = set()
    for top in range(choices - 1, choices + count - 1):
        candidate = below(bits, top + 1)
        chosen.add(top if candidate in chosen else candidate)
    return [element - shift for shift, element in enumerate(sorted(chosen))]


def bernoulli_exp(bits: Bits, exponent: Fraction) -> bool:
    """True with probability exp(-exponent), exactly, for a rational exponent >= 0.

    Canonne, Kamath, Steinke (arXiv 2004.00010v3), Algorithm 1.
    """
    while exponent > 1:
        if not _bernoulli_exp_fraction(bits, Fraction(1)):
            return False
        exponent -= 1
    return _bernoulli_exp_fraction(bits, exponent)


def _bernoulli_exp_fraction(bits: Bits, exponent: Fraction) -> bool:
    tosses = 1
    while below(bits, exponent.denominator * tosses) < exponent.numerator:
        tosses += 1
    return tosses % 2 == 1


def discrete_laplace(bits: Bits, epsilon: Fraction) -> int:
    """An integer z with probability proportional to exp(-epsilon |z|), exactly.

    Canonne, Kamath, Steinke (arXiv 2004.00010v3), Algorithm 2: a geometric magnitude with a fair
    sign; -0 is rejected.
    """
    while True:
        magnitude, negative = geometric(bits, epsilon), bits.getrandbits(1) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def geometric(bits: Bits, rate: Fraction) -> int:
    """An integer g >= 0 with probability proportional to exp(-rate g), exactly.

    Let rate = s/t. Draw u below t, accepted with probability exp(-u/t), and a geometric v of ratio
    exp(-1). Then x = u + t v has P[x] proportional to exp(-x/t), and floor(x/s) is the result.
    """
    s, t = rate.numerator, rate.denominator
    while not bernoulli_exp(bits, Fraction(remainder := below(bits, t), t)):
        pass
    quotient = 0
    while _bernoulli_exp_fraction(bits, Fraction(1)):
        quotient += 1
    return (remainder + t * quotient) // s


PRECISION, SUM_BITS = 52, 62
"""In `weighted`, the most bits of the largest weight and of the sum of all weights."""

WORD = 64
"""Random bits per step of a comparison with a real number."""

DIGIT = 1024
"""Outcomes of one digit of a geometric draw."""

LEAST_RATE, MOST_RATE = Fraction(1, 2**40), Fraction(2**9)
"""The rates that `discrete_laplaces` accepts; noise of smaller rates can overflow 64 bits."""


def discrete_laplaces(bits: Bits, epsilon: Fraction, count: int) -> NDArray[np.int64]:
    """`count` independent integers z with probability proportional to exp(-epsilon |z|), exactly.

    The difference of two geometric variables of ratio exp(-epsilon) has this law.
    """
    pairs = geometrics(lambda which: words(bits, len(which)), epsilon, 2 * count)
    return pairs[:count] - pairs[count:]


def geometrics(take: Take, rate: Fraction, count: int) -> NDArray[np.int64]:
    """`count` independent integers g >= 0 with probability proportional to exp(-rate g), exactly.

    In base DIGIT the digits of g are independent. The digit of place p has the value d with a
    probability proportional to exp(-rate p d). The top digit is unbounded: if a draw passes the end
    of the table, another draw is added, because a geometric variable has no memory.
    """
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise InvalidValue(f"epsilon must lie between 2**-40 and 2**9, got {float(rate)!r}")
    drawn, place, left = np.zeros(count, dtype=np.int64), 1, np.arange(count)
    while rate * place * 32 < 1:
        drawn += place * _categories(take, rate * place, DIGIT, True, left)
        place *= DIGIT
    length = min(DIGIT, math.ceil(32 / (rate * place)))
    while len(left):
        digits = _categories(take, rate * place, length, False, left)
        drawn[left] += place * digits
        left = left[digits == length]
    return drawn


def _categories(
    take: Take, rate: Fraction, length: int, closed: bool, which: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw by inversion: count how many of the `cumulative` bounds a uniform number passes.

    A uniform number is an infinite sequence of words. Its first word decides, unless it equals the
    first word of a bound. Then more words are drawn until they differ from those of every bound.
    """
    bounds = np.array(cumulative(rate, length, closed, WORD), dtype=np.uint64)
    first = take(which) >> np.uint64(64 - WORD)
    passed = np.searchsorted(bounds, first, side="left")
    for index in np.flatnonzero(passed < np.searchsorted(bounds, first, side="right")).tolist():
        more = partial(take, which[index : index + 1])
        passed[index] = _refined(more, rate, length, closed, first.item(index))
    return passed.astype(np.int64)


def _refined(
    more: Callable[[], NDArray[np.uint64]], rate: Fraction, length: int, closed: bool, number: int
) -> int:
    """The category of a uniform number that starts with this word."""
    width = WORD
    while True:
        width += WORD
        number = number << WORD | more().item() >> 64 - WORD
        bounds = cumulative(rate, length, closed, width)
        passed = bisect_left(bounds, number)
        if passed == bisect_right(bounds, number):
            return passed


@lru_cache(maxsize=64)
def cumulative(rate: Fraction, length: int, closed: bool, width: int) -> tuple[int, ...]:
    """The first `width` bits of the cumulative probabilities of a geometric digit.

    They are 1 - exp(-rate k) for k = 1 .. length. A closed digit is at most `length` - 1, so they
    are divided by 1 - exp(-rate length), and the last one, which is 1, is left out. They are
    irrational, so enough decimal places determine all of these bits.
    """
    digits = 30 + width // 3
    while True:
        # A separate context, because the caller's may forbid rounding.
        with localcontext(Context(prec=digits)):
            ratio = (-Decimal(rate.numerator) / rate.denominator).exp()
            powers = list(accumulate(repeat(ratio, length), operator.mul))
            whole = 1 - powers[-1] if closed else Decimal(1)
            scaled = [(1 - power) / whole * 2**width for power in powers]
            slack = Decimal(2) ** width * 4 * (length + 2) / Decimal(10) ** (digits - 15)
            floors = [(int(x - slack), int(x + slack)) for x in scaled[: length - closed]]
        if all(low == high for low, high in floors):
            return tuple(low for low, _ in floors)
        digits += 20
