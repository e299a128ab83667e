"""Guarantees: frozen values that say what they promise, through JSON and back."""

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import pytest

from dpquantiles import privacy
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP


def test_a_guarantee_is_a_frozen_value() -> None:
    guarantee = PureDP(epsilon=1)
    assert guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.SWAP)
    assert guarantee != PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    assert guarantee != PureDP(epsilon=math.nextafter(1.0, 2.0))
    assert len({guarantee, PureDP(epsilon=1.0)}) == 1
    assert type(guarantee.epsilon) is float
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = 2.0  # type: ignore[misc]


def test_neighbors_may_come_as_text() -> None:
    guarantee = PureDP(epsilon=1, neighbors="add-remove")  # type: ignore[arg-type]
    assert guarantee.neighbors is Neighbors.ADD_REMOVE


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, r"^epsilon must be positive and finite, got 0\.0$"),
        ({"epsilon": math.nan}, ValueError, r"^epsilon must be positive and finite, got nan$"),
        ({"epsilon": "1"}, TypeError, r"^epsilon must be a positive, finite number, got '1'"),
        ({"epsilon": 1, "neighbors": "swop"}, ValueError, r"did you mean 'swap'\?$"),
        ({"epsilon": 1, "neighbors": None}, TypeError, r"^neighbors must be one of 'swap', "),
    ],
)
def test_parameters_are_checked(
    parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PureDP(**parameters)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 5e-324, 1e308])
def test_json_keeps_guarantees(epsilon: float, neighbors: Neighbors) -> None:
    guarantee = PureDP(epsilon=epsilon, neighbors=neighbors)
    assert privacy.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


@pytest.mark.parametrize("changes", [{"kind": "perfect"}, {"epsilon": -1}, {"neighbors": "near"}])
def test_other_guarantees_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"^{next(iter(changes))} must be "):
        privacy.from_dict({**PureDP(epsilon=1).to_dict(), **changes})


def test_the_words_say_what_is_protected() -> None:
    assert str(PureDP(epsilon=0.5)) == (
        "0.5-differential privacy "
        "(pure; one record replaced by any other; the number of records is public)"
    )
    both = str(PureDP(epsilon=2, neighbors=Neighbors.ADD_REMOVE))
    assert both.endswith(
        "(pure; one record added or removed; the number of records is protected too)"
    )


def test_odds() -> None:
    assert PureDP(epsilon=math.log(3)).odds == pytest.approx(3)
    assert PureDP(epsilon=1e300).odds == PureDP(epsilon=700).odds == math.inf
    assert PureDP(epsilon=699).odds < math.inf


def test_a_guarantee_says_what_it_is_counted_in() -> None:
    stated = (PureDP(epsilon=2), privacy.ApproxDP(epsilon=2, delta=0.1), privacy.ZCDP(rho=2))
    assert [guarantee.measure for guarantee in stated] == ["epsilon", "epsilon", "rho"]
    assert all(guarantee.amount == 2 for guarantee in stated)
    assert all({"measure", "amount"}.isdisjoint(guarantee.to_dict()) for guarantee in stated)


AMOUNTS = (1e-9, 0.1, 1 / 3, 1.0, 7.7, 1e6)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("shares", [(0.1,), (0.02, 0.3), (Fraction(1, 3),), (0.2, 0.2, 0.2)])
def test_parts_of_a_budget_are_no_more_than_it(
    amount: float, shares: tuple[float | Fraction, ...]
) -> None:
    """In exact numbers, and nearly all of it; a delta goes to the rest."""
    for budget in (PureDP(epsilon=amount), ZCDP(rho=amount), ApproxDP(epsilon=amount, delta=0.1)):
        *parts, rest = budget.split(*shares)
        spent = [Fraction(part.amount) for part in (*parts, rest)]
        assert Fraction(amount) * (1 - Fraction(1, 2**48)) <= sum(spent) <= Fraction(amount)
        for part, share in zip(parts, shares, strict=True):
            assert part.amount == pytest.approx(amount * float(share), rel=1e-15)
            assert part == budget.without_delta.at(part.amount)
        assert rest == budget.at(rest.amount)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 49])
def test_rates_and_ranges_cost_no_more_than_a_budget(amount: float, parts: int) -> None:
    """In exact numbers, and nearly all of it."""
    for neighbors in Neighbors:
        pure = PureDP(epsilon=amount, neighbors=neighbors)
        rho = ZCDP(rho=amount, neighbors=neighbors)
        counted, counts = Fraction(amount), parts * neighbors.records
        for spent in (
            parts * Fraction(pure.divided(parts).epsilon),
            parts * Fraction(pure.divided(parts).noise_rate),
            parts * Fraction(rho.divided(parts).noise_rate) ** 2 / 2,
            counts * Fraction(pure.counting_rate(parts)),
            counts * Fraction(rho.counting_rate(parts)) ** 2 / 2,
            parts * Fraction(pure.bounded_range(parts)),
        ):
            assert counted * (1 - Fraction(1, 2**48)) <= spent <= counted
        spent = parts * Fraction(privacy.bounded_range_rho(rho.bounded_range(parts)))
        assert counted * (1 - Fraction(1, 10**9)) <= spent <= counted


def test_a_scaled_budget_allows_so_many_times_the_rate() -> None:
    for budget in (PureDP(epsilon=0.5), ApproxDP(epsilon=0.5, delta=0.1), ZCDP(rho=0.5)):
        assert budget.scaled(3.0).noise_rate == pytest.approx(3 * budget.noise_rate)
        assert budget.scaled(3.0).stated_for == budget.stated_for


def test_what_needs_no_delta_promises_none() -> None:
    stated = {"neighbors": Neighbors.ADD_REMOVE, "unit": "person", "research_only": True}
    budget = ApproxDP(epsilon=1.0, delta=0.1, **stated)  # type: ignore[arg-type]
    assert budget.without_delta == PureDP(epsilon=1.0, **stated)  # type: ignore[arg-type]
    for other in (PureDP(epsilon=1.0), ZCDP(rho=1.0)):
        assert other.without_delta is other
