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
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.gaps import open_gaps
from dpquantiles.kernels.joint import Axes, Masses
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


class Passed(NamedTuple):
    """The masses of all passes that ranges need; the first axis of `entering` has all steps."""

    entering: Floats
    upper: dict[int, Floats]
    """The whole answers that end at an atom, by the cell of their last cut.

    Keys are numbers of answers on the grid; all others lie beyond all records.
    """
    whole: dict[int, Floats]
    """All whole answers, added up from the first cell."""

    def of(self, grid: int) -> "Passed":
        """The masses of one grid of the batch."""
        upper, whole = ({k: of[grid] for k, of in masses.items()} for masses in self[1:])
        return Passed(self.entering[:, grid], upper, whole)


def forward(axes: Axes, beginnings: Beginnings, points: Floats, decay: Decay) -> Passed:
    """The masses of a batch of passes over grids without ends.

    The arrays of `axes.places` have shape (grids, 1, places). Masses of step k are divided by
    C(K + k - 1, k), where K are the points of each grid between its records, so that they are at
    most one.
    """
    algebra, batch = decay.algebra, beginnings.cut.shape
    shape = (*batch, axes.length)
    before, after = (
        Masses(*(np.full(shape, algebra.zero) for _ in Masses._fields)) for _ in range(2)
    )
    entering = np.empty((len(axes.targets), *shape))
    passed, counts = Passed(entering, {}, {}), axes.end.counts
    before.total[..., -axes.start] = algebra.one
    gaps = open_gaps(axes.targets, axes.length, decay, batch, (*batch[:1], 1))
    for row, advance in enumerate(axes.advances):
        shrink = algebra.number((row + 1) / (points + row))[:, None, None]
        for mass in (before.total, before.upper):
            algebra.times(mass, shrink, out=mass)
        for mass in (after.upper, after.lower):
            mass.fill(algebra.zero)
        place = beginnings.cut - axes.offsets[row]
        beyond = None
        if row == 0:
            nowhere = np.where(beginnings.anywhere, place, axes.length)
            beyond = np.arange(axes.length) - nowhere[..., None]
        joint.step(row, axes.at(row), advance, before, after, gaps, decay, shrink, beyond)
        on_axis = (place >= 0) & (place < axes.length)
        at = (*np.nonzero(on_axis), place[on_axis])
        after.total[at] = algebra.add(after.total[at], beginnings.entries[row + 1][on_axis])
        entering[row] = after.entering
        before, after = after, before
        if row + 1 in counts:
            finish = joint.ends(axes, decay, row + 1)
            whole = algebra.times(before.total, finish)
            passed.whole[row + 1] = algebra.add.accumulate(whole, axis=-1)
            passed.upper[row + 1] = algebra.times(before.upper, finish)
    return passed
