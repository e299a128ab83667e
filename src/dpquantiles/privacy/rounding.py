"""The rounding rule: numbers are exact fractions until they become doubles, on the safe side.

What is spent is rounded down (`below`), what is stated is rounded up (`above`). A formula with
exponentials or logarithms is computed in doubles and multiplied or divided by `SAFE`, whichever is
the safe side.
"""

import math
import struct
import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from fractions import Fraction

SAFE = 1 - 1e-12
"""One step in doubles, a function of the C library included, errs by less than 2**-51 of its
result. Formulas here take fewer than a hundred steps, so that they err by less than 1e-13 where
nothing cancels. `bounded_range_rho` cancels the most: from terms of size one to 0.00125, in a few
steps, by less than 1e-12 of the result."""


def below(number: Fraction) -> float:
    """The largest double that is not above a number."""
    try:
        nearest = float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -math.inf
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def above(number: Fraction) -> float:
    """The least double that is not below a number."""
    return -below(-number)


def root_below(number: Fraction) -> float:
    """The largest double whose square is not above a number."""
    root = math.sqrt(below(number))
    while Fraction(root) ** 2 > number:
        root = math.nextafter(root, 0.0)
    return root


def reading(number: float) -> Fraction:
    """The decimal number that is written for a double: 1/10 for 0.1, which is a little more."""
    return Fraction(repr(float(number)))


def written(number: Fraction) -> float:
    """The double to write for a number: the nearest one, or the next if that reads as less."""
    nearest = float(number)
    return nearest if reading(nearest) >= number else math.nextafter(nearest, math.inf)


def in_words(number: float, digits: int = 6) -> str:
    """A number in few digits that say no less than it is."""
    nearest = f"{number:.{digits}g}"
    if float(nearest) >= number:
        return nearest
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(upward.create_decimal(repr(number))):.{digits}g}"


def greatest_double(holds: Callable[[float], bool]) -> float:
    """The greatest positive double for which a falling condition holds, or 0.0.

    Positive doubles are ordered as the integers that their bits spell, so halving ends exactly.
    """
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(_double(middle)) else (low, middle)
    return _double(low)


def _double(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number
