"""AdaptiveTree: the exact loss of its cuts over all neighbors, its stages, and what it releases."""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from dpquantiles.entropy import SEEDED_NOTE
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kernels import cells, draws
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms import adaptive_tree, agg_tree
from dpquantiles.mechanisms.adaptive_tree import (
    AdaptiveTree,
    Stages,
    cutting_rate,
    leaves,
    most_loss,
    toll,
)
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.released_tree import ReleasedTree
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.views import RecordingView, WindowView
from tests.mechanisms.adaptive_tree_checks import (
    add_remove,
    check_spent,
    concentrated_loss,
    cutting_divergence,
    cutting_loss,
    extremes,
    log_cut,
    pairs_on,
    pure_loss,
    replayed,
    swap,
)
from tests.mechanisms.joint_exp_checks import view_of

Patch = pytest.MonkeyPatch
RELATIONS = ("swap", "add-remove")
DECILES = tuple(k / 10 for k in range(1, 10))
RATES = (0.3, 0.7, 1.5)
"""With tolls of 5, 2 and 1."""


def concentrated(rho: float, neighbors: str) -> AdaptiveTree:
    return AdaptiveTree(q=(0.5,), budget=ZCDP(rho=rho, neighbors=Neighbors(neighbors)))


def exact_loss(rate: Fraction) -> Decimal:
    """F of (2) with many decimals: so many terms that the rest is nothing."""
    a, g = Decimal(rate.numerator) / rate.denominator, toll(rate)
    s, total = (-a).exp(), a
    for x in range(1, 1 + 120 * g, g):
        total += ((1 + s - s ** (x + 1)) / (1 + s - s**x)).ln()
    return total


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("rate", RATES)
def test_loss_of_the_cuts_is_within_its_price(rate: float, neighbors: str) -> None:
    """All neighbors of up to three records, one place in each of the sixteen cells of depth 2.

    Records within such a cell are alike, as no cell of single steps is tested.
    """
    a, price = rate, most_loss(Fraction(rate))
    rule, low, high = cells.Rule(least=0, toll=toll(Fraction(rate))), 0.0, 0.0
    for pair in pairs_on(range(0, 64, 4), [0, 1, 2], neighbors):
        least, most = extremes(pair, 64, rule, rate)
        # One record more is the second: it makes T likelier by F, less likely by a.
        low, high = min(low, least), max(high, most)
    below, above = (price, a) if neighbors == "add-remove" else (a + price, a + price)
    assert -below * (1 + 1e-12) <= low < -0.85 * below
    assert 0.85 * above < high <= above * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", [swap(30.0), swap(16.8), add_remove(9.8, 0)])
def test_the_price_is_reached_on_deep_grids(mechanism: AdaptiveTree) -> None:
    check_spent(cutting_loss(mechanism, range(7)), least=0.995)


@pytest.mark.parametrize("least", [0, 2])
@pytest.mark.parametrize("rate", RATES)
def test_price_is_the_largest_loss_on_a_path(rate: float, least: int) -> None:
    """All falling sequences of counts along a path, every cell of which is cut."""
    a = Fraction(rate)
    rule, depths, most = cells.Rule(least, toll(a)), 5, least + 3 + 3 * toll(a)
    counts = np.arange(most + 2)
    gain = np.empty((depths, most + 1))
    for depth in range(depths):
        logs = [log_cut(int(x), rate) for x in rule.margin(counts, depth + 1)]
        gain[depth] = np.diff(logs)
    falling = itertools.combinations_with_replacement(range(most, -1, -1), depths)
    worst = max(sum(gain[d, c] for d, c in enumerate(path)) for path in falling)
    assert 0.99 * most_loss(a) < worst <= most_loss(a)


@pytest.mark.parametrize("rate", [2.0**-40, 1e-6, 0.01, 0.3466, 0.7, 1.386, 1.387, 9.0, 511.0])
def test_rounding_is_on_the_private_side(rate: float) -> None:
    with localcontext(prec=60):
        exact = exact_loss(Fraction(rate))
        assert exact <= Decimal(most_loss(Fraction(rate))) <= exact * (1 + Decimal(2) ** -39)
        assert exact <= Decimal(rate) * Decimal("2.334")


def exact_epsilon(rate: Fraction, swapped: bool) -> Decimal:
    return exact_loss(rate) + (Decimal(float(rate)) if swapped else 0)


