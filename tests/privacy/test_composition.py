"""What several releases cost together."""

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.privacy.filters import Amount, Filter


def test_pure_guarantees_add_up() -> None:
    assert privacy.total([PureDP(epsilon=0.5), PureDP(epsilon=0.25)]) == PureDP(epsilon=0.75)


def test_releases_are_asked_for_their_guarantees() -> None:
    releases = [dpq.median([1, 2, 3], epsilon=0.5) for _ in range(3)]
    assert privacy.total(releases) == PureDP(epsilon=1.5)
    seeded = dpq.median([1, 2, 3], epsilon=0.5, rng=random.Random(1))
    with pytest.raises(ValueError, match="must all have a guarantee"):
        privacy.total([*releases, seeded])


def test_concentrated_guarantees_add_up() -> None:
    mixed = privacy.total([ZCDP(rho=0.1), PureDP(epsilon=0.2)])
    assert isinstance(mixed, ZCDP)
    assert mixed.rho == pytest.approx(0.12)


def test_approximate_guarantees_add_up() -> None:
    parts: list[Guarantee] = [
        ApproxDP(epsilon=1, delta=1e-6),
        ApproxDP(epsilon=2, delta=1e-7),
        PureDP(epsilon=1),
    ]
    both = privacy.total(parts)
    assert isinstance(both, ApproxDP)
    assert both.epsilon == pytest.approx(4)
    assert both.delta == pytest.approx(1.1e-6)


def test_with_a_delta_the_better_way_is_taken() -> None:
    few = privacy.total([PureDP(epsilon=0.1)] * 2, delta=1e-6)
    many = privacy.total([PureDP(epsilon=0.1)] * 500, delta=1e-6)
    assert isinstance(few, ApproxDP)
    assert isinstance(many, ApproxDP)
    assert few.epsilon == pytest.approx(0.2)
    assert many.epsilon == pytest.approx(privacy.zcdp_epsilon(2.5, 1e-6))
    assert many.epsilon < 50


def test_concentrated_and_approximate_need_a_delta() -> None:
    parts: list[Guarantee] = [ZCDP(rho=0.1), ApproxDP(epsilon=1, delta=1e-6)]
    with pytest.raises(ValueError, match="delta must be given"):
        privacy.total(parts)
    both = privacy.total(parts, delta=1e-6)
    assert isinstance(both, ApproxDP)
    assert both.delta == pytest.approx(2e-6)
    assert both.epsilon > 1 + privacy.zcdp_epsilon(0.1, 1e-6)  # the order that suits 0.1 best
    for factor, granted in ((1 + 1e-9, True), (1 - 1e-9, False)):
        budget = ApproxDP(epsilon=both.epsilon * factor, delta=1e-6)
        spent = Amount(epsilon=Fraction(1), rho=Fraction(0.1))
        assert Filter(budget, ZCDP).admits(spent) is granted


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6])
def test_a_delta_is_a_chance(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
        privacy.total([ZCDP(rho=0.1)], delta=delta)


def test_mixed_neighbors_are_stated_for_swap() -> None:
    add = Neighbors.ADD_REMOVE
    assert privacy.total([PureDP(epsilon=1, neighbors=add), PureDP(epsilon=1)]).neighbors == "swap"
    assert PureDP(epsilon=1, neighbors=add).as_swap() == PureDP(epsilon=2)
    assert ZCDP(rho=1, neighbors=add).as_swap() == ZCDP(rho=4)
    delta = 1e-6
    two = ApproxDP(epsilon=1, delta=delta, neighbors=add).as_swap()
    with localcontext(prec=40):
        exact = (1 + Decimal(1).exp()) * Decimal(delta)
        assert two.epsilon == 2
        assert exact <= Decimal(two.delta) <= exact * (1 + Decimal("1e-11"))


@pytest.mark.parametrize(("epsilon", "delta"), [(5.0, 0.01), (710.0, 1e-300), (1e5, 1e-9)])
def test_a_delta_that_swaps_raise_to_one_is_refused(epsilon: float, delta: float) -> None:
    parts: list[Guarantee] = [
        ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE),
        PureDP(epsilon=1),
    ]
    with pytest.raises(ValueError, match="delta must stay below 1 when it is stated for swap"):
        privacy.total(parts)


epsilons = st.lists(st.floats(1e-3, 10), min_size=1, max_size=8)


