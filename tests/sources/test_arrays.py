"""Columns become the same arrays as by the libraries' own ways."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.memory import PLAIN, arrow_as_numpy, as_numpy

NUMBERS = [name for name in PLAIN if "[" not in name]
TIMES = [name for name in PLAIN if "[" in name]
CHUNKS = [[[]], [[0, 1, 2, 3, 127]], [[0, 1], [], [2]], []]


def assert_same(column: Any) -> None:
    wanted, found = column.to_numpy(), arrow_as_numpy(column)
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("name", [*NUMBERS, *TIMES, "bool"])
def test_arrays_are_those_of_arrow(name: str, chunks: list[list[int]]) -> None:
    stated = pa.field("x", _type(name)).type
    column = pa.chunked_array([pa.array(chunk, pa.int8()) for chunk in chunks], pa.int8())
    column = (column if name in NUMBERS or name == "bool" else column.cast("int64")).cast(stated)
    assert_same(column)
    for start in range(len(column)):
        assert_same(column.slice(start))
        assert_same(column.slice(0, start))


def _type(name: str) -> Any:
    long, _, unit = name.rstrip("]").partition("[")
    return getattr(pa, long)(unit) if unit else pa.type_for_alias(name)


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([[1.5, None], [2.5]]),
        pa.chunked_array([[True, None]]),
        pa.chunked_array([[1, None]]),
        pa.chunked_array([[dt.datetime(2024, 1, 1), None]]),
        pa.chunked_array([["a", "b"]]),
    ],
)
def test_nulls_and_other_types_are_left_to_arrow(column: Any) -> None:
    assert_same(column)


def test_series_of_any_library() -> None:
    for backend in ("pyarrow", "polars", "pandas"):
        series = nw.new_series("x", [1, 2, 3], nw.Int64, backend=backend)
        assert as_numpy(series).tolist() == [1, 2, 3]
