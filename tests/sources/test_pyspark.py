"""Spark: what its queries ask of a session, and what they leave as the user has it."""

import random
import re
from dataclasses import replace
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.grid import default_grid
from dpquantiles.kinds import REAL, Datetime
from dpquantiles.sources.bins import Even
from dpquantiles.sources.lazy import ScannedView
from dpquantiles.sources.tables import Table
from tests.conftest import in_the_jvm
from tests.sources.origins import in_spark

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def engine(spark: Any) -> ModuleType:  # noqa: ARG001
    """The module, which can be imported where Spark is installed."""
    from dpquantiles.sources import pyspark

    return pyspark


@pytest.fixture
def session(spark: Any) -> Any:
    """A session of a user who shuffles a lot and lives elsewhere."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "37")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return session


def partitions(query: Any) -> list[int]:
    """Into how many partitions each step of a query shuffles."""
    plan = query._jdf.queryExecution().executedPlan().toString()
    return [int(number) for number in re.findall(r"hashpartitioning\(.*?, (\d+)\)", plan)]


@in_the_jvm
def test_bins_are_shuffled_into_few_partitions(engine: ModuleType, session: Any) -> None:
    session.range(100).createTempView("mine")
    hours = session.sql("SELECT date_format(timestamp_seconds(id * 1800), 'HH') AS hour FROM mine")
    query = hours.groupBy("hour").count()
    few = engine.in_few_parts(query)
    assert partitions(query) == [37]
    assert partitions(few) == [2]
    assert sorted(few.collect()) == sorted(query.collect())
    assert hours.first().hour == "09"
    assert session.conf.get("spark.sql.shuffle.partitions") == "37"
    assert [view.name for view in session.catalog.listTables()] == ["mine"]
    session.catalog.dropTempView("mine")


@in_the_jvm
def test_a_column_is_counted_by_such_a_query(engine: ModuleType, session: Any) -> None:
    frame = session.range(100).selectExpr("CAST(id AS DOUBLE) AS x")
    column = engine.Spark().numbers(Table(nw.from_native(frame)), "x")
    bins = Even(0.0, 99.0)
    assert partitions(column.engine.grouped(column, column.frame, bins).to_native()) == [2]


@in_the_jvm
def test_tables_are_shuffled_as_the_user_set_it(engine: ModuleType, session: Any) -> None:
    table = session.range(100).selectExpr("id % 50 AS k").groupBy("k").count()
    query = table.selectExpr("k % 7 AS bin").groupBy("bin").count()
    assert partitions(query) == [37, 37]
    assert engine.in_few_parts(query) is query


@in_the_jvm
def test_what_made_the_kept_rows_does_not_count(engine: ModuleType, session: Any) -> None:
    """A table that was shuffled and kept is shuffled once more, into few parts."""
    table = session.range(100).selectExpr("id % 50 AS k").groupBy("k").count().persist()
    query = table.selectExpr("k % 7 AS bin").groupBy("bin").count()
    try:
        few = engine.in_few_parts(query)
        assert partitions(few)[0] == 2
        assert sorted(few.collect()) == sorted(query.collect())
        twice = query.groupBy("count").count()
        assert engine.in_few_parts(twice) is twice
    finally:
        table.unpersist()


def test_a_session_that_cannot_be_copied_is_used_as_it_is(engine: ModuleType) -> None:
    class Connected:
        """Has a session, but nothing of Java."""

        sparkSession = object()

    query = Connected()
    assert engine.in_few_parts(query) is query


def test_more_ranges_than_java_compiles_at_once(engine: ModuleType, spark: Any) -> None:
    frame = spark.range(0, 2000, 1, 3).selectExpr("CAST(id AS DOUBLE) AS x")
    column = engine.Spark().numbers(Table(nw.from_native(frame)), "x")
    starts = range(3, 1900, 8)
    assert len(starts) > 2 * engine.COMPILED
    found = np.sort(column.fetch([(float(k), k + 2.5) for k in starts]))
    np.testing.assert_array_equal(found, [k + i for k in starts for i in range(3)])


def test_a_view_that_needs_many_ranges(engine: ModuleType, spark: Any) -> None:
    asked: list[int] = []
    frame = spark.range(0, 2000, 1, 3).selectExpr("CAST(id AS DOUBLE) AS x")
    column = engine.Spark().numbers(Table(nw.from_native(frame)), "x")

    class Watched(engine.Spark):  # type: ignore[name-defined, misc]
        def keep(self, frame: Any, ranges: Any) -> Any:
            asked.append(len(ranges))
            return super().keep(frame, ranges)

    view = ScannedView(replace(column, engine=Watched()), default_grid(REAL, (0, 800_000)))
    index = np.arange(1, 1999, 11)
    steps = view.grid.encode(index.astype(float))
    np.testing.assert_array_equal(view.order_statistics(index), steps)
    assert view.scans == 2
    assert asked[0] > engine.COMPILED


def test_points_in_time_are_in_the_zone_that_the_session_has_now(
    engine: ModuleType, session: Any
) -> None:
    for zone in ("Asia/Tokyo", "Europe/Berlin"):
        session.conf.set("spark.sql.session.timeZone", zone)
        table = Table(nw.from_native(session.sql("SELECT timestamp_micros(0) AS x")))
        assert engine.Spark().numbers(table, "x").kind == Datetime(ZoneInfo(zone))


@pytest.mark.parametrize("name", ["a.b", "a`b", "`", "x.y`z", 'quo"te', "a b"])
def test_names_that_spark_takes_for_something_else(spark: Any, name: str) -> None:
    """For the column, its groups and its units."""
    half, pair = [k % 2 for k in range(200)], [k // 2 for k in range(200)]
    table = pa.table({name: np.arange(200.0), "k.`": half, "u.v": pair})
    data = in_spark(table, spark)
    by: dict[str, Any] = {"by": "k.`", "keys": [0, 1]}
    for options in ({}, by):
        found, expected = (
            dpq.median(each, column=name, epsilon=1, rng=random.Random(1), **options)
            for each in (data, table)
        )
        assert found == expected
    people: Any = dpq.median(data, column=name, unit="u.v", epsilon=1, bounds=(0, 200))
    assert people.provenance["size"] == 100
    described = dpq.describe(data, [name, "u.v"], epsilon=1, rng=random.Random(1))
    assert described == dpq.describe(table, [name, "u.v"], epsilon=1, rng=random.Random(1))


def test_results_from_spark_are_frames_of_arrow(spark: Any) -> None:
    """As for every engine without frames in memory of its own."""
    data = spark.range(100).selectExpr("id AS x", "id % 2 AS k")
    release: Any = dpq.median(data, column="x", by="k", keys=[0, 1], epsilon=1)
    assert isinstance(release.to_frame(), pa.Table)
    assert isinstance(release.to_wide(), pa.Table)
