"""Units: what one row may spend so that all rows of a unit keep the budget."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles import privacy
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP, Units

ADD_REMOVE: dict[str, Any] = {"neighbors": Neighbors.ADD_REMOVE}


@given(st.floats(1e-12, 1e12), st.integers(1, 1000))
def test_shares_never_exceed_the_budget(amount: float, parts: int) -> None:
    part = PureDP(epsilon=amount).divided(parts).epsilon
    assert Fraction(part) * parts <= Fraction(amount)
    assert math.isclose(part * parts, amount, rel_tol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_group_privacy_of_a_worst_case(k: int) -> None:
    """Mechanisms that attain their row budgets attain, and do not pass, the budgets of units."""
    epsilon, delta, rho = 1.3, 1e-3, 0.4
    # Counts with geometric noise: k rows move the count by k, and the loss is k times epsilon.
    pure = PureDP(epsilon=epsilon, **ADD_REMOVE).per_row(k)
    assert isinstance(pure, PureDP)
    assert k * pure.epsilon <= epsilon
    assert math.isclose(k * pure.epsilon, epsilon)
    # The recursion x -> exp(e) x + d from 0, k times, is the largest chance that k steps can reach.
    approximate = ApproxDP(epsilon=epsilon, delta=delta, **ADD_REMOVE).per_row(k)
    assert isinstance(approximate, ApproxDP)
    reached = 0.0
    for _ in range(k):
        reached = math.exp(approximate.epsilon) * reached + approximate.delta
    assert reached <= delta
    assert math.isclose(reached, delta, rel_tol=1e-9)
    # Gaussian noise: rho grows with the square of the distance.
    concentrated = ZCDP(rho=rho, **ADD_REMOVE).per_row(k)
    assert isinstance(concentrated, ZCDP)
    assert math.isclose(k**2 * concentrated.rho, rho)
    assert Fraction(concentrated.rho) * k**2 <= Fraction(rho)


def test_huge_epsilons_do_not_overflow() -> None:
    row = ApproxDP(epsilon=1000.0, delta=1e-6, **ADD_REMOVE).per_row(2)
    assert isinstance(row, ApproxDP)
    assert math.isclose(math.log(row.delta), math.log(1e-6) - 500, rel_tol=1e-9)


def test_shares_of_columns_compose_to_the_budget() -> None:
    for budget in (
        PureDP(epsilon=1.0),
        ApproxDP(epsilon=1.0, delta=1e-5),
        ZCDP(rho=0.3, **ADD_REMOVE),
    ):
        whole = privacy.total([budget.divided(7)] * 7)
        for name in ("epsilon", "delta", "rho"):
            if hasattr(budget, name):
                assert getattr(whole, name) <= getattr(budget, name)


@pytest.mark.parametrize(
    ("unit", "rows", "error", "message"),
    [
        (None, 3, ValueError, r"^max_rows_per_unit needs unit, .* got max_rows_per_unit=3"),
        ("p", 0, ValueError, r"^max_rows_per_unit must be at least 1, got 0$"),
        ("p", 1.5, TypeError, r"^max_rows_per_unit must be a whole number, got 1.5"),
        (7, None, TypeError, r"^unit must be the name of a column, got 7 of type int$"),
    ],
)
def test_units_are_checked(
    unit: object, rows: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Units.of(unit, rows)  # type: ignore[arg-type]


def test_swap_with_units_is_refused_where_sizes_would_show() -> None:
    swap = PureDP(epsilon=1.0)
    assert Units.of("p", None).price(swap, grouped=False) == swap
    with pytest.raises(ValueError, match=r"^max_rows_per_unit=2 needs neighbors='add-remove'"):
        Units.of("p", 2).price(swap, grouped=False)
    with pytest.raises(ValueError, match=r"^unit='p' with by needs neighbors='add-remove'"):
        Units.of("p", None).price(swap, grouped=True)
    row = Units.of("p", 2).price(PureDP(epsilon=1.0, **ADD_REMOVE), grouped=True)
    assert row == PureDP(epsilon=0.5, **ADD_REMOVE)


def test_guarantees_of_units_and_groups_go_through_json_and_words() -> None:
    guarantee = PureDP(epsilon=1.0, unit="person", **ADD_REMOVE)
    assert privacy.from_dict(guarantee.to_dict()) == guarantee
    assert "all records of one person added or removed" in str(guarantee)
    inside = PureDP(epsilon=1.0, within=("county",))
    assert inside.to_dict()["within"] == ["county"]
    assert privacy.from_dict(inside.to_dict()) == inside
    assert "any other of the same county" in str(inside)
    assert "unit" not in PureDP(epsilon=1.0).to_dict()


def test_totals_keep_units_and_groups_apart() -> None:
    one = PureDP(epsilon=1.0, within=("county",))
    other = PureDP(epsilon=0.5, within=("year",))
    assert privacy.total([one, other]) == PureDP(epsilon=1.5, within=("county", "year"))
    with pytest.raises(ValueError, match=r"^parts must all protect the same unit, got one record"):
        privacy.total([PureDP(epsilon=1.0), PureDP(epsilon=1.0, unit="person")])
