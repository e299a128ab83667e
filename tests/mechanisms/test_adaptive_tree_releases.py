"""AdaptiveTree: what it releases, on data of every kind, and what it refuses."""

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.entropy import SEEDED_NOTE
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.adaptive_tree import (
    AdaptiveTree,
)
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.results import ReleasedTree
from tests.mechanisms.adaptive_tree_checks import (
    RELATIONS,
    add_remove,
    concentrated,
    swap,
)
from tests.mechanisms.joint_exp_checks import view_of

DECILES = tuple(k / 10 for k in range(1, 10))


GRIDS: dict[str, Grid] = {
    "one point": UniformGrid(0, 0.5, 1),
    "two points": UniformGrid(0, 1, 1),
    "three points": UniformGrid(0, 2, 1),
    "many points": UniformGrid(0, 300, 1),
    "unbounded reals": FloatGrid(),
    "unbounded integers": FloatGrid(integral=True),
}


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1e300])
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("records", [[], [0], [0] * 4000, [-1e300, math.inf, 1e300, math.nan]])
def test_degenerate_data(records: list[float], name: str, epsilon: float) -> None:
    grid = GRIDS[name]
    view = dpq.ArrayView(np.array(records, dtype=float), grid)
    for mechanism in (
        swap(epsilon),
        swap(epsilon, 0.9),
        add_remove(epsilon),
        add_remove(epsilon, 2**53),
    ):
        released = mechanism.tree(view, random.Random(1))
        values = released.quantiles(DECILES).values
        assert len(values) == 9
        assert list(values) == sorted(values)
        steps = grid.encode(np.array(values, dtype=float))
        assert ((steps >= 0) & (steps < grid.size)).all()
        assert (released.edges[0], released.edges[-1]) == (0, grid.size)
        assert (np.diff(released.edges) >= 0).all()


def test_answers_follow_the_order_of_q() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    mixed = replace(swap(5.0), q=(0.9, 0.1, 0.5, 0.9)).release(view, random.Random(4))
    plain = replace(swap(5.0), q=(0.1, 0.5, 0.9)).release(view, random.Random(4))
    low, middle, high = plain.values
    assert mixed.values == (high, low, middle, high)
    assert low <= middle <= high
    assert mixed.mechanism == "adaptive_tree"


@pytest.mark.parametrize("integral", [False, True])
def test_unbounded_grid(integral: bool) -> None:
    data = np.round(np.random.default_rng(1).normal(0, 500, 4000))
    view = dpq.ArrayView(data, FloatGrid(integral=integral))
    release = replace(swap(1.0), q=(0.1, 0.5, 0.9)).release(view, random.Random(1))
    below = [float((data <= value).mean()) for value in release.values]
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.04)


def test_little_noise_gives_the_truth() -> None:
    data = np.random.default_rng(1).normal(0, 5, 2000)
    view = dpq.ArrayView(data, default_grid(REAL, (-1e9, 1e9)))
    release = replace(swap(10_000.0), q=DECILES).release(view, random.Random(1))
    np.testing.assert_allclose(release.values, np.quantile(data, DECILES), atol=0.1)


def test_later_queries_are_free_and_consistent() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    released = swap(1.0).tree(view, random.SystemRandom())
    first, later = released.quantiles([0.5]), released.quantiles("percentiles")
    assert first.guarantee == later.guarantee == swap(1.0).guarantee == PureDP(epsilon=1.0)
    assert first.value == later.values[49]
    assert list(later.values) == sorted(later.values)
    assert later.provenance["budget"] == PureDP(epsilon=1.0).to_dict()


@pytest.mark.parametrize("mechanism", [swap(1.0), add_remove(1.0), add_remove(1.0, 2)])
def test_seeded_trees_carry_no_guarantee(mechanism: AdaptiveTree) -> None:
    view = view_of([1, 2], 64)
    release = mechanism.release(view, random.Random(1))
    assert release.guarantee is None
    assert release.note == SEEDED_NOTE
    assert release == mechanism.release(view, random.Random(1))
    again = ReleasedTree.from_json(mechanism.tree(view, random.Random(1)).to_json(), view.grid)
    assert again.guarantee is None
    assert mechanism.release(view, random.SystemRandom()).guarantee == mechanism.guarantee