def exact_rho(rate: Fraction, swapped: bool) -> Decimal:
    """That of a range of a + F, once or for each of two ways."""
    eta = exact_loss(rate) + Decimal(float(rate))
    power = eta.exp() - 1
    return (eta / power - 1 + (power / eta).ln()) * (2 if swapped else 1)


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("amount", [1e-7, 0.003, 0.1, 1.0, 2.7, 40.0, 900.0])
def test_rates_are_within_their_budget(amount: float, neighbors: Neighbors) -> None:
    """Against sixty decimals; a rate that is larger by next to nothing is no longer covered."""
    pure, swapped = PureDP(epsilon=amount, neighbors=neighbors), neighbors is Neighbors.SWAP
    for budget, price in (
        (pure, exact_epsilon),
        (ZCDP(rho=amount, neighbors=neighbors), exact_rho),
    ):
        rate = cutting_rate(budget)
        larger = Fraction(float(rate) * (1 + 1e-9))
        with localcontext(prec=60):
            assert price(rate, swapped) <= Decimal(amount)
            assert larger > draws.MOST_RATE or price(larger, swapped) > Decimal(amount)
        assert rate == Fraction(float(rate))


def stage_sum(mechanism: AdaptiveTree) -> tuple[Fraction, Fraction]:
    """What all stages may spend together, exactly, and the budget."""
    stages, budget = mechanism.stages, mechanism.budget
    name = "rho" if isinstance(budget, ZCDP) else "epsilon"
    spent = sum(Fraction(getattr(stage, name)) for stage in stages if stage is not None)
    return Fraction(spent), Fraction(getattr(budget, name))


def check_stages() -> None:
    for amount in np.exp(np.random.default_rng(3).uniform(-18, 18, 60)).tolist():
        for mechanism in (swap(amount), add_remove(amount), add_remove(amount, 9)):
            spent, budget = stage_sum(mechanism)
            assert budget * (1 - Fraction(1, 2**48)) < spent <= budget
        for neighbors in RELATIONS:
            mechanism = concentrated(amount, neighbors)
            spent, budget = stage_sum(mechanism)
            assert budget * (1 - Fraction(1, 2**48)) < spent <= budget


def test_stages_are_within_the_budget() -> None:
    check_stages()
    assert swap(1.0).stages.size is None
    assert add_remove(1.0, 5).stages.size is None
    paid = concentrated(0.3, "add-remove").stages.size
    assert isinstance(paid, ZCDP)
    bought = Fraction(math.sqrt(2 * paid.rho) * adaptive_tree.BELOW)
    assert bought**2 / 2 <= Fraction(paid.rho)


@pytest.mark.parametrize("mechanism", [swap(30.0), swap(16.8), add_remove(9.8), add_remove(9.8, 0)])
def test_all_neighbors_are_within_epsilon(mechanism: AdaptiveTree) -> None:
    sizes = [0, 1] if mechanism.budget.neighbors is Neighbors.ADD_REMOVE else [2]
    check_spent(pure_loss(mechanism, sizes), least=0.99)


@pytest.mark.parametrize(
    ("mechanism", "sizes"),
    [(concentrated(1.0, "swap"), [2]), (concentrated(3.0, "add-remove"), [0, 1])],
)
def test_all_neighbors_are_within_rho(mechanism: AdaptiveTree, sizes: list[int]) -> None:
    check_spent(concentrated_loss(mechanism, sizes), least=0.7)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_divergence_of_the_cuts_is_within_its_share(neighbors: str) -> None:
    """The two ways of a swap are independent, so that their prices add up."""
    for rho in (3.0, 30.0):
        check_spent(cutting_divergence(concentrated(rho, neighbors), [1]), least=0.2)


def test_cuts_follow_their_probabilities() -> None:
    """Draws of the first stage, twenty thousand at once, against (a); rare outcomes are pooled."""
    records, rule, rate = np.array([0, 1, 1, 5, 18]), cells.Rule(1, 2), Fraction(0.7)

    def grown(partitions: int) -> cells.Cells:
        bits = random.Random(2)
        below = lambda steps: np.searchsorted(records, steps)  # noqa: E731
        noise = lambda count: draws.discrete_laplaces(bits, rate, count)  # noqa: E731
        return cells.grown(below, 20, rule, noise, partitions)

    law: Counter[tuple[int, ...]] = Counter()
    for _, probability, found in replayed(lambda: grown(1), rate):
        law[tuple(found.start.tolist())] += probability  # type: ignore[assignment]
    assert math.fsum(law.values()) == pytest.approx(1.0, abs=1e-12)
    drawn = grown(20_000)
    ends = np.cumsum(np.bincount(drawn.partition))[:-1]
    seen = Counter(tuple(part.tolist()) for part in np.split(drawn.start, ends))
    common = [cut for cut, probability in law.items() if probability > 1e-3]
    expected = [20_000 * law[cut] for cut in common]
    observed = [seen[cut] for cut in common]
    rest = 20_000 - sum(observed), 20_000 - sum(expected)
    assert len(common) > 10
    assert stats.chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue > 1e-3


