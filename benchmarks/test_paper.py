"""The opponent is checked too: its forward pass and its draws are the paper's formula."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest

from benchmarks import paper_plain, paper_tuned

Sequences = dict[tuple[int, ...], float]

CASES = [
    pytest.param([0.3, 1.1, 2.0, 4.5], [0.5], 1.0, id="median"),
    pytest.param([0.3, 1.1, 2.0, 4.5, 4.9], [0.25, 0.5, 0.75], 1.0, id="quartiles"),
    pytest.param([0.3, 1.1, 2.0, 4.5, 4.9, 5.5], [0.1, 0.2, 0.7, 0.9], 4.0, id="uneven"),
    pytest.param([1.0, 1.0, 1.0, 2.0, 2.0, 5.0], [0.25, 0.5, 0.75], 2.0, id="ties"),
    pytest.param([0.0, 0.0, 0.0, 0.0, 3.0], [0.2, 0.8], 2.0, id="ties at the lower bound"),
    pytest.param([6.0, 6.0, 6.0, 6.0], [0.2, 0.8], 2.0, id="all at the upper bound"),
    pytest.param([0.0, 0.0, 0.0], [0.25, 0.5, 0.75], 2.0, id="all at the lower bound"),
    pytest.param([-9.0, 2.0, 3.0, 99.0], [0.3, 0.6], 0.5, id="clamped"),
    pytest.param([2.0], [0.2, 0.5, 0.9], 1.0, id="one record"),
]
BOUNDS = (0.0, 6.0)


def enumerated_masses(edges: paper_tuned.Floats, q: list[float], epsilon: float) -> Sequences:
    """The mass of every sequence of intervals, straight from the definition of M_Q'."""
    n = edges.size - 2
    targets = np.diff([0.0, *q, 1.0]) * n
    masses = {}
    for s in combinations_with_replacement(range(n + 1), len(q)):
        utility = -np.abs(np.diff([0, *s, n]) - targets).sum()
        width = math.prod(edges[i + 1] - edges[i] for i in s)
        orders = math.prod(math.factorial(count) for count in Counter(s).values())
        masses[s] = float(np.exp(epsilon * utility / 4) * width / orders)
    return masses


@pytest.mark.parametrize(("values", "q", "epsilon"), CASES)
def test_last_row_of_alpha_is_the_enumeration(
    values: list[float], q: list[float], epsilon: float
) -> None:
    edges = paper_tuned.interval_edges(values, BOUNDS)
    table = paper_tuned.forward(edges, q, epsilon)
    n, m = len(values), len(q)
    last = paper_tuned.log_phi(n - np.arange(n + 1), table.gaps[m], table.rate)
    expected = np.zeros((m, n + 1))
    for s, mass in enumerated_masses(edges, q, epsilon).items():
        expected[s.count(s[-1]) - 1, s[-1]] += mass
    assert np.exp(table.log_alpha[-1] + last) == pytest.approx(expected, rel=1e-9)
    assert np.exp(table.log_sums[-1] + last) == pytest.approx(expected.sum(axis=0), rel=1e-9)


def assert_fit(seen: Counter[tuple[int, ...]], masses: Sequences) -> None:
    """Draws of sequences follow their masses: chi-square over all that are not too rare."""
    draws, total = seen.total(), sum(masses.values())
    assert all(masses[s] > 0 for s in seen)
    common = {s: draws * mass / total for s, mass in masses.items() if draws * mass / total >= 5}
    statistic = sum((seen[s] - mean) ** 2 / mean for s, mean in common.items())
    freedom = len(common)
    assert statistic < freedom + 4 * math.sqrt(2 * freedom) + 8


@pytest.mark.parametrize(("values", "q", "epsilon"), CASES)
def test_draws_follow_the_enumeration(values: list[float], q: list[float], epsilon: float) -> None:
    edges = paper_tuned.interval_edges(values, BOUNDS)
    table, rng = paper_tuned.forward(edges, q, epsilon), np.random.default_rng(5)
    seen = Counter(tuple(paper_tuned.draw(table, rng).tolist()) for _ in range(4000))
    assert_fit(seen, enumerated_masses(edges, q, epsilon))


def test_a_wrong_epsilon_is_noticed() -> None:
    edges = paper_tuned.interval_edges([0.3, 1.1, 2.0, 4.5, 4.9], BOUNDS)
    q = [0.25, 0.5, 0.75]
    right = enumerated_masses(edges, q, 1.0)
    wrong = enumerated_masses(edges, q, 1.2)
    table = paper_tuned.forward(edges, q, 1.0)
    log_mass = table.log_sums[-1] + paper_tuned.log_phi(5 - np.arange(6), table.gaps[3], table.rate)
    assert np.exp(log_mass).sum() == pytest.approx(sum(right.values()), rel=1e-9)
    assert np.exp(log_mass).sum() != pytest.approx(sum(wrong.values()), rel=1e-2)


def test_outputs_lie_in_order_and_in_bounds() -> None:
    rng = np.random.default_rng(11)
    values = rng.normal(0.0, 5.0, 1000)
    q = [k / 30 for k in range(1, 30)]
    outputs = paper_tuned.quantiles(values, q, 1.0, (-100.0, 100.0), rng)
    assert (np.diff(outputs) >= 0).all()
    assert outputs[0] >= -100.0
    assert outputs[-1] <= 100.0
    assert np.abs(np.searchsorted(np.sort(values), outputs) - 1000 * np.array(q)).mean() < 60


def test_fft_agrees_with_the_direct_product() -> None:
    rng = np.random.default_rng(3)
    kernel, vector = rng.normal(size=301), rng.normal(size=301)
    direct = [sum(np.exp(kernel[i - k] + vector[k]) for k in range(i)) for i in range(301)]
    fast = np.exp(paper_tuned.log_toeplitz_product(kernel, vector))
    assert fast == pytest.approx(np.array(direct), rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 7, 1001, 2049, 200_001])
def test_composite_length_is_long_enough_and_not_wasteful(size: int) -> None:
    assert size <= paper_tuned.composite_length(size) <= 1.25 * size + 1


@pytest.mark.parametrize("routines", [paper_plain.NAMED, paper_plain.LEAN])
@pytest.mark.parametrize(("values", "q", "epsilon"), CASES)
def test_plain_and_tuned_have_the_same_masses(
    values: list[float], q: list[float], epsilon: float, routines: paper_plain.Routines
) -> None:
    edges = paper_tuned.interval_edges(values, BOUNDS)
    tuned = paper_tuned.forward(edges, q, epsilon).log_alpha[-1]
    plain = paper_plain.log_alpha(edges, q, epsilon, routines)[-1].T
    assert np.exp(plain) == pytest.approx(np.exp(tuned), rel=1e-9)


@pytest.mark.parametrize(("values", "q", "epsilon"), CASES)
def test_plain_draws_follow_the_enumeration(
    values: list[float], q: list[float], epsilon: float
) -> None:
    edges, rng = paper_tuned.interval_edges(values, BOUNDS), np.random.default_rng(2)
    seen = Counter(tuple(paper_plain.draw(edges, q, epsilon, rng).tolist()) for _ in range(1000))
    assert_fit(seen, enumerated_masses(edges, q, epsilon))
