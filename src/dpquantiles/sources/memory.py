"""Columns in memory: NumPy arrays, lists, and Series of any library that Narwhals knows."""

import datetime as dt
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import BOOLEAN, DATE, DURATION, INTEGER, REAL, Datetime, DecimalUnits, Kind
from dpquantiles.kinds import as_array, infer


class TypedColumn(NamedTuple):
    """Raw records (masked where null) and their type."""

    values: NDArray[Any]
    kind: Kind


def read(data: Any) -> TypedColumn:
    """A column and its type; TypeError for what is not a column of a supported type."""
    if isinstance(data, (str, bytes, dict)):
        raise TypeError(f"data must be a column of values, got {type(data).__name__}")
    if not isinstance(data, (np.ndarray, list, tuple)):
        series = _series(data)
        if series is not None:
            return _read_series(series)
    if not hasattr(data, "__iter__"):
        raise TypeError(f"data must be a column of values, got {type(data).__name__}")
    array = as_array(data)
    return TypedColumn(array, infer(array))


def _series(data: Any) -> Any:
    """A Narwhals Series, or None for what Narwhals does not know."""
    import narwhals.stable.v2 as nw

    if hasattr(data, "__arrow_c_array__") and not hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        data = pa.chunked_array([data])
    known = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(known, nw.Series):
        return known
    if isinstance(known, (nw.DataFrame, nw.LazyFrame)):
        raise TypeError("data must be one column, got a table; pass table['column']")
    return None


def _read_series(series: Any) -> TypedColumn:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Decimal:
        kind = DecimalUnits(_decimal_places(series.to_native()))
        return TypedColumn(as_array(series.to_list()), kind)
    if isinstance(dtype, nw.Datetime):
        microseconds = series.dt.timestamp("us")
        values = _filled(microseconds, 0).astype(np.int64).view("datetime64[us]")
        return _masked(series, values, Datetime(_zone(dtype.time_zone)))
    if dtype.is_float():
        return TypedColumn(_filled(series, float("nan")).astype(np.float64), REAL)
    if dtype.is_integer():
        return _masked(series, _filled(series, 0), INTEGER)
    if dtype == nw.Boolean:
        return _masked(series, _filled(series, False).astype(bool), BOOLEAN)
    if dtype == nw.Date:
        return TypedColumn(series.to_numpy(), DATE)
    if isinstance(dtype, nw.Duration):
        return TypedColumn(series.to_numpy(), DURATION)
    if dtype == nw.Object:
        array = as_array(series.to_list())
        return TypedColumn(array, infer(array))
    raise TypeError(
        "the data must be numbers, booleans, decimals, dates, datetimes or durations, "
        f"got a column of {'text' if dtype == nw.String else dtype}"
    )


def _filled(series: Any, stand_in: object) -> NDArray[Any]:
    array: NDArray[Any] = series.fill_null(stand_in).to_numpy()
    return array


def _masked(series: Any, values: NDArray[Any], kind: Kind) -> TypedColumn:
    missing = series.is_null().to_numpy()
    return TypedColumn(np.ma.masked_array(values, missing), kind)


def _decimal_places(native: Any) -> int:
    """The scale that a column of decimals declares in its own library."""
    dtype = getattr(native, "dtype", None) or native.type
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    return int(dtype.scale)


def _zone(name: str | None) -> dt.tzinfo | None:
    """A time zone by name or by offset such as +02:00."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return dt.datetime.strptime(name, "%z").tzinfo
