"""Rows of units that lie in several parts of a table: they meet, whatever types the parts have."""

import itertools
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpquantiles as dpq
from dpquantiles.sources import meeting, units
from dpquantiles.sources.tables import Table, open_table
from tests.conftest import require_library

TEXTS = ["a", "é", "", None]
WHOLE = [0, -3, 2**53 + 1, None]
UNSIGNED = [0, 2**64 - 1, 2**53 + 1, None]
REAL = [-0.0, -3.5, 1e300, None]


def arrow(cells: list[Any], dtype: pa.DataType) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, dtype, from_pandas=False)))


SPELLINGS: dict[str, tuple[pa.DataType, list[pd.Series]]] = {
    "text": (
        meeting.TEXT,
        [
            *(pd.Series(TEXTS, dtype=dtype) for dtype in (object, "str", "category")),
            *(pd.Series(TEXTS, dtype=f"string[{own}]") for own in ("pyarrow", "python")),
            *(arrow(TEXTS, dtype) for dtype in (pa.string(), pa.large_string(), pa.string_view())),
            pd.Series(pd.arrays.ArrowExtensionArray(pa.array(TEXTS).dictionary_encode())),
            pd.Series([np.str_("a"), "é", "", 7], dtype=object),
        ],
    ),
    "whole numbers": (
        pa.int64(),
        [
            *(pd.Series(WHOLE, dtype=dtype) for dtype in (object, "Int64")),
            *(arrow(WHOLE, dtype) for dtype in (pa.int64(), pa.decimal128(30, 3))),
            pd.Series([False, Fraction(-3), np.int64(2**53 + 1), 0.5], dtype=object),
            pd.Series([-0.0, Decimal(-3), Decimal(2**53 + 1), 2**63], dtype=object),
        ],
    ),
    "unsigned numbers": (
        pa.uint64(),
        [
            *(pd.Series(UNSIGNED, dtype=dtype) for dtype in (object, "UInt64")),
            arrow(UNSIGNED, pa.uint64()),
            pd.Series(
                [np.bool_(False), Decimal(2**64 - 1), np.uint64(2**53 + 1), -1], dtype=object
            ),
        ],
    ),
    "numbers": (
        pa.float64(),
        [
            *(pd.Series(REAL, dtype=dtype) for dtype in (object, "float64", "Float64")),
            arrow(REAL, pa.float64()),
            pd.Series([np.False_, Fraction(-7, 2), Decimal("1e300"), 10**400], dtype=object),
        ],
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_names_are_what_the_schema_states(name: str) -> None:
    """And so have one place, which is always a whole number."""
    stated, spellings = SPELLINGS[name]
    found = [meeting._as_stated(names, stated) for names in spellings]
    assert {str(names.type) for names in found} == {str(stated)}
    assert all(names.to_pylist() == found[0].to_pylist() for names in found)
    assert len(set(found[0].to_pylist())) == 4
    places = [meeting._places(names) for names in found]
    assert {(of.dtype, *of.tolist()) for of in places} == {(np.dtype("int64"), *places[0].tolist())}
    assert len(set(places[0].tolist())) == 3


class Odd:
    """An object that nothing can be asked of."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


ODD = [Odd(), b"a", 1j, np.complex128(1), float("nan"), Decimal("sNaN"), pd.NaT, pd.NA, (), None]


@pytest.mark.parametrize("name", SPELLINGS)
def test_cells_that_do_not_fit_are_missing(name: str) -> None:
    stated, _ = SPELLINGS[name]
    for cells in (
        pd.Series(ODD, dtype=object),
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        pd.Series([np.nan, None]),
        arrow([None, None], pa.null()),
        pd.Series(np.array([np.nan, np.inf], dtype=np.longdouble))
        if stated == pa.int64()
        else None,
        pd.Series(pd.arrays.SparseArray([np.nan, np.nan])),
    ):
        if cells is not None:
            found = meeting._as_stated(cells, stated)
            assert found.type == stated
            assert found.to_pylist() == [None] * len(cells)
            assert meeting._places(found).dtype == np.int64


def test_numbers_of_another_width() -> None:
    for dtype in (np.float16, np.float32, np.longdouble):
        cells = pd.Series(np.array([1.5, np.nan], dtype=dtype))
        assert meeting._as_stated(cells, pa.float64()).to_pylist() == [1.5, None]
    nan = arrow([float("nan"), None], pa.float32())
    assert np.isnan(meeting._as_stated(nan, pa.float64()).to_pylist()[0])
    wide = arrow([2**64 - 1, 5], pa.uint64())
    assert meeting._as_stated(wide, pa.int64()).to_pylist() == [None, 5]
    below = arrow([-1, 5], pa.int64())
    assert meeting._as_stated(below, pa.uint64()).to_pylist() == [None, 5]
    rounded = arrow([2**60 + 1, 2**60], pa.int64())
    assert meeting._as_stated(rounded, pa.float64()).to_pylist() == [2.0**60] * 2


def test_all_that_are_not_a_number_have_one_place() -> None:
    payloads = np.array([0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0002], dtype=np.uint64)
    names = meeting._as_stated(
        arrow(payloads.view(np.float64).tolist(), pa.float64()), pa.float64()
    )
    assert names.null_count == 0
    assert meeting._places(names).tolist() == [0, 0]


def test_text_that_is_no_unicode_is_a_name() -> None:
    names = meeting._as_stated(pd.Series(["\ud800", "\ud801"], dtype=object), meeting.TEXT)
    assert names.null_count == 0
    assert len(set(names.to_pylist())) == 2


def test_rows_may_arrive_in_any_order() -> None:
    part = meeting.placed(piece(np.arange(300) % 40, 0), "u", pa.int64(), 0)
    asked: tuple[Any, ...] = ("u", 2, ["v"], 5)
    first = meeting.kept(part, *asked)["v"].tolist()
    mixed = part.sample(frac=1.0, random_state=np.random.RandomState(1))
    assert sorted(meeting.kept(mixed, *asked)["v"]) == sorted(first)
    assert len(first) == 80


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions that a test makes count as rows with an order of their own."""
    require_library("Dask", "dask")
    monkeypatch.setattr("dpquantiles.sources.dask.Dask.is_derived", lambda _self, _native: False)


def in_parts(pieces: list[pd.DataFrame]) -> Any:
    """A frame of Dask with these partitions; it takes their types from the first."""
    import dask.dataframe as dd

    frame: Any = dd
    return frame.from_map(lambda part: pieces[part], range(len(pieces)), meta=pieces[0].iloc[:0])


def bounded(data: Any, k: int, seed: int) -> Table:
    return units.bound_rows(open_table(data), "u", k, ("v",), random.Random(seed))


def kept(data: Any, k: int, seed: int) -> list[int]:
    table = bounded(data, k, seed)
    assert table.lazy
    return sorted(table.frame.collect()["v"].to_list())


def piece(names: Any, start: int) -> pd.DataFrame:
    return pd.DataFrame({"u": names, "v": np.arange(start, start + len(names))})


def cut(names: list[Any], dtype: str, cuts: list[int]) -> Any:
    """Rows as a frame of Dask, cut at these places; some partitions may be empty."""
    ends = [0, *sorted(min(end, len(names)) for end in cuts), len(names)]
    whole = pd.DataFrame({"u": pd.Series(names, dtype=dtype), "v": range(len(names))})
    return in_parts([whole.iloc[start:stop] for start, stop in itertools.pairwise(ends)])


@given(
    names=st.lists(st.sampled_from([1, 2, 3, None]), max_size=20),
    dtype=st.sampled_from(["Int64", "float64", "str"]),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    k=st.integers(1, 3),
    seed=st.integers(0, 5),
)
@settings(max_examples=30, deadline=None)
@pytest.mark.usefixtures("plain")
def test_kept_rows_do_not_depend_on_the_partitions(
    names: list[Any], dtype: str, cuts: list[int], k: int, seed: int
) -> None:
    names = [name if name is None or dtype != "str" else str(name) for name in names]
    found = kept(cut(names, dtype, cuts), k, seed)
    assert found == kept(cut(names, dtype, []), k, seed)
    assert Counter(names[row] for row in found) == {
        name: min(k, count) for name, count in Counter(names).items()
    }


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("other", [[], ["other"], [None], [None, "p1"]])
def test_kept_rows_do_not_depend_on_other_units(other: list[Any]) -> None:
    """Not on rows without a name either, which may give a partition a type of its own."""
    names = [f"p{i}" for i in range(1, 60)]
    pieces = [piece(pd.Series(names, dtype="str"), 0), piece(pd.Series(names, dtype="str"), 100)]
    more = in_parts([*pieces, piece(pd.Series(other, dtype="str"), 200)])
    same = set(range(1, 59)) | set(range(101, 159))
    assert set(kept(in_parts(pieces), 1, 0)) & same == set(kept(more, 1, 0)) & same


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("third", [0, 7, 0.0, 7.0, 2.0**60, "7", None])
def test_a_third_row_does_not_make_one_unit_of_two(third: Any) -> None:
    names: list[Any] = [[2**60, 2**60 + 1], [third], *[[]] * 6]
    types = ["int64", None, *["int64"] * 6]
    pieces = [
        piece(pd.Series(own, dtype=t), 2 * at)
        for at, (own, t) in enumerate(zip(names, types, strict=True))
    ]
    assert len(kept(in_parts(pieces), 1, 3)) == (2 if third == 2**60 else 3)


@pytest.mark.usefixtures("plain")
def test_partitions_of_other_types_than_the_schema_states() -> None:
    """Equal numbers are one unit, in whatever partition; what does not fit has no name."""
    import dask

    pieces = [
        piece(pd.Series([1, 2, 2], dtype="int64"), 0),
        piece(pd.Series([1.0, np.nan], dtype="float64"), 3),
        piece(pd.Series([True, Decimal(2), None], dtype=object), 5),
        piece(pd.Series([1, None], dtype="Int64"), 8),
        piece(pd.Series(["1", 1.5, (), 2**80], dtype=object), 10),
    ]
    own = {**dict.fromkeys((0, 3, 5, 8), 1), **dict.fromkeys((1, 2, 6), 2)}
    with dask.config.set({"dataframe.convert-string": False}):  # or Dask makes text of objects
        for seed in range(5):
            found = Counter(own.get(row) for row in kept(in_parts(pieces), 1, seed))
            assert found == {1: 1, 2: 1, None: 1}


@pytest.mark.usefixtures("plain")
def test_the_key_is_drawn() -> None:
    data = in_parts([piece(np.arange(200) % 40, 0)])
    assert len({tuple(kept(data, 1, seed)) for seed in range(6)}) == 6


def test_files_that_are_read_together(tmp_path: Path) -> None:
    """Dask joins small partitions while it optimizes; each row is still counted once."""
    require_library("Dask", "dask")
    import dask.dataframe as dd

    wide = pd.DataFrame({f"c{i}": np.arange(300.0) for i in range(20)})
    for number in range(6):
        own = wide.assign(u=np.arange(300) % 60, v=np.arange(300) + 300 * number)
        own.to_parquet(tmp_path / f"{number}.parquet")
    data = dd.read_parquet(tmp_path).fillna(0)
    assert Counter(row % 60 for row in kept(data, 2, 1)) == dict.fromkeys(range(60), 2)
    asked: dict[str, Any] = {"unit": "u", "epsilon": 50.0, "bounds": (0, 2000), "column": "v"}
    assert 500 < dpq.median(data, **asked).value < 1300


def test_rows_without_an_order_and_objects_are_fetched() -> None:
    require_library("Dask", "dask")
    import dask
    import dask.dataframe as dd

    frame: Any = dd
    rows = frame.from_pandas(piece(np.arange(60) % 20, 0), npartitions=3)
    assert bounded(rows, 1, 0).lazy
    shuffled = bounded(rows.shuffle("v"), 1, 0)
    assert not shuffled.lazy
    with dask.config.set({"dataframe.convert-string": False}):
        names = pd.Series([Decimal(i % 20) for i in range(60)], dtype=object)
        objects = bounded(frame.from_pandas(piece(names, 0), npartitions=3), 1, 0)
    assert not objects.lazy
    for fetched in (shuffled, objects):
        assert sorted(row % 20 for row in fetched.frame["v"].to_list()) == list(range(20))
