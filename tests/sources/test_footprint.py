"""Whatever the records are, a release takes few scans, and few rows leave the engine."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.errors import ScanFailed
from dpquantiles.sources import engine as engines
from dpquantiles.sources import lazy
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.dask import Dask
from dpquantiles.sources.duckdb import DuckDB
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.polars import Polars
from dpquantiles.sources.source import open_data
from tests.sources.counting import counted_scans
from tests.sources.origins import in_dask, in_duckdb

ROWS, FEW = 150_000, 10_000
MOST_SCANS = 3
RNG = np.random.default_rng(20240531)

RECORDS: dict[str, Any] = {
    "smooth": RNG.lognormal(10.5, 0.6, ROWS),
    "one cell": 1 + RNG.random(ROWS) * 1e-12,
    "one value": np.full(ROWS, 7.5),
    "all different": RNG.permutation(ROWS).astype(np.float64),
    "a lump and a tail": np.append(np.full(ROWS - 1000, 3.0), RNG.lognormal(10, 2, 1000)),
    "all missing": np.full(ROWS, np.nan),
}
ENGINES: dict[str, tuple[type, Callable[[pa.Table], Any]]] = {
    "polars": (Polars, lambda table: pl.LazyFrame({"x": table["x"].to_numpy()})),
    "duckdb": (DuckDB, in_duckdb),
    "dask": (Dask, in_dask),
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rows(engine: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows leave the engine in each scan. It may fetch few of them, as if n were huge."""
    return counted_scans(ENGINES[engine][0], FEW, monkeypatch)


def percentiles(data: Any, bounds: Any, **options: Any) -> tuple[Any, ...]:
    q = [k / 100 for k in range(1, 100)]
    asked = {"epsilon": 1, "bounds": bounds, "rng": random.Random(3), **options}
    found: dpq.Release = dpq.quantiles(data, q, mechanism="adaptive_tree", **asked)
    return found.values


@pytest.mark.parametrize("bounds", [None, (0, 10**6), (0, 10**9)])
@pytest.mark.parametrize("name", RECORDS)
def test_few_scans_and_few_rows(name: str, bounds: Any, engine: str, rows: list[int]) -> None:
    data = ENGINES[engine][1](pa.table({"x": RECORDS[name]}))
    assert percentiles(data, bounds, column="x") == percentiles(RECORDS[name], bounds)
    assert len(rows) <= MOST_SCANS
    assert rows[-1] <= FEW


def test_bins_that_are_too_many_to_list(
    engine: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MOST_LISTED", 0)
    data = ENGINES[engine][1](pa.table({"x": RECORDS["smooth"]}))
    assert percentiles(data, None, column="x") == percentiles(RECORDS["smooth"], None)
    assert len(rows) <= MOST_SCANS


@pytest.mark.parametrize("change", ["more", "elsewhere"])
def test_records_that_change_before_they_are_divided(
    change: str, engine: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = RECORDS["smooth"]
    changed = np.append(numbers, numbers) if change == "more" else numbers * (1 + 2.0**-10)
    data, later = (ENGINES[engine][1](pa.table({"x": x})) for x in (numbers, changed))
    source, count = open_data(later, "x").source("x"), Numbers.count_within
    assert isinstance(source, LazyColumn)

    def count_later(self: Numbers, *asked: Any) -> Any:
        return count(replace(self, frame=source.numbers.frame), *asked)

    monkeypatch.setattr(lazy, "FEW_ROWS", 0)
    monkeypatch.setattr(Numbers, "count_within", count_later)
    with pytest.raises(ScanFailed, match="changed between two scans"):
        percentiles(data, None, column="x")
    assert len(rows) <= MOST_SCANS
