"""JointExp on one data set: the masses of all partial answers, and a draw of all answers.

Step k = 1 .. m of the forward pass places the k-th answer. All steps share one axis of *errors*
e = rank - T_k. Cell i of the axis is the error start + i, which is the rank T_k + start + i at
step k. A draw walks back from the last answer to the first. Equation numbers are those of
`mechanisms/joint_exp.md`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.kernels import draws, scans
from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.gaps import OpenGaps, open_gaps
from dpquantiles.kernels.places import End, Ints, Places
from dpquantiles.kernels.scans import Decay


class Masses(NamedTuple):
    """Row k, column i has the mass at step k in axis cell i; row 0 is the start."""

    total: Floats
    """F: all states together."""
    upper: Floats
    """H: the answer is the atom that ends at this rank."""
    lower: Floats
    """L: the answer is the atom that starts at this rank."""
    entering: Floats
    """g: the answer enters a gap between two atoms at this step; its point is not yet chosen."""
    repeated: Floats
    """The part of G (8) in which an earlier answer lies in the same gap."""


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of all steps: their targets, and what lies at the ranks of each."""

    targets: Ints
    start: int
    """The error of the first cell."""
    length: int
    places: Places
    """For cuts between neighboring records of all axes, which may overlap."""
    offsets: list[int]
    """Where the axis of every step begins among these cuts."""
    data: range
    """The cuts that have a record beside them."""
    end: End

    @cached_property
    def cells(self) -> list[slice]:
        """The cells of every step that lie on the data, or one cell."""
        firsts = [max(0, self.data.start - offset) for offset in self.offsets]
        stops = [min(self.length, self.data.stop - offset) for offset in self.offsets]
        return [slice(a, max(a + 1, b)) for a, b in zip(firsts, stops, strict=True)]

    @property
    def advances(self) -> list[int]:
        """How far targets move at each step, up to the length of the axis.

        The start lies before all grid points, so the first answer may be any of them.
        """
        moves = np.diff(self.targets, prepend=self.targets[0] - self.length)
        return [min(move, self.length) for move in moves.tolist()]

    def steps(self, algebra: Algebra) -> Iterator["Step"]:
        """All steps."""
        numbers = np.array(self.places[1:], dtype=np.float64)
        free, factors = numbers[0], algebra.number(numbers)
        reach = self.length
        for row, (cells, advance) in enumerate(zip(self.cells, self.advances, strict=True)):
            here = slice(self.offsets[row] + cells.start, self.offsets[row] + cells.stop)
            sources = slice(cells.start, reach)
            yield Step(row, advance, cells, sources, free[..., here], factors[..., here])
            reach = cells.stop


class Factors(NamedTuple):
    """By cut, the factors of masses by where the answer lies: in the gap, or at an atom."""

    gap: Floats
    ends: Floats
    begins: Floats
    interior: Floats


class Step(NamedTuple):
    """One step of a pass."""

    row: int
    """Answer row + 1 is placed."""
    advance: int
    cells: slice
    """Where its masses can be."""
    sources: slice
    """Where the masses can be that they come from; as far as there are cells before or at these."""
    free: Floats
    """The points of the gaps at its cells."""
    factors: Floats
    """The rows of `Factors`, for its cells."""
    shrink: Floats | None = None
    """A factor for the mass of open gaps, which are from even earlier steps."""


def forward(axes: Axes, decay: Decay) -> Masses:
    """All masses, by equations (6) to (8)."""
    algebra = decay.algebra
    shape = len(Masses._fields), len(axes.targets) + 1, axes.length
    masses = algebra.nothing(shape)
    masses[0, 0, -axes.start] = algebra.one
    gaps = open_gaps(axes.targets, axes.length, decay)
    for step in axes.steps(algebra):
        advance(step, masses[:2, step.row], masses[:, step.row + 1], gaps, decay)
    return Masses(*masses)


def ends(axes: Axes, decay: Decay, count: int) -> Floats:
    """The factors for the way from cut `count`, the last on the grid, to the end of the data."""
    errors = np.arange(axes.start, axes.start + axes.length)
    return decay.algebra.factor(decay.rate * axes.end.cost(errors, count))


def advance(step: Step, before: Floats, after: Floats, gaps: OpenGaps, decay: Decay) -> None:
    """The masses after a step, from those before it; a batch of passes has more axes.

    The first axis has the masses by name: of those before, only the first two matter.
    """
    algebra, cells, width = decay.algebra, step.cells, step.free.shape[-1]
    (total, upper), factors = before[..., step.sources], Factors(*step.factors)
    made = Masses(*after[..., cells])
    down = _reach_down(total, upper, step.advance, decay)[..., :width]
    up = scans.prefix(total[..., :width], decay)
    made.entering[..., 0] = algebra.zero
    algebra.times(up[..., :-1], decay.fall[1], out=made.entering[..., 1:])
    algebra.add(down, made.entering, out=made.entering)
    algebra.times(down, factors.ends, out=made.upper)
    algebra.times(up, factors.begins, out=made.lower)
    once = algebra.times(made.entering, factors.gap)
    gaps.step(step.row, cells, once, step.free, made.repeated, step.shrink)
    algebra.add(made.upper, made.lower, out=made.total)
    algebra.add(once, made.repeated, out=once)
    algebra.add(made.total, once, out=made.total)
    # At a cut inside an atom there is no mass yet: the answer stays at its error.
    algebra.times(total[..., :width], factors.interior, out=once)
    algebra.add(made.total, once, out=made.total)


