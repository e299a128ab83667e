"""The way in: tables, files and queries by name, and what bad input gets."""

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpquantiles as dpq
from dpquantiles.grid import UniformGrid, default_grid, finest
from dpquantiles.kinds import INTEGER, Datetime
from dpquantiles.sources import engine, relations
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Named
from dpquantiles.sources.source import Source, open_data
from dpquantiles.sources.tables import Table, find_table, nearest, open_table

RECORDS = {"salary": [1.5, 2.5, None], "name": ["a", "b", "c"]}
TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(RECORDS),
    "polars": lambda: pl.DataFrame(RECORDS),
    "pyarrow": lambda: pa.table(RECORDS),
    "polars lazy": lambda: pl.LazyFrame(RECORDS),
    "duckdb": lambda: duckdb.from_arrow(pa.table(RECORDS)),
}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Any:
    return TABLES[request.param]()


def test_tables_are_opened_by_their_schema(table: Any) -> None:
    opened = open_table(table)
    assert opened.names == ("salary", "name")
    assert opened.dtype("salary") == nw.Float64
    assert opened.lazy == (opened.engine == "duckdb" or isinstance(table, pl.LazyFrame))
    assert open_table(opened) is opened
    assert opened.select(["name"]).names == ("name",)
    assert isinstance(
        open_data(table, "salary").source("salary"), LazyColumn if opened.lazy else TypedColumn
    )


def test_a_missing_column_gets_the_nearest_name(table: Any) -> None:
    message = r"^column must name a column of the table, got 'Salery'; did you mean 'salary'\?"
    with pytest.raises(ValueError, match=message):
        dpq.median(table, column="Salery", epsilon=1)
    with pytest.raises(TypeError, match=r"^column must be the name of a column, got 3 of type int"):
        dpq.median(table, column=3, epsilon=1)  # type: ignore[call-overload]


def test_a_column_of_text_is_refused(table: Any) -> None:
    with pytest.raises(TypeError, match=r"^column 'name': data must be numbers, .* got a column"):
        dpq.median(table, column="name", epsilon=1)


def test_long_lists_of_names_are_cut() -> None:
    told = nearest("c7x", [f"c{k}" for k in range(30)] + ["x" * 99])
    assert "did you mean 'c7'?" in told
    assert told.endswith("and 11 more")


@pytest.mark.parametrize("data", [[1, 2], np.zeros(2), 3, None, pd.Series([1])], ids=str)
def test_a_column_is_named_only_of_tables(data: Any) -> None:
    assert find_table(data) is None
    with pytest.raises(TypeError, match=r"^data must be a table of pandas, Polars, "):
        dpq.median(data, column="x", epsilon=1)


def test_an_engine_that_nobody_knows_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ENGINES", {"duckdb": "duckdb.DuckDB"})
    with pytest.raises(TypeError, match=r"^data must be a table of duckdb or .* got one of polars"):
        open_data(pl.LazyFrame(RECORDS), "salary").source("salary")


def test_zones_do_not_meet_clocks_without_one() -> None:
    aware = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]
    for data in (pl.Series("x", aware), pl.LazyFrame({"x": aware}), pl.DataFrame({"x": aware})):
        name = None if isinstance(data, pl.Series) else "x"
        with pytest.raises(TypeError, match=r"^data must be naive datetimes like the grid, got "):
            open_data(data, name, Datetime()).source(name)


@pytest.mark.parametrize(
    ("column", "grid"),
    [
        ([1.5], UniformGrid(dt.date(2024, 1, 1), dt.date(2025, 1, 1))),
        ([dt.date(2024, 1, 1)], UniformGrid(0, 9)),
        ([dt.timedelta(1)], UniformGrid(dt.date(2024, 1, 1), dt.date(2025, 1, 1))),
    ],
)
def test_a_grid_of_another_type_is_refused_before_data_are_read(column: Any, grid: Any) -> None:
    def refuse(_: Any) -> Any:
        pytest.fail("data was read")

    lazy = pl.LazyFrame({"x": column}).map_batches(
        refuse, schema=pl.Schema({"x": pl.Series(column).dtype})
    )
    with pytest.raises(TypeError, match=r"^data must be of type \w+ like the grid"):
        dpq.median(lazy, column="x", grid=grid, epsilon=1)


