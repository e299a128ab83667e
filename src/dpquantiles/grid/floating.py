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
FLOAT32_LARGEST = int(np.finfo(np.float32).max.view(np.int32))
INTEGRAL_LARGEST = (
    EXACT_INTEGERS + int(np.finfo(np.float64).max.view(np.int64)) - FLOAT64_EXACT_BITS
)


@dataclass(frozen=True)
class FloatGrid:
    """The floating-point numbers in ascending order; bounds are optional.

    Real numbers use all finite float32 values. The integral variant uses every integer up to 2**53,
    and beyond that the integers that float64 can represent. Bounds, where given, cut the grid.
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
        largest = INTEGRAL_LARGEST if self.kind.integral else FLOAT32_LARGEST
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
