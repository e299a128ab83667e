"""PrivateCount: its noise is tested with the draws; here its use of it."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.privacy import Neighbors


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
