"""Quick draws for plans follow the laws of the mechanisms, and are as far off as real releases."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.kernels.many_backward import Walks
from dpquantiles.mechanisms import MECHANISMS, joint_simulation, registry
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_simulation import JointDraws, RecordRuns, Trial
from dpquantiles.planner.estimates import rank_errors, simulated_errors
from dpquantiles.planner.reference import Piece, Reference, reference
from dpquantiles.privacy import ApproxDP, PureDP

DRAWS = 40_000
CASES = {
    "distinct": ([1, 4, 6, 9], (0.5,), 4),
    "ties": ([2, 2, 2, 5, 5], (0.25, 0.75), 5),
    "copies in one gap": ([0, 0, 9, 9], (0.4, 0.5, 0.6), 4),
    "equal targets": ([3, 3, 4, 8], (0.5, 0.5), 4),
    "surplus": ([1, 1, 4, 7, 7], (0.3, 0.6), 3),
    "shortage": ([4, 6], (0.3, 0.6, 0.9), 5),
    "ends": ([0, 5, 9], (0.0, 1.0), 3),
}
"""Records among ten grid points, quantiles, and the public size."""

GRID = dpq.UniformGrid(-100.0, 100.0)
RELEASES = 120


def ties(records: list[int]) -> Reference:
    """A reference with exactly these records among ten grid points."""
    counts = sorted(Counter(records).items())
    pieces = tuple(Piece(float(count), step, 1) for step, count in counts)
    return Reference(len(records), dpq.UniformGrid(0, 9, 1), "some records", pieces)


def draws_of(records: list[int], q: tuple[float, ...], size: int, rate: float) -> np.ndarray:
    """Draws from two copies of the same data set."""
    view = ties(records)
    assert view.order_statistics(np.arange(len(records))).tolist() == records
    runs = RecordRuns(view, *(np.array([x, x]) for x in (0, len(records), 0, 9)))
    targets = np.rint(np.array(q) * size).astype(np.int64)
    return JointDraws(runs, targets, rate, size, random.Random(1)).draw(np.arange(DRAWS) % 2)


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_law(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Plans leave out the point beyond all records.
    monkeypatch.setattr(JointExp, "beyond", 0)
    records, q, size = CASES[case]
    mechanism = JointExp(q=q, budget=privacy.budget(epsilon=1.6, neighbors="add-remove"), size=size)
    law = mechanism.law(dpq.ArrayView(np.array(records), dpq.UniformGrid(0, 9, 1)))
    drawn = Counter(map(tuple, draws_of(records, q, size, 0.8).tolist()))
    statistic, cells, rare = 0.0, 0, 0.0
    for answer in itertools.combinations_with_replacement(range(10), len(q)):
        wanted = DRAWS * math.exp(law.log_probability(answer))
        if wanted >= 5:
            statistic += (drawn.pop(answer, 0) - wanted) ** 2 / wanted
            cells += 1
        else:
            rare += wanted
    # Chi-square with cells - 1 degrees of freedom: beyond five deviations in no fair draw.
    assert statistic < cells + 5 * math.sqrt(2 * cells), (statistic, cells)
    assert abs(sum(drawn.values()) - rare) < 5 * math.sqrt(rare + 1)


def test_another_rate_is_rejected() -> None:
    records, q, size = CASES["ties"]
    law = JointExp(q=q, budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), size=size).law(
        dpq.ArrayView(np.array(records), dpq.UniformGrid(0, 9, 1))
    )
    count = (draws_of(records, q, size, 0.8) == [2, 5]).all(axis=1).sum()
    wanted = DRAWS * math.exp(law.log_probability((2, 5)))
    assert abs(count - wanted) > 6 * math.sqrt(wanted)


def test_records_that_are_on_no_axis_can_be_left_out() -> None:
    """Short axes far apart: answers as from the whole data set."""
    runs = RecordRuns.whole(reference("even", 3000, GRID))
    targets, chosen = np.array([5, 1500, 1510, 2990]), np.array([0])
    near = runs.columns(targets, range(-20, 21), chosen)
    whole = runs.columns(targets, range(-3000, 3001), chosen)
    assert whole.n.tolist() == [3000]
    assert whole.targets[:, 0].tolist() == targets.tolist()
    assert near.n[0] < 150
    for k in range(len(targets)):
        window = [
            tuple(array[int(columns.targets[k, 0]) + offset, 0] for array in columns.places)
            for columns in (near, whole)
            for offset in range(-4, 10)
        ]
        assert window[:14] == window[14:]
    assert (np.diff(near.targets[:, 0]) <= np.diff(targets)).all()
    assert near.targets[2, 0] - near.targets[1, 0] == 10
    assert near.targets[1, 0] - near.targets[0, 0] >= 41


def test_an_axis_that_is_too_short_is_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, attempt = [], JointDraws._try

    def counted(draws: JointDraws, which: np.ndarray, axis: range) -> Trial:
        lengths.append(len(axis))
        return attempt(draws, which, axis)

    monkeypatch.setattr(JointDraws, "_try", counted)
    monkeypatch.setattr(JointDraws, "_half_axis", lambda _: 3)
    runs = RecordRuns.whole(reference("even", 2000, GRID))
    draws = JointDraws(runs, np.array([1000]), 0.01, 2000, random.Random(0))
    steps = draws.draw(np.zeros(400, dtype=np.int64))
    assert lengths[0] == 7
    assert lengths[-1] > 1000
    errors = rank_errors(runs.view, np.array([0.5]), steps)  # type: ignore[arg-type]
    assert errors.mean() == pytest.approx(50, rel=0.2)  # |p| decays at rate 2 c = 0.02


def real_errors(mechanism: object, shape: str, n: int) -> np.ndarray:
    """Errors of seeded releases on the reference as records in memory."""
    view = reference(shape, n, GRID)
    records = np.array(GRID.decode(view.order_statistics(np.arange(n))))
    array = dpq.ArrayView(records, GRID)
    q = np.sort(mechanism.q)  # type: ignore[attr-defined]
    answers = [
        GRID.encode(np.array(mechanism.release(array, random.Random(seed)).values))  # type: ignore[attr-defined]
        for seed in range(RELEASES)
    ]
    return rank_errors(view, q, np.array(answers))


def even(m: int) -> tuple[float, ...]:
    return tuple((k + 1) / (m + 1) for k in range(m))


@pytest.mark.parametrize("shape", ["even", "clustered", "tied"])
@pytest.mark.parametrize(
    ("name", "m", "epsilon"),
    [
        ("joint_exp", 1, 1.0),
        ("joint_exp", 9, 0.3),
        ("recursive_joint_exp", 30, 1.0),
        ("approx_quantiles", 7, 1.0),
        ("ind_exp", 5, 1.0),
        ("app_ind_exp", 5, 1.0),
        ("agg_tree", 9, 1.0),
    ],
)
def test_errors_are_those_of_real_releases(name: str, m: int, epsilon: float, shape: str) -> None:
    budget = ApproxDP(epsilon=epsilon, delta=1e-6) if "app_" in name else PureDP(epsilon=epsilon)
    mechanism = registry.build(name, budget, q=even(m))
    planned = simulated_errors(mechanism, reference(shape, 1000, GRID), 400).mean(axis=1)
    real = real_errors(mechanism, shape, 1000).mean(axis=1)
    noise = np.hypot(planned.std() / 20, real.std() / np.sqrt(RELEASES))
    # Four deviations, and what coarser ranks and rounded targets may do.
    assert abs(planned.mean() - real.mean()) < 4 * noise + 0.05 * real.mean() + 0.1


@pytest.mark.parametrize("shape", ["even", "tied"])
@pytest.mark.parametrize("n", [670, 1200])
def test_answers_leave_records_that_are_lost_in_a_large_grid(n: int, shape: str) -> None:
    """Deciles of few whole numbers without bounds: there all is lost, or nothing."""
    grid, q = dpq.FloatGrid(integral=True), even(9)
    mechanism = dpq.JointExp(q=q, budget=PureDP(epsilon=1.0))
    view = reference(shape, n, grid)
    records = np.array(grid.decode(view.order_statistics(np.arange(n))), dtype=object)
    law = mechanism.law(dpq.ArrayView(records, grid))
    drawn = [grid.encode(np.array(law.draw(random.Random(seed)))) for seed in range(100)]
    real = rank_errors(view, np.array(q), np.array(drawn)).mean()
    assert simulated_errors(mechanism, view, 400).mean() == pytest.approx(real, rel=0.15)
    assert real > 60 if n == 670 else real < 10


def test_add_remove_with_a_stated_size_halves_the_error() -> None:
    view = reference("even", 5000, GRID)
    swap = registry.build("joint_exp", PureDP(epsilon=1.0), q=(0.5,))
    add_remove = PureDP(epsilon=1.0, neighbors=dpq.Neighbors.ADD_REMOVE)
    other = registry.build("joint_exp", add_remove, q=(0.5,), size=5000)
    means = [simulated_errors(mechanism, view, 2000).mean() for mechanism in (swap, other)]
    assert means[0] / means[1] == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize(
    "name",
    [
        "joint_exp",
        "recursive_joint_exp",
        "ind_exp",
        "agg_tree",
        "adaptive_tree",
        "fitted",
        "above_threshold",
    ],
)
def test_simulations_repeat_themselves(name: str) -> None:
    """And differ with the seed of the reference: the same noise on all would not average out."""
    first, again, other = (reference("even", 500, GRID, seed=seed) for seed in (0, 0, 1))
    mechanism = registry.build(name, PureDP(epsilon=1.0), q=(0.3, 0.6))
    errors = simulated_errors(mechanism, first, 50)
    assert (errors == simulated_errors(mechanism, again, 50)).all()
    assert (errors != simulated_errors(mechanism, other, 50)).any()


def test_cost_does_not_grow_with_the_number_of_records() -> None:
    view = reference("even", 2**31, GRID)
    for name in set(MECHANISMS) - {"csmooth", "paper_joint_exp", "app_ind_exp"}:
        if name not in ("above_threshold", "slice_quantiles"):
            mechanism = registry.build(name, PureDP(epsilon=1.0), q=even(40))
            assert simulated_errors(mechanism, view, 20).shape == (20, 40)


@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_few_records_and_extreme_budgets_have_finite_errors(n: int, epsilon: float) -> None:
    view = reference("even", n, dpq.UniformGrid(0, 9, 1))
    for name in ("joint_exp", "recursive_joint_exp", "agg_tree", "ind_exp"):
        mechanism = registry.build(name, PureDP(epsilon=epsilon), q=(0.1, 0.5, 0.9))
        errors = simulated_errors(mechanism, view, 30)
        assert np.isfinite(errors).all()
        assert errors.max() <= n


def test_extreme_quantiles_take_no_longer_axis_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws stay at the end of the records, beyond which an axis cannot be lengthened."""
    cells, walks = [], Walks

    def counted(columns: object, factors: object, steps: list, bits: object, some: np.ndarray):  # type: ignore[no-untyped-def,type-arg]
        cells.append(len(some) * max(len(step.total) for step in steps))
        return walks(columns, factors, steps, bits, some)  # type: ignore[arg-type]

    monkeypatch.setattr(joint_simulation, "Walks", counted)
    for q in (0.0, 0.5, 1.0):
        simulated_errors(
            dpq.JointExp(q=(q,), budget=PureDP(epsilon=1.0)), reference("even", 2**53, GRID), 64
        )
    assert max(cells) <= 64 * 1024
    most = max(cells) // 4
    monkeypatch.setattr(joint_simulation, "MOST_WALKED", most)
    cells.clear()
    view = reference("even", 1000, GRID)
    assert simulated_errors(dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=1.0)), view, 64).shape == (
        64,
        1,
    )
    assert max(cells) <= most


