"""Grids: public monotone maps between values and the integers 0 .. size-1 (called steps).

`encode` maps each record by itself (clamp, then round to the nearest grid point), so it costs no
privacy and never raises. `decode` maps steps back to values of the grid's type, exactly:
`encode(decode(i)) == i` for every step i.
"""

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import (
    BOOLEAN,
    DATE,
    INT64,
    INTEGER,
    MICROSECOND,
    REAL,
    Date,
    Datetime,
    DecimalUnits,
    Duration,
    Kind,
    infer,
)

MOST_STEPS = 2**62
"""Steps are 64-bit integers, and so is every difference of two of them."""

REAL_STEPS = 2**38
"""About how many steps a bounded range of real numbers gets when no resolution is stated."""

FINEST = 2**49
"""A real grid point is at most this many steps from zero, so that doubles tell steps apart."""

EXACT_INTEGERS = 2**53
FLOAT64_EXACT_BITS = int(np.float64(EXACT_INTEGERS).view(np.int64))
FLOAT32_LARGEST = int(np.finfo(np.float32).max.view(np.int32))
INTEGRAL_LARGEST = (
    EXACT_INTEGERS + int(np.finfo(np.float64).max.view(np.int64)) - FLOAT64_EXACT_BITS
)


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


def _stated_kind(values: Iterable[object]) -> Kind:
    """The type that public grid parameters state."""
    listed = list(values)
    for value in listed:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"bounds must be finite, got {value!r}")
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    kind = infer(array)
    if isinstance(kind, DecimalUnits):
        return DecimalUnits(max(_places(value) for value in listed))
    return INTEGER if kind == BOOLEAN else kind


