"""Quick draws for plans: many draws of a mechanism on made-up records, as grid steps.

Every function gets a mechanism, a reference data set and a number of draws. It returns one row of
steps per draw, for the quantiles in ascending order, or fewer rows if draws are slow. Everything is
seeded: the same public numbers always give the same steps.

JointExp is scale-free. If its rate per rank is far below one, ranks are counted in units of several
records: n / unit records at rate * unit give answers at the same places.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpquantiles.grid import MOST_STEPS, GridFamily, ruler_of
from dpquantiles.grid.member import Member
from dpquantiles.kernels import cells, tree
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree, cutting_rate, leaves, rule
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.baselines.ind_exp import IndExp
from dpquantiles.mechanisms.between import Between
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_simulation import JointDraws, RecordRuns, ReferenceView
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.privacy import Neighbors
from dpquantiles.results import reading
from dpquantiles.views.protocol import Ints

if TYPE_CHECKING:  # numpy.random is imported only when a plan is made
    from numpy.random import Generator

Simulation = Callable[[Any, ReferenceView, int], Ints]
Values = tuple[Any, ...]

SEED, BITS_SEED = 20210215, 2021
"""The seeds of noise and of exact draws."""

COARSEST_RATE = 0.17
"""The largest rate per unit of ranks; it decides how many records are in a unit."""

MOST_RELEASES = 64
"""The most draws of mechanisms without a simulation, which make real releases."""

MOST_FAMILY_DRAWS = 256
"""The most draws of JointExp on a family of grids."""

MOST_COUNTS = 1 << 20
"""The most noisy counts of all trees over an even grid, in total."""


def by_releases(mechanism: Any, view: ReferenceView, draws: int) -> Ints:
    """Seeded draws of the mechanism itself, for any mechanism; slow, so there are few of them."""
    bits, rows = _bits(view), []
    law = mechanism.law(view) if hasattr(mechanism, "law") else None
    for _ in range(min(draws, MOST_RELEASES)):
        values = law.draw(bits) if law else mechanism.release(view, bits).values
        numbers = [view.grid.kind.number(value, "values") for value in values]
        rows.append(view.grid.encode(np.array(numbers)))
    return np.array(rows)[:, np.argsort(mechanism.q, kind="stable")]


def joint_exp(mechanism: JointExp, view: ReferenceView, draws: int) -> Ints:
    """Draws of JointExp; those on a family of grids are real ones, because members vary."""
    if isinstance(view.grid, GridFamily):
        if mechanism.buys_size:
            mechanism = replace(mechanism, size=view.n)
        drawing = mechanism.anchored(view.n, view.grid)
        steps = _on_family(drawing.law(view), view, draws, lambda _, values: values)
        return steps[:, np.argsort(mechanism.q, kind="stable")]
    per_unit = mechanism.epsilon / (2 * mechanism.sensitivity)
    coarse, rate = _in_units(view, mechanism.unit * per_unit)
    return _joint(coarse, _targets(mechanism, coarse), rate, _bits(view), draws)


def between(mechanism: Between, view: ReferenceView, draws: int) -> Ints:
    """Draws of the JointExp, and the answers between; `joint_exp` says why they are real ones."""
    joint = mechanism.joint
    if joint.buys_size:
        joint = replace(joint, size=view.n)
    drawing = joint.anchored(view.n, view.grid)

    def filled(member: Member, values: Values) -> Values:
        return mechanism.values(member, values[: len(joint.q)])

    steps = _on_family(drawing.law(view), view, draws, filled)
    return steps[:, np.argsort(mechanism.q, kind="stable")]


def _on_family(
    law: Any, view: ReferenceView, draws: int, answers: Callable[[Member, Values], Values]
) -> Ints:
    """Draws of members, and what is answered after draws on each."""
    bits, draws = _bits(view), min(draws, MOST_FAMILY_DRAWS)
    chances = np.exp(law.log_weights - np.logaddexp.reduce(law.log_weights))
    members = _generator(view).multinomial(draws, chances / chances.sum())
    rows = []
    for index in np.flatnonzero(members).tolist():
        member, on_member = law.family.members[index], law.member_law(index)
        rows += [answers(member, on_member.draw(bits)) for _ in range(members[index])]
    numbers = [view.grid.kind.number(value, "values") for row in rows for value in row]
    return view.grid.encode(np.array(numbers)).reshape(len(rows), -1)


def one_by_one(mechanism: IndExp, view: ReferenceView, draws: int) -> Ints:
    """Draws of a separate JointExp for every quantile, sorted."""
    coarse, rate = _in_units(view, mechanism.each / (2 * mechanism.neighbors.records))
    bits, targets = _bits(view), _targets(mechanism, coarse)
    columns = [
        _joint(coarse, target, rate, bits, draws) for target in np.split(targets, len(targets))
    ]
    return np.sort(np.concatenate(columns, axis=1), axis=1)


def recursive_joint_exp(mechanism: RecursiveJointExp, view: ReferenceView, draws: int) -> Ints:
    """Draws of a tree of JointExps; each node makes all draws at once."""
    coarse, rate = _in_units(view, mechanism.node_budget.epsilon / 2)
    room = max(1, MOST_STEPS // view.grid.size).bit_length() - 1
    fine = coarse.told_apart(1 << min(max(1, coarse.n.bit_length()), room))
    targets = np.array([0, *_targets(mechanism, coarse), coarse.n])
    bits, cuts = _bits(view), np.zeros((len(targets), draws), dtype=np.int64)
    cuts[-1] = fine.points - 1
    level = [mechanism.tree]
    while level:
        for node in level:
            first, *inner, last = node.cuts
            whole = last == len(targets) - 1
            runs = RecordRuns.between(fine, cuts[first], cuts[last], last=whole)
            size, wanted = int(targets[last] - targets[first]), targets[inner] - targets[first]
            steps = JointDraws(runs, wanted, rate, size, bits).draw(np.arange(draws))
            cuts[inner] = steps.T + cuts[first]
        level = [child for node in level for child in node.children if child]
    return np.asarray(cuts[1:-1].T // fine.labels)


def agg_tree(mechanism: AggTree, view: ReferenceView, draws: int) -> Ints:
    """Draws of trees of noisy counts over an even grid."""
    height, branching = mechanism.shape(view.grid)
    edges, rng = tree.edges(view.grid.size, branching**height), _generator(view)
    count = min(draws, MOST_COUNTS // len(edges))
    below = view.below(edges[1:-1])
    return np.array([_read(mechanism, view, edges, below, rng) for _ in range(count)])


def adaptive_tree(mechanism: AdaptiveTree, view: ReferenceView, draws: int) -> Ints:
    """Draws of trees over cells that follow the records; all trees grow together."""
    points, ruler, rng = view.grid.size, ruler_of(view.grid), _generator(view)
    stages = mechanism.stages(points)
    rate = cutting_rate(stages.cut)
    grown = cells.grown(
        lambda marks: view.below(ruler.steps(marks)),
        ruler.size,
        rule(view.n, mechanism.cells, rate, ruler),
        lambda _, start: _laplaces(rng, rate, len(start)),
        partitions=draws,
        final=ruler.single,
    )
    # Many trees have the same shape, and the mechanism that counts them is slow to build.
    counting = lru_cache(partial(mechanism.counting, stages))
    rows, ends = [], np.flatnonzero(np.diff(grown.partition)) + 1
    for marks, below in zip(np.split(grown.start, ends), np.split(grown.below, ends), strict=True):
        starts, places = np.unique(ruler.steps(marks), return_index=True)
        edges, height, branching = leaves(starts, points)
        below = np.append(below[places][1:], np.full(len(edges) - len(starts) - 1, view.n))
        rows.append(_read(counting(height, branching), view, edges, below, rng))
    return np.array(rows)


def fitted(mechanism: Fitted, view: ReferenceView, draws: int) -> Ints:
    """Draws of the mechanisms that fit, each as often as the noisy test chooses it."""
    points = view.grid.size
    paid, lumpy = mechanism.stages(points).lumps, draws
    if paid is not None:
        noise = _laplaces(_generator(view), paid.noise_rate, draws)
        parts = view.occupied(mechanism.part_of(view.grid, view.n))
        lump = mechanism.lump_of(view.grid, view.n)
        lumpy = int(np.count_nonzero(lump * (parts + noise) < view.n))
    simulations: dict[type, Simulation] = {
        JointExp: joint_exp,
        RecursiveJointExp: recursive_joint_exp,
        AdaptiveTree: adaptive_tree,
        Between: between,
    }
    rows = []
    for shape, count in ((True, lumpy), (False, draws - lumpy)):
        chosen = mechanism.chosen(view.grid, lumpy=shape, size=view.n)
        if count:
            rows.append(simulations[type(chosen)](chosen, view, count))
    return np.concatenate(rows)


def _generator(view: ReferenceView) -> "Generator":
    """A generator of its own for each sample; equal draws on all samples would not average out."""
    return np.random.default_rng(SEED + view.seed)


def _bits(view: ReferenceView) -> random.Random:
    return random.Random(BITS_SEED + view.seed)


def _in_units(view: ReferenceView, rate: float) -> tuple[ReferenceView, float]:
    """The reference with ranks in units, and the rate per unit."""
    unit = max(1, min(math.floor(COARSEST_RATE / rate), view.n // 64))
    return view.resized(max(1, view.n // unit)), rate * unit


def _targets(mechanism: Any, view: ReferenceView) -> Ints:
    targets: Ints = np.rint(np.sort(mechanism.q) * view.n).astype(np.int64)
    return targets


def _joint(
    view: ReferenceView, targets: Ints, rate: float, bits: random.Random, draws: int
) -> Ints:
    """Draws of a JointExp on all records."""
    runs = RecordRuns.whole(view)
    return JointDraws(runs, targets, rate, view.n, bits).draw(np.zeros(draws, dtype=np.int64))


def _read(
    mechanism: AggTree, view: ReferenceView, edges: Ints, below: Ints, rng: "Generator"
) -> Ints:
    """The answers of one tree of noisy counts, for leaves with these edges.

    `below` counts the records below each inner edge.
    """
    height, branching = mechanism.shape(view.grid)
    exact = tree.sums(np.diff(below, prepend=0, append=view.n), branching, height)
    rate = mechanism.rate(height)
    noisy = [counts + _laplaces(rng, rate, len(counts)) for counts in exact]
    total = None
    if mechanism.neighbors is Neighbors.SWAP:
        total = min(view.n, view.n + int(_laplaces(rng, mechanism.rate(1), 1)[0]))
    masses = tree.masses(noisy, branching, total, mechanism.reading)
    return reading.answers(view.grid, masses, edges, np.sort(mechanism.q))


def _laplaces(rng: "Generator", rate: Fraction | float, count: int) -> Ints:
    """Discrete Laplace noise, fast but not exact, for plans only."""
    chance = -math.expm1(-float(rate))
    return np.asarray(rng.geometric(chance, count) - rng.geometric(chance, count))
