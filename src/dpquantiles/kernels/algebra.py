"""Two ways to store positive masses: as scaled doubles (fast) or as logarithms (any range).

Both offer the same few operations, so scans, the forward pass and draws are written once. Public
numbers alone decide which one is used (`choose`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOP = 700.0
"""Masses and factors stay below exp(TOP), even while a scan raises them; exp(709) overflows."""

BOTTOM = -620.0
"""The scaled floor stays above exp(BOTTOM), 88 nats above the smallest normal double."""

FADE_ROOM = 700.0
"""Factors stay above exp(-FADE_ROOM)."""

SHORTEST_RUN, LOGARITHMIC_RUN, LONGEST_RUN = 16, 256, 2048
"""How many cells one sequential scan covers; longer axes are cut into runs."""


class Algebra(Protocol):
    """Operations on positive masses and on factors that multiply them."""

    @property
    def zero(self) -> float:
        """No mass."""

    @property
    def one(self) -> float:
        """The unit mass."""

    @property
    def add(self) -> np.ufunc:
        """The sum of two masses."""

    @property
    def times(self) -> np.ufunc:
        """A mass times a factor."""

    def nothing(self, shape: tuple[int, ...]) -> Floats:
        """An array without any mass."""

    def factor(self, nats: Floats) -> Floats:
        """The factors exp(-nats)."""

    def number(self, numbers: Floats | np.float64) -> Floats:
        """Numbers as factors."""

    def scaled(self, mass: float, factor: float) -> float:
        """One mass times a factor."""

    def joined(self, mass: float, other: float) -> float:
        """The sum of two single masses."""

    def whole(self, number: int) -> float:
        """A whole number as a factor."""

    def total(self, rows: Floats) -> Floats:
        """The sums of masses over the first axis."""

    def shares(self, masses: Floats) -> Floats:
        """Masses as doubles in a common unit; small ones may underflow."""

    def run_length(self, rate: float) -> int:
        """How many cells a sequential scan may cover at this rate of decay."""

    def odds(self, lighter: float, heavier: float) -> float:
        """One mass over a larger one; may underflow."""

    def log(self, mass: float) -> float:
        """The natural logarithm of one mass."""

    def logs(self, masses: Floats) -> Floats:
        """The natural logarithms of many masses."""

    def rounded_exponent(self, fade: float, mass: float) -> float:
        """The largest number of nats that one operation rounds.

        `fade` bounds the exponents of factors, `mass` the logarithms of masses.
        """


@dataclass(frozen=True)
class Logarithms:
    """Masses and factors as natural logarithms."""

    zero: ClassVar[float] = -math.inf
    one: ClassVar[float] = 0.0
    add: ClassVar[np.ufunc] = np.logaddexp
    times: ClassVar[np.ufunc] = np.add

    def nothing(self, shape: tuple[int, ...]) -> Floats:
        return np.full(shape, self.zero)

    def factor(self, nats: Floats) -> Floats:
        return -nats

    def number(self, numbers: Floats | np.float64) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(numbers))

    def scaled(self, mass: float, factor: float) -> float:
        return mass + factor

    def joined(self, mass: float, other: float) -> float:
        return float(np.logaddexp(mass, other))

    def whole(self, number: int) -> float:
        return math.log(number) if number else -math.inf

    def total(self, rows: Floats) -> Floats:
        if len(rows) == 1:
            return np.asarray(rows[0])
        largest = np.maximum(np.max(rows, axis=0), np.finfo(np.float64).min)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.sum(np.exp(rows - largest), axis=0)) + largest)

    def shares(self, masses: Floats) -> Floats:
        return np.exp(masses - max(float(masses.max()), np.finfo(np.float64).min))

    def run_length(self, rate: float) -> int:  # noqa: ARG002
        return LOGARITHMIC_RUN

    def odds(self, lighter: float, heavier: float) -> float:
        return math.exp(lighter - heavier)

    def log(self, mass: float) -> float:
        return mass

    def logs(self, masses: Floats) -> Floats:
        return masses

    def rounded_exponent(self, fade: float, mass: float) -> float:
        return max(fade, mass)


@dataclass(frozen=True)
class ScaledDoubles:
    """Masses as doubles times exp(log_scale), factors as doubles."""

    log_scale: float
    ramp: float
    """How many nats a scan may temporarily raise masses by."""
    zero: ClassVar[float] = 0.0
    add: ClassVar[np.ufunc] = np.add
    times: ClassVar[np.ufunc] = np.multiply

    @property
    def one(self) -> float:
        return math.exp(self.log_scale)

    def nothing(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape)

    def factor(self, nats: Floats) -> Floats:
        return np.exp(-nats)

    def number(self, numbers: Floats | np.float64) -> Floats:
        return np.asarray(numbers)

    def scaled(self, mass: float, factor: float) -> float:
        return mass * factor

    def joined(self, mass: float, other: float) -> float:
        return mass + other

    def whole(self, number: int) -> float:
        return float(number)

    def total(self, rows: Floats) -> Floats:
        return np.asarray(np.add.reduce(rows))

    def shares(self, masses: Floats) -> Floats:
        return masses

    def run_length(self, rate: float) -> int:
        return max(1, min(int(self.ramp / rate), LONGEST_RUN))

    def odds(self, lighter: float, heavier: float) -> float:
        return lighter / heavier

    def log(self, mass: float) -> float:
        return math.log(mass) - self.log_scale if mass > 0 else -math.inf

    def logs(self, masses: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(masses) - self.log_scale)

    def rounded_exponent(self, fade: float, mass: float) -> float:  # noqa: ARG002
        # Masses keep their relative precision, however large or small.
        return fade


def choose(log_volume: float, log_floor: float, longest: int, rate: float) -> Algebra:
    """Choose doubles if no mass can overflow and only masses far below the floor can underflow.

    Masses lie between the floor and exp(log_volume). The rest of the range of doubles is room for
    the ramps of scans. `longest` bounds the length of the axis.
    """
    ramp = min(rate * longest, TOP - BOTTOM - log_volume - max(0.0, -log_floor))
    fits = log_volume <= TOP and rate * longest <= FADE_ROOM
    if fits and ramp >= rate * min(SHORTEST_RUN, longest):
        return ScaledDoubles(log_scale=TOP - log_volume - ramp, ramp=ramp)
    return Logarithms()
