"""RecursiveJointExp: a tree of JointExps, each on the records between answers found before.

The quantiles cut the records into m + 1 cells. A public tree with L levels groups the cells: the
root finds a few cuts by one JointExp, the nodes below find those inside each group, and so on.

    targets   T_0 = 0,  T_k = round(q_k nu),  T_{m+1} = nu,  nu the public size                (1)
    node      cuts k_0 < k_1 < ... < k_b; the ends o_{k_0}, o_{k_b} are known, it finds the others
    records   those with o_{k_0} <= x < o_{k_b}, to the end of the data for the last node      (2)
    law       JointExp for add-remove neighbors, with the nominal size T_{k_b} - T_{k_0} as its
              public size, targets T_{k_i} - T_{k_0}, on the grid points o_{k_0} .. o_{k_b}    (3)

By (2) a record is in one node of each level at most, and the true sizes of nodes enter only as the
end error of (3), so one record costs the epsilon of one JointExp per level, and a swap that of two:

    each JointExp has   epsilon / L  (add-remove)   or   epsilon / (2 L)  (swap)               (4)

Of a rho, epsilon / L is the largest range of privacy loss whose price is at most rho / L.

Ties would all fall on one side of a cut and spoil the sizes of both parts, so records are told
apart first: the j-th of the records that share a grid point gets the j-th label of a fixed public
sequence, van der Corput's 0, 1/2, 1/4, 3/4, 1/8, ..., and everything above runs on

    steps     2**b x + 2**b label(j),   j = 0, 1, 2, ... among the records at x                (5)

One record more at x is one step more among (5), so neighbors stay neighbors. Labels are dropped
from what is released. Proof: `recursive_joint_exp.md` beside this file.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import MOST_STEPS, Grid
from dpquantiles.kinds import INTEGER, Kind
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.mechanisms.mechanism import Profile, WithLaw, steps_of
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import Demand, PartView, SortedView
from dpquantiles.views.protocol import Ints

MOST_ALONE = 24
"""Up to this many cells are found by one JointExp."""

MOST_FAN = 12
"""More cells get as many levels as leave nodes with this many at most."""

MOST_SUMMED = 1 << 16
"""The most vectors of labels over which `log_probability` adds up."""


class Node(NamedTuple):
    """The cuts that one JointExp finds, between two that are known, and the nodes between them."""

    cuts: tuple[int, ...]
    children: "tuple[Node | None, ...]"

    def nodes(self) -> "Iterator[Node]":
        """This node and all below it."""
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

    The tree depends on the number of quantiles alone. All records are read, in order, once.
    """

    name: ClassVar[str] = "recursive_joint_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n + m R / L",
        when="some dozens of quantiles of very many records, without narrow clusters",
    )

    @staticmethod
    def parts(m: int) -> int:
        """L, the number of levels: measured to be best on normal data."""
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
        """(4): a swap changes the records of two nodes of a level."""
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
        """All records: where it looks next depends on what it found."""
        return Demand.everything(n)

    def law(self, view: SortedView) -> "RecursiveLaw":
        """The exact distribution on the records of a view."""
        nu = self.public_size(view.n)
        targets = [0, *np.rint(np.sort(self.q) * nu).astype(np.int64).tolist(), nu]
        told_apart = ToldApart.of(view, nu)
        nodes = {node: self.node_mechanism(node, targets) for node in self.tree.nodes()}
        # What is too large is refused before any draw. A size may be bought, and must not decide:
        # unless it is that of the records, labels count as if they took all bits that there are.
        swap = self.neighbors is Neighbors.SWAP
        largest = told_apart.grid if swap else StepGrid(max(view.grid.size, MOST_STEPS))
        for mechanism in nodes.values():
            mechanism.demand(0, largest)
        order = tuple(np.argsort(self.q, kind="stable").tolist())
        return RecursiveLaw(view.grid, told_apart, self.tree, nodes, order)


