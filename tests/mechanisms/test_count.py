"""PrivateCount: its noise is tested with the draws; here its use of it."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpquantiles.mechanisms.count import COUNT_SHARE, PrivateCount
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP


def test_count_is_never_negative() -> None:
    count, bits = (
        PrivateCount(budget=PureDP(epsilon=0.1, neighbors=Neighbors.ADD_REMOVE)),
        random.Random(1),
    )
    assert min(count.draw(0, bits) for _ in range(200)) == 0


def test_count_is_near_the_truth() -> None:
    count, bits = (
        PrivateCount(budget=PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)),
        random.Random(2),
    )
    drawn = [count.draw(1000, bits) for _ in range(500)]
    assert 999 < sum(drawn) / len(drawn) < 1001
    assert len(set(drawn)) > 3


def test_count_states_its_guarantee() -> None:
    guarantee = PrivateCount(budget=PureDP(epsilon=0.5, neighbors=Neighbors.ADD_REMOVE)).guarantee
    assert guarantee == PureDP(epsilon=0.5, neighbors=Neighbors.ADD_REMOVE)
    approximate = ApproxDP(epsilon=0.5, delta=0.1, neighbors=Neighbors.ADD_REMOVE)
    assert PrivateCount(budget=approximate).guarantee == guarantee


def test_count_checks_epsilon() -> None:
    with pytest.raises(ValueError, match="epsilon must be positive and finite, got -1"):
        PrivateCount(budget=PureDP(epsilon=-1, neighbors=Neighbors.ADD_REMOVE))


def test_counts_of_many_data_sets_have_the_law_of_one() -> None:
    epsilon, n, copies = 0.7, 3, 20_000
    drawn = PrivateCount(budget=PureDP(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)).draw_all(
        np.full(copies, n), random.Random(4)
    )
    noise = {z: math.exp(-epsilon * abs(z)) for z in range(-60, 61)}
    total = sum(noise.values())
    chance = {0: sum(weight for z, weight in noise.items() if n + z <= 0) / total}
    chance |= {n + z: weight / total for z, weight in noise.items() if 0 < n + z < 12}
    counts = [int((drawn == y).sum()) for y in chance]
    rest = copies - sum(counts), copies * (1 - sum(chance.values()))
    expected = [copies * p for p in chance.values()]
    assert stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 1e-3
    assert (
        len(
            PrivateCount(budget=PureDP(epsilon=1e9, neighbors=Neighbors.ADD_REMOVE)).draw_all(
                np.arange(5), random.Random(1)
            )
        )
        == 5
    )


AMOUNTS = (1e-9, 0.1, 1 / 3, 1.0, 7.7, 1e6)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_count_and_what_is_left_are_no_more_than_a_budget(amount: float) -> None:
    """In exact numbers; a fifth of it for the count."""
    whole = Fraction(amount)
    for budget in (PureDP(epsilon=amount), ApproxDP(epsilon=amount, delta=0.1), ZCDP(rho=amount)):
        part, rest = budget.split(COUNT_SHARE)
        rate = PrivateCount(budget=part).rate
        spent = rate**2 / 2 if isinstance(budget, ZCDP) else rate
        assert spent == pytest.approx(whole / 5)
        assert whole * (1 - Fraction(1, 2**48)) <= spent + Fraction(rest.amount) <= whole
    keys, left = PrivateKeys.bought(ApproxDP(epsilon=min(amount, 100.0), delta=0.1))
    together = Fraction(keys.epsilon) + Fraction(left.amount)
    assert together <= Fraction(min(amount, 100.0)) <= together * (1 + Fraction(1, 2**48))
    assert keys.budget.delta == 0.1
