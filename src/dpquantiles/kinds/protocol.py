"""The protocol of value types, and conversions that several of them share."""

from abc import ABC, abstractmethod
from array import array as packed
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.require import shown

INT64 = np.iinfo(np.int64)


class Column(NamedTuple):
    """Data as numbers: a one-dimensional array, and a mask of missing records if there are any."""

    numbers: NDArray[Any]
    missing: NDArray[np.bool_] | None


class Kind(ABC):
    """One value type.

    `numbers` converts data. It never raises because of a record: one that cannot be read counts as
    missing. `number` and `step` convert one public parameter, and raise when it does not fit.
    """

    name: str
    """The name of the type in messages and in JSON."""
    integral = True
    """Whether its numbers are integers."""

    @property
    @abstractmethod
    def unit(self) -> Any:
        """The distance between neighboring values; None for types without one."""

    @property
    def limits(self) -> tuple[Any, Any] | None:
        """The smallest and the largest value, for types that need no bounds; else None."""
        return None

    @abstractmethod
    def number(self, value: object, parameter: str) -> int | float:
        """The exact number of a public parameter."""

    def step(self, value: object, parameter: str) -> int | float:
        """The exact number of a public distance between two values."""
        return self.number(value, parameter)

    @abstractmethod
    def value(self, number: int | float) -> Any:
        """The value of a number; the inverse of `number`."""

    @abstractmethod
    def numbers(self, values: NDArray[Any]) -> Column:
        """The numbers of all records; TypeError if the array's dtype is of another type."""

    def values(self, numbers: NDArray[Any]) -> list[Any]:
        """The values of many numbers."""
        return list(map(self.value, numbers.tolist()))

    def to_json(self, value: Any) -> object:
        """A value in a form that JSON can store."""
        return value

    def from_json(self, plain: Any) -> Any:
        """The inverse of `to_json`."""
        return self.value(plain)


def as_array(values: Iterable[Any]) -> NDArray[Any]:
    """One-dimensional data as a NumPy array; masks are kept."""
    array: NDArray[Any]
    if isinstance(values, np.ma.MaskedArray):
        array = values
    elif isinstance(values, (packed, memoryview)) or hasattr(values, "__array__"):
        array = np.asarray(values)
    else:
        array = np.fromiter(values, dtype=object)
    if array.ndim != 1:
        raise InvalidValue(f"data must be one column, got {array.ndim} dimensions")
    return array


def column(kind: Kind, values: Iterable[Any]) -> Column:
    """Data as numbers of a kind; masked records count as missing."""
    array = as_array(values)
    if not isinstance(array, np.ma.MaskedArray):
        return kind.numbers(array)
    numbers, missing = kind.numbers(np.ma.getdata(array))
    if not np.ma.is_masked(array):
        return Column(numbers, missing)
    mask = np.ma.getmaskarray(array)
    return Column(numbers, mask if missing is None else mask | missing)


def wrong_type(parameter: str, kind: str, value: object) -> TypeError:
    """The error for a public parameter whose type differs from that of the values."""
    return InvalidType(f"{parameter} must be of type {kind} like the values, got {shown(value)}")


def wrong_column(kind: str, values: NDArray[Any]) -> TypeError:
    """The error for an array whose type differs from that of the grid."""
    return InvalidType(f"data must be of type {kind} like the grid, got {described(values)}")


def described(values: NDArray[Any]) -> str:
    """The contents of an array, in words for a message."""
    return "a column of text" if values.dtype.kind in "UST" else f"an array of {values.dtype}"


def clamp(number: int) -> int:
    """The nearest 64-bit integer."""
    return min(max(number, INT64.min), INT64.max)


def with_missing(numbers: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """A column; the mask is None when nothing is missing."""
    return Column(numbers, missing if missing.any() else None)


@np.errstate(all="ignore")
def each(values: NDArray[Any], convert: Callable[[Any], int | None]) -> Column:
    """Convert Python objects to integers; a record that raises counts as missing."""
    try:
        return Column(np.fromiter(map(convert, values), dtype=np.int64, count=len(values)), None)
    except Exception:  # a record is missing, or does not fit in 64 bits
        converted = [safely(convert, record) for record in values]
    numbers = np.array([clamp(number or 0) for number in converted], dtype=np.int64)
    return with_missing(numbers, np.array([number is None for number in converted], dtype=bool))


def safely(convert: Callable[[Any], int | None], record: Any) -> int | None:
    """The number of a record; None if it has none or raises."""
    try:
        return convert(record)
    except Exception:
        return None
