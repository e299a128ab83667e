"""Releases say what their grid rounds and clamps of the column's type, whatever the records are."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.present import releases
from tests.sources.origins import make

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

UINT64 = "Values above 9,223,372,036,854,774,784 count as 9,223,372,036,854,774,784 (the column's"
EXACT = "-9,007,199,254,740,992 to 9,007,199,254,740,992"
BITS = f"Values outside {EXACT} are rounded to 53 significant bits."
PLACES = "Values are rounded to 6 decimal places (the column's type, decimal(38, 8), is finer)."
NANOSECONDS = "Times are rounded down to microseconds (the column's type, datetime[ns], is finer)."

STAMP = np.datetime64("2024-01-01T00:00:00.123456789", "ns")
DECLARED: dict[str, tuple[pa.Array, list[str]]] = {
    "uint64": (pa.array([1, 2, 2**64 - 1] * 99, pa.uint64()), [BITS, UINT64]),
    "eight places": (pa.array([Decimal("0.12345678")] * 99, pa.decimal128(38, 8)), [PLACES]),
    "nanoseconds": (pa.array([STAMP] * 99, pa.timestamp("ns")), [NANOSECONDS]),
    "doubles": (pa.array([0.1, 1e39] * 99), []),
    "bytes": (pa.array([1, 2] * 99, pa.int8()), []),
}


def said(release: Any) -> list[str]:
    found = release.provenance.get("precision", [])
    assert isinstance(found, list)
    return found


def assert_said(release: Any, starts: list[str]) -> None:
    found = said(release)
    assert all(any(note.startswith(start) for note in found) for start in starts), found
    assert bool(found) == bool(starts)


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize(
    "engine", ["pandas", "polars", "pyarrow", "polars lazy", "duckdb", "duckdb files", "dask"]
)
def test_every_engine_says_the_same(engine: str, name: str, request: pytest.FixtureRequest) -> None:
    array, starts = DECLARED[name]
    table = make(engine, pa.table({"x": array}), request)
    release = dpq.median(table, column="x", epsilon=1)
    assert_said(release, starts)
    assert said(release) == said(dpq.median(array, epsilon=1))
    empty = make(engine, pa.table({"x": array[:0]}), request)
    assert said(dpq.median(empty, column="x", epsilon=1)) == said(release)


@pytest.mark.parametrize("engine", ["spark", "postgres"])
def test_servers_say_it_too(engine: str, request: pytest.FixtureRequest) -> None:
    wide = pa.array([Decimal("0.123456789")] * 9, pa.decimal128(38, 9))
    table = make(engine, pa.table({"x": wide}), request)
    assert_said(
        dpq.median(table, column="x", epsilon=1),
        ["Values are rounded to 6 decimal places (the column's type, decimal(38, 9), is finer)."],
    )


def test_what_postgres_states_no_precision_of_may_hold_anything(
    request: pytest.FixtureRequest,
) -> None:
    server = request.getfixturevalue("postgres")
    with server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (x numeric, y timestamp)")
        connection.execute("INSERT INTO t VALUES (0.123456789, '2024-01-01')")
    table = server.ibis().table("t")
    assert said(dpq.median(table, column="x", epsilon=1))[0] == (
        "Values are rounded to 6 decimal places."
    )
    assert_said(dpq.median(table, column="y", epsilon=1), ["Times outside 0001-01-02 00:00:00 to"])


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ([1, 2, 3], [10**30, -(10**30), 2**63]),
        ([Decimal(1)] * 3, [Decimal("1e30"), Decimal("1e-30"), Decimal(7)]),
        ([0.5] * 3, [1e300, 5e-324, 3.0]),
        ([dt.date(2024, 1, 1)] * 3, [dt.date.max, dt.date.min, dt.date(1, 2, 3)]),
        ([dt.timedelta(1)] * 3, [dt.timedelta.max, dt.timedelta.min, dt.timedelta(2)]),
    ],
    ids=str,
)
def test_lists_say_the_same_whatever_they_hold(small: list[Any], large: list[Any]) -> None:
    found = said(dpq.median(small, epsilon=1))
    assert bool(found) == (not isinstance(small[0], float))
    assert found == said(dpq.median(large, epsilon=1))


def test_what_was_asked_for_is_not_told() -> None:
    array = np.arange(99, dtype=np.uint64)
    assert_said(dpq.median(array, epsilon=1), [BITS, UINT64])
    assert_said(dpq.median(array, epsilon=1, bounds=(0, 1000)), [])
    assert_said(dpq.median(array, epsilon=1, bounds=(0, 1000), resolution=10), [])
    prices = [Decimal("0.12345678")] * 9
    bounds = (Decimal(0), Decimal(1))
    assert_said(dpq.median(prices, epsilon=1, bounds=bounds), ["Values are rounded to 6 decimal"])
    assert_said(
        dpq.median(prices, epsilon=1, bounds=bounds, resolution=Decimal("1e-8")),
        [],
    )
    days = dt.date(2020, 1, 1), dt.date(2030, 1, 1)
    assert_said(dpq.median([dt.date(2024, 1, 1)], epsilon=1, bounds=days), [])


def table() -> Any:
    records = {"x": [1, 2, 2**64 - 1] * 99, "g": ["a", "b", "b"] * 99, "p": list(range(297))}
    return pa.table(
        records, schema=pa.schema([("x", pa.uint64()), ("g", pa.string()), ("p", pa.int64())])
    )


def test_groups_units_and_descriptions_say_it() -> None:
    groups = dpq.quantiles(table(), 0.5, column="x", by="g", keys=["a", "b"], epsilon=1)
    assert_said(groups, [BITS, UINT64])
    assert_said(groups["a"], [BITS, UINT64])
    assert UINT64 in " ".join(releases.text(groups, 10**6).split())
    assert UINT64 in groups._repr_html_()
    huge = replace(groups, values=((2**60,), (1,)))
    assert BITS in " ".join(releases.text(huge, 10**6).split())
    assert BITS in huge._repr_html_()
    units = dpq.median(table(), column="x", unit="p", epsilon=1)
    assert_said(units, [BITS, UINT64])
    import polars as pl

    for data in (table(), pl.DataFrame(table()).lazy()):
        described = dpq.describe(data, ["x", "p"], epsilon=1, bounds={"p": (0, 500)})
        assert_said(described["x"], [BITS, UINT64])
        assert_said(described["p"], [])
        assert UINT64 in described._repr_html_()
        large = replace(described["x"], values=(2**60,) * len(described["x"]))
        shown = replace(described, releases={**described.releases, "x": large})
        assert f"x: {BITS}" in shown._repr_html_()


def test_text_html_and_json_say_it() -> None:
    release = dpq.median(np.arange(9, dtype=np.uint64), epsilon=1)
    for answer, start in ((4, UINT64), (2**60, BITS)):  # rounding matters to huge answers alone
        shown = replace(release, values=(answer,))
        assert start in " ".join(releases.text(shown).split())
        assert start in shown._repr_html_()
        assert (BITS in shown._repr_html_()) == (answer > 2**53)
    assert said(dpq.Release.from_json(release.to_json())) == said(release)
