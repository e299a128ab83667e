"""Grids whose points are floating-point numbers, which need no bounds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.grid.protocol import check_ends, exact, exact_bounds
from dpquantiles.kinds import INT64, INTEGER, REAL, Kind

EXACT_INTEGERS = 2**53
FLOAT64_EXACT_BITS = int(np.float64(EXACT_INTEGERS).view(np.int64))
LARGEST_BITS = int(np.finfo(np.float64).max.view(np.int64))
INTEGRAL_LARGEST = EXACT_INTEGERS + LARGEST_BITS - FLOAT64_EXACT_BITS

MOST_DOUBLE = float(2**63 - 1024)
"""The largest double that is a 64-bit integer."""

USUAL_BITS = tuple(int(np.float64(2.0**power).view(np.int64)) for power in (-60, 62))
"""Doubles of sizes from 2**-60 to 2**62 are grid points, all of them."""

DROPPED = 12
"""Other doubles are rounded by this many of their 52 bits, so that all steps fit in 62 bits."""

SMALL, USUAL = USUAL_BITS[0] >> DROPPED, USUAL_BITS[1] - USUAL_BITS[0]
"""How many points are smaller than the usual sizes, and how many are of usual size."""

REAL_LARGEST = SMALL + USUAL + ((LARGEST_BITS - USUAL_BITS[1]) >> DROPPED)


@dataclass(frozen=True)
class FloatGrid:
    """The floating-point numbers in ascending order; bounds are optional.

    Real numbers use all doubles of sizes from 2**-60 to 2**62, and beyond that doubles with fewer
    digits. The integral variant uses every integer up to 2**53, and beyond that the integers that
    float64 can represent. Bounds, where given, cut the grid.
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
            raise InvalidValue(f"kind must be a type without limits, got {kind.name}")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "integral", kind.integral)
        if self.lower is not None and self.upper is not None:
            exact_bounds(kind, self.lower, self.upper)
        object.__setattr__(self, "_first", self._cut(self.lower, -1))
        object.__setattr__(self, "_last", self._cut(self.upper, +1))
        check_ends(self, self.lower, self.upper)

    def _cut(self, bound: object, side: int) -> int:
        """The outermost index on one side that is still inside the bound."""
        largest = INTEGRAL_LARGEST if self.kind.integral else REAL_LARGEST
        if bound is None:
            return side * largest
        number = exact(self.kind.number(bound, "bounds"))
        index = int(self._index(np.array([float(number)]))[0])
        index = min(max(index, -largest), largest)
        return index - side if side * (self._number(index) - number) > 0 else index

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return self._last - self._first + 1

    @property
    def unbounded(self) -> bool:
        """Whether an end is just the end of the type, so that nobody has said where values lie."""
        ends: tuple[Any, Any] = (None, None)
        if self.kind.integral:
            ends = (self.kind.value(INT64.min), self.kind.value(INT64.max))
        return self.lower in (None, ends[0]) or self.upper in (None, ends[1])

    @np.errstate(all="ignore")
    def _index(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The signed index of the nearest grid point; zero has index 0, and NaN is at the top."""
        return _integral_index(numbers) if self.kind.integral else _real_index(numbers)

    def _number(self, index: int) -> int | float:
        size = np.array([abs(index)])
        magnitude: int | float = abs(index)
        if not self.kind.integral:
            magnitude = _real_sizes(size).item()
        elif magnitude > EXACT_INTEGERS:
            magnitude = int(_beyond_exact(size).item())
        return -magnitude if index < 0 else magnitude

    @np.errstate(all="ignore")
    def numbers(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """The number of each step, as an array of doubles or of integers, clamped to 64 bits."""
        index = np.clip(steps, 0, self.size - 1) + self._first
        size = np.abs(index)
        if not self.kind.integral:
            return np.copysign(_real_sizes(size), index)
        beyond = np.minimum(_beyond_exact(size), MOST_DOUBLE).astype(np.int64)
        return np.sign(index) * np.where(size <= EXACT_INTEGERS, size, beyond)

    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The step nearest to each number."""
        return np.clip(self._index(numbers), self._first, self._last) - self._first

    def decode(self, steps: NDArray[np.int64]) -> list[Any]:
        """The value of each step."""
        return [self.kind.value(self._number(int(step) + self._first)) for step in steps]

    @property
    def ends(self) -> tuple[Any, Any]:
        """The first and the last value."""
        first, last = self.decode(np.array([0, self.size - 1]))
        return first, last

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = (
            None if v is None else self.kind.to_json(v) for v in (self.lower, self.upper)
        )
        return {"name": "float", "lower": lower, "upper": upper, "points": self.size}


def _real_index(numbers: NDArray[Any]) -> NDArray[np.int64]:
    double = numbers.astype(np.float64)
    bits = np.minimum(np.abs(double).view(np.int64), LARGEST_BITS)
    rounded = bits + (1 << DROPPED - 1)
    size = np.where(bits < USUAL_BITS[0], rounded >> DROPPED, SMALL + bits - USUAL_BITS[0])
    beyond = SMALL + USUAL + (rounded - USUAL_BITS[1] >> DROPPED)
    size = np.minimum(np.where(bits < USUAL_BITS[1], size, beyond), REAL_LARGEST)
    return np.where(np.signbit(double) & ~np.isnan(double), -size, size)


def _real_sizes(size: NDArray[np.int64]) -> NDArray[np.float64]:
    bits = np.where(size < SMALL, size << DROPPED, size - SMALL + USUAL_BITS[0])
    beyond = USUAL_BITS[1] + (size - SMALL - USUAL << DROPPED)
    return np.where(size < SMALL + USUAL, bits, beyond).view(np.float64)


def _beyond_exact(size: NDArray[np.int64]) -> NDArray[np.float64]:
    """The whole numbers of indexes beyond 2**53."""
    return (np.maximum(size, EXACT_INTEGERS) - EXACT_INTEGERS + FLOAT64_EXACT_BITS).view(np.float64)


def _integral_index(numbers: NDArray[Any]) -> NDArray[np.int64]:
    double = np.rint(numbers.astype(np.float64))
    size = np.abs(double)
    beyond = size.view(np.int64) - FLOAT64_EXACT_BITS + EXACT_INTEGERS
    exact = np.where(size <= EXACT_INTEGERS, size, 0.0).astype(np.int64)
    index = np.where(size <= EXACT_INTEGERS, exact, beyond)
    return np.where(np.signbit(double) & ~np.isnan(double), -index, index)