def _reach_down(before: Floats, atoms: Floats, advance: int, decay: Decay) -> Floats:
    """U of (6): the mass that comes from higher errors without passing an earlier answer."""
    algebra = decay.algebra
    reached = scans.window(before, advance, decay)
    kept = reached.shape[-1] - advance
    if kept > 0:
        same_rank = algebra.times(atoms[..., advance:], decay.fall[advance])
        algebra.add(reached[..., :kept], same_rank, out=reached[..., :kept])
    return reached


def _copies_at(
    masses: Masses, targets: Ints, k: int, points: int, cell: int, decay: Decay
) -> Floats:
    """The terms of (8) for one cell with `points` points in its gap; entry j-1 is for j copies."""
    algebra = decay.algebra
    shifts = targets[k - 1] - targets[:k][::-1]
    shifts = shifts[cell + shifts < masses.total.shape[1]]
    j = np.arange(len(shifts))
    vectors = algebra.times.accumulate(algebra.number((points + j.astype(np.float64)) / (j + 1)))
    faded = algebra.times(masses.entering[k - j, cell + shifts], decay.fall[shifts])
    return np.asarray(algebra.times(vectors, faded))


@dataclass(frozen=True, eq=False)
class WalkBack:
    """A walk back through the masses of a forward pass."""

    axes: Axes
    masses: Masses
    decay: Decay
    bits: Bits

    @cached_property
    def targets(self) -> list[int]:
        """The targets of all steps."""
        targets: list[int] = self.axes.targets.tolist()
        return targets

    @property
    def algebra(self) -> Algebra:
        """How the masses are represented."""
        return self.decay.algebra

    def back(self, k: int, cell: int) -> list[int]:
        """Draw answer k, whose cut is in this cell, and all answers before it."""
        places, offsets, targets = self.axes.places, self.axes.offsets, self.targets
        answers: list[int] = []
        standing = self._standing(k, cell) if k else ""
        while k:
            at = offsets[k - 1] + cell
            first, free = places.first.item(at), places.free.item(at)
            if standing == "gap":
                count = self._copies(k, cell, free)
                drawn = draws.sorted_with_repeats(self.bits, free, count)
                answers += [first + offset for offset in reversed(drawn)]
                cell += targets[k - 1] - targets[k - count]
                k -= count - 1
            else:
                answers.append(first + free if standing == "lower" else first - 1)
            if k > 1:
                cell, standing = self._predecessor(k, cell, standing)
            k -= 1
        return answers[::-1]

    def _choose(self, weights: Floats) -> int:
        return draws.weighted(self.bits, weights, self.algebra)

    def _standing(self, k: int, cell: int) -> str:
        """Where the k-th answer lies, given the cell of its cut."""
        places, masses, algebra = self.axes.places, self.masses, self.algebra
        at = self.axes.offsets[k - 1] + cell
        if places.interior.item(at):
            return "interior"
        upper, lower = masses.upper.item(k, cell), masses.lower.item(k, cell)
        gap = algebra.joined(*self._in_gap(k, cell, places.free.item(at)))
        if self._chooses_first(upper, algebra.joined(gap, lower)):
            return "upper"
        return "gap" if self._chooses_first(gap, lower) else "lower"

    def _in_gap(self, k: int, cell: int, points: int) -> tuple[float, float]:
        """The masses of the gap at a cell: entered by the k-th answer, and by an earlier one."""
        entering, algebra = self.masses.entering.item(k, cell), self.algebra
        return algebra.scaled(entering, algebra.whole(points)), self.masses.repeated.item(k, cell)

    def _chooses_first(self, first: float, second: float) -> bool:
        return draws.chooses_first(self.bits, first, second, self.algebra)

    def _copies(self, k: int, cell: int, points: int) -> int:
        """How many answers share the gap, by the terms of (8); usually the answer is alone."""
        if self._chooses_first(*self._in_gap(k, cell, points)):
            return 1
        terms = _copies_at(self.masses, self.axes.targets, k, points, cell, self.decay)
        return 2 + self._choose(terms[1:])

    def _predecessor(self, k: int, cell: int, standing: str) -> tuple[int, str]:
        """The cell and the standing of answer k-1, given where answer k entered its slot."""
        if standing == "interior":
            return cell, self._standing(k - 1, cell)
        total, advance = self.masses.total[k - 1], self.targets[k - 1] - self.targets[k - 2]
        same_rank, times = cell + advance, self.algebra.times
        first = cell if standing == "upper" else 0
        stop = cell + 1 if standing == "lower" else min(same_rank, len(total))
        here = self.decay.length - cell
        near = self.decay.around[here + first : here + stop]
        if standing == "lower" or same_rank >= len(total):
            weights = times(total[first:stop], near)
        else:
            weights = np.empty(stop - first + 1)
            times(total[first:stop], near, out=weights[:-1])
            tied = self.masses.upper.item(k - 1, same_rank)
            weights[-1] = self.algebra.scaled(tied, self.decay.fall.item(advance))
        choice = self._choose(weights)
        if choice == stop - first:
            return same_rank, "upper"
        return first + choice, self._standing(k - 1, first + choice)
