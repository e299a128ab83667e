"""Gaps between atoms that contain several answers: the sum (8) of the forward pass, step by step.

A gap stays at its rank, while the axis of errors moves with the targets. So open gaps are stored by
rank, on a strip that is a few axes long. A batch of grids can pass together. Equation numbers are
those of `mechanisms/joint_exp.md`.
"""

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels.algebra import Floats, Logarithms
from dpquantiles.kernels.scans import Decay

AXES = 2
"""The strip is at most this many axes long; at its end, open gaps move back to its start."""

LIFT = 600.0
"""Scaled doubles add up to exp(LIFT), and one step raises them by at most 50 nats."""

MOST_ANSWERS = 1500
"""Up to this many answers, masses that underflow stay 40 nats below all that matter."""

CELLS = 2048
"""How many ranks are processed together, so that their gaps stay in the cache."""


class OpenGaps:
    """Row i has, by rank, the mass of all vectors that entered a gap at step i and are still in it.

    In a gap of w points there are C(w + a - 1, a) vectors of a answers. One more answer multiplies
    this number by (w + a) / (a + 1).
    """

    def __init__(
        self,
        targets: NDArray[np.int64],
        length: int,
        decay: Decay,
        batch: tuple[int, ...] = (),
        grids: tuple[int, ...] = (),
    ) -> None:
        self._targets, self._length, self._decay = targets, length, decay
        # A step shares ranks with other steps whose targets are less than an axis away.
        self._first = targets.searchsorted(targets - length, side="right").tolist()
        last = targets.searchsorted(targets + length, side="left").tolist()
        self._later = [stop - row - 1 for row, stop in enumerate(last)]
        most = max(self._later)
        strip = min(AXES * length, length + int(targets[-1] - targets[0]))
        self._answers = np.arange(1.0, most + 1).reshape(most, *(1 for _ in batch), 1)
        self._growth = np.zeros((most, *grids, strip))
        self._open = np.zeros((len(targets) if most else 0, *batch, strip))
        self._offset = 0

    def step(
        self,
        row: int,
        cells: slice,
        once: Floats,
        free: Floats,
        repeated: Floats,
        shrink: Floats | None = None,
    ) -> None:
        """Add an answer to all open gaps; `repeated` gets the mass of those entered before `row`.

        `cells` are those of the step's axis that lie on the data. By cell, `free` has the number of
        points of the gap and `once` the mass of the vectors that enter it now, which may be of only
        the first passes of a batch. Earlier mass is multiplied by the factors `shrink`.
        """
        first, (*batch, width) = self._first[row], once.shape
        passes = tuple(map(slice, batch))
        advance = self._length
        if first < row:
            advance = int(self._targets[row] - self._targets[row - 1])
        kept = min(max(0, self._length - advance - cells.start), width)
        repeated[..., kept:] = self._decay.algebra.zero
        if not len(self._open):
            return
        self._move(row, advance)
        offset, fade = self._offset + cells.start, self._decay.fall[advance]
        # As many answers as there are later steps may join those that enter at new ranks.
        new = slice(self._later[row]), ..., slice(offset + kept, offset + width)
        self._growth[new] = self._one_more(free[..., kept:], self._later[row])
        if shrink is not None:
            fade = self._decay.algebra.times(fade, shrink)
        for start in range(0, kept, CELLS):
            stop = min(start + CELLS, kept)
            # Rows whose axis ends before these cells have no mass here.
            reached = self._targets[row] - self._length + cells.start + start
            low = int(self._targets.searchsorted(reached, side="right")) if start else first
            ranks = slice(offset + start, offset + stop)
            growth = self._growth[row - low - 1 :: -1, ..., ranks]
            here, masses = (*passes, ranks), (once[..., start:stop], repeated[..., start:stop])
            self._grow(self._open[(slice(low, row), *here)], growth, fade, here, *masses)
        self._enter(row, (*passes, slice(offset, offset + width)), kept, once)

    def _one_more(self, free: Floats, most: int) -> Floats:
        """Row a - 1 has the growth in the number of vectors when one answer joins a others."""
        joined = self._answers[:most]
        return np.asarray((free + joined) / (joined + 1.0))

    def _grow(
        self,
        open_mass: Floats,
        growth: Floats,
        fade: Floats,
        here: tuple[slice, ...],  # noqa: ARG002
        once: Floats,  # noqa: ARG002
        repeated: Floats,
    ) -> None:
        """Let open gaps grow by an answer and fade over an advance; their mass is `repeated`."""
        open_mass *= growth * fade
        np.add.reduce(open_mass, axis=0, out=repeated)

    def _enter(self, row: int, here: tuple[slice, ...], kept: int, once: Floats) -> None:  # noqa: ARG002
        """Store the mass that enters at a step; `kept` cells were on the axis before."""
        self._open[row][here] = once

    def _move(self, row: int, advance: int) -> None:
        """Move the axis along the strip; at the strip's end, shared ranks move to its start."""
        kept = self._length - advance
        self._offset += advance
        if kept and self._offset + self._length <= self._open.shape[-1]:
            return
        shared, rows = slice(self._offset, self._offset + kept), slice(self._first[row], row)
        self._open[rows, ..., :kept] = self._open[rows, ..., shared].copy()
        self._open[rows, ..., kept:] = 0.0
        self._growth[..., :kept] = self._growth[..., shared].copy()
        self._offset = 0


