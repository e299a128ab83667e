"""Exact draws: probabilities are read off all bit patterns, or fitted at a fixed seed."""

import contextlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Logarithms, ScaledDoubles


class Script:
    """Bits that are read from a given integer, most significant first."""

    def __init__(self, value: int, length: int) -> None:
        self.value, self.left = value, length

    def getrandbits(self, k: int, /) -> int:
        self.left -= k
        return (self.value >> self.left) & ((1 << k) - 1)


@pytest.mark.parametrize("probability", [0.0, 0.125, 0.3125, 0.5, 0.875, 1.0])
def test_coin_is_exact(probability: float) -> None:
    heads = sum(draws.coin(Script(value, 4), probability) for value in range(16))
    assert heads == 16 * probability


def test_coin_reads_as_many_bits_as_its_probability_has() -> None:
    tiny = 2.0**-1074
    assert draws.coin(Script(0, 1074), tiny)
    assert not draws.coin(Script(1, 1074), tiny)


def test_faint_coins_are_not_cut_off() -> None:
    """exp(-2000) is no double; with all bits zero the coin still falls."""
    assert draws.exp_coin(Script(0, 10**5), -2000.0)
    assert not draws.exp_coin(Script(0, 10**5), -math.inf)
    assert not draws.exp_coin(Script((1 << 4000) - 1, 4000), -2000.0)


@pytest.mark.parametrize("log_probability", [-0.5, -40.0, -511.9, -512.1, -1024.1, -5000.0])
def test_faint_coins_have_their_probability(
    log_probability: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The product of all coins that must fall is the probability."""
    tossed: list[float] = []

    def falls(_bits: object, probability: float) -> bool:
        tossed.append(math.log(probability))
        return True

    monkeypatch.setattr(draws, "coin", falls)
    assert draws.exp_coin(random.Random(0), log_probability)
    assert math.fsum(tossed) == pytest.approx(log_probability, rel=1e-12)


def test_coins_use_all_bits_of_their_probability() -> None:
    """0.1 as a double has 55 bits after the point; a coin of 53 random bits would be off."""
    numerator, denominator = (0.1).as_integer_ratio()
    width = denominator.bit_length() - 1
    assert draws.coin(Script(numerator - 1, width), 0.1)
    assert not draws.coin(Script(numerator, width), 0.1)


def test_equal_sides_get_a_fair_coin() -> None:
    assert draws.chooses_first(Script(0, 1), -math.inf, -math.inf, Logarithms())
    assert not draws.chooses_first(Script(1, 1), 3.0, 3.0, Logarithms())


@pytest.mark.parametrize(
    ("first", "second", "algebra"),
    [
        (2.0, 6.0, ScaledDoubles(10.0, 40.0)),
        (6.0, 2.0, ScaledDoubles(10.0, 40.0)),
        (1e-300, 1e300, ScaledDoubles(10.0, 40.0)),
        (math.log(2), math.log(6), Logarithms()),
        (-800.0, 300.0, Logarithms()),
    ],
)
def test_tosses_have_their_probability(
    first: float,
    second: float,
    algebra: Logarithms | ScaledDoubles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The coins that must fall for the lighter side have its share as their product."""
    tossed: list[float] = []

    def falls(_bits: object, probability: float) -> bool:
        tossed.append(math.log(probability))
        return True

    monkeypatch.setattr(draws, "coin", falls)
    assert draws.chooses_first(random.Random(0), first, second, algebra) == (first < second)
    log_odds = -abs(algebra.log(first) - algebra.log(second))
    expected = log_odds - math.log1p(math.exp(log_odds))
    assert math.fsum(tossed) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 8, 1000])
def test_below_is_uniform(bound: int) -> None:
    bits = random.Random(4)
    counts = Counter(draws.below(bits, bound) for _ in range(2000))
    assert set(counts) <= set(range(bound))
    if bound > 1:
        observed = [counts[i] for i in range(bound)]
        assert stats.chisquare(observed).pvalue > 1e-3


def test_sorted_with_repeats_is_uniform() -> None:
    bits = random.Random(8)
    drawn = Counter(tuple(draws.sorted_with_repeats(bits, 4, 3)) for _ in range(8000))
    vectors = list(itertools.combinations_with_replacement(range(4), 3))
    assert set(drawn) == set(vectors)
    assert stats.chisquare([drawn[v] for v in vectors]).pvalue > 1e-3


def test_sorted_with_repeats_of_one_point() -> None:
    assert draws.sorted_with_repeats(random.Random(1), 1, 5) == [0] * 5


