"""Confidence bounds: those of SciPy, and a coverage that holds for every probability."""

import math

import numpy as np
import pytest
from scipy import stats

from dpquantiles.auditing import statistical


@pytest.mark.parametrize("trials", [1, 10, 1000, 500_000])
@pytest.mark.parametrize("risk", [1e-6, 1e-3, 0.1])
def test_bounds_are_those_of_clopper_and_pearson(trials: int, risk: float) -> None:
    for hits in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        low = 0.0 if hits == 0 else stats.beta.ppf(risk, hits, trials - hits + 1)
        high = 1.0 if hits == trials else stats.beta.ppf(1 - risk, hits + 1, trials - hits)
        assert math.isclose(statistical.lower(hits, trials, risk), low, rel_tol=1e-6)
        assert math.isclose(statistical.upper(hits, trials, risk), high, rel_tol=1e-6)


@pytest.mark.parametrize("p", [1e-5, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("trials", [7, 1000, 500_000])
def test_a_tail_leaves_out_only_what_its_digits_do_not_show(trials: int, p: float) -> None:
    """Just above the mean, the probabilities of a tail decrease most slowly."""
    hits = math.floor(trials * p) + 1
    assert math.isclose(
        statistical.tail(hits, trials, p), stats.binom.sf(hits - 1, trials, p), rel_tol=1e-8
    )


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.97])
def test_the_chance_of_a_wrong_bound_is_at_most_the_risk(p: float) -> None:
    """Exactly, over all counts: the probability of those whose bound is on the wrong side."""
    trials, risk = 60, 0.02
    chances = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    counts = range(trials + 1)
    above = [
        c for k, c in zip(counts, chances, strict=True) if statistical.lower(k, trials, risk) > p
    ]
    below = [
        c for k, c in zip(counts, chances, strict=True) if statistical.upper(k, trials, risk) < p
    ]
    assert math.fsum(above) <= risk * (1 + 1e-9)
    assert math.fsum(below) <= risk * (1 + 1e-9)


def test_fast_bounds_are_near_the_exact_ones() -> None:
    hits = np.array([20.0, 200.0, 500.0])
    low, high = statistical.near(hits, 1000, 1e-3)
    for k, a, b in zip(hits, low, high, strict=True):
        assert a == pytest.approx(statistical.lower(int(k), 1000, 1e-3), rel=0.2)
        assert b == pytest.approx(statistical.upper(int(k), 1000, 1e-3), rel=0.2)
