"""JointExp on one data set: the masses of all partial answers, and a draw of all answers.

Step k = 1 .. m of the forward pass places the k-th answer. All steps share one axis of *errors*
e = rank - T_k. Cell i of the axis is the error start + i, which is the rank T_k + start + i at
step k. A draw walks back from the last answer to the first. Equation numbers are those of
`mechanisms/joint_exp.md`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.kernels import draws, scans
from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.gaps import open_gaps
from dpquantiles.kernels.scans import Decay

Ints = NDArray[np.int64]


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


def forward(records: Ints, targets: Ints, start: int, points: int, decay: Decay) -> Masses:
    """All masses, by equations (6) to (8), on a grid of `points` points.

    `records[k-1]` has the sorted records around the axis of step k: the rank of cell i lies between
    entries i and i + 1. Entries before the first record are -1, and entries after the last one are
    `points`.
    """
    algebra, steps, length = decay.algebra, len(targets), records.shape[1] - 1
    masses = Masses(*(np.full((steps + 1, length), algebra.zero) for _ in Masses._fields))
    masses.total[0, -start] = algebra.one
    below, above = records[:, :-1], records[:, 1:]
    apart, after_first = above > below, below >= 0
    ends, begins = apart & after_first, apart & (above < points)
    interior = after_first & (below < points) & ~apart
    free = (above - below).astype(np.float64)
    free -= apart
    gaps = open_gaps(targets, length, decay)
    # The start lies before all grid points, so the first answer may be any of them.
    advances = np.minimum(np.diff(targets, prepend=targets[0] - length), length).tolist()
    for row, advance in enumerate(advances):
        before, atoms = masses.total[row], masses.upper[row]
        total, upper, lower, entering, repeated = (mass[row + 1] for mass in masses)
        down = _reach_down(before, atoms, advance, decay)
        up = scans.prefix(before, decay)
        np.copyto(upper, down, where=ends[row])
        np.copyto(lower, up, where=begins[row])
        entering[:] = down
        algebra.add(down[1:], algebra.times(up[:-1], decay.fall[1]), out=entering[1:])
        once = algebra.times(entering, algebra.number(free[row]))
        repeated[:] = gaps.step(row, once, free[row])
        algebra.add(algebra.add(upper, lower), algebra.add(once, repeated), out=total)
        np.copyto(total, before, where=interior[row])
    return masses


def _reach_down(before: Floats, atoms: Floats, advance: int, decay: Decay) -> Floats:
    """U of (6): the mass that comes from higher errors without passing an earlier answer."""
    algebra = decay.algebra
    reached = scans.window(before, advance, decay)
    kept = len(reached) - advance
    if kept:
        same_rank = algebra.times(atoms[advance:], decay.fall[advance])
        algebra.add(reached[:kept], same_rank, out=reached[:kept])
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
    """A walk back through the masses of a forward pass; its fields are arguments of `forward`."""

    records: Ints
    masses: Masses
    targets: Ints
    decay: Decay
    bits: Bits

    @property
    def algebra(self) -> Algebra:
        """How the masses are represented."""
        return self.decay.algebra

    def back(self, cell: int) -> list[int]:
        """Draw all answers from the last to the first; the cut of the last one is in this cell."""
        answers: list[int] = []
        k, standing = len(self.targets), self._standing(len(self.targets), cell)
        while True:
            below, above = self.records[k - 1, cell : cell + 2].tolist()
            if standing == "gap":
                count = self._copies(k, cell, above - below - 1)
                offsets = draws.sorted_with_repeats(self.bits, above - below - 1, count)
                answers += [below + 1 + offset for offset in reversed(offsets)]
                cell += int(self.targets[k - 1] - self.targets[k - count])
                k -= count - 1
            else:
                answers.append(above if standing == "lower" else below)
            if k == 1:
                return answers[::-1]
            cell, standing = self._predecessor(k, cell, standing)
            k -= 1

    def _choose(self, weights: Floats) -> int:
        return draws.weighted(self.bits, weights, self.algebra)

    def _standing(self, k: int, cell: int) -> str:
        """Where the k-th answer lies, given the cell of its cut."""
        below, above = self.records[k - 1, cell : cell + 2].tolist()
        if below == above:
            return "interior"
        upper, lower = self.masses.upper.item(k, cell), self.masses.lower.item(k, cell)
        once, repeated = self._in_gap(k, cell, above - below - 1)
        gap = self.algebra.add(once, repeated)
        if self._chooses_first(upper, self.algebra.add(gap, lower).item()):
            return "upper"
        return "gap" if self._chooses_first(gap.item(), lower) else "lower"

    def _in_gap(self, k: int, cell: int, points: int) -> tuple[float, float]:
        """The masses of the gap at a cell: entered by the k-th answer, and by an earlier one."""
        entering, repeated = self.masses.entering, self.masses.repeated
        factor = self.algebra.number(np.float64(points))
        once = self.algebra.times(entering.item(k, cell), factor)
        return once.item(), repeated.item(k, cell)

    def _chooses_first(self, first: float, second: float) -> bool:
        return draws.chooses_first(self.bits, first, second, self.algebra)

    def _copies(self, k: int, cell: int, points: int) -> int:
        """How many answers share the gap, by the terms of (8); usually the answer is alone."""
        if self._chooses_first(*self._in_gap(k, cell, points)):
            return 1
        terms = _copies_at(self.masses, self.targets, k, points, cell, self.decay)
        return 2 + self._choose(terms[1:])

    def _predecessor(self, k: int, cell: int, standing: str) -> tuple[int, str]:
        """The cell and the standing of answer k-1, given where answer k entered its slot."""
        if standing == "interior":
            return cell, self._standing(k - 1, cell)
        total, advance = self.masses.total[k - 1], int(self.targets[k - 1] - self.targets[k - 2])
        first = cell if standing == "upper" else 0
        stop = cell + 1 if standing == "lower" else min(cell + advance, len(total))
        here = self.decay.length - cell
        near = self.decay.around[here + first : here + stop]
        same_rank = cell + advance
        if standing == "lower" or same_rank >= len(total):
            weights = self.algebra.times(total[first:stop], near)
        else:
            weights = np.empty(stop - first + 1)
            self.algebra.times(total[first:stop], near, out=weights[:-1])
            tied = self.masses.upper.item(k - 1, same_rank)
            weights[-1] = self.algebra.times(tied, self.decay.fall[advance])
        choice = self._choose(weights)
        if choice == stop - first:
            return same_rank, "upper"
        return first + choice, self._standing(k - 1, first + choice)
