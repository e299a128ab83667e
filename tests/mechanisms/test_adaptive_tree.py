"""AdaptiveTree: the exact loss of its cuts over all neighbors, its stages, and what it releases."""

import itertools
import json
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from dpquantiles.grid import Ruler, UniformGrid, default_grid
from dpquantiles.kernels import cells, draws
from dpquantiles.kernels.keyed import KeyedLaplaces
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms import adaptive_tree, agg_tree
from dpquantiles.mechanisms.adaptive_tree import (
    COARSE,
    CUT_SHARE,
    LUMPY_CUT_SHARE,
    AdaptiveTree,
    cutting_rate,
    leaves,
    most_loss,
    toll,
)
from dpquantiles.privacy import ZCDP, Neighbors, PureDP
from dpquantiles.privacy.conversions import below
from dpquantiles.views import Limits, SortedView, occupied
from tests.mechanisms.adaptive_tree_checks import (
    RELATIONS,
    add_remove,
    check_spent,
    check_stages,
    concentrated,
    concentrated_loss,
    counting,
    cutting_divergence,
    cutting_loss,
    extremes,
    log_cut,
    on_a_ruler,
    pairs_on,
    pure_loss,
    replayed,
    swap,
)
from tests.views.recording import RecordingView

Patch = pytest.MonkeyPatch
DECILES = tuple(k / 10 for k in range(1, 10))
RATES = (0.3, 0.7, 1.5)
"""With tolls of 5, 2 and 1."""


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


@pytest.mark.parametrize(
    "mechanism",
    [
        swap(10.0),
        swap(5.6),
        add_remove(9.8 / 3, 0),
        swap(30.0, CUT_SHARE),
        swap(16.8, CUT_SHARE),
        add_remove(9.8, 0, CUT_SHARE),
    ],
)
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


def test_stages_are_within_the_budget() -> None:
    check_stages()
    for points in (COARSE, COARSE + 1):
        assert swap(1.0).stages(points).size is None
        assert add_remove(1.0, 5).stages(points).size is None
        paid = concentrated(0.3, "add-remove").stages(points).size
        assert isinstance(paid, ZCDP)
        assert Fraction(paid.noise_rate) ** 2 / 2 <= Fraction(paid.rho)


@pytest.mark.parametrize(
    ("mechanism", "coarse", "fine"), [(swap(1.0), 0.3, 0.1), (swap(1.0, 0.25), 0.25, 0.25)]
)
def test_the_share_of_cuts_follows_the_grid(
    mechanism: AdaptiveTree, coarse: float, fine: float
) -> None:
    for points, share in ((1, coarse), (4096, coarse), (4097, fine), (2**62, fine)):
        cut, tree = mechanism.stages(points)[1:]
        assert cut == PureDP(epsilon=share)
        assert tree == PureDP(epsilon=below(1 - Fraction(share)))


@pytest.mark.parametrize(
    "mechanism",
    [
        swap(10.0),
        swap(5.6),
        add_remove(9.8 / 3),
        add_remove(9.8 / 3, 0),
        swap(30.0, CUT_SHARE),
        swap(16.8, CUT_SHARE),
        add_remove(9.8, None, CUT_SHARE),
        add_remove(9.8, 0, CUT_SHARE),
    ],
)
def test_all_neighbors_are_within_epsilon(mechanism: AdaptiveTree) -> None:
    """Two levels of cuts reach nine tenths of what any number of them may cost."""
    sizes = [0, 1] if mechanism.budget.neighbors is Neighbors.ADD_REMOVE else [2]
    cut = mechanism.cut_share or LUMPY_CUT_SHARE
    check_spent(pure_loss(mechanism, sizes), least=1 - 0.1 * cut)


@pytest.mark.parametrize("free", [2, 3])
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("rate", RATES)
def test_cuts_on_a_ruler_are_within_their_price(rate: float, neighbors: str, free: int) -> None:
    """Levels that are always cut, and runs of marks with one step, which never are."""
    price, rule = most_loss(Fraction(rate)), cells.Rule(0, toll(Fraction(rate)), free)
    ruler = Ruler(np.array([0, 1, 60, 61, 256]), 64, free)
    both = price if neighbors == "add-remove" else rate + price
    worst = 0.0
    for pair in pairs_on((0, 1, 40, 70, 90, 200), [0, 1, 2, 3], neighbors):
        worst = max(worst, *map(abs, extremes(pair, 256, rule, rate, ruler.single)))
    assert 0.5 * both < worst <= both * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", [swap(10.0), add_remove(9.8 / 3), add_remove(9.8 / 3, 0)])
def test_all_neighbors_are_within_epsilon_on_a_ruler(
    mechanism: AdaptiveTree, monkeypatch: Patch
) -> None:
    """Cuts of marks and counts of steps together, in every outcome."""
    on_a_ruler(monkeypatch)
    sizes = [0, 1] if mechanism.budget.neighbors is Neighbors.ADD_REMOVE else [2]
    monkeypatch.setattr("tests.mechanisms.adaptive_tree_checks.bought", lambda _mechanism: 0.0)
    check_spent(pure_loss(mechanism, sizes), least=0.8)


