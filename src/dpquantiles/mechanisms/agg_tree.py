"""AggTree: noisy counts on a tree over the grid, from which any number of quantiles can be read.

The tree-based counts of Dwork, Naor, Pitassi, Rothblum (STOC 2010) and Chan, Shi, Song (ICALP
2010), as the baseline AggTree of Gillenwater, Joseph, Kulesza (arXiv 2102.08244). The grid's steps
are cut into b^h leaves; level l of the tree joins them into b^l nodes.

    counts    y_v = #{x in v} + z_v,   P[z] proportional to exp(-e |z|)                       (1)
    price     every record is on one node of each of the h levels, so with e per node
              h e (add-remove), 2 h e (swap); as zCDP  h e^2 / 2,  h e^2                      (2)
    settled   the least-squares counts whose children add up to their parents                 (3)
    masses    top-down, the nearest counts to (3) that are not negative                       (4)
    answers   the inverse of the cumulative masses, linear inside a leaf

The root is not counted: under swap it is n, which is public, and under add-remove the sum of its
children says as much. (3), (4) and all answers are post-processing: a released tree answers every
later question for free, and the trees of disjoint groups of people can be added up.
Proof: `agg_tree.md` beside this file.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles import entropy, privacy, require
from dpquantiles.entropy import Bits
from dpquantiles.grid import FloatGrid, Grid
from dpquantiles.kernels import draws, tree
from dpquantiles.kernels.algebra import Floats
from dpquantiles.mechanisms.law import Profile
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from dpquantiles.release import Release
from dpquantiles.views import Demand, SortedView

SHAPE = (3, 10)
"""Height and branching on evenly spaced grids. Tuned on N(0, sd) with sd of 0.3, 1 and 5 in
[-100, 100], 1000 records, epsilon = 1, swap; the number of quantiles hardly matters. The paper's
tables (its appendix, tuned on N(0, 1)) have (3, 7) to (3, 12) from six quantiles on."""

FLOAT_SHAPE = (4, 12)
"""On grids of floating-point numbers, where any scale may hold all the data."""

QUANTILE_TREE = (4, 16)
"""The shape of Google's quantile tree, which BigQuery, PipelineDP and PyDP offer."""

MOST_LEAVES = 1 << 22
READINGS = ("settled", "raw")
FORMAT = 1
"""Version of the JSON layout of a released tree."""


