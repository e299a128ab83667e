"""JointExp, in order of strength: the equation, privacy, demand, draws, rounding, bad calls."""

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import Grid, GridFamily, family_of
from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import scans
from dpquantiles.kernels.algebra import Logarithms, ScaledDoubles
from dpquantiles.kinds import INTEGER
from dpquantiles.mechanisms import joint_exp
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.privacy import Neighbors, NeighborsName, PureDP
from dpquantiles.views import Demand, WindowView
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms.building import built

QUARTILES = (0.25, 0.5, 0.75)
REPRESENTATIONS = ["scaled doubles", "logarithms"]


@pytest.fixture(params=REPRESENTATIONS)
def representation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every law test runs on both representations of masses."""
    if request.param == "logarithms":
        monkeypatch.setattr(algebras, "choose", lambda *_: Logarithms())
    return str(request.param)


def on_either(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Each case on one of both representations, drawn for it; on the other one at length."""
    rng, made = random.Random(1), []
    for case in cases:
        first, second = rng.sample(REPRESENTATIONS, 2)
        made.append(pytest.param(first, *case))
        made.append(pytest.param(second, *case, marks=pytest.mark.slow))
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[dpq.JointExp, list[int], int]:
    """Small data with ties, targets at the ends and repeated, windows from tiny to too large."""
    points = draw(st.integers(2, 7))
    records = draw(st.lists(st.integers(0, points - 1), max_size=6))
    q = draw(st.lists(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=3))
    epsilon = draw(st.sampled_from([0.05, 1.0, 4.0, 20.0]))
    reach = draw(st.integers(1, 9))
    size = draw(st.one_of(st.none(), st.integers(0, 8)))
    neighbors = "swap" if size is None else "add-remove"
    mechanism = dpq.JointExp(
        q=tuple(sorted(q)),
        budget=privacy.budget(epsilon=epsilon, neighbors=neighbors),
        reach=reach,
        size=size,
    )
    return mechanism, records, points


@pytest.mark.parametrize("choice", REPRESENTATIONS)
@given(case=cases(), wrong_size=st.sampled_from([-32.0, -2.0, -0.1]))
@settings(max_examples=300, deadline=None)
def test_law_is_the_equation(
    choice: str, case: tuple[dpq.JointExp, list[int], int], wrong_size: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_exp, "LOG_WRONG_SIZE", wrong_size)
        if choice == "logarithms":
            patch.setattr(algebras, "choose", lambda *_: Logarithms())
        checks.check_is_the_equation(*case)


@pytest.mark.usefixtures("representation")
@pytest.mark.parametrize(("q", "size"), [(0.01, 3000), (0.99, 3000), (0.5, 0)])
@pytest.mark.parametrize("number", [3, 2500])
def test_law_is_the_equation_far_from_the_stated_size(q: float, size: int, number: int) -> None:
    """The end of the data is much farther away than the ranks that answers can have."""
    budget = privacy.budget(epsilon=0.001, neighbors="add-remove")
    mechanism = dpq.JointExp(q=(q,), budget=budget, reach=2000, size=size)
    checks.check_is_the_equation(mechanism, [1, 1, 3] + [2] * (number - 3), 5)


@given(
    records=st.lists(st.integers(0, 5), max_size=6),
    answer=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    nu=st.integers(0, 12),
    beyond=st.integers(0, 2),
    most_end=st.integers(0, 9),
)
@settings(max_examples=300, deadline=None)
def test_greedy_path_reaches_the_minimum(
    records: list[int], answer: list[int], nu: int, beyond: int, most_end: int
) -> None:
    ordered = (*sorted(answer), *[checks.BEYOND] * beyond)[:3]
    targets = [round((k + 1) / (len(ordered) + 1) * nu) for k in range(len(ordered))]
    path = checks.greedy_path(records, ordered, targets)
    cost = sum(abs(b - a) for a, b in itertools.pairwise([0, *path]))
    cost += min(abs(len(records) - nu - path[-1]), most_end)
    assert checks.utility(records, ordered, targets, nu, most_end) == -cost


