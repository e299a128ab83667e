"""Trees of counts against plain twins: least squares, projections, inverses; exact fast noise."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from dpquantiles.kernels import draws, tree

RATES = (Fraction(1, 5), Fraction(1), Fraction(5, 2), Fraction(1, 3000))


def noisy_levels(branching: int, height: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    exact = tree.sums(rng.integers(0, 9, branching**height), branching, height)
    return [counts + rng.integers(-6, 7, len(counts)) for counts in exact]


def least_squares(levels: list[np.ndarray], branching: int, total: int | None) -> np.ndarray:
    """Leaves that fit all counts best, by one big system; `total` weighs as much as all else."""
    leaves = len(levels[-1])
    rows = [np.kron(np.eye(len(c)), np.ones(leaves // len(c))) for c in levels]
    counts = [c.astype(float) for c in levels]
    if total is not None:
        rows.append(1e5 * np.ones((1, leaves)))
        counts.append(np.array([1e5 * total]))
    found, *_ = np.linalg.lstsq(np.vstack(rows), np.concatenate(counts), rcond=None)
    assert branching ** len(levels) == leaves
    return np.asarray(found)


@pytest.mark.parametrize("total", [None, 0, 50])
@pytest.mark.parametrize(("branching", "height"), [(2, 1), (2, 4), (3, 3), (5, 2)])
def test_consistency_is_least_squares(branching: int, height: int, total: int | None) -> None:
    levels = noisy_levels(branching, height, seed=height)
    settled = tree.consistent(levels, branching, total)
    np.testing.assert_allclose(settled[-1], least_squares(levels, branching, total), atol=1e-4)
    for parents, children in itertools.pairwise(settled):
        np.testing.assert_allclose(parents, children.reshape(-1, branching).sum(axis=1), atol=1e-9)


def test_consistent_counts_stay_as_they_are() -> None:
    exact = tree.sums(np.arange(27), 3, 3)
    for settled, counts in zip(tree.consistent(exact, 3, None), exact, strict=True):
        np.testing.assert_allclose(settled, counts, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_projection_is_the_nearest_without_negative_counts(seed: int) -> None:
    counts = np.random.default_rng(seed).normal(1, 4, 6)
    mass = max(0.0, counts.sum())
    nearest = optimize.minimize(
        lambda u: ((u - counts) ** 2).sum(),
        np.full(6, mass / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda u: u.sum() - mass},
        tol=1e-12,
    ).x
    np.testing.assert_allclose(tree.projected([counts], 6), nearest, atol=1e-4)


def test_projection_keeps_the_mass_of_every_node() -> None:
    settled = tree.consistent(noisy_levels(4, 3, seed=2), 4, 100)
    masses = tree.projected(settled, 4)
    assert (masses >= 0).all()
    assert math.isclose(masses.sum(), 100)


def test_shares_follow_the_counts() -> None:
    levels = [np.array([30, 10, -5]), np.array([1, 2, 0, 0, 0, -1, 4, 4, 4])]
    masses = tree.shared(levels, 3)
    np.testing.assert_allclose(masses, [0.25, 0.5, 0, 1 / 12, 1 / 12, 1 / 12, 0, 0, 0])


def test_a_share_is_faint_below_the_limit_only() -> None:
    assert tree.FAINT_SHARE == 1 / 200
    np.testing.assert_allclose(tree.shared([np.array([1, 199])], 2), [0.005, 0.995])
    np.testing.assert_allclose(tree.shared([np.array([1, 200])], 2), [0.0, 1.0])
    np.testing.assert_allclose(tree.shared([np.array([0, -3])], 2), [0.5, 0.5])


def test_edges_are_even_and_cover_the_grid() -> None:
    assert tree.edges(10, 4).tolist() == [0, 2, 5, 7, 10]
    assert tree.edges(2, 4).tolist() == [0, 0, 1, 1, 2]
    huge = tree.edges(2**62, 1000)
    assert huge[-1] == 2**62
    assert np.ptp(np.diff(huge)) <= 1


def test_inverse_is_linear_inside_a_leaf() -> None:
    bounds, masses = np.array([0, 10, 20, 40]), np.array([1.0, 0.0, 1.0])
    q = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert tree.inverse(masses, bounds, q).tolist() == [0, 5, 9, 30, 39]
    assert tree.inverse(np.zeros(3), bounds, q).tolist() == [0, 9, 19, 30, 39]


def test_inverse_passes_over_leaves_without_points() -> None:
    bounds = np.array([0, 0, 1, 1, 2])
    masses, q = np.array([9.0, 1.0, 9.0, 1.0]), np.array([0.4, 0.6])
    assert tree.inverse(masses, bounds, q).tolist() == [0, 1]


def fit(drawn: np.ndarray, rate: float) -> float:
    """The p-value of the chi-square test that integers have the discrete Laplace law."""
    ratio, width = math.exp(-rate), max(1, round(0.25 / rate))
    cuts = np.arange(-12, 13) * width
    through = np.where(
        cuts < 1, ratio ** (1.0 - cuts) / (1 + ratio), 1 - ratio ** (0.0 + cuts) / (1 + ratio)
    )
    expected = len(drawn) * np.diff(through, prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(cuts, drawn, side="right"), minlength=len(expected))
    likely = expected >= 5
    observed = np.append(observed[likely], observed[~likely].sum())
    expected = np.append(expected[likely], expected[~likely].sum() + 1e-9)
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


@pytest.mark.parametrize("rate", RATES)
def test_fast_noise_has_its_law(rate: Fraction) -> None:
    drawn = draws.discrete_laplaces(random.Random(5), rate, 60_000)
    assert fit(drawn, float(rate)) > 1e-3
    assert fit(drawn, 0.9 * rate) < 1e-6
    assert fit(drawn, 1.1 * rate) < 1e-6


def test_fast_noise_is_like_the_slow() -> None:
    bits, rate = random.Random(2), Fraction(1, 3)
    slow = np.array([draws.discrete_laplace(bits, rate) for _ in range(5000)])
    assert fit(slow, 1 / 3) > 1e-3


class Row:
    """A given row of words, for one draw; none are left after them."""

    def __init__(self, words: tuple[int, ...]) -> None:
        self.words = list(words)

    def take(self, which: np.ndarray) -> np.ndarray:
        assert which.tolist() == [0]
        if not self.words:
            raise EOFError
        return np.array([self.words.pop(0) << (64 - draws.WORD)], dtype=np.uint64)


def bracket(rate: Fraction, length: int, closed: bool) -> list[tuple[float, float]]:
    """Of every category, the share of rows of three words that surely or possibly lead to it."""
    sure, unsure, base = Counter[int](), 0, 2**draws.WORD
    for number in range(base**3):
        words = (number // base**2, number // base % base, number % base)
        try:
            take = Row(words).take
            sure[draws._categories(take, rate, length, closed, np.arange(1)).item()] += 1
        except EOFError:
            unsure += 1
    return [(sure[k] / base**3, (sure[k] + unsure) / base**3) for k in range(length + 1)]


def check_inversion(rate: Fraction, length: int, closed: bool) -> None:
    """Every category's probability lies in its bracket, which three words make narrow."""
    powers = [math.exp(-rate * k) for k in range(length + 1)]
    whole = 1 - powers[-1] if closed else 1.0
    law = [(a - b) / whole for a, b in itertools.pairwise(powers)]
    law.append(0.0 if closed else powers[-1])
    for probability, (low, high) in zip(law, bracket(rate, length, closed), strict=True):
        assert low - 1e-12 <= probability <= high + 1e-12
        assert high - low <= (length + 1) / 2 ** (3 * draws.WORD)


