"""Data frames of Spark, classic and Connect: arithmetic stays in the JVM, Arrow brings the rest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType

from dpquantiles.sources.numbers import VALUE, Numbers, as_numbers, as_ticks, is_time
from dpquantiles.sources.tables import Table


def numbers(table: Table, column: str) -> Numbers:
    """A column as Spark compares and bins it."""
    import narwhals.stable.v2 as nw

    native, dtype = table.frame.to_native(), table.dtype(column)
    if isinstance(native.schema[column].dataType, DayTimeIntervalType):
        dtype = nw.Duration("us")
    if is_time(dtype):
        ticks = native.select(F.expr(_ticks(quoted(column), dtype)).alias(VALUE))
        found = as_ticks(nw.from_native(ticks), dtype)
    else:
        found = as_numbers(table, column)
    return replace(found, collect=_collect, engine="Spark", extra="spark")


def quoted(name: str) -> str:
    """A name as Spark's SQL takes it, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def _ticks(name: str, dtype: Any) -> str:
    """Days of dates, else microseconds."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Date:
        return f"CAST(unix_date({name}) AS BIGINT)"
    if dtype == nw.Duration:
        return f"CAST(CAST({name} AS DECIMAL(30, 6)) * 1000000 AS BIGINT)"
    if dtype.time_zone is None:
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01', {name})"
    return f"unix_micros({name})"


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native frame with one more column: a hash of these cells of each row, by a key."""
    cells = [F.col(quoted(column)) for column in columns]
    return table.frame.to_native().withColumn(name, F.xxhash64(F.lit(key), *cells))
