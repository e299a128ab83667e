"""Rehearsals are as far off as the real mechanisms on the same records."""

import random

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.planner import rehearsal
from dpquantiles.planner.chains import Chains, Drawn
from dpquantiles.planner.reference import reference
from dpquantiles.planner.rehearsal import rank_errors, rehearse
from dpquantiles.privacy import ApproxDP, PureDP

GRID = dpq.UniformGrid(-100.0, 100.0)
RELEASES = 120


def real_errors(mechanism: object, shape: str, n: int) -> np.ndarray:
    """Errors of seeded releases on the reference as records in memory."""
    view = reference(shape, n, GRID)
    records = np.array(GRID.decode(view.order_statistics(np.arange(n))))
    array = dpq.ArrayView(records, GRID)
    q = np.sort(mechanism.q)  # type: ignore[attr-defined]
    found = [
        GRID.encode(np.array(mechanism.release(array, random.Random(seed)).values))  # type: ignore[attr-defined]
        for seed in range(RELEASES)
    ]
    return rank_errors(view, q, np.array(found))


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
    mechanism = registry.build(name, budget, q=tuple((k + 1) / (m + 1) for k in range(m)))
    planned = rehearse(mechanism, reference(shape, 1000, GRID), 400).mean(axis=1)
    real = real_errors(mechanism, shape, 1000).mean(axis=1)
    noise = np.hypot(planned.std() / 20, real.std() / np.sqrt(RELEASES))
    # Four deviations, and what coarser ranks and rounded targets may do.
    assert abs(planned.mean() - real.mean()) < 4 * noise + 0.05 * real.mean() + 0.1


@pytest.mark.parametrize("shape", ["even", "tied"])
@pytest.mark.parametrize("n", [670, 1200])
def test_answers_leave_records_that_are_lost_in_a_large_grid(n: int, shape: str) -> None:
    """Deciles of few whole numbers without bounds: there all is lost, or nothing."""
    grid, q = dpq.FloatGrid(integral=True), tuple(k / 10 for k in range(1, 10))
    mechanism = dpq.JointExp(q=q, budget=PureDP(epsilon=1.0))
    view = reference(shape, n, grid)
    records = np.array(grid.decode(view.order_statistics(np.arange(n))), dtype=object)
    law = mechanism.law(dpq.ArrayView(records, grid))
    drawn = [grid.encode(np.array(law.draw(random.Random(seed)))) for seed in range(100)]
    real = rank_errors(view, np.array(q), np.array(drawn)).mean()
    assert rehearse(mechanism, view, 400).mean() == pytest.approx(real, rel=0.15)
    assert real > 60 if n == 670 else real < 10


def test_add_remove_with_a_stated_size_halves_the_error() -> None:
    view = reference("even", 5000, GRID)
    swap = registry.build("joint_exp", PureDP(epsilon=1.0), q=(0.5,))
    add_remove = PureDP(epsilon=1.0, neighbors=dpq.Neighbors.ADD_REMOVE)
    other = registry.build("joint_exp", add_remove, q=(0.5,), size=5000)
    ratio = rehearse(swap, view, 2000).mean() / rehearse(other, view, 2000).mean()
    assert ratio == pytest.approx(2.0, rel=0.15)


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
def test_rehearsals_repeat_themselves(name: str) -> None:
    """And differ with the seed of the reference: the same noise on all would not average out."""
    first, again, other = (reference("even", 500, GRID, seed=seed) for seed in (0, 0, 1))
    mechanism = registry.build(name, PureDP(epsilon=1.0), q=(0.3, 0.6))
    errors = rehearse(mechanism, first, 50)
    assert (errors == rehearse(mechanism, again, 50)).all()
    assert (errors != rehearse(mechanism, other, 50)).any()


def test_cost_does_not_grow_with_the_number_of_records() -> None:
    view = reference("even", 2**31, GRID)
    q = tuple(k / 41 for k in range(1, 41))
    for name in set(MECHANISMS) - {"csmooth", "paper_joint_exp", "app_ind_exp"}:
        if name not in ("above_threshold", "slice_quantiles"):
            errors = rehearse(registry.build(name, PureDP(epsilon=1.0), q=q), view, 20)
            assert errors.shape == (20, 40)


@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_few_records_and_extreme_budgets_have_finite_errors(n: int, epsilon: float) -> None:
    view = reference("even", n, dpq.UniformGrid(0, 9, 1))
    for name in ("joint_exp", "recursive_joint_exp", "agg_tree", "ind_exp"):
        mechanism = registry.build(name, PureDP(epsilon=epsilon), q=(0.1, 0.5, 0.9))
        errors = rehearse(mechanism, view, 30)
        assert np.isfinite(errors).all()
        assert errors.max() <= n


def test_extreme_quantiles_take_no_longer_axis_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws stay at the end of the records, beyond which an axis cannot be lengthened."""
    cells, draw = [], Chains.draw

    def counted(chains: Chains, rng: np.random.Generator, walks: np.ndarray) -> Drawn:
        cells.append(len(walks) * chains.length)
        return draw(chains, rng, walks)

    monkeypatch.setattr(Chains, "draw", counted)
    for q in (0.0, 0.5, 1.0):
        rehearse(
            dpq.JointExp(q=(q,), budget=PureDP(epsilon=1.0)), reference("even", 2**53, GRID), 64
        )
    assert max(cells) <= 64 * 1024
    most = max(cells) // 4
    monkeypatch.setattr(rehearsal, "MOST_WALKED", most)
    cells.clear()
    errors = rehearse(
        dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=1.0)), reference("even", 1000, GRID), 64
    )
    assert errors.shape == (64, 1)
    assert max(cells) <= most
