"""AdaptiveTree: cut the grid where the records are, and count the cells on a tree.

A tree over evenly spaced leaves (`agg_tree.py`) cannot see inside a leaf, however many records it
has. Here a small share of the budget first cuts the grid into cells, again and again where there
are many records. The rest pays for a tree of noisy counts over the cells. The price does not grow
with the number of cuts, because few of the cells that contain a given record are close to the
threshold. The idea is that of PrivTree (Zhang, Xiao, Xie, SIGMOD 2016); the rule, the noise and the
price are our own.

    cut       a cell of depth d with c records if max(1 - g, c - t - (d-l) g) + z >= 1,
              P[z] proportional to exp(-a |z|), s = e^-a                                       (1)
    price     F = a + f(1) + f(1 + g) + f(1 + 2 g) + ...,
              f(x) = ln((1 + s - s^(x+1)) / (1 + s - s^x)) : the loss lies in [-a, F] for one
              record more, in [-a - F, a + F] for a swap                                       (2)
    counts    of all cells, by (1) to (4) of `agg_tree.py`, for the rest of the budget

The noise z of a cell may be known before its records are counted (`kernels/keyed.py`). So an engine
counts on both sides of all edges that may matter in a single scan.

t is the public number of records divided by `cells`: finer cells would only add noise. Under
add-remove neighbors without a stated size, a rough private count is bought for it. Cells of a depth
below l are always cut. Where bounds and a resolution are not both stated, cells are runs of the
marks of a ruler, on which usual and round numbers are reached with few cuts (`grid/ruler.py`).
Proof: `adaptive_tree.md`.
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
from dpquantiles.grid import MOST_STEPS, Grid, Ruler, ruler_of
from dpquantiles.kernels import cells, draws
from dpquantiles.kernels.keyed import KeyedLaplaces
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors
from dpquantiles.privacy.conversions import SAFE
from dpquantiles.results import Release, ReleasedTree
from dpquantiles.views import Demand, SortedView, rough_ranks
from dpquantiles.views.protocol import among

Ints = NDArray[np.int64]

CUT_SHARE, LUMPY_CUT_SHARE = 0.1, 0.3
"""The share of a budget that cuts the grid: in general, and where many records lie close together.
Then better cuts pay off, because a cell that is a single point has no error inside.
"""

COARSE = 2**12
"""On grids of at most this many points, records count as close together."""

SIZE_SHARE = 0.02
"""The share that buys the number of records where it is neither public nor stated."""

CELLS = 512
"""The default number of cells. It and the shares were tuned on even, normal, clustered and tied
records, 1000 to 10**6 of them, at epsilon = 1 under swap neighbors."""

SLACK = 16
"""First it is found out which cells may be heavy, up to this part of the records of most cells."""

HIGHEST = 6
"""The greatest height of a tree over cells."""

MOST_CUT_SHARE = 0.9
SEARCH_STEPS = 50
TERMS = 32
"""How many terms of (2) are added one by one. From one term to the next, f falls at least by a
factor of four; the remaining terms are bounded."""


class Stages(NamedTuple):
    """The budgets of the stages: the number of records (if it must be bought), cuts and counts."""

    size: Guarantee | None
    cut: Guarantee
    tree: Guarantee


@dataclass(frozen=True, kw_only=True)
class AdaptiveTree(Mechanism):
    """A tree of noisy counts over cells that follow the records, read at the quantiles `q`.

    `size` is the public number of records, at least roughly, under add-remove neighbors.
    `cut_share` is the share of the budget that cuts the grid; None chooses it from the grid.
    `cells` is the approximate number of cells for evenly spread records.
    """

    name: ClassVar[str] = "adaptive_tree"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n, whatever m",
        when="Many quantiles of few records, and more quantiles later at no cost.",
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
        """The budgets of the stages on a grid of this many points."""
        cut = self.cut_share or (LUMPY_CUT_SHARE if points <= COARSE else CUT_SHARE)
        if self.buys_size:
            return Stages(*self.budget.split(SIZE_SHARE, cut))
        return Stages(None, *self.budget.split(cut))

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """Any record, because every cut depends on earlier ones."""
        return Demand.everything(n)

    def tree(self, view: SortedView, bits: Bits) -> ReleasedTree:
        """Draw the tree, a public value that answers any quantile."""
        points, size = view.grid.size, self._size(view, bits)
        stages = self.stages(points)
        starts = self._cut(view, size, cutting_rate(stages.cut), bits)
        edges, height, branching = leaves(starts, points)
        below, _ = view.ranks(edges[1:-1])
        counted = self.counting(stages, height, branching).over(edges, below, view, bits)
        return replace(counted, mechanism=self.name, budget=self.budget)

    def _cut(self, view: SortedView, size: int, rate: Fraction, bits: Bits) -> Ints:
        """The first steps of the cells of the first stage, in ascending order."""
        ruler, slack = ruler_of(view.grid), size // self.cells // SLACK
        cutting, noise = rule(size, self.cells, rate, ruler), KeyedLaplaces(bits, rate)

        def rough(marks: Ints) -> tuple[Ints, Ints]:
            return rough_ranks(view, ruler.steps(marks), slack)

        # All ranks that may be needed, now or for the counts, are asked for at once.
        known = cells.reached(rough, ruler.size, cutting, noise, ruler.single)
        known_below, _ = view.ranks(ruler.steps(known))

        def below(marks: Ints) -> Ints:
            places = np.searchsorted(known, marks)
            if among(known, marks, places).all():
                return known_below[places]
            return view.ranks(ruler.steps(marks))[0]

        grown = cells.grown(below, ruler.size, cutting, noise, final=ruler.single)
        return np.unique(ruler.steps(grown.start))

    def release(self, view: SortedView, bits: Bits) -> Release:
        """The answers of one tree at the quantiles `q`."""
        return self.tree(view, bits).quantiles(self.q)

    def counting(self, stages: Stages, height: int, branching: int) -> AggTree:
        """The mechanism that counts the cells, in a tree of this shape."""
        return AggTree(q=self.q, budget=stages.tree, height=height, branching=branching)

    def _size(self, view: SortedView, bits: Bits) -> int:
        """The public number of records: all of them under swap, else stated or bought."""
        paid = self.stages(MOST_STEPS).size
        if paid is not None:
            return PrivateCount(budget=paid).draw(view.n, bits)
        return self.public_size(self.counted(view))


def rule(size: int, number: int, rate: Fraction, ruler: Ruler) -> cells.Rule:
    """The rule (1) for a public number of records and about `number` cells.

    On the way to the blocks of a ruler, tolls take the place of t.
    """
    tolls = toll(rate)
    return cells.Rule(max(0, size // number - ruler.way * tolls), tolls, ruler.free)


def leaves(starts: Ints, points: int) -> tuple[Ints, int, int]:
    """The edges of the leaves of a balanced tree over cells, its height and its branching.

    The error of a sum of leaves grows roughly like h^2.5 b. Leaves beyond the last cell are empty.
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
    """g of (1).

    With it, a cell without records is cut with a probability below 1 / BRANCHING, so empty cells
    die out.
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
    """Nearly the largest a of (1) whose price (2) the budget covers."""
    if isinstance(budget, ZCDP):
        # The range of the loss is F + a. A swap removes one record and adds another.
        limit, both_sides = budget.divided(budget.neighbors.records).bounded_range(), True
    else:
        limit, both_sides = budget.amount, budget.neighbors is Neighbors.SWAP

    def covered(rate: Fraction) -> bool:
        other_side = float(rate) / SAFE if both_sides else 0.0
        return most_loss(rate) + other_side <= limit

    if not covered(draws.LEAST_RATE):
        raise InvalidValue(
            f"the budget must leave at least 2**-40 per cell, got about {0.3 * limit:.3g}; "
            "use a larger budget"
        )
    low, high = draws.LEAST_RATE, min(Fraction(limit), draws.MOST_RATE)
    for _ in range(SEARCH_STEPS):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if covered(middle) else (low, middle)
    return low
