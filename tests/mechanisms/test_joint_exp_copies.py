"""JointExp without a size: its law by brute force, privacy, draws, rule, and mutants."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import GridFamily
from dpquantiles.mechanisms import joint_exp, joint_exp_copies, joint_exp_law
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_copies import Copies
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import copied
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms import test_joint_exp_family as families

Patch = pytest.MonkeyPatch

QUANTILES = [
    (0.5,),
    (0.25,),
    (1 / 3,),
    (0.6,),
    (0.9,),
    (1 / 3, 2 / 3),
    (0.25, 0.75),
    (0.25, 0.5),
    (0.5, 0.5),
    (0.25, 0.5, 0.75),
    (0.2, 0.4, 0.8),
]
"""Some are more than the rule allows; the law must be right and private for them, too."""


def sizeless(q: tuple[float, ...], epsilon: float, reach: int | None) -> JointExp:
    budget = PureDP(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)
    return JointExp(q=q, budget=budget, reach=reach)


@pytest.fixture
def any_quantiles(monkeypatch: Patch) -> None:
    """Lift the rule, which is about accuracy."""
    monkeypatch.setattr(joint_exp_copies, "MOST_SENSITIVITY", {1: 2.0, 2: 2.0, 3: 2.0})


def numerators(q: Sequence[float]) -> tuple[int, list[int]]:
    """The least common denominator, found by trying, and the numerators."""
    for d in range(1, 101):
        wanted = [round(x * d) for x in sorted(q)]
        if all(float(Fraction(a, d)) == x for a, x in zip(wanted, sorted(q), strict=True)):
            return d, wanted
    raise AssertionError(q)


def weights(
    mechanism: JointExp, records: Sequence[int], points: Sequence[int]
) -> dict[checks.Answer, float]:
    """The weights of all answers: by definition, with every record written down d times."""
    assert mechanism.reach is not None
    d, wanted = numerators(mechanism.q)
    often, n = sorted(list(records) * d), len(records)
    gaps = [b - a for a, b in itertools.pairwise([0, *wanted, d])]
    delta, reach = 2 * (d - min(gaps)), d * mechanism.reach
    rate, targets = mechanism.epsilon / (2 * delta), [a * n for a in wanted]
    floor = math.exp(-rate * (2 * reach - delta)) / math.expm1(rate * delta)
    found = {}
    for answer in itertools.combinations_with_replacement(points, len(wanted)):
        path = checks.greedy_path(often, answer, targets)
        inside = all(abs(p) <= reach for p in path)
        cost = -checks.utility(often, answer, targets, n * d, 1 << 60) if inside else math.inf
        found[answer] = math.exp(-rate * cost) + floor
    return found


def check_equation(mechanism: JointExp, records: Sequence[int], points: int) -> None:
    said, found = (
        checks.law_of(mechanism, records, points),
        weights(mechanism, records, range(points)),
    )
    assert math.isclose(math.fsum(map(math.exp, said.values())), 1.0, rel_tol=1e-9)
    total = math.fsum(found.values())
    for answer, weight in found.items():
        assert math.isclose(said[answer], math.log(weight / total), abs_tol=1e-6), (answer, records)


@pytest.mark.usefixtures("any_quantiles")
@pytest.mark.parametrize("q", [q for q in QUANTILES if q != (0.2, 0.4, 0.8)])
@pytest.mark.parametrize(("reach", "epsilon"), [(1, 3.0), (2, 0.5), (50, 1.0)])
def test_law_is_the_equation_on_copies(q: tuple[float, ...], reach: int, epsilon: float) -> None:
    mechanism = sizeless(q, epsilon, reach)
    for records in ([], [2], [0, 0, 3], [1, 3, 3], [3, 0, 2, 3]):
        if len(q) < 3 or len(records) < 4:
            check_equation(mechanism, records, 4)


@pytest.mark.usefixtures("any_quantiles")
@pytest.mark.parametrize("q", QUANTILES)
@pytest.mark.parametrize(("reach", "epsilon"), [(1, 3.0), (1, 0.5), (2, 3.0), (3, 1.0), (50, 3.0)])
def test_all_neighbors_of_copies_are_within_epsilon(
    q: tuple[float, ...], reach: int, epsilon: float
) -> None:
    mechanism = sizeless(q, epsilon, reach)
    assert mechanism.copies is not None
    checks.check_private(mechanism, [0, 1, 2, 3] if len(q) == 3 else [0, 1, 2, 3, 4], 4)


@pytest.mark.parametrize(("q", "share"), [((0.5,), 0.8), ((0.25,), 0.75), ((1 / 3, 2 / 3), 0.7)])
def test_the_sensitivity_of_copies_is_not_wasteful(q: tuple[float, ...], share: float) -> None:
    mechanism = sizeless(q, 2.0, 50)
    assert checks.worst_loss(mechanism, [4], 6) > share * mechanism.epsilon


def family_oracle(
    mechanism: JointExp, grids: GridFamily, records: Sequence[int]
) -> dict[families.Pair, float]:
    logs, m = grids.log_weights(len(mechanism.q)), len(mechanism.q)
    found: dict[families.Pair, float] = {}
    for index, member in enumerate(grids.members):
        points = [(member.first + i) * int(member.step or 0) for i in range(member.size)]
        share = math.exp(logs[index]) / math.comb(member.size + m - 1, m)
        for answer, weight in weights(mechanism, records, points).items():
            found[index, answer] = share * weight
    total = math.fsum(found.values())
    return {pair: math.log(weight / total) for pair, weight in found.items()}


@pytest.mark.parametrize("q", [(0.5,), (0.25,), (1 / 3, 2 / 3)])
@pytest.mark.parametrize(("grids", "reach"), [(families.MIXED, 9), (families.NARROW, 1)])
def test_families_of_copies(q: tuple[float, ...], grids: GridFamily, reach: int) -> None:
    mechanism = sizeless(q, 2.0, reach)
    for records in ([], [-6, 0, 0], [-3, 1, 1, 5]):
        law = families.law_of(mechanism, grids, records)
        for (index, answer), expected in family_oracle(mechanism, grids, records).items():
            found = law.pair_log_probability(index, answer)
            assert found == pytest.approx(expected, abs=1e-6)
    values = [-6, -2, 0, 1, 3, 5]
    assert families.check_private(mechanism, grids, 2, values) > 0.3 * mechanism.epsilon


@pytest.mark.parametrize("q", [(0.5,), (0.75,), (1 / 3, 2 / 3)])
@pytest.mark.parametrize("reach", [1, 4])
def test_the_walk_back_draws_the_law_of_copies(
    q: tuple[float, ...], reach: int, monkeypatch: Patch
) -> None:
    for records in ([], [1, 1, 3], [0, 2, 2, 3]):
        checks.check_walk(sizeless(q, 1.0, reach), records, 4, monkeypatch.setattr)


def test_draws_fit_the_law_of_copies() -> None:
    checks.check_draws(sizeless((0.25, 0.75), 2.0, 50), [0, 1, 1, 3, 4], 5)


@pytest.mark.parametrize("q", [(0.5,), (0.9,), (1 / 3, 2 / 3)])
@pytest.mark.parametrize("reach", [1, 3, None])
def test_a_window_of_copies_is_enough(q: tuple[float, ...], reach: int | None) -> None:
    for records in ([], [2], list(range(10)), [0] * 4 + [9] * 13, [*range(10), *range(3, 10)]):
        checks.check_window(sizeless(q, 1.0, reach), records, 10)


def test_releases_do_not_tell_or_use_the_number_of_records() -> None:
    mechanism = sizeless((0.5,), 1.0, None)
    small, large = (checks.view_of([3] * n, 7) for n in (2, 2000))
    told = [mechanism.release(view, random.Random(1)).provenance for view in (small, large)]
    assert told[0] == told[1]
    assert not {"size", "size_share"} & told[0].keys()
    settings = {repr(mechanism.law(view).setting) for view in (small, large)}
    assert len(settings) == 1
    assert mechanism.release(small, random.Random(1)).guarantee is None
    assert mechanism.guarantee == mechanism.budget


def test_missing_records_are_not_there() -> None:
    mechanism = sizeless((0.25,), 1.0, 5)
    assert checks.law_of(mechanism, [1, 3, 9, 9], 5) == checks.law_of(mechanism, [1, 3], 5)


def test_targets_are_exact_for_any_number_of_records() -> None:
    """Rounding q n in doubles would be off by many ranks here."""
    copies = Copies.of((0.7,), 1.0)
    assert copies is not None
    n = 2**53 - 1
    assert copies.targets(copies.times * n).tolist() == [7 * n]


def test_copies_of_a_view() -> None:
    view = copied(checks.view_of([4, 1, 1], 6), 3)
    assert view.n == 9
    assert view.order_statistics(np.arange(9)).tolist() == [1] * 6 + [4] * 3
    assert [r.tolist() for r in view.ranks(np.array([1, 4]))] == [[0, 6], [6, 9]]


@pytest.mark.parametrize(
    ("q", "epsilon", "times"),
    [
        ((0.5,), 1.0, 2),
        ((0.99,), 1.0, 100),
        ((1 / 3, 2 / 3), 1.0, 3),
        ((0.25, 0.75), 1.0, 4),
        ((0.5,), 1e-6, None),
        ((0.999,), 1.0, None),
        ((0.1 + 0.2,), 1.0, None),
        ((0.0,), 1.0, None),
        ((0.0, 0.5), 1.0, None),
        ((0.1, 0.9), 1.0, None),
        ((0.25, 0.5, 0.75), 1.0, None),
    ],
)
def test_the_rule_is_public(q: tuple[float, ...], epsilon: float, times: int | None) -> None:
    mechanism = sizeless(q, epsilon, None)
    assert (None if mechanism.copies is None else mechanism.copies.times) == times
    assert mechanism.buys_size == (times is None)
    assert JointExp(q=q, budget=mechanism.budget, size=9).copies is None
    assert JointExp(q=q, budget=PureDP(epsilon=epsilon)).copies is None


@pytest.mark.parametrize(("q", "bought"), [(0.5, False), (0.25, False), (0.9, True)])
def test_on_families_quantiles_near_the_ends_buy_a_size(q: float, bought: bool) -> None:
    """They need anchors, and so many quantiles are better off with a size."""
    mechanism = sizeless((q,), 1.0, None)
    view = dpq.ArrayView(np.arange(-5, 6), families.MIXED)
    release = mechanism.release(view, random.Random(1))
    assert ("size_share" in release.provenance) == bought
    assert mechanism.buys_size_on(view.grid) == bought


def test_a_median_is_as_accurate_as_with_a_known_size() -> None:
    """A bought size would triple this error."""
    records, bits = np.arange(1, 1000), random.Random(7)
    law = sizeless((0.5,), 1.0, None).law(dpq.ArrayView(records, dpq.UniformGrid(0, 1000, 1)))
    errors = [max(0.0, abs(law.draw(bits)[0] - 500) - 0.5) for _ in range(2000)]
    assert 0.6 < np.mean(errors) < 0.9


def sensitivity_of_the_largest_gap(patch: Patch) -> None:
    def most(copies: Copies) -> int:
        gaps = np.diff(copies.numerators, prepend=0, append=copies.times)
        return 2 * (copies.times - int(gaps.max()))

    patch.setattr(Copies, "sensitivity", property(most))


def sensitivity_of_a_stated_size(patch: Patch) -> None:
    patch.setattr(Copies, "sensitivity", property(lambda copies: copies.times))


def rounded_targets(patch: Patch) -> None:
    """Targets are those of single records, rounded."""

    def targets(copies: Copies, count: int) -> Any:
        n = count // copies.times
        return copies.times * np.rint(copies.numerators / copies.times * n).astype(np.int64)

    patch.setattr(Copies, "targets", targets)


def floor_of_a_larger_sensitivity(patch: Patch) -> None:
    original = joint_exp_law.log_floor
    patch.setattr(joint_exp, "log_floor", lambda rate, cost, d: original(rate, cost, 50 * d))


def floor_of_a_wider_window(patch: Patch) -> None:
    original = joint_exp_law.log_floor
    patch.setattr(joint_exp, "log_floor", lambda rate, cost, d: original(rate, 2 * cost, d))


def privacy_of_copies(_: Patch) -> None:
    checks.check_private(sizeless((0.25,), 3.0, 50), [0, 1, 2, 3], 4)


def rounding_privacy_of_copies(_: Patch) -> None:
    checks.check_private(sizeless((0.5,), 4.0, 50), [0, 1, 2, 3], 6)


def narrow_privacy_of_copies(_: Patch) -> None:
    checks.check_private(sizeless((0.5,), 0.5, 1), [0, 1, 2, 3, 4, 5], 4)


def strong_narrow_privacy_of_copies(_: Patch) -> None:
    checks.check_private(sizeless((0.5,), 3.0, 1), [0, 1, 2, 3, 4, 5], 4)


def equation_of_copies(_: Patch) -> None:
    check_equation(sizeless((0.25,), 1.0, 9), [0, 1, 3], 4)


MUTANTS = [
    (sensitivity_of_the_largest_gap, privacy_of_copies),
    (sensitivity_of_a_stated_size, privacy_of_copies),
    (rounded_targets, rounding_privacy_of_copies),
    (rounded_targets, equation_of_copies),
    (floor_of_a_larger_sensitivity, narrow_privacy_of_copies),
    (floor_of_a_wider_window, strong_narrow_privacy_of_copies),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_of_copies_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    check(monkeypatch)
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)
