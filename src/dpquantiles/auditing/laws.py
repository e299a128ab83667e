"""The exact law of each mechanism on a few records, computed with the mechanism's own parts.

Most mechanisms state their law. For the others it is computed. A tree of counts is drawn with the
same seeded noise for both neighbors, so that they differ by their exact counts. Cells are cut by
the real code along every outcome of its noise. A noisy rank is summed over all ranks.
"""

import math
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.grid import EveryStep, UniformGrid
from dpquantiles.kernels import cells
from dpquantiles.kernels.algebra import Floats
from dpquantiles.mechanisms import MECHANISMS, adaptive_tree, slice_quantiles
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.results import ReleasedTree
from dpquantiles.views import ArrayView
from dpquantiles.views.protocol import Ints

Records = tuple[int, ...]
"""Steps of a small grid, in ascending order; the step beyond its last is a missing record."""


class TreeCounts(NamedTuple):
    """Exact counts, and the rates of the noise that is added to them."""

    exact: Ints
    rates: Floats


class ExactLaw(NamedTuple):
    """All outcomes of a mechanism on some records, their log probabilities, and their counts."""

    outcomes: tuple[Hashable, ...]
    logs: Floats
    counts: tuple[TreeCounts, ...] = ()


def small(points: int, n: int) -> Iterator[Records]:
    """All data sets of n records on so many points; these are also all answers to n quantiles."""
    return combinations_with_replacement(range(points), n)


def view_of(records: Records, points: int) -> ArrayView:
    """Records as a mechanism sees them; those beyond the grid are missing."""
    steps = np.array(records, dtype=np.int64)
    return ArrayView(np.ma.masked_array(steps, steps >= points), UniformGrid(0, points - 1, 1))


class Explorer:
    """Replays code along every sequence of its random choices, with their probabilities.

    Every choice is answered as a script says; `advance` moves on to the next script.
    """

    def __init__(self) -> None:
        self.script: list[int] = []
        self.position = 0
        self.probability = 1.0
        self.options: list[int] = []

    def choose(self, weights: Sequence[float]) -> int:
        """Take the scripted choice, or the first possible one where the script ends."""
        possible = [i for i, w in enumerate(weights) if w > 0]
        if self.position == len(self.script):
            self.script.append(0)
            self.options.append(len(possible))
        choice = possible[self.script[self.position]]
        self.position += 1
        self.probability *= weights[choice] / math.fsum(weights)
        return choice

    def advance(self) -> bool:
        """Move to the next sequence of choices; False when all are done."""
        while self.script and self.script[-1] + 1 == self.options[-1]:
            self.script.pop()
            self.options.pop()
        if not self.script:
            return False
        self.script[-1] += 1
        self.position, self.probability = 0, 1.0
        return True


LawOf = Callable[[Any, Records, int], ExactLaw]


def stated(mechanism: Any, records: Records, points: int) -> ExactLaw:
    """The law that the mechanism states, over all answers."""
    law, answers = mechanism.law(view_of(records, points)), tuple(small(points, len(mechanism.q)))
    logs = np.array([law.log_probability(answer) for answer in answers])
    return ExactLaw(answers, logs)


def of_counts(mechanism: AggTree, records: Records, points: int) -> ExactLaw:
    """The law of a tree: one outcome, with the counts."""
    view = view_of(records, points)
    counts = _counts(mechanism.tree(view, random.Random(0)), mechanism)
    return ExactLaw(("tree",), np.zeros(1), (counts,))


def of_cells(mechanism: AdaptiveTree, records: Records, points: int) -> ExactLaw:
    """The law of an adaptive tree: every possible set of cells, with the counts over it."""
    view, stages = view_of(records, points), mechanism.stages(points)
    rate = adaptive_tree.cutting_rate(stages.cut)
    size = len(records) if mechanism.size is None else mechanism.size
    explorer, watched = Explorer(), list[Ints]()

    class Watched(cells.Rule):
        def margin(self, counts: Ints, depth: int) -> Ints:
            watched.append(super().margin(counts, depth))
            return watched[-1]

    def noise(_depth: int, _start: Ints) -> Ints:
        margins = watched.pop()
        chances = [(_chance_whole(x, float(rate)), _chance_cut(x, float(rate))) for x in margins]
        cut = np.array([explorer.choose(pair) for pair in chances], dtype=bool)
        return np.where(cut, 1 - margins, -margins)

    rule = Watched(*adaptive_tree.rule(size, mechanism.cells, rate, EveryStep(points)))
    outcomes, logs, counts = list[tuple[int, ...]](), list[float](), list[TreeCounts]()
    while True:
        grown = cells.grown(lambda steps: view.ranks(steps)[0], points, rule, noise)
        edges, height, branching = adaptive_tree.leaves(grown.start, points)
        counting = mechanism.counting(stages, height, branching)
        below = view.ranks(edges[1:-1])[0]
        outcomes.append(tuple(grown.start.tolist()))
        logs.append(math.log(explorer.probability))
        counts.append(_counts(counting.over(edges, below, view, random.Random(0)), counting))
        if not explorer.advance():
            return ExactLaw(tuple(outcomes), np.array(logs), tuple(counts))


