"""Safe values: what is clamped, and that nothing else changes."""

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.sources.engine import safe
from dpquantiles.sources.tables import Table, open_table
from dpquantiles.sources.units import bound_rows, units_beside
from tests.conftest import Postgres

duckdb = pytest.importorskip("duckdb")

TOP = 2**63 - 1
LAST = dt.datetime(9999, 12, 30)


def cells(table: Table, column: str = "x") -> list[Any]:
    """The cells of a column, in the order of the column i, which Python cannot hold as text."""
    found = table.frame.collect(backend="pyarrow").sort("i")
    return list(found[column].to_list())


def duckdb_table(stated: str, values: str) -> Table:
    rows = f"unnest({values}::{stated}[]) AS x, unnest(range(len({values}))) AS i"
    return open_table(duckdb.sql(f"SELECT {rows}"))


HARMLESS = {
    "HUGEINT": "[5, -7, NULL]",
    "UHUGEINT": "[5, 7, NULL]",
    "DECIMAL(38, 9)": "[0.5, -7, NULL]",
    "DATE": "['2020-02-29', '0001-01-01', NULL]",
    "TIMESTAMP": "['2020-02-29 01:02:03.456789', '0001-01-01', NULL]",
    "TIMESTAMPTZ": "['2020-02-29 01:02:03.456789', '1969-12-31', NULL]",
    "TIMESTAMP_S": "['2020-02-29 01:02:03', '1969-12-31 23:59:59', NULL]",
}


@pytest.mark.parametrize("stated", HARMLESS)
def test_harmless_values_stay_what_they_are(stated: str) -> None:
    table = duckdb_table(stated, HARMLESS[stated])
    once = safe(table, ["x"])
    assert cells(once) == cells(table)
    again = safe(once, ["x"])
    assert again.frame.collect_schema() == once.frame.collect_schema()
    assert cells(again) == cells(once)


def test_wide_integers_clamp() -> None:
    for stated, values in (("HUGEINT", [2**127 - 1, -(2**127)]), ("UHUGEINT", [2**128 - 1, 0])):
        found = cells(safe(duckdb_table(stated, str([str(value) for value in values])), ["x"]))
        assert found == [TOP, -TOP - 1 if stated == "HUGEINT" else 0]
    lazy = pl.LazyFrame({"x": pl.Series([2**127 - 1, -5], dtype=pl.Int128), "i": [0, 1]})
    assert safe(open_table(lazy), ["x"]).frame.collect()["x"].to_list() == [TOP, -5]


def test_moments_are_whole_microseconds_rounded_down() -> None:
    values = "['1969-12-31 23:59:59.999999999', '2020-01-01 00:00:00.000001999']"
    found = cells(safe(duckdb_table("TIMESTAMP_NS", values), ["x"]))
    assert found == [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(2020, 1, 1, 0, 0, 0, 1),
    ]


def test_decimals_and_times_of_postgres_clamp(postgres: Postgres) -> None:
    rows = {
        0: ("1.5", "2020-02-29", "2020-02-29 01:02:03.456789"),
        1: ("Infinity", "infinity", "infinity"),
        2: ("-1e400", "-infinity", "4000-01-01 BC"),
        3: ("NaN", "20000-01-01", "20000-01-01"),
        4: ("0.12345678901234567", "0001-01-01", "0001-01-02"),
    }
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS safe_values")
        connection.execute("CREATE TABLE safe_values (i int, d numeric, day date, t timestamp)")
        for place, row in rows.items():
            connection.execute("INSERT INTO safe_values VALUES (%s, %s, %s, %s)", (place, *row))
        connection.execute("INSERT INTO safe_values VALUES (5, NULL, NULL, NULL)")
    reader = postgres.ibis()
    table = safe(open_table(reader.table("safe_values")), ["d", "day", "t"])
    far, digits = Decimal(10**20), Decimal("0.123456789")
    assert cells(table, "d") == [Decimal("1.5"), far, -far, None, digits, None]
    day = dt.date(2020, 2, 29)
    assert cells(table, "day") == [day, dt.date.max, dt.date.min, dt.date.max, dt.date.min, None]
    first = dt.datetime(1, 1, 2)
    moment = dt.datetime(2020, 2, 29, 1, 2, 3, 456_789)
    assert cells(table, "t") == [moment, LAST, first, LAST, first, None]
    reader.disconnect()


def test_units_that_are_values_too_stay_apart() -> None:
    """Clamped, both names would be one, and one unit would take the place of another."""
    table = duckdb_table("UHUGEINT", f"['{2**127}', '{2**127 + 1}', '5']")
    rows, unit = units_beside(table, "x", ["x", "i"])
    kept = bound_rows(rows, unit, 1, ["x", "i"], random.Random(1))
    assert cells(kept) == [TOP, TOP, 5]


def test_a_column_under_the_name_that_units_get() -> None:
    data = duckdb.sql("SELECT range AS dpq_u, range % 9 AS person FROM range(90)")
    release = dpq.median(data, column="dpq_u", unit="person", epsilon=1, bounds=(0, 100))
    assert release.provenance["size"] == 9


def test_intervals_of_duckdb_by_group() -> None:
    lengths = [dt.timedelta(days=k - 50, microseconds=7 * k) for k in range(200)]
    table = pa.table({"x": pa.array(lengths, pa.duration("us")), "g": ["a", "b"] * 100})
    asked: dict[str, Any] = {"column": "x", "by": "g", "keys": ["a", "b"], "epsilon": 5}
    found = dpq.quartiles(duckdb.from_arrow(table), rng=random.Random(3), **asked)
    assert found == dpq.quartiles(table, rng=random.Random(3), **asked)