def private_cases() -> Iterator[tuple[dpq.JointExp, list[int], int]]:
    """Mechanisms, sizes and grid points for exhaustive enumeration."""
    for reach, epsilon in itertools.product([1, 2, 3, 50], [0.5, 3.0]):
        protected = PureDP(epsilon=epsilon, neighbors=dpq.Neighbors.ADD_REMOVE)
        for q in [(0.5,), (0.0, 1.0), (0.3, 0.3), (0.25, 0.75)]:
            swap = dpq.JointExp(q=q, budget=PureDP(epsilon=epsilon), reach=reach)
            yield swap, [1, 2, 3, 4], 4
            for size in (0, 2, 4):
                yield replace(swap, budget=protected, size=size), [0, 1, 2, 3], 4
        three = dpq.JointExp(q=(0.2, 0.5, 0.9), budget=PureDP(epsilon=epsilon), reach=reach)
        yield three, [3], 4
        yield replace(three, budget=protected, size=3), [2, 3], 4


@pytest.mark.usefixtures("representation")
@pytest.mark.parametrize(
    ("representation", "mechanism", "sizes", "points"),
    on_either(private_cases()),
    indirect=["representation"],
)
def test_all_neighbors_and_answers_are_within_epsilon(
    mechanism: dpq.JointExp, sizes: list[int], points: int
) -> None:
    checks.check_private(mechanism, sizes, points)


def test_the_accounting_is_not_wasteful() -> None:
    """The worst pair comes close to epsilon: neither the sensitivity nor the factor 2 is slack."""
    swap = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=2.0), reach=50)
    assert checks.worst_loss(swap, [4], 8) > 0.75 * swap.epsilon
    add = dpq.JointExp(
        q=(0.5,), budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), reach=50, size=4
    )
    assert checks.worst_loss(add, [3, 4], 8) > 0.6 * add.epsilon


FAR = [((0.5,), 0), ((0.2, 0.9), 4), ((0.3, 0.8), 9), ((1,), 6)]


