"""Columns in memory as NumPy arrays.

PyArrow's own conversion imports pandas, which takes longer than most releases. So the buffers of
plain numbers and times are read directly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
PLAIN |= {"halffloat": "float16", "float": "float32", "double": "float64"}
PLAIN |= {
    f"{long}[{unit}]": f"{short}8[{unit}]"
    for long, short in (("timestamp", "M"), ("duration", "m"))
    for unit in ("s", "ms", "us", "ns")
}
"""The types of Arrow whose buffers are arrays, and the types of these arrays."""


def as_numpy(series: Any) -> NDArray[Any]:
    """The values of a Narwhals series, as its own `to_numpy` gives them."""
    return (
        arrow_as_numpy(series.to_native())
        if series.implementation.is_pyarrow()
        else series.to_numpy()
    )


def arrow_as_numpy(column: Any) -> NDArray[Any]:
    """The values of an Arrow array, whole or in chunks."""
    if str(column.type) == "bool" and not column.null_count:
        return arrow_as_numpy(column.cast("uint8")).view(bool)
    dtype = PLAIN.get(str(column.type))
    if dtype is None or column.null_count:
        array: NDArray[Any] = column.to_numpy()
        return array
    parts = [_values(chunk, dtype) for chunk in getattr(column, "chunks", [column])]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _values(chunk: Any, dtype: str) -> NDArray[Any]:
    """The values of a contiguous array without nulls."""
    if not len(chunk):
        return np.empty(0, dtype)
    _, values = chunk.buffers()
    return np.frombuffer(values, dtype)[chunk.offset : chunk.offset + len(chunk)]
