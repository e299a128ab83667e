"""Tables of Ibis, and so of any database that it connects to, such as PostgreSQL."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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
from dpquantiles.kinds import ANYTHING, Domain, unsupported
from dpquantiles.kinds.times import EPOCH
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Map, Roots
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import CODE, POSITION
from dpquantiles.sources.keys import MARK
from dpquantiles.sources.queries import BATCH, QueryEngine, in_order
from dpquantiles.sources.tables import Table, kind_of

FAR = 10**20
"""Decimals are clamped to this magnitude, beyond every grid. Some databases have infinite ones."""

DAYS = (dt.date.min, dt.date.max)
MOMENTS = (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
"""Python can show these in any time zone. The grids of dates and datetimes end there too."""

BEYOND = 10**12
"""Greater than the days of any date, and than its year, month and day in one number."""

PLAIN: tuple[type, ...] = (ops.DatabaseTable, ops.InMemoryTable, ops.Project, ops.Filter)
PLAIN += (ops.DropColumns, ops.DropNull, ops.FillNull, ops.Union, ops.SelfReference)
"""Steps that give the same rows in every run on the same data."""

COMPUTED = (ops.Impure, ops.Analytic, ops.Reduction, ops.Subquery, ops.ScalarUDF)
"""Values that depend on more than one row, or on chance."""


class Ibis(QueryEngine):
    """Cells are expressions of Ibis."""

    name = "Ibis"
    extra = "ibis"

    def with_cells(self, native: Any, cells: Mapping[str, Any]) -> Any:
        return native.mutate(**cells)

    def domain(self, table: Table, column: str) -> Domain:
        """If a type has no precision, Narwhals assumes one, so the type tells nothing."""
        stated = table.frame.to_native()[column].type()
        vague = (stated.is_timestamp() or stated.is_decimal()) and stated.scale is None
        return ANYTHING if vague else super().domain(table, column)

    def safe_cell(self, table: Table, column: str) -> Any:
        """Times are clamped to what Python can hold, and decimals to what Arrow can hold."""
        cell, dtype = table.frame.to_native()[column], table.dtype(column)
        if dtype == nw.Date:
            return _clamped(cell, *DAYS)
        if dtype == nw.Datetime:
            return _clamped(cell, *(end.replace(tzinfo=_zone(dtype)) for end in MOMENTS))
        return _finite(cell, dtype) if dtype == nw.Decimal else None

    def numbers(self, table: Table, column: str) -> Numbers:
        numbers = super().numbers(table, column)
        _require_plan(numbers, table.dtype(column))
        return numbers

    def binned(self, numbers: Numbers, frame: Any, bins: Map) -> Any:
        power = replace(bins, by_power=True) if isinstance(bins, Roots) else bins
        return super().binned(numbers, frame, power)

    def times(self, table: Table, column: str, dtype: Any) -> Numbers:
        """Times keep their type, and their positions are a second column."""
        if dtype == nw.Duration:
            raise unsupported(
                "intervals, which Ibis rounds; convert them to seconds in a query first"
            )
        cell = table.frame.to_native()[column]
        if dtype == nw.Date:
            position, epoch, unit = cell.epoch_days(), EPOCH.date(), dt.timedelta(days=1)
        else:
            epoch, unit = EPOCH.replace(tzinfo=_zone(dtype)), dt.timedelta(seconds=1)
            position = cell.epoch_seconds()
        columns = {VALUE: cell, POSITION: position.cast("float64")}
        frame = nw.from_native(table.frame.to_native().select(**columns))
        tick = Fraction(unit // dt.timedelta(microseconds=1))

        def locate(moment: Any) -> float:
            return float((moment - epoch) / unit)

        return Numbers(frame, kind_of(dtype), self, tick=tick, locate=locate)

    def text_code(self, native: Any, column: str) -> Any:
        """Text of DuckDB becomes bytes, because it may not be UTF-8. Other databases check that."""
        text = _as_text(native[column])
        if _is_duckdb(native):
            return encode(text)
        return ibis.ifelse(text.startswith(MARK), ibis.literal(f"{MARK}=") + text, text)

    def day_code(self, native: Any, column: str) -> Any:
        """Dates beyond Python's range get distinct numbers beyond the days of all other dates."""
        cell, (first, last) = native[column], DAYS
        spelled = cell.cast("string")
        calendar = (cell.year().cast("int64") * 12 + cell.month()) * 31 + cell.day()
        days = _clamped(cell, first, last).epoch_days().cast("int64")
        return ibis.cases(
            ((cell >= first) & (cell <= last), days),
            (spelled == "infinity", ibis.literal(2 * BEYOND, type="int64")),
            (spelled == "-infinity", ibis.literal(-2 * BEYOND, type="int64")),
            (cell > last, calendar + BEYOND),
            else_=calendar - BEYOND,
        )

    def unit_cell(self, table: Table, unit: str) -> Any:
        """DuckDB's text becomes bytes."""
        native = table.frame.to_native()
        text = _is_duckdb(native) and table.dtype(unit) == nw.String
        return encode(native[unit]) if text else None

    def hash_cell(self, native: Any, columns: Sequence[str], key: int) -> Any:
        """The digits of MD5, if the database has it. They order rows as a number would."""
        cells = [_with_length(native[column]) for column in columns]
        text = reduce(lambda left, right: left + right, cells, ibis.literal(str(key)))
        digest = native.get_backend().has_operation(ops.HexDigest)
        return text.hexdigest("md5") if digest else text.hash()

    @contextmanager
    def transaction(self, native: Any) -> Iterator[None]:
        """Open a transaction, unless the user has opened one."""
        backend = native.get_backend()
        if native.op().find(ops.InMemoryTable):
            # Ibis uploads these tables once, and they must outlast our transaction.
            native.limit(0).to_pyarrow()
        if backend.name == "duckdb":
            from dpquantiles.sources import duckdb

            with duckdb.transaction(backend.con.sql, backend.con.rollback):
                yield
        elif backend.name == "postgres" and backend.con.info.transaction_status.name == "IDLE":
            with backend.con.transaction():
                backend.con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                # Other encodings lack characters.
                backend.con.execute("SET LOCAL client_encoding TO 'UTF8'")
                yield
        else:
            yield

    def is_derived(self, native: Any) -> bool:
        op, backend = native.op(), native.get_backend()
        relations = op.find(ops.Relation)
        values = (value for value in op.find(ops.Value) if type(value).__module__ != __name__)
        return not (
            all(isinstance(relation, PLAIN) for relation in relations)
            and not any(isinstance(value, COMPUTED) for value in values)
            and all(_is_table(backend, table) for table in op.find(ops.DatabaseTable))
        )

    def kept(self, native: Any) -> AbstractContextManager[Any]:
        """Keep the rows in a temporary table. If the database refuses, it computes them again."""
        return _temporary(native.get_backend(), native)

    @contextmanager
    def uploaded(
        self, native: Any, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
    ) -> Iterator[Any]:
        """A row must meet one key only, whichever keys a database considers equal."""
        rows = nw.from_dict(columns, schema, backend="pyarrow").to_native()
        with _temporary(native.get_backend(), ibis.memtable(rows)) as table:
            names = [name for name in columns if name != CODE]
            yield table.group_by(names).agg(**{CODE: table[CODE].min()})

    def portions(self, frame: Any, runs: Sequence[range]) -> Iterator[Any]:
        """All by one scan that PostgreSQL orders, and hands over bit by bit."""
        if frame.to_native().get_backend().name != "postgres":
            return super().portions(frame, runs)
        return in_order(self, frame, runs, lambda rows: rows.to_pyarrow_batches(chunk_size=BATCH))


