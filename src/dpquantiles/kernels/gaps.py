"""Gaps between atoms that hold several answers: the sum (8) of the forward pass, step by step.

A gap stays at its rank while the axis of errors moves on with the targets. So open gaps are kept by
rank, on a strip some axes long. Equation numbers are those of `mechanisms/joint_exp.md`.
"""

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels.algebra import Floats, Logarithms
from dpquantiles.kernels.scans import Decay

AXES = 2
"""The strip is at most this many axes long; past its end, what is still open moves to its start."""

LIFT = 600.0
"""Doubles add up to exp(LIFT) times their scale; one step raises them by at most 50 nats."""

MOST_ANSWERS = 1500
"""What underflows, by over LIFT + 700 nats, stays 40 nats below all else for so many answers."""

CELLS = 2048
"""Ranks that are worked on together, so that their gaps stay in the cache."""


class OpenGaps:
    """Row i, by rank: the mass of all vectors that entered a gap at step i and are still in it.

    In a gap of w points, a answers are C(w + a - 1, a) vectors; one more answer makes
    (w + a) / (a + 1) times as many.
    """

    def __init__(self, targets: NDArray[np.int64], length: int, decay: Decay) -> None:
        self._targets, self._length, self._decay = targets, length, decay
        # A step shares ranks with those whose targets are less than an axis away.
        self._first = np.searchsorted(targets, targets - length, side="right").tolist()
        most = max(row - first for row, first in enumerate(self._first))
        strip = min(AXES * length, length + int(targets[-1] - targets[0]))
        self._answers = np.arange(1.0, most + 1)[:, None]
        self._growth = np.empty((most, strip))
        self._open = np.zeros((len(targets) if most else 0, strip))
        self._offset = 0

    def step(self, row: int, once: Floats, free: Floats) -> Floats:
        """The mass of gaps that were entered before step `row`, which adds an answer to each.

        Cells are those of the step's axis; their gaps have `free` points, and `once` is the mass
        of the vectors that enter them now.
        """
        length = self._length
        repeated = np.full(length, self._decay.algebra.zero)
        if not len(self._open):
            return repeated
        first = self._first[row]
        advance = int(self._targets[row] - self._targets[row - 1]) if first < row else length
        self._move(row, advance)
        fresh = slice(self._offset + length - advance, self._offset + length)
        self._growth[:, fresh] = self._one_more(free[length - advance :])
        for start in range(0, length - advance, CELLS):
            stop = min(start + CELLS, length - advance)
            # Rows whose axis ends before these cells have nothing here.
            reached = self._targets[row] - length + start
            low = int(self._targets.searchsorted(reached, side="right")) if start else first
            ranks = slice(self._offset + start, self._offset + stop)
            open_mass = self._open[low:row, ranks]
            open_mass *= self._growth[row - low - 1 :: -1, ranks]
            repeated[start:stop] = self._faded(open_mass, ranks, advance, once[start:stop])
        self._enter(row, slice(self._offset, self._offset + length), advance, once)
        return repeated

    def _one_more(self, free: Floats) -> Floats:
        """Row a - 1: by how much one more answer beside a others multiplies the vectors."""
        return np.asarray((free + self._answers) / (self._answers + 1.0))

    def _faded(self, open_mass: Floats, ranks: slice, advance: int, once: Floats) -> Floats:  # noqa: ARG002
        """Let open gaps fade over an advance of the targets; their mass by rank."""
        open_mass *= self._decay.fall[advance]
        return np.asarray(np.add.reduce(open_mass))

    def _enter(self, row: int, ranks: slice, advance: int, once: Floats) -> None:  # noqa: ARG002
        """Keep the mass that enters at a step."""
        self._open[row, ranks] = once

    def _move(self, row: int, advance: int) -> None:
        """Bring the step's axis onto the strip; what it shares with earlier ones comes along."""
        kept = self._length - advance
        self._offset += advance
        if kept and self._offset + self._length <= self._open.shape[1]:
            return
        shared, rows = slice(self._offset, self._offset + kept), slice(self._first[row], row)
        self._open[rows, :kept] = self._open[rows, shared].copy()
        self._open[rows, kept:] = 0.0
        self._growth[:, :kept] = self._growth[:, shared].copy()
        self._offset = 0


class ScaledGaps(OpenGaps):
    """For masses as logarithms: open gaps are doubles over a scale of their rank.

    They add up to exp(LIFT), and one that underflows never matters again: an older gap grows no
    faster than a newer one, and a newer one at most 2**(m + 1) times as fast, m the answers.
    """

    def __init__(self, targets: NDArray[np.int64], length: int, decay: Decay) -> None:
        super().__init__(targets, length, decay)
        self._log_scale = np.empty(self._open.shape[1])

    def _faded(self, open_mass: Floats, ranks: slice, advance: int, once: Floats) -> Floats:
        faded = self._log_scale[ranks] + self._decay.fall[advance]
        mass = faded + np.log(np.add.reduce(open_mass))
        self._log_scale[ranks] = _scale(np.logaddexp(once, mass))
        open_mass *= np.exp(faded - self._log_scale[ranks])
        return np.asarray(mass)

    def _enter(self, row: int, ranks: slice, advance: int, once: Floats) -> None:
        fresh = slice(ranks.stop - advance, ranks.stop)
        self._log_scale[fresh] = _scale(once[len(once) - advance :])
        self._open[row, ranks] = np.exp(once - self._log_scale[ranks])

    def _move(self, row: int, advance: int) -> None:
        shared = slice(self._offset + advance, self._offset + self._length)
        scale = self._log_scale[shared].copy()
        super()._move(row, advance)
        self._log_scale[self._offset : self._offset + len(scale)] = scale


def _scale(log_mass: Floats) -> Floats:
    """The scale over which a mass is exp(LIFT); any where there is none."""
    return np.where(log_mass > -np.inf, log_mass, 0.0) - LIFT


def open_gaps(targets: NDArray[np.int64], length: int, decay: Decay) -> OpenGaps:
    """The gaps of one forward pass, before its first step."""
    scaled = isinstance(decay.algebra, Logarithms)
    return (ScaledGaps if scaled else OpenGaps)(targets, length, decay)
