"""Data frames of Spark, classic and Connect: arithmetic stays in the JVM, Arrow brings the rest."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType, DoubleType, FloatType

from dpquantiles.sources.bins import Map, double
from dpquantiles.sources.declared import domain_of
from dpquantiles.sources.numbers import (
    BIN,
    COUNT,
    HIGH,
    LOW,
    MISSING,
    Numbers,
    as_numbers,
    as_ticks,
    is_time,
)
from dpquantiles.sources.predicates import VALUE, Range
from dpquantiles.sources.tables import Table

MOST_PARTS = 16
"""The most partitions that bins are shuffled into; there are no more bins than one could hold."""

PLAIN = ("Project", "Filter", "Union", "SubqueryAlias")
"""Steps of a plan that give the same rows whenever they run on the same data."""

COMPILED = 100
"""The most ranges of one filter: Java compiles no longer method, and runs ten times slower then.
So more ranges are asked for by several filters, each of which reads the table."""


def safe(table: Table, columns: Sequence[str]) -> Table:  # noqa: ARG001
    """Columns as they are."""
    return table


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
    return replace(
        found,
        domain=domain_of(dtype),
        keep=_keep,
        grouped=_grouped,
        collect=_collect,
        engine="Spark",
        extra="spark",
    )


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


def _grouped(frame: Any, bins: Map) -> Any:
    """As text, too: what Narwhals writes takes long to plan, and is too long to compile."""
    import narwhals.stable.v2 as nw

    native = frame.to_native()
    floating = isinstance(native.schema[VALUE].dataType, (FloatType, DoubleType))
    missing = f"{VALUE} IS NULL" + (f" OR isnan({VALUE})" if floating else "")
    place = f"CAST({bins.sql(f'CAST({VALUE} AS DOUBLE)')} AS INT)"
    bin_of = F.expr(f"CASE WHEN {missing} THEN {MISSING} ELSE {place} END AS {BIN}")
    cells = (f"count(1) AS {COUNT}", f"min({VALUE}) AS {LOW}", f"max({VALUE}) AS {HIGH}")
    return nw.from_native(in_few_parts(native.groupBy(bin_of).agg(*map(F.expr, cells))))


def in_few_parts(query: Any) -> Any:
    """A grouped query that shuffles into few partitions, for groups that are few.

    The number of partitions is a setting of the session, which is the user's: a copy of it has
    another. Where the table itself is shuffled, the user's number is for that, so the query stays
    as it is; and where Spark lets nobody copy a session, such as behind Connect.
    """
    try:
        session = query.sparkSession
        copy = session._jsparkSession.cloneSession()
        parts = min(MOST_PARTS, session.sparkContext.defaultParallelism)
        copy.conf().set("spark.sql.shuffle.partitions", str(parts))
        analyzed = query._jdf.queryExecution().analyzed()
        copied = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(copy, analyzed)
        exchanges = copied.queryExecution().executedPlan().toString().count("Exchange")
    except Exception:  # these are internals of Spark, and the query runs without them
        return query
    return type(query)(copied, session) if exchanges == 1 else query


def _keep(frame: Any, ranges: Sequence[Range]) -> Any:
    """The rows in ranges, by halves; as text, because every operation on a column is a call."""
    import narwhals.stable.v2 as nw

    native = frame.to_native()
    parts = [ranges[start : start + COMPILED] for start in range(0, len(ranges), COMPILED)]
    return nw.from_native(reduce(type(native).union, (_within(native, part) for part in parts)))


def _within(native: Any, ranges: Sequence[Range]) -> Any:
    ends = [(_literal(low), _literal(high)) for low, high in ranges]
    whole = f"{VALUE} >= {ends[0][0]} AND {VALUE} <= {ends[-1][1]}"
    return native.filter(f"{whole} AND {VALUE} >= {_low(ends)}")


def _low(ends: Sequence[tuple[str, str]]) -> str:
    """The low end of the first range that does not end below the value."""
    if len(ends) == 1:
        return ends[0][0]
    lower, upper = ends[: len(ends) // 2], ends[len(ends) // 2 :]
    return f"if({VALUE} <= {lower[-1][1]}, {_low(lower)}, {_low(upper)})"


def _literal(value: float | int | Decimal) -> str:
    """A number as Spark's SQL takes it, exactly."""
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, int):
        return f"CAST('{value}' AS BIGINT)"
    return double(value)


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pyarrow")


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The frame with columns of keys as codes: the bytes of text, the days of dates."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    for name, stated in types.items():
        own = quoted(name)
        sql = {"str": f"CAST({own} AS BINARY)", "date": _ticks(own, nw.Date())}.get(stated, own)
        native = native.withColumn(name, F.expr(sql))
    return nw.from_native(native)


def named(table: Table, _: str) -> Any:
    """The frame with a column of units as Spark keeps them apart: as it is."""
    return table.frame


def hashed(table: Table, columns: Sequence[str], name: str, key: int) -> Any:
    """The native frame with one more column: a hash of these cells of each row, by a key.

    Spark passes over nulls, so which cells are null is hashed as well.
    """
    cells = [F.col(quoted(column)) for column in columns]
    null = [F.isnull(cell) for cell in cells]
    return table.frame.to_native().withColumn(name, F.xxhash64(F.lit(key), *cells, *null))


@contextmanager
def pinned(native: Any) -> Iterator[Any]:
    """A frame whose rows stand still: kept by the workers, where they are more than rows of tables.

    What the user keeps is left as it is.
    """
    kept = native.storageLevel
    if kept.useMemory or kept.useDisk or not _is_derived(native):
        yield native
        return
    native.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield native
    finally:
        native.unpersist()


def _is_derived(native: Any) -> bool:
    """Whether rows are computed from more than a row each, or by chance; the plan tells."""
    try:
        plan = native._jdf.queryExecution().optimizedPlan()
        return not (plan.deterministic() and plan.subqueriesAll().isEmpty() and _is_plain(plan))
    except Exception:  # behind Connect there is no plan to look at
        return True


def _is_plain(plan: Any) -> bool:
    steps = plan.children()
    parts = [steps.apply(k) for k in range(steps.length())]
    return not parts or (plan.nodeName() in PLAIN and all(map(_is_plain, parts)))
