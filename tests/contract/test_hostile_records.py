"""One record decides nothing but answers: no value of any type makes a call fail or speak."""

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.errors import UnreadableData
from dpquantiles.grid import default_grid
from dpquantiles.kinds import BY_NAME
from tests.conftest import Postgres, require_library
from tests.contract import hostile_sql
from tests.contract.hostile_records import (
    ARROW,
    FEW,
    GROUPS,
    MODES,
    UNITS,
    Case,
    Shown,
    arrow,
    assert_indifferent,
    outcome,
    whole,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]


def _duckdb(table: pa.Table) -> Any:
    require_library("DuckDB", "duckdb")
    import duckdb

    return duckdb.from_arrow(table)


def _dask(table: pa.Table) -> Any:
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    return frame.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2)


NULLABLE = {
    **{pa.int8(): pd.Int8Dtype(), pa.uint8(): pd.UInt8Dtype(), pa.int64(): pd.Int64Dtype()},
    **{pa.uint64(): pd.UInt64Dtype(), pa.float64(): pd.Float64Dtype()},
    pa.bool_(): pd.BooleanDtype(),
}
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas of arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=NULLABLE.get),
    "polars": pl.DataFrame,
    "polars lazy": lambda table: pl.DataFrame(table).lazy(),
    "duckdb": _duckdb,
    "dask": _dask,
}


def libraries_and_types() -> Iterator[tuple[str, Any]]:
    """What each library takes; DuckDB converts some times of Arrow itself, before it has them."""
    narrow = [t for t in ARROW if pa.types.is_decimal256(t) or getattr(t, "scale", 0) < 0]
    intervals = [pa.month_day_nano_interval()]
    coarse = [t for t in ARROW if getattr(t, "unit", None) in ("s", "ms")]
    scaled = [t for t in coarse if pa.types.is_duration(t) or getattr(t, "tz", None)]
    refused = {
        "polars": [*narrow, *intervals, pa.timestamp("s", "+05:30")],
        "duckdb": [*narrow, pa.float16(), *scaled],
    }
    for library in LIBRARIES:
        types = NULLABLE if library == "pandas nullable" else ARROW
        left_out = refused.get(library.partition(" ")[0], [])
        yield from ((library, stated) for stated in types if stated not in left_out)


CASES = list(libraries_and_types())
DASKS = (pa.uint64(), pa.decimal128(38, 0), pa.date32(), pa.timestamp("s"), pa.duration("ms"))
"""Dask takes its time, and its partitions are tables of pandas."""


def _is_slow(library: str, stated: Any) -> bool:
    return library == "dask" and stated not in DASKS


QUICK = [case for case in CASES if not _is_slow(*case)]


@pytest.mark.parametrize(("library", "stated"), QUICK, ids=str)
def test_tables_of_arrow_types(library: str, stated: Any) -> None:
    harmless, hostile = (LIBRARIES[library](arrow(stated, hostile=odd)) for odd in (False, True))
    for mode in FEW:
        assert_indifferent(harmless, hostile, mode)


@pytest.mark.slow
@pytest.mark.parametrize(("library", "stated"), CASES, ids=str)
def test_tables_of_arrow_types_in_all_modes(library: str, stated: Any) -> None:
    harmless, hostile = (LIBRARIES[library](arrow(stated, hostile=odd)) for odd in (False, True))
    for mode in MODES:
        assert outcome(hostile, mode) == outcome(harmless, mode)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["Int128", "UInt128"])
@pytest.mark.parametrize("mode", MODES)
def test_integers_of_128_bits_in_polars(lazy: bool, name: str, mode: str) -> None:
    stated: Any = getattr(pl, name, None)
    if stated is None:
        pytest.skip(f"this Polars has no {name}")
    case = whole(128, signed=name == "Int128")
    series = (pl.Series(case.records(hostile=odd), dtype=stated) for odd in (False, True))
    tables = [pl.DataFrame({"v": values, "g": GROUPS, "u": UNITS}) for values in series]
    harmless, hostile = (table.lazy() if lazy else table for table in tables)
    assert_indifferent(harmless, hostile, mode)


