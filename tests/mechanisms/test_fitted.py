"""Fitted: the question, what it costs together with the answers, and what is taken."""

import itertools
import json
import math
import random
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import require
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import FloatGrid, GridFamily, family_of
from dpquantiles.kernels.cells import parts
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.mechanisms import fitted
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.between import Between
from dpquantiles.mechanisms.fitted import Fitted, FittedStages
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.mechanisms.told_apart import StepGrid
from dpquantiles.privacy import Neighbors
from tests.mechanisms.fitted_checks import (
    RELATIONS,
    WIDE,
    ask_on_small_grids,
    check_private,
    check_rest,
    check_sensitivity,
    check_stages,
    check_told_apart,
    evenly,
    log_chance,
    mechanisms,
    pure,
    run,
)
from tests.mechanisms.joint_exp_checks import neighbor_pairs, view_of

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_record_changes_the_number_of_lumps_by_at_most_one(neighbors: str) -> None:
    check_sensitivity(neighbors)


def test_parts_are_some_thousand_per_record() -> None:
    weak, strong = pure(2.0**-20), pure(1.0)
    for points in (4097, 10**6, 2**40, 2**62, FloatGrid(integral=True).size):
        assert strong.part_length(points, fitted.PLENTY) == 1
        assert weak.part_length(points, require.LARGEST_COUNT) == 1
        for size in (0, 1, 1000, 10**6):
            length = weak.part_length(points, size)
            assert length == pure(1.0, q=evenly(2000)).part_length(points, size)
            number = -(-points // length)
            assert length == 1 or fitted.FINENESS * max(1, size) / 4 < number
            assert length == 1 or number <= 4 * fitted.FINENESS * max(1, size)
            steps = np.array([0, points - 1, points - 1])
            assert parts(steps, length) == 2


def test_of_evenly_spaced_numbers_without_end_every_one_is_a_part() -> None:
    many = pure(1.0, q=evenly(99))
    endless = [family_of(INTEGER, None, None), family_of(INTEGER, None, 5)]
    for grid in (*endless, family_of(REAL, None, 0.01)):
        assert many.part_of(grid, 100) == 1
    for grid in (family_of(REAL, None, None), family_of(REAL, (0.0, 5.0), None)):
        assert many.part_of(grid, 100) == many.part_length(grid.size, 100) > 1


def test_stages_are_within_the_budget() -> None:
    check_stages()
    for mechanism in mechanisms(0.7):
        coarse, fine = mechanism.stages(4096), mechanism.stages(4097)
        assert coarse == FittedStages(None, None, mechanism.budget)
        asked = mechanism.budget.neighbors is Neighbors.ADD_REMOVE and mechanism.size is None
        assert (fine.size is not None) == asked


def test_what_is_taken_keeps_within_the_rest() -> None:
    check_rest()


PRIVATE: list[tuple[Fitted, list[int]]] = [
    (pure(1.0), [1, 2, 3]),
    (pure(4.0, q=(0.2, 0.7)), [2]),
    (pure(1.0, "add-remove", 2), [0, 1, 2]),
    (pure(1.0, "add-remove"), [0, 1, 2]),
]


@pytest.mark.parametrize(("mechanism", "sizes"), PRIVATE)
def test_all_neighbors_are_within_epsilon(
    mechanism: Fitted, sizes: list[int], monkeypatch: Patch
) -> None:
    ask_on_small_grids(monkeypatch)
    check_private(mechanism, sizes)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_question_follows_its_law(neighbors: str) -> None:
    """How often seeded draws take a tree, against the law of the noise; six deviations apart."""
    size = None if neighbors == "swap" else 400
    mechanism, bits, draws = pure(3.0, neighbors, size), random.Random(5), 1500
    view = view_of([k * 10**7 for k in range(40)] + [0] * 360, WIDE)
    paid = mechanism.stages(WIDE).lumps
    assert paid is not None
    rate = paid.noise_rate
    chance = sum(math.exp(log_chance(y, 40, rate)) for y in range(50))
    taken = [mechanism.release(view, bits).provenance["taken"] for _ in range(draws)]
    seen = taken.count("adaptive_tree")
    assert 0.2 < chance < 0.8
    assert abs(seen - draws * chance) < 6 * math.sqrt(draws * chance * (1 - chance))


def test_smooth_and_lumpy_records_are_told_apart() -> None:
    check_told_apart()


@pytest.mark.parametrize(
    ("m", "points", "lumpy", "size", "name", "cut_share"),
    [
        (9, WIDE, False, 1000, "joint_exp", None),
        (14, WIDE, False, 1000, "joint_exp", None),
        (15, WIDE, False, 1000, "adaptive_tree", None),
        (9, WIDE, True, 1000, "adaptive_tree", 0.3),
        (21, WIDE, False, 3000, "joint_exp", None),
        (22, WIDE, False, 3000, "adaptive_tree", None),
        (23, WIDE, False, 10**6, "joint_exp", None),
        (24, WIDE, False, 10**6, "recursive_joint_exp", None),
        (45, WIDE, False, 10**6, "recursive_joint_exp", None),
        (300, WIDE, False, 10**6, "recursive_joint_exp", None),
        (301, WIDE, False, 10**6, "adaptive_tree", None),
        (1, WIDE, False, 0, "adaptive_tree", None),
        (9, 4096, True, 1000, "adaptive_tree", 0.3),
    ],
)
def test_what_is_taken_follows_public_numbers_and_the_question(
    m: int, points: int, lumpy: bool, size: int, name: str, cut_share: float | None
) -> None:
    taken = pure(1.0, q=evenly(m)).chosen(StepGrid(points), lumpy=lumpy, size=size)
    assert taken.name == name
    assert getattr(taken, "cut_share", None) == cut_share


FAMILIES = [family_of(INTEGER, None, None), family_of(REAL, None, None)]


@pytest.mark.parametrize("grid", FAMILIES)
@pytest.mark.parametrize(
    ("m", "lumpy", "size", "name", "cut_share"),
    [
        (9, False, 1000, "joint_exp", None),
        (9, True, 1000, "joint_exp", None),
        (29, False, 1000, "adaptive_tree", None),
        (29, True, 1000, "joint_exp", None),
        (44, True, 10**6, "joint_exp", None),
        (45, True, 10**6, "adaptive_tree", 0.3),
        (15, True, 300, "joint_exp", None),
        (16, True, 300, "between", None),
        (9, True, 100, "joint_exp", None),
        (9, False, 100, "joint_exp", None),
        (10, True, 100, "between", None),
        (29, True, 500, "between", None),
        (99, False, 500, "between", None),
        (29, False, 501, "adaptive_tree", None),
        (99, True, 501, "adaptive_tree", 0.3),
        (29, False, 10**6, "recursive_joint_exp", None),
    ],
)
def test_on_a_family_tied_records_get_a_joint_exp(
    grid: GridFamily, m: int, lumpy: bool, size: int, name: str, cut_share: float | None
) -> None:
    taken = pure(1.0, q=evenly(m)).chosen(grid, lumpy=lumpy, size=size)
    assert taken.name == name
    assert getattr(taken, "cut_share", None) == cut_share


@pytest.mark.parametrize(
    ("size", "epsilon", "number"),
    [
        (10, 1.0, 3),
        (30, 1.0, 5),
        (100, 1.0, 7),
        (300, 1.0, 9),
        (500, 1.0, 11),
        (100, 5.0, 11),
        (10_000, 0.01, 7),
    ],
)
def test_of_many_quantiles_of_few_records_some_are_drawn(
    size: int, epsilon: float, number: int
) -> None:
    for neighbors, stated in (("swap", None), ("add-remove", size), ("add-remove", None)):
        factor = 1 if neighbors == "swap" else 2  # one record counts as much as a swap of two
        mechanism = pure(epsilon / factor, neighbors, stated, q=evenly(99))
        taken = mechanism.chosen(FAMILIES[1], lumpy=True, size=size)
        assert isinstance(taken, Between)
        assert (taken.number, len(taken.joint.q)) == (number, number)
        assert taken.joint.budget == taken.budget == mechanism.stages(FAMILIES[1].size).answers
        assert (taken.q, taken.size, taken.joint.size) == (mechanism.q, stated, stated)


@pytest.mark.parametrize(
    ("size", "epsilon"), [(0, 1.0), (9, 1.0), (501, 1.0), (10_001, 0.01), (300, 1e-9)]
)
def test_other_numbers_of_records_get_a_tree(size: int, epsilon: float) -> None:
    mechanism = pure(epsilon, q=evenly(99))
    for lumpy in (False, True):
        taken = mechanism.chosen(FAMILIES[0], lumpy=lumpy, size=size)
        assert taken.name == "adaptive_tree"


def test_a_joint_exp_that_would_refuse_is_not_taken_for_few_records(monkeypatch: Patch) -> None:
    mechanism = pure(1.0, q=evenly(99))
    monkeypatch.setattr(fitted, "serves", lambda *_: False)
    assert mechanism.chosen(FAMILIES[0], lumpy=False, size=300).name == "adaptive_tree"


def test_few_of_all_whole_numbers_are_not_cut_by_a_recursive_joint_exp() -> None:
    """Its nodes would look for a thousand records among 2**63 points, and miss them."""
    mechanism = pure(5.0, q=evenly(60))
    for size, whole in ((2400, "adaptive_tree"), (3000, "recursive_joint_exp")):
        taken = [mechanism.chosen(grid, lumpy=False, size=size).name for grid in FAMILIES]
        assert taken == [whole, "recursive_joint_exp"]


def test_ties_and_rounding_are_told_from_smooth_records_on_a_family() -> None:
    """Clusters are no ties, nor are neighboring points of the finest grid.

    The step of the ties is found by the JointExp that they lead to.
    """
    mechanism = pure(1.0, q=evenly(29))
    middle = FAMILIES[1].size // 4 * 3
    neighbors = np.array(FAMILIES[1].decode(np.arange(middle, middle + 1000)))
    for seed in range(5):
        numbers = np.random.default_rng(seed)
        normal = numbers.normal(400, 40, 1000)
        clusters = numbers.choice([1.0, 300.0], 1000) + numbers.normal(0, 1e-6, 1000)
        for data, taken in (
            (normal, "adaptive_tree"),
            (clusters, "adaptive_tree"),
            (neighbors, "adaptive_tree"),
            (np.repeat(normal, 3)[:1000], "joint_exp"),
            (np.round(normal / 5) * 5, "joint_exp"),
        ):
            release = mechanism.release(dpq.ArrayView(data, FAMILIES[1]), random.Random(seed))
            assert release.provenance["taken"] == taken
    assert all(float(value) % 5 == 0 for value in release.values)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_on_a_family_neighbors_differ_by_one_value_and_nothing_else(
    neighbors: str, monkeypatch: Patch
) -> None:
    """For the same noisy numbers they get the same mechanism, with the same budget."""
    ask_on_small_grids(monkeypatch)
    monkeypatch.setattr(fitted, "TIED_CROWDED", 1e-6)
    grid = family_of(INTEGER, (0, 4), None)
    mechanism, seen = pure(1.0, neighbors), set()
    for pair in neighbor_pairs(neighbors, [1, 2, 3], 5):
        views = [dpq.ArrayView(np.array(records, dtype=np.int64), grid) for records in pair]
        for script in itertools.product(range(4), repeat=1 + (neighbors == "add-remove")):
            one, other = (run(mechanism, view, script) for view in views)
            assert (one.taken, one.told) == (other.taken, other.told)
            for (number, price), (another, same) in zip(one.asked, other.asked, strict=True):
                assert price == same
                assert abs(number - another) <= 1
            seen.add((one.taken.name, one.asked[-1][0] - other.asked[-1][0]))
    assert {move for _, move in seen} >= {-1, 0}


@pytest.mark.parametrize(
    ("size", "epsilon", "number"),
    [(0, 1.0, 64), (40_000, 1.0, 80), (10**6, 1.0, 400), (200_000, 5.0, 512)],
)
def test_smooth_trees_have_cells_for_their_noise(size: int, epsilon: float, number: int) -> None:
    mechanism = pure(epsilon, q=evenly(999))
    smooth, lumpy = (
        mechanism.chosen(StepGrid(WIDE), lumpy=lumpy, size=size) for lumpy in (False, True)
    )
    assert isinstance(smooth, AdaptiveTree)
    assert isinstance(lumpy, AdaptiveTree)
    assert (smooth.cells, lumpy.cells) == (number, 512)


def test_a_bought_size_is_bought_once() -> None:
    """What is bought for the question is the size of a tree; a JointExp needs a better one."""
    mechanism = pure(1.0, "add-remove")
    trees = [mechanism.chosen(StepGrid(points), lumpy=True, size=77) for points in (4096, 4097)]
    assert [tree.size for tree in trees if isinstance(tree, AdaptiveTree)] == [None, 77]
    joint = mechanism.chosen(StepGrid(WIDE), lumpy=False, size=77)
    assert isinstance(joint, JointExp)
    assert joint.size is None
    stated = pure(1.0, "add-remove", 5000).chosen(StepGrid(WIDE), lumpy=False, size=5000)
    assert isinstance(stated, JointExp)
    assert stated.size == 5000


def refused_by(joint: Any, size: int, points: int) -> None:
    """JointExp refuses by the number of records, a tree of them by its nodes."""
    if isinstance(joint, JointExp):
        joint.demand(size, view_of([], points).grid)
    else:
        joint.law(view_of([0] * 9, points))


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("m", "epsilon"), [(1, 1e-7), (23, 5e-4), (60, 2e-5)])
def test_refusals_do_not_depend_on_the_records(m: int, epsilon: float, neighbors: str) -> None:
    """Where a JointExp would refuse the budget, a tree is taken, whatever the question says."""
    size, points = 2**50, 2**62
    mechanism = pure(epsilon, neighbors, q=evenly(m))
    family = JointExp if m <= fitted.MOST_JOINT else RecursiveJointExp
    rest = mechanism.stages(points).answers
    joint: Any = family(q=mechanism.q, budget=rest, size=None if neighbors == "swap" else 0)
    with pytest.raises(DemandTooLarge):
        refused_by(joint, size, points)
    assert not fitted.serves(family(q=mechanism.q, budget=rest), size, StepGrid(points))
    taken = [
        mechanism.chosen(StepGrid(points), lumpy=lumpy, size=size).name for lumpy in (False, True)
    ]
    assert taken == ["adaptive_tree"] * 2
    large = pure(1.0, neighbors, q=evenly(m))
    assert large.chosen(StepGrid(points), lumpy=False, size=size).name == family.name


