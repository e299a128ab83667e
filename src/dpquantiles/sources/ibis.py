"""Tables of Ibis, and so of any database that it speaks to, such as PostgreSQL."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any
from uuid import uuid4

import ibis
import ibis.expr.operations as ops
import sqlglot

from dpquantiles.errors import UnreadableData
from dpquantiles.kinds import ANYTHING, unsupported
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

PLAIN: tuple[type, ...] = (ops.DatabaseTable, ops.InMemoryTable, ops.Project, ops.Filter)
PLAIN += (ops.DropColumns, ops.DropNull, ops.FillNull, ops.Union, ops.SelfReference)
"""Steps that give the same rows whenever they run on the same data."""

COMPUTED = (ops.Impure, ops.Analytic, ops.Reduction, ops.Subquery, ops.ScalarUDF)
"""Values of more than one row, or of chance."""


def safe(table: Table, columns: Sequence[str]) -> Table:
    """Times that Python can hold, and decimals that Arrow can."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    given = {column: (native[column], table.dtype(column)) for column in columns}
    kept = {column: _safe(*held) for column, held in given.items()}
    vague = {column: ANYTHING for column in columns if _is_vague(native[column].type())}
    frame = nw.from_native(native.mutate(**kept))
    return replace(table, frame=frame, domains={**vague, **table.domains})


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
    _require_plan(found, dtype)
    return replace(found, collect=_collect, engine="Ibis", extra="ibis")


def _require_plan(found: Numbers, dtype: Any) -> None:
    """Refuse what PostgreSQL has under a type of its own, before anything is charged or read.

    Ibis takes some types for others. A plan is made of types alone, and no record is looked at.
    """
    native = found.frame.select(found.value.alias("v"), found.position.alias("p")).to_native()
    backend = native.get_backend()
    if backend.name != "postgres":
        return
    from psycopg import Error, ProgrammingError, errors

    try:
        with _savepoint(backend):
            backend.con.execute(f"EXPLAIN {ibis.to_sql(native)}")
    except (errors.UndefinedFunction, errors.CannotCoerce, errors.DatatypeMismatch):
        raise unsupported(
            f"a type that PostgreSQL does not compare as {dtype}, such as money; cast it to "
            "numeric in a query first"
        ) from None
    except ProgrammingError:  # Ibis may still have to make tables that the query names
        return
    except Error as error:
        raise UnreadableData(
            f"PostgreSQL cannot plan a scan ({type(error).__name__}); check the connection, and "
            "that no transaction on it has failed"
        ) from None


def _is_vague(stated: Any) -> bool:
    """Whether a type states no precision, so that Narwhals assumes one."""
    return (stated.is_timestamp() or stated.is_decimal()) and stated.scale is None


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


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The table with columns of keys as codes: text, and the days of dates."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    ways = {"str": _text, "date": _days}
    own = {name: ways[stated](native[name]) for name, stated in types.items() if stated in ways}
    return nw.from_native(native.mutate(**own))


def _text(raw: Any) -> Any:
    """Databases hold text that UTF-8 can write; but DuckDB does not look, so there it is bytes."""
    text = _as_text(raw)
    if raw.get_backend().name == "duckdb":
        return encode(text)
    return ibis.ifelse(text.startswith(MARK), ibis.literal(f"{MARK}=") + text, text)


def _as_text(raw: Any) -> Any:
    """A cell as text; what Ibis takes for text may be an enumeration, which databases must cast."""
    return raw + "" if raw.type().is_string() else raw.cast("string")


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def encode(text: str) -> bytes:
    """DuckDB's own function."""
    raise NotImplementedError


def _days(raw: Any) -> Any:
    """Days since 1970; of dates beyond Python's other numbers, one for each, beyond those days."""
    first, last = DAYS
    spelled, calendar = raw.cast("string"), (raw.year().cast("int64") * 12 + raw.month()) * 31
    return ibis.cases(
        ((raw >= first) & (raw <= last), _clamped(raw, first, last).epoch_days().cast("int64")),
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
    digest = native.get_backend().has_operation(ops.HexDigest)
    return native.mutate(**{name: text.hexdigest("md5") if digest else text.hash()})


def _cell(raw: Any) -> Any:
    """A cell as text that begins with its length, so that no two rows are written alike."""
    text = _as_text(raw)
    return (ibis.literal("|") + text.length().cast("string") + ":" + text).fill_null("|")


@contextmanager
def pinned(native: Any) -> Iterator[Any]:
    """A table whose rows stand still: read in one transaction, and kept where they are computed.

    What is kept is a temporary table. A database that gives us none computes the rows every time.
    """
    backend = native.get_backend()
    if native.op().find(ops.InMemoryTable):
        native.limit(0).to_pyarrow()  # Ibis hands them over once, and that must outlast our end
    with _transaction(backend):
        if not _is_derived(native, backend):
            yield native
            return
        name = f"dpq_{uuid4().hex}"
        kept = native
        try:
            with suppress(Exception), _savepoint(backend):
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
            backend.con.execute("SET LOCAL client_encoding TO 'UTF8'")  # others lack characters
            yield
    else:
        yield


def _savepoint(backend: Any) -> Any:
    """What keeps the transaction of PostgreSQL alive when a statement in it is refused."""
    return backend.con.transaction() if backend.name == "postgres" else nullcontext()


def _is_derived(native: Any, backend: Any) -> bool:
    """Whether rows are computed from more than a row each, or by chance; the expression tells."""
    op = native.op()
    relations, values = op.find(ops.Relation), op.find(ops.Value)
    return not (
        all(isinstance(relation, PLAIN) for relation in relations)
        and not any(isinstance(value, COMPUTED) for value in values if not _is_ours(value))
        and all(_is_table(backend, table) for table in op.find(ops.DatabaseTable))
    )


def _is_ours(value: Any) -> bool:
    """Whether a value is a function that was declared here."""
    return type(value).__module__ == __name__


def _is_table(backend: Any, table: Any) -> bool:
    """Whether a table of the database is one: a view may compute its rows from many."""
    if backend.name not in ("duckdb", "postgres"):
        return True
    parts = [part for part in (table.namespace.database, table.name) if part]
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    if backend.name == "duckdb":
        from dpquantiles.sources import duckdb

        return not duckdb.is_derived(backend.con.sql(f"FROM {name}"), backend.con.sql)
    query = "SELECT relkind = 'v' FROM pg_class WHERE oid = to_regclass(%s)"
    return bool(backend.con.execute(query, [name]).fetchone() == (False,))