def test_many_integers_of_128_bits_in_polars() -> None:
    """Where so many lie beyond 64 bits that they are fetched by their ends."""
    stated: Any = getattr(pl, "Int128", None)
    if stated is None:
        pytest.skip("this Polars has no Int128")
    values = pl.Series([2**60 + k if k % 2 else 2**100 + k for k in range(200)], dtype=stated)
    grid = dpq.FloatGrid(-(2**63), 2**63 - 1, integral=True)
    table = pl.LazyFrame({"v": values})
    made = dpq.quantiles(table, [0.2, 0.8], column="v", epsilon=9.0, grid=grid)
    assert made.values[0] == pytest.approx(2**60, rel=0.01)
    assert made.values[1] >= 2**62


class Spiteful:
    """What raises however it is looked at."""

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("secret")

    __float__ = __int__ = __eq__ = __lt__ = __bool__ = __hash__ = __str__ = __repr__ = _raise
    __index__ = __round__ = __abs__ = __len__ = __iter__ = _raise


OBJECTS = [
    *("text", b"bytes", "", Spiteful(), object(), [1], {}, 1j, None, pd.NA, pd.NaT),
    *(10**400, -(10**400), Fraction(1, 3), Fraction(10**400), math.nan, math.inf, True),
    *(Decimal("sNaN"), Decimal("Infinity"), Decimal("1e999999"), Decimal("1e-999999")),
    *(np.float32("nan"), np.int8(-128), np.datetime64("NaT", "s"), np.timedelta64(2**62, "D")),
    *(dt.date.min, dt.datetime.max, dt.datetime.min.replace(tzinfo=dt.UTC), dt.timedelta.max),
]
PLAIN: dict[str, Callable[[int], Any]] = {
    **{"int": int, "float": float, "decimal": Decimal, "bool": lambda k: k % 3 == 0},
    "date": lambda k: dt.date(2020, 1, 1 + k % 28),
    "datetime": lambda k: dt.datetime(2020, 1, 1 + k % 28),
    "timedelta": lambda k: dt.timedelta(k),
}


@pytest.mark.parametrize("mode", ["plain", "by and unit"])
@pytest.mark.parametrize("name", PLAIN)
def test_objects_of_a_stated_type(name: str, mode: str) -> None:
    """Stated by a grid: of a column of Python objects the records tell the type otherwise."""
    grid = default_grid(BY_NAME[name])
    harmless = [PLAIN[name](k) for k in range(len(UNITS))]
    columns = {"g": GROUPS, "u": UNITS}
    plain = pd.DataFrame({"v": pd.Series(harmless, dtype=object), **columns})
    expected = outcome(plain, mode, grid=grid)
    assert isinstance(expected, Shown)
    for first in range(0, len(OBJECTS), 8):
        records = Case(harmless, OBJECTS[first : first + 8]).records(hostile=True)
        values = pd.Series(records, dtype=object)
        assert outcome(pd.DataFrame({"v": values, **columns}), mode, grid=grid) == expected


NAMED: dict[str, dict[str, Any]] = {
    "unit": {"unit": "n"},
    "keys": {"by": "n", "keys": ["a", "b"]},
    "private keys": {"by": "n", "keys": "private", "neighbors": "add-remove", "delta": 0.5},
    "both": {"by": "n", "keys": ["a", "b"], "unit": "n", "neighbors": "add-remove"},
}


@pytest.mark.parametrize("mode", NAMED)
def test_objects_as_names(mode: str) -> None:
    """Of units and of groups: a signaling NaN raises when pandas asks whether it is missing."""
    asked: dict[str, Any] = {"column": "v", "epsilon": 9.0, **NAMED[mode]}
    for hostile in OBJECTS:
        names = pd.Series([*GROUPS[1:], hostile], dtype=object)
        data = pd.DataFrame({"v": UNITS, "n": names})
        assert dpq.quantiles(data, [0.5], rng=random.Random(5), **asked).q == (0.5,)


