"""Limits of public numbers: the last one that is taken, and the first one that is refused."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import DemandTooLarge, privacy, require
from dpquantiles.intervals import Intervals
from dpquantiles.kernels import draws
from dpquantiles.mechanisms import (
    adaptive_tree,
    joint_exp,
    mechanism,
    recursive_joint_exp,
    slice_quantiles,
)
from dpquantiles.mechanisms.above_threshold import AboveThreshold
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.baselines.csmooth import CSmooth
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP

HALF, Q = (0.5,), (0.25, 0.5, 0.75)
LEAST = float(draws.LEAST_RATE)
GRID = dpq.UniformGrid(0, 999, 1)
VIEW = dpq.ArrayView(np.array([1, 1, 2, 5]), dpq.UniformGrid(0, 6, 1))

Limit = tuple[Callable[[Any], Any], Any, Any, str]


def after(number: float) -> float:
    return math.nextafter(number, math.inf)


def before(number: float) -> float:
    return math.nextafter(number, 0.0)


def trees(leaves: int) -> AggTree:
    return AggTree(q=HALF, budget=PureDP(epsilon=1.0), height=leaves, branching=2)


def permuted(count: int) -> float:
    return mechanism.log_probability_in_order(np.zeros((count, count)), [1] * count)


def kept(level: float) -> Intervals:
    return Intervals(level=level)


LIMITS: dict[str, Limit] = {
    "above_threshold": (
        lambda epsilon: AboveThreshold(q=HALF, budget=PureDP(epsilon=epsilon)),
        2 * LEAST,
        before(2 * LEAST),
        "at least 2\\*\\*-40 for the noise",
    ),
    "agg_tree": (
        lambda epsilon: AggTree(q=HALF, budget=PureDP(epsilon=epsilon), height=3, branching=2),
        6 * LEAST,
        before(6 * LEAST),
        "at least 2\\*\\*-40 per node",
    ),
    "agg_tree without a shape": (
        lambda epsilon: AggTree(q=HALF, budget=PureDP(epsilon=epsilon)),
        8 * LEAST,
        before(8 * LEAST),
        "at least 2\\*\\*-40 per node",
    ),
    "leaves": (trees, 22, 23, "at most 4194304 leaves, got height=23, branching=2"),
    "cut_share": (
        lambda share: AdaptiveTree(q=HALF, budget=PureDP(epsilon=1.0), cut_share=share),
        0.9,
        after(0.9),
        "cut_share must be at most 0.9",
    ),
    "smoothness": (
        lambda t: CSmooth(q=HALF, budget=ZCDP(rho=1.0), smoothness=t),
        3.0,
        after(3.0),
        "smoothness must be at most 3",
    ),
    "permutations": (permuted, 16, 17, "at most 16 answers, got 17"),
    "level": (kept, 1 - 1e-6, after(1 - 1e-6), "at most 0.999999"),
    "rounding": (
        lambda rounding: JointExp(q=Q, budget=PureDP(epsilon=2.0))._rate(rounding),
        0.5,
        after(0.5),
        "at least four times what rounding may cost here, 0.5",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_limit_is_taken_and_what_lies_beyond_is_refused(name: str) -> None:
    call, taken, refused, message = LIMITS[name]
    call(taken)
    with pytest.raises(ValueError, match=message):
        call(refused)


def demanded(mechanism: Any) -> Any:
    return mechanism.demand(10**7, GRID)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_a_window_may_fill_the_most_states(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = None if neighbors == "swap" else 10**7
    mechanism = JointExp(
        q=Q, budget=privacy.budget(epsilon=1.0, neighbors=neighbors), reach=40, size=size
    )
    states = 3 * 81
    monkeypatch.setattr(joint_exp, "MOST_STATES", states)
    demanded(mechanism)
    monkeypatch.setattr(joint_exp, "MOST_STATES", states - 1)
    with pytest.raises(DemandTooLarge, match=f"need windows of {states // 3} ranks each"):
        demanded(mechanism)


def test_the_most_answers_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = JointExp(q=Q, budget=PureDP(epsilon=1.0))
    monkeypatch.setattr(joint_exp, "MOST_ANSWERS", 3)
    demanded(mechanism)
    monkeypatch.setattr(joint_exp, "MOST_ANSWERS", 2)
    with pytest.raises(DemandTooLarge, match="at most 2 quantiles at once, got 3"):
        demanded(mechanism)


def test_as_many_labels_as_can_be_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    law = RecursiveJointExp(q=Q, budget=PureDP(epsilon=1.0)).law(VIEW)
    labels = (1 << law.records.shift) ** 3
    monkeypatch.setattr(recursive_joint_exp, "MOST_SUMMED", labels)
    assert law.log_probability((1, 2, 5)) < 0
    monkeypatch.setattr(recursive_joint_exp, "MOST_SUMMED", labels - 1)
    with pytest.raises(ValueError, match="too many to add up for 3 of them"):
        law.log_probability((1, 2, 5))


def test_as_many_weights_as_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SliceQuantiles(q=Q, budget=PureDP(epsilon=1.0))
    plan = mechanism.plan(10**6, GRID)
    monkeypatch.setattr(slice_quantiles, "MOST_WEIGHTS", plan.slope * plan.reach)
    assert mechanism.plan(10**6, GRID).reach == plan.reach
    monkeypatch.setattr(slice_quantiles, "MOST_WEIGHTS", plan.slope * plan.reach - 1)
    with pytest.raises(DemandTooLarge, match=f"windows of {2 * plan.reach} ranks"):
        mechanism.plan(10**6, GRID)


@pytest.mark.parametrize(
    ("neighbors", "least", "message"),
    [
        ("swap", 1608, "the number of records must be at least about 1.6e\\+03 for 3 such"),
        ("add-remove", 1064, "size must be at least about 1.1e\\+03 for 3 such"),
    ],
)
def test_slices_are_planned_from_the_size_that_their_refusal_names(
    neighbors: str, least: int, message: str
) -> None:
    def planned(n: int) -> int:
        size = None if neighbors == "swap" else n
        mechanism = SliceQuantiles(
            q=Q, budget=privacy.budget(epsilon=1.0, neighbors=neighbors), size=size
        )
        return mechanism.plan(n, GRID).slope

    assert planned(least) == slice_quantiles.LEAST_SLOPE
    with pytest.raises(ValueError, match=message):
        planned(least - 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.7, 1e5])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_a_rate_and_its_rounding_are_no_more_than_epsilon(epsilon: float, neighbors: str) -> None:
    """In exact numbers: twice the sensitivity at this rate, and what rounding costs."""
    mechanism = JointExp(q=Q, budget=privacy.budget(epsilon=epsilon, neighbors=neighbors))
    for rounding in (epsilon / 4, epsilon / 7, epsilon * 1e-9, 0.0):
        spent = 2 * mechanism.sensitivity * Fraction(mechanism._rate(rounding))
        left = Fraction(epsilon) - Fraction(rounding)
        assert left * (1 - Fraction(1, 2**48)) <= spent <= left


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.7, 1e5])
def test_walks_spend_no_more_than_a_rho(epsilon: float) -> None:
    """In exact numbers: the squares of the epsilons of all walks add up to twice the rho."""
    for m in (1, 2, 3, 7):
        q = tuple((k + 1) / (m + 1) for k in range(m))
        found = AboveThreshold(q=q, budget=ZCDP(rho=epsilon))
        rho = m * Fraction(found.each) ** 2 / 2
        assert Fraction(epsilon) * (1 - Fraction(1, 2**45)) <= rho <= Fraction(epsilon)
        assert found.guarantee == ZCDP(rho=epsilon)
        sliced = SliceQuantiles(q=q, budget=ZCDP(rho=max(epsilon, 1e-3)))
        rho = Fraction(sliced.epsilon) ** 2 / 2
        assert rho <= Fraction(max(epsilon, 1e-3)) <= rho * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_keys_have_the_least_threshold(epsilon: float, delta: float) -> None:
    keys = PrivateKeys(
        budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
    )
    k = keys.threshold
    # All chances of -k .. k, added up one by one.
    chances = np.exp(-epsilon * np.abs(np.arange(-k, k + 1)))
    assert chances[-1] / chances.sum() <= delta * (1 + 1e-8)
    assert math.log(chances[-1] / chances.sum()) == pytest.approx(keys.log_chance(k), abs=1e-6)
    if k > 1:
        assert chances[-2] / chances[1:-1].sum() > delta * (1 - 1e-8)


def test_counts_stay_within_what_can_be_a_number() -> None:
    most = require.LARGEST_COUNT
    many = PrivateCount(budget=PureDP(epsilon=1e-3, neighbors=Neighbors.ADD_REMOVE)).draw_all(
        np.array([0, most] * 50), random.Random(3)
    )
    assert many.min() == 0
    assert many.max() == most
    assert ((many >= 0) & (many <= most)).all()


@pytest.mark.parametrize("budget", [PureDP(epsilon=1.0), ZCDP(rho=0.1)])
def test_a_tree_cuts_coarse_grids_at_the_larger_share(budget: Any) -> None:
    tree = AdaptiveTree(q=HALF, budget=budget)
    fine, coarse = (
        tree.stages(points) for points in (adaptive_tree.COARSE + 1, adaptive_tree.COARSE)
    )
    assert coarse.cut.amount / fine.cut.amount == pytest.approx(3.0)
    for stages in (fine, coarse):
        together = Fraction(stages.cut.amount) + Fraction(stages.tree.amount)
        assert together <= Fraction(budget.amount)


def test_a_delta_that_grows_past_one_is_refused() -> None:
    """1 + exp(epsilon) times a delta: to the last one below 1, whatever the epsilon."""
    growth = 1 + math.exp(2.0)
    neighbors = dpq.Neighbors.ADD_REMOVE
    taken = ApproxDP(epsilon=2.0, delta=(1 - 1e-9) / growth, neighbors=neighbors).as_swap()
    assert taken.delta == pytest.approx(1.0)
    for epsilon, delta in ((2.0, 1 / growth), (700.0, 1e-6), (1e4, 1e-300)):
        with pytest.raises(ValueError, match="delta must stay below 1"):
            ApproxDP(epsilon=epsilon, delta=delta, neighbors=neighbors).as_swap()
