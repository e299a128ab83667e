"""Draws for many columns at once: each has exactly the probability that its masses say."""

import math
import os
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpquantiles import entropy
from dpquantiles.auditing.laws import Explorer
from dpquantiles.kernels import draws, many_draws


class Scripted:
    """Bits that were written down beforehand."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def getrandbits(self, k: int) -> int:
        value = self.left.pop(0)
        assert 0 <= value < 2**k or value == 0
        return value


def row(*words: int) -> int:
    """Words as one long number, the first one lowest."""
    return sum(word << (64 * place) for place, word in enumerate(words))


@pytest.mark.parametrize("probability", [0.5, 0.1, 1 / 3, 2.0**-11, 1e-5])
def test_a_coin_compares_64_bits(probability: float) -> None:
    edge = int(probability * 2.0**64)
    drawn = Scripted(row(edge - 1, edge + 1, 0, 2**64 - 1))
    heads = many_draws.coins(drawn, np.full(4, probability))
    assert heads.tolist() == [True, False, True, False]


@pytest.mark.parametrize("probability", [1e-5, 2.0**-70, 1e-300])
@pytest.mark.parametrize("offset", [-1, 0])
def test_a_tie_is_settled_by_the_bits_that_are_left(probability: float, offset: int) -> None:
    edge = int(probability * 2.0**64)
    rest = probability * 2.0**64 - edge
    numerator, denominator = rest.as_integer_ratio()
    assert numerator > 0
    drawn = Scripted(row(edge), numerator + offset)
    assert denominator > 1
    assert many_draws.coins(drawn, np.array([probability])).tolist() == [offset < 0]


def test_a_coin_without_probability_never_falls() -> None:
    assert not many_draws.coins(Scripted(row(0), 0), np.array([0.0])).any()


def test_choices_follow_their_masses() -> None:
    bits, count = random.Random(5), 20_000
    for first, second in ((1.0, 3.0), (3.0, 1.0), (2.0, 2.0), (0.0, 1.0), (1.0, 0.0)):
        chosen = many_draws.choose_first(bits, np.full(count, first), np.full(count, second))
        share = first / (first + second)
        if share in (0.0, 1.0):
            assert chosen.all() == bool(share)
        else:
            assert stats.binomtest(int(chosen.sum()), count, share).pvalue > 1e-3
            assert stats.binomtest(int(chosen.sum()), count, share * 0.9).pvalue < 1e-6


def test_choices_of_logarithms_and_of_doubles_agree() -> None:
    bits, count = random.Random(6), 20_000
    logs = np.full(count, -700.0), np.full(count, -700.0 + math.log(4))
    chosen = many_draws.choose_first_of_logs(bits, *logs)
    assert stats.binomtest(int(chosen.sum()), count, 0.2).pvalue > 1e-3
    nothing = many_draws.choose_first_of_logs(bits, logs[0], np.full(count, -np.inf))
    assert nothing.all()


def test_faint_odds_are_tossed_by_their_logarithm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def faint(_: object, log_odds: float) -> bool:
        asked.append(log_odds)
        return True

    monkeypatch.setattr(many_draws, "_faint_coin", faint)
    first, second = np.array([1e-300, 1.0]), np.array([1.0, 1e-250])
    chosen = many_draws.choose_first(random.Random(1), first, second)
    assert chosen.tolist() == [True, False]
    assert asked == pytest.approx([-300 * math.log(10), -250 * math.log(10)])


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8])
def test_rows_are_drawn_by_weight_in_every_column(length: int) -> None:
    copies = 8000
    patterns = np.array([np.arange(1.0, length + 1), np.arange(length, 0.0, -1), np.ones(length)])
    drawn = many_draws.weighted(random.Random(length), np.repeat(patterns, copies, axis=0).T)
    for pattern, found in zip(patterns, drawn.reshape(3, copies), strict=True):
        counts = np.bincount(found, minlength=length)
        assert len(counts) == length
        if length > 1:
            expected = copies * pattern / pattern.sum()
            assert stats.chisquare(counts, expected).pvalue > 1e-3


WEIGHTS = [
    (7.0, 1.0, 0.0, 5.0),
    (0.1, math.pi, 1e-9),
    (0.0, 2.0),
    (3.0,),
    (0.0, 0.0, 0.0),
    (1.0, 2.0, 3.0, 1.0, 0.5),
]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("precision", [-1, 0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 2.0**-900, 2.0**-1060, 2.0**1000])
def test_every_row_has_exactly_its_share(
    weights: tuple[float, ...], precision: int, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By exploring all places, where extra places count with the fraction of their weight."""
    column = np.array(weights)[:, None] * scale
    whole = sum(map(Fraction, column[:, 0].tolist()))
    explorer, shares, draw_once = Explorer(), [0.0] * len(weights), many_draws.weighted

    def below(_: object, bounds: Any) -> Any:
        return np.array([explorer.choose([1.0] * int(bound)) for bound in bounds])

    def coin(_: object, share: float, exponent: int) -> bool:
        part = float(Fraction(share) * Fraction(2) ** exponent % 1)
        return part > 0 and explorer.choose([part, 1 - part]) == 0

    monkeypatch.setattr(many_draws, "PRECISION", precision)
    monkeypatch.setattr(many_draws, "below", below)
    monkeypatch.setattr(draws, "fraction_coin", coin)
    monkeypatch.setattr(many_draws, "weighted", lambda *_: np.array([-1]))  # it draws again
    while True:
        row = int(draw_once(random.Random(0), column)[0])
        if row >= 0:
            shares[row] += explorer.probability
        if not explorer.advance():
            break
    for share, weight in zip(shares, column[:, 0].tolist(), strict=True):
        expected = float(Fraction(weight) / whole) if whole else 1 / len(weights)
        assert math.isclose(share / math.fsum(shares), expected, rel_tol=1e-12)


