"""Some dozens of quantiles of rounded records get `joint_exp` on every path without bounds."""

import random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from tests.sources.origins import in_dask, in_duckdb

AGES = np.random.default_rng(5).normal(45, 15, 1000).round().astype(np.int64)
TABLE = pa.table({"age": AGES, "person": np.arange(1000)})
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


@pytest.mark.parametrize("way", WAYS)
def test_every_path_takes_the_same(way: str) -> None:
    q = [k / 30 for k in range(1, 30)]
    found = WAYS[way](q=q, epsilon=1, rng=random.Random(2))
    assert (found.mechanism, found.provenance["taken"]) == ("fitted", "joint_exp")
    expected = np.quantile(AGES, q, method="inverted_cdf")
    assert np.abs(np.array(found.values) - expected).max() <= 3
