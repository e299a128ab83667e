"""The forward pass of JointExp: total mass of all partial answers, by error and by standing.

Step k = 1 .. m places the k-th answer. Its *error* e = rank - T_k runs along one axis shared by all
steps; cell i of the axis is the error start + i, so the rank of cell i at step k is T_k + start + i.
Equation numbers are those of `mechanisms/joint_exp.md`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels import scans

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Masses(NamedTuple):
    """Log masses; row k, column i: step k (row 0 is the start), axis cell i."""

    total: Floats
    """F: all states together."""
    upper: Floats
    """H: the answer is the atom that ends at this rank."""
    gap: Floats
    """G: the answer is a grid point strictly between two atoms."""
    lower: Floats
    """L: the answer is the atom that starts at this rank."""
    entering: Floats
    """g: the part of G that enters the gap at this step."""


def gap_widths(records: Ints) -> Ints:
    """Grid points strictly between the records on both sides of each rank; -1 inside an atom."""
    return np.diff(records, axis=-1) - 1


def log_multisets(width: Floats, count: int) -> Floats:
    """log C(width + j - 1, j) for j = 1 .. count (rows): nondecreasing j-vectors of width points."""
    j = np.arange(count, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore"):
        terms = np.log((width + j) / (j + 1.0))
    return np.cumsum(terms, axis=0)


def forward(records: Ints, targets: Ints, start: int, size: int, decay: float) -> Masses:
    """All masses, equations (5) to (7).

    `records[k-1]` holds the sorted steps with the ranks of step k's axis between them: cell i lies
    between its entries i and i + 1. Entries before the first record are -1, entries after the last
    one are the grid's size. `size` is the number of records.
    """
    steps, length = len(targets), records.shape[1] - 1
    masses = Masses(*(np.full((steps + 1, length), -np.inf) for _ in Masses._fields))
    masses.total[0, -start] = 0.0
    errors = np.arange(start, start + length)
    previous = 0
    for k in range(1, steps + 1):
        target = int(targets[k - 1])
        ranks = errors + target
        widths = gap_widths(records[k - 1])
        inside = (ranks >= 0) & (ranks <= size)
        boundary = inside & (widths >= 0)
        # The start lies before every grid point, so the first step may rise from it freely.
        advance = length if k == 1 else target - previous
        reach_down = _reach_down(masses, k, advance, decay)
        reach_up = scans.prefix(masses.total[k - 1], decay)
        masses.upper[k] = np.where(boundary & (ranks > 0), reach_down, -np.inf)
        masses.lower[k] = np.where(boundary & (ranks < size), reach_up, -np.inf)
        masses.entering[k] = reach_down
        masses.entering[k, 1:] = np.logaddexp(reach_down[1:], reach_up[:-1] - decay)
        open_gap = boundary & (widths > 0)
        masses.gap[k, open_gap] = log_sum_copies(
            masses, targets, k, np.flatnonzero(open_gap), widths[open_gap], decay
        )
        outside_atoms = np.logaddexp(masses.upper[k], masses.lower[k])
        np.logaddexp(outside_atoms, masses.gap[k], out=masses.total[k])
        interior = inside & (widths < 0)
        masses.total[k, interior] = masses.total[k - 1, interior]
        previous = target
    return masses


def _reach_down(masses: Masses, k: int, advance: int, decay: float) -> Floats:
    """U of (5): mass that comes from higher errors without passing an earlier answer."""
    length = masses.total.shape[1]
    reached = scans.window(masses.total[k - 1], decay, advance)
    if advance < length:
        same_rank = masses.upper[k - 1, advance:] - decay * advance
        kept = length - advance
        np.logaddexp(reached[:kept], same_rank, out=reached[:kept])
    return reached


def copy_terms(
    masses: Masses, targets: Ints, k: int, cells: Ints, widths: Ints, decay: float
) -> Floats:
    """The terms of (7), row j-1 for j copies in the same gap; as many rows as can be nonzero."""
    length = masses.total.shape[1]
    shifts = targets[k - 1] - targets[k - 1 :: -1][:k]
    shifts = shifts[shifts < length]
    terms = log_multisets(widths.astype(np.float64), len(shifts))
    for j, shift in enumerate(shifts):
        source = cells + shift
        on_axis = source < length
        entering = masses.entering[k - j, np.minimum(source, length - 1)]
        terms[j] += np.where(on_axis, entering - decay * shift, -np.inf)
    return terms


def log_sum_copies(
    masses: Masses, targets: Ints, k: int, cells: Ints, widths: Ints, decay: float
) -> Floats:
    """G of (7)."""
    return scans.log_sum_rows(copy_terms(masses, targets, k, cells, widths, decay))
