"""JointExp on families of grids: its law by brute force, its privacy, its draws, and mutants."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from dpquantiles.grid import GridFamily, Multiples, UniformGrid, family_of
from dpquantiles.kernels import scans
from dpquantiles.kinds import INTEGER, REAL, Kind
from dpquantiles.mechanisms import family_shares, joint_exp, joint_exp_family
from dpquantiles.mechanisms.family_shares import log_volumes
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_family import FamilyLaw
from dpquantiles.privacy import PureDP
from tests.mechanisms.joint_exp_checks import all_weights, ascending_steps, loss, neighbor_pairs
from tests.mechanisms.mutation import mutate

Patch = pytest.MonkeyPatch
Pair = tuple[int, tuple[int, ...]]

SPAN = 6
"""Records and points lie between -SPAN and SPAN."""


def family(*members: tuple[int, int, int]) -> GridFamily:
    """Members as (step, first multiple, number of points), with unequal weights."""
    grids = tuple(Multiples(INTEGER, Fraction(step), first, size) for step, first, size in members)
    weights = tuple(1.0 + index for index in range(len(grids)))
    return GridFamily(UniformGrid(-SPAN, SPAN, 1), grids, weights)


MIXED = family((1, -2, 4), (2, -1, 3), (3, 0, 2), (5, -1, 3), (1, 3, 3))
NARROW = family((1, 0, 2), (1, -6, 13), (4, -1, 3))


def random_family(rng: np.random.Generator, most: int) -> GridFamily:
    members = set()
    for _ in range(rng.integers(1, most + 1)):
        step = int(rng.integers(1, 6))
        low, high = sorted(rng.integers(-(SPAN // step), SPAN // step + 1, 2).tolist())
        members.add((step, low, high - low + 1))
    return family(*sorted(members))


def mechanism(swap: bool, q: Sequence[float], epsilon: float, reach: int, size: int) -> JointExp:
    budget = PureDP(epsilon=epsilon, neighbors="swap" if swap else "add-remove")  # type: ignore[arg-type]
    return JointExp(q=tuple(q), budget=budget, reach=reach, size=None if swap else size)


def law_of(mechanism: JointExp, grids: GridFamily, records: Sequence[int]) -> FamilyLaw:
    law = mechanism.law(dpq.ArrayView(np.array(records, dtype=np.int64), grids))
    assert isinstance(law, FamilyLaw)
    return law


def oracle(mechanism: JointExp, grids: GridFamily, records: Sequence[int]) -> dict[Pair, float]:
    """The log probability of every pair, straight from (F1)."""
    nu, m = len(records) if mechanism.size is None else mechanism.size, len(mechanism.q)
    targets = sorted(round(q * nu) for q in mechanism.q)
    logs, beyond = grids.log_weights(m), 0 if mechanism.neighbors == "swap" else 1
    weights: dict[Pair, float] = {}
    for index, member in enumerate(grids.members):
        points = [(member.first + i) * int(member.step or 0) for i in range(member.size)]
        share = math.exp(logs[index]) / math.comb(member.size + beyond + m - 1, m)
        for answer, weight in all_weights(mechanism, records, points, targets, nu).items():
            weights[index, answer] = share * weight
    total = math.fsum(weights.values())
    return {pair: math.log(weight / total) for pair, weight in weights.items()}


def check_equation(
    mechanism: JointExp, grids: GridFamily, records: Sequence[int], close: float = 1e-6
) -> None:
    law = law_of(mechanism, grids, records)
    for (index, answer), expected in oracle(mechanism, grids, records).items():
        assert law.pair_log_probability(index, answer) == pytest.approx(expected, abs=close)


def pairs(law: FamilyLaw) -> dict[Pair, float]:
    """The log probability of every pair, by the program."""
    total, found = np.logaddexp.reduce(law.log_weights), dict[Pair, float]()
    for index, member in enumerate(law.family.members):
        of_member = law.member_law(index)
        steps = ascending_steps(member.size, len(law.order))
        answers = map(tuple, ((member.first + steps) * int(member.step or 0)).tolist())
        logs = law.log_weights[index] - total + of_member.log_probabilities(steps)
        found |= zip(((index, answer) for answer in answers), logs.tolist(), strict=True)
    return found


def check_private(mechanism: JointExp, grids: GridFamily, n: int, values: Sequence[int]) -> float:
    """The largest loss over all neighbors among data sets of n records, or of n and n + 1."""

    @cache
    def law(places: tuple[int, ...]) -> Any:
        records = [values[place] for place in places]
        return np.array(list(pairs(law_of(mechanism, grids, records)).values()))

    worst = 0.0
    for one, other in neighbor_pairs(str(mechanism.neighbors), [n], len(values)):
        worst = max(worst, loss(law(one), law(other)))
        assert worst <= mechanism.epsilon
    return worst


@pytest.mark.parametrize("seed", range(40))
def test_the_law_is_the_equation(seed: int, monkeypatch: Patch) -> None:
    rng = np.random.default_rng(seed)
    grids, n, m = random_family(rng, 5), int(rng.integers(0, 7)), int(rng.integers(1, 4))
    records = rng.integers(-SPAN, SPAN + 1, n).tolist()
    if seed % 3 == 0:
        records = rng.choice([-3, 0, 0, 2], n).tolist()
    size = max(0, n + int(rng.integers(-4, 7)))
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", float(rng.choice([-32.0, -2.0, -0.2])))
    q = np.sort(rng.random(m)).tolist()
    epsilon, reach = float(rng.choice([0.5, 2.0, 6.0])), int(rng.integers(1, 9))
    check_equation(mechanism(seed % 2 == 0, q, epsilon, reach, size), grids, records)


@pytest.mark.parametrize("answers", [1, 3])
def test_public_weights_lean_against_few_points(answers: int) -> None:
    members = tuple(Multiples(INTEGER, Fraction(1), 0, size) for size in (2, 32, 128, 1000))
    logs = GridFamily(UniformGrid(0, 1000, 1), members, (1.0, 2.0, 3.0, 4.0)).log_weights(answers)
    few = [(size / 128) ** (answers / 2) for size in (2, 32, 128, 128)]
    wanted = [weight * factor for weight, factor in zip((1, 2, 3, 4), few, strict=True)]
    assert np.exp(logs) == pytest.approx(np.array(wanted) / sum(wanted))


@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize(
    ("grids", "reach", "epsilon"), [(MIXED, 2, 2.0), (MIXED, 9, 1.0), (NARROW, 1, 3.0)]
)
def test_all_neighbors_and_pairs_are_within_epsilon(
    swap: bool, grids: GridFamily, reach: int, epsilon: float
) -> None:
    values = [-6, -2, 0, 1, 3, 5]
    worst = check_private(mechanism(swap, (0.3, 0.7), epsilon, reach, 3), grids, 3, values)
    assert worst > 0.3 * epsilon


@pytest.mark.parametrize(("grids", "reach"), [(MIXED, 2), (MIXED, 9), (NARROW, 1)])
@pytest.mark.parametrize("size", [0, 2, 7])
@pytest.mark.parametrize("most_end", [1, 3])
def test_a_size_far_from_the_truth_stays_private(
    grids: GridFamily, reach: int, size: int, most_end: int, monkeypatch: Patch
) -> None:
    """E is on both sides of S and far beyond it, and targets lie beyond all records."""
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", -most_end * 1.0)
    job = mechanism(False, (0.3, 0.7), 2.0, reach, size)
    assert job.setting(None, 9).most_end == most_end
    for n in (0, 1, 3):
        check_private(job, grids, n, [-6, -2, 0, 1, 3, 5])


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_those_of_each_member(seed: int) -> None:
    """Ranges that share passes, against a pass of each member by itself; many records and ties."""
    rng = np.random.default_rng(1000 + seed)
    grids, n, m = random_family(rng, 9), int(rng.integers(0, 60)), int(rng.integers(1, 7))
    records = rng.integers(-SPAN, SPAN + 1, n).tolist()
    swap, reach, most = seed % 2 == 0, int(rng.integers(1, 40)), [4, 60][seed // 2 % 2]
    size = max(0, n + int(rng.integers(-most, most)))
    job = mechanism(swap, rng.random(m).tolist(), 1.0, reach, size)
    law = law_of(job, grids, records)
    for index in range(len(grids.members)):
        alone = law.member_law(index)
        share = alone.log_window - alone.setting.log_volume
        expected = grids.log_weights(m)[index] + np.logaddexp(share, alone.setting.log_floor)
        assert law.log_weights[index] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("kind", [INTEGER, REAL])
@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize(
    "far", [[10**18] * 3, [-(10**18)] * 3, [-(10**9), 10**18], [10**12, 10**18]]
)
@pytest.mark.parametrize("m", [9, 24])
def test_records_far_away_take_no_mass_from_a_member(
    kind: Kind, swap: bool, far: list[int], m: int
) -> None:
    """Members with few points keep their mass though others of the same step have very many.

    Of 24 answers there are up to e**1000 times as many there, which no double can hold.
    """
    rng = np.random.default_rng(m)
    records = [*rng.integers(0, 10, 40).tolist(), *far]
    job = mechanism(swap, [k / (m + 1) for k in range(1, m + 1)], 4.0, 60, len(records))
    grids = family_of(kind, None, None)
    law = law_of(job, grids, records)
    weights = law.log_weights
    assert np.isfinite(weights).all()
    likely = np.argsort(-weights)[:6]
    for index in map(int, [*likely, *rng.integers(0, len(weights), 6)]):
        alone = law.member_law(index)
        share = alone.log_window - alone.setting.log_volume
        expected = grids.log_weights(m)[index] + np.logaddexp(share, alone.setting.log_floor)
        assert weights[index] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("records", [[1] * 5 + [7], [-7] + [1] * 5, [-7] + [1] * 5 + [7], [1] * 6])
def test_ties_between_points_fill_a_window(swap: bool, q: float, records: list[int]) -> None:
    """In such a window only an end of the data, if it is there, has points."""
    grids = family((2, -4, 9), (2, 0, 5), (2, -4, 5), (4, -2, 5), (1, 0, 3))
    for reach in (1, 2):
        check_equation(mechanism(swap, (q,), 2.0, reach, len(records)), grids, records)


def test_only_negligible_shares_are_left_out(monkeypatch: Patch) -> None:
    """A share is given as zero only if the bound on its cost says that it is small."""
    assert math.exp(-joint_exp_family.NEGLIGIBLE) <= 2.0**-64  # as the proof says
    original, left_out = family_shares.log_shares, 0
    shares: list[Any] = []

    def kept(*arguments: Any) -> Any:
        shares.append(original(*arguments))
        return shares[-1]

    monkeypatch.setattr(joint_exp_family, "log_shares", kept)
    for seed in range(60):
        rng = np.random.default_rng(2000 + seed)
        grids, n, m = random_family(rng, 9), int(rng.integers(1, 60)), int(rng.integers(1, 7))
        records = rng.integers(-SPAN, SPAN + 1, n).tolist()
        size = max(0, n + int(rng.integers(-40, 40)))
        job = mechanism(seed % 2 == 0, rng.random(m).tolist(), 1.0, 50, size)
        setting = job.family_setting(n if seed % 2 == 0 else None, grids).common
        monkeypatch.setattr(family_shares, "FEW", [0, 32][seed // 2 % 2])
        costs = [math.inf, *rng.uniform(0, 60, 10).tolist()]
        for cost in costs:
            negligible = setting.log_floor + setting.rate * cost
            monkeypatch.setattr(joint_exp_family, "NEGLIGIBLE", negligible)
            _ = law_of(job, grids, records).log_weights
        whole = shares[-len(costs)]
        for least, cost in zip(shares[1 - len(costs) :], costs[1:], strict=True):
            less = least < whole - 1e-9
            assert (whole[less] <= -setting.rate * cost + 1e-9).all()
            left_out += int(less.sum())
    assert left_out > 500


@pytest.mark.parametrize("kind", [INTEGER, REAL])
def test_the_default_families_share_passes_too(kind: Any) -> None:
    rng = np.random.default_rng(3)
    grids = family_of(kind, None, None)
    records = np.round(rng.lognormal(2, 1, 80), 0 if kind == INTEGER else 1)
    job = JointExp(q=(0.25, 0.5, 0.75), budget=PureDP(epsilon=1.0))
    law = job.law(dpq.ArrayView(records.astype(np.int64) if kind == INTEGER else records, grids))
    assert isinstance(law, FamilyLaw)
    public = grids.log_weights(3)
    for index in range(0, len(grids.members), 37):
        member, alone = grids.members[index], law.member_law(index)
        share = alone.log_window - float(log_volumes(member.size, 3)[-1])
        expected = public[index] + np.logaddexp(share, alone.setting.log_floor)
        assert law.log_weights[index] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("logarithms", [False, True])
def test_shares_are_within_the_rounding_bound(logarithms: bool, monkeypatch: Patch) -> None:
    """Both representations agree to far less than what is paid for."""
    from dpquantiles.kernels import algebra

    records = np.random.default_rng(5).integers(-SPAN, SPAN + 1, 50).tolist()
    job = mechanism(True, (0.2, 0.5, 0.6, 0.9), 1.0, 30, 0)
    expected = law_of(job, MIXED, records).log_weights
    if logarithms:
        monkeypatch.setattr(algebra, "choose", lambda *_: algebra.Logarithms())
    law = law_of(job, MIXED, records)
    assert isinstance(law.setting.common.algebra, algebra.Logarithms) == logarithms
    # The two rates differ by what rounding costs.
    assert law.log_weights == pytest.approx(expected, abs=1e-8)


def test_rounding_is_inside_epsilon() -> None:
    for kind in (INTEGER, REAL):
        for swap in (True, False):
            job = mechanism(swap, [k / 10 for k in range(1, 10)], 1.0, 300, 1000)
            rate = job.family_setting(
                1000 if swap else None, family_of(kind, None, None)
            ).common.rate
            assert 0.999 < 2 * rate * job.sensitivity < 1.0


def test_both_draws_pay_for_their_rounding(monkeypatch: Patch) -> None:
    """The draw of a member, and that of the answers on the member where it costs most."""
    costs = iter([1e-3, 4e-3])
    monkeypatch.setattr(scans, "draw_loss", lambda *_: next(costs))
    monkeypatch.setattr(scans, "choice_loss", lambda *_: 2e-3)
    job = mechanism(True, (0.5,), 1.0, 9, 0)
    assert 4 * job.family_setting(9, MIXED).common.rate == pytest.approx(1 - 6e-3)


def test_groups_pay_for_the_rounding_of_their_sums() -> None:
    """What a sum of log weights is off by is far less than what is paid for it."""
    rng, groups = np.random.default_rng(3), 32
    weights = -rng.uniform(0, 900, (200, groups))
    public = -rng.uniform(0, 60, 200)
    sums = public.copy()
    for column in weights.T:
        sums += column - public
    exact = [
        sum(map(Fraction, row)) - (groups - 1) * Fraction(weight)
        for row, weight in zip(weights.tolist(), public.tolist(), strict=True)
    ]
    off = max(
        abs(Fraction(rounded) - true) for rounded, true in zip(sums.tolist(), exact, strict=True)
    )
    assert 0 < 4 * off < scans.sum_loss(groups, 900.0)
    job = mechanism(True, (0.5,), 1.0, 9, 0)
    alone, shared = (
        replace(job, together=count).family_setting(9, MIXED).common.rate for count in (1, groups)
    )
    assert 1e-13 < 4 * (alone - shared) < 1e-6


def test_the_setting_is_public() -> None:
    """Window, floor and rate do not depend on the records, and are the same for all members."""
    job = mechanism(True, (0.5,), 1.0, 3, 0)
    settings = {
        law.member_law(index).setting._replace(log_volume=0, log_range=0, algebra=None)  # type: ignore[arg-type]
        for records in ([0] * 5, [-6, 6, 1, 2, 3])
        for law in [law_of(job, MIXED, records)]
        for index in range(len(MIXED.members))
    }
    assert len(settings) == 1


def check_draws(_: Patch) -> None:
    job, records = mechanism(True, (0.4, 0.8), 3.0, 4, 0), [-2, 0, 0, 1, 4]
    law, bits, drawn = law_of(job, MIXED, records), random.Random(8), Counter[Pair]()
    for _draw in range(6000):
        index = law.draw_index(bits)
        drawn[index, law.member_law(index).draw(bits)] += 1
    expected = {pair: 6000 * math.exp(log) for pair, log in pairs(law).items()}
    often = [pair for pair, count in expected.items() if count >= 5]
    counts = [*(drawn[pair] for pair in often), 6000 - sum(drawn[pair] for pair in often)]
    wanted = [*(expected[pair] for pair in often), 6000 - sum(expected[pair] for pair in often)]
    assert stats.chisquare(counts, wanted).pvalue > 1e-4


def test_draws_fit_the_law(monkeypatch: Patch) -> None:
    check_draws(monkeypatch)


def test_half_steps_follow_the_numbers() -> None:
    """A decimal and the double that prints as that decimal meet, on both sides of zero."""
    grids = family_of(REAL, None, None)
    cents = np.array([k / 100 for k in range(-3000, 3000)])
    for group, halves in grids.halves(grids.encode(cents)):
        if grids.members[group[0]].step == Fraction(1, 100):
            assert halves.tolist() == [2 * k + 1 for k in range(-3000, 3000)]
            break
    else:
        pytest.fail("there must be members with steps of a cent")


@pytest.mark.parametrize("kind", [INTEGER, REAL])
def test_records_beyond_all_multiples_count_as_the_nearest_single(kind: Any) -> None:
    """So some answer is at them, however far they are."""
    grids = family_of(kind, None, None)
    far = np.array([2**61 + 2**50 + 1, 2**62 + 7, 2**63 - 1, -(2**62) - 9])
    numbers = far if kind == INTEGER else np.append(far.astype(float) * 1.1, [1e300, -np.inf])
    (singles,) = (
        halves
        for group, halves in grids.halves(grids.encode(numbers))
        if grids.members[group[0]].step is None
    )
    assert (singles % 2 == 1).all()
    near = np.array([2**40 + 1] if kind == INTEGER else [1 + 2.0**-40])
    assert [next(grids.halves(grids.encode(near)))[1][0] % 2] == [0]


@pytest.mark.parametrize("bounds", [None, (-50.0, 1000.0)])
def test_no_half_step_decreases(bounds: Any) -> None:
    rng = np.random.default_rng(4)
    grids = family_of(REAL, bounds, None)
    sizes = 10.0 ** rng.uniform(-20, 20, 3000)
    near = np.round(rng.normal(0, 100, 3000), 2)
    numbers = np.concatenate([sizes, -sizes, near, np.nextafter(near, 9), np.nextafter(near, -9)])
    steps = np.sort(grids.encode(numbers))
    for _, halves in grids.halves(steps):
        assert (np.diff(halves) >= 0).all()


def test_groups_share_a_member() -> None:
    rng = np.random.default_rng(6)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"g": np.repeat(np.arange(40), 50), "x": 10 * rng.integers(0, 80, 2000)}
    )
    made = dpq.deciles(
        table, column="x", by="g", keys=list(range(40)), epsilon=2.0, rng=random.Random(1)
    )
    member: Any = made.provenance["grid"]["member"]  # type: ignore[index]
    assert member["step"] == 10
    assert all(value % 10 == 0 for values in made.values for value in values)


def clamp_records(patch: Patch) -> None:
    """Records outside the range of a member count as its first and its last point."""
    original = GridFamily.member_halves

    def clamped(grids: Any, member: Multiples, steps: Any) -> Any:
        return np.clip(original(grids, member, steps), 1, 2 * member.size - 1)

    patch.setattr(GridFamily, "member_halves", clamped)


def miscount_points(patch: Patch) -> None:
    """One point too many lies before the first record of a member."""
    mutate(
        patch,
        family_shares._placed,
        "padded[first + 1] - low >> 1",
        "padded[first + 1] - low + 2 >> 1",
    )


def leave_out_volumes(patch: Patch) -> None:
    """Members are not weighed by their numbers of vectors."""
    mutate(
        patch,
        family_shares.log_shares,
        "return masses - log_volumes",
        "return masses - 0 * log_volumes",
    )


def answer_off_the_grid(patch: Patch) -> None:
    """A record that is no point counts as the point before it."""
    original = GridFamily._halves

    def on_points(grids: Any, steps: Any, widths: Any) -> Any:
        return [halves - 1 | 1 for halves in original(grids, steps, widths)]

    patch.setattr(GridFamily, "_halves", on_points)


def skip_by_looking(patch: Patch) -> None:
    """Members that no record lies in are left out, with their floor."""

    def weights(law: FamilyLaw) -> Any:
        logs = original(law)
        for index, member in enumerate(law.family.members):
            halves = law.family.member_halves(member, law.strip.steps)
            if not ((halves > 0) & (halves < 2 * member.size)).any():
                logs[index] = -math.inf
        return logs

    original = joint_exp_family.FamilyLaw.log_weights.func  # type: ignore[attr-defined]
    patch.setattr(joint_exp_family.FamilyLaw, "log_weights", property(weights))


def unequal_reach(patch: Patch) -> None:
    """Every other member has no window: its answers always count as outside."""
    original = family_shares.log_shares

    def shares(*arguments: Any) -> Any:
        logs = original(*arguments)
        logs[::2] = -math.inf
        return logs

    patch.setattr(joint_exp_family, "log_shares", shares)


def mean_weights(patch: Patch) -> None:
    """The member is drawn by its public weight."""
    patch.setattr(
        joint_exp_family.FamilyLaw,
        "draw_index",
        lambda law, bits: bits.randrange(len(law.family.members)),
    )


def equation(_: Patch) -> None:
    check_equation(mechanism(True, (0.3, 0.7), 2.0, 3, 0), MIXED, [-6, -2, 1, 1, 5])


def privacy(_: Patch) -> None:
    check_private(mechanism(True, (0.5,), 1.0, 2, 0), NARROW, 3, [-6, -1, 0, 1, 6])


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[Patch], None]]] = [
    (clamp_records, equation),
    (miscount_points, equation),
    (leave_out_volumes, equation),
    (answer_off_the_grid, equation),
    (skip_by_looking, privacy),
    (unequal_reach, equation),
    (mean_weights, check_draws),
]


@pytest.mark.parametrize(("mutant", "check"), MUTANTS)
def test_mutants_are_caught(
    mutant: Callable[[Patch], None], check: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    check(monkeypatch)
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)
