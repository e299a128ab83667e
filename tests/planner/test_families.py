"""Families of grids at their limits: few records, many answers, and a size far from the truth."""

import random
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import GridFamily, default_grid
from dpquantiles.kinds import INTEGER, REAL, Kind
from dpquantiles.mechanisms.joint_exp_family import FamilyLaw
from dpquantiles.planner.estimates import expected_errors, rank_errors
from dpquantiles.privacy import Neighbors


def even_quantiles(m: int) -> tuple[float, ...]:
    return tuple(k / (m + 1) for k in range(1, m + 1))


@pytest.mark.parametrize("kind", [REAL, INTEGER], ids=lambda kind: kind.name)
@pytest.mark.parametrize("n", [3, 500])
@pytest.mark.parametrize("m", [3, 40])
def test_shares_are_at_most_one(kind: Kind, n: int, m: int) -> None:
    """Weights add up to at most one, though masses on the way are larger, and some are tiny."""
    grid = default_grid(kind)
    records = np.random.default_rng(n).integers(0, 1000, n) / (1 if kind.integral else 1000)
    mechanism = dpq.JointExp(q=even_quantiles(m), budget=dpq.PureDP(epsilon=4.0))
    law = mechanism.law(dpq.ArrayView(records.astype(np.int64 if kind.integral else float), grid))
    assert isinstance(law, FamilyLaw)
    assert np.isfinite(law.log_weights).all()
    assert np.logaddexp.reduce(law.log_weights) <= 1e-9


@pytest.mark.parametrize("options", [{}, {"resolution": 1}], ids=str)
@pytest.mark.parametrize("data", [[], [1.0] * 3, [1.0, float("nan")] * 10], ids=len)
def test_far_fewer_records_than_stated_never_raise(data: Any, options: dict[str, Any]) -> None:
    release = dpq.median(
        np.array(data, dtype=float),
        size=5000,
        bounds=(0, 120),
        neighbors="add-remove",
        epsilon=0.02,
        mechanism="joint_exp",
        **options,
    )
    assert 0 <= release.value <= 120


@pytest.mark.parametrize(("m", "epsilon"), [(1, 0.1), (5, 1.0)])
def test_the_bound_of_a_family_holds(m: int, epsilon: float) -> None:
    n, q = 2000, even_quantiles(m)
    plan = dpq.plan(size=n, q=q, epsilon=epsilon, bounds=(0, 2**32 - 1))
    estimate, grid = plan["joint_exp"], plan.view.grid
    assert isinstance(grid, GridFamily)
    records = np.array(grid.decode(plan.view.order_statistics(np.arange(n))))
    law = dpq.JointExp(q=q, budget=plan.budget).law(dpq.ArrayView(records, grid))
    bits = random.Random(5)
    steps = np.array([grid.encode(np.array(law.draw(bits))) for _ in range(150)])
    errors = rank_errors(plan.view, np.array(q), steps)
    assert (errors <= estimate.bound).mean(axis=0).min() >= 0.93
    assert estimate.mean == pytest.approx(errors.mean(), rel=0.25, abs=0.1)


def test_what_to_expect_is_said_only_where_that_is_quick() -> None:
    """A tiny budget has windows of many thousand records, which a made-up size would fill."""
    budgets = [dpq.PureDP(epsilon=e, neighbors=Neighbors.ADD_REMOVE) for e in (0.1, 0.001)]
    grid = default_grid(REAL)
    found = [expected_errors("joint_exp", one, (0.5,), 10**9, grid) is None for one in budgets]
    assert found == [False, True]
    assert expected_errors("joint_exp", budgets[1], (0.5,), 100, grid) is not None
    narrow = default_grid(REAL, (0.0, 1.0), 0.125)
    assert expected_errors("joint_exp", budgets[1], (0.5,), 10**9, narrow) is not None


UNSEEN: dict[str, Any] = {
    "uniform": lambda rng: rng.uniform(3, 11, 1000),
    "normal": lambda rng: rng.normal(50, 10, 1000),
    "whole numbers": lambda rng: rng.permutation(1000) * 13 + rng.integers(0, 13, 1000) + 5,
}


@pytest.mark.parametrize("name", UNSEEN)
@pytest.mark.parametrize("m", [1, 9])
def test_stated_errors_are_those_of_data_that_no_plan_has_seen(name: str, m: int) -> None:
    """If quantiles of the reference were round numbers, a release would promise far too much."""
    rng, bits, q = np.random.default_rng(5), random.Random(5), even_quantiles(m)
    errors = []
    for _ in range(60):
        records = UNSEEN[name](rng)
        release = dpq.quantiles(records, q, epsilon=1.0, rng=bits)
        below, through = (
            np.searchsorted(np.sort(records), np.asarray(release), side)
            for side in ("left", "right")
        )
        wanted = np.array(q) * len(records)
        errors.append(np.maximum(0, np.maximum(below - wanted, wanted - through)).mean())
    expected: Any = release.provenance["expected"]
    stated = np.mean(expected["rank_errors"])
    assert 0.6 < np.mean(errors) / stated < 1.7
