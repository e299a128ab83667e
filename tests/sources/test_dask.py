"""Dask: partitions of other types than the schema states, and decimals that fit in no number."""

import math
import random
import tracemalloc
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.sources import dask, lazy
from dpquantiles.sources.bins import Even, Intervals, Map, Pieces, Roots, finely
from dpquantiles.sources.engine import CODE, MISSING
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
def test_answers_do_not_depend_on_limits(
    dtype: str, bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(5)
    records = [drawn.choice([None, round(drawn.lognormvariate(10, 1))]) for _ in range(5_000)]
    types = {"float64": pa.float64(), "Int64": pa.int64(), "decimal": pa.decimal128(12, 2)}
    table = pa.table({"x": pa.array(records, types[dtype])})
    for limit in ("FEW_ROWS", "MOST_ROWS", "MOST_ROUGH"):
        monkeypatch.setattr(lazy, limit, 500)
    monkeypatch.setattr(dask, "APART", 50)
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


MAPS: dict[str, Map] = {
    "even": Even(-50.0, 50.0, bins=64),
    "even, one number": Even(3.0, 3.0, bins=64),
    "roots": Roots(2.0**40, bins=1 << 12),
    "pieces": Pieces([Even(-80.0, -20.0, 16), Even(0.0, 5.0, 8), Even(6.0, 90.0, 4)]),
}


def numbers(drawn: random.Random, count: int) -> list[float]:
    """Ties, both infinities, zeros of both signs, and numbers outside of all bins."""
    usual = [drawn.choice([round(drawn.gauss(0, 60)), drawn.gauss(0, 60)]) for _ in range(count)]
    return drawn.sample([*usual, 0.0, -0.0, math.inf, -math.inf, 1e300, -1e300], count)


@pytest.mark.parametrize("apart", [1, 4, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 8, 9, 300])
@pytest.mark.parametrize("name", MAPS)
def test_bins_of_a_partition(
    name: str, count: int, apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row for each bin, and one for missing records, if there are any."""
    monkeypatch.setattr(dask, "APART", apart)
    bins, drawn = MAPS[name], random.Random(count)
    for missing in (0, 3):
        present = numbers(drawn, count)
        records = drawn.sample([*present, *[math.nan] * missing], count + missing)
        expected: list[tuple[Any, ...]] = [(MISSING, missing)] if missing else []
        own = bins.places(np.array(present, dtype=float))
        for number in np.unique(own):
            inside = np.array(present)[own == number]
            expected.append((number, len(inside), inside.min(), inside.max()))
        tally = dask._tally_bins(pd.DataFrame({"x": np.array(records, dtype=float)}), bins)
        found = [tuple(row) for row in tally.itertuples(index=False)]
        assert [row[: len(other)] for row, other in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("name", ["even", "even, one number", "roots"])
def test_records_within_intervals(name: str) -> None:
    """Those outside of all bins lie in the first or the last one."""
    usual: Any = MAPS[name]
    bins = replace(usual, parts=8)
    drawn = random.Random(name)
    for _ in range(40):
        values = np.array(numbers(drawn, 200))
        places = bins.places(values)
        wholes = np.unique(drawn.choices(places.tolist(), k=9)) // bins.parts
        first = np.unique(wholes * bins.parts + drawn.randrange(3))
        intervals = Intervals(first, first + np.array([drawn.randrange(5) for _ in first]))
        found = dask._within(pd.DataFrame({"x": values}), bins, intervals)
        for code, (start, end) in enumerate(zip(*intervals, strict=True)):
            inside = values[(places >= start) & (places <= end)]
            assert sorted(found["x"][found[CODE] == code]) == sorted(inside)
        assert found[CODE].isin(range(len(first))).all()


def test_decimals_that_are_one_double_are_told_apart() -> None:
    records = [Decimal(10**20 + k) for k in (3, 1, 2, 0)]
    part = pd.DataFrame({"x": np.array([*records, None], dtype=object)})
    assert dask._records(part)[0].tolist() == sorted(records)
    inside = dask._inside(part, [(Decimal(10**20 + 1), Decimal(10**20 + 2))])
    assert inside["x"].tolist() == [Decimal(10**20 + 1), Decimal(10**20 + 2)]
    (missing, row) = dask._tally_bins(part, Even(0.0, 1e21)).itertuples(index=False)
    assert missing[1] == 1
    assert (row[2], row[3]) == (records[3], records[0])


def test_places_of_ranges_that_overlap() -> None:
    starts, stops = np.array([2, 3, 3, 9, 20]), np.array([6, 6, 8, 9, 22])
    assert dask._places(starts, stops).tolist() == [2, 3, 4, 5, 6, 7, 20, 21]
    assert dask._places(starts[:0], stops[:0]).tolist() == []
