"""PaperJointExp: every sequence of intervals by enumeration, privacy, draws, many quantiles."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from benchmarks import paper_tuned
from dpquantiles import privacy
from dpquantiles.grid import FloatGrid, UniformGrid, default_grid
from dpquantiles.kernels import scans
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.baselines.paper_joint_exp import IntervalLaw, PaperJointExp
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.views import SortedView
from tests.mechanisms.joint_exp_checks import Answer, neighbor_pairs, view_of

CASES = [
    pytest.param([1, 3, 4, 9], (0.5,), id="median"),
    pytest.param([1, 3, 4, 9, 11], (0.25, 0.5, 0.75), id="quartiles"),
    pytest.param([1, 3, 4, 9, 11, 12], (0.1, 0.2, 0.7, 0.9), id="uneven"),
    pytest.param([3, 3, 3, 4, 4, 9], (0.25, 0.5, 0.75), id="ties"),
    pytest.param([0, 0, 0, 0, 6], (0.2, 0.8), id="ties at the lower end"),
    pytest.param([12, 12, 12], (0.2, 0.8), id="all at the upper end"),
    pytest.param([2, 5, 7], (0.0, 0.5, 0.5, 1.0), id="ends and repeats"),
    pytest.param([5], (0.2, 0.5, 0.9), id="one record"),
    pytest.param([], (0.3, 0.6), id="no record"),
]
POINTS = 13


def masses(records: Sequence[int], mechanism: PaperJointExp, points: int) -> dict[Answer, float]:
    """The weight of every sequence of intervals, straight from equation (2)."""
    n, edges = len(records), [0, *sorted(records), points - 1]
    q = [0.0, *sorted(mechanism.q), 1.0]
    gaps = [b - a for a, b in itertools.pairwise(q)]
    sensitivity = 2 if mechanism.neighbors == "swap" else 2 * (1 - min(gaps))
    found = {}
    for s in itertools.combinations_with_replacement(range(n + 1), len(q) - 2):
        steps = [b - a for a, b in itertools.pairwise([0, *s, n])]
        utility = -sum(abs(d - gap * n) for d, gap in zip(steps, gaps, strict=True))
        width = math.prod(edges[i + 1] - edges[i] for i in s)
        orders = math.prod(math.factorial(count) for count in Counter(s).values())
        found[s] = math.exp(mechanism.budget.amount * utility / (2 * sensitivity)) * width / orders
    return found


def check_enumeration() -> None:
    """Total mass and the probability of every sequence."""
    for case, neighbors in itertools.product(CASES, ["swap", "add-remove"]):
        records, q = case.values
        mechanism = PaperJointExp(q=q, budget=privacy.budget(epsilon=2.0, neighbors=neighbors))  # type: ignore[arg-type]
        law = mechanism.intervals(view_of(records, POINTS))  # type: ignore[arg-type]
        expected = masses(records, mechanism, POINTS)  # type: ignore[arg-type]
        total = sum(expected.values())
        assert law.log_mass == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)
        for s, mass in expected.items():
            assert math.exp(law.log_probability(s)) == pytest.approx(mass / total, rel=1e-9)


def log_densities(mechanism: PaperJointExp, records: Answer, points: int) -> dict[Answer, float]:
    """The log density of outputs, one for every nondecreasing vector of unit cells."""
    law, n = mechanism.intervals(view_of(records, points)), sum(x < points for x in records)
    found = {}
    for cells in itertools.combinations_with_replacement(range(points - 1), len(mechanism.q)):
        ranks = [sum(x <= cell for x in records) for cell in cells]
        steps = np.diff([0, *ranks, n])
        utility = -np.abs(steps - np.diff([0.0, *sorted(mechanism.q), 1.0]) * n).sum()
        found[cells] = law.rate * float(utility) - law.log_mass
    return found


def worst_loss(mechanism: PaperJointExp, sizes: Sequence[int], points: int) -> float:
    laws: dict[Answer, dict[Answer, float]] = {}
    worst = 0.0
    for pair in neighbor_pairs(str(mechanism.neighbors), sizes, points + 1):
        for records in pair:
            if records not in laws:
                laws[records] = log_densities(mechanism, records, points)
        a, b = (laws[records] for records in pair)
        worst = max(worst, max(abs(a[o] - b[o]) for o in a))
    return worst


def check_private() -> None:
    for neighbors in ["swap", "add-remove"]:
        for q in [(0.5,), (0.9,), (0.2, 0.3), (0.0, 0.5)]:
            mechanism = PaperJointExp(q=q, budget=privacy.budget(epsilon=2.0, neighbors=neighbors))
            assert worst_loss(mechanism, [1, 2, 3, 4], 5) <= 2.0 + 1e-9


def check_draws() -> None:
    """Seeded draws of sequences fit the enumeration."""
    for case in CASES:
        records, q = case.values
        mechanism = PaperJointExp(q=q, budget=PureDP(epsilon=2.0))  # type: ignore[arg-type]
        expected = masses(records, mechanism, POINTS)  # type: ignore[arg-type]
        law, bits = mechanism.intervals(view_of(records, POINTS)), random.Random(5)  # type: ignore[arg-type]
        seen = Counter(tuple(law.draw(bits)) for _ in range(1500))
        assert all(expected[s] > 0 for s in seen)
        means = {s: 1500 * mass / sum(expected.values()) for s, mass in expected.items()}
        common = [s for s, mean in means.items() if mean >= 5]
        observed = [*(seen[s] for s in common), 1500 - sum(seen[s] for s in common)]
        mean = [*(means[s] for s in common), max(1500 - sum(means[s] for s in common), 1e-3)]
        assert stats.chisquare(observed, mean, sum_check=False).pvalue > 1e-4


def test_masses_are_the_enumeration() -> None:
    check_enumeration()


def test_draws_follow_the_enumeration() -> None:
    check_draws()


def test_all_neighbors_and_answers_are_within_epsilon() -> None:
    check_private()


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_the_accounting_is_not_wasteful(neighbors: str) -> None:
    mechanism = PaperJointExp(q=(0.5,), budget=privacy.budget(epsilon=2.0, neighbors=neighbors))
    assert worst_loss(mechanism, [4], 8) > 1.0


@pytest.mark.parametrize(
    ("q", "expected"),
    [((0.5,), 1.0), ((0.25, 0.5, 0.75), 1.5), ((0.9, 0.1), 1.8), ((0.5, 0.5), 2.0), ((1.0,), 2.0)],
)
def test_sensitivity_follows_the_smallest_gap(q: tuple[float, ...], expected: float) -> None:
    assert PaperJointExp(q=q, budget=PureDP(epsilon=1.0)).sensitivity == 2.0
    mechanism = PaperJointExp(q=q, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    assert mechanism.sensitivity == pytest.approx(expected)


def test_points_are_uniform_in_their_interval() -> None:
    law = IntervalLaw(np.array([0.0, 8.0]), np.zeros(2), 0.5)
    bits = random.Random(2)
    drawn = [float(law.draw_points(bits)[0]) / 8 for _ in range(3000)]
    assert stats.kstest(drawn, stats.uniform.cdf).pvalue > 1e-3


def test_scans_agree_with_the_fourier_transform_where_that_works() -> None:
    data = np.random.default_rng(7).normal(0, 5, 200)
    q, grid = (0.1, 0.35, 0.5, 0.8), default_grid(REAL, (-100.0, 100.0))
    law = PaperJointExp(q=q, budget=PureDP(epsilon=1.0)).intervals(dpq.ArrayView(data, grid))
    table = paper_tuned.forward(law.edges, list(q), 1.0)
    seen = table.log_sums[-1] > table.log_sums[-1].max() - 20
    assert law.masses[1][-1][seen] == pytest.approx(table.log_sums[-1][seen], abs=1e-6)


def mean_error(
    answer: Callable[[np.ndarray, int], Any], m: int, trials: int
) -> tuple[float, float]:
    """Missed ranks per quantile on normal records, and the standard error."""
    errors, target = [], 1000 * np.arange(1, m + 1) / (m + 1)
    for seed in range(trials):
        data = np.random.default_rng([seed, m]).normal(0, 5, 1000)
        ranks = np.searchsorted(np.sort(data), np.array(answer(data, seed)))
        errors.append(np.abs(ranks - target).mean())
    return float(np.mean(errors)), float(np.std(errors) / math.sqrt(trials))


def ours(m: int) -> Callable[[np.ndarray, int], Any]:
    mechanism = PaperJointExp(
        q=tuple(k / (m + 1) for k in range(1, m + 1)), budget=PureDP(epsilon=1.0)
    )
    grid = default_grid(REAL, (-100.0, 100.0))
    return lambda data, seed: (
        mechanism.release(dpq.ArrayView(data, grid), random.Random(seed)).values
    )


@pytest.mark.parametrize(("m", "reference"), [(1, 1.7), (3, 2.9), (9, 5.2), (15, 7.0), (29, 10.8)])
def test_errors_are_those_of_the_paper(m: int, reference: float) -> None:
    """The references are means of 50 trials themselves, with about the same standard error."""
    found, deviation = mean_error(ours(m), m, 50)
    assert found <= reference + 2 * math.sqrt(2) * deviation


def test_a_hundred_quantiles_stay_right_where_the_fourier_transform_fails() -> None:
    m = 100
    q = [k / (m + 1) for k in range(1, m + 1)]
    found, _ = mean_error(ours(m), m, 6)
    assert 75 < found < 110

    def by_transform(data: np.ndarray, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return paper_tuned.quantiles(data, q, 1.0, (-100.0, 100.0), rng)

    lost, _ = mean_error(by_transform, m, 2)
    assert lost > 1.5 * found


@pytest.mark.parametrize("points", [1, 2, 6, 2**62])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_any_data_are_answered(points: int, neighbors: str, epsilon: float) -> None:
    grid = UniformGrid(0, max(points - 1, 1), 2 if points == 1 else 1)
    mechanism = PaperJointExp(
        q=(1.0, 0.5, 0.0, 0.5), budget=privacy.budget(epsilon=epsilon, neighbors=neighbors)
    )
    for data in ([], [0], [points - 1] * 9, list(range(5))):
        values = mechanism.release(dpq.ArrayView(data, grid), random.Random(1)).values
        assert values[2] <= values[1] <= values[3] <= values[0]
        assert all(0 <= value <= points - 1 for value in values)


def test_seeded_releases_repeat_and_promise_nothing() -> None:
    view, mechanism = view_of([1, 2, 3, 9], 20), PaperJointExp(q=(0.5,), budget=PureDP(epsilon=1.0))
    one, other = (mechanism.release(view, random.Random(8)) for _ in range(2))
    assert one.values == other.values
    assert one.guarantee is None
    private = mechanism.release(view, random.SystemRandom()).guarantee
    assert private == PureDP(epsilon=1.0, research_only=True)


def test_provenance_is_public() -> None:
    mechanism = PaperJointExp(q=(0.5,), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    one, other = (mechanism.release(view_of(x, 9), random.Random(1)) for x in ([], [1] * 50))
    assert one.provenance == other.provenance


def test_budgets_and_bad_parameters() -> None:
    budget = ApproxDP(epsilon=2.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    mechanism = PaperJointExp(q=(0.5,), budget=budget)
    assert (mechanism.budget.amount, mechanism.neighbors) == (2.0, "add-remove")
    with pytest.raises(ValueError, match="must work with a budget of rho"):
        PaperJointExp(q=(0.5,), budget=ZCDP(rho=1.0))
    with pytest.raises(ValueError, match="size must be left out"):
        PaperJointExp(q=(0.5,), budget=PureDP(epsilon=1.0), size=5)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        PaperJointExp(q=(0.5,), budget=PureDP(epsilon=-1))
    with pytest.raises(ValueError, match="bounds must be given"):
        PaperJointExp(q=(0.5,), budget=PureDP(epsilon=1)).release(
            dpq.ArrayView([1.0], FloatGrid()), random.Random(1)
        )


Patch = pytest.MonkeyPatch


def halve_the_sensitivity(patch: Patch) -> None:
    original = PaperJointExp.intervals

    def intervals(mechanism: PaperJointExp, view: SortedView) -> IntervalLaw:
        found = original(mechanism, view)
        return replace(found, rate=2 * found.rate)

    patch.setattr(PaperJointExp, "intervals", intervals)


def use_the_largest_gap(patch: Patch) -> None:
    def sensitivity(mechanism: PaperJointExp) -> float:
        return 2.0 if mechanism.neighbors == "swap" else 2 * (1 - float(mechanism.gaps.max()))

    patch.setattr(PaperJointExp, "sensitivity", property(sensitivity))


def forget_the_orders_of_copies(patch: Patch) -> None:
    """w^r in place of w^r / r!."""
    original = IntervalLaw._copies

    def copies(law: IntervalLaw, first: Any, k: int, cells: slice) -> Any:
        orders = np.array([math.lgamma(r + 1) for r in range(1, k + 2)])
        return original(law, first, k, cells) + orders[:, None]

    patch.setattr(IntervalLaw, "_copies", copies)


def count_the_same_interval_twice(patch: Patch) -> None:
    """j <= i in place of j < i in (4)."""
    original = IntervalLaw._step

    def step(law: IntervalLaw, mass: Any, advance: float, decay: Any) -> Any:
        return np.logaddexp(original(law, mass, advance, decay), mass - law.rate * advance)

    patch.setattr(IntervalLaw, "_step", step)


def shorten_the_window(patch: Patch) -> None:
    original = scans.window
    patch.setattr(scans, "window", lambda mass, width, d: original(mass, max(width - 1, 0), d))


def forget_the_copies_of_the_walk(patch: Patch) -> None:
    """Each answer is drawn as if its interval held no other."""
    original = IntervalLaw._copies

    def copies(law: IntervalLaw, first: Any, k: int, cells: slice) -> Any:
        terms = original(law, first, k, cells)
        return terms[:1] if cells != slice(None) else terms

    patch.setattr(IntervalLaw, "_copies", copies)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (halve_the_sensitivity, check_private),
        (halve_the_sensitivity, check_enumeration),
        (use_the_largest_gap, check_private),
        (forget_the_orders_of_copies, check_enumeration),
        (count_the_same_interval_twice, check_enumeration),
        (shorten_the_window, check_enumeration),
        (forget_the_copies_of_the_walk, check_draws),
    ],
)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        check()
