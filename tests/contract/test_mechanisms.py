"""What every mechanism owes, whatever it does inside."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import Grid
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.views import RecordingView, WindowView

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
PLENTY = list(np.linspace(-50, 50, 4000))
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


CASES = list(supported())
IDS = [f"{name}-{budget.kind}-{budget.neighbors}" for name, budget in CASES]


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
@pytest.mark.parametrize("data", DATA)
def test_answers_have_the_shape_that_was_asked_for(name: str, budget: Guarantee, data: str) -> None:
    for grid, q in itertools.product(grids(name), QUANTILES):
        view = view_of(DATA[data], grid)
        mechanism = build(name, budget, q, view.n)
        try:
            release = mechanism.release(view, random.Random(1))
        except ValueError:
            # A refusal must follow from public numbers: other data of this size get it too.
            with pytest.raises(ValueError, match=r"must|needs"):
                mechanism.release(view_of([1.0] * view.n, grid), random.Random(1))
            continue
        assert release.q == q
        assert len(release.values) == len(q)
        answers = [value for _, value in sorted(zip(q, release.values, strict=True))]
        assert answers == sorted(answers)
        steps = grid.encode(np.array(release.values, dtype=np.float64))
        assert ((steps >= 0) & (steps < grid.size)).all()


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
def test_the_guarantee_is_no_stronger_than_the_budget_allows(name: str, budget: Guarantee) -> None:
    mechanism = build(name, budget, (0.25, 0.5), 400)
    promised = mechanism.guarantee
    assert promised.neighbors == budget.neighbors
    assert promised.research_only == MECHANISMS[name].profile.research_only
    if isinstance(promised, PureDP) and isinstance(budget, ZCDP):
        assert promised.concentrated().rho <= budget.rho
    elif isinstance(promised, PureDP):
        assert isinstance(budget, (PureDP, ApproxDP))
        assert promised.epsilon <= budget.epsilon
    elif isinstance(promised, ApproxDP):
        assert isinstance(budget, ApproxDP)
        assert (promised.epsilon, promised.delta) <= (budget.epsilon, budget.delta)
    else:
        assert isinstance(promised, ZCDP)
        assert isinstance(budget, ZCDP)
        assert promised.rho <= budget.rho


@pytest.mark.parametrize(("name", "budget"), CASES, ids=IDS)
def test_nothing_outside_the_demand_is_asked_for(name: str, budget: Guarantee) -> None:
    view = view_of(PLENTY, GRIDS["reals"])
    mechanism = build(name, budget, (0.25, 0.75), view.n)
    recording = RecordingView(view)
    whole = mechanism.release(recording, random.Random(5))
    demand = mechanism.demand(view.n, view.grid)
    assert recording.asked_index <= set(demand.index.tolist())
    assert recording.asked_steps <= set(demand.steps.tolist()) or demand.runs == (range(view.n),)
    if not recording.asked_steps or len(demand.steps):
        held = WindowView.of(view, demand)
        assert mechanism.release(held, random.Random(5)).values == whole.values


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
        with pytest.raises(ValueError, match=r"mechanism must meet a budget .* those that do: "):
            registry.build(name, budget, q=(0.5,))
    for neighbors in {"swap", "add-remove"} - set(profile.neighbors):
        budget = privacy.budget(**BUDGETS[profile.kinds[0]], neighbors=neighbors)
        with pytest.raises(ValueError, match=r"mechanism must support neighbors .* that do: "):
            registry.build(name, budget, q=(0.5,), size=10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_profiles_say_when_to_use_them(name: str) -> None:
    profile = MECHANISMS[name].profile
    assert profile.when
    assert profile.cost
    assert "\n" not in profile.when
    assert MECHANISMS[name].name == name
