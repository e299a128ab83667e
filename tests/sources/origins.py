"""The same column in every engine: how each test table is made."""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import require_library

N = 1500
RNG = np.random.default_rng(20240531)
START = dt.datetime(2019, 12, 31, 23, 59, 59, 600_000)
MOMENTS = [START + dt.timedelta(microseconds=int(k)) for k in RNG.integers(0, 10**14, N)]


def gaps(records: Any) -> list[Any]:
    """Every seventeenth record missing."""
    return [None if k % 17 == 0 else record for k, record in enumerate(records)]


def _odd_floats() -> list[float]:
    odd = {11: math.nan, 13: math.inf, 7: -math.inf, 5: -0.0, 19: 5e-324}
    numbers = RNG.normal(size=N).tolist()
    return [next((v for m, v in odd.items() if k % m == 0), x) for k, x in enumerate(numbers)]


COLUMNS: dict[str, pa.Array] = {
    "floats": pa.array(RNG.normal(50_000, 15_000, N)),
    "skewed": pa.array(np.exp(RNG.normal(0, 12, N))),
    "odd floats": pa.array(gaps(_odd_floats()), pa.float64(), from_pandas=False),
    "single": pa.array(RNG.normal(size=N).astype(np.float32)),
    "integers": pa.array(gaps(RNG.integers(-1000, 1000, N).tolist()), pa.int64()),
    "huge integers": pa.array(RNG.integers(-(2**63), 2**63 - 1, N), pa.int64()),
    "ties": pa.array(np.repeat([3, 3, 7], N // 3), pa.int32()),
    "booleans": pa.array(gaps((RNG.random(N) < 0.3).tolist()), pa.bool_()),
    "decimals": pa.array(
        gaps(Decimal(int(k)).scaleb(-2) for k in RNG.integers(-(10**6), 10**6, N)),
        pa.decimal128(10, 2),
    ),
    "wide decimals": pa.array(
        [Decimal(int(k)).scaleb(-9) for k in RNG.integers(0, 10**12, N)], pa.decimal128(38, 9)
    ),
    "dates": pa.array(gaps(moment.date() for moment in MOMENTS), pa.date32()),
    "datetimes": pa.array(gaps(MOMENTS), pa.timestamp("us")),
    "zoned": pa.array(gaps(MOMENTS), pa.timestamp("us", "UTC")),
    "durations": pa.array(gaps(moment - START for moment in MOMENTS), pa.duration("us")),
    "all missing": pa.nulls(40, pa.float64()),
    "empty": pa.array([], pa.int64()),
}

POSTGRES_TYPES = {
    **{pa.float64(): "double precision", pa.float32(): "real", pa.bool_(): "boolean"},
    **{pa.int64(): "bigint", pa.int32(): "integer", pa.date32(): "date"},
    **{pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz"},
    **{pa.decimal128(10, 2): "numeric(10, 2)", pa.decimal128(38, 9): "numeric(38, 9)"},
}

Make = Callable[[pa.Table], Any]


def _pandas(table: pa.Table) -> Any:
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _modin(table: pa.Table) -> Any:
    why = "Modin needs pandas below 2.4, all other tests run on a newer one: make test-modin"
    mpd = pytest.importorskip("modin.pandas", reason=why)
    return mpd.DataFrame(_pandas(table))


def _polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.DataFrame(table)


def _polars_files(table: pa.Table, folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(_files(table, folder))


def in_duckdb(table: pa.Table) -> Any:
    """As a relation of DuckDB."""
    require_library("DuckDB", "duckdb")
    import duckdb

    return duckdb.from_arrow(table)


def in_ibis(table: pa.Table) -> Any:
    """As a table of DuckDB behind Ibis."""
    require_library("Ibis", "ibis", "duckdb")
    import ibis

    return ibis.memtable(table)


def in_dask(table: pa.Table, parts: int = 2) -> Any:
    """As a frame of Dask with the types of Arrow."""
    require_library("Dask", "dask")
    import dask.dataframe as dd
    import pandas as pd

    frame: Any = dd
    return frame.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=parts)


def _files(table: pa.Table, folder: Path) -> str:
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), folder / "a.parquet")
    pq.write_table(table.slice(half), folder / "b.parquet")
    return str(folder / "*.parquet")


def _dask(table: pa.Table) -> Any:
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    return frame.from_pandas(_pandas(table), npartitions=3)


def in_spark(table: pa.Table, session: Any) -> Any:
    """As a data frame of Spark. Spark 3 takes no tables of Arrow, and Connect no empty ones."""
    if int(session.version.partition(".")[0]) >= 4 and table.num_rows:
        return session.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = [tuple(row.values()) for row in table.to_pylist()]
    return session.createDataFrame(rows, from_arrow_schema(table.schema))


def _spark(table: pa.Table, session: Any) -> Any:
    frame = in_spark(table, session)
    if table.schema.field("x").type == pa.timestamp("us"):
        return frame.selectExpr("CAST(x AS TIMESTAMP_NTZ) AS x")
    return frame


def in_postgres(table: pa.Table, types: Mapping[str, str], server: Any, name: str) -> Any:
    """As a table of PostgreSQL behind Ibis, with columns of these types."""
    columns = ", ".join(f"{column} {stated}" for column, stated in types.items())
    with server.connect() as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(table[column].to_pylist() for column in types), strict=True):
                copy.write_row(row)
    return server.ibis().table(name)


def _postgres(table: pa.Table, server: Any) -> Any:
    stated = POSTGRES_TYPES.get(table.schema.field("x").type)
    if stated is None:
        pytest.skip("Ibis does not read this type of PostgreSQL exactly, and it is refused")
    return in_postgres(table, {"x": stated}, server, "t")


def make(engine: str, table: pa.Table, request: pytest.FixtureRequest) -> Any:
    """A table with the column x in an engine."""
    memory: dict[str, Make] = {"pandas": _pandas, "modin": _modin, "polars": _polars}
    memory |= {"pyarrow": lambda same: same, "polars lazy": lambda t: _polars(t).lazy()}
    memory |= {"duckdb": in_duckdb, "dask": _dask, "ibis": in_ibis}
    if engine == "ibis" and table.schema.field("x").type == pa.duration("us"):
        pytest.skip("Ibis rounds intervals, and they are refused")
    if engine in memory:
        return memory[engine](table)
    if engine == "polars files":
        return _polars_files(table, request.getfixturevalue("tmp_path"))
    if engine == "duckdb files":
        require_library("DuckDB", "duckdb")
        if table.schema.field("x").type == pa.duration("us"):
            pytest.skip("Parquet files have no durations, only numbers that PyArrow knows for them")
        return _files(table, request.getfixturevalue("tmp_path"))
    if engine == "spark":
        return _spark(table, request.getfixturevalue("spark"))
    return _postgres(table, request.getfixturevalue("postgres"))


IN_MEMORY = ("pandas", "modin", "polars", "pyarrow")
LAZY = {
    **{"polars lazy": "polars.Polars", "polars files": "polars.Polars"},
    **{"duckdb": "duckdb.DuckDB", "duckdb files": "duckdb.DuckDB"},
    **{"dask": "dask.Dask", "spark": "pyspark.Spark"},
    **{"ibis": "ibis.Ibis", "postgres": "ibis.Ibis"},
}
"""Lazy tables, and which engine reads each."""

SLOW = ("dask", "spark")
