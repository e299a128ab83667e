"""Tables of Ibis, and so of any database that it speaks to, such as PostgreSQL."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import ibis

from dpquantiles.kinds import unsupported
from dpquantiles.sources.bins import DAY
from dpquantiles.sources.coded import MARK
from dpquantiles.sources.numbers import POSITION, Numbers, as_numbers, kind_of
from dpquantiles.sources.predicates import VALUE
from dpquantiles.sources.tables import Table

FAR = 10**20
"""Decimals beyond this are beyond every grid, and some databases have infinite ones."""

EPOCH = dt.datetime(1970, 1, 1)
DAYS = (dt.date.min, dt.date.max)
MOMENTS = (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
"""What every zone can write; the grids of dates and datetimes end there too."""

BEYOND = 10**12
"""More than the days of any date, or than its year, month and day in one number."""


def numbers(table: Table, column: str) -> Numbers:
    """A column as a database behind Ibis compares and bins it."""
    import narwhals.stable.v2 as nw

    dtype, native = table.dtype(column), table.frame.to_native()
    if dtype == nw.Duration:
        raise unsupported("intervals, which Ibis rounds; take their seconds in a query first")
    if dtype == nw.Date:
        found = _dates(native, native[column])
    elif dtype == nw.Datetime:
        found = _moments(native, native[column], dtype)
    elif dtype == nw.Decimal:
        finite = native.select(**{VALUE: _finite(native[column], dtype)})
        found = replace(as_numbers(table, column), frame=nw.from_native(finite))
    else:
        found = as_numbers(table, column)
    return replace(found, collect=_collect, engine="Ibis", extra="ibis")


def _dates(native: Any, raw: Any) -> Numbers:
    import narwhals.stable.v2 as nw

    days = native.select(**{VALUE: _between(raw, *DAYS)})
    days = days.mutate(**{POSITION: days[VALUE].epoch_days().cast("float64")})

    def locate(day: dt.date) -> float:
        return float((day - EPOCH.date()).days)

    tick = Fraction(DAY)
    return Numbers(nw.from_native(days), kind_of(nw.Date()), tick=tick, locate=locate)


def _moments(native: Any, raw: Any, dtype: Any) -> Numbers:
    import narwhals.stable.v2 as nw

    zone = None if dtype.time_zone is None else dt.UTC
    ends = [ibis.literal(end.replace(tzinfo=zone), type=raw.type()) for end in MOMENTS]
    moments = native.select(**{VALUE: _between(raw, *ends)})
    moments = moments.mutate(**{POSITION: moments[VALUE].epoch_seconds().cast("float64")})

    def locate(moment: dt.datetime) -> float:
        return (moment - EPOCH.replace(tzinfo=zone)).total_seconds()

    return Numbers(nw.from_native(moments), kind_of(dtype), tick=Fraction(10**6), locate=locate)


def _between(raw: Any, low: Any, high: Any) -> Any:
    """Clamped; missing values stay so, which least and greatest of some databases would change."""
    clamped = ibis.least(ibis.greatest(raw, low), high)
    return ibis.ifelse(raw.isnull(), ibis.null(raw.type()), clamped)


def _finite(raw: Any, dtype: Any) -> Any:
    """Decimals as Arrow can hold them: the largest clamped, what is not a number missing."""
    rough = raw.cast("float64")
    type_ = f"decimal({dtype.precision}, {dtype.scale})"
    far = ibis.literal(Decimal(FAR), type=f"decimal(38, {min(dtype.scale, 9)})")
    clamped = ibis.cases(
        (rough.isnan(), ibis.null(type_)),
        (rough > float(FAR), far),
        (rough < -float(FAR), -far),
        else_=raw,
    )
    return clamped if raw.type().precision else clamped.cast(type_)


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The table with columns of keys as codes: text, and the days of dates."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    ways = {"str": _text, "date": _days}
    own = {name: ways[stated](native[name]) for name, stated in types.items() if stated in ways}
    return nw.from_native(native.mutate(**own))


def _text(raw: Any) -> Any:
    """Databases hold text that UTF-8 can write; but DuckDB does not look, so there it is bytes."""
    text = raw.cast("string")
    if raw.get_backend().name == "duckdb":
        return encode(text)
    return ibis.ifelse(text.startswith(MARK), ibis.literal(f"{MARK}=") + text, text)


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def encode(text: str) -> bytes:
    """DuckDB's own function."""
    raise NotImplementedError


def _days(raw: Any) -> Any:
    """Days since 1970; of dates beyond Python's other numbers, one for each, beyond those days."""
    first, last = DAYS
    spelled, calendar = raw.cast("string"), (raw.year().cast("int64") * 12 + raw.month()) * 31
    return ibis.cases(
        ((raw >= first) & (raw <= last), _between(raw, first, last).epoch_days().cast("int64")),
        (spelled == "infinity", ibis.literal(2 * BEYOND, type="int64")),
        (spelled == "-infinity", ibis.literal(-2 * BEYOND, type="int64")),
        (raw > last, calendar + raw.day() + BEYOND),
        else_=calendar + raw.day() - BEYOND,
    )


def named(table: Table, unit: str) -> Any:
    """The table with a column of units as the database keeps them apart; DuckDB text as bytes."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    if native.get_backend().name != "duckdb" or table.dtype(unit) != nw.String:
        return table.frame
    return nw.from_native(native.mutate(**{unit: encode(native[unit])}))


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native table with one more column: a hash of these cells of each row, by a key.

    The digits of MD5 where there are any, which order as numbers do.
    """
    native = table.frame.to_native()
    cells = [_cell(native[column]) for column in columns]
    text = reduce(lambda left, right: left + right, cells, ibis.literal(str(key)))
    digest = native.get_backend().has_operation(ibis.expr.operations.HexDigest)
    return native.mutate(**{name: text.hexdigest("md5") if digest else text.hash()})


def _cell(raw: Any) -> Any:
    """A cell as text that begins with its length, so that no two rows are written alike."""
    text = raw.cast("string")
    return (ibis.literal("|") + text.length().cast("string") + ":" + text).fill_null("|")
