"""Conversions: known values, inverses that agree, and twins computed another way."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from dpquantiles import privacy


@pytest.mark.parametrize(
    ("calls", "known"), [(5, 0.2328), (10, 0.1550), (30, 0.0872), (100, 0.0475)]
)
def test_per_call_epsilon_has_the_known_values(calls: int, known: float) -> None:
    assert privacy.per_call_epsilon(1.0, 1e-6, calls) == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize("calls", [1, 2, 7, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3)])
def test_composition_and_its_inverse_agree(epsilon: float, delta: float, calls: int) -> None:
    each = privacy.per_call_epsilon(epsilon, delta, calls)
    assert epsilon / calls <= each
    assert privacy.composed_delta(each, epsilon, calls) <= delta
    assert privacy.composed_epsilon(each, delta, calls) == pytest.approx(epsilon, rel=1e-6)
    assert privacy.composed_delta(each * 1.001, epsilon, calls) > delta


def test_composed_delta_is_the_worst_mixture_of_losses() -> None:
    """For two calls, delta by enumeration of generalized randomized responses over all t."""
    per_call, epsilon = 0.8, 1.0
    worst = 0.0
    for t in np.linspace(1e-6, per_call - 1e-6, 2001):
        p = (math.exp(-t) - math.exp(-per_call)) / -math.expm1(-per_call)
        outcomes = [(p, t), (1 - p, t - per_call)]
        delta = sum(
            a * b * max(0.0, math.exp(x + y) - math.exp(epsilon))
            for (a, x), (b, y) in itertools.product(outcomes, repeat=2)
        )
        worst = max(worst, delta)
    assert privacy.composed_delta(per_call, epsilon, 2) == pytest.approx(worst, rel=1e-3)


def excess(t: Decimal, per_call: float, epsilon: float, calls: int) -> Decimal:
    """The sum of the theorem for one t, in the precision of the context."""
    p = ((-t).exp() - (-Decimal(per_call)).exp()) / (1 - (-Decimal(per_call)).exp())
    return sum(
        (
            math.comb(calls, i) * p ** (calls - i) * (1 - p) ** i * max(Decimal(0), gain)
            for i in range(calls + 1)
            for gain in [(calls * t - i * Decimal(per_call)).exp() - Decimal(epsilon).exp()]
        ),
        Decimal(0),
    )


@pytest.mark.parametrize("calls", [1, 9, 200])
@pytest.mark.parametrize(
    ("per_call", "epsilon"), [(1e-5, 2e-6), (1e-3, 9e-4), (0.1, 0.05), (7.0, 6.5)]
)
def test_composed_delta_is_rounded_up(per_call: float, epsilon: float, calls: int) -> None:
    """Against sixty decimals, at its own t of every level."""
    with localcontext(prec=60):
        levels = (Decimal(epsilon) + k * Decimal(per_call) for k in range(1, calls + 1))
        found = [excess(t / (calls + 1), per_call, epsilon, calls) for t in levels]
        exact = min(Decimal(1), max(found))
        stated = Decimal(privacy.composed_delta(per_call, epsilon, calls))
        assert exact <= stated <= exact * (1 + Decimal("1e-6")) + Decimal("1e-11")


@pytest.mark.parametrize("epsilon", [50.0, 200.0, 600.0, 1000.0, 1e5])
def test_large_budgets_compose_as_well(epsilon: float) -> None:
    each = privacy.per_call_epsilon(epsilon, 1e-6, 9)
    assert epsilon / 9 < each < epsilon / 9 + 1
    assert privacy.composed_epsilon(each, 1e-6, 9) == pytest.approx(epsilon)


def test_a_delta_below_all_rounding_buys_nothing() -> None:
    """Seven times the nearest double of 1 / 7 may be more than 1."""
    each = privacy.per_call_epsilon(1.0, 1e-18, 7)
    assert 0.999999 < 7 * Fraction(each) <= 1


@pytest.mark.parametrize(("eta", "known"), [(1, 0.1233), (2, 0.4745), (4, 1.670)])
def test_bounded_range_rho_has_the_known_values(eta: float, known: float) -> None:
    assert privacy.bounded_range_rho(eta) == pytest.approx(known, rel=3e-4)


@pytest.mark.parametrize("eta", [1e-6, 0.0099, 0.0101, 0.5, 3.0, 9.0, 15.0, 50.0, 900.0])
def test_bounded_range_and_its_inverse_agree(eta: float) -> None:
    rho = privacy.bounded_range_rho(eta)
    assert rho <= eta**2 / 8 * (1 + 1e-9)
    assert privacy.bounded_range_eta(rho) == pytest.approx(eta, rel=1e-6)
    assert privacy.bounded_range_rho(privacy.bounded_range_eta(rho)) <= rho


def test_bounded_range_rho_is_rounded_up() -> None:
    """Against sixty decimals, where the formula cancels and elsewhere."""
    with localcontext(prec=60):
        for eta in np.exp(np.random.default_rng(1).uniform(math.log(1e-11), math.log(2000), 600)):
            power = Decimal(float(eta)).exp() - 1
            exact = Decimal(float(eta)) / power - 1 + (power / Decimal(float(eta))).ln()
            stated = Decimal(privacy.bounded_range_rho(float(eta)))
            assert exact <= stated <= exact * (1 + Decimal("1e-9"))


@pytest.mark.parametrize("eta", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("order", [1.001, 1.5, 4.0, 40.0])
def test_bounded_range_rho_bounds_every_renyi_divergence(eta: float, order: float) -> None:
    """Worst case of range eta: two outcomes with losses t and t - eta, any t."""
    rho = privacy.bounded_range_rho(eta)
    for t in np.linspace(0.001, eta - 0.001, 60):
        p = (math.exp(-t) - math.exp(-eta)) / -math.expm1(-eta)
        moment = p * math.exp(order * t) + (1 - p) * math.exp(order * (t - eta))
        assert math.log(moment) / (order - 1) <= rho * order * (1 + 1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
def test_zcdp_conversion_is_tight_but_not_too_tight(rho: float) -> None:
    """A Gaussian is rho-zCDP: its exact delta is below ours, and ours is below the simple bound."""
    for epsilon in (rho + math.sqrt(rho), rho + 4 * math.sqrt(rho)):
        stated = privacy.zcdp_delta(rho, epsilon)
        shift = math.sqrt(2 * rho)

        def excess(x: float, shift: float = shift, epsilon: float = epsilon) -> float:
            one = math.exp(-((x - shift) ** 2) / 2)
            other = math.exp(-(x**2) / 2)
            return max(0.0, one - math.exp(epsilon) * other) / math.sqrt(2 * math.pi)

        crossing = epsilon / shift + shift / 2
        exact = integrate.quad(excess, crossing, crossing + 12)[0]
        assert exact <= stated
        simple = math.exp(-((epsilon - rho) ** 2) / (4 * rho))
        assert stated < simple


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [(1e-12, 1000.0), (1e-3, 1e6), (1e-308, 1e3), (5e-324, 1.0), (1.0, 54.0), (1.0, 54.5)],
)
def test_zcdp_delta_is_never_rounded_to_zero(rho: float, epsilon: float) -> None:
    """Nor down: against sixty decimals at the best order."""
    stated = privacy.zcdp_delta(rho, epsilon)
    assert stated >= 5e-324
    if epsilon / rho > 1e4:
        assert stated == 5e-324
        return
    with localcontext(prec=60):
        low, high = Decimal(2), Decimal(100)
        for _ in range(200):
            one, other = low + (high - low) / 3, high - (high - low) / 3
            first, second = (exact_delta(rho, epsilon, order) for order in (one, other))
            low, high = (low, other) if first < second else (one, high)
        exact = exact_delta(rho, epsilon, low)
        least = Decimal(math.ulp(0.0))
        assert exact <= Decimal(stated) <= exact * (1 + Decimal("1e-9")) + 2 * least


def exact_delta(rho: float, epsilon: float, order: Decimal) -> Decimal:
    exponent = (order - 1) * (order * Decimal(rho) - Decimal(epsilon))
    return exponent.exp() / (order - 1) * (1 - 1 / order) ** order


@pytest.mark.parametrize("delta", [1e-3, 1e-9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_zcdp_inverses_agree(epsilon: float, delta: float) -> None:
    rho = privacy.zcdp_rho(epsilon, delta)
    assert privacy.zcdp_delta(rho, epsilon) <= delta
    assert privacy.zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: privacy.per_call_epsilon(0, 1e-6, 3), "epsilon must be positive"),
        (lambda: privacy.per_call_epsilon(1, 0, 3), "delta must lie strictly between 0 and 1"),
        (lambda: privacy.per_call_epsilon(1, 1e-6, 0), "calls must be at least 1"),
        (lambda: privacy.bounded_range_rho(-1), "eta must be positive"),
        (lambda: privacy.zcdp_epsilon(1, 2), "delta must lie strictly"),
    ],
)
def test_bad_numbers_are_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("number", "digits", "words"),
    [
        (1.0, 6, "1"),
        (0.1, 6, "0.1"),
        (1e-6, 6, "1e-06"),
        (1 / 3, 6, "0.333334"),
        (2 / 3, 6, "0.666667"),
        (1.0000001, 6, "1.00001"),
        (123456.1, 6, "123457"),
        (1234567.0, 6, "1.23457e+06"),
        (math.exp(1.1), 3, "3.01"),
        (math.e, 3, "2.72"),
        (5e-324, 6, "4.94066e-324"),
    ],
)
def test_words_say_no_less(number: float, digits: int, words: str) -> None:
    assert privacy.conversions.in_words(number, digits) == words
    assert float(words) >= number
