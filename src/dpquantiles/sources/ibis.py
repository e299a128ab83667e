"""Tables of Ibis, and so of any database that it speaks to, such as PostgreSQL."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import ibis

from dpquantiles.kinds import unsupported
from dpquantiles.sources.bins import DAY
from dpquantiles.sources.numbers import POSITION, Numbers, as_numbers, kind_of
from dpquantiles.sources.predicates import VALUE
from dpquantiles.sources.tables import Table

FAR = 10**20
"""Decimals beyond this are beyond every grid, and some databases have infinite ones."""

EPOCH = dt.datetime(1970, 1, 1)
DAYS = (dt.date.min, dt.date.max)
MOMENTS = (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
"""What every zone can write; the grids of dates and datetimes end there too."""


def safe(table: Table, columns: Sequence[str]) -> Table:
    """Times that Python can hold, and decimals that Arrow can."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    given = {column: (native[column], table.dtype(column)) for column in columns}
    kept = {column: _safe(*held) for column, held in given.items()}
    return replace(table, frame=nw.from_native(native.mutate(**kept)))


def numbers(table: Table, column: str) -> Numbers:
    """A safe column as a database behind Ibis compares and bins it."""
    import narwhals.stable.v2 as nw

    dtype = table.dtype(column)
    if dtype == nw.Duration:
        raise unsupported("intervals, which Ibis rounds; take their seconds in a query first")
    native = table.frame.to_native().select(**{VALUE: ibis._[column]})
    if dtype == nw.Date:
        found = _dates(native)
    elif dtype == nw.Datetime:
        found = _moments(native, dtype)
    else:
        found = as_numbers(table, column)
    return replace(found, collect=_collect, engine="Ibis", extra="ibis")


def _dates(days: Any) -> Numbers:
    import narwhals.stable.v2 as nw

    days = days.mutate(**{POSITION: days[VALUE].epoch_days().cast("float64")})

    def locate(day: dt.date) -> float:
        return float((day - EPOCH.date()).days)

    tick = Fraction(DAY)
    return Numbers(nw.from_native(days), kind_of(nw.Date()), tick=tick, locate=locate)


def _moments(moments: Any, dtype: Any) -> Numbers:
    import narwhals.stable.v2 as nw

    zone = None if dtype.time_zone is None else dt.UTC
    moments = moments.mutate(**{POSITION: moments[VALUE].epoch_seconds().cast("float64")})

    def locate(moment: dt.datetime) -> float:
        return (moment - EPOCH.replace(tzinfo=zone)).total_seconds()

    return Numbers(nw.from_native(moments), kind_of(dtype), tick=Fraction(10**6), locate=locate)


def _safe(raw: Any, dtype: Any) -> Any:
    """A column as it can be scanned."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Date:
        return _clamped(raw, *DAYS)
    if dtype == nw.Datetime:
        zone = None if dtype.time_zone is None else dt.UTC
        return _clamped(raw, *(end.replace(tzinfo=zone) for end in MOMENTS))
    return _finite(raw, dtype) if dtype == nw.Decimal else raw


def _clamped(raw: Any, low: Any, high: Any) -> Any:
    """Times between two ends, of moments whole microseconds; missing ones stay so."""
    given = held = raw.type()
    if given.is_timestamp() and given.scale is not None:
        held = given.copy(scale=6)
        given = given.copy(scale=min(given.scale, 6))  # years of the ends do not fit into others
        raw = raw.cast(given)
    least, most = (ibis.literal(end, type=held) for end in (low, high))
    # All are compared in their own type: not all that it holds can be cast to another.
    below, above = (raw < least.cast(given), least), (raw > most.cast(given), most)
    return ibis.cases(below, above, else_=raw.cast(held))


def _finite(raw: Any, dtype: Any) -> Any:
    """Decimals as Arrow can hold them: the largest clamped, what is not a number missing.

    They are compared as they are, because doubles hold neither the largest nor the smallest of
    some databases. But DuckDB's integers of 128 bits, which Ibis takes for decimals as well, are
    not all decimals, and all of them are doubles.
    """
    stated = f"decimal({dtype.precision}, {dtype.scale})"
    most = min(Decimal(FAR), Decimal((0, (9,) * dtype.precision, -dtype.scale)))
    far = ibis.literal(f"{most:f}").cast(stated)  # some databases read long digits as a double
    whole = dtype.scale == 0 and raw.get_backend().name == "duckdb"
    number, end = (raw.cast("float64"), float(most)) if whole else (raw, far)
    # Where there is a decimal that is not a number, it compares as the greatest.
    above = ibis.ifelse(raw.cast("string") == "NaN", ibis.null(stated), far)
    clamped = ibis.cases((number > end, above), (number < -end, -far), else_=raw)
    return clamped if raw.type().precision else clamped.cast(stated)


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native table with one more column: a hash of these cells of each row, by a key.

    Databases without a hash of their own get the digits of MD5, which order as well.
    """
    native = table.frame.to_native()
    cells = [native[column].cast("string").fill_null("") for column in columns]
    text = reduce(lambda left, right: left + "|" + right, cells, ibis.literal(str(key)))
    known = native.get_backend().has_operation(ibis.expr.operations.Hash)
    return native.mutate(**{name: text.hash() if known else text.hexdigest("md5")})