def _counts(tree: ReleasedTree, counting: AggTree) -> TreeCounts:
    """The counts of all nodes and, under swap, of the records that are present."""
    present = [] if tree.total is None else [tree.total]
    counts = np.concatenate([*tree.levels, present]).astype(np.int64)
    rates = np.full(len(counts), float(counting.rate(len(tree.levels))))
    rates[len(rates) - len(present) :] = float(counting.rate(1))
    return TreeCounts(counts, rates)


def _chance_cut(x: int, rate: float) -> float:
    """P[x + z >= 1] for discrete Laplace noise z."""
    s = math.exp(-rate)
    return math.exp(-rate * (1 - x)) / (1 + s) if x <= 0 else 1 - math.exp(-rate * x) / (1 + s)


def _chance_whole(x: int, rate: float) -> float:
    """P[x + z <= 0]: the noise is symmetric."""
    return _chance_cut(1 - x, rate)


def of_fitted(mechanism: Fitted, records: Records, points: int) -> ExactLaw:
    """The law of `fitted`, which uses an adaptive tree on a grid of few points."""
    assert points <= adaptive_tree.COARSE
    grid = view_of(records, points).grid
    tree = mechanism.chosen(grid, lumpy=True, size=mechanism.size or len(records))
    assert isinstance(tree, AdaptiveTree)
    return of_cells(tree, records, points)


def of_ranks(mechanism: SliceQuantiles, records: Records, points: int) -> ExactLaw:
    """The law of one answer, summed over noisy ranks; far beyond all records nothing changes."""
    view = view_of(records, points)
    plan = mechanism.plan(mechanism.counted(view), view.grid)
    (target,) = mechanism.targets(plan, view).tolist()
    ranks = np.arange(-plan.reach - 1, view.n + plan.reach + 2)
    caps = slice_quantiles.caps_of(ranks[:, None], plan)[:, 0]
    heights = np.exp(np.array([math.log(weight) for weight in slice_quantiles.weights(plan)]))
    chances = _noise_chances(ranks - target, float(plan.noise))
    answers = np.zeros(points)
    windows = slice_quantiles.windows_of(view, ranks, -(-caps // plan.slope))
    for chance, window, cap in zip(chances, windows, caps.tolist(), strict=True):
        _, lengths, exponents = slice_quantiles.slots(window, cap, points, plan.slope)
        weights = np.repeat(heights[exponents], lengths)
        answers += chance * weights / weights.sum()
    return ExactLaw(tuple(range(points)), np.log(answers))


def _noise_chances(moves: Ints, rate: float) -> Sequence[float]:
    """P[z] of discrete Laplace noise for a run of moves; both ends include all moves beyond."""
    s = math.exp(-rate)
    inner = [(1 - s) / (1 + s) * math.exp(-rate * abs(move)) for move in moves[1:-1].tolist()]
    ends = (math.exp(-rate * abs(move)) / (1 + s) for move in (moves[0], moves[-1]))
    first, last = ends
    return [first, *inner, last]


def of_keys(keys: PrivateKeys, n: int, most: int) -> ExactLaw:
    """The law of private keys for a group of n records: hidden, or released with a count."""
    k, rate = keys.threshold, keys.epsilon
    weights = {z: math.exp(-rate * abs(z)) for z in range(-k, k + 1)}
    total = math.fsum(weights.values())
    shown = [weights.get(count - n, 0.0) / total if n else 0.0 for count in range(k + 1, k + most)]
    hidden = math.fsum(weights[z] for z in weights if n + z <= k) / total if n else 1.0
    with np.errstate(divide="ignore"):
        return ExactLaw(("hidden", *range(k + 1, k + most)), np.log([hidden, *shown]))


LAWS: dict[str, LawOf] = {
    **{name: stated for name, mechanism in MECHANISMS.items() if hasattr(mechanism, "law")},
    "agg_tree": of_counts,
    "adaptive_tree": of_cells,
    "fitted": of_fitted,
    "slice_quantiles": of_ranks,
}
"""By the name of the mechanism."""