@dataclass(frozen=True, kw_only=True)
class AggTree:
    """A tree of noisy counts within a budget of `epsilon` or `rho`, read at the quantiles `q`.

    `height` and `branching` are h and b; None picks them from the grid. `reading` says how answers
    are read off the counts: "settled" for (3) and (4), "raw" for the counts as they are.
    """

    name: ClassVar[str] = "agg_tree"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n + b^h, whatever m",
        when="very many quantiles on few records; later queries are free; give bounds for integers",
        uses_size=False,
    )
    q: tuple[float, ...]
    epsilon: float | None = None
    rho: float | None = None
    neighbors: str = Neighbors.SWAP
    height: int | None = None
    branching: int | None = None
    reading: str = READINGS[0]

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", require.quantiles(q=self.q))
        if (self.epsilon is None) == (self.rho is None):
            raise TypeError("epsilon or rho must be given, one of the two")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))
        if self.rho is not None:
            object.__setattr__(self, "rho", require.positive(rho=self.rho))
        known = require.choice(Neighbors, neighbors=self.neighbors)
        object.__setattr__(self, "neighbors", Neighbors(known))
        require.choice(READINGS, reading=self.reading)
        self._check_shape()
        self.rate(self.height or max(SHAPE[0], FLOAT_SHAPE[0]))

    def _check_shape(self) -> None:
        if (self.height is None) != (self.branching is None):
            raise TypeError("height and branching must be given together, or both left out")
        if self.height is None or self.branching is None:
            return
        object.__setattr__(self, "height", require.count(minimum=1, height=self.height))
        object.__setattr__(self, "branching", require.count(minimum=2, branching=self.branching))
        if self.height * math.log(self.branching) > math.log(MOST_LEAVES):
            raise ValueError(
                f"height and branching must leave at most {MOST_LEAVES} leaves, "
                f"got height={self.height}, branching={self.branching}"
            )

    @classmethod
    def within(
        cls,
        budget: Guarantee,
        *,
        q: tuple[float, ...],
        size: int | None = None,  # noqa: ARG003
    ) -> "AggTree":
        """Spends epsilon or rho; a public size is not needed, the tree counts the records."""
        if isinstance(budget, ZCDP):
            return cls(q=q, rho=budget.rho, neighbors=budget.neighbors)
        return cls(q=q, epsilon=budget.epsilon, neighbors=budget.neighbors)

    @classmethod
    def quantile_tree(
        cls, *, q: tuple[float, ...], epsilon: float, neighbors: str = Neighbors.SWAP
    ) -> "AggTree":
        """The tree that Google's differential-privacy library, BigQuery and PyDP offer."""
        height, branching = QUANTILE_TREE
        return cls(
            q=q,
            epsilon=epsilon,
            neighbors=neighbors,
            height=height,
            branching=branching,
            reading="raw",
        )

    @property
    def guarantee(self) -> Guarantee:
        """The whole budget, whatever is read off the tree later."""
        neighbors = Neighbors(self.neighbors)
        if self.rho is not None:
            return ZCDP(rho=self.rho, neighbors=neighbors)
        assert self.epsilon is not None
        return PureDP(epsilon=self.epsilon, neighbors=neighbors)

    def shape(self, grid: Grid) -> tuple[int, int]:
        """Height and branching: public numbers. Leaves of one grid point are the finest."""
        if self.height is not None and self.branching is not None:
            return self.height, self.branching
        height, branching = FLOAT_SHAPE if isinstance(grid, FloatGrid) else SHAPE
        while height > 1 and branching ** (height - 1) >= grid.size:
            height -= 1
        while branching > 2 and (branching - 1) ** height >= grid.size:
            branching -= 1
        return height, branching

    def rate(self, height: int) -> Fraction:
        """e of (1): exactly what (2) allows; more than MOST_RATE would be no noise at all."""
        nodes = height * (2 if self.neighbors is Neighbors.SWAP else 1)
        if self.rho is not None:
            rate = _root_below(2 * Fraction(self.rho) / nodes)
        else:
            assert self.epsilon is not None
            rate = Fraction(self.epsilon) / nodes
        if rate < draws.LEAST_RATE:
            raise ValueError(
                f"the budget must leave at least 2**-40 per node, got {float(rate):.3g}; "
                "take a larger budget"
            )
        return min(rate, draws.MOST_RATE)

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """The ranks at the edges of the leaves, which are public."""
        return Demand(steps=_inner_edges(grid, *self.shape(grid)))

    def tree(self, view: SortedView, bits: Bits) -> "ReleasedTree":
        """The tree itself: noisy counts (1), from which everything else follows."""
        height, branching = self.shape(view.grid)
        below, _ = view.ranks(_inner_edges(view.grid, height, branching))
        leaves = np.diff(below, prepend=0, append=view.n)
        exact = tree.sums(leaves, branching, height)
        rate = self.rate(height)
        noisy = [counts + draws.discrete_laplaces(bits, rate, len(counts)) for counts in exact]
        private = entropy.is_private(bits)
        return ReleasedTree(
            grid=view.grid,
            branching=branching,
            levels=tuple(noisy),
            total=view.n if self.neighbors is Neighbors.SWAP else None,
            reading=self.reading,
            budget=self.guarantee,
            note="" if private else entropy.SEEDED_NOTE,
        )

    def release(self, view: SortedView, bits: Bits) -> Release:
        """The answers of one tree at the quantiles `q`."""
        return self.tree(view, bits).quantiles(self.q)


def _root_below(square: Fraction) -> Fraction:
    """A number whose square is not above this one, and nearly it."""
    scale = 2**128
    root = math.isqrt(math.floor(square * scale**2))
    return Fraction(root, scale)


