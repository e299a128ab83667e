"""What every mechanism owes, whatever it does inside."""

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import Grid
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.views import Demand, WindowView
from tests.views.recording import RecordingView

BUDGETS = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "concentrated": {"rho": 0.5},
}
GRIDS: dict[str, Grid] = {
    "integers": dpq.UniformGrid(0, 100, 1),
    "two points": dpq.UniformGrid(0, 1, 1),
    "reals": dpq.UniformGrid(-100.0, 100.0, 2.0**-20),
    "unbounded reals": dpq.FloatGrid(),
    "unbounded integers": dpq.FloatGrid(integral=True),
}
DATA: dict[str, Any] = {
    "empty": [],
    "one record": [3.0],
    "ties": [7.0] * 50,
    "missing": [float("nan"), 1.0, 2.0] * 20,
    "far out": [1e300, -1e300, float("inf"), float("-inf")] * 10,
    "spread": list(np.linspace(-50, 50, 400)),
}
PLENTY = list(np.linspace(-50, 50, 12_000))
"""So many records that no mechanism refuses two quantiles of them."""

QUANTILES = [(0.5,), (0.9, 0.1, 0.5), (0.0, 1.0), (0.25, 0.25, 0.75)]


def supported() -> Iterator[tuple[str, Guarantee]]:
    """Every mechanism with every kind of budget and neighbors that it names."""
    for name, mechanism in MECHANISMS.items():
        profile = mechanism.profile
        for kind, neighbors in itertools.product(profile.kinds, profile.neighbors):
            yield name, privacy.budget(**BUDGETS[kind], neighbors=neighbors)


def grids(name: str) -> list[Grid]:
    """The grids that a mechanism works on."""
    bounded = not MECHANISMS[name].profile.needs_bounds
    return [g for g in GRIDS.values() if bounded or isinstance(g, dpq.UniformGrid)]


def build(name: str, budget: Guarantee, q: tuple[float, ...], n: int) -> Any:
    """A mechanism, with a public size where it wants one that is not the number of records."""
    size = n if budget.neighbors == "add-remove" and MECHANISMS[name].profile.uses_size else None
    return registry.build(name, budget, q=q, size=size)


def view_of(data: list[float], grid: Grid) -> dpq.ArrayView:
    return dpq.ArrayView(np.array(data, dtype=np.float64), grid)


MAY_REFUSE = {"slice_quantiles"}
"""Mechanisms for very many records, which refuse few of them."""


def refusal(mechanism: Any, view: dpq.ArrayView) -> str:
    """What a mechanism says when it refuses, or nothing."""
    try:
        mechanism.release(view, random.Random(1))
    except ValueError as why:
        return str(why)
    return ""


CASES = list(supported())
IDS = [f"{name}-{budget.kind}-{budget.neighbors}" for name, budget in CASES]


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
@pytest.mark.parametrize("data", DATA)
def test_answers_have_the_shape_that_was_asked_for(name: str, budget: Guarantee, data: str) -> None:
    for grid, q in itertools.product(grids(name), QUANTILES):
        view = view_of(DATA[data], grid)
        mechanism = build(name, budget, q, view.n)
        if name in MAY_REFUSE and (why := refusal(mechanism, view)):
            # A refusal must follow from public numbers: other data of this size get it too.
            assert re.search("must|needs", why)
            assert why == refusal(mechanism, view_of([1.0] * len(DATA[data]), grid))
            continue
        release = mechanism.release(view, random.Random(1))
        assert release.q == q
        assert len(release.values) == len(q)
        answers = [value for _, value in sorted(zip(q, release.values, strict=True))]
        assert answers == sorted(answers)
        steps = grid.encode(np.array(release.values, dtype=np.float64))
        assert ((steps >= 0) & (steps < grid.size)).all()


@pytest.mark.parametrize("name", sorted(MAY_REFUSE))
def test_what_may_refuse_few_records_answers_many(name: str) -> None:
    for budget in (budget for known, budget in CASES if known == name):
        view = view_of(PLENTY, GRIDS["reals"])
        assert refusal(build(name, budget, (0.25, 0.75), view.n), view) == ""
        assert refusal(build(name, budget, (0.25, 0.75), 1), view_of([1.0], GRIDS["reals"]))


def covers(budget: Guarantee, promised: Guarantee) -> bool:
    """Whether a promise is within a budget, in every one of its numbers."""
    if isinstance(budget, ZCDP):
        return not isinstance(promised, ApproxDP) and promised.concentrated().rho <= budget.rho
    if isinstance(promised, ZCDP):
        return False
    delta = promised.delta if isinstance(promised, ApproxDP) else 0.0
    allowed = budget.delta if isinstance(budget, ApproxDP) else 0.0
    return promised.epsilon <= budget.epsilon and delta <= allowed


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
def test_the_guarantee_is_no_stronger_than_the_budget_allows(name: str, budget: Guarantee) -> None:
    promised = build(name, budget, (0.25, 0.5), 400).guarantee
    assert promised.neighbors == budget.neighbors
    assert promised.research_only == MECHANISMS[name].profile.research_only
    assert covers(budget, promised)


