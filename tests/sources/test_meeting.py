"""Rows of units that lie in several parts of a table: they meet, whatever types the parts have."""

import datetime as dt
import itertools
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.sources import meeting, units
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.tables import open_table
from tests.conftest import require_library

MOMENTS = [
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(2020, 5, 17, 1, 2, 3, 456_789),
    None,
]
ZONED = [moment and moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]
DAYS = [dt.date(1969, 12, 31), dt.date(2020, 1, 1), None]
TEXTS = ["a", "é", "", None]
WHOLE = [0, -3, 2**53 + 1, None]
BOOLEANS = [True, False, None]

SPELLINGS: dict[str, list[pd.Series]] = {
    "text": [
        pd.Series(TEXTS, dtype=dtype)
        for dtype in (object, "string[pyarrow]", "string[python]", "str", "category")
    ]
    + [pd.Series(TEXTS, dtype=pd.ArrowDtype(dtype)) for dtype in (pa.string(), pa.large_string())]
    + [pd.Series(pd.arrays.ArrowExtensionArray(pa.array(TEXTS).dictionary_encode()))],
    "whole numbers": [
        *(pd.Series(WHOLE, dtype=dtype) for dtype in (object, "Int64", "float64", "Float64")),
        pd.Series(WHOLE, dtype=pd.ArrowDtype(pa.int64())),
        pd.Series([-0.0, -3.0, 2.0**53, None], dtype=pd.ArrowDtype(pa.float64())),
        pd.Series(WHOLE, dtype=pd.ArrowDtype(pa.decimal128(30, 3))),
        pd.Series([Decimal(0), Fraction(-3), np.int64(2**53 + 1), Decimal("NaN")], dtype=object),
        pd.Series([-0.0, -3.0, 2.0**53, None], dtype="category"),
        pd.Series(pa.array([-0.0, -3.0, 2.0**53, None]).dictionary_encode().to_pandas()),
    ],
    "booleans": [
        *(pd.Series(BOOLEANS, dtype=dtype) for dtype in (object, "boolean")),
        pd.Series(BOOLEANS, dtype=pd.ArrowDtype(pa.bool_())),
        pd.Series([1, 0, None], dtype="Int8"),
        pd.Series([1.0, -0.0, np.nan], dtype=np.float32),
    ],
    "moments": [
        pd.Series(MOMENTS, dtype=object),
        *(pd.Series(MOMENTS, dtype=f"datetime64[{unit}]") for unit in ("us", "ns", "ms")),
        *(pd.Series(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp(unit))) for unit in ("us", "ns")),
        pd.Series([np.datetime64(moment) for moment in MOMENTS[:2]] + [None], dtype=object),
    ],
    "moments with a zone": [
        pd.Series(ZONED, dtype=object),
        pd.Series(pd.to_datetime(ZONED)).dt.tz_convert("Asia/Tokyo"),
        pd.Series(ZONED, dtype=pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
    ],
    "days": [pd.Series(DAYS, dtype=object), pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32()))],
}


def places(names: pd.Series) -> list[int]:
    return list(meeting._places(nw.from_native(names, series_only=True)).tolist())


@pytest.mark.parametrize("name", SPELLINGS)
def test_equal_names_have_one_place_in_every_type(name: str) -> None:
    first, *others = (places(names) for names in SPELLINGS[name])
    assert all(other == first for other in others)
    assert len(set(first)) > 1
    assert first[-1] == 0


class Odd:
    """An object that is none of all this, and that nothing can be asked of."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def test_any_object_has_a_place() -> None:
    odd = [Odd(), b"a", 10**400, Decimal("Infinity"), 1j, "\ud800", float("nan"), pd.NaT, pd.NA]
    found = places(pd.Series([*odd, dt.time(1), dt.timedelta(1), ()], dtype=object))
    assert all(isinstance(place, int) for place in found)


def in_parts(pieces: list[pd.DataFrame]) -> Any:
    """A frame of Dask with these partitions; it takes their types from the first."""
    require_library("Dask", "dask")
    import dask.dataframe as dd

    frame: Any = dd
    return frame.from_map(lambda part: pieces[part], range(len(pieces)), meta=pieces[0].iloc[:0])


def parts(rows: list[tuple[Any, int]], cuts: list[int]) -> Any:
    """The rows as a frame of Dask, cut at these places; some partitions may be empty."""
    frame = pd.DataFrame(rows, columns=["u", "v"]).astype({"u": "Int64", "v": "int64"})
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [frame.iloc[start:stop] for start, stop in itertools.pairwise(ends)]
    return in_parts(pieces)


def kept(data: Any, k: int, seed: int) -> list[tuple[Any, int]]:
    table = units.bound_rows(open_table(data), "u", k, ("u", "v"), random.Random(seed))
    return sorted(table.frame.collect().rows(), key=lambda row: row[1])


@given(
    names=st.lists(st.sampled_from([1, 2, 3, None]), max_size=20),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    k=st.integers(1, 3),
    seed=st.integers(0, 5),
)
@settings(max_examples=25, deadline=None)
def test_kept_rows_do_not_depend_on_the_partitions(
    names: list[Any], cuts: list[int], k: int, seed: int
) -> None:
    rows = [(name, value) for value, name in enumerate(names)]
    found = kept(parts(rows, cuts), k, seed)
    assert found == kept(parts(rows, []), k, seed)
    each = Counter(None if pd.isna(name) else name for name, _ in found)
    assert each == {name: min(k, count) for name, count in Counter(names).items()}
    for one in set(names):  # and not on the rows of other units
        own = [row for row in rows if row[0] == one]
        mine = [row for row in found if (None if pd.isna(row[0]) else row[0]) == one]
        assert [value for _, value in kept(parts(own, cuts), k, seed)] == [v for _, v in mine]


def test_partitions_of_other_types_than_the_schema_states() -> None:
    """Numbers that are equal are one unit, in whatever partition, and so are missing names."""
    pieces = [
        pd.DataFrame({"u": pd.Series([1, 2, 2], dtype="int64"), "v": [0, 1, 2]}),
        pd.DataFrame({"u": pd.Series([1.0, np.nan], dtype="float64"), "v": [3, 4]}),
        pd.DataFrame({"u": pd.Series([True, Decimal(2), None], dtype=object), "v": [5, 6, 7]}),
        pd.DataFrame({"u": pd.Series([1, None], dtype="Int64"), "v": [8, 9]}),
    ]
    require_library("Dask", "dask")
    same = {0: 1, 3: 1, 5: 1, 8: 1, 1: 2, 2: 2, 6: 2, 4: None, 7: None, 9: None}
    import dask

    with dask.config.set({"dataframe.convert-string": False}):  # or Dask makes text of objects
        data = in_parts(pieces)
        for seed in range(5):
            found = Counter(same[value] for _, value in kept(data, 1, seed))
            assert found == {1: 1, 2: 1, None: 1}
