"""Anchors: quantiles that are drawn and dropped, so that the range does not stay open."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.grid import UniformGrid, family_of
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.joint_exp import ANCHORS, JointExp
from dpquantiles.mechanisms.joint_exp_groups import draw_side_by_side
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import ArrayView, WindowView

FAMILY = family_of(REAL, None, None)
LATENCIES = np.exp(np.random.default_rng(5).normal(3, 1, 1000))


def joint(*q: float, epsilon: float = 1.0, neighbors: Neighbors = Neighbors.SWAP) -> JointExp:
    size = None if neighbors is Neighbors.SWAP else 1000
    return JointExp(q=q, budget=PureDP(epsilon=epsilon, neighbors=neighbors), size=size)


@pytest.mark.parametrize(
    ("asked", "n", "added"),
    [
        ((0.999,), 1000, ANCHORS),
        ((0.001, 0.999), 1000, ANCHORS),
        ((0.5, 0.999), 1000, (0.25, 0.75)),
        ((0.5, 0.9, 0.999), 1000, ()),
        ((0.5,), 1000, ()),
        ((0.999,), 10**6, ()),
        ((0.5,), 10, (0.25, 0.75)),
        (tuple(k / 10 for k in range(1, 10)), 100, ()),
    ],
)
def test_public_numbers_say_whether_a_range_needs_anchors(
    asked: tuple[float, ...], n: int, added: tuple[float, ...]
) -> None:
    assert joint(*asked).anchored(n, FAMILY).q == (*asked, *added)


@pytest.mark.parametrize("n", [0, 1000, 10**7])
def test_a_protected_number_of_records_does_not_decide_about_anchors(n: int) -> None:
    """Only the stated size does, so neighbors never draw different quantiles."""
    mechanism = joint(0.999, neighbors=Neighbors.ADD_REMOVE)
    assert mechanism.anchored(n, FAMILY).q == (0.999, *ANCHORS)
    assert replace(mechanism, size=10**7).anchored(n, FAMILY).q == (0.999,)


def test_a_single_grid_needs_none() -> None:
    mechanism = joint(0.999)
    assert mechanism.anchored(1000, UniformGrid(0.0, 1.0)) is mechanism
    assert mechanism.anchored(1000, None) is mechanism


def test_a_larger_epsilon_needs_fewer() -> None:
    assert joint(0.99, epsilon=0.1).anchored(1000, FAMILY).q == (0.99, *ANCHORS)
    assert joint(0.99, epsilon=10.0).anchored(1000, FAMILY).q == (0.99,)


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_answers_are_those_of_the_larger_draw(neighbors: Neighbors) -> None:
    """Leaving out answers of a private draw is post-processing, so nothing else must happen."""
    mechanism, view = joint(0.999, 0.01, neighbors=neighbors), ArrayView(LATENCIES, FAMILY)
    whole = replace(mechanism, q=(0.999, 0.01, *ANCHORS))
    for seed in range(5):
        values = mechanism.release(view, random.Random(seed)).values
        assert values == whole.law(view).draw(random.Random(seed))[:2]


def test_the_records_of_anchors_are_demanded() -> None:
    mechanism, view = joint(0.999), ArrayView(LATENCIES, FAMILY)
    window = WindowView.of(view, mechanism.demand(len(LATENCIES), FAMILY))
    for seed in range(5):
        answers = (mechanism.release(v, random.Random(seed)).values for v in (view, window))
        assert next(answers) == next(answers)


def test_a_lone_tail_is_no_longer_absurd() -> None:
    """Without anchors, the mean of these ratios is beyond a thousand."""
    truth = float(np.quantile(LATENCIES, 0.999))
    drawn = [
        float(dpq.quantiles(LATENCIES, 0.999, epsilon=1, rng=random.Random(seed)).values[0])
        for seed in range(40)
    ]
    assert np.mean([abs(value / truth - 1) for value in drawn]) < 2
    assert max(drawn) < 30 * truth


def test_groups_have_anchors_too() -> None:
    frame = pl.DataFrame({"g": ["a", "b"] * 500, "x": LATENCIES})
    options: dict[str, Any] = {"column": "x", "by": "g", "keys": ["a", "b"], "epsilon": 1}
    release: Any = dpq.quantiles(frame, [0.999, 0.5], rng=random.Random(1), **options)
    assert [len(row) for row in release.values] == [2, 2]
    assert all(tail >= middle for tail, middle in release.values)
    seen: list[tuple[float, ...]] = []

    def spy(mechanism: JointExp, *arguments: Any) -> Any:
        seen.append(mechanism.q)
        return drawn(mechanism, *arguments)

    from dpquantiles.mechanisms import joint_exp_groups
    from dpquantiles.views import Groups

    drawn = joint_exp_groups.draw_groups
    groups = Groups.of(FAMILY, np.arange(1000) % 2, FAMILY.encode(LATENCIES), 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_exp_groups, "draw_groups", spy)
        answers = draw_side_by_side(joint(0.999), groups, None, random.Random(2)).answers
    assert seen == [(0.999, *ANCHORS)]
    assert [len(answer) for answer in answers] == [1, 1]


@pytest.mark.parametrize("n", [4, 4000])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_one_public_number_decides_about_the_anchors_of_all_groups(
    n: int, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group alone would need none if it had 4000 records."""
    from dpquantiles.mechanisms import joint_exp_groups
    from dpquantiles.views import Groups

    seen = []

    def spy(mechanism: JointExp, groups: Groups, *_: Any) -> Any:
        seen.append(mechanism.q)
        return np.tile(np.arange(len(mechanism.q)), (len(groups), 1)) + 5

    monkeypatch.setattr(joint_exp_groups, "draw_groups", spy)
    groups = Groups.of(FAMILY, np.arange(n) % 2, FAMILY.encode(np.resize(LATENCIES, n)), 2)
    mechanism = JointExp(q=(0.99,), budget=PureDP(epsilon=1.0, neighbors=neighbors))
    made = draw_side_by_side(mechanism, groups, None, random.Random(1))
    assert seen == [(0.99, *ANCHORS)]
    assert made.member is not None
    assert made.answers == [tuple(FAMILY.members[made.member].decode(np.array([5])))] * 2