@pytest.mark.parametrize(
    ("budget", "promised"),
    [
        (ApproxDP(epsilon=1.0, delta=1e-6), ApproxDP(epsilon=0.5, delta=1e-5)),
        (ApproxDP(epsilon=1.0, delta=1e-6), ApproxDP(epsilon=1.5, delta=1e-7)),
        (ApproxDP(epsilon=1.0, delta=1e-6), ZCDP(rho=1e-3)),
        (PureDP(epsilon=1.0), ApproxDP(epsilon=0.5, delta=1e-9)),
        (PureDP(epsilon=1.0), PureDP(epsilon=1.1)),
        (ZCDP(rho=0.5), PureDP(epsilon=1.1)),
        (ZCDP(rho=0.5), ApproxDP(epsilon=0.1, delta=1e-9)),
    ],
    ids=str,
)
def test_a_promise_beyond_the_budget_is_noticed(budget: Guarantee, promised: Guarantee) -> None:
    assert covers(budget, budget)
    assert not covers(budget, promised)


ALL_RECORDS = {"paper_joint_exp"}
"""Mechanisms that read every record, and nothing else."""

ANY_RECORD = {
    "fitted",
    "adaptive_tree",
    "recursive_joint_exp",
    "approx_quantiles",
    "slice_quantiles",
}
"""Mechanisms that read few records, but may read any: which ones depends on what was drawn."""


def check_demand(name: str, mechanism: Any, view: dpq.ArrayView) -> None:
    """What is asked for was demanded; who demands everything is known here, and why."""
    recording = RecordingView(view)
    whole = mechanism.release(recording, random.Random(5))
    demand = mechanism.demand(view.n, view.grid)
    everything = set(demand.index.tolist()) == set(range(view.n))
    assert everything == (name in ALL_RECORDS | ANY_RECORD)
    assert recording.asked_index <= set(demand.index.tolist())
    if name in ANY_RECORD:
        assert len(recording.asked_index) < view.n / 2
        return
    # The others need all of it, and can do with it.
    assert recording.asked_index == set(demand.index.tolist())
    assert recording.asked_steps == set(demand.steps.tolist())
    held = WindowView.of(view, demand)
    assert mechanism.release(held, random.Random(5)).values == whole.values


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
def test_nothing_outside_the_demand_is_asked_for(name: str, budget: Guarantee) -> None:
    view = view_of(PLENTY, GRIDS["reals"])
    check_demand(name, build(name, budget, (0.25, 0.75), view.n), view)


@pytest.mark.parametrize("name", ["joint_exp", "ind_exp", "agg_tree", "paper_joint_exp"])
def test_a_mechanism_that_demands_more_or_less_than_it_asks_for_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of(PLENTY, GRIDS["reals"])
    mechanism = build(name, PureDP(epsilon=1.0), (0.25, 0.75), view.n)
    demand = mechanism.demand(view.n, view.grid)
    less = Demand(runs=(range(10, 20),), steps=demand.steps[1:])
    more = Demand(runs=(range(view.n - (name == "paper_joint_exp")),), steps=np.arange(100))
    for wrong in (less, more):
        monkeypatch.setattr(type(mechanism), "demand", lambda *_, wrong=wrong: wrong)
        with pytest.raises((AssertionError, LookupError)):
            check_demand(name, mechanism, view)


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
def test_seeded_releases_are_repeatable_and_never_private(name: str, budget: Guarantee) -> None:
    view = view_of(PLENTY, GRIDS["integers"])
    mechanism = build(name, budget, (0.3, 0.6), view.n)
    one, two = (mechanism.release(view, random.Random(9)) for _ in range(2))
    assert one.values == two.values
    assert one.guarantee is None
    assert one.note
    private = mechanism.release(view, random.SystemRandom())
    assert private.guarantee == mechanism.guarantee


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_not_supported_is_refused_with_a_way_out(name: str) -> None:
    profile = MECHANISMS[name].profile
    for kind in set(BUDGETS) - set(profile.kinds):
        budget = privacy.budget(**BUDGETS[kind], neighbors=profile.neighbors[0])
        with pytest.raises(
            ValueError, match=r"mechanism must work with a budget .* those that do: "
        ):
            registry.build(name, budget, q=(0.5,))
    for neighbors in {"swap", "add-remove"} - set(profile.neighbors):
        budget = privacy.budget(**BUDGETS[profile.kinds[0]], neighbors=neighbors)
        with pytest.raises(ValueError, match=r"mechanism must support neighbors .* that do: "):
            registry.build(name, budget, q=(0.5,), size=10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_profiles_say_when_to_use_them(name: str) -> None:
    profile = MECHANISMS[name].profile
    assert profile.when[0].isupper()
    assert profile.when.endswith(".")
    assert not re.search(r"\n|\^|log|\b[nmRWCKLt]\b", profile.when)  # no formulas for people
    assert profile.cost
    assert MECHANISMS[name].name == name
