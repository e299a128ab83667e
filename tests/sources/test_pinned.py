"""Data that move between the scans of one release: held still where an engine can, else refused."""

import datetime as dt
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.privacy import Units
from dpquantiles.sources import groups, source
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.duckdb import is_derived as is_derived_by_duckdb
from dpquantiles.sources.engine import Engine, engine_of
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.source import open_data
from dpquantiles.sources.tables import open_table
from tests.conftest import Postgres, require_library
from tests.sources.origins import COLUMNS, LAZY, make

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

VALUES = np.random.default_rng(8).normal(500, 100, 3000)
PARTS = np.where(np.arange(len(VALUES)) % 2, "a", "b")
ASKED: dict[str, Any] = {"epsilon": 1, "bounds": (0, 10**6)}


def quartiles(data: Any, column: str | None = "x", **options: Any) -> Any:
    return dpq.quartiles(data, column=column, rng=random.Random(5), **{**ASKED, **options}).values


EXPECTED = quartiles(VALUES, None)


@contextmanager
def between_scans(monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> Iterator[None]:
    """After every scan, and so before the next, something happens to the data."""
    scans: list[str] = []

    def watched(scan: Callable[..., Any]) -> Callable[..., Any]:
        def scanning(*told: Any) -> Any:
            found = scan(*told)
            scans.append(scan.__name__)
            change()
            return found

        return scanning

    with monkeypatch.context() as patch:
        for owner, name in ((Numbers, "count_bins"), (Numbers, "fetch"), (Engine, "collected")):
            patch.setattr(owner, name, watched(getattr(owner, name)))
        yield
    assert len(scans) > 1


MOVES = (
    "INSERT INTO people SELECT 'a', 500 + 0.001 * k FROM {series}(1, 400) s(k)",
    "DELETE FROM people WHERE x BETWEEN 510 AND 530",
)
"""What a writer does to a live table."""


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


# What no engine holds.


def test_moves_that_keep_the_total_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As many records deleted in one range as are inserted in another."""
    order, quarter = np.argsort(VALUES), len(VALUES) // 4
    moved = VALUES.copy()
    moved[order[quarter : quarter + 40]] = VALUES[order[-quarter - 40 : -quarter]]
    path = tmp_path / "people.csv"
    for data in (pl.scan_csv(path), f"{tmp_path}/*.csv"):
        pl.DataFrame({"x": VALUES}).write_csv(path)
        assert quartiles(data) == EXPECTED
        with (
            between_scans(monkeypatch, lambda: pl.DataFrame({"x": moved}).write_csv(path)),
            pytest.raises(dpq.ScanFailed, match="changed between two scans"),
        ):
            quartiles(data)


def test_groups_that_change_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pl.DataFrame({"x": VALUES, "g": PARTS}).write_csv(path)
    other = pl.DataFrame({"x": VALUES, "g": np.where(np.arange(len(PARTS)) < 2, "a", PARTS)})
    with (
        between_scans(monkeypatch, lambda: other.write_csv(path)),
        pytest.raises(dpq.ScanFailed, match="changed between two scans"),
    ):
        dpq.quantiles(f"{tmp_path}/*.csv", [0.5], column="x", by="g", keys=["a", "b"], **ASKED)


@pytest.mark.parametrize("engine", LAZY)
def test_columns_of_tables_are_not_kept(engine: str, request: pytest.FixtureRequest) -> None:
    """Nothing that is done here to values makes a column of a table one that is computed."""
    for name in ("floats", "dates", "zoned", "decimals", "booleans"):
        table = make(engine, pa.table({"x": COLUMNS[name]}), request)
        column = open_data(table, "x").source("x")
        assert isinstance(column, LazyColumn)
        with column.pinned() as still:
            assert still.numbers.frame.to_native() is column.numbers.frame.to_native()


# DuckDB


@pytest.fixture
def people() -> Any:
    """A connection with a live table."""
    connection = duckdb.connect()
    connection.execute("SET threads = 4")
    connection.from_arrow(pl.DataFrame({"g": PARTS, "x": VALUES}).to_arrow()).create("people")
    return connection


def write_on(connection: Any) -> Callable[[], None]:
    def writer() -> None:
        for move in MOVES:
            connection.execute(move.format(series="range"))

    return writer


def test_threads_with_a_cursor_each_do_not_disturb_each_other(people: Any) -> None:
    def release(number: int) -> Any:
        own = people.cursor()
        rows = own.table("people") if number % 2 else own.sql("SELECT x * 1 AS x FROM people")
        return quartiles(rows)

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(release, range(12))) == {EXPECTED}
    assert_left_alone(people)


def assert_left_alone(connection: Any) -> None:
    """No transaction is open, and no table was left behind."""
    number = "SELECT txid_current()"
    assert connection.sql(number).fetchall() != connection.sql(number).fetchall()
    names = connection.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    assert names == [("people",)]


def test_a_live_table_of_duckdb_just_works(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with between_scans(monkeypatch, write_on(people.cursor())):
        assert quartiles(people.table("people")) == EXPECTED
    assert_left_alone(people)
    assert people.sql("SELECT count(*) FROM people").fetchall() != [(len(VALUES),)]


@pytest.mark.parametrize(
    "options",
    [
        {"by": "g", "keys": ["a", "b"]},
        {"by": "g", "keys": "private", "neighbors": "add-remove", "delta": 0.1},
        {"unit": "g", "max_rows_per_unit": 900, "neighbors": "add-remove", "epsilon": 900},
    ],
    ids=["by", "private keys", "unit"],
)
def test_so_do_its_groups_and_units(
    people: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    asked = {**ASKED, **options, "column": "x"}

    def released() -> Any:
        return dpq.quantiles(people.table("people"), [0.5], rng=random.Random(2), **asked).values

    expected = released()
    with between_scans(monkeypatch, write_on(people.cursor())):
        assert released() == expected
    assert_left_alone(people)


def test_so_does_a_description(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def described() -> Any:
        found = dpq.describe(people.sql("SELECT x, 2 * x AS y FROM people"), ["x", "y"], epsilon=1)
        return found["x"], found["y"]

    monkeypatch.setattr(source, "MOST_VALUES", 0)
    with between_scans(monkeypatch, write_on(people.cursor())):
        assert len(described()) == 2
    assert_left_alone(people)


def test_a_transaction_of_the_user_stays_open(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    people.begin()
    people.execute("DELETE FROM people WHERE x < 400")
    left = VALUES[VALUES >= 400]
    with between_scans(monkeypatch, write_on(people.cursor())):
        assert quartiles(people.table("people")) == quartiles(left, None)
        assert len(quartiles(people.sql("SELECT random() AS x FROM people"))) == 3
    assert people.sql("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]
    people.rollback()
    assert_left_alone(people)


def luck(_: float) -> float:
    return random.random()


DERIVED = {
    "chance": "SELECT random() AS x FROM people",
    "chance in a view": "SELECT x FROM odd",
    "chance in a macro": "SELECT odd_one() AS x FROM people",
    "chance in quotes": 'SELECT "random"() AS x FROM people',
    "a function of Python": "SELECT OddOne(x) AS x FROM people",
    "a sample": "SELECT x FROM people USING SAMPLE 50%",
    "a sample of blocks": "SELECT x FROM people TABLESAMPLE system(50%)",
}


@pytest.mark.parametrize("case", DERIVED)
def test_what_duckdb_computes_is_computed_once(people: Any, case: str) -> None:
    people.execute("CREATE TEMP VIEW odd AS SELECT random() AS x FROM people")
    people.execute("CREATE TEMP MACRO odd_one() AS random()")
    people.create_function("OddOne", luck, ["DOUBLE"], "DOUBLE", side_effects=True)
    for _ in range(5):
        assert len(quartiles(people.sql(DERIVED[case]), bounds=(-1, 10**6))) == 3
    assert_left_alone(people)


def test_so_are_its_groups(people: Any) -> None:
    """Whose sizes would differ from scan to scan."""
    some = people.sql("SELECT g, x FROM people WHERE random() < 0.5")
    assert len(quartiles(some, by="g", keys=["a", "b"])) == 2
    assert_left_alone(people)


def test_sums_of_floating_numbers_are_computed_once() -> None:
    """They differ by the order of their terms, which differs from run to run."""
    connection = duckdb.connect()
    connection.execute("SET threads = 4")
    connection.execute(
        "CREATE TABLE t AS SELECT range % 200_000 AS g, random() * 1e3 AS d FROM range(3_000_000)"
    )
    for _ in range(5):
        means = connection.sql("SELECT g, avg(d) AS x FROM t GROUP BY g")
        assert len(quartiles(means, bounds=None)) == 3


@pytest.mark.parametrize(
    ("query", "derived"),
    [
        ("FROM people", False),
        ("SELECT 2 * x AS random FROM people WHERE g = 'a' AND sin(x) > 0", False),
        ("SELECT x FROM people UNION ALL SELECT 1.5", False),
        ("SELECT unnest([x, 1]) AS x FROM people", False),
        ("SELECT x FROM people LIMIT 7", True),
        ("SELECT DISTINCT x FROM people", True),
        ("SELECT a.x FROM people a JOIN people b USING (x)", True),
        ("SELECT x FROM people WHERE x > (SELECT avg(x) FROM people)", True),
        ("SELECT sum(x) OVER (PARTITION BY g) AS x FROM people", True),
        ("SELECT length(uuid()::TEXT) AS x FROM people", True),
    ],
)
def test_plans_tell_what_is_computed(people: Any, query: str, *, derived: bool) -> None:
    assert is_derived_by_duckdb(people.sql(query), people.sql) is derived


def test_a_database_that_is_read_only(tmp_path: Path) -> None:
    path = str(tmp_path / "people.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS x FROM range(1000)")
    with duckdb.connect(path, read_only=True) as connection:
        assert len(quartiles(connection.sql("SELECT x + random() AS x FROM people"))) == 3


@pytest.mark.parametrize("query", ["FROM people", "SELECT random() AS x FROM people"])
def test_an_interrupt_leaves_nothing_in_duckdb(
    people: Any, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(Numbers, "fetch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        quartiles(people.sql(query), bounds=(-1, 10**6))
    assert_left_alone(people)


@pytest.mark.parametrize("chance", ["0", "random()"])
def test_nor_does_a_query_that_fails(people: Any, chance: str) -> None:
    """DuckDB keeps a transaction in which a query failed until somebody ends it."""
    failing = f"CASE WHEN x > 600 THEN error('secret') ELSE 1 END + {chance}"
    with pytest.raises(dpq.ScanFailed):
        quartiles(people.sql(f"SELECT {failing} AS x FROM people"))
    assert_left_alone(people)


def test_an_interrupt_of_duckdb_is_one(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB makes a RuntimeError of it."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(nw.LazyFrame, "collect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quartiles(people.table("people"))
    assert_left_alone(people)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_of_duckdb_behind_ibis(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    require_library("Ibis", "ibis")
    import ibis

    table = ibis.duckdb.from_connection(people).table("people")
    with between_scans(monkeypatch, write_on(people.cursor())):
        assert quartiles(table) == EXPECTED
    assert len(quartiles(table.select(x=ibis.random()))) == 3
    assert_left_alone(people)
    people.execute("CREATE VIEW odd AS SELECT random() AS x FROM people")
    odd = ibis.duckdb.from_connection(people).table("odd")
    assert len(quartiles(odd, bounds=(-1, 10**6))) == 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_in_memory_stay_known_to_ibis() -> None:
    """The end of our transaction took them from DuckDB, and Ibis did not hand them over again."""
    require_library("Ibis", "ibis")
    import ibis

    table = ibis.memtable(pa.table({"x": VALUES, "g": PARTS.tolist()}))
    assert quartiles(table) == quartiles(table) == EXPECTED
    assert len(quartiles(table, by="g", keys=["a", "b"])) == 2
    assert table.count().to_pyarrow().as_py() == len(VALUES)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_groups_of_tables_are_not_kept_by_ibis(people: Any) -> None:
    """Codes of keys are functions that Ibis does not know."""
    require_library("Ibis", "ibis")
    import ibis

    table = open_table(ibis.duckdb.from_connection(people).table("people"))
    keys, source = KeyColumns.of(table, "g"), open_data(table, "x").source("x")
    rows = groups.grouped_rows(table, keys, "x", source, None, Units(), False, random.Random(1))
    with rows.pinned() as still:
        assert still.table.frame.to_native() is rows.table.frame.to_native()


# PostgreSQL


@pytest.fixture
def server(postgres: Postgres) -> Iterator[Any]:
    """A connection that writes to a live table."""
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS people CASCADE")
        connection.execute("CREATE TABLE people (g text, x double precision)")
        with connection.cursor().copy("COPY people FROM STDIN") as copy:
            for row in zip(PARTS.tolist(), VALUES.tolist(), strict=True):
                copy.write_row(row)
        connection.execute("CREATE VIEW odd_people AS SELECT x + random() AS x FROM people")
        yield connection
        connection.execute("DROP TABLE people CASCADE")


def write_in(connection: Any) -> Callable[[], None]:
    def writer() -> None:
        for move in MOVES:
            connection.execute(move.format(series="generate_series"))

    return writer


def assert_idle(backend: Any) -> None:
    assert backend.con.info.transaction_status.name == "IDLE"
    level = backend.con.execute("SHOW transaction_isolation").fetchone()
    assert level == ("read committed",)
    found = backend.con.execute("SELECT relname FROM pg_class WHERE relname LIKE 'dpq%'")
    assert found.fetchall() == []


def test_a_live_table_of_postgres_just_works(
    postgres: Postgres, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = postgres.ibis()
    people = backend.table("people")
    by: dict[str, Any] = {"by": "g", "keys": ["a", "b"], **ASKED}
    groups = dpq.quantiles(people, [0.5], column="x", rng=random.Random(2), **by).values
    with between_scans(monkeypatch, write_in(server)):
        assert quartiles(people) == EXPECTED
        assert_idle(backend)
    server.execute("TRUNCATE people")
    with server.cursor().copy("COPY people FROM STDIN") as copy:
        for row in zip(PARTS.tolist(), VALUES.tolist(), strict=True):
            copy.write_row(row)
    with between_scans(monkeypatch, write_in(server)):
        assert dpq.quantiles(people, [0.5], column="x", rng=random.Random(2), **by).values == groups
    assert_idle(backend)


def test_what_postgres_computes_is_computed_once(
    postgres: Postgres,
    server: Any,  # noqa: ARG001
) -> None:
    import ibis

    backend = postgres.ibis()
    people = backend.table("people")
    derived = {
        "chance": people.select(x=ibis.random()),
        "chance in a view": backend.table("odd_people"),
        "a sample": people.sample(0.5),
    }
    for data in derived.values():
        assert len(quartiles(data)) == 3
    assert_idle(backend)


def test_transactions_of_postgres_are_the_user_s(
    postgres: Postgres, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = postgres.ibis()
    people = backend.table("people")
    monkeypatch.setattr(Numbers, "fetch", interrupt)
    for data in (people, backend.table("odd_people")):
        with pytest.raises(KeyboardInterrupt):
            quartiles(data)
        assert_idle(backend)
    monkeypatch.undo()
    with backend.con.transaction(force_rollback=True):
        backend.con.execute("DELETE FROM people WHERE x < 400")
        assert quartiles(people) == quartiles(VALUES[VALUES >= 400], None)
        assert len(quartiles(backend.table("odd_people"))) == 3
        assert backend.con.info.transaction_status.name == "INTRANS"
    assert_idle(backend)
    assert server.execute("SELECT count(*) FROM people").fetchone() == (len(VALUES),)


# Spark


def test_what_spark_computes_is_computed_once(spark: Any) -> None:
    table = spark.range(0, 3000, 1, 2)
    sums = table.selectExpr("id % 500 AS k", "rand() AS v").groupBy("k").agg({"v": "avg"})
    assert len(quartiles(sums, "avg(v)", bounds=(0, 1))) == 3
    assert spark.sparkContext._jsc.getPersistentRDDs().isEmpty()
    mine = table.selectExpr("rand() AS x").persist()
    assert len(quartiles(mine, bounds=(0, 1))) == 3
    assert mine.storageLevel.useMemory
    mine.unpersist()


def test_rows_of_tables_are_not_kept_by_spark(spark: Any, tmp_path: Path) -> None:
    from dpquantiles.sources import pyspark

    judged = pyspark.Spark().is_derived
    spark.range(10).write.parquet(str(tmp_path / "t"))
    table = spark.read.parquet(str(tmp_path / "t"))
    assert not judged(table.filter("id > 3").selectExpr("id * 2 AS x"))
    assert judged(table.filter("id > (SELECT avg(id) FROM range(9))"))
    assert judged(table.limit(3))


# Polars and Dask


def chance(part: Any) -> Any:
    return part.assign(x=np.random.default_rng().random(len(part)))


def lucky_part(_: int) -> Any:
    return pd.DataFrame({"x": np.random.default_rng().random(1000)})


def test_what_polars_and_dask_compute_is_computed_once() -> None:
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    lazy = pl.LazyFrame({"x": VALUES, "g": PARTS})
    table = frame.from_pandas(lazy.collect().to_pandas(), npartitions=3)
    computed = (
        lazy.select(pl.col("x").shuffle() + pl.col("x")),
        table.map_partitions(chance),
        table.assign(x=table.x.apply(luck, meta=("x", "f8"))),
        table.assign(x=table.x.map(luck, meta=("x", "f8"))),
        frame.from_map(lucky_part, range(3), meta={"x": "f8"}),
    )
    for data in computed:
        assert len(quartiles(data, bounds=(-1, 10**6))) == 3


def test_rows_of_tables_are_not_kept_by_dask(tmp_path: Path) -> None:
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    table = pl.DataFrame({"x": VALUES, "g": PARTS}).to_pandas()
    table.to_csv(tmp_path / "people.csv")
    table.to_parquet(tmp_path / "people.parquet")
    plain = (
        frame.read_csv(tmp_path / "people.csv"),
        frame.read_parquet(tmp_path / "people.parquet"),
        frame.from_pandas(table, npartitions=2)[["x"]].astype(float).query("x > 3").fillna(0),
    )
    for data in plain:
        lazy = open_table(data)
        with engine_of(lazy).pinned(lazy.frame) as still:
            assert still.to_native() is data


def test_groups_of_arrow_dates_in_dask() -> None:
    """Some steps of Dask raise when they are asked what they are made of."""
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    day = dt.date(2020, 1, 1)
    table = pa.table({"x": [1.0] * 9, "g": [day] * 9}).to_pandas(types_mapper=pd.ArrowDtype)
    data = frame.from_pandas(table, npartitions=2)
    assert len(quartiles(data, by="g", keys=[day])) == 1


def test_only_what_is_computed_is_collected_by_polars(tmp_path: Path) -> None:
    path = tmp_path / 'a (sum) "b".parquet'
    pl.DataFrame({"x": VALUES, "g": PARTS}).write_parquet(path)
    lazy, x = pl.scan_parquet(path), pl.col("x")
    plain = (
        lazy,
        pl.LazyFrame({"x": VALUES}),
        lazy.select((x * 2 + 1).cast(pl.Int64).alias("y.sum()")),
        lazy.filter(x > 500, pl.col("g").is_in(["a", "b"])).select("x"),
        lazy.with_columns(y=pl.when(x > 1).then(x.round(2)).otherwise(x.fill_null(0))),
        lazy.select(pl.col("g").str.len_chars()),
        pl.concat([lazy, lazy]),
    )
    computed = (
        lazy.group_by("g").agg(x.mean()),
        lazy.join(lazy, on="g"),
        lazy.select(x - x.mean()),
        lazy.filter(x > x.mean()),
        lazy.with_columns(x.sum().over("g")),
        lazy.select(x.shuffle()),
        lazy.select(x.map_batches(abs, return_dtype=pl.Float64)),
        lazy.map_batches(lambda frame: frame),
        lazy.unique(),
        lazy.head(7),
    )
    engine = engine_of(open_table(lazy))
    assert [engine.is_derived(frame) for frame in plain] == [False] * len(plain)
    assert [engine.is_derived(frame) for frame in computed] == [True] * len(computed)
