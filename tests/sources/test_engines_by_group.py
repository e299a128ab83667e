"""Groups and units on engines that work where data live: the same answers, the same bounds."""

import datetime as dt
import importlib
import json
import random
import weakref
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.kinds import REAL
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources import units
from dpquantiles.sources.engine import CODE, Engine, engine_of
from dpquantiles.sources.group_scans import VALUE, EngineGroups
from dpquantiles.sources.tables import open_table
from tests.sources.origins import LAZY, SLOW, in_postgres, make

RNG = np.random.default_rng(8)
N = 2000
TABLE = pd.DataFrame(
    {
        "county": RNG.choice(["Kent", "Essex", "Devon"], N),
        "year": RNG.choice([2023, 2024], N),
        "age": RNG.integers(18, 90, N),
        "salary": RNG.lognormal(10, 1, N),
        "person": [f"p{i}" for i in RNG.integers(0, 600, N)],
    }
)
TABLE.loc[:9, "county"] = None
TABLE.loc[10:39, "person"] = None


def duckdb_table() -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", TABLE)
    return connection.sql("select * from people")


def ibis_table() -> Any:
    pytest.importorskip("duckdb")
    return pytest.importorskip("ibis").memtable(pa.Table.from_pandas(TABLE))


def dask_table() -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(TABLE, npartitions=3)


ENGINES = {
    "polars": lambda: pl.from_pandas(TABLE).lazy(),
    "duckdb": duckdb_table,
    "ibis": ibis_table,
    "dask": dask_table,
}
each_engine = pytest.mark.parametrize("engine", ENGINES)


def ask(data: Any, **options: Any) -> dpq.GroupedRelease:
    stated = {"column": "salary", "epsilon": 1.0, "rng": random.Random(5)}
    release: dpq.GroupedRelease = dpq.quantiles(data, "quartiles", **{**stated, **options})
    return release


@each_engine
def test_answers_are_those_of_the_table_in_memory(engine: str) -> None:
    for options in (
        {"by": "county", "keys": ["Kent", "No", "Devon"]},
        {"by": ["county", "year"], "keys": [("Kent", 2024), ("Devon", 2023)]},
        {"by": "year", "keys": "private", "neighbors": "add-remove", "delta": 1e-6},
        {"by": "county", "keys": ["Kent"], "column": "age", "neighbors": "add-remove"},
    ):
        found, expected = ask(ENGINES[engine](), **options), ask(TABLE, **options)
        assert found.keys == expected.keys
        assert found.values == expected.values
        assert found.provenance == expected.provenance


MIXED = [f"k{i % 40}" for i in range(N)] + ["large"] * N + ["k3", "k7"] * 30
VALUES = [*RNG.normal(50, 9, N), *RNG.normal(10, 3, N), *RNG.normal(90, 1, 60)]
GAPS = [None if i % 11 == 0 else float("nan") if i % 13 == 0 else x for i, x in enumerate(VALUES)]


def mixed_table(engine: str, request: pytest.FixtureRequest) -> Any:
    """Forty small groups and a large one, with values that are missing."""
    table = pa.table({"x": pa.array(GAPS, pa.float64(), from_pandas=False), "g": MIXED})
    if engine != "postgres":
        return make(engine, table, request)
    types = {"x": "double precision", "g": "text"}
    return in_postgres(table, types, request.getfixturevalue("postgres"), "mixed")


@cache
def mixed_in_memory(options: str) -> dpq.GroupedRelease:
    """What the same table in memory gives; seeded, so that it is the same for all engines."""
    table = pa.table({"x": pa.array(GAPS, pa.float64(), from_pandas=False), "g": MIXED})
    return ask(table, **json.loads(options))


