"""Decayed sums of positive masses along an axis, without a single subtraction of masses.

All terms are positive, so the relative error of a sum grows only with the number of additions in
its longest chain; cutting the axis into runs keeps that chain short (`scan_depth`).

From this follows a bound on what rounding can add to the privacy loss of a draw. It uses public
numbers only, so that it can be paid for before any data are read. The argument is in
`mechanisms/joint_exp.md`, section "Rounding".
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpquantiles.kernels.algebra import LOGARITHMIC_RUN, Algebra, Floats

ROUNDING = 2.0**-52
"""Twice the unit roundoff: room for elementary functions that are not correctly rounded."""

TOSSES = 16
"""More than the operations behind one choice: two coins, or one share of a sum."""

SCALED_EXPONENT = 2048.0
"""More than the logarithm of any double times its scale: what a toss between doubles rounds."""


@dataclass(frozen=True)
class Decay:
    """The factors s**0, s**1, ... of a pass, s = exp(-rate), looked up rather than recomputed."""

    algebra: Algebra
    fall: Floats
    """s**i for all distances of the pass."""
    rise: Floats
    """s**-i within a run: as many cells as one sequential scan may take without overflow."""
    length: int
    """The longest axis that the factors are for."""

    @classmethod
    def of(cls, rate: float, length: int, algebra: Algebra) -> "Decay":
        """Factors for distances up to `length`."""
        run = algebra.run_length(rate)
        distance = rate * np.arange(max(length, run) + 1, dtype=np.float64)
        rise = algebra.factor(-distance[:run])
        return cls(algebra, algebra.factor(distance), rise, length)

    @cached_property
    def around(self) -> Floats:
        """s**|i| for i from -length to length."""
        return np.concatenate([self.fall[self.length : 0 : -1], self.fall[: self.length + 1]])


def prefix(mass: Floats, decay: Decay) -> Floats:
    """sum_{j <= i} mass[..., j] s**(i - j)  along the last axis."""
    algebra, length, run = decay.algebra, mass.shape[-1], len(decay.rise)
    if length <= run:
        risen = algebra.times(mass, decay.rise[:length])
        sums = algebra.add.accumulate(risen, axis=-1)
        return np.asarray(algebra.times(sums, decay.fall[:length]))
    rows = -(-length // run)
    padded = np.full((*mass.shape[:-1], rows * run), algebra.zero)
    padded[..., :length] = mass
    inner = prefix(padded.reshape(*mass.shape[:-1], rows, run), decay)
    carried = _doubling(inner[..., :-1, -1], decay)[..., None]
    faded = algebra.times(carried, decay.fall[1 : run + 1])
    inner[..., 1:, :] = algebra.add(inner[..., 1:, :], faded)
    return inner.reshape(padded.shape)[..., :length]


def _doubling(totals: Floats, decay: Decay) -> Floats:
    """As `prefix`, for cells that lie a run apart; the reach of a sum doubles."""
    algebra, shift, sums = decay.algebra, 1, totals.copy()
    while shift < sums.shape[-1]:
        earlier = algebra.times(sums[..., :-shift], decay.fall[shift * len(decay.rise)])
        algebra.add(sums[..., shift:], earlier, out=sums[..., shift:])
        shift *= 2
    return sums


def suffix(mass: Floats, decay: Decay) -> Floats:
    """sum_{j >= i} mass[..., j] s**(j - i)  along the last axis."""
    return prefix(mass[..., ::-1], decay)[..., ::-1]


def window(mass: Floats, width: int, decay: Decay) -> Floats:
    """sum_{i <= j < i + width} mass[j] s**(j - i).

    Cut into blocks as long as the window, every window is the tail of one block and the head of
    the next: two positive scans instead of a difference of prefix sums.
    """
    algebra, length = decay.algebra, mass.shape[-1]
    if width == 0:
        return np.full(length, algebra.zero)
    if width >= length:
        return suffix(mass, decay)
    rows = -(-length // width)
    blocks = np.full((rows + 1, width), algebra.zero)
    blocks.ravel()[:length] = mass
    if width <= len(decay.rise):
        return _tails_and_heads(blocks, decay).ravel()[:length]
    tails = suffix(blocks[:-1], decay)
    # Seen from offset i of its block, a window covers the first i cells of the next one.
    faded = algebra.times(blocks[1:, :-1], decay.fall[: width - 1])
    heads = algebra.times(_undecayed(faded, algebra), decay.fall[width - 1 : 0 : -1])
    tails[:, 1:] = algebra.add(tails[:, 1:], heads)
    return tails.ravel()[:length]


def _tails_and_heads(blocks: Floats, decay: Decay) -> Floats:
    """The windows of blocks that are no longer than a run: both scans share their factors."""
    algebra, (rows, width) = decay.algebra, blocks.shape
    risen = algebra.times(blocks, decay.rise[width - 1 :: -1])
    heads = algebra.add.accumulate(risen, axis=1)
    tails = algebra.add.accumulate(risen[:-1, ::-1], axis=1)[:, ::-1]
    # The head that a window covers ends one window after the cell before it; the first window of
    # a block covers none.
    heads[:, -1] = algebra.zero
    ahead = heads.ravel()[width - 1 : -1].reshape(rows - 1, width)
    sums = algebra.times(ahead, decay.fall[width])
    algebra.add(sums, tails, out=sums)
    return np.asarray(algebra.times(sums, decay.fall[width - 1 :: -1], out=sums))


def _undecayed(mass: Floats, algebra: Algebra) -> Floats:
    """sum_{j <= i} mass[..., j], in runs so that the chain of additions stays short."""
    length = mass.shape[-1]
    if length <= LOGARITHMIC_RUN:
        return np.asarray(algebra.add.accumulate(mass, axis=-1))
    rows = -(-length // LOGARITHMIC_RUN)
    padded = np.full((*mass.shape[:-1], rows * LOGARITHMIC_RUN), algebra.zero)
    padded[..., :length] = mass
    inner = _undecayed(padded.reshape(*mass.shape[:-1], rows, LOGARITHMIC_RUN), algebra)
    carried = _undecayed(inner[..., :-1, -1], algebra)[..., None]
    inner[..., 1:, :] = algebra.add(inner[..., 1:, :], carried)
    return inner.reshape(padded.shape)[..., :length]


def scan_depth(length: int, run: int) -> int:
    """The longest chain of roundings behind one result of any scan on an axis of this length."""
    runs = -(-length // run)
    levels = 1 + (length.bit_length() - 1) // (LOGARITHMIC_RUN.bit_length() - 1)
    return min(length, max(run, levels * LOGARITHMIC_RUN)) + 3 * runs.bit_length() + levels + 8


def operation_error(algebra: Algebra, fade: float, log_range: float) -> float:
    """A bound on the error, in nats, of a single operation on masses.

    `fade` bounds the exponents of factors, `log_range` the logarithms of all masses that matter.
    """
    return ROUNDING * (8.0 + algebra.rounded_exponent(fade, log_range))


def mass_error(algebra: Algebra, steps: int, length: int, rate: float, log_range: float) -> float:
    """A bound on the error, in nats, of every mass of a forward pass that matters."""
    operations = steps * (scan_depth(length, algebra.run_length(rate)) + 2 * steps + 16)
    return operations * operation_error(algebra, rate * length, log_range)


def draw_loss(algebra: Algebra, steps: int, length: int, rate: float, log_range: float) -> float:
    """A bound on the privacy loss that rounding adds to one draw of all answers.

    At most four choices per answer and two at the start. Each has weights and a total
    that are off by `mass_error`, and its own tosses. A loss compares two such draws, and the range
    of a loss, which composition builds on, compares two losses.
    """
    masses = mass_error(algebra, steps, length, rate, log_range)
    toss = ROUNDING * max(SCALED_EXPONENT, log_range)
    return 4 * (4 * steps + 2) * (2 * masses + TOSSES * toss)