@pytest.mark.usefixtures("representation")
@pytest.mark.parametrize(
    ("representation", "stated", "reach", "most_end"),
    on_either(itertools.product(FAR, [1, 2, 4, 50], [1, 2, 3])),
    indirect=["representation"],
)
def test_a_size_far_from_the_truth_stays_private(
    stated: tuple[tuple[float, ...], int],
    reach: int,
    most_end: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """E is on both sides of S and far beyond it, and targets lie beyond all records."""
    (q, size), epsilon = stated, 1.5
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", -most_end * epsilon / 2)
    budget = privacy.budget(epsilon=epsilon, neighbors="add-remove")
    mechanism = dpq.JointExp(q=q, budget=budget, size=size, reach=reach)
    assert mechanism.setting(None, 4).most_end == most_end
    checks.check_private(mechanism, [0, 1, 2, 3, 4, 5], 4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("m", [1, 9, 29])
@pytest.mark.parametrize("n", [0, 30, 20_000])
def test_no_size_is_so_wrong_that_answers_are_noise(m: int, n: int, epsilon: float) -> None:
    """The floor keeps its chance of 2**-64; equal records are the hardest data."""
    q, view = tuple((k + 1) / (m + 1) for k in range(m)), checks.view_of([1] * n, 101)
    for size in (0, n // 2, n - n // 50, n, n + 40, 2 * n, 10**9, 2**50):
        budget = privacy.budget(epsilon=epsilon, neighbors="add-remove")
        law = dpq.JointExp(q=q, budget=budget, size=size).law(view)
        chance = law.log_uniform - np.logaddexp(law.log_window, law.log_uniform)
        assert chance < -63.9 * math.log(2)


@pytest.mark.parametrize("grid", [dpq.UniformGrid(0, 2000, 1), family_of(INTEGER, None, None)])
@pytest.mark.parametrize("size", [600, 1000, 1200, 1800])
def test_answers_are_the_quantiles_at_the_stated_size(grid: Grid, size: int) -> None:
    """Ranks are counted from the smallest record; those that no record has are the last point."""
    q = tuple(k / 10 for k in range(1, 10))
    budget = privacy.budget(epsilon=2.0, neighbors="add-remove")
    law = dpq.JointExp(q=q, budget=budget, size=size).law(dpq.ArrayView(np.arange(1000), grid))
    bits = random.Random(size)
    answers = np.array([law.draw(bits) for _ in range(10)])
    ranks = np.round(np.array(q) * size)
    assert (np.abs(answers - ranks)[:, ranks < 1000] < 60).all()
    # A member of a family may end at the last answer that has a rank.
    assert (answers[:, ranks > 1000] >= answers[:, ranks < 1000].max(axis=1)[:, None]).all()
    if not isinstance(grid, GridFamily):
        assert (answers[:, ranks > 1000] == 2000).all()


def test_a_right_size_does_not_notice_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cap S of the end, the law is the same to twelve digits."""
    q, rng = (0.2, 0.5, 0.9), np.random.default_rng(4)
    budget = privacy.budget(epsilon=2.0, neighbors="add-remove")
    view = checks.view_of(rng.integers(0, 20, 400).tolist(), 20)
    for size in (395, 400, 404):
        mechanism = dpq.JointExp(q=q, budget=budget, size=size, reach=120)
        capped = mechanism.law(view)
        with monkeypatch.context() as patch:
            patch.setattr(joint_exp, "LOG_WRONG_SIZE", -1000.0)
            endless = mechanism.law(view)
        assert capped.log_window == pytest.approx(endless.log_window, abs=1e-9)
        for _ in range(20):
            answer = endless.draw(random.Random(_))
            expected = endless.log_probability(answer)
            assert capped.log_probability(answer) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("q", "records"),
    [
        ((0.3, 0.3, 0.8), [1, 1, 1, 4, 4, 5]),
        ((0.0, 0.5, 1.0), [0, 2, 2, 3]),
        ((0.2, 0.4, 0.6), []),
        ((0.25, 0.5, 0.75), [3, 3, 3, 3]),
        ((0.1, 0.2, 0.9), [0, 1, 5]),
    ],
)
@pytest.mark.parametrize("reach", [1, 3, 40])
@pytest.mark.parametrize("size", [None, 2, 5])
@pytest.mark.usefixtures("representation")
def test_the_walk_back_draws_the_law(
    q: tuple[float, ...],
    records: list[int],
    reach: int,
    size: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    neighbors = "swap" if size is None else "add-remove"
    mechanism = dpq.JointExp(
        q=q, budget=privacy.budget(epsilon=2.0, neighbors=neighbors), reach=reach, size=size
    )
    checks.check_walk(mechanism, records, 6, monkeypatch.setattr)


@pytest.mark.usefixtures("representation")
def test_draws_fit_the_law_and_no_other() -> None:
    mechanism = dpq.JointExp(q=(0.25, 0.5, 0.75), budget=PureDP(epsilon=2.0), reach=6)
    records, points = [1, 1, 2, 4, 4, 4, 5, 6], 8
    law = mechanism.law(checks.view_of(records, points))
    drawn = checks.draw_many(law, 20_000, seed=11)
    assert checks.fit(drawn, law, points) > 1e-3
    for wrong in (0.8, 1.2):
        other = replace(mechanism, budget=PureDP(epsilon=wrong * mechanism.epsilon))
        assert checks.fit(drawn, other.law(checks.view_of(records, points)), points) < 1e-6


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_a_window_is_enough(case: tuple[dpq.JointExp, list[int], int]) -> None:
    checks.check_window(*case)


def test_a_rank_outside_the_window_is_refused() -> None:
    mechanism = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=1.0), reach=3)
    view = checks.view_of(sorted(random.Random(1).choices(range(50), k=100)), 50)
    (run,) = mechanism.demand(view.n, view.grid)
    assert len(run) < view.n
    with pytest.raises(LookupError, match="outside"):
        mechanism.law(WindowView.of(view, Demand(runs=(run[1:],))))


@dataclass(frozen=True)
class EndlessTies:
    """A billion records, all equal, that nobody could hold in memory."""

    grid: Grid
    n: int = 10**9
    missing: int | None = 10**8

    def order_statistics(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(index), 40, dtype=np.int64)

    def ranks(self, steps: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.n * (steps > 40), self.n * (steps >= 40)


def test_a_billion_ties() -> None:
    view = EndlessTies(dpq.UniformGrid(0, 168, 1))
    release = dpq.JointExp(q=(0.1, 0.5, 0.9), budget=PureDP(epsilon=1.0)).release(
        view, random.Random(1)
    )
    assert release.values == (40, 40, 40)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2, 1.0, 50.0, 1e3, 1e6])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("m", [1, 9, 29])
def test_any_reasonable_epsilon_works(epsilon: float, neighbors: NeighborsName, m: int) -> None:
    q = [(k + 1) / (m + 1) for k in range(m)]
    data = np.random.default_rng(0).normal(0, 5, 500)
    size = 500 if neighbors == "add-remove" else None
    release = dpq.quantiles(
        data, q, epsilon=epsilon, bounds=(-100, 100), neighbors=neighbors, size=size
    )
    assert len(release.values) == m
    assert list(release.values) == sorted(release.values)
    assert all(-100 <= value <= 100 for value in release.values)


def test_high_epsilon_is_nearly_exact() -> None:
    data = np.arange(1001)
    release = dpq.quantiles(data, "deciles", epsilon=1e6, bounds=(0, 1000))
    assert np.abs(np.asarray(release) - np.arange(100, 1000, 100)).max() <= 1


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("epsilon", [1e13, 1e20, 1e300, 1.7e308])
def test_no_epsilon_is_too_large(epsilon: float, neighbors: str) -> None:
    """Many answers in one wide gap grow by all of its points, whatever the rate."""
    q, size = tuple(k / 45 for k in range(1, 45)), 5 if neighbors == "add-remove" else None
    mechanism = dpq.JointExp(
        q=q, budget=privacy.budget(epsilon=epsilon, neighbors=neighbors), size=size
    )
    for records in ([2**62 - 1] * 5, [k * 2**59 for k in range(5)], [0] * 5):
        view = checks.view_of(records, 2**62)
        steps = mechanism.release(view, random.Random(1)).values
        assert list(steps) == sorted(steps)
        assert 0 <= steps[0] <= steps[-1] < 2**62
        assert mechanism.demand(5, view.grid).runs == (range(5),)


def test_an_epsilon_below_rounding_is_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be at least .* rounding"):
        dpq.quantiles(
            np.arange(1000.0), "deciles", epsilon=1e-9, bounds=(0, 1000), mechanism="joint_exp"
        )


def test_a_demand_beyond_memory_is_refused() -> None:
    with pytest.raises(DemandTooLarge, match="ranks"):
        dpq.JointExp(q=tuple(np.linspace(0, 1, 99)), budget=PureDP(epsilon=1e-3)).demand(10**9)


def test_rounding_is_inside_epsilon() -> None:
    """Rate and rounding together stay within epsilon, and rounding is a small part of it."""
    view = checks.view_of(list(range(100)), 100)
    for m, epsilon in itertools.product((1, 9, 60, 255), (0.1, 1.0, 100.0)):
        law = dpq.JointExp(q=tuple(np.linspace(0, 1, m)), budget=PureDP(epsilon=epsilon)).law(view)
        setting = law.setting
        rounding = scans.draw_loss(
            setting.algebra, m, law.geometry.length, setting.rate, setting.log_range
        )
        assert 4 * setting.rate + rounding <= epsilon
        assert 4 * setting.rate > 0.99 * epsilon
        delta = 2
        floor = -setting.rate * (2 * setting.reach - delta) - math.log(
            math.expm1(min(700.0, setting.rate * delta))
        )
        assert setting.log_floor == pytest.approx(floor, rel=1e-12)


def test_the_setting_is_public() -> None:
    """Under add-remove nothing but the axis depends on the number of records."""
    for reach, size in itertools.product((None, 1, 5), (0, 3, 50)):
        mechanism = dpq.JointExp(
            q=(0.3, 0.6),
            budget=privacy.budget(epsilon=1.0, neighbors="add-remove"),
            size=size,
            reach=reach,
        )
        views = [checks.view_of([1] * n, 5) for n in (0, 1, 2, 7, 60, 500)]
        laws = [mechanism.law(view) for view in views]
        assert len({law.setting for law in laws}) == 1
        assert len({tuple(law.geometry.targets.tolist()) for law in laws}) == 1


def test_an_explicit_reach_cannot_overflow() -> None:
    grid = dpq.UniformGrid(0, 2**38, 1)
    for m, last in itertools.product((20, 30, 34, 60), (1, 2**38)):
        view = dpq.ArrayView(np.array([0, last]), grid)
        law = dpq.JointExp(q=(0.5,) * m, budget=PureDP(epsilon=1.0), reach=1).law(view)
        assert math.isfinite(law.log_window)
        assert len(law.draw(random.Random(m))) == m


def test_representation_follows_public_numbers() -> None:
    grid = dpq.UniformGrid(0, 2**38, 1)
    for values in ([], [5], list(range(100)), [7] * 100):
        view = dpq.ArrayView(np.array(values, dtype=np.int64), grid)
        few = dpq.JointExp(q=(0.5,) * 9, budget=PureDP(epsilon=1.0)).law(view)
        many = dpq.JointExp(q=(0.5,) * 40, budget=PureDP(epsilon=1.0)).law(view)
        assert isinstance(few.setting.algebra, ScaledDoubles)
        assert isinstance(many.setting.algebra, Logarithms)


def test_the_private_count_is_paid_from_epsilon() -> None:
    budget = privacy.budget(epsilon=1.0, neighbors="add-remove")
    mechanism = dpq.JointExp(q=QUARTILES, budget=budget)
    view = checks.view_of([1, 2, 3], 5)
    sized = mechanism.sized(view, random.Random(5))
    assert sized.epsilon + COUNT_SHARE * mechanism.epsilon <= mechanism.epsilon
    assert mechanism.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    with pytest.raises(ValueError, match="size must be given for the law"):
        mechanism.law(view)


def test_the_private_count_is_noisy() -> None:
    """Its spread is that of discrete Laplace noise at the share of epsilon that it got."""
    budget = privacy.budget(epsilon=1.0, neighbors="add-remove")
    mechanism = dpq.JointExp(q=QUARTILES, budget=budget)
    view, bits = checks.view_of([1] * 1000, 5), random.Random(5)
    sizes = [mechanism.sized(view, bits).size for _ in range(400)]
    deviations = np.array([size - 1000 for size in sizes if size is not None])
    rate = COUNT_SHARE * mechanism.epsilon
    expected = 2 * math.exp(-rate) / (1 - math.exp(-rate)) ** 2
    assert 0.7 * expected < deviations.var() < 1.4 * expected


def test_what_is_refused_is_refused_before_the_count() -> None:
    mechanism = dpq.JointExp(
        q=(0.5,) * 29, budget=privacy.budget(epsilon=1e-12, neighbors="add-remove")
    )
    with pytest.raises(ValueError, match=r"rounding|ranks"):
        mechanism.release(checks.view_of([1, 2], 5), random.Random(1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, got 0.0"),
        ({"q": ()}, "q must name at least one quantile"),
        ({"q": (1.5,)}, "q must lie between 0 and 1, got 1.5"),
        ({"reach": 0}, "reach must be at least 1, got 0"),
        ({"size": 10}, "size must be left out under swap"),
        ({"neighbors": "swop"}, "did you mean 'swap'"),
        ({"neighbors": "add-remove", "size": -1}, "size must be at least 0, got -1"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"q": (0.5,), "epsilon": 1.0}
    with pytest.raises(ValueError, match=message):
        built(dpq.JointExp, **{**good, **parameters})


def test_values_must_be_answers() -> None:
    law = dpq.JointExp(q=(0.25, 0.75), budget=PureDP(epsilon=1.0)).law(checks.view_of([1, 2, 3], 5))
    assert law.log_probability([3, 1]) == -math.inf
    with pytest.raises(ValueError, match="2 answers, got 1"):
        law.log_probability([3])
    with pytest.raises(ValueError, match="points of the grid"):
        law.log_probability([3, 17])


def test_quantiles_in_any_order() -> None:
    view = checks.view_of([0, 1, 2, 3, 4, 5, 6, 7], 8)
    ascending = dpq.JointExp(q=(0.1, 0.5, 0.9), budget=PureDP(epsilon=10.0)).law(view)
    shuffled = dpq.JointExp(q=(0.9, 0.1, 0.5), budget=PureDP(epsilon=10.0)).law(view)
    assert shuffled.log_probability([6, 2, 4]) == ascending.log_probability([2, 4, 6])
    low, middle, high = ascending.draw(random.Random(3))
    assert low < middle < high
    assert shuffled.draw(random.Random(3)) == (high, low, middle)


def test_more_answers_than_its_precision_allows_are_refused() -> None:
    q = tuple(k / 1600 for k in range(1, 1600))
    with pytest.raises(DemandTooLarge, match=r"at most 1500 quantiles.*recursive_joint_exp"):
        dpq.JointExp(q=q, budget=PureDP(epsilon=1.0)).demand(10)


@pytest.mark.parametrize("reach", [None, 5])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-310, 1e-307, 1e-100, 1e-17])
def test_hopeless_budgets_are_refused_in_words(
    epsilon: float, neighbors: NeighborsName, reach: int | None
) -> None:
    # A fifth of the least double, which would buy a private count, is nothing.
    with pytest.raises(ValueError, match=r"larger epsilon|epsilon must be positive .* got 0\.0"):
        dpq.quantiles(
            range(100), [0.5], epsilon=epsilon, neighbors=neighbors, mechanism="joint_exp"
        )
    size = None if neighbors == "swap" else 100
    mechanism = dpq.JointExp(
        q=(0.5,),
        budget=privacy.budget(epsilon=epsilon, neighbors=neighbors),
        reach=reach,
        size=size,
    )
    with pytest.raises(ValueError, match="larger epsilon"):
        mechanism.demand(100)
