"""PrivateCount: its noise is tested with the draws; here its use of it."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpquantiles.mechanisms.count import PrivateCount, budget_share, counting_share, noise_rate
from dpquantiles.mechanisms.private_keys import keys_share
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP


def test_count_is_never_negative() -> None:
    count, bits = PrivateCount(epsilon=0.1), random.Random(1)
    assert min(count.draw(0, bits) for _ in range(200)) == 0


def test_count_is_near_the_truth() -> None:
    count, bits = PrivateCount(epsilon=1.0), random.Random(2)
    drawn = [count.draw(1000, bits) for _ in range(500)]
    assert 999 < sum(drawn) / len(drawn) < 1001
    assert len(set(drawn)) > 3


def test_count_states_its_guarantee() -> None:
    guarantee = PrivateCount(epsilon=0.5).guarantee
    assert (guarantee.epsilon, guarantee.neighbors) == (0.5, Neighbors.ADD_REMOVE)


def test_count_checks_epsilon() -> None:
    with pytest.raises(ValueError, match="epsilon must be positive and finite, got -1"):
        PrivateCount(epsilon=-1)


def test_counts_of_many_data_sets_have_the_law_of_one() -> None:
    epsilon, n, copies = 0.7, 3, 20_000
    drawn = PrivateCount(epsilon=epsilon).draw_all(np.full(copies, n), random.Random(4))
    noise = {z: math.exp(-epsilon * abs(z)) for z in range(-60, 61)}
    total = sum(noise.values())
    chance = {0: sum(weight for z, weight in noise.items() if n + z <= 0) / total}
    chance |= {n + z: weight / total for z, weight in noise.items() if 0 < n + z < 12}
    counts = [int((drawn == y).sum()) for y in chance]
    rest = copies - sum(counts), copies * (1 - sum(chance.values()))
    expected = [copies * p for p in chance.values()]
    assert stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 1e-3
    assert len(PrivateCount(epsilon=1e9).draw_all(np.arange(5), random.Random(1))) == 5


AMOUNTS = (1e-9, 0.1, 1 / 3, 1.0, 7.7, 1e6)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("parts", [(0.1, 0.9), (0.02, 0.3, 1.0 - 0.3 - 0.02), (1.0,)])
def test_shares_of_a_budget_are_no_more_than_it(amount: float, parts: tuple[float, ...]) -> None:
    """In exact numbers, and nearly all of it."""
    for budget in (PureDP(epsilon=amount), ZCDP(rho=amount), ApproxDP(epsilon=amount, delta=0.1)):
        shares = [Fraction(budget_share(budget, part).amount) for part in parts]
        assert Fraction(amount) * (1 - Fraction(1, 2**48)) <= sum(shares) <= Fraction(amount)
        assert budget_share(budget, parts[0]).stated_for == budget.stated_for


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_count_and_what_is_left_are_no_more_than_a_budget(amount: float) -> None:
    """In exact numbers; a fifth of it for the count."""
    whole = Fraction(amount)
    for budget in (PureDP(epsilon=amount), ApproxDP(epsilon=amount, delta=0.1)):
        count, rest = counting_share(budget)
        spent = Fraction(count.epsilon)
        assert spent == pytest.approx(whole / 5)
        assert whole * (1 - Fraction(1, 2**48)) <= spent + Fraction(rest.amount) <= whole
        assert Fraction(noise_rate(budget)) == whole
    count, rest = counting_share(ZCDP(rho=amount))
    spent = Fraction(count.epsilon) ** 2 / 2
    assert spent == pytest.approx(whole / 5)
    assert whole * (1 - Fraction(1, 10**11)) <= spent + Fraction(rest.amount) <= whole
    rate = Fraction(noise_rate(ZCDP(rho=amount)))
    assert whole * (1 - Fraction(1, 2**46)) <= rate**2 / 2 <= whole
    keys, left = keys_share(ApproxDP(epsilon=min(amount, 100.0), delta=0.1))
    together = Fraction(keys.epsilon) + Fraction(left.epsilon)
    assert together <= Fraction(min(amount, 100.0)) <= together * (1 + Fraction(1, 2**48))
    assert keys.delta == 0.1