@pytest.mark.parametrize(
    ("neighbors", "q", "epsilon", "size"),
    [
        ("swap", 0.999, 1.4e-5, 10**9),
        ("add-remove", 0.5, 1e-5, 10**6),
        ("add-remove", 0.9, 1.4e-5, 10**6),
        ("add-remove", 0.999, 1.4e-5, 10**9),
    ],
)
def test_refusals_on_families_do_not_depend_on_the_records(
    neighbors: str, q: float, epsilon: float, size: int
) -> None:
    """On a family, anchors and the draw of a member make JointExp refuse more budgets."""
    grid = family_of(INTEGER, None, None)
    stated = size if neighbors == "add-remove" else None
    mechanism = pure(epsilon, neighbors, stated, q=(q,))
    assert mechanism.chosen(StepGrid(grid.size), lumpy=False, size=size).name == "joint_exp"
    assert mechanism.chosen(grid, lumpy=False, size=size).name == "adaptive_tree"
    large = pure(0.01, neighbors, stated, q=(q,))
    assert large.chosen(grid, lumpy=False, size=size).name == "joint_exp"


def test_size_is_hidden_under_add_remove() -> None:
    """Neither said nor used: all that follows depends on the noisy numbers alone."""
    many, few = (view_of([0] * n, WIDE) for n in (54321, 3))
    for mechanism, script in (
        (pure(1.0, "add-remove"), [77, 0]),
        (pure(1.0, "add-remove", 10), [0]),
        (pure(1.0, "add-remove"), [77, 50]),
        (pure(1.0, "add-remove", 10), [50]),
    ):
        one, other = (run(mechanism, view, script) for view in (many, few))
        assert one.taken == other.taken
        assert one.told == other.told
        assert one.asked[-1] == other.asked[-1]  # one value, within limits that are the same
        assert json.loads(one.told)["size"] == (script[0] if mechanism.size is None else 10)
        # A bought size may be the true one by chance; at this seed it is not.
        release = mechanism.release(many, random.Random(1))
        assert "54321" not in json.dumps(release.provenance)