@pytest.mark.parametrize("options", [{"epsilon": 0}, {"bounds": (2, 1)}, {"missing": dt.date.max}])
def test_public_parameters_are_refused_before_a_lazy_table_is_read(options: Any) -> None:
    def refuse(_: Any) -> Any:
        pytest.fail("data was read")

    lazy = pl.LazyFrame({"x": [1.5]}).map_batches(refuse, schema=pl.Schema({"x": pl.Float64}))
    with pytest.raises((ValueError, TypeError)):
        dpq.median(lazy, column="x", **{"epsilon": 1, **options})


def test_zones_are_kept() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    noon = dt.datetime(2024, 7, 1, 12, tzinfo=berlin)
    lazy = pl.LazyFrame({"x": [noon] * 300})
    value = dpq.median(lazy, column="x", epsilon=100).value
    assert value == noon
    assert value.tzinfo == berlin


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_units_of_time(unit: str) -> None:
    ticks = {"ms": 1, "us": 10**3, "ns": 10**6}[unit]
    values = [-3 * ticks + 1, -1, 0, 5 * ticks, None] * 80
    series = pl.Series("x", values).cast(pl.Datetime(unit))  # type: ignore[arg-type]
    expected = dpq.quartiles(series, epsilon=30, rng=random.Random(1))
    lazy = series.to_frame().lazy()
    assert dpq.quartiles(lazy, column="x", epsilon=30, rng=random.Random(1)) == expected


def test_unsigned_and_very_wide_integers() -> None:
    top = 2**64 - 1
    for data in (
        pl.LazyFrame({"x": pl.Series([0, 5, top] * 100, dtype=pl.UInt64)}),
        duckdb.sql("SELECT unnest([0, 5, 18446744073709551615]::UBIGINT[]) AS x FROM range(100)"),
        duckdb.sql("SELECT unnest([0, 5, 1e30::HUGEINT]) AS x FROM range(100)"),
    ):
        release = dpq.quantiles(data, [0.1, 0.5, 0.9], column="x", epsilon=50, grid=WHOLE)
        assert release.values == (0, 5, TOP)
    wide = dpq.quantiles(
        pl.LazyFrame({"x": pl.Series([top] * 300, dtype=pl.UInt64)}),
        0.5,
        column="x",
        epsilon=50,
        grid=dpq.FloatGrid(integral=True),
    )
    assert wide.value == 2**64


WHOLE = finest(default_grid(INTEGER))
TOP = WHOLE.decode(np.array([WHOLE.size - 1]))[0]
"""The last point of the grid of integers without bounds, just below 2**63."""

TIMES = {
    "TIMESTAMP": "['infinity', '-infinity', '2024-01-01 00:00:00.5', NULL]",
    "TIMESTAMP_NS": "['infinity', '1969-12-31 23:59:59.999999999', '2024-01-01', NULL]",
    "TIMESTAMP_S": "['infinity', '-infinity', '290000-01-01', NULL]",
    "TIMESTAMPTZ": "['infinity', '-infinity', '2024-01-01 00:00:00+02', NULL]",
    "DATE": "['infinity', '-infinity', '2024-01-01', '290000-01-01']",
    "INTERVAL": "['9999999 months', '1 day', '-5 seconds', NULL]",
}


@pytest.mark.parametrize("stated", TIMES)
@pytest.mark.parametrize("neighbors", dpq.Neighbors)
def test_times_of_duckdb_never_raise(stated: str, neighbors: dpq.Neighbors) -> None:
    data = duckdb.sql(f"SELECT unnest({TIMES[stated]}::{stated}[]) AS x FROM range(50)")
    release = dpq.quantiles(
        data, [0, 0.5, 1], column="x", epsilon=1, neighbors=neighbors, rng=random.Random(1)
    )
    assert len(release.values) == 3


