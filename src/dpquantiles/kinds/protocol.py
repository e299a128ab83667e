"""What every value type offers: numbers for its values, and values for its numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType
from dpquantiles.require import shown

INT64 = np.iinfo(np.int64)


class Column(NamedTuple):
    """Data as numbers: a one-dimensional NumPy array and a mask of its missing records, if any."""

    numbers: NDArray[Any]
    missing: NDArray[np.bool_] | None


class Kind(Protocol):
    """One value type.

    `numbers` converts data and never raises on a record: what cannot be read counts as missing.
    `number` and `step` convert one public parameter and raise when it does not fit.
    """

    @property
    def name(self) -> str:
        """What the type is called in messages and in JSON."""

    @property
    def integral(self) -> bool:
        """Whether its numbers are integers."""

    @property
    def unit(self) -> Any:
        """The natural distance between neighboring values; None where there is none."""

    @property
    def limits(self) -> tuple[Any, Any] | None:
        """The least and the greatest value, for types that need no bounds; else None."""

    def number(self, value: object, parameter: str) -> int | float:
        """The exact number of a public parameter."""

    def step(self, value: object, parameter: str) -> int | float:
        """The exact number of a public distance between two values."""

    def value(self, number: int | float) -> Any:
        """The value of a number; the inverse of `number`."""

    def numbers(self, values: NDArray[Any]) -> Column:
        """The numbers of all records; TypeError when the array's dtype is of another type."""

    def to_json(self, value: Any) -> object:
        """A value as JSON can hold it."""

    def from_json(self, plain: Any) -> Any:
        """The inverse of `to_json`."""


def wrong_type(parameter: str, kind: str, value: object) -> TypeError:
    """The error of a public parameter that is of another type than the values."""
    return InvalidType(f"{parameter} must be of type {kind} like the values, got {shown(value)}")


def wrong_column(kind: str, values: NDArray[Any]) -> TypeError:
    """The error of a typed array that is of another type than the grid."""
    return InvalidType(f"data must be of type {kind} like the grid, got {described(values)}")


def described(values: NDArray[Any]) -> str:
    """What an array holds, in words for a message."""
    return "a column of text" if values.dtype.kind in "UST" else f"an array of {values.dtype}"


def clamp(number: int) -> int:
    """The nearest 64-bit integer."""
    return min(max(number, INT64.min), INT64.max)


def with_missing(numbers: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """A column whose mask is left out when nothing is missing."""
    return Column(numbers, missing if missing.any() else None)


@np.errstate(all="ignore")
def each(values: NDArray[Any], convert: Callable[[Any], int | None]) -> Column:
    """Integers of Python objects, one record at a time; a record that raises counts as missing."""
    try:
        return Column(np.fromiter(map(convert, values), dtype=np.int64, count=len(values)), None)
    except Exception:  # some record is missing, or beyond 64 bits
        found = [safely(convert, record) for record in values]
    numbers = np.array([clamp(number or 0) for number in found], dtype=np.int64)
    return with_missing(numbers, np.array([number is None for number in found], dtype=bool))


def safely(convert: Callable[[Any], int | None], record: Any) -> int | None:
    """The number of a record; None when it has none, or raises."""
    try:
        return convert(record)
    except Exception:
        return None
