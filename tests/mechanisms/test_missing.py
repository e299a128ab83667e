"""Missing records that are left out: struck ranks, exact losses, and broken copies.

The oracle strikes ranks in the dumbest way, by writing digits backwards (`joint_exp_checks`).
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.kernels import struck
from dpquantiles.kernels.smooth import smooth_sensitivity
from dpquantiles.kernels.struck import struck_below
from dpquantiles.mechanisms import joint_exp, joint_exp_groups
from dpquantiles.mechanisms import mechanism as base
from dpquantiles.mechanisms.baselines.csmooth import CSmooth
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_groups import Batch, draw_groups
from dpquantiles.mechanisms.mechanism import target_ranks
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.views import Groups
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms.mutation import check_caught

Patch = pytest.MonkeyPatch
SIZES = range(70)


def order_of(size: int) -> list[int]:
    """The order as the code has it, from what each further missing record strikes."""
    ends = np.arange(size + 1)
    below = [struck_below(ends, np.array(size), np.array(gone)) for gone in range(size + 1)]
    steps = [np.diff(more - less) for less, more in itertools.pairwise(below)]
    assert all(step.min() >= 0 and step.sum() == 1 for step in steps)
    return [int(np.argmax(step)) for step in steps]


def check_order() -> None:
    for size in SIZES:
        assert order_of(size) == checks.removal_order(size)
        assert sorted(order_of(size)) == list(range(size))


def test_the_order_is_a_permutation_in_reversed_digits() -> None:
    assert checks.removal_order(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert checks.removal_order(6) == [0, 4, 2, 1, 5, 3]
    check_order()


def check_steps() -> None:
    q = np.array([0.0, 0.1, 0.25, 0.5, 0.5, 0.99, 1.0])
    for size in SIZES[1:]:
        found = [target_ranks(q, size, missing) for missing in range(size + 1)]
        assert found[0].tolist() == np.rint(q * size).tolist()
        assert found[-1].tolist() == [0] * len(q)
        for less, more in itertools.pairwise(found):
            cells = np.diff(less - more, prepend=0)
            assert sorted(cells.tolist())[-1] == cells.sum() == 1
            assert cells.min() == 0


def test_one_more_missing_record_strikes_one_more_rank() -> None:
    check_steps()


def test_columns_are_groups() -> None:
    q = np.array([0.0, 0.3, 0.5, 1.0])
    sizes, missing = np.array([0, 1, 5, 64, 33, 9]), np.array([0, 1, 3, 40, 0, 9])
    found = target_ranks(q, sizes, missing)
    for column, size, gone in zip(found.T, sizes.tolist(), missing.tolist(), strict=True):
        assert column.tolist() == target_ranks(q, size, gone).tolist()


def check_distance() -> None:
    q, far = np.linspace(0.01, 0.99, 99), []
    for size in (100, 777, 1000, 1023):
        far += [abs(target_ranks(q, size, m) - q * (size - m)) for m in range(0, size, 3)]
    assert np.max(far) < 4
    assert np.mean(far) < 1


def test_targets_stay_close_to_the_quantiles() -> None:
    check_distance()


def test_targets_of_a_billion_records() -> None:
    q = np.linspace(0.01, 0.99, 99)
    for missing in (1, 333_333_333, 10**9 - 1):
        off = abs(target_ranks(q, 10**9, missing) - q * (10**9 - missing))
        assert off.max() < 15


def pure(neighbors: str = "swap", epsilon: float = 2.0, **options: Any) -> JointExp:
    budget = privacy.budget(epsilon=epsilon, neighbors=neighbors)
    return JointExp(**{"q": (0.3, 0.6), "reach": 3, **options}, budget=budget)


GONE = 4
"""The step that stands for a missing record on a grid of four points."""


@pytest.mark.parametrize("records", [(0, 1, GONE), (1, 1, 2, GONE, GONE), (GONE,) * 3, (0, 3, 3)])
def test_the_law_is_the_equation(records: tuple[int, ...]) -> None:
    for q, reach in itertools.product([(0.5,), (0.1, 0.9), (0.25, 0.5, 0.75)], (1, 2, 5)):
        checks.check_is_the_equation(pure(q=q, reach=reach), records, GONE)
        add = pure("add-remove", q=q, reach=reach, size=3)
        checks.check_is_the_equation(add, records, GONE)


def check_joint_exp() -> None:
    """All data sets of up to five records, some missing, all answers."""
    for q, points, reach in (((0.5,), 4, 1), ((0.3, 0.6), 3, 2), ((0.25, 0.5, 0.75), 2, 4)):
        checks.check_private(pure(q=q, reach=reach), [1, 2, 3, 4, 5], points)


def check_many_targets() -> None:
    """Where targets that are rounded anew for every number of records move one by one."""
    for q in ((0.25, 0.5, 0.75), (0.3, 0.4, 0.7)):
        checks.check_private(pure(q=q, reach=12), [5], 4)


def test_all_neighbors_are_within_epsilon() -> None:
    check_joint_exp()
    check_many_targets()
    assert checks.worst_loss(pure(q=(0.25, 0.5, 0.75), reach=12), [5], 4) > 0.8 * 2.0


def test_a_window_is_enough() -> None:
    records = sorted(random.Random(3).choices(range(31), k=200))
    checks.check_window(pure(reach=2), records, 30)


def batches(sizes: Sequence[int], missing: Sequence[int], reach: int) -> tuple[JointExp, Groups]:
    bits = random.Random(8)
    present = [n - gone for n, gone in zip(sizes, missing, strict=True)]
    codes = np.repeat(np.arange(len(sizes)), present)
    steps = np.array(bits.choices(range(9), k=len(codes)), dtype=np.int64)
    grid = dpq.UniformGrid(0, 8, 1)
    return pure(reach=reach), Groups.of(grid, codes, steps, len(sizes), np.array(missing))


def test_groups_have_the_law_of_one() -> None:
    sizes, missing = [5, 9, 1, 12, 7, 0], [0, 4, 1, 7, 7, 0]
    mechanism, groups = batches(sizes, missing, 3)
    chunk, q = np.arange(len(sizes)), np.array(mechanism.q)
    setting, grid = joint_exp_groups._shared(mechanism, groups.grid), groups.grid
    places = joint_exp_groups._places(groups, chunk, grid)
    counts = groups.n, np.array(sizes), np.array(missing)
    batch = Batch.of(setting, q, places, grid.size, *counts)
    alone: list[Any] = [mechanism.law(groups.view(group)) for group in chunk.tolist()]
    assert [law.geometry.targets.tolist() for law in alone] == batch.columns.targets.T.tolist()
    assert np.asarray(batch.end.surplus).tolist() == [0] * len(sizes)
    expected = [law.log_window for law in alone]
    np.testing.assert_allclose(batch.log_window(), expected, rtol=1e-9)
    assert len(draw_groups(mechanism, groups, np.array(sizes), random.Random(1))) == len(sizes)


PUBLIC = [
    ("joint_exp", lambda m, view: m.law(view).setting),
    ("recursive_joint_exp", lambda m, view: (m.law(view).records.shift, m.law(view).nodes.keys())),
    ("slice_quantiles", lambda m, view: str(m.plan(m.counted(view), view.grid))),
    ("csmooth", lambda m, view: [w[3:] for w in m._windows(view.n, 30, m.left_out(view))]),
]


def check_public(name: str, numbers: Callable[[Any, Any], Any]) -> None:
    """What is public is the same, however many of the records are missing."""
    budget = privacy.budget(rho=0.5) if name == "csmooth" else privacy.budget(epsilon=3.0)
    q = (0.2, 0.7) if name != "recursive_joint_exp" else tuple(k / 30 for k in range(1, 30))
    mechanism = dpq.mechanisms.registry.build(name, budget, q=q)
    views = [checks.view_of([3] * (2000 - gone) + [30] * gone, 30) for gone in (0, 1, 1999, 2000)]
    found = [numbers(mechanism, view) for view in views]
    assert all(other == found[0] for other in found)
    sizes = [mechanism.release(view, random.Random(1)).provenance["size"] for view in views]
    assert set(sizes) == {2000}


@pytest.mark.parametrize(("name", "numbers"), PUBLIC, ids=lambda part: str(part)[:12])
def test_public_numbers_do_not_follow_missing_records(name: str, numbers: Any) -> None:
    check_public(name, numbers)


def padded(records: Sequence[int], points: int) -> np.ndarray[Any, Any]:
    """Present records between as many ends of the grid as any interval can need."""
    present = sorted(x for x in records if x < points)
    return np.array([0] * 8 + present + [points - 1] * 8, dtype=np.int64)


def test_smooth_sensitivity_changes_as_in_a_swap() -> None:
    """The rank moves by at most one record, and the sensitivity by a factor of at most exp(t)."""
    points, t, seen = 4, 0.7, set()
    for q in (0.0, 0.2, 0.5, 0.8, 1.0):
        mechanism = CSmooth(q=(q,), budget=privacy.budget(rho=1.0), smoothness=t)
        for pair in checks.neighbor_pairs("swap", [1, 2, 3, 4], points + 1):
            found = []
            for records in pair:
                view = checks.view_of(records, points)
                (window,) = mechanism._windows(view.n, points, mechanism.left_out(view))
                place, sorted_records = window.rank + 7, padded(records, points)
                answer = int(sorted_records[place])
                found.append((answer, smooth_sensitivity(sorted_records, place, t)))
            (one, first), (other, second) = found
            assert abs(one - other) <= min(first, second) + 1e-9
            assert first <= second * math.exp(t) * (1 + 1e-9)
            assert second <= first * math.exp(t) * (1 + 1e-9)
            seen.add(abs(one - other))
    assert len(seen) > 2


def order_with_repeats(patch: Patch) -> None:
    """Every other missing record strikes what the one before it struck."""

    def repeated(targets: Any, size: Any, missing: Any) -> Any:
        return 2 * struck_below(targets, size, missing // 2)

    patch.setattr(base, "struck_below", repeated)


def strike_anew(patch: Patch) -> None:
    """Struck ranks are evenly spaced for every number of missing records, and all of them move."""

    def anew(targets: Any, size: Any, missing: Any) -> Any:
        ranks = (np.arange(int(missing)) + 0.5) * int(size) // int(missing)
        return np.searchsorted(ranks, targets)

    patch.setattr(base, "struck_below", anew)


def plain_rounding(patch: Patch) -> None:
    """Targets by q times the number of records that are present."""
    patch.setattr(
        joint_exp, "target_ranks", lambda q, size, gone=0: np.rint(q * (size - gone)).astype(int)
    )


def strike_nothing(patch: Patch) -> None:
    patch.setattr(base, "struck_below", lambda targets, _size, _missing: 0 * targets)


def digits_of_another_width(patch: Patch) -> None:
    original = struck._spaced_below
    patch.setattr(struck, "_spaced_below", lambda e, f, a, b: original(e, f, 2 * a, b))


def strike_from_below(patch: Patch) -> None:
    """A permutation, and private, but far from the quantiles of the records that are present."""
    patch.setattr(base, "struck_below", lambda targets, _, missing: np.minimum(targets, missing))


def a_setting_of_present_records(patch: Patch) -> None:
    original = JointExp.setting

    def setting(self: JointExp, public_n: int | None, points: int) -> Any:
        found = original(self, public_n, points)
        return found._replace(rate=found.rate * 1.01) if public_n == 2000 else found

    patch.setattr(JointExp, "setting", setting)
    patch.setattr(JointExp, "counted", lambda _, view: view.n)


def a_plan_for_present_records(patch: Patch) -> None:
    patch.setattr(SliceQuantiles, "counted", lambda _, view: max(view.n, 1000))


def check_public_setting() -> None:
    check_public(*PUBLIC[0])


def check_public_plan() -> None:
    check_public(*PUBLIC[2])


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (plain_rounding, check_many_targets),
        (strike_anew, check_many_targets),
        (order_with_repeats, check_steps),
        (strike_from_below, check_distance),
        (strike_nothing, check_distance),
        (digits_of_another_width, check_order),
        (a_setting_of_present_records, check_public_setting),
        (a_plan_for_present_records, check_public_plan),
    ],
    ids=lambda part: part.__name__,
)
def test_mutants_are_caught(mutant: Any, check: Any, monkeypatch: Patch) -> None:
    check_caught(mutant, check, monkeypatch)
