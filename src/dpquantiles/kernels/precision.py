"""A public bound on what floating-point rounding can add to the privacy loss of a draw.

The bound uses public numbers only, so it can be paid for before any data are read.
The argument is in `mechanisms/joint_exp.md`, section "Rounding".
"""

from dpquantiles.kernels.algebra import Algebra
from dpquantiles.kernels.scans import scan_depth

ROUNDING = 2.0**-52
"""Twice the unit roundoff: room for elementary functions that are not correctly rounded."""


TOSSES = 16
"""More than the operations behind one choice: two coins, or one share of a sum."""

SCALED_EXPONENT = 2048.0
"""More than the logarithm of any double times its scale: what a toss between doubles rounds."""


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
