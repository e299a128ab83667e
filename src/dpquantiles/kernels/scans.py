"""Decayed sums of positive masses in log space, without a single subtraction of masses.

Every mass is held as its logarithm. All sums have positive terms, so the relative error of a mass
grows only with the number of additions in its longest chain; the block structure keeps that chain
short (`prefix_depth`) however long the axis is.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 64
"""Length of a sequential run; longer axes are cut into blocks whose totals are scanned again."""


def prefix(log_mass: Floats, decay: float) -> Floats:
    """log of  sum_{j <= i} exp(log_mass[..., j] - decay (i - j))  along the last axis."""
    length = log_mass.shape[-1]
    if length <= BLOCK:
        ramp = decay * np.arange(length)
        sums: Floats = np.logaddexp.accumulate(log_mass + ramp, axis=-1) - ramp
        return sums
    rows = -(-length // BLOCK)
    padded = np.full((*log_mass.shape[:-1], rows * BLOCK), -np.inf)
    padded[..., :length] = log_mass
    inner = prefix(padded.reshape(*log_mass.shape[:-1], rows, BLOCK), decay)
    carried = prefix(inner[..., -1], decay * BLOCK)[..., :-1, None]
    fade = decay * np.arange(1, BLOCK + 1)
    np.logaddexp(inner[..., 1:, :], carried - fade, out=inner[..., 1:, :])
    return inner.reshape(padded.shape)[..., :length]


def suffix(log_mass: Floats, decay: float) -> Floats:
    """log of  sum_{j >= i} exp(log_mass[..., j] - decay (j - i))  along the last axis."""
    return prefix(log_mass[..., ::-1], decay)[..., ::-1]


def window(log_mass: Floats, decay: float, width: int) -> Floats:
    """log of  sum_{i <= j < i + width} exp(log_mass[j] - decay (j - i)).

    Cut into blocks as long as the window, every window is the tail of one block and the head of
    the next: two positive scans instead of a difference of prefix sums.
    """
    length = log_mass.shape[-1]
    if width == 0:
        return np.full(length, -np.inf)
    if width >= length:
        return suffix(log_mass, decay)
    rows = -(-length // width)
    blocks = np.full((rows + 1, width), -np.inf)
    blocks.ravel()[:length] = log_mass
    tails = suffix(blocks[:-1], decay)
    if width > 1:
        # Seen from offset i of its block, a window covers the first i cells of the next one.
        heads = prefix(blocks[1:, :-1] - decay * np.arange(width - 1), 0.0)
        distance = decay * np.arange(width - 1, 0, -1)
        np.logaddexp(tails[:, 1:], heads - distance, out=tails[:, 1:])
    return tails.ravel()[:length]


def prefix_depth(length: int) -> int:
    """The longest chain of roundings behind one result of `prefix` on an axis of this length."""
    if length <= BLOCK:
        return length + 3
    return (BLOCK + 3) + prefix_depth(-(-length // BLOCK)) + 3


def log_sum(log_mass: Floats) -> float:
    """log of the sum of exp(log_mass) of an array."""
    largest = float(np.max(log_mass, initial=-np.inf))
    if largest == -np.inf:
        return largest
    return largest + float(np.log(np.sum(np.exp(log_mass - largest))))


def log_sum_rows(log_mass: Floats) -> Floats:
    """log of the sum of exp(log_mass) over the first axis."""
    if len(log_mass) == 1:
        return log_mass[0]
    largest = np.max(log_mass, axis=0)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        sums: Floats = np.log(np.sum(np.exp(log_mass - shift), axis=0)) + shift
    return sums
