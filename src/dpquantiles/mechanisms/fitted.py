"""Fitted: test first whether the records lie in lumps, and use the mechanism that fits.

JointExp is the most accurate mechanism for some dozens of quantiles of smooth data. But where
records are tied or clustered, its answers tend to fall into the gaps; those of trees do not. On a
family of grids it is the other way round for some dozens of quantiles: a JointExp finds the step
that tied records follow, and a tree does not. A cheap test tells the two kinds of data apart:

    lumps     the grid is cut into parts, some thousand per record, and o of them contain records.
              For few quantiles of very many records, for evenly spaced numbers without
              bounds, and where ties are looked for, every grid point is a part.
              o + z < n / l,  P[z] proportional to exp(-a |z|),  l = TIED for ties, else LUMP    (1)

Adding or removing a record changes o by at most one, and so does a swap. Far from
n / l, o is not counted exactly. The rest of the budget goes to

    joint_exp or recursive_joint_exp for few quantiles if (1) is false
    joint_exp for some dozens if (1) is true on a family
    joint_exp or, for more than nine, between if records are few on a family
    adaptive_tree otherwise                                                                    (2)

On coarse grids, where records always share points, there is no test, and (1) counts as true. A tree
is also used if the budget is too small for a JointExp on any records. Proof: `fitted.md` beside
this file.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from dpquantiles.entropy import Bits
from dpquantiles.grid import MOST_STEPS, FloatGrid, Grid, GridFamily
from dpquantiles.kernels import cells
from dpquantiles.mechanisms.adaptive_tree import CELLS, COARSE, LUMPY_CUT_SHARE, AdaptiveTree
from dpquantiles.mechanisms.between import Between
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.mechanisms.recursive_joint_exp import MOST_ALONE, RecursiveJointExp
from dpquantiles.mechanisms.told_apart import StepGrid
from dpquantiles.privacy import Guarantee
from dpquantiles.results import Release
from dpquantiles.views import Demand, Limits, SortedView, occupied

SIZE_SHARE, LUMP_SHARE = 0.02, 0.02
"""The shares of a budget for a rough number of records, if it must be bought, and for (1)."""

FINENESS, LUMP, TIED = 2**12, 8, 2
"""The number of parts per record, and of records per occupied part in lumpy data, or per value in
tied data."""

CERTAIN = 64
"""Where noise would have to be this many times its scale to decide about (1), parts are not counted
exactly. Clamping o changes no chance by more than exp(-CERTAIN), and costs nothing."""

PLENTY = 50_000
"""With at least this `strength`, only records on the same point count as lumps for JointExp.
Clusters are then so large that few quantiles lie near an edge, where answers would fall into a gap.
For many quantiles, which get a tree anyway, the test still looks for clusters."""

LEAST_FEW, FEW_CELLS = 21, 0.75
"""This many quantiles, or this many per cell of a tree for smooth records, count as few. At that
number a tree is as good as a JointExp: the error of a JointExp grows like the third root of the
number of quantiles, and that of a tree with its number of cells."""

CROWDED, CROWDED_ROOT = 70, 0.45
"""JointExp needs this much `strength` per quantile. With little strength, it still answers this
many times the root of the strength."""

WHOLE_CROWDED = 220
"""RecursiveJointExp needs this much `strength` per quantile among evenly spaced numbers without
bounds, of which next to none are near the records. With less, it loses its way."""

TIED_CROWDED, MOST_TIED = 20, 44
"""On a family, a JointExp of tied records needs this much `strength` per quantile. It answers at
most so many quantiles, because it is slow for more."""

LEAST_SPARSE, MOST_SPARSE, MOST_WINDOW = 10, 500, 10_000
"""On a family, with a `strength` between these, a JointExp draws some of many quantiles. With less,
any answer is a guess; with more, a tree is as good. Of more than MOST_WINDOW records, it would be
slow: so little epsilon means that its windows hold all of them."""

ALL_DRAWN, DRAWN_ROOT, FEWEST_DRAWN = 9, 1.45, 3
"""It draws all of at most so many. Of more, it draws the third root of the strength times
DRAWN_ROOT, and at least FEWEST_DRAWN."""

STRONGEST = 1e9
"""A larger epsilon makes no difference."""

SMOOTH_CELLS, FEWEST_CELLS = 0.4, 64
"""The number of cells of a tree for smooth records is the first times epsilon sqrt(n), and at least
the second. In a cell of c records, ranks vary by sqrt(c); every cell adds noise of 1 / epsilon."""

MOST_JOINT = MOST_ALONE - 1
"""For more quantiles of smooth data, recursive_joint_exp is used, which has several levels then. It
is about as accurate, and some ten times faster."""


class FittedStages(NamedTuple):
    """The budgets of the rough number of records, of the test and of the answers."""

    size: Guarantee | None
    lumps: Guarantee | None
    answers: Guarantee


@dataclass(frozen=True, kw_only=True)
class Fitted(Mechanism):
    """All quantiles `q` within one budget, by the mechanism that fits the records.

    `size` is the public number of records under add-remove neighbors, as in JointExp.
    """

    name: ClassVar[str] = "fitted"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n, and that of joint_exp",
        when="The usual choice for more than a dozen quantiles: it adapts to the data privately.",
        size_share=SIZE_SHARE,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Any data may lead to a tree, so build one now: it raises if the budget is too small.
        for points in (COARSE, MOST_STEPS):
            self.chosen(StepGrid(points), lumpy=True, size=0)

    def stages(self, points: int) -> FittedStages:
        """The budgets of the stages on a grid of this many points."""
        if points <= COARSE:
            return FittedStages(None, None, self.budget)
        if self.buys_size:
            return FittedStages(*self.budget.split(SIZE_SHARE, LUMP_SHARE))
        return FittedStages(None, *self.budget.split(LUMP_SHARE))

    def chosen(self, grid: Grid, *, lumpy: bool, size: int) -> Mechanism:
        """The mechanism (2), for a public number of records."""
        stages = self.stages(grid.size)
        kind = self._joint_for(grid, lumpy, size)
        if kind is not None:
            joint = kind(q=self.q, budget=stages.answers, size=self.size)
            if serves(joint, size, grid):
                return joint
        if self._sparse(grid, size):
            number = drawn_of_many(size, self.budget)
            between = Between(q=self.q, budget=stages.answers, size=self.size, number=number)
            if serves(between.joint, size, grid):
                return between
        stated = self.size if stages.size is None else size
        tree = AdaptiveTree(q=self.q, budget=stages.answers, size=stated)
        if lumpy:
            return replace(tree, cut_share=LUMPY_CUT_SHARE)
        wanted = max(best_cells(size, self.budget), FEWEST_CELLS)
        return replace(tree, cells=round(min(wanted, CELLS)))

    def _joint_for(
        self, grid: Grid, lumpy: bool, size: int
    ) -> type[JointExp] | type[RecursiveJointExp] | None:
        """The kind of JointExp that fits, if one does."""
        if len(self.q) <= ALL_DRAWN and self._sparse(grid, size):
            return JointExp
        if lumpy:
            return JointExp if self.seeks_ties(grid, size) else None
        if not self._few(size):
            return None
        if len(self.q) <= MOST_JOINT:
            return JointExp
        crowded = strength(size, self.budget) < WHOLE_CROWDED * len(self.q)
        return None if crowded and _without_end(grid) else RecursiveJointExp

    def seeks_ties(self, grid: Grid, size: int) -> bool:
        """Whether tied records, and no other lumps, are looked for: a JointExp finds their step."""
        return isinstance(grid, GridFamily) and len(self.q) <= few_tied(size, self.budget)

    def part_of(self, grid: Grid, size: int) -> int:
        """The length of the parts of (1) in steps.

        Of evenly spaced numbers without bounds next to none are near the records, so each is a
        part. So is each value where ties are looked for.
        """
        if self.seeks_ties(grid, size):
            return 1
        return 1 if _without_end(grid) else self.part_length(grid.size, size)

    def part_length(self, points: int, size: int) -> int:
        """The same on a grid of so many points: a power of BRANCHING."""
        if self._few(size) and strength(size, self.budget) >= PLENTY:
            return 1
        fine = cells.height(FINENESS * max(1, size))
        return int(cells.BRANCHING ** max(0, cells.height(points) - fine))

    def lump_of(self, grid: Grid, size: int) -> int:
        """How many records per occupied part there are in lumpy data: l of (1)."""
        return TIED if self.seeks_ties(grid, size) else LUMP

    @staticmethod
    def _limits(size: int, lump: int, count: PrivateCount) -> Limits:
        """Between which numbers of parts noise decides about (1)."""
        least, around = size // lump, math.ceil(CERTAIN / count.rate)
        return Limits(max(0, least - around), least + around)

    def _few(self, size: int) -> bool:
        return len(self.q) <= few(size, self.budget)

    def _sparse(self, grid: Grid, size: int) -> bool:
        return isinstance(grid, GridFamily) and sparse(size, self.budget)

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """Any record, because the test decides about the mechanism."""
        return Demand.everything(n)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release that names the chosen mechanism."""
        points = view.grid.size
        stages = self.stages(points)
        if stages.size is not None:
            size = PrivateCount(budget=stages.size).draw(view.n, bits)
        else:
            size = 0 if self.buys_size else self.public_size(self.counted(view))
        lumpy = True
        if stages.lumps is not None:
            count = PrivateCount(budget=stages.lumps)
            part, lump = self.part_of(view.grid, size), self.lump_of(view.grid, size)
            parts = occupied(view, part, self._limits(size, lump, count))
            lumpy = lump * count.draw(parts, bits) < size
        chosen = self.chosen(view.grid, lumpy=lumpy, size=size)
        release = chosen.release(view, bits)
        provenance: dict[str, object] = {} if stages.lumps is None else {"size": size}
        provenance |= release.provenance
        provenance |= {"budget": self.budget.to_dict(), "taken": chosen.name}
        # This share refers to the rest of the budget, not to the whole.
        provenance.pop("size_share", None)
        return replace(
            release,
            mechanism=self.name,
            guarantee=release.guarantee and self.guarantee,
            provenance=provenance,
        )


