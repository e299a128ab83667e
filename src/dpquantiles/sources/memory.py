"""Columns in memory: NumPy arrays, lists, and series of any library that Narwhals knows."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType, MissingBackend, unquoted
from dpquantiles.grid import Grid
from dpquantiles.kinds import ANYTHING, DecimalUnits, Domain, Kind, as_array, column, infer
from dpquantiles.kinds.domain import decimals, of_dtype, of_kind
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.tables import domain_of, kind_of, places
from dpquantiles.views import ArrayView, SortedView, stand_in

UNDECLARED = ("object", "null")
"""Names of column types that say nothing about the records."""

PLAIN = {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
PLAIN |= {"halffloat": "float16", "float": "float32", "double": "float64"}
PLAIN |= {
    f"{long}[{unit}]": f"{short}8[{unit}]"
    for long, short in (("timestamp", "M"), ("duration", "m"))
    for unit in ("s", "ms", "us", "ns")
}
"""The types of Arrow whose buffers are arrays, and the types of these arrays."""


class TypedColumn(NamedTuple):
    """A column in memory: its records (masked where null), and what its type is and can hold."""

    values: NDArray[Any]
    kind: Kind
    domain: Domain = ANYTHING

    def check(self, grid: Grid, missing: Any) -> None:
        """Refuse a grid, or a stand-in for missing values, that is of another type."""
        stand_in(grid, missing)
        column(grid.kind, self.values[:0])

    def pinned(self) -> AbstractContextManager["TypedColumn"]:
        """The column itself, because nothing changes it."""
        return nullcontext(self)

    def view(self, grid: Grid, missing: Any) -> SortedView:
        """The records on a grid, with a policy for missing ones."""
        return ArrayView(self.values, grid, missing=missing)


def without_records(data: Any) -> Any:
    """The same column without its records; None if only the records tell its type."""
    if isinstance(data, np.ndarray):
        return None if data.dtype == object else data[:0] if data.ndim else data
    if isinstance(data, (list, tuple)):
        return None
    _require_no_text(data)
    series = _narwhals_series(data)
    if series is None:
        _require_records(data)
        return None
    native = series.head(0).to_native()
    return None if str(_declared_type(native)).lower() in UNDECLARED else native


def read(data: Any, stated: Kind | None = None) -> TypedColumn:
    """A column and its type; TypeError if data is not a column, or not of a supported type.

    Records without a declared type, such as those of a list, are read as the `stated` type. If none
    is stated, the records themselves tell their type.
    """
    if isinstance(data, TypedColumn):
        return data
    # This may run before a release is charged, and so outside of the guard around its errors.
    with unquoted():
        return _read(data, stated)


def _read(data: Any, stated: Kind | None) -> TypedColumn:
    _require_no_text(data)
    if not isinstance(data, (np.ndarray, list, tuple)):
        series = _series(data)
        if series is not None:
            return _read_series(series, stated)
    _require_records(data)
    return _of_array(as_array(data), stated)


def _require_records(data: Any) -> None:
    """Refuse what holds no records, by its type alone."""
    forms = ("__iter__", "__array__", "__arrow_c_array__", "__arrow_c_stream__")
    if not any(hasattr(type(data), form) for form in forms):
        raise InvalidType(f"data must be a column of values, got {type(data).__name__}")


def _of_array(array: NDArray[Any], stated: Kind | None) -> TypedColumn:
    if array.dtype == object and stated is not None:
        return TypedColumn(array, stated)
    kind = infer(array)
    return TypedColumn(
        array, kind, of_kind(kind) if array.dtype == object else of_dtype(array.dtype)
    )


def _series(data: Any) -> Any:
    """A Narwhals series; None for data that no library of columns holds."""
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(data, pandas.api.extensions.ExtensionArray):
        data = pandas.Series(data)
    series = _narwhals_series(data)
    exported = hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")
    return _narwhals_series(_arrow(data)) if series is None and exported else series


def _narwhals_series(data: Any) -> Any:
    """A Narwhals series; None for data that Narwhals does not know, TypeError for a table."""
    wrapped = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(wrapped, (nw.DataFrame, nw.LazyFrame)):
        raise InvalidType("data must be one column, got a table; name it: column='...'")
    return wrapped if isinstance(wrapped, nw.Series) else None


def _require_no_text(data: Any) -> None:
    if isinstance(data, (str, bytes, bytearray, dict)):
        raise InvalidType(f"data must be a column of values, got {type(data).__name__}")


def _arrow(data: Any) -> Any:
    """Data that another library exports in the format of Arrow, as an array of PyArrow."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingBackend(
            f"data of type {type(data).__name__} needs PyArrow: pip install 'dpquantiles[pyarrow]'"
        ) from None
    if hasattr(data, "__arrow_c_stream__"):
        return pa.chunked_array(data)
    return pa.chunked_array([pa.array(data)])