def test_infinite_times_of_duckdb_clamp() -> None:
    data = duckdb.sql("SELECT unnest(['infinity', '-infinity']::TIMESTAMP[]) x FROM range(300)")
    low, high = dpq.quantiles(
        data, [0.25, 0.75], column="x", epsilon=50, grid=finest(default_grid(Datetime()))
    )
    assert (low.year, high.year) == (1, 9999)
    day = "SELECT CASE WHEN i % 4 = 0 THEN NULL ELSE DATE 'infinity' END x FROM range(400) t(i)"
    grid = UniformGrid(dt.date(2020, 1, 1), dt.date(2021, 1, 1))
    assert dpq.median(duckdb.sql(day), column="x", epsilon=50, grid=grid).value == grid.upper


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two Parquet files, two CSV files and a database with the same numbers."""
    for name, start in (("a", 0), ("b", 500)):
        numbers = list(range(start, start + 500))
        pq.write_table(pa.table({"x": numbers, "t": ["."] * 500}), tmp_path / f"{name}.parquet")
        cells = "\n".join(["x,t", *(f"{n},." for n in numbers), "NA,.", "odd,.", ""])
        (tmp_path / f"{name}.csv").write_text(cells)
    with duckdb.connect(str(tmp_path / "numbers.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/*.parquet'")
    return tmp_path


OPTIONS: dict[str, Any] = {"epsilon": 1}


def deciles_of(values: Any) -> dpq.Release:
    """Those of the same column in memory."""
    table = pl.DataFrame({"x": values})
    found: dpq.Release = dpq.deciles(table, column="x", rng=random.Random(2), **OPTIONS)
    return found


def test_files_and_queries_by_name(folder: Path) -> None:
    expected = deciles_of(np.arange(1000))
    for name in (
        f"{folder}/*.parquet",
        f"SELECT x FROM '{folder}/*.parquet'",
        f"  with t as (select * from '{folder}/*.parquet') select * from t",
        f"from '{folder}/*.parquet'",
    ):
        assert dpq.deciles(name, column="x", rng=random.Random(2), **OPTIONS) == expected
    single = deciles_of(np.arange(500))
    for path in (folder / "a.parquet", str(folder / "a.parquet")):
        assert dpq.deciles(path, column="x", rng=random.Random(2), **OPTIONS) == single


def test_cells_that_do_not_fit_are_missing(folder: Path) -> None:
    expected = deciles_of([*range(1000)] + [None] * 4)
    found = dpq.deciles(f"{folder}/*.csv", column="x", rng=random.Random(2), **OPTIONS)
    assert found.values == expected.values
    one = deciles_of([*range(500), None, None])
    found = dpq.deciles(folder / "a.csv", column="x", rng=random.Random(2), **OPTIONS)
    assert found.values == one.values


def _of_type(pattern: str, type_name: str) -> Source:
    return open_data(Named(pattern, type=type_name), "x").source("x")


def test_csv_files_never_fail_for_a_record(tmp_path: Path) -> None:
    rows = ["x,y", "1,a", "2", "3,b,c,d", '"4', "\x00,\xff", "5,e", "1e400,", "inf,", ""]
    (tmp_path / "odd.csv").write_text("\n".join(rows * 1), encoding="latin-1")
    assert len(dpq.quantiles(f"{tmp_path}/*.csv", [0.1, 0.9], column="x", **OPTIONS)) == 2
    assert _of_type(f"{tmp_path}/*.csv", "date").kind.name == "date"


def test_a_stated_type_rules(folder: Path) -> None:
    assert _of_type(f"{folder}/*.parquet", "float").kind.name == "float"
    assert _of_type(f"{folder}/*.csv", "decimal").kind.name == "decimal"
    with pytest.raises(TypeError, match="cannot be read as date"):
        _of_type(f"{folder}/*.parquet", "date")
    with pytest.raises(ValueError, match=r"^type must be one of "):
        _of_type(f"{folder}/*.parquet", "number")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("none/*.parquet", FileNotFoundError, "no such file"),
        ("none/*.csv", FileNotFoundError, "no such file"),
        ("*.json", ValueError, r"must end in \.csv, \.tsv"),
        ("a.parquet*", ValueError, r"must end in \.csv, \.tsv"),
    ],
)
def test_bad_names(folder: Path, name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dpq.median(f"{folder}/{name}", column="x", epsilon=1)


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv", "a.parquet", "a.csv"])
def test_a_missing_column_of_files(folder: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match="has no column 'X'; did you mean 'x'"):
        dpq.median(f"{folder}/{pattern}", column="X", epsilon=1)


def test_damaged_files_are_not_quoted(folder: Path) -> None:
    (folder / "c.parquet").write_bytes(b"PAR1 secret PAR1")
    with pytest.raises(ValueError, match="may be cut off or damaged") as caught:
        dpq.median(f"{folder}/c.parquet", column="x", epsilon=1)
    with pytest.raises(ValueError, match="may be cut off or damaged") as later:
        dpq.median(f"{folder}/*.parquet", column="x", epsilon=1)
    for error in (caught.value, later.value):
        assert "secret" not in str(error)
        assert error.__suppress_context__


def test_queries_of_a_database_read_only(folder: Path) -> None:
    database = str(folder / "numbers.duckdb")
    query = Named("SELECT x FROM t", is_query=True, database=database)
    expected = deciles_of(np.arange(1000))
    assert dpq.deciles(query, column="x", rng=random.Random(2), **OPTIONS) == expected
    assert dpq.median(replace(query, type="float"), column="x", epsilon=1).type == "float"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT x FROM tt", "Table with name tt does not exist"),
        ("SELECT x FRM t", "sql must be a query that DuckDB can run: Parser Error"),
        ("SELECT xx FROM t", 'Referenced column "xx" not found'),
        ("SELECT 1; SELECT 2", "sql must be one SELECT statement"),
        ("DELETE FROM t", "sql must be one SELECT statement"),
        ("COPY t TO 'out.csv'", "sql must be one SELECT statement"),
    ],
)
def test_bad_queries(folder: Path, sql: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_data(Named(sql, is_query=True, database=str(folder / "numbers.duckdb")), "x")


def test_bad_databases(folder: Path) -> None:
    query = Named("SELECT 1 AS x", is_query=True)
    with pytest.raises(FileNotFoundError, match=r"did you mean 'numbers\.duckdb'"):
        open_data(replace(query, database=str(folder / "number.duckdb")), "x")
    with pytest.raises(OSError, match="check that it is a DuckDB file"):
        open_data(replace(query, database=str(folder / "a.csv")), "x")


def test_remote_files_go_through_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its extension for them, the message says how to get it."""
    asked: list[str] = []

    class Offline:
        def sql(self, query: str) -> Any:
            asked.append(query)
            raise duckdb.IOException('Extension "httpfs" not found')

    monkeypatch.setattr(relations, "_connect", Offline)
    with pytest.raises(dpq.MissingBackend, match="INSTALL httpfs"):
        dpq.median("https://example.org/a.parquet?v=1", column="x", epsilon=1)
    assert asked == ["FROM read_parquet(['https://example.org/a.parquet?v=1'])"]


