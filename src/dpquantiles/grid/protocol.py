"""The protocol of all grids, and checks on their bounds."""

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.kinds import Kind


@runtime_checkable
class Grid(Protocol):
    """What mechanisms need from a grid, which is an immutable value."""

    def __hash__(self) -> int:
        """Equal grids have equal hashes."""

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


def exact(number: int | float) -> Fraction:
    """A public number as an exact fraction: 0.1 means one tenth, 2.0**-30 a power of two."""
    binary = Fraction(number)
    if binary.denominator == 1:
        return binary
    return min(binary, Fraction(repr(number)), key=lambda reading: reading.denominator)


def exact_bounds(kind: Kind, lower: object, upper: object) -> tuple[Fraction, Fraction]:
    low, high = (exact(kind.number(bound, "bounds")) for bound in (lower, upper))
    if not low < high:
        raise InvalidValue(f"bounds must have lower < upper, got lower={lower!r}, upper={upper!r}")
    return low, high


def check_ends(grid: Grid, lower: object, upper: object) -> None:
    """Check that both ends can be decoded; then all points between them can, and no draw raises."""
    if grid.size < 1:
        raise InvalidValue(
            f"bounds must contain a grid point, got lower={lower!r}, upper={upper!r}"
        )
    try:
        grid.decode(np.array([0, grid.size - 1]))
    except (OverflowError, ValueError):
        raise InvalidValue(
            f"bounds must leave every grid point writable as a {grid.kind.name}, "
            f"got lower={lower!r}, upper={upper!r}"
        ) from None
