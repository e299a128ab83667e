"""Fitted: asks first whether records lie in lumps, and takes the mechanism that fits the answer.

JointExp is the most accurate mechanism for some dozens of quantiles of smooth data, and is drawn
into gaps where records are tied or clustered; trees are not. A question that costs next to nothing
tells the two kinds of data apart:

    lumps     the grid is cut into some thousand parts per record, or for few quantiles of plenty
              of records into its points; of these, o hold records.
              o + z < n / LUMP,  P[z] proportional to exp(-a |z|)                              (1)

One record more or less changes o by at most one, and so does a swap. What is left of the budget
goes to

    joint_exp, or recursive_joint_exp, for few quantiles where (1) does not hold
    adaptive_tree for many quantiles, and where (1) holds                                      (2)

On coarse grids, where records always share points, nothing is asked, and a tree is taken; so is it
where the budget is too small for a JointExp on any records.
Proof: `fitted.md` beside this file.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.grid import MOST_STEPS, Grid
from dpquantiles.kernels import cells
from dpquantiles.mechanisms.adaptive_tree import CELLS, COARSE, LUMPY_CUT_SHARE, AdaptiveTree
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp, StepGrid
from dpquantiles.privacy import Guarantee
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedSteps, SortedView

SIZE_SHARE, LUMP_SHARE = 0.02, 0.02
"""The shares of a budget that buy a rough number of records, where it must be bought, and (1)."""

FINENESS, LUMP = 2**12, 8
"""Parts of the grid per record, and how many records an occupied part has in lumpy data."""

PLENTY = 50_000
"""Of so many records, by `strength`, only those on the very same point are lumps for JointExp:
clusters are so large by then that few quantiles lie near the edge of one, where it is drawn into
gaps. A tree that is taken for many quantiles still asks for clusters."""

LEAST_FEW, FEW_CELLS = 21, 0.75
"""So many quantiles are few, whatever the records, and so many per cell of a smooth tree: a tree is
as good as a JointExp there. The error of a JointExp grows as the third root of the number of
quantiles, that of a tree with its cells."""

CROWDED, CROWDED_ROOT = 70, 0.45
"""JointExp needs so many records, by `strength`, for every quantile; of few records it answers so
many times the root of their number."""

STRONGEST = 1e9
"""An epsilon of which more makes no difference."""

SMOOTH_CELLS, FEWEST_CELLS = 0.4, 64
"""Cells of a tree for smooth records, per epsilon sqrt(n): inside a cell of c records chance moves
them by sqrt(c), and more cells have more noise, of 1 / epsilon each."""

MOST_JOINT = 28
"""More quantiles of smooth data are for recursive_joint_exp."""


class FittedStages(NamedTuple):
    """What the rough number of records, the question and the answers may spend."""

    size: Guarantee | None
    lumps: Guarantee | None
    answers: Guarantee


@dataclass(frozen=True, kw_only=True)
class Fitted(Mechanism):
    """All quantiles `q` within a budget, by the mechanism that fits the records.

    `size` is a public number of records for add-remove neighbors, as in JointExp.
    """

    name: ClassVar[str] = "fitted"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n, and that of joint_exp",
        when="a dozen quantiles or more, of data that may be smooth, tied or clustered",
        size_share=SIZE_SHARE,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # A tree may be taken whatever the answer is, so what it refuses is refused here.
        for points in (COARSE, MOST_STEPS):
            self.taken(points, lumpy=True, size=0)

    def stages(self, points: int) -> FittedStages:
        """What each stage may spend on a grid of so many points."""
        if points <= COARSE:
            return FittedStages(None, None, self.budget)
        if self.buys_size:
            return FittedStages(*self.budget.split(SIZE_SHARE, LUMP_SHARE))
        return FittedStages(None, *self.budget.split(LUMP_SHARE))

    def taken(self, points: int, *, lumpy: bool, size: int) -> Mechanism:
        """(2), for a public number of records: known, stated or bought."""
        stages = self.stages(points)
        if not lumpy and self._few(size):
            family = JointExp if len(self.q) <= MOST_JOINT else RecursiveJointExp
            joint = family(q=self.q, budget=stages.answers, size=self.size)
            if serves(joint, size, points):
                return joint
        stated = self.size if stages.size is None else size
        tree = AdaptiveTree(q=self.q, budget=stages.answers, size=stated)
        if lumpy:
            return replace(tree, cut_share=LUMPY_CUT_SHARE)
        wanted = max(best_cells(size, self.budget), FEWEST_CELLS)
        return replace(tree, cells=round(min(wanted, CELLS)))

    def part_length(self, points: int, size: int) -> int:
        """How many steps the parts of (1) have: a power of BRANCHING."""
        if self._few(size) and strength(size, self.budget) >= PLENTY:
            return 1
        fine = cells.height(FINENESS * max(1, size))
        return int(cells.BRANCHING ** max(0, cells.height(points) - fine))

    def _few(self, size: int) -> bool:
        return len(self.q) <= few(size, self.budget)

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """All records: what is taken depends on what was found."""
        return Demand.everything(n)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release that says what was taken."""
        points, demand = view.grid.size, self.demand(view.n, view.grid)
        records = SortedSteps(view.grid, view.order_statistics(demand.index))
        stages = self.stages(points)
        if stages.size is not None:
            size = PrivateCount(budget=stages.size).draw(view.n, bits)
        else:
            size = 0 if self.buys_size else self.public_size(view.n)
        lumpy = True
        if stages.lumps is not None:
            parts = occupied(records.steps, self.part_length(points, size))
            lumpy = LUMP * PrivateCount(budget=stages.lumps).draw(parts, bits) < size
        taken = self.taken(points, lumpy=lumpy, size=size)
        release = taken.release(records, bits)
        told: dict[str, object] = {} if stages.lumps is None else {"size": size}
        told |= {**release.provenance, "budget": self.budget.to_dict(), "taken": taken.name}
        # What it would mean is a share of what was left, not of the budget.
        told.pop("size_share", None)
        return replace(
            release,
            mechanism=self.name,
            guarantee=release.guarantee and self.guarantee,
            provenance=told,
        )


