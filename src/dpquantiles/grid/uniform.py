"""Evenly spaced grids between two bounds, for values of any type."""

import math
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid.protocol import check_ends, exact, exact_bounds
from dpquantiles.kinds import INT64, DecimalUnits, Kind, infer
from dpquantiles.kinds.numbers import EXACT

MOST_STEPS = 2**62
"""The most points, so that steps and their differences are 64-bit integers."""

REAL_STEPS = 2**38
"""About how many steps a bounded range of real numbers gets when no resolution is stated."""

FINEST = 2**49
"""Real grid points are at most this many steps from zero, so that doubles can tell them apart."""

SMALLEST_NORMAL = Fraction(2) ** -1022
"""Below this, doubles lose their relative precision."""

SMALLEST_POWER = -300
"""Smaller powers of ten do, too."""


@dataclass(frozen=True)
class UniformGrid:
    """Evenly spaced values: lower, lower + step, ..., not above upper.

    The type of the bounds is the type of the values: numbers, booleans, Decimal, date, datetime or
    timedelta. The step of the last three is a timedelta. The default step is one unit of the type.
    Real numbers have no unit: they get about 2**38 multiples of a power of two. `step_name` is the
    caller's name for the step, for messages.
    """

    lower: Any
    upper: Any
    step: Any = None
    kind: Kind = None  # type: ignore[assignment]
    step_name: InitVar[str] = "step"
    size: int = field(init=False, repr=False, compare=False)
    width: Fraction = field(init=False, repr=False, compare=False)
    """The distance between neighboring points, as a number of the kind."""
    # The first point and the width as multiples of 1 / _parts.
    _first: int = field(init=False, repr=False, compare=False)
    _stride: int = field(init=False, repr=False, compare=False)
    _parts: int = field(init=False, repr=False, compare=False)
    # The range of the numbers; for real ones, the width, and the first point in units of it.
    _range: tuple[int | float, int | float] = field(init=False, repr=False, compare=False)
    _scale: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self, step_name: str) -> None:
        kind = self.kind or _stated_kind(self.lower, self.upper, self.step)
        low, high = exact_bounds(kind, self.lower, self.upper)
        width = _exact_width(kind, low, high, self.step, step_name)
        if kind.integral:
            low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        elif self.step is None:
            low = math.ceil(low / width) * width
        size = (high - low) // width + 1
        parts = math.lcm(low.denominator, width.denominator)
        first, stride = int(low * parts), int(width * parts)
        derived = {"kind": kind, "size": size, "width": width}
        derived |= {"_first": first, "_stride": stride, "_parts": parts}
        derived["_scale"] = float(width), float(low / width)
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        check_ends(self, self.lower, self.upper)
        object.__setattr__(self, "_range", (self._number(0), self._number(size - 1)))

    def _number(self, step: int) -> int | float:
        numerator, denominator = self._first + step * self._stride, self._parts
        return numerator // denominator if self.kind.integral else numerator / denominator

    @np.errstate(all="ignore")
    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number."""
        (first, last), top = self._range, self.size - 1
        if self.kind.integral:
            inside = _whole(numbers).clip(first, last)
            # Unsigned, because the distance between two 64-bit integers can need all 64 bits.
            return _nearest_multiple(inside.view(np.uint64) - np.uint64(first % 2**64), self.width)
        width, low = self._scale
        nearest = numbers.astype(np.float64, copy=False).clip(first, last)
        nearest /= width
        nearest -= low
        np.rint(nearest, out=nearest)
        nearest[np.isnan(nearest)] = top
        return nearest.astype(np.int64).clip(0, top)

    def numbers(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """The number of each step: a 64-bit integer, or a double that may be off by a bit."""
        inside = np.clip(steps, 0, self.size - 1)
        if self.kind.integral:
            return self._first + inside * self._stride
        first, last = self._range
        half = 1.0 if float(last) - float(first) < math.inf else 0.5  # no double is their distance
        return (self._first * half + inside * (self._stride * half)) / self._parts / half

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""
        return [self.kind.value(self._number(int(step))) for step in steps]

    @np.errstate(all="ignore")
    def shortest(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of the real numbers that are rounded to each step, the one that has the fewest digits.

        It lies inside the bounds. So records that are tied on such a number get it back, although
        it is no multiple of the grid's own width.
        """
        points = np.array(self.decode(steps), dtype=np.float64)
        found, left = points.copy(), np.ones(len(points), dtype=bool)
        low, high = (float(self.kind.number(end, "bounds")) for end in (self.lower, self.upper))
        most = math.floor(math.log10(max(abs(low), abs(high))))
        least = max(SMALLEST_POWER, math.floor(math.log10(self.width)) - 1)
        for power in range(most, least - 1, -1):
            number = nearest(points, power)
            meets = left & (low <= number) & (number <= high) & (self.encode(number) == steps)
            found[meets] = number[meets]
            left &= ~meets
        return found

    @property
    def ends(self) -> tuple[Any, Any]:
        """The first and the last value."""
        first, last = map(self.kind.value, self._range)
        return first, last

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = map(self.kind.to_json, self.ends)
        return {"name": "uniform", "lower": lower, "upper": upper, "points": self.size}


