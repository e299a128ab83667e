"""Two ways to hold positive masses: as scaled doubles (fast) or as logarithms (any range).

Both offer the same few operations, so that scans, forward pass and draws are written once. Which
one is used follows from public numbers only (`choose`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOP = 650.0
"""Masses and factors stay below exp(TOP): exp(709) overflows, a scan raises by RAMP_ROOM."""

BOTTOM = -620.0
"""The scaled floor stays above exp(BOTTOM), 88 nats above the smallest normal double."""

RAMP_ROOM = 40.0
FADE_ROOM = 600.0


class Algebra(Protocol):
    """Positive masses, and factors that multiply them, in some representation."""

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

    def factor(self, nats: Floats) -> Floats:
        """The factors exp(-nats)."""

    def ratio(self, numerator: Floats, denominator: float) -> Floats:
        """The factors numerator / denominator."""

    def total(self, rows: Floats) -> Floats:
        """The sums of masses over the first axis."""

    def log(self, mass: float) -> float:
        """The natural logarithm of one mass."""

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

    def factor(self, nats: Floats) -> Floats:
        return -nats

    def ratio(self, numerator: Floats, denominator: float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(numerator / denominator)

    def total(self, rows: Floats) -> Floats:
        if len(rows) == 1:
            return np.asarray(rows[0])
        largest = np.maximum(np.max(rows, axis=0), np.finfo(np.float64).min)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.sum(np.exp(rows - largest), axis=0)) + largest)

    def log(self, mass: float) -> float:
        return mass

    def rounded_exponent(self, fade: float, mass: float) -> float:
        return max(fade, mass)


@dataclass(frozen=True)
class ScaledDoubles:
    """Masses as doubles times exp(log_scale), factors as doubles."""

    log_scale: float
    zero: ClassVar[float] = 0.0
    add: ClassVar[np.ufunc] = np.add
    times: ClassVar[np.ufunc] = np.multiply

    @property
    def one(self) -> float:
        return math.exp(self.log_scale)

    def factor(self, nats: Floats) -> Floats:
        return np.exp(-nats)

    def ratio(self, numerator: Floats, denominator: float) -> Floats:
        return numerator / denominator

    def total(self, rows: Floats) -> Floats:
        return np.asarray(np.sum(rows, axis=0))

    def log(self, mass: float) -> float:
        return math.log(mass) - self.log_scale if mass > 0 else -math.inf

    def rounded_exponent(self, fade: float, mass: float) -> float:  # noqa: ARG002
        # Masses keep their relative precision, however large or small.
        return fade


def choose(log_volume: float, log_floor: float, nats: float, ramp: float) -> Algebra:
    """Doubles where no mass can overflow and what underflows is far below the floor.

    `nats` is the largest fade, `ramp` the largest within one block of a scan.
    """
    log_scale = TOP - log_volume
    fits = log_scale >= 0 and log_floor + log_scale >= BOTTOM
    if fits and nats <= FADE_ROOM and ramp <= RAMP_ROOM:
        return ScaledDoubles(log_scale)
    return Logarithms()
