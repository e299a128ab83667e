"""The grids of a family: multiples of a step in a range, and all numbers of float32."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import Kind

Ints = NDArray[np.int64]

SINGLE_LARGEST = int(np.finfo(np.float32).max.view(np.int32))


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
        multiples = nearest_multiples(self.kind, numbers, self.step, self.reach)
        return np.clip(multiples - self.first, 0, self.size - 1)

    def decode(self, steps: Ints) -> list[Any]:
        """The value of each point."""
        return [self.kind.value(self.number(int(step))) for step in steps]

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
    """All finite numbers of float32, for records that are tied on values of no common step.

    Records are rounded to them, each by itself.
    """

    kind: Kind
    first: int = -SINGLE_LARGEST
    size: int = 2 * SINGLE_LARGEST + 1
    step: None = None
    reach: int = SINGLE_LARGEST + 1

    def encode(self, numbers: NDArray[Any]) -> Ints:
        """The point nearest to each number."""
        return single_index(numbers) - self.first

    def decode(self, steps: Ints) -> list[Any]:
        """The value of each point."""
        index = steps + self.first
        sizes = np.abs(index).astype(np.int32).view(np.float32).astype(np.float64)
        return [self.kind.value(number) for number in np.copysign(sizes, index).tolist()]

    def number(self, index: int) -> float:
        """The number of a point."""
        return float(self.decode(np.array([index]))[0])

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        return {"name": "float32", "points": self.size}


@np.errstate(all="ignore")
def single_index(numbers: NDArray[Any]) -> Ints:
    """The signed position of each number among those of float32; zero has position 0."""
    single = numbers.astype(np.float32)
    size = np.minimum(np.abs(single).view(np.int32), SINGLE_LARGEST).astype(np.int64)
    return np.where(np.signbit(single), -size, size)


def shown_step(kind: Kind, step: Fraction) -> object:
    """A step as a plain value: in units of the kind, such as days or decimal places."""
    return int(step) if kind.integral else float(step)


@np.errstate(all="ignore")
def nearest_multiples(kind: Kind, numbers: NDArray[Any], step: Fraction, most: int) -> Ints:
    """Which multiple of a step is nearest to each number, or next to that; at most `most` + 1."""
    limit = (most + 1) * step
    if kind.integral:
        width = int(step)
        inside = np.clip(numbers, -int(limit), int(limit)).astype(np.int64)
        whole, rest = np.divmod(inside, np.int64(width))
        return np.asarray(whole + (rest > width // 2))
    inside = np.clip(numbers, -float(limit), float(limit))
    nearest: Ints = np.rint(inside * step.denominator / step.numerator).astype(np.int64)
    return nearest


@np.errstate(all="ignore")
def multiples_of(kind: Kind, multiples: Ints, step: Fraction) -> NDArray[Any]:
    """The numbers of multiples; for real numbers, the nearest doubles."""
    if kind.integral:
        return multiples * np.int64(int(step))
    return multiples * float(step.numerator) / float(step.denominator)