def test_trees_over_many_cells_stay_within_their_bounds() -> None:
    """Whatever the number of cells, the tree over them is one that AggTree takes."""
    powers = {b**h + e for h in range(1, 7) for b in range(1, 1025) for e in (0, 1)}
    numbers = [n for n in powers if n <= cells.MOST_CELLS]
    assert cells.MOST_CELLS in numbers
    for number in [*numbers[:: len(numbers) // 60], 1, 2, 3, cells.MOST_CELLS]:
        edges, height, branching = leaves(np.arange(number), number + 5)
        assert number <= branching**height <= agg_tree.MOST_LEAVES
        assert len(edges) == branching**height + 1
        assert height <= adaptive_tree.HIGHEST
        assert (edges[number:] == number + 5).all()


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_only_all_records_are_asked_for(neighbors: str) -> None:
    budget = PureDP(epsilon=1.0, neighbors=Neighbors(neighbors))
    mechanism = AdaptiveTree(q=DECILES, budget=budget)
    view = dpq.ArrayView(np.arange(50.0), default_grid(REAL, (0, 100)))
    demand = mechanism.demand(view.n, view.grid)
    recording = RecordingView(view)
    released = mechanism.release(recording, random.Random(1))
    assert not recording.asked_steps
    assert demand.runs == (range(50),)
    assert mechanism.release(WindowView.of(view, demand), random.Random(1)) == released


def test_size_is_hidden_under_add_remove() -> None:
    """Neither written down nor used: the rule depends on the rough count alone."""
    view = dpq.ArrayView(np.full(54321, 3.0), UniformGrid(0, 63, 1))
    for mechanism in (add_remove(1.0), add_remove(1.0, 10)):
        released = mechanism.tree(view, random.SystemRandom())
        assert released.total is None
        assert "size" not in released.quantiles(0.5).provenance
        assert "size" not in json.loads(released.to_json())
        assert "54321" not in json.dumps(released.quantiles(0.5).provenance)
    rules: list[int] = []
    original = AdaptiveTree.rule

    def rule(mechanism: AdaptiveTree, size: int) -> cells.Rule:
        rules.append(size)
        return original(mechanism, size)

    with Patch.context() as patch:
        patch.setattr(AdaptiveTree, "rule", rule)
        add_remove(0.001, 10).tree(view, random.Random(1))
        add_remove(0.001).tree(view, random.Random(1))
        swap(0.001).tree(view, random.Random(1))
    assert rules[0] == 10
    assert rules[1] != 54321
    assert rules[2] == 54321


GRIDS: dict[str, Grid] = {
    "one point": UniformGrid(0, 0.5, 1),
    "two points": UniformGrid(0, 1, 1),
    "three points": UniformGrid(0, 2, 1),
    "many points": UniformGrid(0, 300, 1),
    "unbounded reals": FloatGrid(),
    "unbounded integers": FloatGrid(integral=True),
}


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1e300])
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("records", [[], [0], [0] * 4000, [-1e300, math.inf, 1e300, math.nan]])
def test_degenerate_data(records: list[float], name: str, epsilon: float) -> None:
    grid = GRIDS[name]
    view = dpq.ArrayView(np.array(records, dtype=float), grid)
    for mechanism in (swap(epsilon), add_remove(epsilon), add_remove(epsilon, 2**53)):
        released = mechanism.tree(view, random.Random(1))
        values = released.quantiles(DECILES).values
        assert len(values) == 9
        assert list(values) == sorted(values)
        steps = grid.encode(np.array(values, dtype=float))
        assert ((steps >= 0) & (steps < grid.size)).all()
        assert (released.edges[0], released.edges[-1]) == (0, grid.size)
        assert (np.diff(released.edges) >= 0).all()


def test_answers_follow_the_order_of_q() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    mixed = replace(swap(5.0), q=(0.9, 0.1, 0.5, 0.9)).release(view, random.Random(4))
    plain = replace(swap(5.0), q=(0.1, 0.5, 0.9)).release(view, random.Random(4))
    low, middle, high = plain.values
    assert mixed.values == (high, low, middle, high)
    assert low <= middle <= high
    assert mixed.mechanism == "adaptive_tree"


