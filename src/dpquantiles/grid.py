"""Grids: public monotone maps between values and the integers 0 .. size-1 (called steps).

`encode` maps each record by itself (clamp, then round to the nearest grid point), so it costs no
privacy and never raises. `decode` maps steps back to values of the grid's type, exactly:
`encode(decode(i)) == i` for every step i.
"""

import math
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import INT64, INTEGER, REAL, DecimalUnits, Kind, infer
from dpquantiles.kinds.numbers import EXACT

MOST_STEPS = 2**62
"""Steps are 64-bit integers, and so is every difference of two of them."""

REAL_STEPS = 2**38
"""About how many steps a bounded range of real numbers gets when no resolution is stated."""

FINEST = 2**49
"""A real grid point is at most this many steps from zero, so that doubles tell steps apart."""

SMALLEST_NORMAL = Fraction(2) ** -1022
"""Below this, doubles lose their relative precision."""

EXACT_INTEGERS = 2**53
FLOAT64_EXACT_BITS = int(np.float64(EXACT_INTEGERS).view(np.int64))
FLOAT32_LARGEST = int(np.finfo(np.float32).max.view(np.int32))
INTEGRAL_LARGEST = (
    EXACT_INTEGERS + int(np.finfo(np.float64).max.view(np.int64)) - FLOAT64_EXACT_BITS
)


@runtime_checkable
class Grid(Protocol):
    """What a mechanism needs of a grid."""

    @property
    def kind(self) -> Kind:
        """The type of its values."""

    @property
    def size(self) -> int:
        """How many points it has."""

    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number; infinities and NaN clamp."""

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""

    def describe(self) -> dict[str, object]:
        """Its public parameters as plain values."""


def _exact(number: int | float) -> Fraction:
    """A public number as an exact rational: 0.1 means one tenth, 2.0**-30 a power of two."""
    binary = Fraction(number)
    if binary.denominator == 1:
        return binary
    return min(binary, Fraction(repr(number)), key=lambda reading: reading.denominator)


def _exact_bounds(kind: Kind, lower: object, upper: object) -> tuple[Fraction, Fraction]:
    low, high = (_exact(kind.number(bound, "bounds")) for bound in (lower, upper))
    if not low < high:
        raise ValueError(f"bounds must have lower < upper, got lower={lower!r}, upper={upper!r}")
    return low, high


def _check_ends(grid: Grid, lower: object, upper: object) -> None:
    """What lies between two points that can be written can be written, so no draw will raise."""
    if grid.size < 1:
        raise ValueError(f"bounds must hold a grid point, got lower={lower!r}, upper={upper!r}")
    try:
        grid.decode(np.array([0, grid.size - 1]))
    except (OverflowError, ValueError):
        raise ValueError(
            f"bounds must leave every grid point writable as a {grid.kind.name}, "
            f"got lower={lower!r}, upper={upper!r}"
        ) from None


@dataclass(frozen=True)
class UniformGrid:
    """Evenly spaced values: lower, lower + step, ..., not above upper.

    The type of the bounds is the type of the values: numbers, booleans, Decimal, date, datetime,
    timedelta; the step of the last three is a timedelta. Without a step it is one unit of the
    type. Real numbers have none: they get about 2**38 multiples of a power of two.
    `step_name` is what the caller calls the step, for messages.
    """

    lower: Any
    upper: Any
    step: Any = None
    kind: Kind = None  # type: ignore[assignment]
    step_name: InitVar[str] = "step"
    size: int = field(init=False, repr=False, compare=False)
    _low: Fraction = field(init=False, repr=False, compare=False)
    _width: Fraction = field(init=False, repr=False, compare=False)
    # The same as whole multiples of one part, of which the unit has so many.
    _first: int = field(init=False, repr=False, compare=False)
    _stride: int = field(init=False, repr=False, compare=False)
    _parts: int = field(init=False, repr=False, compare=False)

    def __post_init__(self, step_name: str) -> None:
        kind = self.kind or _stated_kind(self.lower, self.upper, self.step)
        low, high = _exact_bounds(kind, self.lower, self.upper)
        width = _exact_width(kind, low, high, self.step, step_name)
        if kind.integral:
            low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        elif self.step is None:
            low = math.ceil(low / width) * width
        size = (high - low) // width + 1
        parts = math.lcm(low.denominator, width.denominator)
        first, stride = int(low * parts), int(width * parts)
        settled = {"kind": kind, "size": size, "_low": low, "_width": width}
        settled |= {"_first": first, "_stride": stride, "_parts": parts}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        _check_ends(self, self.lower, self.upper)

    def _number(self, step: int) -> int | float:
        numerator, denominator = self._first + step * self._stride, self._parts
        return numerator // denominator if self.kind.integral else numerator / denominator

    @np.errstate(all="ignore")
    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number."""
        first, last, top = self._number(0), self._number(self.size - 1), self.size - 1
        if self.kind.integral:
            inside = np.clip(_whole(numbers), first, last)
            # Unsigned, because the distance between two 64-bit integers can take all 64 bits.
            return _nearest_multiple(inside.view(np.uint64) - np.uint64(first % 2**64), self._width)
        inside = np.clip(numbers.astype(np.float64), first, last)
        nearest = np.rint(inside / float(self._width) - float(self._low / self._width))
        return np.clip(np.where(np.isnan(nearest), top, nearest).astype(np.int64), 0, top)

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""
        return [self.kind.value(self._number(int(step))) for step in steps]

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = (self.kind.to_json(v) for v in self.decode(np.array([0, self.size - 1])))
        return {"name": "uniform", "lower": lower, "upper": upper, "points": self.size}


