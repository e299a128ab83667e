"""Tables of Ibis, and so of any database that it speaks to, such as PostgreSQL."""

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any
from uuid import uuid4

import ibis
import ibis.expr.operations as ops
import sqlglot

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


PLAIN = (
    *(ops.DatabaseTable, ops.InMemoryTable, ops.Project, ops.Filter, ops.DropColumns),
    *(ops.DropNull, ops.FillNull, ops.Union, ops.SelfReference),
)
"""Steps that give the same rows whenever they run on the same data."""

COMPUTED = (ops.Impure, ops.Analytic, ops.Reduction, ops.Subquery, ops.ScalarUDF)
"""Values of more than one row, or of chance."""


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


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native table with one more column: a hash of these cells of each row, by a key.

    Databases without a hash of their own get the digits of MD5, which order as well.
    """
    native = table.frame.to_native()
    cells = [native[column].cast("string").fill_null("") for column in columns]
    text = reduce(lambda left, right: left + "|" + right, cells, ibis.literal(str(key)))
    known = native.get_backend().has_operation(ops.Hash)
    return native.mutate(**{name: text.hash() if known else text.hexdigest("md5")})


@contextmanager
def pinned(native: Any) -> Iterator[Any]:
    """A table whose rows stand still: read in one transaction, and kept where they are computed.

    What is kept is a temporary table. A database that gives us none computes the rows every time.
    """
    backend = native.get_backend()
    with _transaction(backend):
        if not _is_derived(native, backend):
            yield native
            return
        name = f"dpq_{uuid4().hex}"
        kept = native
        try:
            with suppress(Exception):
                kept = backend.create_table(name, native, temp=True)
            yield kept
        finally:
            with suppress(Exception):  # a transaction that failed takes the table with it
                quoted = sqlglot.to_identifier(name, quoted=True).sql(backend.dialect)
                backend.raw_sql(f"DROP TABLE IF EXISTS {quoted}")


@contextmanager
def _transaction(backend: Any) -> Iterator[None]:
    """A transaction of our own, which sees one state of all tables; none within the user's."""
    if backend.name == "duckdb":
        from dpquantiles.sources import duckdb

        with duckdb.transaction(backend.con.sql, backend.con.rollback):
            yield
    elif backend.name == "postgres" and backend.con.info.transaction_status.name == "IDLE":
        with backend.con.transaction():
            backend.con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
    else:
        yield


def _is_derived(native: Any, backend: Any) -> bool:
    """Whether rows are computed from more than a row each, or by chance; the expression tells."""
    op = native.op()
    relations, values = op.find(ops.Relation), op.find(ops.Value)
    return not (
        all(isinstance(relation, PLAIN) for relation in relations)
        and not any(isinstance(value, COMPUTED) for value in values)
        and all(_is_table(backend, table) for table in op.find(ops.DatabaseTable))
    )


def _is_table(backend: Any, table: Any) -> bool:
    """Whether a table of PostgreSQL is one: a view may compute its rows from many."""
    if backend.name != "postgres":
        return True
    parts = [part for part in (table.namespace.database, table.name) if part]
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    query = "SELECT relkind = 'v' FROM pg_class WHERE oid = to_regclass(%s)"
    return bool(backend.con.execute(query, [name]).fetchone() == (False,))
