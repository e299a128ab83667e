"""Losses of exact laws, against the definitions and against known pairs."""

import math

import numpy as np
import pytest

from dpquantiles.auditing.exact import loss
from dpquantiles.auditing.laws import ExactLaw, TreeCounts
from dpquantiles.kernels.algebra import Floats
from dpquantiles.privacy import ZCDP, ApproxDP, PureDP

PURE, RHO = PureDP(epsilon=1.0), ZCDP(rho=1.0)


def law(*chances: float) -> ExactLaw:
    with np.errstate(divide="ignore"):
        return ExactLaw(tuple(range(len(chances))), np.log(chances))


def test_a_pure_loss_is_the_largest_ratio() -> None:
    assert loss(PURE, law(0.2, 0.8), law(0.4, 0.6)) == pytest.approx(math.log(2))
    assert loss(PURE, law(0.4, 0.6), law(0.2, 0.8)) == pytest.approx(math.log(2))
    assert loss(PURE, law(0.5, 0.5), law(0.5, 0.5)) == 0.0


def test_an_outcome_of_one_neighbor_alone_is_a_loss_without_bound() -> None:
    assert loss(PURE, law(0.0, 1.0), law(0.1, 0.9)) == math.inf
    assert loss(RHO, law(0.0, 1.0), law(0.1, 0.9)) == math.inf
    assert loss(PURE, law(0.0, 1.0), law(0.0, 1.0)) == 0.0
    assert loss(PURE, ExactLaw(("a",), np.zeros(1)), ExactLaw(("b",), np.zeros(1))) == math.inf


@pytest.mark.parametrize("delta", [0.001, 0.05, 0.3])
def test_an_approximate_loss_is_the_least_epsilon_that_delta_allows(delta: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6), 2)
        found = loss(ApproxDP(epsilon=1.0, delta=delta), law(*p), law(*q))
        assert excess(p, q, found) <= delta * (1 + 1e-9)
        assert found == 0.0 or excess(p, q, found - 1e-6) > delta


def excess(p: Floats, q: Floats, epsilon: float) -> float:
    """The least delta at which two laws are that close."""
    over = (np.maximum(0.0, a - math.exp(epsilon) * b).sum() for a, b in ((p, q), (q, p)))
    return float(max(over))


def test_a_leak_within_delta_costs_nothing() -> None:
    leaky = ApproxDP(epsilon=1.0, delta=0.1)
    assert loss(leaky, law(0.09, 0.91), law(0.0, 1.0)) == 0.0
    assert loss(leaky, law(0.2, 0.8), law(0.0, 1.0)) == math.inf


def noisy(count: int, rate: float) -> ExactLaw:
    """Discrete Laplace noise as a law of its own, on a range that holds nearly all of it."""
    weights = np.exp(-rate * np.abs(np.arange(-80, 81) - count))
    return law(*(weights / weights.sum()))


@pytest.mark.parametrize("rate", [0.5, 2.0])
@pytest.mark.parametrize("guarantee", [PURE, RHO])
def test_counts_lose_what_their_noise_loses(guarantee: PureDP | ZCDP, rate: float) -> None:
    rates = np.array([rate, 1.0])
    tree = [ExactLaw((0,), np.zeros(1), (TreeCounts(np.array([k, 7]), rates),)) for k in (0, 1)]
    expected = loss(guarantee, noisy(0, rate), noisy(1, rate))
    assert loss(guarantee, *tree) == pytest.approx(expected, rel=1e-6)
