"""AboveThreshold: the law, privacy for all neighbors, draws, candidates, demand, bad calls."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kernels import draws
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.mechanisms import above_threshold
from dpquantiles.mechanisms.above_threshold import AboveThreshold, ThresholdWalk, candidate_steps
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.views import Demand, WindowView
from tests.mechanisms.joint_exp_checks import Answer, all_answers, neighbor_pairs, view_of
from tests.views.recording import RecordingView

QUANTILES = (0.0, 0.1, 0.3, 0.5, 0.75, 0.9, 1.0)


def one_walk(
    mechanism: AboveThreshold, q: float, records: Sequence[int], points: int
) -> list[float]:
    """Equation (4) for every step, in the dumbest way; all steps are candidates."""
    n, order = len(records), range(points) if q >= 0.5 else range(points - 1, -1, -1)
    p = q if q >= 0.5 else 1 - q
    factor = 2 if mechanism.neighbors == "swap" else 1 + p
    rate = mechanism.budget.amount / len(mechanism.q) / factor
    chances = [0.0] * points
    for a in range(math.ceil(p * n), n + math.ceil(60 / rate)):
        # The ceiling of p n + E is a when E lies in (a - 1 - p n, a - p n].
        left = math.exp(-rate * max(0.0, a - 1 - p * n)) - math.exp(-rate * (a - p * n))
        for c in order:
            count = sum(x <= c if q >= 0.5 else x >= c for x in records)
            stop = math.exp(-rate * max(0, a - count)) if c != order[-1] else 1.0
            chances[c] += left * stop
            left *= 1 - stop
    return chances


def oracle(mechanism: AboveThreshold, records: Sequence[int], points: int) -> dict[Answer, float]:
    """The probability of every sorted answer, by going through all unsorted ones."""
    walks = [one_walk(mechanism, q, records, points) for q in mechanism.q]
    found: Counter[Answer] = Counter()
    for steps in itertools.product(range(points), repeat=len(walks)):
        chance = math.prod(walk[c] for walk, c in zip(walks, steps, strict=True))
        found[tuple(sorted(steps))] += chance  # type: ignore[assignment]
    return dict(found)


def log_law(mechanism: AboveThreshold, records: Sequence[int], points: int) -> dict[Answer, float]:
    law = mechanism.law(view_of(records, points))
    return {a: law.log_probability(a) for a in all_answers(points, len(mechanism.q))}


def worst_loss(mechanism: AboveThreshold, sizes: Sequence[int], points: int) -> float:
    """The largest privacy loss over all neighbors and all answers; records may be missing."""
    laws: dict[Answer, dict[Answer, float]] = {}
    worst = 0.0
    for pair in neighbor_pairs(str(mechanism.neighbors), sizes, points + 1):
        for records in pair:
            if records not in laws:
                laws[records] = log_law(mechanism, records, points)
        a, b = (laws[records] for records in pair)
        worst = max(worst, max(abs(a[o] - b[o]) for o in a))
    return worst


def check_equation() -> None:
    for q, neighbors in itertools.product(
        [(0.5,), (0.1,), (0.9, 0.9, 0.25)], ["swap", "add-remove"]
    ):
        mechanism = AboveThreshold(
            q=tuple(sorted(q)), budget=privacy.budget(epsilon=2.0, neighbors=neighbors)
        )
        said = log_law(mechanism, [1, 1, 3], 5)
        for answer, chance in oracle(mechanism, [1, 1, 3], 5).items():
            assert math.exp(said[answer]) == pytest.approx(chance, rel=1e-9)


def check_private() -> None:
    for neighbors in ["swap", "add-remove"]:
        several = AboveThreshold(
            q=(0.3, 0.9), budget=privacy.budget(epsilon=1.0, neighbors=neighbors)
        )
        assert worst_loss(several, [2, 3], 3) <= 1.0 + 1e-9
        for q in QUANTILES:
            mechanism = AboveThreshold(
                q=(q,), budget=privacy.budget(epsilon=1.0, neighbors=neighbors)
            )
            assert worst_loss(mechanism, [1, 2, 3, 4], 3) <= 1.0 + 1e-9
            assert (
                worst_loss(replace(mechanism, budget=mechanism.budget.at(3.0)), [1, 2, 3], 4)
                <= 3.0 + 1e-9
            )


def check_draws() -> None:
    """Draws at a fixed seed fit the law: many ranks below the threshold, and none."""
    for q, neighbors, records, points in [
        ((0.9,), "swap", [0, 0, 1, 2, 2, 4, 5, 5], 8),
        ((0.2,), "add-remove", [3] * 12, 6),
        ((0.7, 0.5), "add-remove", [1, 4], 6),
    ]:
        mechanism = AboveThreshold(q=q, budget=privacy.budget(epsilon=1.3, neighbors=neighbors))
        assert fit(mechanism, mechanism, records, points) > 1e-3


def fit(drawn: AboveThreshold, said: AboveThreshold, records: Sequence[int], points: int) -> float:
    """The p-value of the chi-square test that draws of one follow the law of the other."""
    law, bits, count = drawn.law(view_of(records, points)), random.Random(17), 5_000
    seen = Counter(law.draw(bits) for _ in range(count))
    means = {a: count * math.exp(x) for a, x in log_law(said, records, points).items()}
    common = [a for a, mean in means.items() if mean >= 10]
    rest = [float(count - sum(seen[a] for a in common)), count - sum(means[a] for a in common)]
    observed, expected = [float(seen[a]) for a in common], [means[a] for a in common]
    if rest[1] > 1e-6:
        observed, expected = [*observed, rest[0]], [*expected, rest[1]]
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


def check_demand() -> None:
    grid = default_grid(REAL, (-100.0, 100.0))
    whole = dpq.ArrayView(np.random.default_rng(1).normal(0, 5, 500), grid)
    mechanism = AboveThreshold(q=(0.9, 0.2), budget=PureDP(epsilon=1.0), candidates=500)
    demand, recording = mechanism.demand(whole.n, grid), RecordingView(whole)
    reference = mechanism.release(recording, random.Random(2)).values
    assert recording.asked_steps <= set(demand.steps.tolist())
    assert not recording.asked_index
    assert 300 <= len(demand.steps) <= 502
    windowed = mechanism.release(WindowView.of(whole, demand), random.Random(2))
    assert windowed.values == reference


def test_law_is_the_equation() -> None:
    check_equation()


@given(
    records=st.lists(st.integers(0, 4), max_size=6),
    q=st.lists(st.sampled_from(QUANTILES), min_size=1, max_size=3),
    neighbors=st.sampled_from(["swap", "add-remove"]),
    epsilon=st.sampled_from([0.1, 1.0, 8.0]),
)
@settings(max_examples=40, deadline=None)
def test_law_sums_to_one(
    records: list[int], q: list[float], neighbors: str, epsilon: float
) -> None:
    mechanism = AboveThreshold(
        q=tuple(sorted(q)), budget=privacy.budget(epsilon=epsilon, neighbors=neighbors)
    )
    said = log_law(mechanism, records, 5)
    assert math.fsum(map(math.exp, said.values())) == pytest.approx(1.0, rel=1e-9)


def test_all_neighbors_and_answers_are_within_epsilon() -> None:
    check_private()


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("q", [0.3, 0.5, 0.9])
def test_the_accounting_is_not_wasteful(q: float, neighbors: str) -> None:
    mechanism = AboveThreshold(q=(q,), budget=privacy.budget(epsilon=1.0, neighbors=neighbors))
    assert worst_loss(mechanism, [7, 8], 3) > 0.75


def test_draws_fit_the_law() -> None:
    check_draws()


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_draws_at_another_epsilon_do_not_fit(factor: float) -> None:
    mechanism = AboveThreshold(q=(0.9,), budget=PureDP(epsilon=1.0))
    other = replace(mechanism, budget=PureDP(epsilon=factor))
    assert fit(mechanism, other, [0, 0, 1, 2, 2, 4, 5, 5], 8) < 1e-6


def test_rare_stops_have_their_exact_chance() -> None:
    """The screen takes whole units off an exponent; what is left is tossed exactly."""
    walk = ThresholdWalk(np.zeros(40_000, dtype=np.int64), Fraction(9), Fraction(1, 2), True)
    bits = random.Random(4)
    for missing in (1, 3, 7, 13):
        row = np.full(40_000, missing)
        stops = sum(walk._passes(missing, units, bits) for _, units in walk._screened(row, bits))
        chance = math.exp(-missing / 2)
        assert abs(stops - 40_000 * chance) < 4 * math.sqrt(40_000 * chance)


def test_geometric_noise_is_exact() -> None:
    bits, rate = random.Random(6), Fraction(3, 7)
    seen = Counter(draws.geometric(bits, rate) for _ in range(20_000))
    chances = [math.exp(-rate * k) * -math.expm1(-rate) for k in range(12)]
    expected = [20_000 * c for c in [*chances, math.exp(-rate * 12)]]
    observed = [seen[k] for k in range(12)]
    observed.append(20_000 - sum(observed))
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > 1e-3


def test_demand_is_the_candidates() -> None:
    check_demand()


@pytest.mark.parametrize(
    "grid",
    [
        UniformGrid(0, 1, 1),
        UniformGrid(0, 10**6, 1),
        UniformGrid(False, True),
        UniformGrid(date(1900, 1, 1), date(2100, 1, 1)),
        default_grid(REAL, (-1e9, 1e9)),
        FloatGrid(),
        FloatGrid(0.0),
        FloatGrid(integral=True),
        default_grid(INTEGER),
    ],
    ids=lambda grid: str(grid),
)
def test_candidates_are_public_steps_of_the_grid(grid: Grid) -> None:
    steps = candidate_steps(grid, 1000)
    assert (np.diff(steps) > 0).all()
    assert (steps[0], steps[-1]) == (0, grid.size - 1)
    assert len(steps) <= min(1002, grid.size)


def test_candidates_grow_geometrically() -> None:
    steps = candidate_steps(UniformGrid(0, 10**12, 1), 4000)
    far = steps[steps > 10**5]
    growth = far[1:-1] / far[:-2]
    assert growth == pytest.approx(np.full(len(growth), growth[0]), rel=1e-4)
    assert (np.diff(steps[steps < 100]) == 1).all()


def test_candidates_without_bounds_lie_on_both_sides_of_zero() -> None:
    grid = FloatGrid()
    values = np.array(grid.decode(candidate_steps(grid, 2**16)))
    assert 0.0 in values
    assert values == pytest.approx(-values[::-1])
    ones = values[(values > 1) & (values < 100)]
    assert (np.diff(ones) / ones[:-1]).max() < 0.004


@pytest.mark.parametrize("upper", [100.0, 1e6])
@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_errors_do_not_depend_on_the_upper_bound(q: float, upper: float) -> None:
    grid, errors = default_grid(REAL, (-100.0, upper)), []
    for seed in range(30):
        data = np.random.default_rng(seed).normal(0, 5, 1000)
        view = dpq.ArrayView(data, grid)
        value = (
            AboveThreshold(q=(q,), budget=PureDP(epsilon=1.0))
            .release(view, random.Random(seed))
            .value
        )
        errors.append(max(0.0, (data < value).sum() - q * 1000, q * 1000 - (data <= value).sum()))
    assert np.mean(errors) <= 4 + 2 * np.std(errors) / math.sqrt(30)


@pytest.mark.parametrize("q", [0.01, 0.9])
def test_no_bounds_are_needed(q: float) -> None:
    data = np.random.default_rng(3).normal(1000.0, 300.0, 1000)
    view, mechanism = (
        dpq.ArrayView(data, FloatGrid()),
        AboveThreshold(q=(q,), budget=PureDP(epsilon=1.0)),
    )
    values = [mechanism.release(view, random.Random(seed)).value for seed in range(20)]
    errors = [abs((data <= value).sum() - 1000 * q) for value in values]
    assert np.mean(errors) < 8


@pytest.mark.parametrize("points", [1, 2, 6, 2**62])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
def test_any_data_are_answered(points: int, neighbors: str, epsilon: float) -> None:
    grid = UniformGrid(0, max(points - 1, 1), 2 if points == 1 else 1)
    mechanism = AboveThreshold(
        q=(1.0, 0.5, 0.0, 0.5),
        budget=privacy.budget(epsilon=epsilon, neighbors=neighbors),
        candidates=64,
    )
    for data in ([], [0], [points - 1] * 9, list(range(5))):
        values = mechanism.release(dpq.ArrayView(data, grid), random.Random(1)).values
        assert values[2] <= values[1] <= values[3] <= values[0]
        assert all(0 <= value <= points - 1 for value in values)


def test_seeded_releases_repeat_and_promise_nothing() -> None:
    view, mechanism = (
        view_of([1, 2, 3, 9], 20),
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=1.0)),
    )
    one, other = (mechanism.release(view, random.Random(8)) for _ in range(2))
    assert one.values == other.values
    assert one.guarantee is None
    assert mechanism.release(view, random.SystemRandom()).guarantee == PureDP(epsilon=1.0)


def test_provenance_is_public() -> None:
    mechanism = AboveThreshold(q=(0.5,), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    one, other = (mechanism.release(view_of(x, 9), random.Random(1)) for x in ([], [1] * 50))
    assert one.provenance == other.provenance


def test_budgets() -> None:
    q = (0.25, 0.75)
    assert AboveThreshold(q=q, budget=PureDP(epsilon=2.0)).guarantee == PureDP(epsilon=2.0)
    assert AboveThreshold(q=q, budget=ApproxDP(epsilon=2.0, delta=1e-6)).each == 1.0
    concentrated = AboveThreshold(q=q, budget=ZCDP(rho=0.5, neighbors=Neighbors.ADD_REMOVE))
    assert 2 * concentrated.each == pytest.approx(2 * math.sqrt(0.5))
    spent = concentrated.guarantee
    assert isinstance(spent, ZCDP)
    assert 0.5 * (1 - 1e-12) < spent.rho <= 0.5


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_rho_is_what_the_walks_cost_rounded_up(m: int) -> None:
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    for rho in np.random.default_rng(4).uniform(0.01, 3.0, 200).tolist():
        mechanism = AboveThreshold(q=q, budget=ZCDP(rho=rho))
        spent = mechanism.guarantee
        assert isinstance(spent, ZCDP)
        each = Fraction(mechanism.each)
        assert m * each**2 / 2 <= Fraction(spent.rho) <= Fraction(rho)


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="epsilon must be positive"):
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=0))
    with pytest.raises(ValueError, match=r"the budget must leave a rate of at least 2\*\*-40"):
        AboveThreshold(q=(0.1, 0.5), budget=PureDP(epsilon=2e-12))
    with pytest.raises(ValueError, match=r"the budget must leave a rate of at least 2\*\*-40"):
        AboveThreshold(
            q=(0.5,), budget=PureDP(epsilon=1e-18)
        )  # thresholds would not fit into 64 bits
    with pytest.raises(ValueError, match="neighbors must be one of"):
        AboveThreshold(q=(0.5,), budget=privacy.budget(epsilon=1, neighbors="none"))
    with pytest.raises(ValueError, match="candidates must be at least 2, got 1"):
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=1), candidates=1)
    with pytest.raises(ValueError, match="size must be left out"):
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=1.0), size=5)
    with pytest.raises(ValueError, match="values must be 1 answers"):
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=1)).law(view_of([1], 3)).log_probability(
            [1, 2]
        )
    with pytest.raises(ValueError, match="values must be points of the grid"):
        AboveThreshold(q=(0.5,), budget=PureDP(epsilon=1)).law(view_of([1], 3)).log_probability([7])


Patch = pytest.MonkeyPatch


def scale_the_rate(factor: Fraction) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        original = AboveThreshold.rate
        patch.setattr(AboveThreshold, "rate", lambda self, q: factor * original(self, q))

    return mutate


def forget_the_share_of_each(patch: Patch) -> None:
    original = AboveThreshold.rate
    patch.setattr(AboveThreshold, "rate", lambda self, q: len(self.q) * original(self, q))


def price_the_other_direction(patch: Patch) -> None:
    """1 + (1 - p) in place of 1 + p under add-remove."""
    original = AboveThreshold.rate

    def rate(mechanism: AboveThreshold, q: float) -> Fraction:
        walked = max(Fraction(q), 1 - Fraction(q))
        swap = mechanism.neighbors == "swap"
        return original(mechanism, q) * (1 if swap else (1 + walked) / (2 - walked))

    patch.setattr(AboveThreshold, "rate", rate)


def change_the_walk(patch: Patch, **changes: Callable[[ThresholdWalk], object]) -> None:
    original = AboveThreshold._walk

    def walk(mechanism: AboveThreshold, *given: object) -> ThresholdWalk:
        found = original(mechanism, *given)  # type: ignore[arg-type]
        return replace(found, **{name: change(found) for name, change in changes.items()})  # type: ignore[arg-type]

    patch.setattr(AboveThreshold, "_walk", walk)


def round_the_target(patch: Patch) -> None:
    """Whole targets jump by one where p n moves by p: the lower price of add-remove is gone."""
    change_the_walk(patch, target=lambda walk: Fraction(math.ceil(walk.target)))


def count_twice(patch: Patch) -> None:
    change_the_walk(patch, counts=lambda walk: 2 * walk.counts, target=lambda walk: 2 * walk.target)


def skip_the_rest_of_the_coins(patch: Patch) -> None:
    patch.setattr(above_threshold, "_rest_of_unit_coin", lambda _: True)


def always_pass_the_first_whole_number(patch: Patch) -> None:
    def threshold(walk: ThresholdWalk, bits: random.Random) -> int:
        return math.ceil(walk.target) + 1 + draws.geometric(bits, walk.rate)

    patch.setattr(ThresholdWalk, "_threshold", threshold)


def demand_all_but_the_last(patch: Patch) -> None:
    def demand(mechanism: AboveThreshold, _: int, grid: Grid) -> Demand:
        return Demand(steps=candidate_steps(grid, mechanism.candidates)[:-1])

    patch.setattr(AboveThreshold, "demand", demand)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (scale_the_rate(Fraction(2)), check_private),
        (scale_the_rate(Fraction(11, 10)), check_private),
        (forget_the_share_of_each, check_private),
        (price_the_other_direction, check_private),
        (round_the_target, check_private),
        (count_twice, check_private),
        (round_the_target, check_equation),
        (skip_the_rest_of_the_coins, check_draws),
        (always_pass_the_first_whole_number, check_draws),
        (demand_all_but_the_last, check_demand),
    ],
)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, LookupError)):
        check()
