"""AdaptiveTree: the grid is cut where records are, and the pieces are counted on a tree.

A tree over an even grid (`agg_tree.py`) cannot see inside a leaf, however many records it has. Here
a small share of the budget cuts the grid first, again and again where many records are left, and a
tree of noisy counts over the pieces gets the rest. How often cells are cut costs nothing: close
calls are rare on the way to any one record. The idea is that of PrivTree (Zhang, Xiao, Xie, SIGMOD
2016); rule, noise and price are our own.

    cut       a cell of depth d with c records, where max(1 - g, c - t - (d-1) g) + z >= 1,
              P[z] proportional to exp(-a |z|), s = e^-a                                       (1)
    price     F = a + f(1) + f(1 + g) + f(1 + 2 g) + ...,
              f(x) = ln((1 + s - s^(x+1)) / (1 + s - s^x)) : the loss lies in [-a, F] for one
              record more, in [-a - F, a + F] for a swap                                       (2)
    counts    of all cells, by (1) to (4) of `agg_tree.py` for what is left of the budget

t is the public number of records over `cells`: finer cells would only add noise. Under add-remove
neighbors without a stated size a rough count is bought for it. Proof: `adaptive_tree.md`.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import MOST_STEPS, Grid
from dpquantiles.kernels import cells, draws
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors
from dpquantiles.privacy.conversions import SAFE
from dpquantiles.results import Release, ReleasedTree
from dpquantiles.views import Demand, SortedView

Ints = NDArray[np.int64]

CUT_SHARE, LUMPY_CUT_SHARE = 0.1, 0.3
"""The share of a budget that cuts the grid, and a good one where many records lie close together:
there the cuts have lumps to find, and a cell that is a single point cannot be wrong.
"""

COARSE = 2**12
"""The most points of a grid that is taken to hold records close together."""

SIZE_SHARE = 0.02
"""The share that buys the number of records where it is neither public nor given."""

CELLS = 512
"""Cells for records of which nothing is known. Shares and this were tuned on evenly spread, normal,
clustered and tied records, 1000 to 10**6 of them, epsilon = 1, swap."""

HIGHEST = 6
"""The highest tree over cells."""

MOST_CUT_SHARE = 0.9
SEARCH_STEPS = 50
TERMS = 32
"""Terms of (2) that are added up one by one; f falls by a factor of four or more from one to the
next, and what follows is bounded."""


class Stages(NamedTuple):
    """What each stage may spend: the number of records, where it must be bought, cuts, counts."""

    size: Guarantee | None
    cut: Guarantee
    tree: Guarantee


@dataclass(frozen=True, kw_only=True)
class AdaptiveTree(Mechanism):
    """A tree of noisy counts over cells that follow the records, read at the quantiles `q`.

    `size` is a public number of records, roughly right, for add-remove neighbors. `cut_share` is
    the share of the budget that cuts the grid; None picks it from the grid. `cells` is about how
    many cells evenly spread records get.
    """

    name: ClassVar[str] = "adaptive_tree"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n, whatever m",
        when="many quantiles, above all of few records; later queries are free",
        size_share=SIZE_SHARE,
    )
    cut_share: float | None = None
    cells: int = CELLS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cells", require.count(minimum=1, cells=self.cells))
        if self.cut_share is not None:
            share = require.positive(cut_share=self.cut_share)
            if share > MOST_CUT_SHARE:
                raise InvalidValue(f"cut_share must be at most {MOST_CUT_SHARE}, got {share!r}")
            object.__setattr__(self, "cut_share", share)
        for points in (COARSE, MOST_STEPS):
            stages = self.stages(points)
            cutting_rate(stages.cut)
            self.counting(stages, HIGHEST, 2).rate(HIGHEST)

    def stages(self, points: int) -> Stages:
        """What each stage may spend on a grid of so many points."""
        cut = self.cut_share or (LUMPY_CUT_SHARE if points <= COARSE else CUT_SHARE)
        if self.buys_size:
            return Stages(*self.budget.split(SIZE_SHARE, cut))
        return Stages(None, *self.budget.split(cut))

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """All records: where the grid is cut depends on where it was cut before."""
        return Demand.everything(n)

    def tree(self, view: SortedView, bits: Bits) -> ReleasedTree:
        """The tree itself, a public value that answers any quantile."""
        points = view.grid.size
        records = view.order_statistics(self.demand(view.n, view.grid).index)
        size = self._size(view.n, bits)
        stages = self.stages(points)
        rate = cutting_rate(stages.cut)
        grown = cells.grown(
            lambda steps: np.searchsorted(records, steps),
            points,
            rule(size, self.cells, rate),
            lambda count: draws.discrete_laplaces(bits, rate, count),
        )
        edges, height, branching = leaves(grown.start, points)
        below = np.searchsorted(records, edges[1:-1])
        counted = self.counting(stages, height, branching).over(edges, below, view, bits)
        return replace(counted, mechanism=self.name, budget=self.budget)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """The answers of one tree at the quantiles `q`."""
        return self.tree(view, bits).quantiles(self.q)

    def counting(self, stages: Stages, height: int, branching: int) -> AggTree:
        """What counts the cells, in a tree of this shape."""
        return AggTree(q=self.q, budget=stages.tree, height=height, branching=branching)

    def _size(self, n: int, bits: Bits) -> int:
        """The public number of records: known, stated or bought."""
        paid = self.stages(MOST_STEPS).size
        return self.public_size(n) if paid is None else PrivateCount(budget=paid).draw(n, bits)


def rule(size: int, number: int, rate: Fraction) -> cells.Rule:
    """(1) for a public number of records, and about so many cells."""
    return cells.Rule(least=size // number, toll=toll(rate))


def leaves(starts: Ints, points: int) -> tuple[Ints, int, int]:
    """Edges of the leaves of a balanced tree over cells, its height and its branching.

    The error of a sum of leaves grows about like h^2.5 b; leaves beyond the cells hold no step.
    """
    shapes = [(h, _root_above(len(starts), h)) for h in range(1, HIGHEST + 1)]
    height, branching = min(shapes, key=lambda shape: shape[0] ** 2.5 * shape[1])
    rest = np.full(branching**height - len(starts) + 1, points, dtype=np.int64)
    return np.concatenate([starts, rest]), height, branching


def _root_above(number: int, degree: int) -> int:
    """The smallest b >= 2 with b**degree >= number."""
    root = max(2, int(number ** (1 / degree)) - 1)
    while root**degree < number:
        root += 1
    return root


def toll(rate: Fraction) -> int:
    """g of (1): with it, a cell without records is cut with a probability below 1 / BRANCHING, so
    that empty cells die out.
    """
    return max(1, math.ceil(math.log(cells.BRANCHING) / float(rate)))


def most_loss(rate: Fraction) -> float:
    """F of (2), rounded up."""
    a, g = float(rate), toll(rate)
    small = -math.expm1(-a)
    loss = a
    for k in range(TERMS):
        power = math.exp(-a * (1 + k * g))
        loss += math.log1p(power * small / (1 + math.exp(-a) - power))
    rest = small * math.exp(-a * (1 + TERMS * g)) / -math.expm1(-a * g)
    return (loss + rest) / SAFE


@lru_cache(maxsize=256)
def cutting_rate(budget: Guarantee) -> Fraction:
    """The largest a of (1), nearly, whose price (2) a budget covers."""
    if isinstance(budget, ZCDP):
        # The loss has the range F + a; a swap is one record less and one more.
        limit, both_sides = budget.divided(budget.neighbors.records).bounded_range(), True
    else:
        limit, both_sides = budget.amount, budget.neighbors is Neighbors.SWAP

    def covered(rate: Fraction) -> bool:
        other_side = float(rate) / SAFE if both_sides else 0.0
        return most_loss(rate) + other_side <= limit

    if not covered(draws.LEAST_RATE):
        raise InvalidValue(
            f"the budget must leave at least 2**-40 per cell, got about {0.3 * limit:.3g}; "
            "take a larger budget"
        )
    low, high = draws.LEAST_RATE, min(Fraction(limit), draws.MOST_RATE)
    for _ in range(SEARCH_STEPS):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if covered(middle) else (low, middle)
    return low
