"""The inverse of a plan: enough is enough, and a little less is not."""

from typing import Any

import pytest

import dpquantiles as dpq

OPTIONS: dict[str, Any] = {"q": "deciles", "bounds": (0.0, 1.0), "resolution": 2**-30}


@pytest.mark.parametrize("rank_error", [0.002, 0.01, 0.05])
def test_epsilon_is_the_smallest_that_is_enough(rank_error: float) -> None:
    epsilon = dpq.epsilon_for(rank_error=rank_error, size=10_000, **OPTIONS)

    def bound(amount: float) -> float:
        plan = dpq.plan(size=10_000, epsilon=amount, **OPTIONS)
        return plan["auto"].worst / 10_000

    assert bound(epsilon) <= rank_error * 1.03
    assert bound(epsilon / 1.1) > rank_error


def test_size_is_the_smallest_that_is_enough() -> None:
    size = dpq.size_for(rank_error=0.01, epsilon=0.5, **OPTIONS)

    def bound(n: int) -> float:
        return dpq.plan(size=n, epsilon=0.5, **OPTIONS)["auto"].worst / n

    assert bound(size) <= 0.0103
    assert bound(round(size / 1.1)) > 0.01


def test_size_and_epsilon_trade_against_each_other() -> None:
    """Rank errors grow as one over epsilon, so that twice the size allows half the epsilon."""
    one = dpq.epsilon_for(rank_error=0.01, size=5000, mechanism="joint_exp", **OPTIONS)
    two = dpq.epsilon_for(rank_error=0.01, size=10_000, mechanism="joint_exp", **OPTIONS)
    assert one / two == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("rank_error", [0, -0.1, float("nan"), float("inf"), 1, 3])
def test_a_target_that_is_no_fraction_is_refused(rank_error: float) -> None:
    for needed in (
        lambda: dpq.epsilon_for(rank_error=rank_error, size=100, **OPTIONS),
        lambda: dpq.size_for(rank_error=rank_error, epsilon=1.0, **OPTIONS),
    ):
        with pytest.raises(ValueError, match=r"^rank_error must be .*fraction of the size"):
            needed()


def test_what_cannot_be_reached_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^rank_error must be within reach of 3 records"):
        dpq.epsilon_for(rank_error=0.0001, size=3, q=[0.3, 0.4, 0.6], bounds=(0.0, 1.0))


def test_other_parameters_are_checked_too() -> None:
    with pytest.raises(TypeError, match=r"^epsilon must be given"):
        dpq.size_for(rank_error=0.1, **OPTIONS)
    with pytest.raises(ValueError, match=r"^mechanism must be one of"):
        dpq.epsilon_for(rank_error=0.1, size=10, mechanism="best", **OPTIONS)  # type: ignore[arg-type]