@pytest.mark.parametrize("algebra", [Logarithms(), ScaledDoubles(10.0, 40.0)])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13])
def test_weighted_follows_its_weights(algebra: Logarithms | ScaledDoubles, length: int) -> None:
    logs = np.log(np.arange(1.0, length + 1))
    weights = logs if isinstance(algebra, Logarithms) else np.exp(logs)
    bits = random.Random(length)
    counts = Counter(draws.weighted(bits, weights, algebra) for _ in range(4000))
    expected = np.arange(1.0, length + 1) / np.arange(1.0, length + 1).sum() * 4000
    observed = [counts[i] for i in range(length)]
    assert sum(observed) == 4000
    if length > 1:
        assert stats.chisquare(observed, expected).pvalue > 1e-3


@pytest.mark.parametrize("scale", [1.0, 2.0**-640, 2.0**-1060, 2.0**900])
@pytest.mark.parametrize("weights", [[1.0], [0.75, 3.0, 0.0, 0.6875], [5.0, 1.625, 1.0, 2**-9]])
def test_weighted_is_exact(
    weights: list[float], scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all places, and all bits of the coins for fractions, every weight gets its share."""
    weights = [weight * scale for weight in weights]
    monkeypatch.setattr(draws, "PRECISION", 3)
    drawn = dict.fromkeys(range(len(weights)), Fraction(0))
    fraction = Fraction(1)

    def toss(_bits: object, share: float, exponent: int) -> bool:
        nonlocal fraction
        fraction = Fraction(share) * Fraction(2) ** exponent % 1
        return True

    monkeypatch.setattr(draws, "fraction_coin", toss)
    chosen, bound = 0, 1
    while chosen < bound:
        fraction, asked = Fraction(1), iter([chosen])

        def place(_bits: object, most: int, asked: Iterator[int] = asked) -> int:
            nonlocal bound
            bound = most
            return next(asked)

        monkeypatch.setattr(draws, "below", place)
        with contextlib.suppress(StopIteration):  # no weight at all: another place is drawn
            index = draws.weighted(random.Random(0), np.array(weights), ScaledDoubles(0.0, 40.0))
            drawn[index] += fraction
        chosen += 1
    unit = drawn[0] / Fraction(weights[0])
    assert drawn == {i: unit * Fraction(weight) for i, weight in enumerate(weights)}


@pytest.mark.parametrize(("share", "exponent"), [(0.3125, 2), (0.3125, 3), (5.0, -4), (5.0, 0)])
def test_the_coin_of_a_fraction_is_exact(share: float, exponent: int) -> None:
    heads = sum(draws.fraction_coin(Script(value, 6), share, exponent) for value in range(64))
    assert Fraction(heads, 64) == Fraction(share) * Fraction(2) ** exponent % 1


def test_weighted_reaches_what_is_no_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """exp(-2000) as a share underflows; its place is drawn, and its coin has that probability."""
    tossed: list[float] = []

    def falls(_bits: object, log_probability: float) -> bool:
        tossed.append(log_probability)
        return True

    monkeypatch.setattr(draws, "exp_coin", falls)
    monkeypatch.setattr(draws, "below", lambda _bits, bound: bound - 1)
    weights = np.array([7.0, 7.0 - 2000.0])
    assert draws.weighted(random.Random(0), weights, Logarithms()) == 1
    unit = (draws.PRECISION - 1) * math.log(2)
    assert tossed == [pytest.approx(unit - 2000.0, abs=1e-9)]


def test_without_weight_any_index_will_do() -> None:
    bits = random.Random(2)
    for algebra in (Logarithms(), ScaledDoubles(0.0, 40.0)):
        weights = np.full(3, algebra.zero)
        assert {draws.weighted(bits, weights, algebra) for _ in range(50)} == {0, 1, 2}


def test_weighted_skips_what_has_no_mass() -> None:
    weights = np.array([-np.inf, -5000.0, -np.inf])
    assert draws.weighted(random.Random(1), weights, Logarithms()) == 1


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 3)])
def test_bernoulli_exp_has_its_probability(exponent: Fraction) -> None:
    bits = random.Random(6)
    heads = sum(draws.bernoulli_exp(bits, exponent) for _ in range(20_000))
    test = stats.binomtest(heads, 20_000, math.exp(-exponent))
    assert test.pvalue > 1e-3


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_discrete_laplace_has_its_law(epsilon: float) -> None:
    bits = random.Random(9)
    drawn = Counter(draws.discrete_laplace(bits, Fraction(epsilon)) for _ in range(20_000))

    def fit(rate: float) -> float:
        top = max(1, int(4 / rate))
        scale = (1 - math.exp(-rate)) / (1 + math.exp(-rate))
        expected = [20_000 * scale * math.exp(-rate * abs(z)) for z in range(-top, top + 1)]
        observed = [float(drawn[z]) for z in range(-top, top + 1)]
        rest = 20_000 - sum(observed), 20_000 - sum(expected)
        return float(stats.chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue)

    assert fit(epsilon) > 1e-3
    assert fit(0.8 * epsilon) < 1e-6
    assert fit(1.2 * epsilon) < 1e-6
