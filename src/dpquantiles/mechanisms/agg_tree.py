"""AggTree: noisy counts on a tree over the grid, which answer any number of quantiles.

The counts are those of Dwork, Naor, Pitassi, Rothblum (STOC 2010) and Chan, Shi, Song (ICALP
2010). The mechanism is the baseline AggTree of Gillenwater, Joseph, Kulesza (arXiv 2102.08244). The
steps of the grid are divided into b^h leaves; level l of the tree has b^l nodes.

    counts    y_v = #{x in v} + z_v,   P[z] proportional to exp(-e |z|)                       (1)
    price     a record is in one node of each of the h levels, so a rate of e per node costs
              h e (add-remove), 2 h e (swap); as zCDP  h e^2 / 2,  h e^2                      (2)
    settled   the least-squares counts whose children add up to their parents                 (3)
    masses    the nearest counts to (3) that are not negative, from the top down              (4)
    answers   the inverse of the cumulative masses, linear inside a leaf
    missing   under swap, their number plus noise of rate h e, or sqrt(h) e for zCDP          (5)

The root is not counted. Under swap its count is public or, where missing records are left out, the
public number of all records less (5). That costs nothing, because a record that becomes missing
leaves h nodes and enters none. Under add-remove the sum of its children estimates the root. (3),
(4) and all answers are post-processing. So a released tree answers every later question for free,
and the trees of disjoint groups of people can be added. Proof: `agg_tree.md` beside this file.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid import FloatGrid, Grid, finest
from dpquantiles.kernels import draws, tree
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.results import Release, ReleasedTree
from dpquantiles.views import Demand, SortedView

SHAPE = (3, 10)
"""Height and branching on evenly spaced grids, tuned on 1000 records of N(0, sd) with sd = 0.3, 1
and 5 in [-100, 100] at epsilon = 1 under swap. The number of quantiles hardly matters. The appendix
of the paper, tuned on N(0, 1), has (3, 7) to (3, 12) for six quantiles or more."""

SINGLE_POINTS = 2**11
"""On grids of at most this many points, every point is a leaf, because ties share a point."""

FLOAT_SHAPE = (4, 12)
"""Height and branching on grids of floating-point numbers, where data can have any scale."""

QUANTILE_TREE = (4, 16)
"""The shape of Google's quantile tree, which BigQuery, PipelineDP and PyDP offer."""

MOST_LEAVES = 1 << 22
READINGS = ("settled", "raw")

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class AggTree(Mechanism):
    """A tree of noisy counts within one budget, read at the quantiles `q`.

    `height` and `branching` are h and b; None chooses them from the grid. `reading` says how
    answers are computed from the counts: "settled" uses (3) and (4), "raw" the counts as they are.
    """

    name: ClassVar[str] = "agg_tree"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n + b^h, whatever m",
        when="Counts that can be merged, and more quantiles at no cost; state bounds for integers.",
        uses_size=False,
    )
    height: int | None = None
    branching: int | None = None
    reading: str = READINGS[0]

    def __post_init__(self) -> None:
        super().__post_init__()
        require.choice(READINGS, reading=self.reading)
        self._check_shape()
        self.rate(self.height or max(SHAPE[0], FLOAT_SHAPE[0]))

    def _check_shape(self) -> None:
        if (self.height is None) != (self.branching is None):
            raise InvalidType("height and branching must be given together, or both left out")
        if self.height is None or self.branching is None:
            return
        object.__setattr__(self, "height", require.count(minimum=1, height=self.height))
        object.__setattr__(self, "branching", require.count(minimum=2, branching=self.branching))
        if self.height * math.log(self.branching) > math.log(MOST_LEAVES):
            raise InvalidValue(
                f"height and branching must leave at most {MOST_LEAVES} leaves, "
                f"got height={self.height}, branching={self.branching}"
            )

    def _checked_size(self) -> None:
        """Ignore a stated size, because the tree counts the records."""

    @classmethod
    def quantile_tree(cls, *, q: tuple[float, ...], budget: Guarantee) -> "AggTree":
        """The tree that Google's differential-privacy library, BigQuery and PyDP offer."""
        height, branching = QUANTILE_TREE
        return cls(q=q, budget=budget, height=height, branching=branching, reading="raw")

    def shape(self, grid: Grid) -> tuple[int, int]:
        """Height and branching, from public numbers; leaves are never finer than one grid point."""
        if self.height is not None and self.branching is not None:
            return self.height, self.branching
        height, branching = FLOAT_SHAPE if isinstance(finest(grid), FloatGrid) else SHAPE
        while height > 1 and branching ** (height - 1) >= grid.size:
            height -= 1
        while branching > 2 and (branching - 1) ** height >= grid.size:
            branching -= 1
        while branching**height < grid.size <= SINGLE_POINTS:
            branching += 1
        return height, branching

    def rate(self, height: int) -> Fraction:
        """e of (1), as large as (2) allows; rates beyond MOST_RATE would give no noise at all."""
        rate = Fraction(self.budget.counting_rate(height))
        if rate < draws.LEAST_RATE:
            raise InvalidValue(
                f"the budget must leave at least 2**-40 per node, got {float(rate):.3g}; "
                "use a larger budget"
            )
        return min(rate, draws.MOST_RATE)

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """The ranks at the edges of the leaves, which are public."""
        height, branching = self.shape(grid)
        return Demand(steps=tree.edges(grid.size, branching**height)[1:-1])

    def tree(self, view: SortedView, bits: Bits) -> ReleasedTree:
        """Draw the noisy counts (1), from which everything else follows."""
        height, branching = self.shape(view.grid)
        edges = tree.edges(view.grid.size, branching**height)
        return self.over(edges, view.ranks(edges[1:-1])[0], view, bits)

    def over(self, edges: Ints, below: Ints, view: SortedView, bits: Bits) -> ReleasedTree:
        """Draw the tree over b^h leaves; `below` counts the records below the inner edges."""
        height, branching = self.shape(view.grid)
        leaves = np.diff(below, prepend=0, append=view.n)
        exact = tree.sums(leaves, branching, height)
        rate = self.rate(height)
        noisy = [counts + draws.discrete_laplaces(bits, rate, len(counts)) for counts in exact]
        private = entropy.is_private(bits)
        return ReleasedTree(
            mechanism=self.name,
            grid=view.grid,
            edges=edges,
            branching=branching,
            levels=tuple(noisy),
            size=self.counted(view) if self.neighbors is Neighbors.SWAP else None,
            total=self._total(view, bits),
            reading=self.reading,
            budget=self.guarantee,
            note="" if private else entropy.SEEDED_NOTE,
        )

    def _total(self, view: SortedView, bits: Bits) -> int | None:
        """The root: known under swap, up to noise in the number of missing records (5)."""
        if self.neighbors is not Neighbors.SWAP:
            return None
        if view.missing is None:
            return view.n
        return view.n + int(draws.discrete_laplaces(bits, self.rate(1), 1)[0])

    def release(self, view: SortedView, bits: Bits) -> Release:
        """The answers of one tree at the quantiles `q`."""
        return self.tree(view, bits).quantiles(self.q)
