"""The lower bound on epsilon: it finds what is there, and seldom what is not."""

import math

import numpy as np
import pytest

from dpquantiles.auditing.statistical import Evidence, evidence

Draws = list[object]


def laplace(seed: int, center: float, scale: float, count: int) -> Draws:
    """Noise by inversion, in doubles."""
    u = np.random.default_rng(seed).random(count) - 0.5
    draws: Draws = (center - scale * np.sign(u) * np.log1p(-2 * np.abs(u))).tolist()
    return draws


def whole(seed: int, center: int, rate: float, count: int) -> Draws:
    """Discrete Laplace noise, which promises its rate exactly."""
    geometric = np.random.default_rng(seed).geometric(-math.expm1(-rate), (2, count))
    draws: Draws = (center + geometric[0] - geometric[1]).tolist()
    return draws


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_half_the_noise_is_found(epsilon: float) -> None:
    one, other = (whole(seed, seed, 2 * epsilon, 20_000) for seed in (0, 1))
    assert epsilon < evidence(one, other, 0.0, 1e-3).epsilon <= 2 * epsilon


def test_noise_in_doubles_is_found_by_its_last_bits() -> None:
    found = evidence(laplace(0, 0.0, 1.0, 4000), laplace(1, 1.0, 1.0, 4000), 0.0, 1e-3)
    assert found.event == "the last bit of the number"
    assert found.epsilon > 3


@pytest.mark.parametrize("count", [40, 400])
def test_true_claims_pass(count: int) -> None:
    """At a risk of 0.05, so that a bound that is wrong too often would show among 200 seeds."""
    wrong = 0
    for seed in range(200):
        one, other = (whole(2 * seed + i, i, 1.0, count) for i in (0, 1))
        wrong += evidence(one, other, 0.0, 0.05).epsilon > 1.0
    assert wrong <= 20


def test_a_search_among_many_labels_does_not_find_what_is_not_there() -> None:
    """Every output is different, and both neighbors give the same: only the search could err."""
    wrong = 0
    for seed in range(200):
        one, other = (np.random.default_rng((seed, i)).random((200, 3)).tolist() for i in (0, 1))
        wrong += evidence(one, other, 0.0, 0.05).epsilon > 0.0
    assert wrong <= 20


def test_two_numbers_are_looked_at_together() -> None:
    """Each number alone loses 1, both together 2."""
    count = 40_000
    one, other = (
        list(zip(whole(2 * i, i, 1.0, count), whole(2 * i + 1, i, 1.0, count), strict=True))
        for i in (0, 1)
    )
    assert 1.2 < evidence(one, other, 0.0, 1e-3).epsilon <= 2.0


def test_delta_is_taken_off() -> None:
    """A leak of one percent is allowed at delta = 0.01, and refutes delta = 0."""
    rng = np.random.default_rng(3)
    one: Draws = ["leak" if u < 0.01 else "fine" for u in rng.random(20_000)]
    other: Draws = ["fine"] * 20_000
    assert evidence(one, other, 0.0, 1e-3).epsilon > 1
    assert evidence(one, other, 0.01, 1e-3).epsilon == 0.0


def test_the_bound_is_of_the_counts_that_it_shows() -> None:
    found = Evidence("x", 500, 10, 1000, 0.0, 1e-3)
    assert 2.8 < found.epsilon < math.log(50)
    assert str(found) == "x: an event with 500 hits against 10 in 1,000 draws of each"
    assert Evidence("x", 10, 500, 1000, 0.0, 1e-3).epsilon == 0.0
    assert Evidence("x", 0, 0, 1000, 0.0, 1e-3).epsilon == 0.0


def test_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 8"):
        evidence([1], [2], 0.0, 1e-3)