def _inner_edges(grid: Grid, height: int, branching: int) -> NDArray[np.int64]:
    """The first steps of all leaves but the first; a leaf may start beyond the last point."""
    return tree.edges(grid.size, branching**height)[1:-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedTree:
    """Noisy counts of a tree: a public value that answers any quantile at no further cost.

    `total` is the number of records where that is public. `note`, when there is one, says why the
    tree must not be taken for private; then its releases carry no guarantee.
    """

    grid: Grid
    branching: int
    levels: tuple[NDArray[np.int64], ...]
    total: int | None
    reading: str
    budget: Guarantee
    note: str = ""

    @property
    def guarantee(self) -> Guarantee | None:
        """What the tree and everything read off it promise together."""
        return None if self.note else self.budget

    @property
    def masses(self) -> Floats:
        """The masses (4) of the leaves."""
        if self.reading == "raw":
            return tree.shared(self.levels, self.branching)
        settled = tree.consistent(self.levels, self.branching, self.total)
        return tree.projected(settled, self.branching)

    def quantiles(self, q: Sequence[float] | float | str) -> Release:
        """Answers to any quantiles, in the order asked: post-processing, free."""
        asked = require.quantiles(q=q)
        bounds = tree.edges(self.grid.size, len(self.levels[-1]))
        order = np.argsort(asked, kind="stable")
        steps = np.empty(len(asked), dtype=np.int64)
        steps[order] = tree.inverse(self.masses, bounds, np.asarray(asked)[order])
        return Release(
            values=tuple(self.grid.decode(steps)),
            q=asked,
            guarantee=self.guarantee,
            mechanism=AggTree.name,
            type=self.grid.kind.name,
            note=self.note,
            provenance={"budget": self.budget.to_dict(), **self._shape()},
        )

    def _shape(self) -> dict[str, object]:
        return {
            "grid": self.grid.describe(),
            "height": len(self.levels),
            "branching": self.branching,
            "reading": self.reading,
            **({} if self.total is None else {"size": self.total}),
        }

    def merge(self, other: "ReleasedTree") -> "ReleasedTree":
        """The tree of both groups of records, which must have no person in common.

        One record is in one of the two, so the larger of both budgets covers it.
        """
        if self._alike() != other._alike():
            raise ValueError(
                "other must have the same grid, shape, reading, neighbors and kind of budget "
                f"to be merged, got {other._alike()!r} beside {self._alike()!r}"
            )
        both = None if self.total is None or other.total is None else self.total + other.total
        pairs = zip(self.levels, other.levels, strict=True)
        return ReleasedTree(
            grid=self.grid,
            branching=self.branching,
            levels=tuple(a + b for a, b in pairs),
            total=both,
            reading=self.reading,
            budget=max(self.budget, other.budget, key=_amount),
            note=self.note or other.note,
        )

    def _alike(self) -> dict[str, object]:
        """What two trees must share to be added up."""
        shape = {name: value for name, value in self._shape().items() if name != "size"}
        return {**shape, "neighbors": str(self.budget.neighbors), "kind": self.budget.kind}

    def to_json(self) -> str:
        """The tree as JSON text, the inverse of `from_json`."""
        plain = {
            "format": FORMAT,
            **self._shape(),
            "budget": self.budget.to_dict(),
            "note": self.note,
            "levels": [counts.tolist() for counts in self.levels],
        }
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str, grid: Grid) -> "ReleasedTree":
        """The tree that `to_json` wrote, on the grid that it was made on."""
        plain: Mapping[str, Any] = json.loads(text)
        if plain.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT}, got {plain.get('format')!r}")
        if plain["grid"] != json.loads(json.dumps(grid.describe())):
            raise ValueError(f"grid must be the tree's own, {plain['grid']}, got {grid.describe()}")
        return cls(
            grid=grid,
            branching=plain["branching"],
            levels=tuple(np.array(counts, dtype=np.int64) for counts in plain["levels"]),
            total=plain.get("size"),
            reading=plain["reading"],
            budget=privacy.from_dict(plain["budget"]),
            note=plain["note"],
        )


def _amount(budget: Guarantee) -> float:
    return budget.rho if isinstance(budget, ZCDP) else budget.epsilon