def _places(value: object) -> int:
    """How many decimal places a public number states."""
    exponent = Decimal(str(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _exact(kind: Kind, value: object, parameter: str) -> Fraction:
    """A public parameter as an exact rational: 0.1 means one tenth, 2.0**-30 a power of two."""
    number = kind.number(value, parameter)
    if not math.isfinite(number):
        raise ValueError(f"{parameter} must be finite, got {value!r}")
    readings = (Fraction(number), Fraction(repr(number)))
    return min(readings, key=lambda reading: reading.denominator)


def _exact_bounds(kind: Kind, lower: object, upper: object) -> tuple[Fraction, Fraction]:
    low, high = _exact(kind, lower, "bounds"), _exact(kind, upper, "bounds")
    if not low < high:
        raise ValueError(f"bounds must have lower < upper, got lower={lower!r}, upper={upper!r}")
    return low, high


def unit_step(kind: Kind) -> Any:
    """The natural distance between neighboring values of a type."""
    if isinstance(kind, DecimalUnits):
        return Decimal(1).scaleb(-kind.places)
    if isinstance(kind, Date):
        return dt.timedelta(days=1)
    return MICROSECOND if isinstance(kind, (Datetime, Duration)) else 1


@dataclass(frozen=True)
class UniformGrid:
    """Evenly spaced values lower, lower + step, ..., not above upper.

    The type of the bounds is the type of the values: numbers, Decimal, date, datetime, timedelta.
    The step of the last three is a timedelta. Without a step: one unit of the type.
    """

    lower: Any
    upper: Any
    step: Any = None
    kind: Kind = None  # type: ignore[assignment]
    _low: Fraction = field(init=False, repr=False, compare=False)
    _step: Fraction = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = self.kind or self._own_kind()
        step = _exact(kind, unit_step(kind) if self.step is None else self.step, "step")
        low, high = _exact_bounds(kind, self.lower, self.upper)
        if kind.integral:
            low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        if step <= 0 or (kind.integral and step.denominator != 1):
            unit = f"a positive multiple of {unit_step(kind)}" if kind.integral else "positive"
            raise ValueError(f"step must be {unit}, got {self.step!r}")
        size = int((high - low) / step) + 1
        self._check_range(kind, low, high, step, size)
        for name, value in (("kind", kind), ("_low", low), ("_step", step), ("size", size)):
            object.__setattr__(self, name, value)

    def _own_kind(self) -> Kind:
        kind = _stated_kind((self.lower, self.upper))
        if isinstance(kind, (Date, Datetime, Duration)) or self.step is None:
            return kind
        return _stated_kind((self.lower, self.upper, self.step))

    def _check_range(
        self, kind: Kind, low: Fraction, high: Fraction, step: Fraction, size: int
    ) -> None:
        if size < 1:
            raise ValueError(f"no grid point lies between {self.lower!r} and {self.upper!r}")
        if size > MOST_STEPS:
            raise ValueError(f"step must leave at most 2**62 grid points, got {size}; widen it")
        if kind.integral and not INT64.min <= low <= high <= INT64.max:
            raise ValueError(
                f"bounds must fit in 64-bit integers, got {self.lower!r} and {self.upper!r}"
            )
        largest = max(abs(low), abs(high))
        if not kind.integral and largest > FINEST * step:
            raise ValueError(
                f"step must be at least {float(largest / FINEST):g} for doubles of this size, "
                f"got {self.step!r}"
            )

    def _number(self, step: int) -> int | float:
        point = self._low + step * self._step
        return int(point) if self.kind.integral else float(point)

    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number."""
        first, last = self._number(0), self._number(self.size - 1)
        if self.kind.integral and numbers.dtype.kind != "f":
            if numbers.dtype == np.uint64:
                numbers = np.minimum(numbers, np.uint64(INT64.max))
            offset = np.clip(numbers.astype(np.int64), first, last) - np.int64(first)
            return _nearest_multiple(offset, int(self._step))
        clamped = np.clip(numbers.astype(np.float64), first, last)
        nearest = np.rint(clamped / float(self._step) - float(self._low / self._step))
        top = self.size - 1
        return np.clip(np.where(np.isnan(nearest), top, nearest).astype(np.int64), 0, top)

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""
        return [self.kind.value(self._number(int(step))) for step in steps]

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = (self.kind.to_json(v) for v in self.decode(np.array([0, self.size - 1])))
        return {"name": "uniform", "lower": lower, "upper": upper, "points": self.size}


def _nearest_multiple(offset: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """offset / width, rounded, halves up, without leaving the 64-bit integers."""
    if width == 1:
        return offset
    quotient, remainder = np.divmod(offset, np.int64(width))
    return quotient + (remainder >= width - remainder)


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
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "integral", kind.integral)
        if self.lower is not None and self.upper is not None:
            _exact_bounds(kind, self.lower, self.upper)
        object.__setattr__(self, "_first", self._cut(self.lower, -1))
        object.__setattr__(self, "_last", self._cut(self.upper, +1))
        if self.size < 1:
            raise ValueError(f"no grid point lies between {self.lower!r} and {self.upper!r}")

    def _cut(self, bound: object, side: int) -> int:
        """The outermost index on one side that does not pass the bound."""
        largest = INTEGRAL_LARGEST if self.kind.integral else FLOAT32_LARGEST
        if bound is None:
            return side * largest
        number = _exact(self.kind, bound, "bounds")
        index = int(self._index(np.array([float(number)]))[0])
        index = min(max(index, -largest), largest)
        return index - side if side * (self._number(index) - number) > 0 else index

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return self._last - self._first + 1

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
    with np.errstate(over="ignore", invalid="ignore"):
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
    if bounds is not None:
        return _bounded_grid(kind, bounds, resolution)
    if kind == BOOLEAN:
        return UniformGrid(False, True, resolution, kind)
    if kind == DATE:
        return UniformGrid(dt.date.min, dt.date.max, resolution, kind)
    if isinstance(kind, Datetime):
        # A day inside what datetime can hold, so that every zone can write every grid point.
        low = dt.datetime(1, 1, 2, tzinfo=kind.zone)
        high = dt.datetime(9999, 12, 30, tzinfo=kind.zone)
        return UniformGrid(low, high, resolution, kind)
    if resolution is not None and not isinstance(kind, DecimalUnits):
        raise ValueError(
            f"resolution needs bounds to count from, got resolution={resolution!r} without bounds"
        )
    if not kind.integral:
        return FloatGrid(kind=kind)
    return FloatGrid(kind.value(INT64.min), kind.value(INT64.max), kind=kind)


def _bounded_grid(kind: Kind, bounds: tuple[Any, Any], resolution: Any) -> UniformGrid:
    lower, upper = bounds
    if kind == REAL and resolution is None:
        low, high = _exact_bounds(kind, lower, upper)
        step = _power_of_two_step(low, high)
        # Multiples of a power of two, so that every grid point is an exact double.
        return UniformGrid(float(math.ceil(low / step) * step), upper, float(step), kind)
    return UniformGrid(lower, upper, resolution, kind)


def _power_of_two_step(low: Fraction, high: Fraction) -> Fraction:
    """The smallest power of two with at most REAL_STEPS steps that doubles can tell apart."""
    wanted = max((high - low) / REAL_STEPS, max(abs(low), abs(high)) / FINEST)
    step = Fraction(2) ** (math.floor(math.log2(wanted)) - 1)
    while step < wanted:
        step *= 2
    return step
