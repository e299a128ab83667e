"""A public bound on what floating-point rounding can add to the privacy loss of a draw.

The bound uses public numbers only, so it can be paid for before any data are read.
The argument is in `mechanisms/joint_exp.md`, section "Rounding".
"""

from dpquantiles.kernels.draws import descent_depth
from dpquantiles.kernels.scans import prefix_depth

ROUNDING = 2.0**-52
"""Twice the unit roundoff: room for elementary functions that are not correctly rounded."""


def largest_log_mass(steps: int, length: int, log_volume: float, decay: float) -> float:
    """No finite log mass of a forward pass exceeds this in absolute value."""
    return log_volume + decay * (steps + 1) * length + 8.0


def mass_error(steps: int, length: int, log_volume: float, decay: float) -> float:
    """A bound on the absolute error of every log mass of a forward pass."""
    chain = steps * (prefix_depth(length) + 2 * steps + 16)
    return chain * ROUNDING * largest_log_mass(steps, length, log_volume, decay)


def draw_loss(steps: int, length: int, log_volume: float, decay: float) -> float:
    """A bound on the privacy loss that rounding adds to one draw of all answers.

    At most three weighted choices per answer and two at the start. Each has weights and a total
    that are off by `mass_error`, and its own descent; a loss compares two such draws.
    """
    unit = ROUNDING * largest_log_mass(steps, length, log_volume, decay)
    choice = 2 * mass_error(steps, length, log_volume, decay) + descent_depth(length) * unit
    return 2 * (3 * steps + 2) * choice
