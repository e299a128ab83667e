"""Checks of AdaptiveTree that can be run on the mechanism as it is and on broken copies of it.

The first stage is evaluated exactly: over every set of cells that it can cut, with the probability
of each cell from the definition of the noise, for neighboring records side by side.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpquantiles.auditing.laws import Explorer
from dpquantiles.grid import MOST_STEPS, EveryStep, Ruler
from dpquantiles.kernels import cells, draws
from dpquantiles.kernels.keyed import KeyedLaplaces
from dpquantiles.mechanisms import adaptive_tree
from dpquantiles.mechanisms.adaptive_tree import COARSE, AdaptiveTree
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from tests.mechanisms.joint_exp_checks import Answer, neighbor_pairs, view_of

Patch = pytest.MonkeyPatch
RELATIONS = ("swap", "add-remove")
Pair = tuple[Answer, Answer]

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0)


def log_cut(x: int, rate: float) -> float:
    """ln P[x + z >= 1] for noise z with P[z] proportional to exp(-rate |z|)."""
    s = math.exp(-rate)
    if x <= 0:
        return -rate * (1 - x) - math.log1p(s)
    return math.log1p(-(s**x) / (1 + s))


def log_whole(x: int, rate: float) -> float:
    """ln P[x + z <= 0]: as the noise is symmetric, that of P[1 - x + z >= 1]."""
    return log_cut(1 - x, rate)


def counting(records: tuple[int, ...]) -> Callable[[cells.Ints], cells.Ints]:
    """How many records lie below steps."""
    ordered = np.sort(np.array(records, dtype=np.int64))
    return lambda steps: np.searchsorted(ordered, steps)


def pairs_on(places: Sequence[int], sizes: Sequence[int], neighbors: str) -> Iterator[Pair]:
    """All neighbors whose records lie at these steps (ascending)."""
    for one, other in neighbor_pairs(neighbors, sizes, len(places)):
        yield tuple(places[i] for i in one), tuple(places[i] for i in other)


def extremes(
    pair: Pair, points: int, rule: cells.Rule, rate: float, final: cells.Final = cells.never
) -> tuple[float, float]:
    """The least and the largest ln P[T | one] / P[T | other] over all sets T of cells that are cut.

    Cells are cut independently of each other, so that the extremes below a cell add up. Those that
    are final are not cut, and those of a depth below `free` always are.
    """
    levels = cells.height(points)

    def below(start: int, depth: int) -> tuple[float, float]:
        end = min(start + 4 ** (levels - depth), points)
        inside = [part[bisect_left(part, start) : bisect_left(part, end)] for part in pair]
        if inside[0] == inside[1] or depth == levels:
            return 0.0, 0.0
        found = [below(part, depth + 1) for part in range(start, end, 4 ** (levels - depth - 1))]
        low, high = (sum(side) for side in zip(*found, strict=True))
        if depth < rule.free:
            return low, high
        if final(np.array([start]), np.array([end]))[0]:
            return 0.0, 0.0
        margins = rule.margin(np.array([len(part) for part in inside]), depth).tolist()
        one, other = (log_cut(x, rate) for x in margins)
        whole_one, whole_other = (log_whole(x, rate) for x in margins)
        cut, whole = one - other, whole_one - whole_other
        return min(low + cut, whole), max(high + cut, whole)

    return below(0, 0)


@dataclass(frozen=True)
class Outcome:
    """One set of cells that are cut, its probability, and the exact counts of the tree over it."""

    probability: float
    counts: np.ndarray[Any, Any]
    rate: Fraction


Script = tuple[int, ...]


def replayed(run: Callable[[], Any], rate: Fraction) -> Iterator[tuple[Script, float, Any]]:
    """Everything that `run` can return, one result per set of cells that its first stage cuts.

    The noise of a cell is asked for right after its margin. The first time, both outcomes are
    explored; from then on it is the same noise. The noise of counts is zero.
    """
    explorer, margins, known = Explorer(), [], dict[tuple[int, int], int]()
    original = cells.Rule.margin

    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:
        margins.append(original(rule, counts, depth))
        return margins[-1]

    def noise(cell: tuple[int, int], margin: int) -> int:
        if cell not in known:
            logs = log_whole(margin, float(rate)), log_cut(margin, float(rate))
            known[cell] = explorer.choose([math.exp(log) for log in logs]) - margin
        return known[cell]

    def made(_self: KeyedLaplaces, _bits: object, drawn: Fraction) -> None:
        assert drawn == rate

    def keyed(_self: KeyedLaplaces, depth: int, start: cells.Ints) -> cells.Ints:
        pairs = zip(start.tolist(), margins.pop().tolist(), strict=True)
        return np.array([noise((depth, key), x) for key, x in pairs], dtype=np.int64)

    def zero(_bits: object, _rate: Fraction, count: int) -> cells.Ints:
        return np.zeros(count, dtype=np.int64)

    with Patch.context() as patch:
        patch.setattr(cells.Rule, "margin", margin)
        patch.setattr(KeyedLaplaces, "__init__", made)
        patch.setattr(KeyedLaplaces, "__call__", keyed)
        patch.setattr(draws, "discrete_laplaces", zero)
        while True:
            known.clear()
            result = run()
            yield tuple(explorer.script), explorer.probability, result
            if not explorer.advance():
                return


SMALL_RULER = Ruler(np.array([0, 1, 7, 8, 12, 13, 17]), 4, free=1)
"""Blocks of one step and of several, on 17 points."""


def on_a_ruler(patch: Patch) -> None:
    """Let trees over 17 points cut the marks of a ruler, and keep whole what has one step."""
    patch.setattr(adaptive_tree, "ruler_of", lambda grid: SMALL_RULER if grid.size == 17 else None)


def law_of(mechanism: AdaptiveTree, records: Answer, points: int) -> dict[Script, Outcome]:
    """What the mechanism itself does in every outcome of its first stage."""
    view, found = view_of(records, points), {}
    stages = mechanism.stages(points)
    rate = adaptive_tree.cutting_rate(stages.cut)
    for script, probability, tree in replayed(lambda: mechanism.tree(view, random.Random(0)), rate):
        height = len(tree.levels)
        drawn = mechanism.counting(stages, height, tree.branching).rate(height)
        found[script] = Outcome(probability, np.concatenate(tree.levels), drawn)
    return found


def bought(mechanism: AdaptiveTree) -> float:
    """The epsilon of the rough count that the mechanism draws, 0 where it draws none."""
    spent = [0.0]

    def draw(count: PrivateCount, n: int, bits: object) -> int:  # noqa: ARG001
        spent.append(float(count.rate))
        return n

    with Patch.context() as patch:
        patch.setattr(PrivateCount, "draw", draw)
        mechanism.tree(view_of([0], 2), random.Random(0))
    assert len(spent) <= 2
    return spent[-1]


def renyi(rate: float, order: float) -> float:
    """The Renyi divergence between discrete Laplace noise and itself, shifted by one."""
    s = math.exp(-rate)
    return math.log((s ** (1 - order) + s**order) / (1 + s)) / (order - 1)


def laws(mechanism: AdaptiveTree, places: Sequence[int], sizes: Sequence[int], points: int) -> Any:
    """The laws of all neighbors at these steps, two by two, with a rough count of zero."""
    known: dict[Answer, dict[Script, Outcome]] = {}
    with Patch.context() as patch:
        patch.setattr(PrivateCount, "draw", lambda _count, _n, _bits: 0)
        for pair in pairs_on(places, sizes, str(mechanism.budget.neighbors)):
            for records in pair:
                if records not in known:
                    known[records] = law_of(mechanism, records, points)
            yield known[pair[0]], known[pair[1]]


def pure_loss(mechanism: AdaptiveTree, sizes: Sequence[int]) -> float:
    """The largest loss of all stages together, over all neighbors and all cells, by epsilon.

    Four of five places of 17 points lie in one cell of depth 1.
    """
    assert isinstance(mechanism.budget, PureDP)
    worst = 0.0
    for one, other in laws(mechanism, (0, 4, 8, 12, 16), sizes, 17):
        assert one.keys() == other.keys()
        for script, a in one.items():
            b = other[script]
            cut = abs(math.log(a.probability / b.probability))
            counts = float(a.rate) * float(np.abs(a.counts - b.counts).sum())
            worst = max(worst, cut + counts)
    return (worst + bought(mechanism)) / mechanism.budget.epsilon


def concentrated_loss(mechanism: AdaptiveTree, sizes: Sequence[int]) -> float:
    """The largest Renyi divergence of all stages together, by rho times its order."""
    assert isinstance(mechanism.budget, ZCDP)
    rho, epsilon, worst = mechanism.budget.rho, bought(mechanism), 0.0
    for one, other in laws(mechanism, (0, 4, 8, 12, 16), sizes, 17):
        for p, q in ((one, other), (other, one)):
            for order in ORDERS:
                total = 0.0
                for script, a in p.items():
                    b = q[script]
                    changed = np.abs(a.counts - b.counts)
                    assert changed.max() <= 1
                    counts = float(changed.sum()) * renyi(float(a.rate), order)
                    ratio = (a.probability / b.probability) ** (order - 1)
                    total += a.probability * ratio * math.exp((order - 1) * counts)
                divergence = math.log(total) / (order - 1)
                divergence += renyi(epsilon, order) if epsilon else 0.0
                worst = max(worst, divergence / (rho * order))
    return worst


def cutting_loss(mechanism: AdaptiveTree, sizes: Sequence[int]) -> float:
    """The largest loss of the first stage on a deep grid, by its share of epsilon.

    Three of the places share some cells, the last has none with them.
    """
    cut = mechanism.stages(4**5).cut
    assert isinstance(cut, PureDP)
    rate = adaptive_tree.cutting_rate(cut)
    rule, worst = adaptive_tree.rule(0, mechanism.cells, rate, EveryStep(4**5)), 0.0
    for pair in pairs_on((0, 1, 40, 4**5 - 1), sizes, str(cut.neighbors)):
        worst = max(worst, *map(abs, extremes(pair, 4**5, rule, float(rate))))
    return worst / cut.epsilon


def cutting_divergence(mechanism: AdaptiveTree, sizes: Sequence[int]) -> float:
    """The largest Renyi divergence of the first stage, by its share of rho times its order."""
    cut, worst = mechanism.stages(17).cut, 0.0
    assert isinstance(cut, ZCDP)
    for one, other in laws(mechanism, (0, 4, 8, 12, 16), sizes, 17):
        for p, q in ((one, other), (other, one)):
            ratios = [(a.probability, a.probability / q[key].probability) for key, a in p.items()]
            for order in ORDERS:
                moment = math.fsum(chance * ratio ** (order - 1) for chance, ratio in ratios)
                worst = max(worst, math.log(moment) / (order - 1) / (order * cut.rho))
    return worst


def check_spent(loss: float, least: float) -> None:
    """A loss by its budget: within it, and near it."""
    assert least < loss <= 1 + 1e-12


def swap(epsilon: float, cut_share: float | None = None) -> AdaptiveTree:
    return AdaptiveTree(q=(0.5,), budget=PureDP(epsilon=epsilon), cut_share=cut_share)


def add_remove(
    epsilon: float, size: int | None = None, cut_share: float | None = None
) -> AdaptiveTree:
    budget = PureDP(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)
    return AdaptiveTree(q=(0.5,), budget=budget, size=size, cut_share=cut_share)


def concentrated(rho: float, neighbors: str, cut_share: float | None = None) -> AdaptiveTree:
    budget = ZCDP(rho=rho, neighbors=Neighbors(neighbors))
    return AdaptiveTree(q=(0.5,), budget=budget, cut_share=cut_share)


def stage_sum(stages: Sequence[Guarantee | None], budget: Guarantee) -> tuple[Fraction, Fraction]:
    """What all stages may spend together, exactly, and the budget."""
    name = "rho" if isinstance(budget, ZCDP) else "epsilon"
    spent = sum(Fraction(getattr(stage, name)) for stage in stages if stage is not None)
    return Fraction(spent), Fraction(getattr(budget, name))


def check_sum(stages: Sequence[Guarantee | None], budget: Guarantee) -> None:
    """Stages spend nearly all of a budget, and not more."""
    spent, whole = stage_sum(stages, budget)
    assert whole * (1 - Fraction(1, 2**48)) < spent <= whole


def check_stages() -> None:
    """Any budget, on grids on both sides of COARSE, with and without a share of its own."""
    for amount in np.exp(np.random.default_rng(3).uniform(-18, 18, 60)).tolist():
        for share in (None, 0.01, 0.9):
            for mechanism in (
                swap(amount, share),
                add_remove(amount, None, share),
                add_remove(amount, 9, share),
                *(concentrated(amount, neighbors, share) for neighbors in RELATIONS),
            ):
                for points in (1, COARSE, COARSE + 1, MOST_STEPS):
                    check_sum(mechanism.stages(points), mechanism.budget)
