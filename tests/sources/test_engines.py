"""What single engines have of their own: odd values, dead connections, live tables."""

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.grid import default_grid
from dpquantiles.kinds import DecimalUnits
from dpquantiles.sources.bins import Even, Intervals
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.source import open_data
from tests.conftest import Postgres
from tests.sources.origins import LAZY, make

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

ODD_VALUES = {
    "double precision": "('NaN'), ('Infinity'), ('-Infinity'), (1e-320), (1.7e308), (NULL)",
    "numeric": "('NaN'), ('Infinity'), ('-Infinity'), (1e100), (1.23456789012345), (NULL)",
    "numeric(10, 2)": "('NaN'), (1.25), (NULL)",
    "timestamp": "('infinity'), ('-infinity'), ('2024-01-01 00:00:00.6'), (NULL)",
    "timestamptz": "('infinity'), ('-infinity'), ('2024-01-01 00:00:00.6+02'), (NULL)",
    "date": "('infinity'), ('-infinity'), ('2024-01-01'), (NULL)",
    "boolean": "(true), (false), (NULL)",
}


def postgres_table(postgres: Postgres, stated: str, values: str, name: str = "odd") -> Any:
    with postgres.connect() as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} (x {stated})")
        connection.execute(f"INSERT INTO {name} VALUES {values}")
        connection.execute(f"INSERT INTO {name} SELECT a.x FROM {name} a, generate_series(1, 60)")
    return postgres.ibis().table(name)


@pytest.mark.parametrize("stated", ODD_VALUES)
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_odd_values_of_postgres_never_raise(
    postgres: Postgres, stated: str, neighbors: str
) -> None:
    data = postgres_table(postgres, stated, ODD_VALUES[stated])
    options: dict[str, Any] = {"epsilon": 1, "neighbors": neighbors, "rng": random.Random(1)}
    assert len(dpq.quantiles(data, [0, 0.5, 1], column="x", **options)) == 3


def test_infinite_decimals_of_postgres_clamp(postgres: Postgres) -> None:
    data = postgres_table(postgres, "numeric", "('Infinity'), (1.5), ('-Infinity'), ('NaN')")
    low, middle, high = dpq.quantiles(
        data, [0.1, 0.5, 0.9], column="x", epsilon=100, neighbors="add-remove"
    )
    grid = default_grid(DecimalUnits())
    first, last = grid.decode(np.array([0, grid.size - 1]))
    assert (low, middle, high) == (first, Decimal("1.5"), last)


def test_intervals_behind_ibis_are_refused(postgres: Postgres) -> None:
    data = postgres_table(postgres, "interval", "('1 day')")
    with pytest.raises(TypeError, match=r"^column 'x': .* got intervals, which Ibis rounds"):
        dpq.median(data, column="x", epsilon=1)


def test_a_connection_that_dies_between_two_scans(postgres: Postgres) -> None:
    data = postgres_table(postgres, "double precision", "(41.25), (42.5), (43.125)", "dying")
    source = open_data(data, "x").source("x")
    view = source.view(default_grid(source.kind, (0, 10**9)), "drop")
    with postgres.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    with pytest.raises(dpq.ScanFailed, match=r"^Ibis failed while the data was read") as caught:
        view.order_statistics(np.arange(view.n))
    assert not any(part in str(caught.value) for part in ("41", "42", "43", "dying"))
    with pytest.raises(dpq.ScanFailed), source.pinned() as still:
        still.view(view.grid, "drop")


def test_a_table_that_grows_between_two_scans(postgres: Postgres) -> None:
    data = postgres_table(postgres, "double precision", "(1.25), (1.5), (1.75)", "growing")
    source = open_data(data, "x").source("x")
    view = source.view(default_grid(source.kind, (0, 10**9)), "drop")
    with postgres.connect() as connection:
        connection.execute("INSERT INTO growing VALUES (1.5)")
    with pytest.raises(dpq.ScanFailed, match="changed between two scans"):
        view.order_statistics(np.arange(view.n))


def test_spark_reads_names_that_need_quotes_and_odd_floats(spark: Any) -> None:
    values = [(float("nan"),), (float("inf"),), (-0.0,), (None,), (5e-324,), (1.7e308,)] * 40
    data = spark.createDataFrame(values, "`an odd.name` double")
    data = data.withColumnRenamed("an odd.name", "odd name")
    for neighbors in ("swap", "add-remove"):
        release = dpq.quantiles(
            data, [0, 0.5, 1], column="odd name", epsilon=1, neighbors=neighbors
        )
        assert len(release.values) == 3


def test_spark_fails_without_quoting_data(spark: Any) -> None:
    data = spark.sql("SELECT CAST(raise_error('secret 42') AS DOUBLE) AS x")
    with pytest.raises(dpq.ScanFailed, match=r"^Spark failed while the data was read") as caught:
        dpq.median(data, column="x", epsilon=1)
    assert "secret" not in str(caught.value)


FINE = [Decimal(k).scaleb(-9) for k in (1, 499_999_999, 500_000_001, 12_345_678_901_234_567_890)]
"""With one more digit than doubles tell apart, or than a type has by default."""


@pytest.mark.parametrize("engine", LAZY)
def test_ranges_of_decimals_are_exact(engine: str, request: pytest.FixtureRequest) -> None:
    values = [*FINE, *(-value for value in FINE)]
    table = pa.table({"x": pa.array(values, pa.decimal128(38, 9))})
    source = open_data(make(engine, table, request), "x").source("x")
    assert isinstance(source, LazyColumn)
    for value in values:
        assert source.numbers.fetch([(value, value)]).tolist() == [value]
    ranges = [(value, value) for value in sorted(values)[::3]]
    assert sorted(source.numbers.fetch(ranges).tolist()) == sorted(values)[::3]


@pytest.mark.parametrize("engine", LAZY)
def test_intervals_of_parts_hold_their_own_records_alone(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """Missing records are in none of them, wherever zero lies, and neither are those between."""
    values = np.random.default_rng(5).uniform(-8, 8, 400)
    values[::7] = np.nan
    data = make(engine, pa.table({"x": pa.array(values, from_pandas=True)}), request)
    source = open_data(data, "x").source("x")
    assert isinstance(source, LazyColumn)
    parts = Even(-8.0, 8.0, bins=4, parts=16)  # zero lies in part 31
    intervals = Intervals(np.array([3, 16, 20, 33]), np.array([7, 19, 31, 47]))
    known = np.sort(values[~np.isnan(values)])
    places = parts.places(known)
    own = [known[(a <= places) & (places <= b)] for a, b in zip(*intervals, strict=True)]
    found = source.numbers.count_within(parts, intervals)
    assert (found.bins.tolist(), found.missing) == ([0, 1, 2, 3], 0)
    assert found.counts.tolist() == list(map(len, own))
    assert found.low.to_list() == [some[0] for some in own]
    assert found.high.to_list() == [some[-1] for some in own]
    fetched = np.sort(source.numbers.fetch_within(parts, intervals))
    np.testing.assert_array_equal(fetched, np.concatenate(own))