def test_trees_with_other_leaves_are_not_merged() -> None:
    grid = UniformGrid(0, 4**6 - 1, 1)
    # Where no record is ever left out, the number of records that a tree counts is public.
    one, other = (
        swap(5.0).tree(
            dpq.ArrayView(np.full(9000, place), grid, missing="lower"), random.SystemRandom()
        )
        for place in (0, 4000)
    )
    with pytest.raises(ValueError, match=r"same leaves.* follow the records.* use agg_tree"):
        one.merge(other)
    both = one.merge(one)
    assert both.total == 18_000
    assert both.guarantee == PureDP(epsilon=5.0)


def test_json_both_ways() -> None:
    view = dpq.ArrayView(np.arange(30.0), FloatGrid())
    released = concentrated(0.5, "swap").tree(view, random.SystemRandom())
    again = ReleasedTree.from_json(released.to_json(), view.grid)
    assert again.quantiles("deciles") == released.quantiles("deciles")
    assert again.mechanism == "adaptive_tree"
    assert again.guarantee == ZCDP(rho=0.5)
    assert again.to_json() == released.to_json()


def test_within_budgets() -> None:
    assert AdaptiveTree(q=(0.5,), budget=PureDP(epsilon=2.0)).guarantee == PureDP(epsilon=2.0)
    assert AdaptiveTree(q=(0.5,), budget=ZCDP(rho=0.2)).guarantee == ZCDP(rho=0.2)
    approximate = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    pure = AdaptiveTree(q=(0.5,), budget=approximate, size=9)
    assert pure.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    assert pure.size == 9


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"budget": 1.0}, TypeError, "budget must be a PureDP, .* got 1.0 of type float"),
        ({"q": (2.0,)}, ValueError, "q must lie between 0 and 1"),
        ({"q": ()}, ValueError, "q must name at least one quantile"),
        ({"size": 5}, ValueError, "size must be left out under swap neighbors"),
        ({"budget": PureDP(epsilon=1e-12)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"budget": PureDP(epsilon=1e-310)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"budget": ZCDP(rho=1e-300)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"cut_share": 0.0}, ValueError, "cut_share must be"),
        ({"cut_share": 0.91}, ValueError, "cut_share must be at most 0.9, got 0.91"),
        ({"cut_share": "all"}, TypeError, "cut_share must be"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AdaptiveTree(**{"q": (0.5,), "budget": PureDP(epsilon=1.0), **parameters})


@pytest.mark.parametrize(
    ("size", "error"), [(-1, ValueError), (1.5, TypeError), (2**54, ValueError)]
)
def test_bad_sizes(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="size must be"):
        add_remove(1.0, size)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_accuracy_on_clustered_data(neighbors: str) -> None:
    """Five narrow clusters in a wide range: an even tree cannot see inside its leaves."""
    budget = PureDP(epsilon=1.0, neighbors=Neighbors(neighbors))
    q = tuple(k / 100 for k in range(1, 100))
    errors: dict[str, list[float]] = {"agg_tree": [], "adaptive_tree": []}
    for seed in range(5):
        numbers = np.random.default_rng(seed)
        data = numbers.choice([-7e5, -3e5, 1e3, 2e5, 8e5], 10_000) + numbers.normal(0, 5, 10_000)
        view = dpq.ArrayView(data, default_grid(REAL, (-1e6, 1e6)))
        for mechanism in (AggTree(q=q, budget=budget), AdaptiveTree(q=q, budget=budget)):
            values = np.array(mechanism.release(view, random.Random(seed)).values)
            ranks = (data[:, None] <= values).sum(axis=0)
            errors[mechanism.name].append(float(np.abs(ranks - 10_000 * np.array(q)).mean()))
    assert np.mean(errors["agg_tree"]) > 300
    assert np.mean(errors["adaptive_tree"]) < 100
