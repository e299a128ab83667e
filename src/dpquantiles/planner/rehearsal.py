"""Rehearsals: many draws of a mechanism on a reference data set, and how far off they are.

Mechanisms made of JointExps are drawn by `chains.py`, which costs little enough for hundreds of
draws of hundreds of quantiles; trees by `trees.py`; all others by themselves, with seeded bits.
Everything is seeded: a rehearsal of the same public numbers gives the same errors.

JointExp has no scale of its own. Where its rate per rank is far below one, ranks are counted in
units of several records: n / unit records at rate * unit give answers at the same places.
"""

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import MOST_STEPS
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.baselines.ind_exp import IndExp
from dpquantiles.mechanisms.fitted import LUMP, Fitted
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.recursive_joint_exp import Node, RecursiveJointExp
from dpquantiles.planner import trees
from dpquantiles.planner.chains import Chains, Drawn
from dpquantiles.planner.reference import Reference

if TYPE_CHECKING:  # random numbers are loaded when somebody plans
    from numpy.random import Generator

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SEED = 20210215
COARSEST_RATE = 0.17
"""A unit of ranks is so many records that the rate per unit is at most this."""

MOST_RELEASES = 64
"""The most draws of mechanisms that are rehearsed by themselves."""

PROBES = 16
"""How many draws show how long the axis of errors must be."""

LONGEST_AXIS, LONGEST_BATCH_AXIS = 4096, 1024
"""The longest axes to start with, for one data set and for many."""

ENDLESS_AXIS = 1 << 16
"""An axis of so many cells is not lengthened any more, however near its ends draws come."""

MOST_CELLS = 1 << 22
"""Cells of a batch of chains: about a quarter of a gigabyte."""

MOST_WALKED = 1 << 24
"""Cells that draws choose among at once: about half a gigabyte."""


def most_draws(mechanism: Any) -> int:
    """As many draws of a mechanism as take about a second: fewer where they are slow."""
    m = len(mechanism.q)
    if isinstance(mechanism, JointExp):
        return 1024 if m <= 12 else 256 if m <= 40 else 128
    if isinstance(mechanism, RecursiveJointExp):
        return 128
    return 256 if isinstance(mechanism, AggTree) else 1024


def rehearse(mechanism: Any, view: Reference, draws: int) -> Floats:
    """Row d: the rank errors of draw d, for every quantile of the mechanism in ascending order.

    The error of an answer o for q is the distance of q n to [#(x < o), #(x <= o)].
    """
    for family, run in REHEARSALS.items():
        if isinstance(mechanism, family):
            return run(mechanism, view, draws)
    return _by_itself(mechanism, view, draws)


def rank_errors(view: Reference, q: Floats, steps: Ints) -> Floats:
    """The tie-aware errors of answers, row by row."""
    below, through = (found.reshape(steps.shape) for found in view.ranks(steps.ravel()))
    wanted = q * view.n
    return np.maximum(0.0, np.maximum(below - wanted, wanted - through))


def _generator(view: Reference) -> "Generator":
    """Of its own for every sample: the same draws on all of them would not average out."""
    return np.random.default_rng(SEED + view.seed)


