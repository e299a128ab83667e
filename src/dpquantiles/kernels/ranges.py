"""JointExp on many ranges of the same points at once: the masses of all their answers.

Answers ascend, so their ranks ascend too. A range that begins after some records only rules out
the ranks before, and a range that ends early only those behind. So one pass, for a grid without an
upper end, has the masses of all upper ends; and lower ends differ only in how answers begin: some
number of them lies in the gap before the first record of the range. Equation numbers are those of
`mechanisms/joint_exp.md`; the argument is in `mechanisms/joint_exp_family.md`.
"""

from typing import NamedTuple

import numpy as np

from dpquantiles.kernels import joint
from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.gaps import open_gaps
from dpquantiles.kernels.joint import Axes, Factors, Masses, Step
from dpquantiles.kernels.places import Bools, Ints
from dpquantiles.kernels.scans import Decay


class Beginnings(NamedTuple):
    """How answers may begin, for a batch of passes of shape (grids, beginnings)."""

    cut: Ints
    """The place of the cut at which the range begins."""
    anywhere: Bools
    """Whether the first answer may lie above the cut, or be the atom that begins there."""
    entries: Floats
    """Row k has the mass of k answers that lie in the gap of the cut, before all others."""

    def active(self, zero: float) -> list[int]:
        """By step, how many beginnings may have mass before it; all others are the last ones."""
        first = np.argmax((self.entries != zero).any(axis=1), axis=0)
        starts = np.where(self.anywhere.any(axis=0), 0, first)
        steps = range(len(self.entries) - 1)
        return [1 + int(np.flatnonzero(starts <= step).max(initial=0)) for step in steps]


class UpperEnds(NamedTuple):
    """Where ranges end, together with one way in which their answers begin; an entry for each."""

    grid: Ints
    beginning: Ints
    cells: Ints
    """Row k has the cell of the cut at which the range ends, on the axis of step k + 1."""

    def of(self, masses: Floats, row: int, before: int = 0) -> Floats:
        """The masses at the cells of a step, or some cells before, which may be off its axis."""
        cell = np.minimum(np.maximum(self.cells[row] - before, 0), masses.shape[-1] - 1)
        return np.asarray(masses[self.grid, self.beginning, cell])

    def below(self, whole: Floats, atoms: Floats, row: int, algebra: Algebra) -> Floats:
        """The masses of a step at all cells before, and of atoms that end at the cell."""
        sums, last = algebra.add.accumulate(whole, axis=-1), self.cells[row]
        earlier, at_atom = self.of(sums, row, 1), self.of(atoms, row)
        earlier[last <= 0] = algebra.zero
        at_atom[(last < 0) | (last >= whole.shape[-1])] = algebra.zero
        return np.asarray(algebra.add(earlier, at_atom))


class Passed(NamedTuple):
    """The masses of all passes that ranges need, by upper end."""

    entering: list[Floats]
    """By step, what enters the gap in which the range ends."""
    below: dict[int, Floats]
    """The whole answers below this gap.

    Keys are numbers of answers on the grid; all others lie beyond all records.
    """


def forward(
    axes: Axes, beginnings: Beginnings, ends: UpperEnds, points: Floats, decay: Decay
) -> Passed:
    """The masses of a batch of passes over grids without ends.

    The arrays of `axes.places` have shape (grids, 1, places). Masses of step k are divided by
    C(K + k - 1, k), where K are the points of each grid between its records, so that they are at
    most one; those that enter a gap at step k only by C(K + k - 2, k - 1).
    """
    algebra, batch = decay.algebra, beginnings.cut.shape
    shape, passed = (*batch, axes.length), Passed([], {})
    before, after = (np.full((len(Masses._fields), *shape), algebra.zero) for _ in range(2))
    before[0][beginnings.anywhere, -axes.start] = algebra.one
    gaps = open_gaps(axes.targets, axes.length, decay, batch, (*batch[:1], 1))
    for step, active in zip(axes.steps(algebra), beginnings.active(algebra.zero), strict=True):
        row, place = step.row, beginnings.cut - axes.offsets[step.row]
        shrink = algebra.number((row + 1) / (points + row))[:, None, None]
        factors = step.factors if row else _above(step, place[:, :active], algebra)
        scaled = step._replace(factors=algebra.times(factors, shrink), shrink=shrink)
        joint.advance(scaled, before[:2, :, :active], after[:, :, :active], gaps, decay)
        after[:2, ..., step.cells.stop :] = algebra.zero
        made = Masses(*after)
        on_axis = (place >= 0) & (place < axes.length)
        at = (*np.nonzero(on_axis), place[on_axis])
        made.total[at] = algebra.add(made.total[at], beginnings.entries[row + 1][on_axis])
        passed.entering.append(ends.of(made.entering, row))
        if row + 1 in axes.end.counts:
            finish = joint.ends(axes, decay, row + 1)
            whole, atoms = (algebra.times(mass, finish) for mass in (made.total, made.upper))
            passed.below[row + 1] = ends.below(whole, atoms, row, algebra)
        before, after = after, before
    return passed


def _above(step: Step, cuts: Ints, algebra: Algebra) -> Floats:
    """The factors of a step for answers above a cut, or at the atom that begins there."""
    cells = np.arange(step.cells.start, step.cells.stop)
    above, at_least = (
        algebra.number(mask.astype(np.float64))
        for mask in (cells > cuts[..., None], cells >= cuts[..., None])
    )
    allowed = Factors(gap=above, ends=above, begins=at_least, interior=above)
    return np.asarray(algebra.times(step.factors, np.array(allowed)))