def _without_end(grid: Grid) -> bool:
    """Whether nobody has bounded numbers that are evenly spaced, such as all whole numbers."""
    if not isinstance(grid, GridFamily) or not grid.unbounded:
        return False
    return grid.kind.integral or not isinstance(grid.base, FloatGrid)


def rate_per_record(budget: Guarantee) -> float:
    """The epsilon of a JointExp under swap; under add-remove it counts twice."""
    return min(budget.bounded_range(), STRONGEST) * 2 / budget.neighbors.records


def strength(size: int, budget: Guarantee) -> float:
    """Records times epsilon, which determines how accurate answers are."""
    return size * rate_per_record(budget)


def best_cells(size: int, budget: Guarantee) -> float:
    """The best number of cells, roughly, for a tree of smooth records, without any limits."""
    return SMOOTH_CELLS * rate_per_record(budget) * math.sqrt(size)


def few(size: int, budget: Guarantee) -> float:
    """The number of quantiles of smooth records up to which a JointExp is as good as a tree."""
    strong = strength(size, budget)
    answered = max(strong / CROWDED, CROWDED_ROOT * math.sqrt(strong))
    return min(answered, max(FEW_CELLS * best_cells(size, budget), LEAST_FEW))


def few_tied(size: int, budget: Guarantee) -> float:
    """The number of quantiles of tied records up to which a JointExp is used on a family."""
    return min(strength(size, budget) / TIED_CROWDED, MOST_TIED)


def sparse(size: int, budget: Guarantee) -> bool:
    """Whether records are so few, or so little epsilon is there, that a tree is lost in noise."""
    return size <= MOST_WINDOW and LEAST_SPARSE <= strength(size, budget) <= MOST_SPARSE


def drawn_of_many(size: int, budget: Guarantee) -> int:
    """How many of many quantiles are drawn: an odd number, so that a median is among them."""
    number = DRAWN_ROOT * math.cbrt(strength(size, budget))
    return max(FEWEST_DRAWN, 2 * math.floor(number / 2) + 1)


def serves(joint: JointExp | RecursiveJointExp, n: int, grid: Grid) -> bool:
    """Whether public numbers allow a JointExp; with tiny budgets its windows are too large.

    `n` is the number of records; it has no effect where it is not public.
    """
    try:
        if isinstance(joint, JointExp):
            (joint.priced()[1] if joint.buys_size_on(grid) else joint).demand(n, grid)
            return True
        sized = joint.priced()[1] if joint.buys_size else joint
        largest = StepGrid(max(grid.size, MOST_STEPS))
        for node in sized.tree.nodes():
            sized.node_mechanism(node, [0] * (len(joint.q) + 2)).demand(0, largest)
    except ValueError:
        return False
    return True
