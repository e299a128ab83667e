"""Intervals and verdicts."""

import math

import numpy as np
import pytest

from experiments.paper.intervals import (
    BETTER,
    FAILS,
    HOLDS,
    Accepted,
    Floats,
    Means,
    Measured,
    bootstrapped,
    mean_of,
    median_ratio,
    share_of,
)


def test_a_mean_has_the_interval_of_the_normal_law() -> None:
    sample = np.random.default_rng(0).normal(10, 2, 400)
    found = mean_of(sample)
    assert found is not None
    assert found.value == pytest.approx(sample.mean())
    assert found.low == pytest.approx(sample.mean() - 1.96 * 0.1, abs=0.02)
    assert found.high == pytest.approx(sample.mean() + 1.96 * 0.1, abs=0.02)


def test_trials_are_resampled_together() -> None:
    shared = np.random.default_rng(0).normal(10, 2, 50)[:, None]
    found = bootstrapped(
        {"a": 2 * shared, "b": shared}, lambda means: (means["a"] / means["b"])[:, 0]
    )
    assert found == pytest.approx((2.0, 2.0, 2.0))


def test_trials_that_only_some_have_are_left_out() -> None:
    errors = {"a": np.array([[1.0], [3.0], [100.0]]), "b": np.array([[1.0], [1.0]])}
    found = bootstrapped(errors, lambda means: (means["a"] / means["b"])[:, 0])
    assert found is not None
    assert (found.value, found.low, found.high) == (2, 1, 3)


def test_an_error_of_zero_has_an_interval_without_end_or_none() -> None:
    top, zero = np.ones((2, 1)), np.zeros((2, 1))
    some = np.array([[0.0], [1.0]])

    def ratio(means: Means) -> Floats:
        return np.asarray(means["a"] / means["b"])[:, 0]

    assert bootstrapped({"a": top, "b": zero}, ratio) is None
    found = bootstrapped({"a": top, "b": some}, ratio)
    assert found is not None
    assert found.value == 2
    assert math.isinf(found.high)


def test_nothing_gives_nothing() -> None:
    assert bootstrapped({}, lambda means: means[""]) is None
    assert median_ratio([], []) is None
    assert share_of(0, 0) is None


def test_a_ratio_of_medians() -> None:
    assert median_ratio([3.0, 4.0, 5.0], [2.0, 2.0, 2.0]) == pytest.approx((2.0, 1.5, 2.5))


def test_wilson() -> None:
    found = share_of(8, 10)
    assert found == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-3)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Measured(2.5, 2.4, 2.6), HOLDS),
        (Measured(1.9, 1.7, 2.0), HOLDS),
        (Measured(3.3, 3.0, 3.6), HOLDS),
        (Measured(1.5, 1.2, 1.99), FAILS),
        (Measured(4.0, 3.01, 5.0), BETTER),
    ],
)
def test_a_claim_holds_if_the_interval_meets_the_accepted_numbers(
    measured: Measured, verdict: str
) -> None:
    assert Accepted(2, 3, "above").verdict(measured) == verdict
    mirrored = Measured(-measured.value, -measured.high, -measured.low)
    assert Accepted(-3, -2, "below").verdict(mirrored) == verdict


def test_without_a_better_side_both_sides_fail() -> None:
    assert Accepted(2, 3).verdict(Measured.exactly(4)) == FAILS
    assert Accepted(2, 3).verdict(Measured.exactly(1)) == FAILS
