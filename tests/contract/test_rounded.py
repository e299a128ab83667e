"""Some dozens of quantiles of rounded records get `joint_exp` on every path without bounds."""

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

AGES = np.random.default_rng(5).normal(45, 15, 1000).round().astype(np.int64)
TABLE = pa.table({"age": AGES, "person": np.arange(1000), "sex": np.zeros(1000, dtype=np.int64)})
Q = [k / 30 for k in range(1, 30)]
WAYS: dict[str, Any] = {
    "array": lambda **options: dpq.quantiles(AGES, **options),
    "frame": lambda **options: dpq.quantiles(pl.from_arrow(TABLE), column="age", **options),
    "polars": lambda **options: dpq.quantiles(pl.LazyFrame({"age": AGES}), column="age", **options),
    "duckdb": lambda **options: dpq.quantiles(in_duckdb(TABLE), column="age", **options),
    "dask": lambda **options: dpq.quantiles(in_dask(TABLE), column="age", **options),
    "units": lambda **options: dpq.quantiles(
        in_duckdb(TABLE), column="age", unit="person", **options
    ),
    "describe": lambda **options: dpq.describe(pl.from_arrow(TABLE), columns=["age"], **options)[
        "age"
    ],
}


def require_near(values: Any) -> None:
    expected = np.quantile(AGES, Q, method="inverted_cdf")
    assert np.abs(np.array(values) - expected).max() <= 3


@pytest.mark.parametrize("way", WAYS)
def test_every_path_takes_the_same(way: str) -> None:
    found = WAYS[way](q=Q, epsilon=1, rng=random.Random(2))
    assert (found.mechanism, found.provenance["taken"]) == ("fitted", "joint_exp")
    require_near(found.values)


def test_the_command_does_too(tmp_path: Path) -> None:
    table, output = tmp_path / "table.parquet", tmp_path / "release.json"
    pq.write_table(TABLE, table)
    asked = ["-c", "age", "-q", ",".join(map(str, Q)), "--epsilon", "1", "--seed", "2"]
    assert main(["release", str(table), *asked, "-o", str(output)]) == 0
    found = json.loads(output.read_text())
    assert (found["mechanism"], found["provenance"]["taken"]) == ("fitted", "joint_exp")
    require_near(found["values"])


@pytest.mark.parametrize("source", [pl.from_arrow, in_duckdb])
def test_groups_do_without_a_question(source: Any) -> None:
    asked: dict[str, Any] = {"column": "age", "by": "sex", "keys": [0]}
    found = dpq.quantiles(source(TABLE), Q, epsilon=1, rng=random.Random(2), **asked)
    assert found.mechanism == "joint_exp"
    require_near(found[0].values)
