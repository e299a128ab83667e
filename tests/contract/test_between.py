"""Many quantiles of few records lie between some that are drawn, on every path without bounds."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpquantiles as dpq
from dpquantiles.cli import main
from tests.sources.origins import in_dask, in_duckdb

PAY = np.random.default_rng(6).normal(500, 100, 300).round().astype(np.int64)
TABLE = pa.table({"pay": PAY, "person": np.arange(300), "town": np.zeros(300, dtype=np.int64)})
Q = [k / 100 for k in range(1, 100)]
DRAWN = 9
ASKED: dict[str, Any] = {"epsilon": 1, "column": "pay"}
WAYS: dict[str, Any] = {
    "array": lambda **options: dpq.quantiles(PAY, Q, epsilon=1, **options),
    "frame": lambda **options: dpq.quantiles(pl.from_arrow(TABLE), Q, **ASKED, **options),
    "polars": lambda **options: dpq.quantiles(pl.LazyFrame({"pay": PAY}), Q, **ASKED, **options),
    "duckdb": lambda **options: dpq.quantiles(in_duckdb(TABLE), Q, **ASKED, **options),
    "dask": lambda **options: dpq.quantiles(in_dask(TABLE), Q, **ASKED, **options),
    "describe": lambda **options: dpq.describe(
        pl.from_arrow(TABLE), q=Q, columns=["pay"], epsilon=1, **options
    )["pay"],
}


def require_drawn_and_between(values: Any, provenance: Any) -> None:
    """The answers are near the data, and those that were not drawn lie on the lines between."""
    drawn, step = provenance["drawn"], provenance["grid"]["member"]["step"]
    assert (len(drawn), drawn[0], drawn[-1]) == (DRAWN, Q[0], Q[-1])
    own = [values[Q.index(q)] for q in drawn]
    assert len(set(own)) == DRAWN  # ties would have no lines
    assert np.abs(np.interp(Q, drawn, own) - values).max() <= step
    middle = [0.25, 0.5, 0.75]
    assert np.abs(np.quantile(values, middle) - np.quantile(PAY, middle)).max() < 60


@pytest.mark.parametrize("way", WAYS)
def test_every_path_draws_some(way: str) -> None:
    found, array = (WAYS[name](rng=random.Random(3)) for name in (way, "array"))
    assert found.mechanism == "fitted"
    assert found.values == array.values
    require_drawn_and_between(found.values, found.provenance)


@pytest.mark.parametrize("source", [pl.from_arrow, in_duckdb])
def test_units_draw_some(source: Any) -> None:
    found = dpq.quantiles(source(TABLE), Q, unit="person", rng=random.Random(3), **ASKED)
    assert found.mechanism == "fitted"
    require_drawn_and_between(found.values, found.provenance)


def test_the_command_draws_some(tmp_path: Path) -> None:
    table, output = tmp_path / "table.parquet", tmp_path / "release.json"
    pq.write_table(TABLE, table)
    asked = ["-c", "pay", "-q", "percentiles", "--epsilon", "1", "--seed", "3"]
    assert main(["release", str(table), *asked, "-o", str(output)]) == 0
    found = json.loads(output.read_text())
    assert found["mechanism"] == "fitted"
    require_drawn_and_between(found["values"], found["provenance"])


@pytest.mark.parametrize("source", [pl.from_arrow, in_duckdb])
def test_a_group_that_is_drawn_by_itself_draws_some(source: Any) -> None:
    asked: dict[str, Any] = {"by": "town", "keys": [0], "mechanism": "fitted", **ASKED}
    found = dpq.quantiles(source(TABLE), Q, rng=random.Random(3), **asked)
    alone = dpq.quantiles(PAY, Q, epsilon=1, mechanism="fitted", rng=random.Random(3))
    assert found[0].values == alone.values
    require_drawn_and_between(found[0].values, alone.provenance)