def _units(rate: float, view: Reference) -> int:
    """How many records a unit of ranks has."""
    return max(1, min(math.floor(COARSEST_RATE / rate), view.n // 64))


def _joint(mechanism: JointExp, view: Reference, draws: int) -> Floats:
    q = np.sort(mechanism.q)
    rate = mechanism.epsilon / (2 * mechanism.sensitivity)
    unit = _units(rate, view)
    coarse = view.resized(max(1, view.n // unit))
    targets = np.rint(q * coarse.n).astype(np.int64)
    rng, walks = _generator(view), np.zeros(draws, dtype=np.int64)
    steps = _drawn(Part.whole(coarse), targets, rate * unit, rng, walks, coarse.n)
    return rank_errors(view, q, steps)


def _one_by_one(mechanism: IndExp, view: Reference, draws: int) -> Floats:
    q = np.sort(mechanism.q)
    rate = mechanism.each / (2 * mechanism.neighbors.records)
    unit = _units(rate, view)
    coarse = view.resized(max(1, view.n // unit))
    rng = _generator(view)
    walks, part = np.zeros(draws, dtype=np.int64), Part.whole(coarse)
    targets = np.rint(q * coarse.n).astype(np.int64)
    singles = [targets[k : k + 1] for k in range(len(q))]
    columns = [_drawn(part, single, rate * unit, rng, walks, coarse.n) for single in singles]
    return rank_errors(view, q, np.sort(np.concatenate(columns, axis=1), axis=1))


def _recursive(mechanism: RecursiveJointExp, view: Reference, draws: int) -> Floats:
    q, rate = np.sort(mechanism.q), mechanism.node_budget.epsilon / 2
    unit = _units(rate, view)
    coarse = view.resized(max(1, view.n // unit))
    room = max(1, MOST_STEPS // view.grid.size).bit_length() - 1
    fine = coarse.told_apart(1 << min(max(1, coarse.n.bit_length()), room))
    targets = np.array([0, *np.rint(q * coarse.n).astype(np.int64), coarse.n])
    rng = _generator(view)
    cuts = np.zeros((len(targets), draws), dtype=np.int64)
    cuts[-1] = fine.points - 1
    level = [mechanism.tree]
    while level:
        for node in level:
            _find_cuts(node, fine, targets, cuts, rate * unit, rng)
        level = [child for node in level for child in node.children if child]
    steps = cuts[1:-1].T // fine.labels
    return rank_errors(view, q, steps)


def _find_cuts(
    node: Node, view: Reference, targets: Ints, cuts: Ints, rate: float, rng: "Generator"
) -> None:
    """Draws the inner cuts of a node, for all draws of its end points at once."""
    first, last = node.cuts[0], node.cuts[-1]
    whole = last == len(targets) - 1
    part = Part.between(view, cuts[first], cuts[last], last=whole)
    inner = list(node.cuts[1:-1])
    nominal, wanted = int(targets[last] - targets[first]), targets[inner] - targets[first]
    found = _drawn(part, wanted, rate, rng, np.arange(cuts.shape[1]), nominal)
    cuts[inner] = found.T + cuts[first]


class Part:
    """Runs of records of a reference between two steps, one per data set of a batch."""

    def __init__(self, view: Reference, start: Ints, stop: Ints, low: Ints, high: Ints) -> None:
        self.view, self.start, self.stop, self.low, self.high = view, start, stop, low, high

    @classmethod
    def whole(cls, view: Reference) -> "Part":
        """All records, as a single data set."""
        return cls(view, *(np.array([x]) for x in (0, view.n, 0, view.points - 1)))

    @classmethod
    def between(cls, view: Reference, low: Ints, high: Ints, *, last: bool) -> "Part":
        """The records from low up to high, which the last part includes."""
        start, stop = view.ranks(low)[0], view.ranks(high)[0]
        return cls(view, start, np.full_like(stop, view.n) if last else stop, low, high)

    @property
    def n(self) -> Ints:
        """The number of records of every data set."""
        return self.stop - self.start

    def records(self, targets: Ints, axis: range, chosen: Ints) -> Ints:
        """What `Chains` asks of the chosen data sets."""
        start, n = self.start[chosen], self.n[chosen]
        index = (targets[:, None] + np.arange(axis.start - 1, axis.stop))[:, None, :]
        inside = (index >= 0) & (index < n[:, None])
        place = np.where(inside, index + start[:, None], 0)
        steps = self.view.order_statistics(np.minimum(place, self.view.n - 1))
        low, high = self.low[chosen][:, None], self.high[chosen][:, None]
        steps = np.clip(steps, low, high) - low
        return np.where(inside, steps, np.where(index < 0, -1, high - low + 1))


def _drawn(
    part: Part, targets: Ints, rate: float, rng: "Generator", walks: Ints, size: int
) -> Ints:
    """Answers of JointExp for a public size, one for each of the data sets that `walks` names.

    They are steps from the lower end of the part. The axis of errors is lengthened until draws stay
    away from its ends, first a few of them and then all, or until it is endless.
    """
    surplus = part.n - size
    deepest, highest = -int(targets.max()), int(part.n.max() - targets.min())
    half = _half_axis(len(targets), rate, part)
    tried = walks[:PROBES]
    while True:
        first = max(min(0, int(surplus.min())) - half, min(0, deepest))
        stop = min(max(0, int(surplus.max())) + half, max(0, highest)) + 1
        drawn = _batches(part, targets, rate, rng, tried, surplus, range(first, stop))
        lower = first > min(0, deepest) and not drawn.low_enough
        higher = stop <= max(0, highest) and not drawn.high_enough
        if (lower or higher) and stop - first < ENDLESS_AXIS:
            half *= 4
        elif len(tried) == len(walks):
            return drawn.steps
        else:
            tried = walks


def _half_axis(m: int, rate: float, part: Part) -> int:
    """How far errors may go: some decays, and on uneven data as far as all answers together would
    for the room between pieces, where that can be afforded.

    Where the room around all records may be worth leaving them for, errors may go all the way:
    there its logarithm exceeds half of what every answer pays for that.
    """
    decays = 8 + 2 * math.sqrt(m)
    most = LONGEST_AXIS if len(part.n) == 1 else LONGEST_BATCH_AXIS
    far = min(decays + m * part.view.contrast / 2, max(decays, most * rate / 2))
    if part.view.outside > rate * float(part.n.max()) / (m + 1):
        far = max(far, min(rate * float(part.n.max()), most * rate / 2))
    return math.ceil(far / rate)


def _batches(
    part: Part,
    targets: Ints,
    rate: float,
    rng: "Generator",
    walks: Ints,
    surplus: Ints,
    axis: range,
) -> Drawn:
    """Draws from chains of a bounded size, one batch of data sets and of draws after the other."""
    data, own = np.unique(walks, return_inverse=True)
    size = max(1, MOST_CELLS // (len(targets) * len(axis)))
    found: list[Drawn] = []
    for begin in range(0, len(data), size):
        chosen = data[begin : begin + size]
        records = part.records(targets, axis, chosen)
        chains = Chains(rate, targets, axis.start, records, part.n[chosen], surplus[chosen])
        mine = own[(own >= begin) & (own < begin + size)] - begin
        turns = np.array_split(mine, math.ceil(len(mine) * len(axis) / MOST_WALKED))
        found += [chains.draw(rng, some) for some in turns]
    return Drawn(
        np.concatenate([drawn.steps for drawn in found]),
        all(drawn.low_enough for drawn in found),
        all(drawn.high_enough for drawn in found),
    )


def _tree(mechanism: AggTree, view: Reference, draws: int) -> Floats:
    rng = _generator(view)
    return rank_errors(view, np.sort(mechanism.q), trees.even(mechanism, view, draws, rng))


def _adaptive(mechanism: AdaptiveTree, view: Reference, draws: int) -> Floats:
    rng = _generator(view)
    return rank_errors(view, np.sort(mechanism.q), trees.adaptive(mechanism, view, draws, rng))


def _fitted(mechanism: Fitted, view: Reference, draws: int) -> Floats:
    points = view.grid.size
    paid, lumpy = mechanism.stages(points).lumps, draws
    if paid is not None:
        noise = trees.laplaces(_generator(view), paid.noise_rate, draws)
        parts = view.occupied(mechanism.part_length(points, view.n))
        lumpy = int(np.count_nonzero(LUMP * (parts + noise) < view.n))
    shares = {True: lumpy, False: draws - lumpy}
    taken = {shape: mechanism.taken(points, lumpy=shape, size=view.n) for shape in shares}
    return np.concatenate([rehearse(taken[s], view, count) for s, count in shares.items() if count])


def _by_itself(mechanism: Any, view: Reference, draws: int) -> Floats:
    """Seeded draws of the mechanism itself, fewer than of the others."""
    bits, found = random.Random(SEED + view.seed), []
    law = mechanism.law(view) if hasattr(mechanism, "law") else None
    for _ in range(min(draws, MOST_RELEASES)):
        values = law.draw(bits) if law else mechanism.release(view, bits).values
        numbers = [view.grid.kind.number(value, "values") for value in values]
        found.append(view.grid.encode(np.array(numbers)))
    order = np.argsort(mechanism.q, kind="stable")
    return rank_errors(view, np.sort(mechanism.q), np.array(found)[:, order])


REHEARSALS: dict[type, Callable[[Any, Reference, int], Floats]] = {
    JointExp: _joint,
    RecursiveJointExp: _recursive,
    IndExp: _one_by_one,
    AdaptiveTree: _adaptive,
    Fitted: _fitted,
    AggTree: _tree,
}
