"""The forward pass of JointExp: total mass of all partial answers, by error and by standing.

Step k = 1 .. m places the k-th answer. Its *error* e = rank - T_k runs along one axis shared by
all steps; cell i of the axis is the error start + i, and its rank at step k is T_k + start + i.
Equation numbers are those of `mechanisms/joint_exp.md`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels import scans
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.gaps import open_gaps
from dpquantiles.kernels.scans import Decay

Ints = NDArray[np.int64]


class Masses(NamedTuple):
    """Row k, column i: the mass at step k (row 0 is the start) in axis cell i."""

    total: Floats
    """F: all states together."""
    upper: Floats
    """H: the answer is the atom that ends at this rank."""
    lower: Floats
    """L: the answer is the atom that starts at this rank."""
    entering: Floats
    """g: the answer enters a gap between two atoms at this step; its point is yet to be chosen."""
    repeated: Floats
    """The part of G (8) in which an earlier answer lies in the same gap."""


def forward(records: Ints, targets: Ints, start: int, points: int, decay: Decay) -> Masses:
    """All masses, equations (6) to (8), on a grid of so many points.

    `records[k-1]` holds the sorted steps with the ranks of step k's axis between them: cell i lies
    between its entries i and i + 1. Entries before the first record are -1, entries after the last
    one are the number of points.
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
    # The start lies before every grid point, so the first answer may lie anywhere after it.
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
    """U of (6): mass that comes from higher errors without passing an earlier answer."""
    algebra = decay.algebra
    reached = scans.window(before, advance, decay)
    kept = len(reached) - advance
    if kept:
        same_rank = algebra.times(atoms[advance:], decay.fall[advance])
        algebra.add(reached[:kept], same_rank, out=reached[:kept])
    return reached


def copies_at(
    masses: Masses, targets: Ints, k: int, points: int, cell: int, decay: Decay
) -> Floats:
    """The terms of (8) for one cell with so many points in its gap: entry j-1 for j copies."""
    algebra = decay.algebra
    shifts = targets[k - 1] - targets[:k][::-1]
    shifts = shifts[cell + shifts < masses.total.shape[1]]
    j = np.arange(len(shifts))
    vectors = algebra.times.accumulate(algebra.number((points + j.astype(np.float64)) / (j + 1)))
    faded = algebra.times(masses.entering[k - j, cell + shifts], decay.fall[shifts])
    return np.asarray(algebra.times(vectors, faded))
