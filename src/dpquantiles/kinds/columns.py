"""Columns: data of any origin as one NumPy array, and as the numbers of a type."""

from array import array as packed
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.kinds.protocol import Column, Kind


def as_array(values: Iterable[Any]) -> NDArray[Any]:
    """Any one-dimensional data as a NumPy array, masked where it came masked."""
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
    numbers, missing = kind.numbers(np.ma.getdata(array))
    if not np.ma.is_masked(array):
        return Column(numbers, missing)
    mask = np.ma.getmaskarray(array)
    return Column(numbers, mask if missing is None else mask | missing)