def rate_per_record(budget: Guarantee) -> float:
    """The epsilon of a JointExp under swap; a record more or less changes half as much."""
    return min(budget.bounded_range(), STRONGEST) * 2 / budget.neighbors.records


def strength(size: int, budget: Guarantee) -> float:
    """Records times epsilon: what makes answers accurate."""
    return size * rate_per_record(budget)


def best_cells(size: int, budget: Guarantee) -> float:
    """About how many cells are best for a tree of smooth records, if it could have any number."""
    return SMOOTH_CELLS * rate_per_record(budget) * math.sqrt(size)


def few(size: int, budget: Guarantee) -> float:
    """For how many quantiles of smooth records a JointExp is as good as a tree."""
    strong = strength(size, budget)
    answered = max(strong / CROWDED, CROWDED_ROOT * math.sqrt(strong))
    return min(answered, max(FEW_CELLS * best_cells(size, budget), LEAST_FEW))


def serves(joint: JointExp | RecursiveJointExp, n: int, points: int) -> bool:
    """Whether public numbers let a JointExp answer; for tiny budgets its windows are too large.

    `n` is the number of records where that is public, and of no account where it is not.
    """
    largest = StepGrid(max(points, MOST_STEPS))
    sized = joint.priced()[1] if joint.buys_size else joint
    try:
        if isinstance(sized, JointExp):
            sized.demand(n, StepGrid(points))
            return True
        for node in sized.tree.nodes():
            sized.node_mechanism(node, [0] * (len(joint.q) + 2)).demand(0, largest)
    except ValueError:
        return False
    return True


def occupied(steps: NDArray[np.int64], length: int) -> int:
    """How many parts hold some of these steps, which ascend."""
    return min(1, len(steps)) + int(np.count_nonzero(np.diff(steps // length)))
