"""The grids of a family: multiples of a step in a range, and grids that span a whole type."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid.floating import MOST_DOUBLE
from dpquantiles.kinds import Kind

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Multiples:
    """The multiples first, first + 1, ... of a step, which is a number of the kind."""

    kind: Kind
    step: Fraction
    first: int
    size: int

    @property
    def reach(self) -> int:
        """The largest multiple, in size, that is a point or next to one."""
        return max(abs(self.first), abs(self.first + self.size))

    def number(self, index: int) -> int | float:
        """The number of a point: exact, or the nearest double."""
        exact = (self.first + index) * self.step
        return int(exact) if self.kind.integral else float(exact)

    def encode(self, numbers: NDArray[Any]) -> Ints:
        """The point nearest to each number."""
        (multiples,) = nearest_multiples(self.kind, numbers, [(self.step, self.reach)])
        return np.asarray(np.clip(multiples - self.first, 0, self.size - 1))

    def decode(self, steps: Ints) -> list[Any]:
        """The value of each point."""
        step, limit = self.step, 2**62 if self.kind.integral else 2**53
        if max(self.reach * step.numerator, step.denominator) > limit:
            return [self.kind.value(self.number(int(index))) for index in steps]
        # No product is rounded here, and a quotient is rounded to the nearest double.
        (numbers,) = multiples_of(self.kind, steps + np.int64(self.first), [step])
        return self.kind.values(numbers)

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        lower, upper = (self.kind.to_json(v) for v in self.decode(np.array([0, self.size - 1])))
        return {
            "name": "multiples",
            "lower": lower,
            "upper": upper,
            "step": shown_step(self.kind, self.step),
            "points": self.size,
        }


@dataclass(frozen=True)
class Singles:
    """All numbers of float32 of a kind: for ties on values of no common step, and for data that
    span the whole type.
    """

    kind: Kind
    step: None = None

    @property
    def last(self) -> int:
        """The position of the largest number; zero has position 0."""
        return _INTEGER_LAST if self.kind.integral else _LARGEST

    @property
    def first(self) -> int:
        """The position of the smallest number."""
        return -self.last

    @property
    def size(self) -> int:
        """How many there are."""
        return 2 * self.last + 1

    @property
    def reach(self) -> int:
        """The largest position of a point, or next to one."""
        return self.last + 1

    def encode(self, numbers: NDArray[Any]) -> Ints:
        """The point nearest to each number."""
        return single_index(self.kind, numbers) - self.first

    def decode(self, steps: Ints) -> list[Any]:
        """The value of each point."""
        return [self.kind.value(self.number(int(step))) for step in steps]

    def number(self, index: int) -> int | float:
        """The number of a point."""
        number = singles(self.kind, np.array([index + self.first]))[0]
        return int(number) if self.kind.integral else float(number)

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        return {"name": "float32", "points": self.size}


def _bits(number: float) -> int:
    return int(np.float32(number).view(np.int32))


_LARGEST = _bits(float(np.finfo(np.float32).max))
_EXACT, _EXACT_BITS = 2**24, _bits(2.0**24)
"""Up to here, all whole numbers are numbers of float32."""
_INTEGER_LAST = _EXACT + _bits(2.0**63) - _EXACT_BITS

Member = Multiples | Singles


@np.errstate(all="ignore")
def single_index(kind: Kind, numbers: NDArray[Any]) -> Ints:
    """The position of the number of float32 nearest to each number, from that of zero."""
    single = numbers.astype(np.float32)
    size = np.minimum(np.abs(single).view(np.int32), _LARGEST).astype(np.int64)
    if kind.integral:
        small = np.minimum(np.abs(numbers), _EXACT)
        size = np.where(size <= _EXACT_BITS, small, size - _EXACT_BITS + _EXACT)
    return np.where(np.signbit(single), -size, size)


def singles(kind: Kind, positions: Ints) -> NDArray[Any]:
    """The numbers of float32 at these positions, as doubles or as integers."""
    size = np.abs(positions)
    if not kind.integral:
        return np.copysign(size.astype(np.int32).view(np.float32).astype(np.float64), positions)
    bits = np.maximum(size - _EXACT + _EXACT_BITS, _EXACT_BITS).astype(np.int32)
    signed = np.copysign(bits.view(np.float32).astype(np.float64), positions)
    large = np.clip(signed, -(2.0**63), MOST_DOUBLE).astype(np.int64)
    return np.where(size <= _EXACT, positions, large)


def shown_step(kind: Kind, step: Fraction) -> object:
    """A step as a plain value: in units of the kind, such as days or decimal places."""
    return int(step) if kind.integral else float(step)


@np.errstate(all="ignore")
def nearest_multiples(
    kind: Kind, numbers: NDArray[Any], widths: Sequence[tuple[Fraction, int]]
) -> Ints:
    """Which multiple of a step is nearest to each number, or next to that; a row for each step.

    Beside a step stands the largest multiple that matters. What lies beyond it counts as the one
    after it.
    """
    if kind.integral:
        return np.array([_nearest_whole(numbers, int(step), most) for step, most in widths])
    limit = np.array([[float((most + 1) * step)] for step, most in widths])
    up, down = _parts([step for step, _ in widths])
    nearest: Ints = np.rint(np.clip(numbers, -limit, limit) * down / up).astype(np.int64)
    return nearest


def _nearest_whole(numbers: NDArray[Any], width: int, most: int) -> Ints:
    """The row of a step of whole numbers."""
    limit = (most + 1) * width
    whole, rest = np.divmod(np.clip(numbers, -limit, limit).astype(np.int64), np.int64(width))
    return np.asarray(whole + (rest > width // 2))


@np.errstate(all="ignore")
def multiples_of(kind: Kind, multiples: Ints, steps: Sequence[Fraction]) -> NDArray[Any]:
    """The numbers of multiples, a row for each step; for real numbers, the nearest doubles."""
    if kind.integral:
        return np.asarray(multiples * np.array([[int(step)] for step in steps], dtype=np.int64))
    up, down = _parts(steps)
    return np.asarray(multiples * up / down)


def _parts(steps: Sequence[Fraction]) -> NDArray[np.float64]:
    """The numerators and the denominators of steps, each a column."""
    parts = [[float(step.numerator), float(step.denominator)] for step in steps]
    return np.array(parts).T[:, :, None]
