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
from dpquantiles.kernels.scans import Decay

Ints = NDArray[np.int64]


class Masses(NamedTuple):
    """Row k, column i: the mass at step k (row 0 is the start) in axis cell i."""

    total: Floats
    """F: all states together."""
    upper: Floats
    """H: the answer is the atom that ends at this rank."""
    gap: Floats
    """G: the answer is a grid point strictly between two atoms."""
    lower: Floats
    """L: the answer is the atom that starts at this rank."""
    entering: Floats
    """g: the part of G that enters the gap at this step, before its point is chosen."""


def forward(records: Ints, targets: Ints, start: int, n: int, decay: Decay) -> Masses:
    """All masses, equations (6) to (8), for n records.

    `records[k-1]` holds the sorted steps with the ranks of step k's axis between them: cell i lies
    between its entries i and i + 1. Entries before the first record are -1, entries after the last
    one are the grid's size.
    """
    algebra, steps, length = decay.algebra, len(targets), records.shape[1] - 1
    masses = Masses(*(np.full((steps + 1, length), algebra.zero) for _ in Masses._fields))
    masses.total[0, -start] = algebra.one
    widths = records[:, 1:] - records[:, :-1] - 1
    ranks = targets[:, None] + np.arange(start, start + length)
    on_data = (ranks >= 0) & (ranks <= n)
    boundary = on_data & (widths >= 0)
    ends, begins, interior = boundary & (ranks > 0), boundary & (ranks < n), on_data & (widths < 0)
    points = np.maximum(widths, 0).astype(np.float64)
    for k in range(1, steps + 1):
        before, row = masses.total[k - 1], k - 1
        # The start lies before every grid point, so the first answer may lie anywhere after it.
        advance = length if k == 1 else int(targets[row] - targets[row - 1])
        down = _reach_down(masses, k, advance, decay)
        up = scans.prefix(before, decay)
        np.copyto(masses.upper[k], down, where=ends[row])
        np.copyto(masses.lower[k], up, where=begins[row])
        masses.entering[k] = down
        masses.entering[k, 1:] = algebra.add(down[1:], algebra.times(up[:-1], decay.fall[1]))
        masses.gap[k] = _gap(masses, targets, k, points[row], decay)
        outside = algebra.add(algebra.add(masses.upper[k], masses.lower[k]), masses.gap[k])
        masses.total[k] = np.where(interior[row], before, outside)
    return masses


def _reach_down(masses: Masses, k: int, advance: int, decay: Decay) -> Floats:
    """U of (6): mass that comes from higher errors without passing an earlier answer."""
    algebra = decay.algebra
    reached = scans.window(masses.total[k - 1], advance, decay)
    kept = len(reached) - advance
    if kept > 0:
        same_rank = algebra.times(masses.upper[k - 1, advance:], decay.fall[advance])
        reached[:kept] = algebra.add(reached[:kept], same_rank)
    return reached


def _gap(masses: Masses, targets: Ints, k: int, points: Floats, decay: Decay) -> Floats:
    """G of (8), nested: C(w + j, j + 1) = C(w + j - 1, j) (w + j) / (j + 1), w the points.

    A gap that was entered j steps ago was entered at the same rank, that is, at an error larger by
    what the target has grown since.
    """
    algebra, length = decay.algebra, len(points)
    mass = np.full(length, algebra.zero)
    shifts = _shifts(targets, k, length).tolist()
    for j, shift in reversed(list(enumerate(shifts))):
        entered = algebra.times(masses.entering[k - j, shift:], decay.fall[shift])
        algebra.add(mass[: length - shift], entered, out=mass[: length - shift])
        algebra.times(mass, algebra.ratio(points + j, j + 1.0), out=mass)
    return mass


def copies_at(
    masses: Masses, targets: Ints, k: int, points: int, cell: int, decay: Decay
) -> Floats:
    """The terms of (8) for one cell with so many points in its gap: entry j-1 for j copies."""
    algebra = decay.algebra
    shifts = _shifts(targets, k, masses.total.shape[1] - cell)
    j = np.arange(len(shifts))
    vectors = algebra.times.accumulate(algebra.ratio(points + j.astype(np.float64), j + 1))
    faded = algebra.times(masses.entering[k - j, cell + shifts], decay.fall[shifts])
    return np.asarray(algebra.times(vectors, faded))


def _shifts(targets: Ints, k: int, length: int) -> Ints:
    """How much the k-th target exceeds itself and those before it, while a cell is that far."""
    shifts: Ints = targets[k - 1] - targets[:k][::-1]
    return shifts[shifts < length]