INVERSIONS = [(Fraction(1, 2), 5, False), (Fraction(1, 7), 6, True), (Fraction(3), 2, False)]


@pytest.mark.parametrize(("rate", "length", "closed"), INVERSIONS)
def test_words_are_drawn_until_they_decide(
    rate: Fraction, length: int, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draws, "WORD", 4)
    check_inversion(rate, length, closed)


def test_short_words_give_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits, the open top digit and further words together."""
    monkeypatch.setattr(draws, "WORD", 6)
    monkeypatch.setattr(draws, "DIGIT", 4)
    drawn = draws.discrete_laplaces(random.Random(8), Fraction(1, 50), 4000)
    assert fit(drawn, 0.02) > 1e-3


@pytest.mark.parametrize("closed", [True, False])
def test_cumulative_bits_agree_with_floats(closed: bool) -> None:
    rate = Fraction(1, 9)
    whole = -math.expm1(-rate * 40) if closed else 1.0
    exact = [-math.expm1(-rate * k) / whole for k in range(1, 41 - closed)]
    assert draws.cumulative(rate, 40, closed, 30) == tuple(int(x * 2**30) for x in exact)


@pytest.mark.parametrize("rate", [draws.LEAST_RATE, draws.MOST_RATE])
def test_extreme_rates_are_drawn(rate: Fraction) -> None:
    drawn = draws.discrete_laplaces(random.Random(1), rate, 200)
    assert (np.abs(drawn).max() > 2**38) == (rate < 1)


@pytest.mark.parametrize("rate", [draws.LEAST_RATE / 2, draws.MOST_RATE + 1])
def test_rates_beyond_are_refused(rate: Fraction) -> None:
    with pytest.raises(ValueError, match="epsilon must lie between"):
        draws.discrete_laplaces(random.Random(1), rate, 3)


Patch = pytest.MonkeyPatch


def never_refine(patch: Patch) -> None:
    patch.setattr(draws, "_refined", lambda *args: args[-1] % 2)


def round_the_bounds_up(patch: Patch) -> None:
    original = draws.cumulative
    patch.setattr(draws, "cumulative", lambda *a: tuple(x + 1 for x in original(*a)))


def unscaled_noise(patch: Patch) -> None:
    original = draws.geometrics
    patch.setattr(draws, "geometrics", lambda bits, rate, n: original(bits, rate * 6 / 5, n))


def inversion(patch: Patch) -> None:
    patch.setattr(draws, "WORD", 4)
    check_inversion(*INVERSIONS[0])


def sampling(_: Patch) -> None:
    assert fit(draws.discrete_laplaces(random.Random(5), Fraction(1, 5), 60_000), 0.2) > 1e-3


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[Patch], None]]] = [
    (never_refine, inversion),
    (round_the_bounds_up, inversion),
    (unscaled_noise, sampling),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_noise_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    with Patch.context() as untouched:
        check(untouched)
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)