def test_cells_on_a_ruler_are_runs_of_steps(monkeypatch: Patch) -> None:
    """Those without steps are left out, and a block of one step stands alone."""
    on_a_ruler(monkeypatch)
    view = dpq.ArrayView(np.full(900, 7), UniformGrid(0, 16, 1))
    for seed in range(20):
        edges = swap(2.0).tree(view, random.Random(seed)).edges
        inner = edges[edges < 17]
        assert (np.diff(inner) > 0).all()
        assert {7, 8} <= set(edges.tolist())


@pytest.mark.parametrize(
    ("mechanism", "sizes"),
    [
        (concentrated(1.0, "swap"), [2]),
        (concentrated(3.0, "add-remove"), [0, 1]),
        (concentrated(1.0, "swap", CUT_SHARE), [2]),
        (concentrated(3.0, "add-remove", CUT_SHARE), [0, 1]),
    ],
)
def test_all_neighbors_are_within_rho(mechanism: AdaptiveTree, sizes: list[int]) -> None:
    check_spent(concentrated_loss(mechanism, sizes), least=0.7)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_divergence_of_the_cuts_is_within_its_share(neighbors: str) -> None:
    """The two ways of a swap are independent, so that their prices add up."""
    for mechanism in (
        concentrated(1.0, neighbors),
        concentrated(10.0, neighbors),
        concentrated(3.0, neighbors, CUT_SHARE),
        concentrated(30.0, neighbors, CUT_SHARE),
    ):
        check_spent(cutting_divergence(mechanism, [1]), least=0.5)


def test_cuts_follow_their_probabilities() -> None:
    """Draws of the first stage, twenty thousand at once, against (a); rare outcomes are pooled."""
    records, rule, rate = (0, 1, 1, 5, 18), cells.Rule(1, 2), Fraction(0.7)

    def grown(partitions: int) -> cells.Cells:
        keyed, kinds = KeyedLaplaces(random.Random(2), rate), itertools.count()

        def noise(_depth: int, start: cells.Ints) -> cells.Ints:
            return keyed(next(kinds), np.arange(len(start)))  # fresh for each partition

        return cells.grown(counting(records), 20, rule, noise, partitions)

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
def test_no_record_is_read_and_few_ranks_are_asked_for(neighbors: str) -> None:
    budget = PureDP(epsilon=1.0, neighbors=Neighbors(neighbors))
    mechanism = AdaptiveTree(q=DECILES, budget=budget)
    data = np.random.default_rng(3).normal(50, 10, 50_000)
    recording = RecordingView(dpq.ArrayView(data, default_grid(REAL, (0, 100))))
    mechanism.release(recording, random.Random(1))
    assert not recording.asked_index
    assert len(recording.asked_steps) < 10_000


@dataclass
class RoughView:
    """Another view, whose rough ranks are off by up to `off`."""

    view: SortedView
    off: int
    asked: list[set[int]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def ranks(self, steps: cells.Ints) -> tuple[cells.Ints, cells.Ints]:
        self.asked.append(set(steps.tolist()))
        return self.view.ranks(steps)

    def rough_ranks(self, steps: cells.Ints, _slack: int) -> tuple[cells.Ints, cells.Ints]:
        below, _ = self.view.ranks(steps)
        return np.maximum(0, below - steps % self.off), below + steps % (self.off + 1)

    def occupied(self, length: int, limits: Limits) -> int:
        return occupied(self.view, length, limits)


@pytest.mark.parametrize("seed", range(5))
def test_all_ranks_are_asked_for_at_once(seed: int) -> None:
    """So a table is scanned once for them, also where noise cuts cells with few records."""
    data = np.random.default_rng(seed).normal(50, 10, 200_000)
    view = RoughView(dpq.ArrayView(data, default_grid(REAL, (0, 100))), 20)
    swap(1.0).release(view, random.Random(seed))
    first, *others = view.asked
    assert len(first) > 1000
    assert others
    assert all(steps - {view.grid.size} <= first for steps in others)


@pytest.mark.parametrize("off", [1, 15, 2000])
def test_rough_ranks_change_no_release(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However rough they are, and although noise is drawn for other cells then.

    Where ranks are so rough that too many cells might be cut, the rest of them is asked for later.
    """
    data = np.random.default_rng(6).lognormal(7, 1, 30_000).astype(np.int64)
    data[::2] = 5000  # so that there is something to find at every depth
    view = dpq.ArrayView(data, UniformGrid(0, 2**16 - 1, 1))
    monkeypatch.setattr(cells, "MOST_CELLS", 3000)
    asked = []
    for mechanism in (swap(1.0), add_remove(1.0), swap(0.1)):
        whole, rough = mechanism.tree(view, random.Random(8)), RoughView(view, off)
        assert mechanism.tree(rough, random.Random(8)).to_json() == whole.to_json()
        asked.append(len(rough.asked))
    assert asked == [2, 2, 2] if off < 2000 else min(asked) > 2


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
    original = adaptive_tree.rule

    def rule(size: int, number: int, rate: Fraction, ruler: Ruler) -> cells.Rule:
        rules.append(size)
        return original(size, number, rate, ruler)

    with Patch.context() as patch:
        patch.setattr(adaptive_tree, "rule", rule)
        add_remove(0.001, 10).tree(view, random.Random(1))
        add_remove(0.001).tree(view, random.Random(1))
        swap(0.001).tree(view, random.Random(1))
    assert rules[0] == 10
    assert rules[1] != 54321
    assert rules[2] == 54321
