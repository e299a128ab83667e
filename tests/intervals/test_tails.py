"""Tails of noise and of sampling: against brute force, and never too small."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpquantiles.intervals import tails

SHARES = (0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0)


def brute_sum(rate: float, terms: int, most: int) -> NDArray[np.float64]:
    """The law of a sum on -most .. most, by plain convolution."""
    one = np.exp(-rate * np.abs(np.arange(-most, most + 1)))
    law = np.zeros(2 * most + 1)
    law[most] = 1.0
    for _ in range(terms):
        law = np.convolve(law, one / one.sum(), "same")
    return law


def brute_tail(
    least: float, *, rate: float, left: int, right: int, share: float, most: int
) -> float:
    values = np.arange(-most, most + 1)
    weighted = (1 - share) * values[:, None] + share * values[None, :]
    law = np.outer(brute_sum(rate, left, most), brute_sum(rate, right, most))
    return float(law[weighted >= least - 1e-7].sum())


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("left", "right"), [(1, 0), (0, 1), (1, 1), (1, 2), (4, 3)])
def test_noise_tails_are_those_of_sums_by_brute_force(left: int, right: int, share: float) -> None:
    for rate, least in itertools.product((0.4, 1.3), (-3.0, 0.0, 0.5, 2.0, 7.25)):
        options = {"rate": rate, "left": left, "right": right, "share": share}
        expected = brute_tail(least, **options, most=120)  # type: ignore[arg-type]
        assert tails.noise_tail(least, **options) == pytest.approx(expected, abs=3e-11)  # type: ignore[arg-type]


@pytest.mark.parametrize(("left", "right"), [(1, 1), (2, 5)])
def test_coarse_tails_are_no_smaller(left: int, right: int) -> None:
    rate, fine = 0.0045, 0.003
    for share, least in itertools.product((0.0, 0.2, 0.5), (1.0, 100.0, 700.0, 1500.0)):
        law = {"left": left, "right": right, "share": share}
        coarse = tails.noise_tail(least, rate=rate, **law)  # type: ignore[arg-type]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tails, "FINEST_RATE", fine)
            exact = tails.noise_tail(least, rate=rate, **law)  # type: ignore[arg-type]
        assert exact <= coarse <= 1.2 * exact + 1e-9


@given(
    rate=st.floats(0.05, 3),
    left=st.integers(0, 8),
    right=st.integers(0, 8),
    share=st.floats(0, 1),
    least=st.floats(0, 60),
)
def test_the_bound_is_no_smaller_than_the_tail(
    rate: float, left: int, right: int, share: float, least: float
) -> None:
    bound = tails.log_noise_bound(
        np.array([least]),
        rate=rate,
        left=np.array([left]),
        right=np.array([right]),
        share=np.array([share]),
    )
    tail = tails.noise_tail(least, rate=rate, left=left, right=right, share=share)
    assert tail <= math.exp(bound[0]) * (1 + 1e-4) + 2 * tails.SLACK


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.3, 4.0, 600.0])
def test_a_margin_is_the_least_with_its_chance(rate: float) -> None:
    for terms, chance in itertools.product((1, 6), (0.2, 0.01)):
        margin = tails.noise_margin(chance, rate=rate, terms=terms)
        law = {"rate": rate, "left": terms, "right": 0, "share": 0.0}
        assert tails.noise_tail(margin, **law) <= chance  # type: ignore[arg-type]
        before = tails.noise_tail(margin - 1, **law)  # type: ignore[arg-type]
        assert margin == 1 or before > chance


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 54321])
@pytest.mark.parametrize("q", [0.01, 0.3, 0.5, 0.99])
def test_sampling_margins_are_binomial(n: int, q: float) -> None:
    for chance in (0.2, 0.025, 1e-5):
        fewest = round(q * n - tails.sampling_margin(n, q, chance))
        assert stats.binom.cdf(fewest - 1, n, q) <= chance * (1 + 1e-6)
        assert stats.binom.cdf(fewest, n, q) > chance * (1 - 1e-6)
    assert tails.sampling_margin(n, 0.0, 0.01) == tails.sampling_margin(n, 1.0, 0.01) == 0.0


def test_sampling_of_very_many_records_is_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = tails.sampling_margin(10**8, 0.5, 0.0251)
    monkeypatch.setattr(tails, "MOST_DEVIATION", 10.0)
    tails.sampling_margin.cache_clear()
    assert exact <= tails.sampling_margin(10**8, 0.5, 0.0251) <= exact * 1.01
    assert tails.sampling_margin(2**53, 0.5, 0.025) < 1.1e8
    tails.sampling_margin.cache_clear()
