"""RecursiveJointExp, in order of strength: law, privacy, mutants, draws, labels, tree, misuse."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import default_grid
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.count import COUNT_SHARE, PrivateCount
from dpquantiles.mechanisms.recursive_joint_exp import (
    Node,
    RecursiveJointExp,
    RecursiveLaw,
    grow,
)
from dpquantiles.mechanisms.told_apart import ToldApart, van_der_corput
from dpquantiles.privacy import ZCDP, Neighbors, PureDP
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms import recursive_checks as trees
from tests.mechanisms.building import built
from tests.mechanisms.mutation import check_caught
from tests.mechanisms.recursive_checks import TwoLevels
from tests.test_accuracy import even_quantiles, rank_error

FOUR = (0.2, 0.4, 0.6, 0.8)


@pytest.mark.parametrize("records", [[], [1], [0, 0], [1, 1], [0, 1]])
@pytest.mark.parametrize("size", [None, 0, 1])
@pytest.mark.parametrize("q", [FOUR, (0.5, 0.5, 0.1)])
def test_the_law_is_the_equation(
    records: list[int], size: int | None, q: tuple[float, ...]
) -> None:
    neighbors = "swap" if size is None else "add-remove"
    mechanism = TwoLevels(q=q, budget=privacy.budget(epsilon=3.0, neighbors=neighbors), size=size)
    trees.check_equation(mechanism, records, 2, levels=2)


def test_one_level_is_joint_exp_on_records_told_apart() -> None:
    mechanism = RecursiveJointExp(q=(0.3, 0.6), budget=PureDP(epsilon=2.0))
    trees.check_equation(mechanism, [0, 1, 1], 3, levels=1)


PURE = [
    (TwoLevels(q=FOUR, budget=PureDP(epsilon=1.0)), [3], 3),
    (TwoLevels(q=FOUR, budget=PureDP(epsilon=4.0)), [3], 3),
    (
        TwoLevels(
            q=(0.25, 0.5, 0.75), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=3
        ),
        [3],
        3,
    ),
    (
        TwoLevels(q=FOUR, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=3),
        [2, 3],
        2,
    ),
    (TwoLevels(q=(0.5, 0.5, 0.5, 0.5), budget=PureDP(epsilon=1.0)), [3], 3),
    (RecursiveJointExp(q=(0.3, 0.6), budget=PureDP(epsilon=1.0)), [3], 4),
    (
        RecursiveJointExp(
            q=(0.25, 0.5, 0.75), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=3
        ),
        [3],
        3,
    ),
    (RecursiveJointExp(q=(0.25, 0.5, 0.75), budget=PureDP(epsilon=1.0)), [4], 2),
]


@pytest.mark.parametrize(("mechanism", "sizes", "points"), PURE)
def test_all_neighbors_and_cuts_are_within_epsilon(
    mechanism: RecursiveJointExp, sizes: list[int], points: int
) -> None:
    trees.check_pure(mechanism, sizes, points)


@pytest.mark.parametrize("m", [25, 60, 2000])
def test_promises_are_within_rho(m: int) -> None:
    """To the last digit, also where rounds cost so little that their price cancels."""
    q = tuple((k + 0.5) / m for k in range(m))
    for rho in np.exp(np.random.default_rng(2).uniform(-20, 20, 500)).tolist():
        promised = RecursiveJointExp(q=q, budget=ZCDP(rho=rho)).guarantee
        assert isinstance(promised, ZCDP)
        assert rho * (1 - 1e-10) < promised.rho <= rho


@cache
def is_private(index: int) -> Callable[[], None]:
    return lambda: trees.check_within(*PURE[index])


def equation() -> None:
    trees.check_equation(TwoLevels(q=FOUR, budget=PureDP(epsilon=3.0)), [0, 1], 2, levels=2)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (trees.spend_all_on_every_level, is_private(0)),
        (trees.forget_that_a_swap_is_two_changes, is_private(0)),
        (trees.records_at_a_cut_on_both_sides, equation),
        (trees.true_sizes_of_parts, is_private(2)),
        (trees.labels_spread_by_the_number_of_ties, is_private(6)),
        (trees.labels_spread_by_the_number_of_ties, is_private(7)),
        (trees.labels_spread_by_the_number_of_records, is_private(2)),
        (trees.split_by_rank, is_private(2)),
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
    mechanism: Any = TwoLevels(q=(0.3, 0.5, 0.9), budget=PureDP(epsilon=2.0))
    checks.check_walk(mechanism, records, 2, monkeypatch.setattr)


def test_draws_fit_the_law_and_no_other() -> None:
    records, points = [1, 1, 2], 4
    mechanism = TwoLevels(q=(0.25, 0.5, 0.75), budget=PureDP(epsilon=8.0))
    law: Any = mechanism.law(checks.view_of(records, points))
    drawn = checks.draw_many(law, 1500, seed=11)
    assert checks.fit(drawn, law, points) > 1e-3
    for wrong in (0.5, 2.0):
        other: Any = replace(mechanism, budget=PureDP(epsilon=wrong * 8.0)).law(
            checks.view_of(records, points)
        )
        assert checks.fit(drawn, other, points) < 1e-6


def test_labels_are_the_van_der_corput_sequence() -> None:
    assert van_der_corput(np.arange(9), 3).tolist() == [0, 4, 2, 6, 1, 5, 3, 7, 0]
    for bits in (0, 1, 4):
        labels = trees.told_apart([0] * 20, bits) if bits else [0] * 20
        assert sorted(van_der_corput(np.arange(20), bits).tolist()) == labels


def test_one_record_more_is_one_step_more() -> None:
    """(5) keeps neighbors neighbors, for all small data sets, also where labels run out."""
    for one, other in checks.neighbor_pairs("add-remove", range(6), 3):
        for nu in (0, 1, 5):
            fewer, more = (
                ToldApart.of(checks.view_of(records, 3), nu)
                .order_statistics(np.arange(len(records)))
                .tolist()
                for records in (one, other)
            )
            for step in fewer:
                more.remove(step)
            assert len(more) == 1


@pytest.mark.parametrize("nu", [0, 3, 100])
def test_labels_asked_for_one_by_one_are_those_of_all(nu: int) -> None:
    for records in (r for n in range(6) for r in checks.all_answers(3, n)):
        check_labels(records, 3, nu)
    check_labels((0, 1, 1, 1, 2, 2, 2, 2, 2, 4), 5, nu)


def check_labels(records: tuple[int, ...], points: int, nu: int) -> None:
    """Whatever is asked for, and whatever else is, the answers are those of the labeled records."""
    apart = ToldApart.of(checks.view_of(records, points), nu)
    everything = np.array(trees.told_apart(records, apart.shift), dtype=np.int64)
    for low, high in itertools.combinations(range(len(records) + 1), 2):
        found = apart.order_statistics(np.arange(low, high))
        np.testing.assert_array_equal(found, everything[low:high])
    steps = np.arange(apart.grid.size)
    for found, side in zip(apart.ranks(steps), ("left", "right"), strict=True):
        np.testing.assert_array_equal(found, [_count(everything, s, side) for s in steps.tolist()])


def _count(records: Any, step: int, side: str) -> int:
    return sum(record < step or (side == "right" and record == step) for record in records)


@pytest.mark.parametrize(
    ("grid", "shift"),
    [
        (dpq.FloatGrid(integral=True), 0),
        (dpq.UniformGrid(-(2**61), 2**61 - 2, 1), 0),
        (dpq.UniformGrid(0, 2**57 - 1, 1), 5),
        (dpq.UniformGrid(0, 2**40, 1), 6),
        (dpq.FloatGrid(), 2),
    ],
)
def test_labels_fit_the_largest_grids(grid: Any, shift: int) -> None:
    view = dpq.ArrayView(np.array([5] * 40 + [9], dtype=np.int64), grid)
    assert ToldApart.of(view, 41).shift == shift
    release = TwoLevels(q=(0.1, 0.3, 0.5), budget=PureDP(epsilon=500.0)).release(
        view, random.Random(1)
    )
    assert list(release.values) == sorted(release.values)
    assert shift == 0 or release.values == (5, 5, 5)


def test_the_last_cell_of_the_tree_is_found() -> None:
    for m, levels in itertools.product(range(1, 70), (1, 2, 3, 4)):
        root = grow(0, m + 1, levels)
        assert root is not None
        found = sorted(cut for node in root.nodes() for cut in node.cuts[1:-1])
        assert found == list(range(1, m + 1))
        assert depth(root) <= levels


def depth(node: Node) -> int:
    return 1 + max((depth(child) for child in node.children if child), default=0)


def test_levels_follow_the_number_of_quantiles() -> None:
    levels = {m: RecursiveJointExp.parts(m) for m in (1, 23, 24, 99, 143, 144, 255, 999, 5000)}
    assert levels == {1: 1, 23: 1, 24: 2, 99: 2, 143: 2, 144: 3, 255: 3, 999: 3, 5000: 4}


@pytest.mark.parametrize("records", [[], [0], [1] * 50, [0, 1]])
@pytest.mark.parametrize("points", [1, 2, 5])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("cls", [TwoLevels, RecursiveJointExp])
def test_any_data_give_answers(
    records: list[int], points: int, neighbors: str, cls: type[RecursiveJointExp]
) -> None:
    q = (0.9, 0.1, 0.5, 0.5, 0.0, 1.0)
    trees.check_answers(
        cls(q=q, budget=privacy.budget(epsilon=1.0, neighbors=neighbors)), records, points
    )


def test_ties_are_told_apart() -> None:
    """Half of the records are equal: cuts inside the atom leave both sides their nominal sizes."""
    values = np.concatenate([np.full(500, 40), np.arange(500) % 80])
    q, errors = even_quantiles(49), []
    for seed in range(5):
        view = dpq.ArrayView(values, dpq.UniformGrid(0, 100, 1))
        release = RecursiveJointExp(q=tuple(q), budget=PureDP(epsilon=1.0)).release(
            view, random.Random(seed)
        )
        errors.append(rank_error(values, q, release.values))
    assert np.mean(errors) < 12


def test_many_quantiles_of_normal_data() -> None:
    q, errors = even_quantiles(99), []
    for seed in range(5):
        values = np.random.default_rng(seed).normal(0, 5, 20_000)
        view = dpq.ArrayView(values, default_grid(REAL, (-100, 100)))
        release = RecursiveJointExp(q=tuple(q), budget=PureDP(epsilon=1.0)).release(
            view, random.Random(seed)
        )
        errors.append(rank_error(values, q, release.values))
    assert np.mean(errors) < 19


def test_the_private_count_is_paid_from_the_budget() -> None:
    pure = RecursiveJointExp(q=FOUR, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    sized = pure.sized(checks.view_of([1] * 1000, 5), random.Random(5))
    assert sized.size is not None
    assert sized.budget.amount + COUNT_SHARE <= 1.0
    view = checks.view_of([1, 2, 3], 5)
    with pytest.raises(ValueError, match="size must be given for the law"):
        pure.law(view)
    assert pure.release(view, random.Random(5)).provenance["size_share"] == COUNT_SHARE


def test_the_shares_add_up_to_the_budget() -> None:
    q = tuple(even_quantiles(200))
    swap = RecursiveJointExp(q=q, budget=PureDP(epsilon=0.3))
    assert 0.3 * (1 - 1e-12) < 2 * 3 * swap.node_budget.epsilon <= 0.3
    budget = PureDP(epsilon=0.3, neighbors=Neighbors.ADD_REMOVE)
    assert 0.1 * (1 - 1e-12) < RecursiveJointExp(q=q, budget=budget).node_budget.epsilon <= 0.1


@pytest.mark.parametrize(
    ("family", "m", "epsilon"),
    [
        (RecursiveJointExp, 99, 6e-5),
        (RecursiveJointExp, 99, 0.1),
        (ApproximateQuantiles, 3, 4e-6),
        (ApproximateQuantiles, 3, 0.1),
    ],
)
@pytest.mark.parametrize("bought", [False, True])
def test_refusals_follow_from_public_numbers_alone(
    family: type[RecursiveJointExp],
    m: int,
    epsilon: float,
    bought: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the records nor a size, stated or bought, decide; only the budget and m do."""
    spent = epsilon / (1 - COUNT_SHARE) if bought else epsilon
    mechanism = family(q=(0.5,) * m, budget=privacy.budget(epsilon=spent, neighbors="add-remove"))
    found = set()
    for size in (0, 1, 10**6, 10**12):
        monkeypatch.setattr(PrivateCount, "draw", lambda *_, size=size: size)
        sized = mechanism if bought else replace(mechanism, size=size)
        views = [checks.view_of(records, 5) for records in ([], [3], [0, 1, 2] * 30)]
        found |= {trees.refusal(sized, view) for view in views}
    (refusal,) = found
    assert ("ranks" in refusal) == (epsilon < 0.01)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be positive and finite, got -1.0"),
        ({"q": ()}, "q must name at least one quantile"),
        ({"size": 10}, "size must be left out under swap"),
        ({"neighbors": "swop"}, "did you mean 'swap'"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"q": (0.5,), "epsilon": 1.0}
    with pytest.raises(ValueError, match=message):
        built(RecursiveJointExp, **{**good, **parameters})


