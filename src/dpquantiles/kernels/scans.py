"""Decayed sums of positive masses along an axis, without subtracting masses.

All terms are positive, so the relative error of a sum grows only with its longest chain of
additions. Cutting the axis into runs keeps that chain short (`scan_depth`).

This bounds how much rounding can add to the privacy loss of a draw. The bound uses public numbers
only, so it can be paid for before any data is read. The argument is in `mechanisms/joint_exp.md`,
section "Rounding".
"""

from dataclasses import dataclass

import numpy as np

from dpquantiles.forking import cached_property
from dpquantiles.kernels.algebra import LOGARITHMIC_RUN, Algebra, Floats

ROUNDING = 2.0**-52
"""Twice the unit roundoff, to allow for functions that are not correctly rounded."""

SHORT_WINDOW = 128
"""Up to this width, sums over windows are joined from shorter ones, because that is faster."""

TOSSES = 16
"""More than the number of operations in one choice: two coins, or one share of a sum."""

SCALED_EXPONENT = 2048.0
"""More than the logarithm of any scaled double; a toss between doubles rounds it."""


@dataclass(frozen=True)
class Decay:
    """A table of the factors s**0, s**1, ... of a pass, for s = exp(-rate)."""

    algebra: Algebra
    fall: Floats
    """s**i for all distances of the pass."""
    rise: Floats
    """s**-i for the cells of a run, as many as one sequential scan may cover without overflow."""
    length: int
    """The longest axis that the factors are for."""
    rate: float

    @classmethod
    def of(cls, rate: float, length: int, algebra: Algebra) -> "Decay":
        """Factors for distances up to `length`."""
        run = algebra.run_length(rate)
        distance = rate * np.arange(max(length, run) + 1, dtype=np.float64)
        rise = algebra.factor(-distance[:run])
        return cls(algebra, algebra.factor(distance), rise, length, rate)

    def mass(self, log_mass: Floats) -> Floats:
        """Masses from their natural logarithms."""
        return np.asarray(self.algebra.times(self.algebra.one, self.algebra.factor(-log_mass)))

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
    padded = algebra.nothing((*mass.shape[:-1], rows * run))
    padded[..., :length] = mass
    inner = prefix(padded.reshape(*mass.shape[:-1], rows, run), decay)
    carried = _doubling(inner[..., :-1, -1], decay)[..., None]
    faded = algebra.times(carried, decay.fall[1 : run + 1])
    inner[..., 1:, :] = algebra.add(inner[..., 1:, :], faded)
    return inner.reshape(padded.shape)[..., :length]


def _doubling(totals: Floats, decay: Decay) -> Floats:
    """Like `prefix`, for cells that are a run apart; the reach of a sum doubles with every pass."""
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
    """sum_{i <= j < i + width} mass[..., j] s**(j - i)  along the last axis."""
    if width >= mass.shape[-1]:
        return suffix(mass, decay)
    if width <= SHORT_WINDOW:
        return _joined_windows(mass, width, decay)
    return _tails_and_heads(mass, width, decay)


def _joined_windows(mass: Floats, width: int, decay: Decay) -> Floats:
    """Windows of lengths a and b combine to one of length a + b: every length is powers of two."""
    block, size = mass.copy(), 1
    sums, covered = decay.algebra.nothing(mass.shape), 0
    while size <= width:
        if width & size:
            if covered:
                _join(sums, covered, block, decay)
            else:
                sums[:] = block
            covered += size
        if 2 * size <= width:
            _join(block, size, block, decay)
        size *= 2
    return sums


def _join(near: Floats, width: int, far: Floats, decay: Decay) -> None:
    """Join sums over windows of this width with the sums over the windows behind them."""
    faded = decay.algebra.times(far[..., width:], decay.fall[width])
    joined = near[..., : near.shape[-1] - width]
    decay.algebra.add(joined, faded, out=joined)


