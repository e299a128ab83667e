"""ApproximateQuantiles, in order of strength: law, privacy, mutants, draws, accuracy, misuse."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import default_grid
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.mechanisms.recursive_joint_exp import Node
from dpquantiles.privacy import ApproxDP, PureDP
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms import recursive_checks as trees
from tests.mechanisms.building import built
from tests.mechanisms.mutation import check_caught
from tests.test_accuracy import even_quantiles, rank_error

THREE = (0.25, 0.5, 0.75)
FOUR = (0.2, 0.4, 0.6, 0.8)


@pytest.mark.parametrize("records", [[], [2], [0, 0], [1, 2]])
@pytest.mark.parametrize("size", [None, 0, 2])
@pytest.mark.parametrize(("q", "levels"), [((0.3,), 1), ((0.9, 0.3), 2), (THREE, 2)])
def test_the_law_is_the_equation(
    records: list[int], size: int | None, q: tuple[float, ...], levels: int
) -> None:
    neighbors = "swap" if size is None else "add-remove"
    mechanism = ApproximateQuantiles(
        q=q, budget=privacy.budget(epsilon=3.0, neighbors=neighbors), size=size
    )
    trees.check_equation(mechanism, records, 3, levels)


PURE = [
    (ApproximateQuantiles(q=(0.5,), budget=PureDP(epsilon=1.0)), [3], 3),
    (ApproximateQuantiles(q=(0.3, 0.6), budget=PureDP(epsilon=1.0)), [4], 3),
    (ApproximateQuantiles(q=THREE, budget=PureDP(epsilon=1.0)), [3], 4),
    (ApproximateQuantiles(q=THREE, budget=PureDP(epsilon=4.0)), [3], 4),
    (
        ApproximateQuantiles(
            q=THREE, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=3
        ),
        [2, 3],
        3,
    ),
    (
        ApproximateQuantiles(
            q=(0.5, 0.5), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=3
        ),
        [3],
        3,
    ),
    (
        ApproximateQuantiles(
            q=FOUR, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=5
        ),
        [4],
        2,
    ),
]


@pytest.mark.parametrize(("mechanism", "sizes", "points"), PURE)
def test_all_neighbors_and_cuts_are_within_epsilon(
    mechanism: ApproximateQuantiles, sizes: list[int], points: int
) -> None:
    trees.check_pure(mechanism, sizes, points)


@cache
def is_private(index: int) -> Callable[[], None]:
    return lambda: trees.check_within(*PURE[index])


def equation() -> None:
    trees.check_equation(
        ApproximateQuantiles(q=THREE, budget=PureDP(epsilon=3.0)), [0, 1], 2, levels=2
    )


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (trees.spend_all_on_every_level, is_private(2)),
        (trees.forget_that_a_swap_is_two_changes, is_private(2)),
        (trees.records_at_a_cut_on_both_sides, is_private(4)),
        (trees.records_at_a_cut_on_both_sides, equation),
        (trees.true_sizes_of_parts, is_private(4)),
        (trees.labels_spread_by_the_number_of_ties, is_private(6)),
        (trees.labels_spread_by_the_number_of_records, is_private(4)),
        (trees.split_by_rank, equation),
    ],
)
def test_mutants_are_caught(
    mutate: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_caught(mutate, check, monkeypatch)


@pytest.mark.parametrize("records", [[0, 0], [1], []])
def test_the_sampler_has_the_law(records: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism: Any = ApproximateQuantiles(q=(0.4, 0.8), budget=PureDP(epsilon=2.0))
    checks.check_walk(mechanism, records, 2, monkeypatch.setattr)


def test_draws_fit_the_law_and_no_other() -> None:
    records, points = [1, 1, 2], 4
    mechanism = ApproximateQuantiles(q=THREE, budget=PureDP(epsilon=8.0))
    law: Any = mechanism.law(checks.view_of(records, points))
    drawn = checks.draw_many(law, 1500, seed=12)
    assert checks.fit(drawn, law, points) > 1e-3
    for wrong in (0.5, 2.0):
        other: Any = replace(mechanism, budget=PureDP(epsilon=wrong * 8.0)).law(
            checks.view_of(records, points)
        )
        assert checks.fit(drawn, other, points) < 1e-6


def test_every_node_finds_one_quantile() -> None:
    for m in range(1, 40):
        mechanism = ApproximateQuantiles(q=tuple(even_quantiles(m)), budget=PureDP(epsilon=1.0))
        assert {len(node.cuts) for node in mechanism.tree.nodes()} == {3}
        assert mechanism.parts(m) == int(np.floor(np.log2(m))) + 1 == depth(mechanism.tree)


def depth(node: Node) -> int:
    return 1 + max((depth(child) for child in node.children if child), default=0)


@pytest.mark.parametrize("records", [[], [0], [1] * 50, [0, 1]])
@pytest.mark.parametrize("points", [1, 2, 5])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_any_data_give_answers(records: list[int], points: int, neighbors: str) -> None:
    q = (0.9, 0.1, 0.5, 0.5, 0.0, 1.0)
    mechanism = ApproximateQuantiles(q=q, budget=privacy.budget(epsilon=1.0, neighbors=neighbors))
    trees.check_answers(mechanism, records, points)


@pytest.mark.parametrize(("m", "limit"), [(3, 5.7), (29, 21.7), (60, 25.6)])
def test_normal_data(m: int, limit: float) -> None:
    q, errors = even_quantiles(m), []
    for seed in range(60):
        values = np.random.default_rng(seed).normal(0, 5, 1000)
        view = dpq.ArrayView(values, default_grid(REAL, (-100, 100)))
        release = ApproximateQuantiles(q=tuple(q), budget=PureDP(epsilon=1.0)).release(
            view, random.Random(seed)
        )
        errors.append(rank_error(values, q, release.values))
    assert np.mean(errors) < limit


def test_the_budget_is_spent_level_by_level() -> None:
    q = tuple(even_quantiles(9))
    mechanism = ApproximateQuantiles(q=q, budget=ApproxDP(epsilon=1.0, delta=1e-6))
    assert mechanism.guarantee == PureDP(epsilon=1.0)
    assert 1 - 1e-12 < 4 * mechanism.each <= 1.0
    assert mechanism.node_budget.epsilon == mechanism.each / 2
    add_remove = replace(mechanism, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    assert add_remove.node_budget.epsilon == add_remove.each
    assert (
        add_remove.sized(checks.view_of([1] * 100, 5), random.Random(1)).budget.amount + COUNT_SHARE
        <= 1.0
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, got 0.0"),
        ({"q": (-0.1,)}, "q must lie between 0 and 1, got -0.1"),
        ({"size": 10}, "size must be left out under swap"),
        ({"neighbors": "swop"}, "did you mean 'swap'"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"q": (0.5,), "epsilon": 1.0}
    with pytest.raises(ValueError, match=message):
        built(ApproximateQuantiles, **{**good, **parameters})
