"""Multiples of a step in a range: one grid of a family, on which records need not be points."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        """The point at each number, or one next to it."""
        halves = half_steps(self.kind, numbers, self.step, self.reach)
        return np.clip((halves >> 1) - self.first, 0, self.size - 1)

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


def shown_step(kind: Kind, step: Fraction) -> object:
    """A step as a plain value: in units of the kind, such as days or decimal places."""
    return int(step) if kind.integral else float(step)


@np.errstate(all="ignore")
def half_steps(kind: Kind, numbers: NDArray[Any], step: Fraction, most: int) -> Ints:
    """The half step of each number: 2j + 1 at multiple j of a step, 2j + 2 between j and j + 1.

    Numbers of more than `most` multiples in size count as just beyond. The map never decreases,
    because it compares numbers with the multiples themselves, and not with rounded quotients.
    """
    if kind.integral:
        width = int(step)
        limit = (most + 1) * width
        whole, rest = np.divmod(np.clip(numbers, -limit, limit).astype(np.int64), np.int64(width))
        return 2 * whole + 1 + (rest > 0)
    limit = float((most + 1) * step)
    inside = np.clip(numbers, -limit, limit)
    nearest = np.rint(inside * step.denominator / step.numerator)
    multiple = nearest * step.numerator / step.denominator
    return 2 * nearest.astype(np.int64) + 1 + np.sign(inside - multiple).astype(np.int64)