def test_bad_values_and_demands() -> None:
    view = checks.view_of([1, 2, 3], 5)
    law = RecursiveJointExp(q=(0.7, 0.2), budget=PureDP(epsilon=1.0)).law(view)
    assert law.log_probability([1, 3]) == -math.inf
    assert law.log_probability([3, 1]) > -math.inf
    with pytest.raises(ValueError, match="2 answers, got 1"):
        law.log_probability([3])
    with pytest.raises(ValueError, match="points of the grid"):
        law.log_probability([17, 3])
    with pytest.raises(ValueError, match="too many to add up"):
        RecursiveJointExp(q=(0.5,) * 9, budget=PureDP(epsilon=1.0)).law(view).log_probability(
            [1] * 9
        )
    with pytest.raises(DemandTooLarge, match="ranks"):
        RecursiveJointExp(q=(0.5,) * 99, budget=PureDP(epsilon=1e-5)).law(view)


@pytest.mark.parametrize("epsilon", [6e-11, 2e-5])
def test_a_bought_size_decides_on_no_refusal(epsilon: float) -> None:
    """Labels need bits, and more of them for a larger size, which is noise at such budgets."""
    view = dpq.ArrayView(np.arange(50.0), dpq.UniformGrid(0.0, 100.0))
    mechanism = RecursiveJointExp(
        q=FOUR, budget=privacy.budget(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)
    )
    found = set()
    for seed in range(12):
        with pytest.raises(DemandTooLarge) as refusal:
            mechanism.release(view, random.Random(seed))
        found.add(str(refusal.value))
    assert len(found) == 1


def test_sums_over_labels_are_as_long_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecursiveLaw, "log_probability_of_cuts", lambda *_: 0.0)
    view = checks.view_of([1] * 8, 5)
    law = RecursiveJointExp(q=FOUR, budget=PureDP(epsilon=1.0)).law(view)
    assert law.log_probability([1] * 4) == pytest.approx(math.log(2**16))
    with pytest.raises(ValueError, match="16 labels each, which is too many"):
        RecursiveJointExp(q=(*FOUR, 0.9), budget=PureDP(epsilon=1.0)).law(view).log_probability(
            [1] * 5
        )
