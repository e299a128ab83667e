"""RecursiveJointExp: a tree of JointExps, each on the records between two earlier answers.

The quantiles cut the records into m + 1 cells. A public tree with L levels groups the cells. A
JointExp at the root draws a few cuts, the nodes below it those inside each group, and so on.

    targets   T_0 = 0,  T_k = round(q_k nu),  T_{m+1} = nu,  nu the public size                (1)
    node      cuts k_0 < k_1 < ... < k_b; given the ends o_{k_0} and o_{k_b}, it draws the others
    records   those with o_{k_0} <= x < o_{k_b}, to the end of the data for the last node      (2)
    law       JointExp for add-remove neighbors, with the nominal size T_{k_b} - T_{k_0} as its
              public size, targets T_{k_i} - T_{k_0}, on the grid points o_{k_0} .. o_{k_b}    (3)

By (2) a record is in at most one node of each level. The true sizes of nodes enter only through the
end error of (3). So a record costs the epsilon of one JointExp per level, and a swap that of two:

    each JointExp has   epsilon / L  (add-remove)   or   epsilon / (2 L)  (swap)               (4)

For a rho, epsilon / L is the largest range of privacy loss that costs at most rho / L.

Tied records would all fall on one side of a cut and spoil the sizes of both parts. So labels tell
them apart first. The j-th of the records that share a grid point gets the j-th label of a fixed
public sequence, van der Corput's 0, 1/2, 1/4, 3/4, 1/8, .... Everything above uses

    steps     2**b x + 2**b label(j),   j = 0, 1, 2, ... among the records at x                (5)

One more record at x is one more step in (5), so neighbors stay neighbors. Answers are released
without labels. Proof: `recursive_joint_exp.md` beside this file.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import MOST_STEPS, Grid
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.mechanisms.mechanism import (
    Profile,
    WithLaw,
    steps_of,
    target_ranks,
    values_in_order,
)
from dpquantiles.mechanisms.told_apart import StepGrid, ToldApart
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import Demand, PartView, ReadAhead, SortedView
from dpquantiles.views.protocol import Ints

MOST_ALONE = 24
"""Up to this many cells, one JointExp draws all cuts."""

MOST_FAN = 12
"""With more cells, there are enough levels that a node has at most this many."""

WIDER = 1.5
"""Nodes of several levels read this many times their reach ahead."""

MOST_SUMMED = 1 << 16
"""The most vectors of labels that `log_probability` sums over."""


class Node(NamedTuple):
    """The cuts of one JointExp, first and last included, and the nodes between neighboring cuts."""

    cuts: tuple[int, ...]
    children: "tuple[Node | None, ...]"

    def nodes(self) -> "Iterator[Node]":
        """This node and all nodes below it."""
        yield self
        for child in self.children:
            if child:
                yield from child.nodes()


def grow(first: int, last: int, levels: int) -> Node | None:
    """A tree of this depth over the cells between two cuts, as even as possible."""
    width = last - first
    if width < 2:
        return None
    fan = next(b for b in itertools.count(2) if b**levels >= width)
    cuts = tuple(first + width * k // fan for k in range(fan + 1))
    return Node(cuts, tuple(grow(*pair, levels - 1) for pair in itertools.pairwise(cuts)))


@dataclass(frozen=True, kw_only=True)
class RecursiveJointExp(WithLaw):
    """All quantiles `q` by a tree of JointExps within one budget.

    The tree depends on the number of quantiles alone. The records around all targets are read once.
    """

    name: ClassVar[str] = "recursive_joint_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n + m R / L",
        when="Dozens of quantiles of very large data that is not clustered in narrow ranges.",
    )

    @staticmethod
    def parts(m: int) -> int:
        """L, the number of levels; this choice was the best in measurements on normal data."""
        if m < MOST_ALONE:
            return 1
        return next(levels for levels in itertools.count(2) if MOST_FAN**levels > m)

    @property
    def tree(self) -> Node:
        """The public tree over the cuts 0 .. m+1."""
        m = len(self.q)
        root = grow(0, m + 1, self.parts(m))
        assert root is not None
        return root

    @property
    def each(self) -> float:
        """The range of privacy loss of one level."""
        return self.budget.bounded_range(self.parts(len(self.q)))

    @property
    def node_budget(self) -> PureDP:
        """The budget (4) of a node: a swap changes the records of two nodes of a level."""
        epsilon = self.each / self.neighbors.records
        return PureDP(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)

    def node_mechanism(self, node: Node, targets: Sequence[int]) -> JointExp:
        """The JointExp (3) of a node."""
        first, *inner, last = (targets[cut] for cut in node.cuts)
        nominal = last - first
        return JointExp(
            q=tuple((target - first) / max(nominal, 1) for target in inner),
            budget=self.node_budget,
            size=nominal,
        )

    def demand(self, n: int, grid: Grid) -> Demand:  # noqa: ARG002
        """All records, because every node depends on earlier answers."""
        return Demand.everything(n)

    def law(self, view: SortedView) -> "RecursiveLaw":
        """The exact distribution on the records of a view."""
        nu = self.public_size(self.counted(view))
        targets = target_ranks(np.array([0, *sorted(self.q), 1]), nu, self.left_out(view)).tolist()
        told_apart = ToldApart.of(view, nu)
        nodes = {node: self.node_mechanism(node, targets) for node in self.tree.nodes()}
        # A request that is too large must fail before any draw. A bought size must not decide about
        # that, so under add-remove neighbors labels count as if they used all available bits.
        swap = self.neighbors is Neighbors.SWAP
        largest = told_apart.grid if swap else StepGrid(max(view.grid.size, MOST_STEPS))
        for mechanism in nodes.values():
            mechanism.demand(0, largest)
        order = np.argsort(self.q, kind="stable")
        ahead = replace(told_apart, view=self._read_ahead(view, nodes, targets, told_apart.grid))
        return RecursiveLaw(view.grid, ahead, self.tree, nodes, order)

    def _read_ahead(
        self,
        view: SortedView,
        nodes: Mapping[Node, JointExp],
        targets: Sequence[int],
        grid: StepGrid,
    ) -> ReadAhead:
        """Read the records that all nodes will probably need at once.

        The window of a node moves with the errors of the cuts above it, which are much smaller than
        its reach.
        """
        wider = 1.0 if len(nodes) == 1 else WIDER
        runs = []
        for node, mechanism in nodes.items():
            reach = math.ceil(wider * mechanism.setting(None, grid.size).reach) + 1
            runs += [range(targets[k] - reach, targets[k] + reach) for k in node.cuts[1:-1]]
        return ReadAhead.of(view, runs)


@dataclass(frozen=True, eq=False)
class RecursiveLaw:
    """The law of the tree on one data set; cuts are steps (5), answers have no labels."""

    grid: Grid
    records: ToldApart
    tree: Node
    nodes: dict[Node, JointExp]
    order: Ints

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        steps = np.array(self.draw_cuts(bits)) >> self.records.shift
        return values_in_order(self.grid, steps, self.order)

    def draw_cuts(self, bits: Bits) -> tuple[int, ...]:
        """One draw of all cuts, in ascending order."""
        cuts = {0: 0, len(self.order) + 1: self.records.grid.size - 1}
        for node in self.tree.nodes():
            law = self.node_law(node, cuts[node.cuts[0]], cuts[node.cuts[-1]])
            cuts.update(zip(node.cuts[1:-1], law.draw(bits), strict=True))
        return tuple(cuts[k + 1] for k in range(len(self.order)))

    def node_law(self, node: Node, low: int, high: int) -> JointExpLaw:
        """The law (3) of a node on the records (2) between two cuts."""
        start, stop = 0, self.records.n
        if node.cuts[0] > 0:
            start = int(self.records.ranks(np.array([low]))[0][0])
        if node.cuts[-1] <= len(self.order):
            stop = int(self.records.ranks(np.array([high]))[0][0])
        part = PartView(self.records, start, stop, low, high)
        return self.nodes[node].law_on_grid(part)

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released, summed over all labels."""
        steps = steps_of(self.grid, values, len(self.order))[self.order].tolist()
        labels = range(1 << self.records.shift)
        if len(labels) ** len(steps) > MOST_SUMMED:
            raise InvalidValue(
                f"values have {len(labels)} labels each, which is too many to add up for "
                f"{len(steps)} of them; log_probability_of_cuts needs no sum"
            )
        fine = [[(step << self.records.shift) + label for label in labels] for step in steps]
        logs = [self.log_probability_of_cuts(cuts) for cuts in itertools.product(*fine)]
        return float(np.logaddexp.reduce(logs))

    def log_probability_of_cuts(self, cuts: Sequence[int]) -> float:
        """The log probability of these ascending cuts: a product over the nodes."""
        if any(a > b for a, b in itertools.pairwise(cuts)):
            return -math.inf
        ends_and_cuts = (0, *cuts, self.records.grid.size - 1)
        logs = []
        for node in self.tree.nodes():
            low, *inner, high = (ends_and_cuts[cut] for cut in node.cuts)
            logs.append(self._remembered(node, low, high, tuple(inner)))
        return math.fsum(logs)

    @cached_property
    def _remembered(self) -> Any:
        """A cached function for the log probability of the cuts of a node."""
        node_law = cache(self.node_law)
        return cache(lambda node, low, high, cuts: node_law(node, low, high).log_probability(cuts))