class ScaledGaps(OpenGaps):
    """For masses as logarithms: open gaps are doubles in units that differ by rank.

    The doubles of a rank add up to exp(LIFT). One that underflows never matters again: an older gap
    grows no faster than a newer one, and a newer gap at most 2**(m + 1) times as fast, for m
    answers.
    """

    def __init__(
        self,
        targets: NDArray[np.int64],
        length: int,
        decay: Decay,
        batch: tuple[int, ...] = (),
        grids: tuple[int, ...] = (),
    ) -> None:
        super().__init__(targets, length, decay, batch, grids)
        self._log_scale = np.zeros(self._open.shape[1:])

    def _grow(
        self,
        open_mass: Floats,
        growth: Floats,
        fade: Floats,
        here: tuple[slice, ...],
        once: Floats,
        repeated: Floats,
    ) -> None:
        open_mass *= growth
        faded = self._log_scale[here] + fade
        repeated[:] = faded + np.log(np.add.reduce(open_mass))
        self._log_scale[here] = _scale(np.logaddexp(once, repeated))
        # Where there was no mass, the old unit is arbitrary, and may be far from the new one.
        kept = np.where(repeated > -np.inf, faded - self._log_scale[here], 0.0)
        open_mass *= np.exp(kept)

    def _enter(self, row: int, here: tuple[slice, ...], kept: int, once: Floats) -> None:
        scale = self._log_scale[here]
        scale[..., kept:] = _scale(once[..., kept:])
        super()._enter(row, here, kept, np.exp(once - scale))

    def _move(self, row: int, advance: int) -> None:
        shared = slice(self._offset + advance, self._offset + self._length)
        scale = self._log_scale[..., shared].copy()
        super()._move(row, advance)
        self._log_scale[..., self._offset : self._offset + scale.shape[-1]] = scale


def _scale(log_mass: Floats) -> Floats:
    """The unit in which a mass is exp(LIFT); arbitrary where there is no mass."""
    return np.where(log_mass > -np.inf, log_mass, 0.0) - LIFT


def open_gaps(
    targets: NDArray[np.int64],
    length: int,
    decay: Decay,
    batch: tuple[int, ...] = (),
    grids: tuple[int, ...] = (),
) -> OpenGaps:
    """The open gaps of a forward pass before its first step.

    `batch` is the shape of a batch of passes, and `grids` that of their points.
    """
    scaled = isinstance(decay.algebra, Logarithms)
    return (ScaledGaps if scaled else OpenGaps)(targets, length, decay, batch, grids)