def _stated_kind(lower: object, upper: object, step: object) -> Kind:
    """The type that public parameters state."""
    stated = [value for value in (lower, upper, step) if value is not None]
    try:
        kind = infer(np.fromiter(stated, dtype=object))
    except TypeError:
        raise TypeError(
            "bounds must be numbers, booleans, decimals, dates, datetimes or durations, "
            f"got lower={lower!r}, upper={upper!r}"
        ) from None
    return DecimalUnits(max(map(_places, stated))) if isinstance(kind, DecimalUnits) else kind


def _places(value: object) -> int:
    """How many decimal places a public number states."""
    exponent = EXACT.create_decimal(str(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _exact_width(kind: Kind, low: Fraction, high: Fraction, step: object, name: str) -> Fraction:
    """The distance between neighboring points, checked against the range that it divides."""
    largest = max(abs(low), abs(high))
    finest = max(largest / FINEST, SMALLEST_NORMAL)
    if step is None and kind.unit is None:
        return _power_of_two_above(max((high - low) / REAL_STEPS, finest))
    width = _exact(kind.step(kind.unit if step is None else step, name))
    if width <= 0 or (kind.integral and width.denominator != 1):
        must = f"a positive multiple of {kind.unit}" if kind.integral else "positive"
        raise ValueError(f"{name} must be {must}, got {step!r}")
    if kind.integral and not INT64.min <= low <= high <= INT64.max:
        raise ValueError(
            "bounds must fit in 64-bit integers of the type's unit, "
            f"got {kind.value(math.floor(low))!r} and {kind.value(math.ceil(high))!r}"
        )
    if not kind.integral and width < finest:
        raise ValueError(
            f"{name} must be at least {float(finest)!r}, which doubles of this size can tell "
            f"apart, got {step!r}"
        )
    if (high - low) // width >= MOST_STEPS:
        raise ValueError(f"{name} must leave at most 2**62 grid points, got {step!r}")
    return width


def _power_of_two_above(number: Fraction) -> Fraction:
    """The smallest power of two that is not below a positive number."""
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power


def _whole(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of any dtype as signed 64-bit integers: rounded, clamped, NaN at the top."""
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
    """offset / width, rounded, halves up."""
    if width == 1:
        return offset.view(np.int64)
    divisor = np.uint64(min(int(width), 2**64 - 1))
    quotient, remainder = np.divmod(offset, divisor)
    return (quotient + (remainder >= divisor - remainder)).view(np.int64)


@dataclass(frozen=True)
class FloatGrid:
    """The floating-point numbers in their own order: no bounds needed.

    Real numbers use all finite float32 values. The integral variant uses every integer up to
    2**53 and, beyond, those that float64 holds. Bounds, where known, cut the grid.
    """

    lower: Any = None
    upper: Any = None
    integral: bool = False
    kind: Kind = None  # type: ignore[assignment]
    _first: int = field(init=False, repr=False, compare=False)
    _last: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = self.kind or (INTEGER if self.integral else REAL)
        if kind.limits is not None:
            raise ValueError(f"kind must be a type without limits, got {kind.name}")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "integral", kind.integral)
        if self.lower is not None and self.upper is not None:
            _exact_bounds(kind, self.lower, self.upper)
        object.__setattr__(self, "_first", self._cut(self.lower, -1))
        object.__setattr__(self, "_last", self._cut(self.upper, +1))
        _check_ends(self, self.lower, self.upper)

    def _cut(self, bound: object, side: int) -> int:
        """The outermost index on one side that does not pass the bound."""
        largest = INTEGRAL_LARGEST if self.kind.integral else FLOAT32_LARGEST
        if bound is None:
            return side * largest
        number = _exact(self.kind.number(bound, "bounds"))
        index = int(self._index(np.array([float(number)]))[0])
        index = min(max(index, -largest), largest)
        return index - side if side * (self._number(index) - number) > 0 else index

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return self._last - self._first + 1

    @np.errstate(all="ignore")
    def _index(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Signed position of the nearest grid point: zero for zero, monotone, NaN at the top."""
        return _integral_index(numbers) if self.kind.integral else _float32_index(numbers)

    def _number(self, index: int) -> int | float:
        size = abs(index)
        magnitude: int | float = size
        if not self.kind.integral:
            magnitude = float(np.int32(size).view(np.float32))
        elif size > EXACT_INTEGERS:
            magnitude = int(np.int64(size - EXACT_INTEGERS + FLOAT64_EXACT_BITS).view(np.float64))
        return -magnitude if index < 0 else magnitude

    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number."""
        return np.clip(self._index(numbers), self._first, self._last) - self._first

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""
        return [self.kind.value(self._number(int(step) + self._first)) for step in steps]

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = (
            None if v is None else self.kind.to_json(v) for v in (self.lower, self.upper)
        )
        return {"name": "float", "lower": lower, "upper": upper, "points": self.size}


def _float32_index(numbers: NDArray[Any]) -> NDArray[np.int64]:
    single = numbers.astype(np.float32)
    size = np.abs(single).view(np.int32).astype(np.int64)
    return np.where(np.signbit(single) & ~np.isnan(single), -size, size)


def _integral_index(numbers: NDArray[Any]) -> NDArray[np.int64]:
    double = np.rint(numbers.astype(np.float64))
    size = np.abs(double)
    beyond = size.view(np.int64) - FLOAT64_EXACT_BITS + EXACT_INTEGERS
    exact = np.where(size <= EXACT_INTEGERS, size, 0.0).astype(np.int64)
    index = np.where(size <= EXACT_INTEGERS, exact, beyond)
    return np.where(np.signbit(double) & ~np.isnan(double), -index, index)


def default_grid(kind: Kind, bounds: tuple[Any, Any] | None = None, resolution: Any = None) -> Grid:
    """The grid of a column of which only the type is known, and perhaps bounds and resolution."""
    if isinstance(kind, DecimalUnits) and resolution is not None:
        kind = DecimalUnits(_places(resolution))
    bounds = bounds or kind.limits
    if bounds:
        return UniformGrid(*bounds, resolution, kind, step_name="resolution")
    if resolution is not None and not (kind.integral and kind.step(resolution, "resolution") == 1):
        raise ValueError(
            f"resolution needs bounds to count from, got resolution={resolution!r} without bounds"
        )
    if not kind.integral:
        return FloatGrid(kind=kind)
    return FloatGrid(kind.value(INT64.min), kind.value(INT64.max), kind=kind)