@pytest.mark.usefixtures("shared_passes")
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("engine", LAZY)
def test_groups_in_several_portions_are_those_of_the_array(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys without rows, groups that are fetched and one that is scanned, in every relation."""
    monkeypatch.setattr("dpquantiles.views.array.PORTION", 300)
    monkeypatch.setattr("dpquantiles.sources.group_scans.MOST_ROWS", 1000)
    lazy = mixed_table(engine, request)
    module = LAZY[engine].partition(".")[0]  # which orders rows now, if it ever does
    monkeypatch.setattr(f"dpquantiles.sources.{module}.UNORDERED", 1, raising=False)
    keys = ["nobody", *(f"k{i}" for i in range(20)), "large", *(f"k{i}" for i in range(20, 39))]
    asked: dict[str, Any] = {"by": "g", "column": "x", "epsilon": 3.0, "keys": keys}
    ways: list[dict[str, Any]] = [{}, {"neighbors": "add-remove"}]
    if engine not in SLOW:
        ways += [{"missing": "lower"}, {"bounds": (0, 100)}, {"mechanism": "fitted"}]
        ways += [{"keys": "private", "delta": 1e-6, "neighbors": "add-remove", "missing": "upper"}]
    for way in ways:
        options = {**asked, **way}
        assert ask(lazy, **options) == mixed_in_memory(json.dumps(options))


def codes_of(rows: Any) -> set[int]:
    return set(rows[CODE].to_list())


@pytest.mark.parametrize("together", [1, 4])
def test_fetched_rows_are_gone_before_the_next_are_fetched(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = np.arange(90) // 9
    table = open_table(pl.LazyFrame({CODE: codes, VALUE: codes * 1.0}))
    engine, original = engine_of(table), Engine.collected
    fetched: list[weakref.ref[Any]] = []
    held = []

    def collected(self: Engine, frame: Any) -> Any:
        held.append(sum(rows() is not None for rows in fetched))
        rows = original(self, frame)
        fetched.append(weakref.ref(rows))
        return rows

    monkeypatch.setattr(Engine, "collected", collected)
    monkeypatch.setattr(type(engine), "together", together)
    runs = [range(place, place + 1) for place in range(10)]
    found = list(map(codes_of, engine.portions(table.frame, runs)))
    assert found == [{place} for place in range(10)]
    assert held == [0] * -(-10 // together)


@pytest.mark.parametrize("unordered", [0, 100])
def test_portions_of_duckdb_are_the_same_whether_it_orders_rows_or_not(
    unordered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    from dpquantiles.sources import duckdb as engines

    monkeypatch.setattr(engines, "UNORDERED", unordered)
    query = f"SELECT (i * 7 % 30)::INT AS {CODE}, i / 2.0 AS {VALUE} FROM range(900) t(i)"
    table, runs = (
        open_table(duckdb.connect().sql(query)),
        [range(k, k + 3) for k in range(0, 30, 3)],
    )
    found = list(engine_of(table).portions(table.frame, runs))
    assert [len(rows) for rows in found] == [90] * 10
    for run, rows in zip(runs, found, strict=True):
        expected = sorted((i * 7 % 30, i / 2) for i in range(900) if i * 7 % 30 in run)
        assert sorted(rows.select(CODE, VALUE).rows()) == expected


@pytest.mark.parametrize("most", [1, 7, 29, 30, 31])
def test_keys_are_written_into_duckdb_by_several_statements(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr("dpquantiles.sources.duckdb.MOST_WRITTEN", most)
    rows = "SELECT (i % 40)::BIGINT AS k, encode(i::VARCHAR) AS t FROM range(40) t(i)"
    table = open_table(duckdb.connect().sql(rows))
    keys = [(i, str(i).encode()) for i in range(5, 35)]
    with engine_of(table).with_places(table.frame, ("k", "t"), keys) as frame:
        found = engine_of(table).collected(frame.select("k", CODE)).rows()
    assert sorted(found) == [(i, i - 5) for i in range(5, 35)]


def test_writing_keys_into_duckdb_does_not_look_at_the_data(tmp_path: Path) -> None:
    """Each look at a relation of thousands of files takes a while."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "rows.csv"
    path.write_text("k\n1\n2\n")
    rows = duckdb.connect().read_csv(str(path))
    if getattr(rows, "_con", None) is None:
        pytest.skip("this DuckDB does not tell the connection of a relation")
    engine = engine_of(open_table(rows))
    path.unlink()
    with engine.uploaded(rows, {CODE: range(3)}, {CODE: nw.Int32}) as table:
        assert table.fetchall() == [(0,), (1,), (2,)]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_keys_that_were_written_into_duckdb_are_gone_after_a_failure(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    ours = importlib.import_module("dpquantiles.sources.duckdb")
    written = ours._written

    def failing_once(columns: Any, schema: Any, start: int) -> str:
        return written(columns, schema, start) if start // 2 != failing else "SELECT error('no')"

    monkeypatch.setattr(ours, "MOST_WRITTEN", 2)
    monkeypatch.setattr(ours, "_written", failing_once)
    connection = duckdb.connect()
    table = open_table(connection.sql("SELECT 1::BIGINT AS k"))
    keys = [(i,) for i in range(6)]
    with (
        pytest.raises(dpq.errors.ScanFailed),
        engine_of(table).with_places(table.frame, ("k",), keys),
    ):
        pass
    assert connection.sql("FROM duckdb_tables()").fetchall() == []


def test_a_row_of_another_group_is_a_contradiction() -> None:
    table = open_table(pl.LazyFrame({CODE: [0, 1, 2, 2], VALUE: [1.0, 2.0, 3.0, 4.0]}))
    groups = EngineGroups(
        engine=engine_of(table),
        frame=table.frame,
        kind=REAL,
        grid=dpq.UniformGrid(0.0, 10.0),
        policy="drop",
        rows=np.array([1, 1, 2]),
        absent=np.zeros(3, dtype=np.int64),
    )
    asked, rows = np.array([0, 2]), table.frame.collect()
    assert groups._groups(asked, rows.filter(nw.col(CODE) != 1)).n.tolist() == [1, 2]
    with pytest.raises(dpq.ScanFailed):  # a row of group 1, in place of one of group 2
        groups._groups(asked, rows.head(3))


@each_engine
@pytest.mark.parametrize("k", [1, 3])
def test_engines_bound_the_rows_of_units(engine: str, k: int) -> None:
    table = open_table(ENGINES[engine]())
    bounded = units.bound_rows(table, "person", k, ("salary",), random.Random(1))
    frame = bounded.frame.collect() if bounded.lazy else bounded.frame
    owner = dict(zip(TABLE["salary"], TABLE["person"].fillna("nobody"), strict=True))
    found = Counter(owner[salary] for salary in frame["salary"].to_list())
    rows = Counter(TABLE["person"].fillna("nobody"))
    assert found == {name: min(k, count) for name, count in rows.items()}


@each_engine
def test_engines_release_to_units(engine: str) -> None:
    release = dpq.quantiles(
        ENGINES[engine](), "median", column="age", unit="person", epsilon=2.0, bounds=(0, 120)
    )
    assert release.provenance["size"] == TABLE["person"].nunique() + 1
    assert abs(release.value - 54) < 8
    grouped = ask(
        ENGINES[engine](),
        by="county",
        keys=["Kent", "Devon"],
        unit="person",
        max_rows_per_unit=2,
        neighbors="add-remove",
        epsilon=8.0,
        rng=None,
    )
    assert grouped.guarantee is not None
    assert grouped.guarantee.unit == "person"
    assert abs(np.log(grouped["Kent"].values[1]) - 10) < 0.5


@each_engine
@pytest.mark.parametrize("most", [0, 10**6])
def test_engines_describe(engine: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one scan of all columns, or column by column."""
    monkeypatch.setattr("dpquantiles.sources.source.MOST_VALUES", most)
    found = dpq.describe(ENGINES[engine](), ["age", "salary"], epsilon=4.0, rng=random.Random(3))
    expected = dpq.describe(TABLE, ["age", "salary"], epsilon=4.0, rng=random.Random(3))
    assert found.releases == expected.releases
    people = dpq.describe(ENGINES[engine](), ["age", "salary"], epsilon=4.0, unit="person")
    assert abs(people["age"].values[2] - 54) < 8
    assert abs(np.log(people["salary"].values[2]) - 10) < 0.5


def test_groups_of_dask_frames_of_arrow_types() -> None:
    held = pa.table({"v": [1] * 9, "g": [dt.date(2020, 1, 1)] * 9})
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(held.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2)
    keys = [dt.date(2020, 1, 1)]
    found = dpq.quantiles(frame, 0.5, column="v", by="g", keys=keys, epsilon=1.0)
    assert len(found[keys[0]].values) == 1
