"""Numbers as people write them: multiples of powers of ten, and the shortest one in a step."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid.uniform import UniformGrid

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SMALLEST_POWER = -300
"""Smaller powers of ten are not doubles of full precision."""


def decimal(numbers: NDArray[Any], power: int) -> Floats:
    """Whole numbers times a power of ten, as the doubles that print so."""
    return np.asarray(numbers * 10.0**power if power >= 0 else numbers / 10.0**-power)


def nearest(numbers: Floats, power: int) -> Floats:
    """The nearest multiples of a power of ten."""
    return decimal(np.rint(decimal(numbers, -power)), power)


@np.errstate(all="ignore")
def shortest(base: UniformGrid, steps: Ints) -> Floats:
    """Of the numbers that real grid points stand for, those that have the fewest digits.

    They lie inside the bounds, and the grid rounds each of them to its step. So records that are
    tied on such a number get it back, although it is no multiple of the grid's own step.
    """
    points = np.array(base.decode(steps), dtype=np.float64)
    found, left = points.copy(), np.ones(len(points), dtype=bool)
    low, high = (float(base.kind.number(end, "bounds")) for end in (base.lower, base.upper))
    most = math.floor(math.log10(max(abs(low), abs(high))))
    least = max(SMALLEST_POWER, math.floor(math.log10(base.width)) - 1)
    for power in range(most, least - 1, -1):
        number = nearest(points, power) + 0.0  # no negative zero
        meets = left & (low <= number) & (number <= high) & (base.encode(number) == steps)
        found[meets] = number[meets]
        left &= ~meets
    return found