@given(epsilons, epsilons)
def test_sums_are_never_rounded_down(pure: list[float], rhos: list[float]) -> None:
    added = sum(map(Fraction, pure))
    found = privacy.total(list(map(_pure, pure)))
    assert isinstance(found, PureDP)
    assert added <= Fraction(found.epsilon) <= added * (1 + Fraction(1, 2**51))
    squares = sum(Fraction(epsilon) ** 2 / 2 for epsilon in pure) + sum(map(Fraction, rhos))
    mixed = privacy.total([*map(_pure, pure), *(ZCDP(rho=rho) for rho in rhos)])
    assert isinstance(mixed, ZCDP)
    assert squares <= Fraction(mixed.rho) <= squares * (1 + Fraction(1, 2**51))
    assert all(Fraction(_pure(e).concentrated().rho) >= Fraction(e) ** 2 / 2 for e in pure)


def _pure(epsilon: float) -> PureDP:
    return PureDP(epsilon=epsilon)


@given(epsilons)
def test_approximate_sums_are_never_rounded_down(epsilons: list[float]) -> None:
    found = privacy.total([ApproxDP(epsilon=e, delta=e / 1e6) for e in epsilons])
    assert isinstance(found, ApproxDP)
    assert Fraction(found.epsilon) >= sum(map(Fraction, epsilons))
    assert Fraction(found.delta) >= sum(Fraction(e / 1e6) for e in epsilons)


def test_sums_beyond_doubles_are_refused_or_not_needed() -> None:
    huge = PureDP(epsilon=1e300)
    assert privacy.total([huge, huge], delta=1e-6) == ApproxDP(epsilon=2e300, delta=1e-6)
    with pytest.raises(ValueError, match="rho must be positive and finite, got inf"):
        privacy.total([huge, ZCDP(rho=1.0)])


def test_research_stays_research() -> None:
    assert privacy.total([ZCDP(rho=1, research_only=True), ZCDP(rho=1)]).research_only


def test_nothing_to_add() -> None:
    with pytest.raises(ValueError, match="at least one release"):
        privacy.total([])


@pytest.mark.parametrize(
    ("stated", "kind"),
    [({"epsilon": 1}, PureDP), ({"epsilon": 1, "delta": 1e-6}, ApproxDP), ({"rho": 1}, ZCDP)],
)
def test_budgets(stated: dict[str, float], kind: type) -> None:
    assert isinstance(privacy.budget(**stated), kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({}, "epsilon must be given"),
        ({"epsilon": 1, "rho": 1}, "rho must be given alone"),
        ({"delta": 1e-6}, "epsilon must be given"),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly between 0 and 1"),
    ],
)
def test_contradictory_budgets_are_refused(stated: dict[str, float], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        privacy.budget(**stated)  # type: ignore[arg-type]


def test_events_of_dp_accounting() -> None:
    """Its accountants find what was put in."""
    accounting = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    event = privacy.to_events([PureDP(epsilon=1.0)])
    accountant = pld.PLDAccountant(accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(event)
    assert accountant.get_epsilon(1e-12) == pytest.approx(1.0, abs=1e-3)
    rho = privacy.to_events([ZCDP(rho=0.5), ZCDP(rho=0.25)])
    assert [each.rho for each in rho.events] == [0.5, 0.25]
    assert isinstance(rho, accounting.ComposedDpEvent)
    with pytest.raises(ValueError, match="pure or concentrated"):
        privacy.to_events([ApproxDP(epsilon=1, delta=1e-6)])


def test_events_never_promise_more() -> None:
    """Beyond what doubles hold there is no noise left, and mixed neighbors are stated for swap."""
    pytest.importorskip("dp_accounting")
    (large,) = privacy.to_events([PureDP(epsilon=800.0)]).events
    assert large.noise_parameter == 0
    with localcontext(prec=40):
        for epsilon in (0.1, 1.0, 3.7, 30.0, 600.0):
            (event,) = privacy.to_events([PureDP(epsilon=epsilon)]).events
            exact = 2 / (1 + Decimal(epsilon).exp())
            assert exact * (1 - Decimal("1e-11")) <= Decimal(event.noise_parameter) <= exact
    mixed = [PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE), PureDP(epsilon=1.0)]
    doubled = privacy.to_events([PureDP(epsilon=2.0), PureDP(epsilon=1.0)])
    assert privacy.to_events(mixed) == doubled
    with pytest.raises(ValueError, match="parts must all protect the same unit"):
        privacy.to_events([PureDP(epsilon=1.0), PureDP(epsilon=1.0, unit="person")])