def decimal(numbers: NDArray[Any], power: int) -> NDArray[np.float64]:
    """Whole numbers times a power of ten, as the doubles that print so."""
    return np.asarray(numbers * 10.0**power if power >= 0 else numbers / 10.0**-power)


def nearest(numbers: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """The nearest multiples of a power of ten."""
    return decimal(np.rint(decimal(numbers, -power)), power)


def _stated_kind(lower: object, upper: object, step: object) -> Kind:
    """The type of the public parameters."""
    stated = [value for value in (lower, upper, step) if value is not None]
    try:
        kind = infer(np.fromiter(stated, dtype=object))
    except TypeError:
        raise InvalidType(
            "bounds must be numbers, booleans, decimals, dates, datetimes or durations, "
            f"got lower={lower!r}, upper={upper!r}"
        ) from None
    return DecimalUnits(max(map(places_of, stated))) if isinstance(kind, DecimalUnits) else kind


def places_of(value: object) -> int:
    """How many decimal places a public number is written with."""
    exponent = EXACT.create_decimal(str(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _exact_width(kind: Kind, low: Fraction, high: Fraction, step: object, name: str) -> Fraction:
    """The distance between neighboring points, checked against the range."""
    largest = max(abs(low), abs(high))
    finest = max(largest / FINEST, SMALLEST_NORMAL)
    if step is None and kind.unit is None:
        return _power_of_two_above(max((high - low) / REAL_STEPS, finest))
    width = exact(kind.step(kind.unit if step is None else step, name))
    if width <= 0 or (kind.integral and width.denominator != 1):
        must = f"a positive multiple of {kind.unit}" if kind.integral else "positive"
        raise InvalidValue(f"{name} must be {must}, got {step!r}")
    if kind.integral and not INT64.min <= low <= high <= INT64.max:
        raise InvalidValue(
            "bounds must fit in 64-bit integers of the type's unit, "
            f"got {kind.value(math.floor(low))!r} and {kind.value(math.ceil(high))!r}"
        )
    if not kind.integral and width < finest:
        raise InvalidValue(
            f"{name} must be at least {float(finest)!r}, which doubles of this size can tell "
            f"apart, got {step!r}"
        )
    if (high - low) // width >= MOST_STEPS:
        if step is None:
            raise InvalidValue(
                f"bounds must leave at most 2**62 grid points if there is no {name}, "
                f"got {kind.value(math.floor(low))!r} and {kind.value(math.ceil(high))!r}"
            )
        raise InvalidValue(f"{name} must leave at most 2**62 grid points, got {step!r}")
    return width


def _power_of_two_above(number: Fraction) -> Fraction:
    """The smallest power of two that is at least a positive number."""
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power


def _whole(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of any dtype as int64: rounded and clamped, with NaN at the top."""
    if numbers.dtype.kind == "u":
        numbers = np.minimum(numbers, np.uint64(INT64.max))
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64)
    rounded = np.rint(numbers.astype(np.float64))
    fits = rounded < 2.0**63
    return np.where(
        fits, np.maximum(np.where(fits, rounded, 0), -(2.0**63)).astype(np.int64), INT64.max
    )


def _nearest_multiple(offset: NDArray[np.uint64], width: Fraction) -> NDArray[np.int64]:
    """offset / width, rounded to the nearest integer, halves up."""
    if width == 1:
        return offset.view(np.int64)
    divisor = np.uint64(min(int(width), 2**64 - 1))
    quotient, remainder = np.divmod(offset, divisor)
    return (quotient + (remainder >= divisor - remainder)).view(np.int64)
