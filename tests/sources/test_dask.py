"""Dask: partitions of other types than the schema states, and decimals that fit in no number."""

import random
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.sources import dask, lazy
from dpquantiles.sources.bins import Intervals, Roots, finely
from tests.sources.origins import in_dask

dd: Any = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.xdist_group("engines")

ODD_PARTS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "no value": ("float64", [None, None], [None, None]),
    "no whole number": ("int64", [None, None], [None, None]),
    "no truth": ("bool", [None, True], [None, True]),
    "no time": ("datetime64[us]", [None, None], [None, None]),
    "text": ("float64", ["a", "7"], [None, None]),
    "text among numbers": ("int64", ["a", 7, 2.0], [None, 7, 2]),
    "fractions": ("int64", [0.75, float("nan"), 1e300], [1, None, 2**63 - 1]),
    "whole numbers": ("float64", [3, 4], [3.0, 4.0]),
    "larger": ("int8", [10**12, -(10**12)], [127, -128]),
    "negative": ("uint64", [-1, 2**63], [0, 2**63 - 1]),
}
"""The stated type, what one partition holds in another one, and what that counts as."""


@pytest.mark.parametrize("name", ODD_PARTS)
@pytest.mark.parametrize("form", ["object", "its own"])
def test_partitions_of_another_type_than_stated(name: str, form: str) -> None:
    """One record may decide about the type of a partition, but not about whether a call fails."""
    stated, odd, read = ODD_PARTS[name]
    usual = pd.Series([0, 1, 1, 2] * 20).astype(stated)
    other = pd.Series(odd, dtype=object if form == "object" else None)
    parts = [pd.DataFrame({"x": usual}), pd.DataFrame({"x": other})]
    data = dd.from_map(lambda k: parts[k], range(2), meta={"x": stated})
    records = [*usual.tolist(), *read]
    asked: dict[str, Any] = {"epsilon": 50, "mechanism": "joint_exp"}
    for missing in ("drop", "upper"):
        found, expected = (
            dpq.quantiles(table, [0.1, 0.9], column="x", **asked, missing=missing, rng=rng)
            for table, rng in (
                (data, random.Random(2)),
                (pa.table({"x": pa.array(records, pa_type(stated))}), random.Random(2)),
            )
        )
        assert found.values == expected.values


def pa_type(stated: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(stated))


@pytest.mark.parametrize("resolution", [Decimal(1), Decimal("1E-9")])
def test_decimals_of_dask_are_as_large_and_as_fine_as_the_grid(resolution: Decimal) -> None:
    """Whole numbers of millionths would hold neither these nor their last digits."""
    drawn = random.Random(4)
    large = [Decimal(drawn.randrange(10**15, 10**16)) for _ in range(200)]
    records = large if resolution == 1 else [value.scaleb(-16) for value in large]
    table = pa.table({"x": pa.array([*records, None], pa.decimal128(38, 16))})
    asked: dict[str, Any] = {"column": "x", "epsilon": 50, "resolution": resolution}
    found = dpq.deciles(in_dask(table), rng=random.Random(3), **asked)
    assert found.values == dpq.deciles(table, rng=random.Random(3), **asked).values


@pytest.mark.parametrize("bounds", [None, (0, 10**6), (0, 10**9)])
@pytest.mark.parametrize("dtype", ["float64", "Int64", "decimal"])
def test_a_few_rows_at_a_time(dtype: str, bounds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices, cells and shared places change what is computed at once, and no answer."""
    drawn = random.Random(5)
    records = [drawn.choice([None, round(drawn.lognormvariate(10, 1))]) for _ in range(5_000)]
    types = {"float64": pa.float64(), "Int64": pa.int64(), "decimal": pa.decimal128(12, 2)}
    table = pa.table({"x": pa.array(records, types[dtype])})
    for limit in ("FEW_ROWS", "MOST_ROWS", "MOST_ROUGH"):
        monkeypatch.setattr(lazy, limit, 500)
    for constant in ("SLICE", "CELLS", "FOLDED"):
        monkeypatch.setattr(dask, constant, 64)
    for m in (3, 99):
        q = [k / (m + 1) for k in range(1, m + 1)]
        asked: dict[str, Any] = {"column": "x", "epsilon": 1, "bounds": bounds}
        found = dpq.quantiles(in_dask(table), q, rng=random.Random(6), **asked)
        assert found.values == dpq.quantiles(table, q, rng=random.Random(6), **asked).values


def test_many_bins_need_no_place_each() -> None:
    """Where records crowd into one bin, it is divided into very many."""
    bins = finely(Roots(2.0**40, bins=1 << 34))
    values = np.random.default_rng(7).lognormal(10, 1, 10_000)
    wholes = np.unique(bins.places(values[:100]) // bins.parts)
    intervals = Intervals(wholes * bins.parts, (wholes + 1) * bins.parts - 1)
    tracemalloc.start()
    found = dask._within(pd.DataFrame({"x": values}), bins, intervals)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(found["x"]) == sorted(values[:100])
    assert peak < 10**7
