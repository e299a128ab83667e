"""Smooth sensitivity against its definition, and the continuous noise against its distributions."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpquantiles.kernels import smooth


def slow_twin(records: Sequence[int], center: int, t: float) -> float:
    """Equation (1), all pairs."""
    pairs = itertools.product(range(center + 1), range(center, len(records)))
    return max(
        (records[high] - records[low]) * math.exp(-t * max(high - low - 1, 0))
        for low, high in pairs
    )


def local_sensitivity(records: Sequence[int], rank: int, points: int) -> int:
    """The most by which replacing one record moves the record of this rank (from 1)."""
    changed = (
        sorted((*records[:k], *records[k + 1 :], new))[rank - 1]
        for k, new in itertools.product(range(len(records)), range(points))
    )
    return max(abs(value - sorted(records)[rank - 1]) for value in changed)


def by_definition(records: Sequence[int], rank: int, points: int, t: float) -> float:
    """The largest local sensitivity of all data sets, faded by how many records differ."""
    found = 0.0
    for other in itertools.combinations_with_replacement(range(points), len(records)):
        distance = len(records) - (Counter(records) & Counter(other)).total()
        found = max(found, local_sensitivity(other, rank, points) * math.exp(-t * distance))
    return found


def check_definition(points: int, n: int, t: float) -> None:
    """Every data set of a small domain and every rank."""
    for records in itertools.combinations_with_replacement(range(points), n):
        padded = np.array([0, *records, points - 1])
        for rank in range(1, n + 1):
            expected = by_definition(records, rank, points, t)
            assert smooth.smooth_sensitivity(padded, rank, t) == pytest.approx(expected)


@pytest.mark.parametrize(("points", "n"), [(2, 3), (4, 1), (4, 3), (5, 2), (3, 4)])
@pytest.mark.parametrize("t", [0.05, 0.7, 2.0])
def test_sensitivity_is_the_definition(points: int, n: int, t: float) -> None:
    check_definition(points, n, t)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[int], int]:
    top = draw(st.sampled_from([1, 5, 1000, 2**38, 2**61]))
    records = sorted(draw(st.lists(st.integers(0, top), min_size=1, max_size=40)))
    return records, draw(st.integers(0, len(records) - 1))


@given(sample=samples(), t=st.sampled_from([1e-4, 0.01, 0.2, 1.0, 3.0]))
@settings(max_examples=300, deadline=None)
def test_divide_and_conquer_equals_all_pairs(sample: tuple[list[int], int], t: float) -> None:
    records, center = sample
    found = smooth.smooth_sensitivity(np.array(records), center, t)
    assert found == pytest.approx(slow_twin(records, center, t), rel=1e-12)


@given(sample=samples(), t=st.sampled_from([0.01, 0.2, 1.0]))
@settings(max_examples=100, deadline=None)
def test_best_partners_never_decrease(sample: tuple[list[int], int], t: float) -> None:
    records, center = np.array(sample[0]), sample[1]
    fall = np.exp(-t * np.arange(len(records)))
    partners = smooth._best_partners(records[: center + 1], records[center:], fall)
    assert (np.diff(partners) >= 0).all()


def test_a_large_sample_equals_all_pairs() -> None:
    records = np.sort(np.random.default_rng(1).integers(0, 2**38, 1500))
    faded = np.exp(-0.02 * np.maximum(np.arange(900) + np.arange(600, -1, -1)[:, None] - 1, 0))
    expected = ((records[600:] - records[:601, None]) * faded).max()
    assert smooth.smooth_sensitivity(records, 600, 0.02) == pytest.approx(expected, rel=1e-12)


class Constant:
    """Bits that are all the same."""

    def __init__(self, bit: int) -> None:
        self.bit = bit

    def getrandbits(self, k: int, /) -> int:
        return ((1 << k) - 1) * self.bit


@pytest.mark.parametrize("bit", [0, 1])
def test_the_most_extreme_bits_give_finite_noise(bit: int) -> None:
    bits = Constant(bit)
    assert 0 < smooth.uniform(bits) < 1
    assert math.isfinite(smooth.laplace(bits))
    assert math.isfinite(smooth.normal(bits))


def test_noise_fits_its_distribution_and_no_other() -> None:
    bits = random.Random(5)
    laplace = [smooth.laplace(bits) for _ in range(20_000)]
    normal = [smooth.normal(bits) for _ in range(20_000)]
    assert stats.kstest(laplace, stats.laplace.cdf).pvalue > 1e-3
    assert stats.kstest(normal, stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(laplace, stats.laplace(scale=1.1).cdf).pvalue < 1e-6
    assert stats.kstest(normal, stats.norm(scale=1.1).cdf).pvalue < 1e-6


def exponent_counts_one_more(records: np.ndarray, center: int, t: float) -> float:
    return math.exp(-t) * slow_twin(records.tolist(), center, t)


def ends_are_left_out(records: np.ndarray, center: int, t: float) -> float:
    return slow_twin(records[1:-1].tolist(), center - 1, t)


def only_the_neighbors_count(records: np.ndarray, center: int, t: float) -> float:
    return slow_twin(records[center - 1 : center + 2].tolist(), 1, t)


@pytest.mark.parametrize(
    "mutant", [exponent_counts_one_more, ends_are_left_out, only_the_neighbors_count]
)
def test_mutants_are_caught(mutant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smooth, "smooth_sensitivity", mutant)
    with pytest.raises(AssertionError):
        check_definition(4, 3, 0.3)
