"""The exact joint law of SliceQuantiles on tiny data, by summing over all outcomes of the noise."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from dpquantiles.mechanisms import slice_quantiles as module
from dpquantiles.mechanisms.slice_quantiles import SlicePlan
from tests.mechanisms.joint_exp_checks import left, neighbor_pairs, view_of

Floats = np.ndarray


def tiny(
    targets: Sequence[int], noise: str, decay: str, reach: int, slope: int, margin: int
) -> SlicePlan:
    steps = np.array(targets, dtype=np.int64)
    return SlicePlan(steps, Fraction(noise), Fraction(decay), reach, slope, margin)


def paths(m: int) -> list[set[int]]:
    """The Fenwick nodes over every index 1 .. m+1, the last of which has none."""
    found = []
    for k in range(1, m + 2):
        nodes = set()
        while k <= m:
            nodes.add(k)
            k += k & -k
        found.append(nodes)
    return found


def price(plan: SlicePlan, neighbors: str) -> float:
    """Equation (5), with the node counts from all pairs of indices."""
    nodes = paths(len(plan.targets))
    edge = math.log1p(len(plan.targets) / (2 * plan.margin))
    if neighbors == "swap":
        moved = max(len(a ^ b) for a, b in itertools.product(nodes, repeat=2))
        return float(moved * plan.noise + plan.decay * (3 + Fraction(2, plan.slope))) + edge
    moved = max(map(len, nodes))
    return float(moved * plan.noise + plan.decay * (2 + Fraction(1, plan.slope))) + edge


def answer_laws(
    plan: SlicePlan, records: Sequence[int], points: int, ranks: Sequence[int]
) -> Floats:
    """The laws of one answer as the code draws it, for these ranks (rows) and all caps."""
    view, table = view_of(records, points), module.weights(plan)
    heights = np.array([weight / table[0] for weight in table])
    laws = np.empty((len(ranks), len(table), points))
    for cap in range(len(table)):
        reaches = np.full(len(ranks), -(-cap // plan.slope))
        for row, window in enumerate(module.windows_of(view, np.array(ranks), reaches)):
            _, lengths, exponents = module.slots(window, cap, points, plan.slope)
            laws[row, cap] = np.repeat(heights[exponents], lengths)
    return np.asarray(laws / laws.sum(axis=2, keepdims=True))


def definition(plan: SlicePlan, records: Sequence[int], points: int, rank: int, cap: int) -> Floats:
    """Equation (4) in the dumbest way."""
    weights = []
    for o in range(points):
        low = sum(x < o for x in records) if o > 0 else -math.inf
        high = sum(x <= o for x in records) if o < points - 1 else math.inf
        distance = max(0.0, low - rank, rank - high)
        weights.append(math.exp(-float(plan.decay) * min(cap / plan.slope, distance)))
    return np.array(weights) / sum(weights)


def noise_box(plan: SlicePlan, reach: int) -> tuple[Floats, Floats]:
    """All node noises up to this size, as prefix noise and as probabilities."""
    m = len(plan.targets)
    nodes = np.array(list(itertools.product(range(-reach, reach + 1), repeat=m)))
    ratio = math.exp(-plan.noise)
    scale = ((1 - ratio) / (1 + ratio)) ** m
    units = np.array([module.prefix_noise(z) for z in np.eye(m, dtype=np.int64)])
    return nodes @ units, scale * ratio ** np.abs(nodes).sum(axis=1)


class Laws:
    """Joint laws of unsorted answers, for one plan on many data sets."""

    def __init__(self, plan: SlicePlan, points: int, reach: int) -> None:
        self.plan, self.points = plan, points
        self.prefix, self.chances = noise_box(plan, reach)
        self.known: dict[tuple[int, ...], Floats] = {}

    def of(self, records: tuple[int, ...]) -> Floats:
        """The probability of every vector of answers, as an array with one axis per answer."""
        if records not in self.known:
            low, high = -1 - self.plan.reach, len(records) + 1 + self.plan.reach
            ranks = self._targets(records) + self.prefix
            near, caps = np.clip(ranks, low, high), module.caps_of(ranks, self.plan)
            table = answer_laws(self.plan, records, self.points, range(low, high + 1))
            each = [table[near[:, i] - low, caps[:, i]] for i in range(near.shape[1])]
            letters = "abcdefg"[: len(each)]
            joint = np.einsum(
                f"z,{','.join('z' + c for c in letters)}->{letters}", self.chances, *each
            )
            self.known[records] = np.asarray(joint)
        return self.known[records]

    def at(self, records: tuple[int, ...], answers: Sequence[int]) -> float:
        """The probability of one vector of answers."""
        low, high = -1 - self.plan.reach, len(records) + 1 + self.plan.reach
        ranks = self._targets(records) + self.prefix
        near, caps = np.clip(ranks, low, high) - low, module.caps_of(ranks, self.plan)
        table = answer_laws(self.plan, records, self.points, range(low, high + 1))
        chances = self.chances.copy()
        for i, answer in enumerate(answers):
            chances *= table[near[:, i], caps[:, i], answer]
        return float(chances.sum())

    def _targets(self, records: tuple[int, ...]) -> Floats:
        """The targets of the plan, less the ranks that missing records strike.

        Plans here have targets for more records than there are, so all of these count as present.
        """
        missing = sum(x >= self.points for x in records)
        size = max(len(records), int(self.plan.targets[-1]))
        found = [left(target, size, missing) for target in self.plan.targets.tolist()]
        return np.array(found)

    def losses(self, neighbors: str, sizes: Sequence[int]) -> Iterator[float]:
        """The worst loss of every pair of neighbors."""
        missing = neighbors == "swap"
        for one, other in neighbor_pairs(neighbors, sizes, self.points + missing):
            yield float(np.abs(np.log(self.of(one) / self.of(other))).max())


def worst_share(
    plan: SlicePlan, neighbors: str, sizes: Sequence[int], points: int, reach: int
) -> float:
    """The worst loss over all neighbors and all vectors of answers, as a share of its price."""
    return max(Laws(plan, points, reach).losses(neighbors, sizes)) / price(plan, neighbors)


def check_private(
    plan: SlicePlan, neighbors: str, sizes: Sequence[int], points: int, reach: int
) -> None:
    """No loss above the price, for all neighbors and all vectors of answers."""
    assert 0.0 < worst_share(plan, neighbors, sizes, points, reach) <= 1 + 1e-5


def shifted_loss(plan: SlicePlan) -> float:
    """The loss where one record before all others moves every rank by one."""
    n = int(plan.targets[-1]) + 3
    records = tuple(range(2, 2 * n + 1, 2))
    between = [2 * int(target) + 1 for target in plan.targets]
    laws = Laws(plan, 2 * n + 3, reach=2)
    return math.log(laws.at(records, between) / laws.at((1, *records), between))


def clashing_loss(plan: SlicePlan) -> float:
    """The worst loss where all targets are one rank, answers on both sides of a new record."""
    records, rank = tuple(range(2, 21, 2)), int(plan.targets[0])
    more = tuple(sorted((*records, 2 * rank + 1)))
    laws, m = Laws(plan, 23, reach=2), len(plan.targets)
    sides = ([i < m // 2 for i in range(m)], [i >= m // 2 for i in range(m)], [True] * m)
    losses = [0.0]
    for side, away in itertools.product(sides, range(3)):
        answers = [2 * (rank + away) + 2 if above else 2 * (rank - away) for above in side]
        losses.append(abs(math.log(laws.at(records, answers) / laws.at(more, answers))))
    return max(losses)


def moved_back(ranks: Floats, threshold: int) -> Floats:
    """The map of removing: the suffix from the first rank above the threshold, down by one."""
    return np.asarray(ranks - np.logical_or.accumulate(ranks > threshold, axis=1))


class Pairs:
    """Inequality (6) of the proof, for all ranks of a box, on given data of equal size."""

    def __init__(self, plan: SlicePlan, data: Sequence[tuple[int, ...]], points: int) -> None:
        self.plan, self.points, self.data = plan, points, data
        span = range(-plan.margin - 1, len(data[0]) + plan.margin + 3)
        box = itertools.product(span, repeat=len(plan.targets))
        self.larger = np.array(list(box), dtype=np.int64)
        self.tables: dict[tuple[int, ...], Floats] = {}

    def _log_laws(self, records: tuple[int, ...], ranks: Floats) -> Floats:
        low, high = int(self.larger.min()) - 1, int(self.larger.max())
        if records not in self.tables:
            laws = answer_laws(self.plan, records, self.points, range(low, high + 1))
            self.tables[records] = np.log(laws)
        return np.asarray(self.tables[records][ranks - low, module.caps_of(ranks, self.plan)])

    def worst(self, thresholds: Sequence[int]) -> float:
        """The largest |ln f - ln f'| over data, added records, thresholds from p, and answers."""
        worst = 0.0
        for records in self.data:
            for y in range(self.points):
                after = self._log_laws(tuple(sorted((*records, y))), self.larger)
                for offset in thresholds:
                    smaller = moved_back(self.larger, sum(x < y for x in records) + offset)
                    change = self._log_laws(records, smaller) - after
                    sums = change.max(axis=2).sum(axis=1), -change.min(axis=2).sum(axis=1)
                    worst = max(worst, float(np.max(sums)))
        return worst


def most_preimages(plan: SlicePlan) -> float:
    """The largest number of ranks that removing sends to the same ranks, per threshold."""
    m, w = len(plan.targets), plan.margin
    box = np.array(list(itertools.product(range(-w - 2, w + 3), repeat=m)), dtype=np.int64)
    sent: Counter[tuple[int, ...]] = Counter()
    for threshold in range(-w, w):
        sent.update(map(tuple, moved_back(box, threshold).tolist()))
    return max(sent.values()) / (2 * w)
