"""The inverse of a plan: enough is enough, and a little less is not."""

import datetime as dt
import re
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
    with pytest.raises(
        ValueError,
        match=r"^rank_error must be achievable, got 0.0001, which even epsilon=100 misses",
    ):
        dpq.epsilon_for(rank_error=0.0001, size=3, q=[0.3, 0.4, 0.6], bounds=(0.0, 1.0))


def test_other_parameters_are_checked_too() -> None:
    with pytest.raises(TypeError, match=r"^epsilon must be given"):
        dpq.size_for(rank_error=0.1, **OPTIONS)
    with pytest.raises(ValueError, match=r"^mechanism must be one of"):
        dpq.epsilon_for(rank_error=0.1, size=10, mechanism="best", **OPTIONS)  # type: ignore[arg-type]


SALARIES: dict[str, Any] = {"q": "median", "size": 10_000, "spread": (10_000, 90_000)}


@pytest.mark.parametrize("options", [SALARIES, {**SALARIES, "bounds": (0, 500_000)}])
def test_an_error_in_values_is_one_in_ranks_of_even_records(options: dict[str, Any]) -> None:
    """A thousand of 80,000 is an eightieth of the records."""
    in_values = dpq.epsilon_for(value_error=1000, **options)
    assert in_values == dpq.epsilon_for(rank_error=1 / 80, **options)
    plan = dpq.plan(epsilon=in_values, **options)
    assert plan.in_values(plan["auto"].worst) <= 1001


def test_an_error_in_values_has_the_type_of_distances() -> None:
    dates: dict[str, Any] = {"q": "median", "bounds": (dt.date(2020, 1, 1), dt.date(2024, 1, 1))}
    weeks = dpq.size_for(value_error=dt.timedelta(days=7), epsilon=1.0, **dates)
    assert weeks < dpq.size_for(value_error=dt.timedelta(days=1), epsilon=1.0, **dates)
    with pytest.raises(TypeError, match=r"^value_error must be"):
        dpq.size_for(value_error=7, epsilon=1.0, **dates)


def test_intervals_and_rows_of_units_need_more() -> None:
    alone = dpq.epsilon_for(value_error=1000, neighbors="add-remove", **SALARIES)
    beside = dpq.epsilon_for(value_error=1000, neighbors="add-remove", intervals=True, **SALARIES)
    three = dpq.epsilon_for(
        value_error=1000, neighbors="add-remove", max_rows_per_unit=3, **SALARIES
    )
    assert beside > alone
    assert three == pytest.approx(3 * alone, rel=0.03)
    plan = dpq.plan(epsilon=three, neighbors="add-remove", max_rows_per_unit=3, **SALARIES)
    same = dpq.plan(epsilon=three / 3, neighbors="add-remove", **SALARIES)
    assert plan["joint_exp"] == same["joint_exp"]
    assert plan.budget.amount == three
    assert plan.curve()[3][1] == plan["auto"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "rank_error or value_error must be given, and not both"),
        ({"value_error": 9, "rank_error": 0.1}, "rank_error or value_error must be given, and"),
        ({"value_error": 9, "spread": None}, "value_error needs to know where the records lie"),
        ({"value_error": 9, "data": "tied"}, "value_error needs to know where the records lie"),
        ({"value_error": 0}, "value_error must be positive"),
        ({"value_error": 80_000}, "value_error must be smaller than the range of the records"),
        ({"value_error": 0.001, "size": 3}, "value_error must be achievable, got 0.001, which"),
        ({"value_error": 9, "max_rows_per_unit": 2}, "max_rows_per_unit=2 needs neighbors='add-"),
        ({"value_error": 9, "max_rows_per_unit": 0}, "max_rows_per_unit must be"),
    ],
)
def test_errors_in_values_that_mean_nothing(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        dpq.epsilon_for(**(SALARIES | changes))
