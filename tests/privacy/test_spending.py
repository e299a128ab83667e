"""Charges against a budget: exact sums, parallel parts, conversions, and what remains."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpquantiles import privacy
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.privacy.conversions import (
    above,
    below,
    reading,
    renyi_excess,
    renyi_limit,
    written,
)
from dpquantiles.privacy.filters import amounts, objection
from dpquantiles.privacy.spending import Part, Spending

ADD = Neighbors.ADD_REMOVE
doubles = st.floats(1e-300, 1e300, allow_subnormal=False)
decimals = st.integers(1, 400).map(lambda k: k / 100)


def granted(budget: Guarantee, costs: list[Guarantee]) -> int:
    """How many of the costs fit, one after the other, until one does not."""
    account = Spending(budget)
    for count, cost in enumerate(costs):
        if not account.fits(cost):
            return count
        account.add(cost)
    return len(costs)


@pytest.mark.parametrize(
    ("budget", "cost", "times"),
    [
        (3.0, 1.0, 3),
        (1.0, 0.1, 10),
        (0.3, 0.1, 3),
        (1.0, 1 / 3, 3),
        (0.7, 0.07, 10),
        (1.1, 0.1, 11),
    ],
)
def test_no_charge_is_refused_or_granted_by_rounding(
    budget: float, cost: float, times: int
) -> None:
    assert granted(PureDP(epsilon=budget), [PureDP(epsilon=cost)] * (times + 1)) == times
    assert granted(ZCDP(rho=budget), [ZCDP(rho=cost)] * (times + 1)) == times


@given(decimals, st.lists(decimals, min_size=1, max_size=30))
def test_sums_are_those_of_the_digits(budget: float, costs: list[float]) -> None:
    expected, total = 0, Decimal(0)
    for cost in costs:
        total += Decimal(repr(cost))
        if total > Decimal(repr(budget)):
            break
        expected += 1
    assert granted(PureDP(epsilon=budget), [PureDP(epsilon=cost) for cost in costs]) == expected


@given(st.floats(0.1, 10), st.lists(st.floats(1e-3, 3), min_size=1, max_size=40))
def test_what_runs_is_never_more_than_the_budget(budget: float, costs: list[float]) -> None:
    """The doubles that mechanisms get, added without any rounding."""
    account, run = Spending(PureDP(epsilon=budget)), Fraction(0)
    for cost in (PureDP(epsilon=epsilon) for epsilon in costs):
        if account.fits(cost):
            account.add(cost)
            run += Fraction(cost.spendable.epsilon)
    assert run <= reading(budget)


@given(doubles)
def test_roundings_go_to_their_side(number: float) -> None:
    exact = reading(number)
    assert Fraction(below(exact)) <= exact <= Fraction(above(exact))
    assert math.nextafter(below(exact), math.inf) >= above(exact)
    assert written(exact) == number
    assert Fraction(PureDP(epsilon=number).spendable.epsilon) <= exact


@pytest.mark.parametrize("budget", [PureDP(epsilon=2.0), ZCDP(rho=0.7)])
@given(costs=st.lists(st.floats(0.01, 0.3), max_size=6))
def test_what_remains_fits_and_no_more(budget: Guarantee, costs: list[float]) -> None:
    kind = type(budget)
    name = "rho" if kind is ZCDP else "epsilon"
    account = Spending(budget)
    for cost in (kind(**{name: number}) for number in costs):  # type: ignore[arg-type]
        if account.fits(cost):
            account.add(cost)
    left = account.remaining(budget)
    if left > 0:
        assert account.fits(kind(**{name: left}))  # type: ignore[arg-type]
    more = math.nextafter(left, math.inf)
    assert not account.fits(kind(**{name: more}))  # type: ignore[arg-type]


def test_nothing_remains_of_a_spent_budget() -> None:
    account = Spending(PureDP(epsilon=1.0))
    for _ in range(10):
        account.add(PureDP(epsilon=0.1))
    assert account.remaining(PureDP(epsilon=1.0)) == 0.0
    assert account.spent() == 1.0


parts = st.one_of(st.none(), st.builds(Part, st.sampled_from("ab"), st.sampled_from("xyz")))


@given(st.lists(st.tuples(decimals, parts), max_size=12))
def test_parallel_charges_cost_what_the_worst_record_pays(
    charges: list[tuple[float, Part | None]],
) -> None:
    """A record is in one part of each partition: try them all."""
    account = Spending(PureDP(epsilon=1e9))
    for epsilon, part in charges:
        account.add(PureDP(epsilon=epsilon), part)
    worst = max(
        sum(
            (
                reading(e)
                for e, part in charges
                if part is None or part.label == home[part.partition]
            ),
            Fraction(0),
        )
        for home in (
            dict(zip("ab", labels, strict=True)) for labels in itertools.product("xyz", repeat=2)
        )
    )
    assert account.spent() == written(worst)


def test_a_part_has_what_the_others_leave() -> None:
    account = Spending(PureDP(epsilon=1.0))
    account.add(PureDP(epsilon=0.25))
    account.add(PureDP(epsilon=0.5), Part("region", "north"))
    probe = PureDP(epsilon=1.0)
    assert account.remaining(probe, Part("region", "north")) == 0.25
    assert account.remaining(probe, Part("region", "south")) == 0.75
    assert account.remaining(probe, Part("sex", "f")) == 0.25
    assert account.remaining(probe) == 0.25


def test_many_small_charges_of_an_approximate_budget_cost_less_than_their_sum() -> None:
    budget, cost = ApproxDP(epsilon=1.0, delta=1e-6), PureDP(epsilon=0.01)
    costs: list[Guarantee] = [cost] * 1000
    count = granted(budget, costs)
    assert count > 300
    half = 5e-7  # of delta: the rest is for charges of epsilon and delta
    assert privacy.total([cost] * count, delta=half).epsilon <= 1  # type: ignore[union-attr]
    assert privacy.total([cost] * (count + 1), delta=half).epsilon > 1  # type: ignore[union-attr]


def test_few_charges_of_an_approximate_budget_add_up_exactly() -> None:
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    assert granted(budget, [PureDP(epsilon=0.25)] * 5) == 4
    assert granted(budget, [ApproxDP(epsilon=0.1, delta=1e-7)] * 11) == 10
    assert granted(budget, [ApproxDP(epsilon=0.01, delta=5e-7)] * 3) == 2


def test_concentrated_charges_are_paid_from_what_approximate_ones_leave() -> None:
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    account = Spending(budget)
    account.add(PureDP(epsilon=1e-12))
    account.add(ApproxDP(epsilon=0.1, delta=4e-7))
    left = account.remaining(ZCDP(rho=1.0))
    excess = renyi_excess(1.0, 5e-7)
    limit = renyi_limit(excess, 1.0, 5e-7)
    assert left == pytest.approx((limit - 0.1) / (1 + excess), rel=1e-9)
    account.add(ZCDP(rho=left))
    assert 1 - 1e-9 < account.spent() <= 1
    assert not account.fits(ApproxDP(epsilon=1e-9, delta=1e-7))
    assert not account.fits(ApproxDP(epsilon=1e-15, delta=2e-7))
    assert account.remaining_delta(ApproxDP(epsilon=1.0, delta=0.5)) == 1e-7
    assert account.remaining(PureDP(epsilon=1.0)) < 1e-8


def test_a_concentrated_budget_takes_pure_charges() -> None:
    assert granted(ZCDP(rho=0.5), [PureDP(epsilon=0.5)] * 5) == 4
    assert granted(ZCDP(rho=0.02), [PureDP(epsilon=0.1)] * 5) == 4


def test_add_remove_charges_of_a_swap_budget_count_for_two_records() -> None:
    pure, rho = PureDP(epsilon=0.1, neighbors=ADD), ZCDP(rho=0.1, neighbors=ADD)
    assert granted(PureDP(epsilon=1.0), [pure] * 6) == 5
    assert granted(ZCDP(rho=0.8), [rho] * 3) == 2
    approximate = ApproxDP(epsilon=0.1, delta=1e-7, neighbors=ADD)
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    assert granted(budget, [approximate] * 6) == int(10 / (1 + math.exp(0.1)))
    assert granted(PureDP(epsilon=1.0, neighbors=ADD), [pure] * 11) == 10


@given(st.floats(1e-3, 800.0), st.floats(5e-324, 1e-3))
@example(800.0, 5e-324)
@example(700.0, 5e-324)
@example(math.nextafter(700.0, 0.0), 1e-310)
@example(600.1, 1e-300)
def test_delta_of_two_records_is_never_less_than_it_is(epsilon: float, delta: float) -> None:
    budget = ApproxDP(epsilon=2000.0, delta=0.5)
    cost = ApproxDP(epsilon=epsilon, delta=delta, neighbors=ADD)
    with localcontext(prec=400, Emin=-(10**6), Emax=10**6):
        grown = Fraction((1 + Decimal(repr(epsilon)).exp()) * Decimal(repr(delta)))
    for amount in amounts(cost, budget):
        assert amount.delta >= min(grown, Fraction(1))
    assert not Spending(budget).fits(cost) or grown <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("budget", "cost", "message"),
    [
        (PureDP(epsilon=1, neighbors=ADD), PureDP(epsilon=1), "must be 'add-remove'"),
        (PureDP(epsilon=1), ApproxDP(epsilon=1, delta=0.1), "charges of epsilon alone"),
        (PureDP(epsilon=1), ZCDP(rho=1), "charges of epsilon alone"),
        (ZCDP(rho=1), ApproxDP(epsilon=1, delta=0.1), "charges of rho"),
    ],
)
def test_costs_that_a_budget_cannot_hold(budget: Guarantee, cost: Guarantee, message: str) -> None:
    assert message in (objection(cost, budget) or "")


@pytest.mark.parametrize("cost", [PureDP(epsilon=1), ZCDP(rho=1), ApproxDP(epsilon=1, delta=0.1)])
def test_costs_that_a_budget_can_hold(cost: Guarantee) -> None:
    assert objection(cost, ApproxDP(epsilon=1, delta=0.1)) is None
    assert objection(cost, cost) is None


def test_swap_charges_on_parts_protect_within_them() -> None:
    """Replaced by one of another part, a record would change two parts and not one."""
    account = Spending(PureDP(epsilon=9.0))
    account.add(PureDP(epsilon=1.0))
    assert account.guarantee() == PureDP(epsilon=1.0)
    for label in ("north", "south"):
        account.add(PureDP(epsilon=2.0), Part("region", label))
    account.add(PureDP(epsilon=1.0), Part("year", "2026"))
    assert account.guarantee() == PureDP(epsilon=4.0, within=("region", "year"))


def test_add_remove_charges_on_parts_protect_against_every_swap() -> None:
    """Out of one part at epsilon 1, into another at epsilon 1: twice the greatest is enough."""
    account = Spending(PureDP(epsilon=9.0))
    for label in ("north", "south"):
        account.add(PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE), Part("region", label))
    assert account.guarantee() == PureDP(epsilon=2.0)
    protected = Spending(PureDP(epsilon=9.0, neighbors=Neighbors.ADD_REMOVE))
    protected.add(PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE), Part("region", "north"))
    assert protected.guarantee() == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