def test_names_that_need_quotes(tmp_path: Path) -> None:
    odd = 'an "odd" `name`'
    table = pa.table({odd: pa.array([dt.date(2024, 1, 1)] * 300)})
    for data in (pl.DataFrame(table).lazy(), duckdb.from_arrow(table)):
        assert dpq.median(data, column=odd, epsilon=50).value == dt.date(2024, 1, 1)
    cells = "\n".join(['"an ""odd"" `name`"', *["7"] * 300])
    (tmp_path / "a.csv").write_text(cells)
    assert dpq.median(f"{tmp_path}/*.csv", column=odd, epsilon=50).value == 7


def test_the_connection_of_a_relation_may_die() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 42.5 AS x FROM range(9)")
    source = open_data(relation, "x").source("x")
    connection.close()
    with pytest.raises(dpq.ScanFailed, match=r"^DuckDB failed while the data was read") as caught:
        source.view(dpq.UniformGrid(0.0, 99.0), "upper")
    assert "42" not in str(caught.value)


def test_a_table_is_a_frozen_value() -> None:
    table = open_table(pl.LazyFrame(RECORDS))
    assert isinstance(table, Table)
    with pytest.raises(AttributeError):
        table.frame = None  # type: ignore[misc]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_nanoseconds_of_parquet_files(tmp_path: Path, zone: str | None) -> None:
    """DuckDB has a type of its own for those with a zone; the last record is as far as can be."""
    ticks = [10**18 + k * 10**12 + 999 for k in range(500)]
    moments = pa.array([*ticks, 2**63 - 1], pa.int64()).view(pa.timestamp("ns", zone))
    table = pa.table({"x": moments, "g": ["a"] * len(moments)})
    path = str(tmp_path / "moments.parquet")
    pq.write_table(table, path)
    asked: tuple[dict[str, Any], ...] = ({}, {"by": "g", "keys": ["a"]})
    for options in asked:
        found = (
            dpq.quantiles(data, [0.5], column="x", epsilon=1, rng=random.Random(1), **options)
            for data in (path, table)
        )
        assert len({made.values for made in found}) == 1


def test_a_column_of_a_file_has_a_name(folder: Path) -> None:
    for name in (folder / "a.csv", folder / "a.parquet", f"{folder}/*.csv", "SELECT 1 AS x"):
        with pytest.raises(TypeError, match="column must be the name of a column, got 7"):
            dpq.median(name, column=7, epsilon=1)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="must be the name of a column, got 7"):
            dpq.describe(name, [7], epsilon=1)  # type: ignore[list-item]