def _read_series(series: Any, stated: Kind | None) -> TypedColumn:
    declared = _declared_type(series.to_native())
    if str(declared).lower() in UNDECLARED:
        return _of_array(as_array(series.to_list()), stated)
    if hasattr(declared, "scale"):
        units, domain = DecimalUnits(places(declared)), decimals(declared.precision, declared.scale)
        return TypedColumn(as_array(series.to_list()), units, domain)
    kind = kind_of(series.dtype, declared)
    return TypedColumn(_values(series), kind, domain_of(series.dtype))


def _values(series: Any) -> NDArray[Any]:
    """The records of a declared type as an array."""
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):
        return as_array(series.to_list())
    if dtype.is_integer() or dtype == nw.Boolean:
        return _masked(series, False if dtype == nw.Boolean else 0)
    if dtype == nw.Date:
        return _masked(series.cast(nw.Int32), 0).astype(np.int64).view("datetime64[D]")
    if dtype == nw.Datetime and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = as_numpy(series)
    return values.astype(np.float64, copy=False) if dtype.is_float() else values


def _declared_type(native: Any) -> Any:
    """The type of a column in its own library."""
    declared = native.dtype if hasattr(native, "dtype") else native.type
    return getattr(declared, "pyarrow_dtype", declared)


def _masked(series: Any, stand_in: object) -> NDArray[Any]:
    """The records as a masked array. A stand-in takes the places of nulls, which are masked."""
    values, nulls = as_numpy(series.fill_null(stand_in)), as_numpy(series.is_null())
    array: NDArray[Any] = np.ma.masked_array(values, nulls)
    return array


def as_numpy(series: Any) -> NDArray[Any]:
    """The values of a Narwhals series, as its own `to_numpy` gives them."""
    return (
        arrow_as_numpy(series.to_native())
        if series.implementation.is_pyarrow()
        else series.to_numpy()
    )


def arrow_as_numpy(column: Any) -> NDArray[Any]:
    """The values of an Arrow array, whole or in chunks.

    PyArrow's own conversion imports pandas, which takes longer than most releases. So the buffers
    of plain numbers and times are read directly.
    """
    if str(column.type) == "bool" and not column.null_count:
        return arrow_as_numpy(column.cast("uint8")).view(bool)
    dtype = PLAIN.get(str(column.type))
    if dtype is None or column.null_count:
        array: NDArray[Any] = column.to_numpy()
        return array
    parts = [_chunk(chunk, dtype) for chunk in getattr(column, "chunks", [column])]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _chunk(chunk: Any, dtype: str) -> NDArray[Any]:
    """The values of a contiguous array without nulls."""
    if not len(chunk):
        return np.empty(0, dtype)
    _, values = chunk.buffers()
    return np.frombuffer(values, dtype)[chunk.offset : chunk.offset + len(chunk)]


def as_arrow(series: Any) -> Any:
    """The Arrow array behind a column of PyArrow or pandas; None for any other column."""
    if series.implementation.is_pyarrow():
        return series.to_native()
    dtype = series.to_native().dtype
    if not hasattr(dtype, "pyarrow_dtype") and getattr(dtype, "storage", None) != "pyarrow":
        return None
    import pyarrow as pa

    array = pa.array(series.to_pandas().array)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def of_batches(batches: Sequence[Any], schema: Any) -> Any:
    """Arrow batches as one frame of Narwhals."""
    import pyarrow as pa

    return nw.from_native(pa.Table.from_batches(batches, schema), eager_only=True)