@contextmanager
def _temporary(backend: Any, native: Any) -> Iterator[Any]:
    """Rows in a temporary table of a database; as they are, if it refuses."""
    name, rows = f"dpq_{uuid4().hex}", native
    try:
        with suppress(Exception), _savepoint(backend):
            rows = backend.create_table(name, native, temp=True)
        yield rows
    finally:
        with suppress(Exception):  # a failed transaction has already dropped the table
            quoted = sqlglot.to_identifier(name, quoted=True).sql(backend.dialect)
            backend.raw_sql(f"DROP TABLE IF EXISTS {quoted}")


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def encode(text: str) -> bytes:
    """The function of DuckDB that turns text into bytes."""
    raise NotImplementedError


def _require_plan(numbers: Numbers, dtype: Any) -> None:
    """Refuse types that PostgreSQL cannot compare, before anything is charged or read.

    Ibis reports some types as others. Planning a query shows that, and reads no record.
    """
    scan = numbers.frame.select(nw.col(VALUE).alias("v"), numbers.position.alias("p"))
    native, backend = scan.to_native(), scan.to_native().get_backend()
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
    except ProgrammingError:  # the query may need tables that Ibis has yet to create
        return
    except Error as error:
        raise UnreadableData(
            f"PostgreSQL cannot plan a scan ({type(error).__name__}); check the connection, and "
            "that no transaction on it has failed"
        ) from None


