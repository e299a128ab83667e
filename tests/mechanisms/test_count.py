"""PrivateCount: its noise is tested with the draws; here its use of it."""

import random

import pytest

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