@pytest.mark.parametrize("integral", [False, True])
def test_unbounded_grid(integral: bool) -> None:
    data = np.round(np.random.default_rng(1).normal(0, 500, 4000))
    view = dpq.ArrayView(data, FloatGrid(integral=integral))
    release = replace(swap(1.0), q=(0.1, 0.5, 0.9)).release(view, random.Random(1))
    below = [float((data <= value).mean()) for value in release.values]
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.04)


def test_little_noise_gives_the_truth() -> None:
    data = np.random.default_rng(1).normal(0, 5, 2000)
    view = dpq.ArrayView(data, default_grid(REAL, (-1e9, 1e9)))
    release = replace(swap(10_000.0), q=DECILES).release(view, random.Random(1))
    np.testing.assert_allclose(release.values, np.quantile(data, DECILES), atol=0.1)


def test_later_queries_are_free_and_consistent() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    released = swap(1.0).tree(view, random.SystemRandom())
    first, later = released.quantiles([0.5]), released.quantiles("percentiles")
    assert first.guarantee == later.guarantee == swap(1.0).guarantee == PureDP(epsilon=1.0)
    assert first.value == later.values[49]
    assert list(later.values) == sorted(later.values)
    assert later.provenance["budget"] == PureDP(epsilon=1.0).to_dict()


@pytest.mark.parametrize("mechanism", [swap(1.0), add_remove(1.0), add_remove(1.0, 2)])
def test_seeded_trees_carry_no_guarantee(mechanism: AdaptiveTree) -> None:
    view = view_of([1, 2], 64)
    release = mechanism.release(view, random.Random(1))
    assert release.guarantee is None
    assert release.note == SEEDED_NOTE
    assert release == mechanism.release(view, random.Random(1))
    again = ReleasedTree.from_json(mechanism.tree(view, random.Random(1)).to_json(), view.grid)
    assert again.guarantee is None
    assert mechanism.release(view, random.SystemRandom()).guarantee == mechanism.guarantee


def test_trees_with_other_leaves_are_not_merged() -> None:
    one, other = (
        swap(5.0).tree(view_of([place] * 9000, 4**6), random.SystemRandom()) for place in (0, 4000)
    )
    with pytest.raises(ValueError, match=r"same leaves.* follow the records.* take agg_tree"):
        one.merge(other)
    both = one.merge(one)
    assert both.total == 18_000
    assert both.guarantee == PureDP(epsilon=5.0)


def test_json_both_ways() -> None:
    view = dpq.ArrayView(np.arange(30.0), FloatGrid())
    released = concentrated(0.5, "swap").tree(view, random.SystemRandom())
    again = ReleasedTree.from_json(released.to_json(), view.grid)
    assert again.quantiles("deciles") == released.quantiles("deciles")
    assert again.mechanism == "adaptive_tree"
    assert again.guarantee == ZCDP(rho=0.5)
    assert again.to_json() == released.to_json()