def _zone(dtype: Any) -> dt.tzinfo | None:
    return None if dtype.time_zone is None else dt.UTC


def _is_duckdb(native: Any) -> bool:
    return bool(native.get_backend().name == "duckdb")


def _clamped(cell: Any, low: Any, high: Any) -> Any:
    """Times clamped between two ends, in whole microseconds. Missing ones stay missing."""
    given = wanted = cell.type()
    if given.is_timestamp() and given.scale is not None:
        wanted = given.copy(scale=6)
        given = given.copy(scale=min(given.scale, 6))  # the ends do not fit in finer types
        cell = cell.cast(given)
    least, most = (ibis.literal(end, type=wanted) for end in (low, high))
    # Compare in the column's own type, because not all of its values can be cast to another.
    below, above = (cell < least.cast(given), least), (cell > most.cast(given), most)
    return ibis.cases(below, above, else_=cell.cast(wanted))


def _finite(cell: Any, dtype: Any) -> Any:
    """Decimals that Arrow can hold: large ones are clamped, and NaN becomes missing.

    They are compared as decimals, because in some databases the largest and the smallest do not fit
    in doubles. But Ibis reports DuckDB's integers of 128 bits as decimals too, and these are
    compared as doubles, because not all of them fit in decimals.
    """
    stated = f"decimal({dtype.precision}, {dtype.scale})"
    most = min(Decimal(FAR), Decimal((0, (9,) * dtype.precision, -dtype.scale)))
    far = ibis.literal(f"{most:f}").cast(stated)  # some databases read a long literal as a double
    whole = dtype.scale == 0 and _is_duckdb(cell)
    number, end = (cell.cast("float64"), float(most)) if whole else (cell, far)
    # If a database has a decimal NaN, it compares as the greatest number.
    above = ibis.ifelse(cell.cast("string") == "NaN", ibis.null(stated), far)
    clamped = ibis.cases((number > end, above), (number < -end, -far), else_=cell)
    return clamped if cell.type().precision else clamped.cast(stated)


def _as_text(cell: Any) -> Any:
    """A cell as text. Ibis reports enumerations as text, so these are cast by the database."""
    return cell + "" if cell.type().is_string() else cell.cast("string")


def _with_length(cell: Any) -> Any:
    """A cell as text after its length, so that different rows never give the same text."""
    text = _as_text(cell)
    return (ibis.literal("|") + text.length().cast("string") + ":" + text).fill_null("|")


def _savepoint(backend: Any) -> Any:
    """A savepoint, which keeps a transaction of PostgreSQL alive if a statement in it fails."""
    return backend.con.transaction() if backend.name == "postgres" else nullcontext()


def _is_table(backend: Any, table: Any) -> bool:
    """Whether a table is a real one, not a view that may compute each row from many."""
    if backend.name not in ("duckdb", "postgres"):
        return True
    parts = [part for part in (table.namespace.database, table.name) if part]
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    if backend.name == "duckdb":
        from dpquantiles.sources import duckdb

        return not duckdb.is_derived(backend.con.sql(f"FROM {name}"), backend.con.sql)
    query = "SELECT relkind = 'v' FROM pg_class WHERE oid = to_regclass(%s)"
    return bool(backend.con.execute(query, [name]).fetchone() == (False,))