def test_columns_draw_again_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coarse places most columns draw again, each by its own weights."""
    monkeypatch.setattr(many_draws, "PRECISION", -3)
    columns = np.repeat([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0]], 4000, axis=0).T
    drawn = many_draws.weighted(random.Random(4), columns).reshape(2, 4000)
    for found, shares in zip(drawn, ([1 / 3, 2 / 3, 0], [0, 1 / 6, 5 / 6]), strict=True):
        counts, expected = np.bincount(found, minlength=3), 4000 * np.array(shares)
        kept = expected > 0
        assert counts[kept].sum() == 4000
        assert stats.chisquare(counts[kept], expected[kept]).pvalue > 1e-3


def test_faint_and_large_weights_stand_side_by_side() -> None:
    columns = np.array([[5e-324, 0.0], [1e-310, 0.0], [0.0, 1e300], [0.0, 1e-300]]).T
    drawn = many_draws.weighted(random.Random(2), np.repeat(columns, 50, axis=1))
    assert drawn.reshape(4, 50).tolist() == [[0] * 50, [0] * 50, [1] * 50, [1] * 50]


def test_the_last_words_are_rejected() -> None:
    """2**64 is 3 k + 1, so one word is left over; powers of two leave none."""
    words = Scripted(row(2**64 - 1, 2**64 - 2, 2**64 - 1, 5), row(4))
    assert many_draws.below(words, np.array([3, 3, 4, 1])).tolist() == [1, 2, 3, 0]
    bound = 2**63 - 1  # 2**64 is twice this bound and 2
    words = Scripted(row(2**64 - 2), row(2**64 - 3))
    assert many_draws.below(words, np.array([bound])).tolist() == [bound - 1]


def test_private_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """All others are asked for as one number, and one word after the other has its bits."""
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", urandom)
    words = draws.words(entropy.system(), 2)
    assert words.tolist() == [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    assert draws.words(Scripted(row(3, 4)), 2).tolist() == [3, 4]
    assert asked == [16]


def test_integers_below_bounds_are_uniform() -> None:
    bounds = np.tile([1, 2, 3, 2**62 - 1], 3000)
    drawn = many_draws.below(random.Random(9), bounds)
    assert (drawn >= 0).all()
    assert (drawn < bounds).all()
    assert not drawn[0::4].any()
    for bound, place in ((2, 1), (3, 2)):
        counts = Counter(drawn[place::4].tolist())
        assert stats.chisquare([counts[k] for k in range(bound)]).pvalue > 1e-3
    assert stats.kstest(drawn[3::4] / 2.0**62, "uniform").pvalue > 1e-3


def test_a_choice_between_nothing_and_nothing_is_quiet() -> None:
    """Columns of which no mass is left are asked as well; they must not disturb the others."""
    first, second = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    chosen = many_draws.choose_first(random.Random(1), first, second)
    assert chosen[1:].tolist() == [True, False]


def test_vectors_with_repeats_are_uniform() -> None:
    bits, count = random.Random(3), 8000
    drawn = many_draws.sorted_with_repeats(bits, np.full(count, 4), 3)
    found = Counter(map(tuple, drawn.T.tolist()))
    assert len(found) == 20
    assert stats.chisquare(list(found.values())).pvalue > 1e-3


def test_vectors_of_every_column_have_their_own_choices() -> None:
    choices = np.array([1, 2, 2**62, 7])
    drawn = many_draws.sorted_with_repeats(random.Random(1), choices, 5)
    assert (drawn >= 0).all()
    assert (drawn < choices).all()
    assert (np.diff(drawn, axis=0) >= 0).all()
    wide = many_draws.sorted_with_repeats(random.Random(1), np.array([2**63 - 1]), 3)
    assert wide.shape == (3, 1)
    assert (np.diff(wide, axis=0) >= 0).all()