def test_objects_as_keys_in_dask() -> None:
    require_library("Dask", "dask")
    import dask
    import dask.dataframe as dd

    frame: Any = dd
    names = pd.Series([*GROUPS[1:], Decimal("sNaN")], dtype=object)
    with dask.config.set({"dataframe.convert-string": False}):
        data = frame.from_pandas(pd.DataFrame({"v": UNITS, "n": names}), npartitions=2)
        made = dpq.quantiles(data, [0.5], column="v", by="n", keys=["a", "b"], epsilon=9.0)
    assert len(made.values) == 2


def _made(run: Callable[[str], Any], stated: str, case: hostile_sql.Case) -> Iterator[str]:
    """The names of two tables, without and with the hostile records."""
    for hostile in (False, True):
        name = f"hostile_{int(hostile)}"
        run(f"DROP TABLE IF EXISTS {name}")
        run(f"CREATE TABLE {name} AS {hostile_sql.select(stated, case, hostile=hostile)}")
        yield name


@pytest.mark.parametrize("stated", hostile_sql.DUCKDB)
@pytest.mark.parametrize("most", [1, 10**6])
def test_types_of_duckdb(stated: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that are fetched, and groups that are too large for that."""
    monkeypatch.setattr("dpquantiles.sources.group_scans.MOST_ROWS", most)
    monkeypatch.setattr("dpquantiles.views.array.PORTION", most)
    require_library("DuckDB", "duckdb")
    import duckdb

    connection = duckdb.connect()
    names = _made(connection.execute, stated, hostile_sql.DUCKDB[stated])
    harmless, hostile = (connection.table(name) for name in names)
    for mode in FEW if most > 1 else ["by"]:
        assert_indifferent(harmless, hostile, mode)


OF_IBIS = ("HUGEINT", "UBIGINT", "DECIMAL(38, 0)", "DATE", "TIMESTAMP_S", "TIMESTAMP_NS")
"""What Ibis reads from DuckDB through types of its own."""


@pytest.mark.parametrize("stated", OF_IBIS)
def test_types_of_duckdb_behind_ibis(stated: str) -> None:
    require_library("Ibis", "duckdb", "ibis")
    import ibis

    connection = ibis.duckdb.connect()
    names = _made(connection.con.execute, stated, hostile_sql.DUCKDB[stated])
    harmless, hostile = (connection.table(name) for name in names)
    for mode in FEW:
        assert_indifferent(harmless, hostile, mode)


@pytest.mark.parametrize("stated", hostile_sql.POSTGRES)
def test_types_of_postgres(postgres: Postgres, stated: str) -> None:
    with postgres.connect() as connection:
        names = list(_made(connection.execute, stated, hostile_sql.POSTGRES[stated]))
    reader = postgres.ibis()
    harmless, hostile = (reader.table(name) for name in names)
    for mode in FEW:
        assert_indifferent(harmless, hostile, mode)
    reader.disconnect()


@pytest.mark.parametrize("stated", ["money", "oid"])
def test_types_that_postgres_compares_with_themselves(
    postgres: Postgres, stated: str, tmp_path: Path
) -> None:
    """Ibis takes them for numbers; they are refused by type, and nothing is charged."""
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS hostile_type")
        connection.execute(f"CREATE TABLE hostile_type (v {stated}, g text, u integer)")
    reader = postgres.ibis()
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=9.0)
    asked: dict[str, Any] = {"column": "v", "epsilon": 1, "ledger": ledger, "dataset": "d"}
    ways: list[dict[str, Any]] = [{}, {"by": "g", "keys": ["a"]}, {"unit": "u"}]
    for way in ways:
        with pytest.raises(TypeError, match=r"cast it to numeric in a query"):
            dpq.quantiles(reader.table("hostile_type"), [0.5], **asked, **way)
    assert ledger.spent("d") == 0
    reader.disconnect()


def test_a_dead_connection_to_postgres_is_not_charged(postgres: Postgres, tmp_path: Path) -> None:
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS hostile_dead")
        connection.execute("CREATE TABLE hostile_dead (v integer)")
    reader = postgres.ibis()
    table = reader.table("hostile_dead")
    reader.disconnect()
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=9.0)
    with pytest.raises(UnreadableData, match="check the connection"):
        dpq.quantiles(table, [0.5], column="v", epsilon=1, ledger=ledger, dataset="d")
    assert ledger.spent("d") == 0


def test_names_in_postgres(postgres: Postgres) -> None:
    """Enumerations are cast to text; text that the client could not write does not decide."""
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS hostile_names")
        connection.execute("DROP TYPE IF EXISTS mood")
        connection.execute("CREATE TYPE mood AS ENUM ('a', 'b')")
        names = "(CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END)::mood AS m"
        text = "CASE i WHEN 5 THEN '€ж' ELSE 'a' END AS g"
        rows = "generate_series(0, 99) AS r(i)"
        connection.execute(
            f"CREATE TABLE hostile_names AS SELECT i AS v, {names}, {text} FROM {rows}"
        )
    reader = postgres.ibis()
    table = reader.table("hostile_names")
    asked: dict[str, Any] = {"column": "v", "epsilon": 9.0}
    both = dpq.quantiles(table, [0.5], by="m", keys=["a", "b"], **asked)
    assert [len(group) for group in both.values] == [1, 1]
    assert len(dpq.quantiles(table, [0.5], unit="m", **asked).values) == 1
    reader.con.execute("SET client_encoding TO 'LATIN1'")
    asked |= {"keys": "private", "neighbors": "add-remove", "delta": 0.1}
    assert ("a",) in dpq.quantiles(table, [0.5], by="g", **asked).keys
    assert reader.con.execute("SHOW client_encoding").fetchone() == ("LATIN1",)
    reader.disconnect()


SPARKS = ("DOUBLE", "DECIMAL(38, 38)", "DATE", "TIMESTAMP", "INTERVAL DAY TO SECOND")
"""What the JVM hands over in a form of its own; a release takes seconds there."""


@pytest.mark.parametrize(
    ("stated", "mode"),
    [
        ("TIMESTAMP_NTZ", "by"),
        *(pytest.param(stated, mode, marks=pytest.mark.slow) for stated in SPARKS for mode in FEW),
    ],
)
def test_types_of_spark(spark: Any, stated: str, mode: str) -> None:
    case, rows = hostile_sql.SPARK[stated], hostile_sql.SPARK_ROWS
    harmless, hostile = (
        spark.sql(hostile_sql.select(stated, case, hostile=odd, rows=rows)) for odd in (False, True)
    )
    assert_indifferent(harmless, hostile, mode)


def test_numbers_of_spark_that_are_fetched_together(spark: Any) -> None:
    numeric = [name for name in hostile_sql.SPARK if name.endswith(("INT", "INTEGER", ")"))]
    numeric += ["FLOAT", "DOUBLE"]
    cells = (hostile_sql.value(name, hostile_sql.SPARK[name], hostile=True) for name in numeric)
    values = ", ".join(f"{cell} AS v{place}" for place, cell in enumerate(cells))
    data = spark.sql(f"SELECT {values} FROM {hostile_sql.SPARK_ROWS}")
    names = [f"v{place}" for place in range(len(numeric))]
    described = dpq.describe(data, names, q=[0.5], epsilon=9.0, mechanism="ind_exp")
    kinds = [made.type for made in described.releases.values()]
    assert kinds == ["int"] * 4 + ["decimal"] * 4 + ["float"] * 2