@dataclass(frozen=True)
class StepGrid:
    """A grid whose values are its steps."""

    size: int
    kind: ClassVar[Kind] = INTEGER

    def encode(self, numbers: NDArray[Any]) -> Ints:
        return np.asarray(np.clip(numbers, 0, self.size - 1), dtype=np.int64)

    def decode(self, steps: Ints) -> list[Any]:
        return [int(step) for step in steps]

    def describe(self) -> dict[str, object]:
        return {"name": "steps", "points": self.size}


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The records of a view as distinct steps (5) of a finer grid, in order.

    Labels follow from how many records share a step, so that only what is asked for is fetched.
    """

    view: SortedView
    grid: StepGrid
    shift: int

    @classmethod
    def of(cls, view: SortedView, nu: int) -> "ToldApart":
        """Labels for about nu records that share a grid point, as far as the steps fit 62 bits.

        When labels run out they repeat; the largest grids have a single one.
        """
        room = max(1, MOST_STEPS // view.grid.size).bit_length() - 1
        shift = min(max(1, nu.bit_length()), room)
        return cls(view, StepGrid(view.grid.size << shift), shift)

    @property
    def n(self) -> int:
        return self.view.n

    def order_statistics(self, index: Ints) -> Ints:
        steps = self.view.order_statistics(index)
        distinct, inverse = np.unique(steps, return_inverse=True)
        below, through = (counts[inverse] for counts in self.view.ranks(distinct))
        labels = np.zeros_like(steps)
        for shared, here in _by_size(through - below):
            labels[here] = self._labels(shared)[(index - below)[here]]
        return np.asarray((steps << self.shift) + labels)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        whole, label = steps >> self.shift, steps & ((1 << self.shift) - 1)
        below, through = self.view.ranks(whole)
        lower, upper = below.copy(), below.copy()
        for shared, here in _by_size(through - below):
            labels = self._labels(shared)
            lower[here] += np.searchsorted(labels, label[here], side="left")
            upper[here] += np.searchsorted(labels, label[here], side="right")
        return lower, upper

    def _labels(self, shared: int) -> Ints:
        """The labels of so many records that share a step, in ascending order."""
        return np.sort(van_der_corput(np.arange(shared), self.shift))


def _by_size(sizes: Ints) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each size that occurs, and where."""
    for size in np.unique(sizes).tolist():
        yield size, sizes == size


def van_der_corput(index: Ints, bits: int) -> Ints:
    """The lowest `bits` bits of each number, in reverse order."""
    reversed_bits = np.zeros_like(index)
    for bit in range(bits):
        reversed_bits |= ((index >> bit) & 1) << (bits - 1 - bit)
    return reversed_bits


@dataclass(frozen=True, eq=False)
class RecursiveLaw:
    """The law of the tree on one data set; cuts are steps (5), answers are cuts without labels."""

    grid: Grid
    records: ToldApart
    tree: Node
    nodes: dict[Node, JointExp]
    order: tuple[int, ...]

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        steps = np.empty(len(self.order), dtype=np.int64)
        steps[list(self.order)] = np.array(self.draw_cuts(bits)) >> self.records.shift
        return tuple(self.grid.decode(steps))

    def draw_cuts(self, bits: Bits) -> tuple[int, ...]:
        """One draw of all cuts, in ascending order."""
        cuts = {0: 0, len(self.order) + 1: self.records.grid.size - 1}
        for node in self.tree.nodes():
            law = self.node_law(node, cuts[node.cuts[0]], cuts[node.cuts[-1]])
            cuts.update(zip(node.cuts[1:-1], law.draw(bits), strict=True))
        return tuple(cuts[k + 1] for k in range(len(self.order)))

    def node_law(self, node: Node, low: int, high: int) -> JointExpLaw:
        """(3), on the records (2) between two cuts."""
        last = node.cuts[-1] == len(self.order) + 1
        (start, stop), _ = self.records.ranks(np.array([low, high]))
        part = PartView(self.records, int(start), self.records.n if last else int(stop), low, high)
        return self.nodes[node].law(part)

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released: a sum over all labels."""
        steps = steps_of(self.grid, values, len(self.order))[list(self.order)].tolist()
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
        """The log probability of these cuts, in ascending order: a product over the nodes."""
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
        """What a node says of its cuts, each question answered once."""
        node_law = cache(self.node_law)
        return cache(lambda node, low, high, cuts: node_law(node, low, high).log_probability(cuts))