INDEPENDENT = {
    ("joint_exp", "even", 10_000, 9, 1.0): (5.311, 0.089),
    ("joint_exp", "tied", 10_000, 30, 1.0): (69.576, 0.067),
    ("joint_exp", "clustered", 10_000, 30, 1.0): (61.69, 0.182),
    ("joint_exp", "smooth", 1000, 60, 0.5): (42.28, 0.435),
    ("joint_exp", "even", 10**9, 20, 1e-4): (79682.0, 1169.0),
    ("recursive_joint_exp", "even", 10_000, 30, 1.0): (10.09, 0.115),
    ("recursive_joint_exp", "clustered", 3000, 64, 1.0): (78.89, 0.314),
    ("recursive_joint_exp", "smooth", 10_000, 255, 1.0): (20.86, 0.158),
    ("approx_quantiles", "tied", 10_000, 15, 1.0): (44.75, 0.233),
    ("ind_exp", "smooth", 10_000, 9, 1.0): (17.98, 0.189),
}
"""Mean errors, and their standard errors, of another implementation of the same draws, which had
passes, walks and random numbers of its own: 128 draws on each of eight data sets."""


@pytest.mark.parametrize("case", INDEPENDENT, ids=lambda case: "-".join(map(str, case)))
def test_errors_agree_with_those_of_an_independent_implementation(
    case: tuple[str, str, int, int, float],
) -> None:
    name, shape, n, m, epsilon = case
    mechanism = registry.build(name, PureDP(epsilon=epsilon), q=even(m))
    views = [reference(shape, n, GRID, seed=seed) for seed in range(8)]
    means = [simulated_errors(mechanism, view, 64).mean(axis=1) for view in views]
    mean = sum(float(each.mean()) for each in means) / 8
    error = math.sqrt(sum(each.var() / len(each) for each in means)) / 8
    wanted, own = INDEPENDENT[case]
    assert abs(mean - wanted) < 4 * math.hypot(error, own)
