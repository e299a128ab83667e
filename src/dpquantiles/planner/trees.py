"""Many draws of trees of noisy counts on a reference data set: the steps that they would answer."""

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels import cells, tree
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree, cutting_rate, leaves, rule
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.planner.reference import Reference
from dpquantiles.privacy import Neighbors

if TYPE_CHECKING:  # random numbers are loaded when somebody plans
    from numpy.random import Generator

Ints = NDArray[np.int64]

MOST_COUNTS = 1 << 20
"""The most noisy counts of all trees over an even grid together."""


def even(mechanism: AggTree, view: Reference, draws: int, rng: "Generator") -> Ints:
    """Row d: the answers of tree d, for every quantile in ascending order."""
    height, branching = mechanism.shape(view.grid)
    edges = tree.edges(view.grid.size, branching**height)
    count = min(draws, MOST_COUNTS // len(edges))
    below = view.below(edges[1:-1])
    return np.array([_read(mechanism, view, edges, below, rng) for _ in range(count)])


def adaptive(mechanism: AdaptiveTree, view: Reference, draws: int, rng: "Generator") -> Ints:
    """As `even`, over cells that follow the records; all trees grow side by side."""
    points = view.grid.size
    stages = mechanism.stages(points)
    rate = cutting_rate(stages.cut)
    found = cells.grown(
        view.below,
        points,
        rule(view.n, mechanism.cells, rate),
        lambda count: laplaces(rng, rate, count),
        partitions=draws,
    )
    # Many trees have the same shape, and what counts them checks its numbers anew when it is made.
    counting = lru_cache(partial(mechanism.counting, stages))
    answers, ends = [], np.flatnonzero(np.diff(found.partition)) + 1
    for starts, below in zip(np.split(found.start, ends), np.split(found.below, ends), strict=True):
        edges, height, branching = leaves(starts, points)
        below = np.append(below[1:], np.full(len(edges) - len(below) - 1, view.n))
        answers.append(_read(counting(height, branching), view, edges, below, rng))
    return np.array(answers)


def _read(mechanism: AggTree, view: Reference, edges: Ints, below: Ints, rng: "Generator") -> Ints:
    """Answers read off one tree of noisy counts, for leaves with these edges.

    `below` says how many records lie below each inner edge.
    """
    height, branching = mechanism.shape(view.grid)
    exact = tree.sums(np.diff(below, prepend=0, append=view.n), branching, height)
    rate = mechanism.rate(height)
    noisy = [counts + laplaces(rng, rate, len(counts)) for counts in exact]
    total = view.n if mechanism.neighbors is Neighbors.SWAP else None
    masses = tree.masses(noisy, branching, total, mechanism.reading)
    return tree.inverse(masses, edges, np.sort(mechanism.q))


def laplaces(rng: "Generator", rate: Fraction | float, count: int) -> Ints:
    """Discrete Laplace noise, quick and not exact: for rehearsals only."""
    chance = -math.expm1(-float(rate))
    return np.asarray(rng.geometric(chance, count) - rng.geometric(chance, count))