def _tails_and_heads(mass: Floats, width: int, decay: Decay) -> Floats:
    """The axis is cut into blocks as long as the window.

    Then every window is the tail of one block and the head of the next, so two scans replace a
    difference of prefix sums.
    """
    algebra, (*batch, length) = decay.algebra, mass.shape
    rows = -(-length // width)
    padded = algebra.nothing((*batch, (rows + 1) * width))
    padded[..., :length] = mass
    blocks = padded.reshape(*batch, rows + 1, width)
    tails = suffix(blocks[..., :-1, :], decay)
    # A window that starts at offset i of its block covers the first i cells of the next block.
    faded = algebra.times(blocks[..., 1:, :-1], decay.fall[: width - 1])
    heads = algebra.times(_undecayed(faded, algebra), decay.fall[width - 1 : 0 : -1])
    tails[..., 1:] = algebra.add(tails[..., 1:], heads)
    return tails.reshape(*batch, -1)[..., :length]


def _undecayed(mass: Floats, algebra: Algebra) -> Floats:
    """sum_{j <= i} mass[..., j], in runs, so that chains of additions stay short."""
    length = mass.shape[-1]
    if length <= LOGARITHMIC_RUN:
        return np.asarray(algebra.add.accumulate(mass, axis=-1))
    rows = -(-length // LOGARITHMIC_RUN)
    padded = algebra.nothing((*mass.shape[:-1], rows * LOGARITHMIC_RUN))
    padded[..., :length] = mass
    inner = _undecayed(padded.reshape(*mass.shape[:-1], rows, LOGARITHMIC_RUN), algebra)
    carried = _undecayed(inner[..., :-1, -1], algebra)[..., None]
    inner[..., 1:, :] = algebra.add(inner[..., 1:, :], carried)
    return inner.reshape(padded.shape)[..., :length]


def scan_depth(length: int, run: int) -> int:
    """The longest chain of roundings in any scan on an axis of this length."""
    runs = -(-length // run)
    levels = 1 + (length.bit_length() - 1) // (LOGARITHMIC_RUN.bit_length() - 1)
    return min(length, max(run, levels * LOGARITHMIC_RUN)) + 3 * runs.bit_length() + levels + 8


def operation_error(algebra: Algebra, fade: float, log_range: float) -> float:
    """A bound on the error, in nats, of a single operation on masses.

    `fade` bounds the exponents of factors, and `log_range` the logarithms of masses that matter.
    """
    return ROUNDING * (8.0 + algebra.rounded_exponent(fade, log_range))


def mass_error(algebra: Algebra, steps: int, length: int, rate: float, log_range: float) -> float:
    """A bound on the error, in nats, of all masses of a forward pass that matter."""
    operations = steps * (scan_depth(length, algebra.run_length(rate)) + 2 * steps + 16)
    return operations * operation_error(algebra, rate * length, log_range)


def draw_loss(algebra: Algebra, steps: int, length: int, rate: float, log_range: float) -> float:
    """A bound on the privacy loss that rounding adds to one draw of all answers.

    There are at most four choices per answer and two at the start. In each choice, the weights and
    their total are off by `mass_error`, and the tosses round as well. A privacy loss compares two
    such draws. Composition uses the range of the loss, which compares two losses.
    """
    masses = mass_error(algebra, steps, length, rate, log_range)
    toss = ROUNDING * max(SCALED_EXPONENT, log_range)
    return 4 * (4 * steps + 2) * (2 * masses + TOSSES * toss)


def choice_loss(algebra: Algebra, steps: int, length: int, rate: float, log_range: float) -> float:
    """A bound on the privacy loss that rounding adds to the draw of a grid by its total share.

    A share is a sum of masses, moved to another number of vectors by one factor per answer.
    """
    masses = mass_error(algebra, steps, length, rate, log_range)
    moved = (4 * steps + TOSSES) * ROUNDING * max(SCALED_EXPONENT, log_range)
    return 4 * (2 * (masses + moved) + moved)


def sum_loss(groups: int, nats: float) -> float:
    """A bound on what rounding adds where the log weights of several groups choose a grid together.

    Each is at most `nats` in size. Two operations per group and those of one draw round sums of all
    of them.
    """
    return 4 * (2 * groups + TOSSES) * ROUNDING * groups * nats if groups > 1 else 0.0
