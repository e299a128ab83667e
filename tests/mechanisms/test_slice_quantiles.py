"""SliceQuantiles: its exact joint law on tiny data, its price, its noise and its refusals."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.entropy import SEEDED_NOTE
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kernels import draws
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms import slice_quantiles as module
from dpquantiles.mechanisms.slice_quantiles import SlicePlan, SliceQuantiles
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from tests.mechanisms import slice_quantiles_checks as checks
from tests.mechanisms.building import built
from tests.mechanisms.joint_exp_checks import view_of
from tests.mechanisms.slice_quantiles_checks import Laws, price, tiny
from tests.views.recording import RecordingView

Patch = pytest.MonkeyPatch
RELATIONS = ("swap", "add-remove")
DECILES = tuple(k / 10 for k in range(1, 10))
REALS = default_grid(REAL, (-100, 100))

TINY = [  # plan, sizes of data, grid points, largest node noise: wide, tight and colliding ranks
    (tiny([2], "3", "4", 3, 2, 1), [2, 3, 4], 3, 9),
    (tiny([1, 7], "3", "2", 2, 2, 1), [6, 7], 3, 9),
    (tiny([2, 4], "2", "2", 2, 2, 1), [3, 4, 5], 3, 13),
    (tiny([1, 1], "1", "1", 2, 3, 1), [1, 2, 3], 3, 24),
    (tiny([1, 4, 9], "4", "3", 2, 2, 1), [9, 10], 2, 5),
    (tiny([3, 3, 4], "4", "4", 2, 2, 2), [4, 5], 2, 5),
]
SPREAD = tiny([3 + 32 * i for i in range(7)], "4", "3", 2, 4, 14)
STRICT = tiny([3 + 32 * i for i in range(7)], "4", "4", 2, 4, 14)
CLASH = tiny([5] * 7, "4", "8", 3, 2, 1)


def far(neighbors: str, q: tuple[float, ...] = DECILES, **other: Any) -> SliceQuantiles:
    size = None if neighbors == "swap" else 10**5
    spent = privacy.budget(epsilon=other.pop("epsilon", 1.0), neighbors=neighbors)
    return SliceQuantiles(q=q, budget=spent, size=size, **other)


@pytest.mark.parametrize("records", [(), (1,), (1, 1, 1), (0, 2, 2, 5), (0, 0, 5, 5, 5), (3, 4)])
@pytest.mark.parametrize("points", [1, 6])
def test_answer_law_is_the_equation(records: tuple[int, ...], points: int) -> None:
    plan = tiny([2], "1", "1/3", 3, 2, 1)
    kept = tuple(min(x, points - 1) for x in records)
    grid = UniformGrid(0, points - 1, 1) if points > 1 else UniformGrid(0, 0.5, 1)
    with Patch.context() as patch:
        patch.setattr(checks, "view_of", lambda r, _: dpq.ArrayView(np.array(r, dtype=float), grid))
        laws = checks.answer_laws(plan, kept, points, range(-6, 12))
    for rank, cap in itertools.product(range(-6, 12), range(7)):
        expected = checks.definition(plan, kept, points, rank, cap)
        np.testing.assert_allclose(laws[rank + 6, cap], expected, rtol=1e-12)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("case", range(len(TINY)))
def test_all_neighbors_and_answers_are_within_the_price(case: int, neighbors: str) -> None:
    plan, sizes, points, reach = TINY[case]
    checks.check_private(plan, neighbors, sizes, points, reach)


def check_pairs(plan: SlicePlan, data: list[tuple[int, ...]], points: int) -> tuple[float, float]:
    """Inequality (6), as shares of what it allows: any threshold, and the one of adding."""
    pairs, w = checks.Pairs(plan, data, points), plan.margin
    removing = pairs.worst(range(-w, w)) / float(plan.decay * (2 + Fraction(1, plan.slope)))
    adding = pairs.worst([0]) / float(plan.decay * (1 + Fraction(1, plan.slope)))
    assert max(removing, adding) <= 1 + 1e-9
    return removing, adding


@pytest.mark.parametrize(
    ("plan", "n", "points"),
    [
        (tiny([0], "1", "1", 3, 2, 1), 5, 3),
        (tiny([0, 0], "1", "1", 3, 2, 1), 8, 2),
        (tiny([0, 0], "1", "1", 2, 3, 2), 4, 3),
        (tiny([0, 0, 0], "1", "1", 2, 2, 1), 4, 3),
    ],
)
def test_one_record_moves_two_windows_at_most(plan: SlicePlan, n: int, points: int) -> None:
    every = list(itertools.combinations_with_replacement(range(points), n))
    removing, adding = check_pairs(plan, every, points)
    assert removing > 0.5
    assert adding > 0.5


@pytest.mark.parametrize(("m", "margin"), [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (4, 1)])
def test_few_ranks_share_an_image(m: int, margin: int) -> None:
    plan = tiny([0] * m, "1", "1", 1, 2, margin)
    assert 1 < checks.most_preimages(plan) <= 1 + m / (2 * margin)


def test_the_accounting_is_not_wasteful() -> None:
    assert 0.5 < checks.shifted_loss(SPREAD) / price(SPREAD, "add-remove") <= 1


def test_colliding_ranks_stay_private() -> None:
    assert checks.clashing_loss(CLASH) <= price(CLASH, "add-remove")


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("m", [1, 2, 9, 40])
def test_plans_cost_epsilon(m: int, epsilon: float, neighbors: str) -> None:
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    n = 10**7 if neighbors == "swap" else 0
    size = None if neighbors == "swap" else 10**7
    mechanism = SliceQuantiles(
        q=q, budget=privacy.budget(epsilon=epsilon, neighbors=neighbors), size=size
    )
    plan = mechanism.plan(n, REALS)
    assert plan.slope >= 2
    assert plan.margin >= 1
    assert 0.9 * epsilon < price(plan, neighbors) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 7, 8, 21, 64])
def test_moving_a_suffix_costs_one_path(m: int) -> None:
    """One more on the nodes over index k adds one to the noise of k, k+1, ..., and to no other."""
    paths = checks.paths(m)
    for k, path in enumerate(paths[:-1], start=1):
        nodes = np.array([int(j in path) for j in range(1, m + 1)])
        assert module.prefix_noise(nodes).tolist() == [int(i >= k) for i in range(1, m + 1)]
    assert max(map(len, paths)) == m.bit_length()
    assert module.diameter(m) == max(len(a ^ b) for a, b in itertools.product(paths, repeat=2))


def test_caps_follow_the_gaps() -> None:
    plan = tiny([0, 0, 0, 0], "1", "1", 3, 2, 4)
    assert module.caps_of(np.array([0, 100, 108, 200]), plan).tolist() == [6, 4, 4, 6]
    assert module.caps_of(np.array([0, 9, 5, 20]), plan).tolist() == [1, 0, 0, 6]
    assert module.caps_of(np.array([50, 60, 10, 90]), plan).tolist() == [0, 0, 0, 6]
    assert module.caps_of(np.array([7]), plan).tolist() == [6]


@pytest.mark.parametrize("decay", ["1/1000", "7/120", "3", "64"])
def test_weights_never_fall_faster_than_they_may(decay: str) -> None:
    plan = tiny([0], "1", decay, 5, 3, 1)
    table = module.weights(plan)
    with localcontext(prec=60):
        most = (Decimal(plan.decay.numerator) / (3 * plan.decay.denominator)).exp()
        assert all(Decimal(a) <= most * b for a, b in itertools.pairwise(table))
    assert len(table) == 16
    assert math.isclose(math.log(table[0] / table[-1]), 5 * plan.decay, rel_tol=1e-6)


def test_draws_fit_the_joint_law(monkeypatch: Patch) -> None:
    plan, records = tiny([1, 7], "1", "1", 2, 2, 1), (0, 0, 1, 2, 2, 3, 3, 3)
    monkeypatch.setattr(SliceQuantiles, "plan", lambda *_: plan)
    mechanism, bits = SliceQuantiles(q=(0.1, 0.9), budget=PureDP(epsilon=1.0)), random.Random(17)
    view = view_of(records, 4)
    drawn = Counter(mechanism.release(view, bits).values for _ in range(2500))

    def fit(noise: str, decay: str) -> float:
        laws = Laws(tiny([1, 7], noise, decay, 2, 2, 1), 4, 26).of(records)
        sums = Counter[tuple[int, ...]]()
        for answers in itertools.product(range(4), repeat=2):
            sums[tuple(sorted(answers))] += float(laws[answers])  # type: ignore[assignment]
        observed = [drawn[pair] for pair in sums]
        expected = [2500 * p for p in sums.values()]
        return float(stats.chisquare(observed, expected, sum_check=False).pvalue)

    assert fit("1", "1") > 1e-3
    assert fit("1", "1/2") < 1e-6
    assert fit("4", "1") < 1e-6


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_answers_are_near_the_truth(neighbors: str) -> None:
    data = np.random.default_rng(3).normal(0, 5, 10**5)
    release = far(neighbors).release(dpq.ArrayView(data, REALS), random.Random(5))
    below = (data[:, None] <= np.array(release.values)).mean(axis=0)
    np.testing.assert_allclose(below, DECILES, atol=2e-3)


def test_unbounded_grid() -> None:
    data = np.random.default_rng(3).normal(50, 5, 10**5)
    release = far("swap").release(dpq.ArrayView(data, FloatGrid()), random.Random(5))
    below = (data[:, None] <= np.array(release.values)).mean(axis=0)
    np.testing.assert_allclose(below, DECILES, atol=2e-3)


@pytest.mark.parametrize("grid", [UniformGrid(0, 0.5, 1), UniformGrid(0, 1, 1), FloatGrid()])
@pytest.mark.parametrize("data", [[], [0.0], [1.0] * 300])
def test_degenerate_data_under_add_remove(data: list[float], grid: Grid) -> None:
    values = far("add-remove").release(dpq.ArrayView(data, grid), random.Random(1)).values
    assert len(values) == 9
    assert list(values) == sorted(values)


def test_all_ties_under_swap() -> None:
    view = dpq.ArrayView(np.full(10**5, 7.0), REALS)
    assert set(far("swap").release(view, random.Random(1)).values) == {7.0}


def test_answers_follow_the_order_of_q() -> None:
    view = dpq.ArrayView(np.arange(10**5) / 10**5, default_grid(REAL, (0, 1)))
    mixed = far("swap", (0.9, 0.1, 0.5, 0.9)).release(view, random.Random(4))
    low, middle, high = far("swap", (0.1, 0.5, 0.9)).release(view, random.Random(4)).values
    assert mixed.values == (high, low, middle, high)
    assert low < middle < high


def test_seeded_releases_repeat_and_carry_no_guarantee() -> None:
    view = dpq.ArrayView(np.arange(10**5) / 10**5, default_grid(REAL, (0, 1)))
    release = far("swap").release(view, random.Random(4))
    assert release == far("swap").release(view, random.Random(4))
    assert release.guarantee is None
    assert release.note == SEEDED_NOTE
    assert far("swap").release(view, random.SystemRandom()).guarantee == PureDP(epsilon=1.0)


def test_few_records_are_asked_for() -> None:
    view = RecordingView(dpq.ArrayView(np.arange(10**5) / 10**5, default_grid(REAL, (0, 1))))
    far("swap").release(view, random.Random(4))
    plan = far("swap").plan(view.n, view.grid)
    assert not view.asked_steps
    assert 0 < len(view.asked_index) <= 9 * 2 * plan.reach
    assert len(far("swap").demand(view.n, view.grid).index) == view.n


def test_size_is_hidden_under_add_remove() -> None:
    release = far("add-remove").release(dpq.ArrayView([1.0, 2.0], REALS), random.Random(1))
    assert release.provenance["size"] == 10**5


def test_too_few_records_are_refused() -> None:
    message = "number of records must be at least about .* for 9 .* got 1000; .*'joint_exp'.*"
    with pytest.raises(ValueError, match=message):
        far("swap").release(dpq.ArrayView(np.zeros(1000), REALS), random.Random(1))
    with pytest.raises(ValueError, match=message):
        far("swap").demand(1000, REALS)
    small = SliceQuantiles(
        q=DECILES, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=1000
    )
    with pytest.raises(ValueError, match="size must be at least about"):
        small.demand(10**9, REALS)


@pytest.mark.parametrize("epsilon", [1e-4, 1e-6, 2e-9])
def test_windows_beyond_memory_are_refused(epsilon: float) -> None:
    """By public numbers, at once; a budget ten times as large as the first is met."""
    with pytest.raises(DemandTooLarge, match=r"needs windows of \d+ ranks around each quantile"):
        SliceQuantiles(q=(0.5,), budget=PureDP(epsilon=epsilon)).demand(1000, UniformGrid(0, 100))
    SliceQuantiles(q=(0.5,), budget=PureDP(epsilon=1e-3)).demand(1000, UniformGrid(0, 100))


def test_the_size_that_a_refusal_names_is_enough() -> None:
    with pytest.raises(ValueError, match="at least about") as refused:
        far("swap").plan(1000, REALS)
    needed = float(str(refused.value).split("about ")[1].split(" for")[0])
    assert far("swap").plan(round(1.05 * needed), REALS).slope == 2
    with pytest.raises(ValueError, match="at least about"):
        far("swap").plan(round(0.9 * needed), REALS)


def test_within_budgets() -> None:
    assert SliceQuantiles(q=(0.5,), budget=PureDP(epsilon=2.0)).epsilon == 2.0
    approximate = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    pure = SliceQuantiles(q=(0.5,), budget=approximate, size=9).guarantee
    assert pure == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    concentrated = SliceQuantiles(q=(0.5,), budget=ZCDP(rho=0.5)).guarantee
    assert 0.499999 < concentrated.concentrated().rho <= 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": 1e-12}, "epsilon must be at least"),
        ({"q": (2.0,)}, "q must lie between 0 and 1"),
        ({"neighbors": "both"}, "neighbors must be one of"),
        ({"size": 100}, "size must be given under add-remove neighbors, and left out under swap"),
        ({"neighbors": "add-remove"}, "size must be given under add-remove"),
        ({"neighbors": "add-remove", "size": -1}, "size must be at least 0"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        built(SliceQuantiles, **{"q": (0.5,), "epsilon": 1.0, **parameters})


def double_the_noise_rate(patch: Patch) -> None:
    original = SliceQuantiles._noise
    patch.setattr(SliceQuantiles, "_noise", lambda self: 2 * original(self))


def forget_the_pairs(patch: Patch) -> None:
    patch.setattr(module, "diameter", lambda m: m.bit_length())


def spend_the_windows_twice(patch: Patch) -> None:
    patch.setattr(module, "RANK_SHARE", Fraction(1, 5))
    original = SliceQuantiles._noise
    patch.setattr(SliceQuantiles, "_noise", lambda self: 3 * original(self))


def fresh_noise_per_rank(patch: Patch) -> None:
    patch.setattr(module, "prefix_noise", lambda nodes: nodes)


def never_shrink(patch: Patch) -> None:
    def caps_of(ranks: np.ndarray, plan: SlicePlan) -> np.ndarray:
        return np.full(ranks.shape, plan.slope * plan.reach)

    patch.setattr(module, "caps_of", caps_of)


def forget_the_margin(patch: Patch) -> None:
    original = module.caps_of
    patch.setattr(module, "caps_of", lambda r, plan: original(r, plan._replace(margin=0)))


def shrink_too_late(patch: Patch) -> None:
    original = module.caps_of

    def caps_of(ranks: np.ndarray, plan: SlicePlan) -> np.ndarray:
        return np.minimum(3 * original(ranks, plan), plan.slope * plan.reach)

    patch.setattr(module, "caps_of", caps_of)


def no_records_beyond_the_ends(patch: Patch) -> None:
    original = module.windows_of

    def windows(view: Any, ranks: np.ndarray, reaches: np.ndarray) -> list[np.ndarray]:
        return original(view, np.clip(ranks, 0, view.n), reaches)

    patch.setattr(module, "windows_of", windows)


def bias_the_draw(patch: Patch) -> None:
    patch.setattr(draws, "below", lambda bits, bound: bits.getrandbits(99) % (bound // 2 + 1))


def budget(_: Patch) -> None:
    plan = far("swap").plan(10**6, REALS)
    assert price(plan, "swap") <= 1 + 1e-12


def shifted(_: Patch) -> None:
    assert checks.shifted_loss(STRICT) <= price(STRICT, "add-remove")


def clashing(_: Patch) -> None:
    assert checks.clashing_loss(CLASH) <= price(CLASH, "add-remove")


def pairs(_: Patch) -> None:
    check_pairs(tiny([0, 0, 0], "1", "4", 2, 2, 5), [tuple(range(1, 9))], 10)


def equation(_: Patch) -> None:
    test_answer_law_is_the_equation((0, 2, 2, 5), 6)


def drawing(patch: Patch) -> None:
    with patch.context() as inner:
        test_draws_fit_the_joint_law(inner)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[Patch], None]]] = [
    (double_the_noise_rate, budget),
    (forget_the_pairs, budget),
    (spend_the_windows_twice, budget),
    (fresh_noise_per_rank, shifted),
    (never_shrink, clashing),
    (never_shrink, pairs),
    (forget_the_margin, pairs),
    (shrink_too_late, pairs),
    (no_records_beyond_the_ends, equation),
    (bias_the_draw, drawing),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    with Patch.context() as untouched:
        check(untouched)
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)


def test_every_place_of_a_draw_belongs_to_one_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of weights 5, 5, 2, 3, 3, 3 are drawn from 21 places, each by as many as it weighs."""
    slots = np.array([0, 2, 3]), np.array([2, 1, 3]), np.array([2, 0, 1])
    drawn = []
    for place in range(21):

        def below(_: object, bound: int, place: int = place) -> int:
            assert bound == 21
            return place

        monkeypatch.setattr(draws, "below", below)
        drawn.append(module.draw(random.Random(1), *slots, [2, 3, 5]))
    assert [drawn.count(point) for point in range(6)] == [5, 5, 2, 3, 3, 3]


@pytest.mark.parametrize("window", [[], [3, 3], [0, 2, 2, 6], [0, 0, 6, 6]])
def test_slots_are_the_whole_grid_and_no_more(window: list[int]) -> None:
    """Also where windows have shrunk to nothing: then all points weigh the same."""
    starts, lengths, exponents = module.slots(np.array(window, dtype=np.int64), 9, 7, 2)
    assert len(starts) == len(lengths) == len(exponents) == len(window) + 1
    points = [point for a, b in zip(starts, lengths, strict=True) for point in range(a, a + b)]
    assert points == list(range(7))
    assert exponents[0] == exponents[-1] == 9
