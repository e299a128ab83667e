"""Data frames of Spark, classic and Connect. All arithmetic runs in Spark, none in Python."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from functools import reduce
from typing import Any

import pyspark
from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.bins import VALUE, Map, Range, double, first_that_reaches
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import BIN, CODE, COUNT, HIGH, LOW, MISSING, UNORDERED
from dpquantiles.sources.queries import COPY, QueryEngine
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import ROW, UNIT

SPARK_3 = pyspark.__version__.startswith("3.")

EARLIEST = f"-ln(({ROW} + {2.0**63} + 0.5D) / {2.0**64}) / {COPY}"
"""Orders the rows of a unit, with `COPY` copies of each: the least of so many exponential numbers,
which is distributed as one of them divided by their number."""

MOST_PARTS = 16
"""The most partitions to shuffle bins into. All bins would fit in a single one."""

PLAIN = ("Project", "Filter", "Union", "SubqueryAlias")
"""Steps of a plan that give the same rows in every run on the same data."""

MOST_BROADCAST = 1_000_000
"""Up to so many keys are sent to all workers, so that no row has to be moved to meet its key."""

COMPILED = 100
"""The most ranges of one filter. With more, the method is too long for Java's compiler and runs ten
times slower. So more ranges need several filters, each of which reads the table."""


class Spark(QueryEngine):
    """Cells are columns of Spark, mostly written as SQL, because each operation costs a call."""

    name, extra = "Spark", "spark"

    def with_cells(self, native: Any, cells: Mapping[str, Any]) -> Any:
        return native.withColumns(dict(cells))

    def renamed(self, frame: Any, columns: Mapping[str, str]) -> Any:
        """Narwhals does not quote names, and Spark takes a dot for a field of a column."""
        cells = (F.col(quoted(old)).alias(new) for new, old in columns.items())
        return nw.from_native(frame.to_native().select(*cells))

    def dtype(self, table: Table, column: str) -> Any:
        """Narwhals does not know Spark's intervals, and asks for a session's time zone only once.

        But users may change the time zone, and Spark then shows points in time in the new one.
        """
        native = table.frame.to_native()
        stated = native.schema[column].dataType
        if isinstance(stated, DayTimeIntervalType):
            return nw.Duration("us")
        if isinstance(stated, TimestampType):
            return nw.Datetime("us", native.sparkSession.conf.get("spark.sql.session.timeZone"))
        return table.dtype(column)

    def times(self, table: Table, column: str, dtype: Any) -> Numbers:
        name = quoted(column)
        if dtype == nw.Date:
            return self.ticks(table, self.day_code(table.frame.to_native(), column), dtype)
        if dtype == nw.Duration:
            sql = f"CAST(CAST({name} AS DECIMAL(30, 6)) * 1000000 AS BIGINT)"
        elif dtype.time_zone is None:
            sql = f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01', {name})"
        else:
            sql = f"unix_micros({name})"
        return self.ticks(table, F.expr(sql), dtype)

    def text_code(self, native: Any, column: str) -> Any:  # noqa: ARG002
        return F.expr(f"CAST({quoted(column)} AS BINARY)")

    def day_code(self, native: Any, column: str) -> Any:  # noqa: ARG002
        return F.expr(f"CAST(unix_date({quoted(column)}) AS BIGINT)")

    def hash_cell(self, native: Any, columns: Sequence[str], key: int) -> Any:  # noqa: ARG002
        """Spark leaves nulls out of a hash, so hash which cells are null as well."""
        cells = [F.col(quoted(column)) for column in columns]
        return F.xxhash64(F.lit(key), *cells, *map(F.isnull, cells))

    def least_of_each(self, frame: Any, columns: Sequence[str], rows: int, key: int) -> Any:
        """The rows of a unit meet first, so that they move once; two aggregates find one row."""
        native = frame.to_native().repartition(UNIT)
        if rows > 1:
            return super().least_of_each(nw.from_native(native), columns, rows, key)
        least = [F.expr(f"min({name}) AS {name}") for name in columns]
        alike = native.groupBy(UNIT, ROW).agg(*least, F.expr(f"count(1) AS {COPY}"))
        cells = f"min_by(struct({', '.join(columns)}), struct({EARLIEST}, {ROW}))"
        return nw.from_native(alike.groupBy(UNIT).agg(F.expr(f"{cells} AS kept")).select("kept.*"))

    def keep(self, frame: Any, ranges: Sequence[Range]) -> Any:
        native = frame.to_native()
        parts = [ranges[start : start + COMPILED] for start in range(0, len(ranges), COMPILED)]
        kept = (native.filter(_condition(part)) for part in parts)
        return nw.from_native(reduce(type(native).union, kept))

    def binned(self, numbers: Numbers, frame: Any, bins: Map) -> Any:  # noqa: ARG002
        """Written as SQL, because Narwhals' expression is slow to plan and too long to compile."""
        native = frame.to_native()
        floating = isinstance(native.schema[VALUE].dataType, (FloatType, DoubleType))
        missing = f"{VALUE} IS NULL" + (f" OR isnan({VALUE})" if floating else "")
        place = f"CAST({bins.sql(f'CAST({VALUE} AS DOUBLE)')} AS BIGINT)"
        bin_of = F.expr(f"CASE WHEN {missing} THEN {MISSING} ELSE {place} END AS {BIN}")
        return nw.from_native(native.select(VALUE, bin_of))

    def grouped(self, numbers: Numbers, frame: Any, bins: Map) -> Any:
        tallied = super().grouped(numbers, frame, bins)
        return nw.from_native(in_few_parts(tallied.to_native()))

    def tallied(self, frame: Any, name: str) -> Any:
        cells = (f"count(1) AS {COUNT}", f"min({VALUE}) AS {LOW}", f"max({VALUE}) AS {HIGH}")
        return nw.from_native(frame.to_native().groupBy(name).agg(*map(F.expr, cells)))

    def is_derived(self, native: Any) -> bool:
        """Rows that the user has persisted stay as they are."""
        kept = native.storageLevel
        if kept.useMemory or kept.useDisk:
            return False
        try:
            plan = native._jdf.queryExecution().optimizedPlan()
            return not (plan.deterministic() and plan.subqueriesAll().isEmpty() and _is_plain(plan))
        except Exception:  # Connect does not show the plan
            return True

    @contextmanager
    def kept(self, native: Any) -> Iterator[Any]:
        """Keep the rows on the workers."""
        native.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield native
        finally:
            native.unpersist()

    def uploaded(
        self, native: Any, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        session, count = native.sparkSession, len(next(iter(columns.values())))
        if not SPARK_3:
            rows = nw.from_dict(columns, schema, backend="pyarrow").to_native()
            keys = session.createDataFrame(rows)
        else:  # it takes no tables of Arrow
            own = {field.name: field for field in native.schema}
            whole = {nw.Int64: LongType(), nw.Int32: IntegerType()}
            fields = [own.get(name) or StructField(name, whole[schema[name]]) for name in columns]
            listed = list(zip(*columns.values(), strict=True))
            keys = session.createDataFrame(listed, StructType(fields))
        return nullcontext(F.broadcast(keys) if count <= MOST_BROADCAST else keys)

    def portions(self, frame: Any, runs: Sequence[range]) -> Iterator[Any]:
        """Rows of many portions are ordered by key once, and kept on the workers."""
        if len(runs) <= UNORDERED:
            yield from super().portions(frame, runs)
            return
        ordered = frame.to_native().repartitionByRange(CODE).sortWithinPartitions(CODE)
        with self.kept(ordered) as rows:
            yield from super().portions(nw.from_native(rows), runs)


def quoted(name: str) -> str:
    """A name as an identifier of Spark's SQL, whatever characters it holds."""
    return "`" + name.replace("`", "``") + "`"


def in_few_parts(query: Any) -> Any:
    """The same query, but it shuffles its few groups into few partitions.

    The number of partitions is a setting of the user's session, so we change it in a copy of the
    session. The query stays as it is if it shuffles the table itself, because then the user's
    number is the right one, or if the session cannot be copied, as with Connect.
    """
    try:
        session = query.sparkSession
        copy = session._jsparkSession.cloneSession()
        parts = min(MOST_PARTS, session.sparkContext.defaultParallelism)
        copy.conf().set("spark.sql.shuffle.partitions", str(parts))
        analyzed = query._jdf.queryExecution().analyzed()
        sql = session._jvm.org.apache.spark.sql
        copied = (sql if SPARK_3 else sql.classic).Dataset.ofRows(copy, analyzed)
        exchanges = _exchanges(copied.queryExecution().executedPlan().toString())
    except Exception:  # these are internals of Spark, and the query also runs without them
        return query
    return type(query)(copied, session) if exchanges == 1 else query


def _exchanges(plan: str) -> int:
    """How often a plan shuffles rows, beside what it took to make the rows that are kept."""
    count, kept = 0, None
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if kept is None or depth <= kept:
            kept = depth if "InMemoryRelation" in line else None
            count += "Exchange" in line
    return count


def _condition(ranges: Sequence[Range]) -> str:
    """Whether a value lies in one of these ranges, with few comparisons for each row."""
    ends = [(_literal(low), _literal(high)) for low, high in ranges]
    low = first_that_reaches(ends, lambda end, *ways: f"if({VALUE} <= {end}, {', '.join(ways)})")
    return f"{VALUE} >= {ends[0][0]} AND {VALUE} <= {ends[-1][1]} AND {VALUE} >= {low}"


def _literal(value: float | int | Decimal) -> str:
    """A number as an exact literal of Spark's SQL."""
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, int):
        return f"CAST('{value}' AS BIGINT)"
    return double(value)


def _is_plain(plan: Any) -> bool:
    steps = plan.children()
    parts = [steps.apply(k) for k in range(steps.length())]
    return not parts or (plan.nodeName() in PLAIN and all(map(_is_plain, parts)))
