"""Fitted: what it releases, on data of every kind, and what it refuses."""

import math
import random
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.entropy import SEEDED_NOTE
from dpquantiles.grid import MOST_STEPS, FloatGrid, Grid, UniformGrid, family_of
from dpquantiles.kinds import INTEGER, REAL, Kind
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from tests.mechanisms.fitted_checks import (
    DECILES,
    WIDE,
    evenly,
    mechanisms,
    pure,
)
from tests.mechanisms.joint_exp_checks import view_of
from tests.views.recording import RecordingView

GRIDS: dict[str, Grid] = {
    "one point": UniformGrid(0, 0.5, 1),
    "two points": UniformGrid(0, 1, 1),
    "coarse": UniformGrid(0, 4095, 1),
    "hardly fine": UniformGrid(0, 4096, 1),
    "finest": UniformGrid(0, MOST_STEPS - 1, 1),
    "unbounded reals": FloatGrid(),
    "unbounded integers": FloatGrid(integral=True),
}


def check_degenerate_data(grid: Grid, value: float) -> None:
    sizes = [("swap", None), ("add-remove", None), ("add-remove", 0), ("add-remove", 2**53)]
    for records in ([], [0.0], [-1e300, math.inf, 1e300, math.nan], [0.0] * 300, range(300)):
        view = dpq.ArrayView(np.array(records, dtype=float), grid)
        for q in ((0.5,), (0.9, 0.0, 1.0, 0.9), evenly(45)):
            for neighbors, size in sizes:
                release = pure(value, neighbors, size, q).release(view, random.Random(1))
                answers = [value for _, value in sorted(zip(q, release.values, strict=True))]
                assert answers == sorted(answers)
                steps = grid.encode(np.array(answers, dtype=float))
                assert ((steps >= 0) & (steps < grid.size)).all()


@pytest.mark.parametrize("value", [1e-9, 1e-4, 1.0, 1e300])
@pytest.mark.parametrize("name", GRIDS)
def test_degenerate_data(name: str, value: float) -> None:
    check_degenerate_data(GRIDS[name], value)


@pytest.mark.parametrize("value", [1e-9, 1.0, 1e300])
@pytest.mark.parametrize("kind", [INTEGER, REAL])
def test_degenerate_data_on_families(kind: Kind, value: float) -> None:
    check_degenerate_data(family_of(kind, None, None), value)


@pytest.mark.parametrize("m", [9, 60, 6000])
def test_only_windows_are_read_for_few_quantiles(m: int) -> None:
    """Each of the three that may be taken asks the data itself, and the test reads no records."""
    data = np.random.default_rng(1).normal(0, 10, 100_000)
    view = dpq.ArrayView(data, UniformGrid(-1000.0, 1000.0, 2.0**-20))
    recording = RecordingView(view)
    released = pure(40.0, q=evenly(m)).release(recording, random.Random(1))
    names = {9: "joint_exp", 60: "recursive_joint_exp", 6000: "adaptive_tree"}
    assert released.provenance["taken"] == names[m]
    assert len(recording.asked_index) < view.n / 2 or m == 6000


@pytest.mark.parametrize("mechanism", list(mechanisms(1.0, DECILES)))
@pytest.mark.parametrize("points", [64, WIDE])
def test_seeded_releases_carry_no_guarantee(mechanism: Fitted, points: int) -> None:
    view = view_of([k * (points // 2000) for k in range(2000)], points)
    release = mechanism.release(view, random.Random(1))
    assert release.guarantee is None
    assert release.note == SEEDED_NOTE
    assert release == mechanism.release(view, random.Random(1))
    private = mechanism.release(view, random.SystemRandom())
    assert private.guarantee == mechanism.guarantee == mechanism.budget
    assert private.mechanism == "fitted"
    assert private.note == ""
    assert private.provenance["budget"] == mechanism.budget.to_dict()


def test_within_budgets() -> None:
    assert Fitted(q=(0.5,), budget=PureDP(epsilon=2.0)).guarantee == PureDP(epsilon=2.0)
    assert Fitted(q=(0.5,), budget=ZCDP(rho=0.2)).guarantee == ZCDP(rho=0.2)
    approximate = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    made = Fitted(q=(0.5,), budget=approximate, size=9)
    assert made.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    assert made.size == 9


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"budget": 1.0}, TypeError, "budget must be a PureDP, .* got 1.0 of type float"),
        ({"q": (2.0,)}, ValueError, "q must lie between 0 and 1"),
        ({"q": ()}, ValueError, "q must name at least one quantile"),
        ({"size": 5}, ValueError, "size must be left out under swap neighbors"),
        ({"budget": PureDP(epsilon=1e-12)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"budget": ZCDP(rho=1e-300)}, ValueError, r"at least 2\*\*-40 per cell"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Fitted(**{"q": (0.5,), "budget": PureDP(epsilon=1.0), **parameters})