def test_within_budgets() -> None:
    assert AdaptiveTree.within(PureDP(epsilon=2.0), q=(0.5,)).guarantee == PureDP(epsilon=2.0)
    assert AdaptiveTree.within(ZCDP(rho=0.2), q=(0.5,)).guarantee == ZCDP(rho=0.2)
    approximate = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    pure = AdaptiveTree.within(approximate, q=(0.5,), size=9)
    assert pure.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    assert pure.size == 9


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"budget": 1.0}, TypeError, "budget must be a PureDP or a ZCDP, got 1.0"),
        ({"budget": ApproxDP(epsilon=1.0, delta=0.1)}, TypeError, "budget must be a PureDP"),
        ({"q": (2.0,)}, ValueError, "q must lie between 0 and 1"),
        ({"q": ()}, ValueError, "q must name at least one quantile"),
        ({"size": 5}, ValueError, "size must be left out under swap neighbors"),
        ({"budget": PureDP(epsilon=1e-12)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"budget": PureDP(epsilon=1e-310)}, ValueError, r"at least 2\*\*-40 per cell"),
        ({"budget": ZCDP(rho=1e-300)}, ValueError, r"at least 2\*\*-40 per cell"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AdaptiveTree(**{"q": (0.5,), "budget": PureDP(epsilon=1.0), **parameters})


@pytest.mark.parametrize(
    ("size", "error"), [(-1, ValueError), (1.5, TypeError), (2**54, ValueError)]
)
def test_bad_sizes(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="size must be"):
        add_remove(1.0, size)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_accuracy_on_clustered_data(neighbors: str) -> None:
    """Five narrow clusters in a wide range: an even tree cannot see inside its leaves."""
    budget = PureDP(epsilon=1.0, neighbors=Neighbors(neighbors))
    q = tuple(k / 100 for k in range(1, 100))
    errors: dict[str, list[float]] = {"agg_tree": [], "adaptive_tree": []}
    for seed in range(5):
        numbers = np.random.default_rng(seed)
        data = numbers.choice([-7e5, -3e5, 1e3, 2e5, 8e5], 10_000) + numbers.normal(0, 5, 10_000)
        view = dpq.ArrayView(data, default_grid(REAL, (-1e6, 1e6)))
        for mechanism in (AggTree.within(budget, q=q), AdaptiveTree.within(budget, q=q)):
            values = np.array(mechanism.release(view, random.Random(seed)).values)
            ranks = (data[:, None] <= values).sum(axis=0)
            errors[mechanism.name].append(float(np.abs(ranks - 10_000 * np.array(q)).mean()))
    assert np.mean(errors["agg_tree"]) > 300
    assert np.mean(errors["adaptive_tree"]) < 100


def no_toll(patch: Patch) -> None:
    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:  # noqa: ARG001
        return np.maximum(1 - rule.toll, counts - rule.least)

    patch.setattr(cells.Rule, "margin", margin)


def toll_halved(patch: Patch) -> None:
    original = AdaptiveTree.rule

    def rule(mechanism: AdaptiveTree, size: int) -> cells.Rule:
        least, asked = original(mechanism, size)
        return cells.Rule(least, asked // 2)

    patch.setattr(AdaptiveTree, "rule", rule)


def not_cut_off_below(patch: Patch) -> None:
    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:
        return counts - rule.least - (depth - 1) * rule.toll

    patch.setattr(cells.Rule, "margin", margin)


def cells_counted_twice(patch: Patch) -> None:
    original = cells.Rule.margin
    patch.setattr(cells.Rule, "margin", lambda rule, counts, d: original(rule, 2 * counts, d))


def priced_as(change: Callable[[Guarantee], Guarantee]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        original = cutting_rate
        patch.setattr(adaptive_tree, "cutting_rate", lambda budget: original(change(budget)))

    return mutate


def doubled(budget: Any) -> Guarantee:
    if isinstance(budget, ZCDP):
        return replace(budget, rho=4 * budget.rho)
    return replace(budget, epsilon=2 * budget.epsilon)


def one_sided(budget: Guarantee) -> Guarantee:
    return replace(budget, neighbors=Neighbors.ADD_REMOVE)


def sure_cuts_for_nothing(patch: Patch) -> None:
    """Cells that are nearly sure to be cut have a loss, too, however small."""
    patch.setattr(adaptive_tree, "cutting_rate", cutting_rate.__wrapped__)
    patch.setattr(adaptive_tree, "most_loss", float)


def stages_where(change: Callable[[AdaptiveTree, Stages], Stages]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        original = AdaptiveTree.stages.fget
        assert original is not None
        patch.setattr(AdaptiveTree, "stages", property(lambda self: change(self, original(self))))

    return mutate


def counted_at_the_full_budget(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    return stages._replace(tree=mechanism.budget)


def size_for_nothing(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    rest = 1 - adaptive_tree.CUT_SHARE
    return stages._replace(tree=adaptive_tree._share(mechanism.budget, rest))


def cuts_of(mechanism: AdaptiveTree) -> Callable[[], None]:
    return lambda: check_spent(cutting_loss(mechanism, range(7)), least=0.99)


def all_of(mechanism: AdaptiveTree, sizes: list[int]) -> Callable[[], None]:
    return lambda: check_spent(pure_loss(mechanism, sizes), least=0.98)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (no_toll, cuts_of(swap(16.8))),
    (no_toll, cuts_of(add_remove(9.8, 0))),
    (toll_halved, cuts_of(swap(16.8))),
    (toll_halved, cuts_of(add_remove(9.8, 0))),
    (not_cut_off_below, cuts_of(swap(16.8))),
    (not_cut_off_below, cuts_of(add_remove(9.8, 0))),
    (cells_counted_twice, cuts_of(swap(16.8))),
    (priced_as(doubled), cuts_of(swap(16.8))),
    (priced_as(doubled), all_of(swap(16.8), [2])),
    (priced_as(one_sided), cuts_of(swap(16.8))),
    (sure_cuts_for_nothing, cuts_of(swap(16.8))),
    (stages_where(counted_at_the_full_budget), all_of(swap(16.8), [2])),
    (stages_where(counted_at_the_full_budget), check_stages),
    (stages_where(size_for_nothing), all_of(add_remove(9.8), [0, 1])),
    (stages_where(size_for_nothing), check_stages),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    check()
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check()
