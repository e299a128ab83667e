"""The view of an array answers as a plain sort of the encoded records would."""

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kinds import BOOLEAN, DATE, INTEGER, REAL, column
from dpquantiles.views import ArrayView, SortedView
from tests.kinds.strategies import HOSTILE_RECORDS

POLICIES: list[Any] = ["upper", "lower", "drop", 3, -100, 1000, 2.5]

RECORDS = st.lists(
    st.none()
    | st.just(math.nan)
    | st.integers(-3, 12)
    | st.floats(-3, 12)
    | st.sampled_from([math.inf, -math.inf, 10**30, 5, 5, 5]),
    max_size=40,
)

GRIDS: list[Grid] = [
    UniformGrid(0, 9),
    UniformGrid(0.0, 9.0, 0.5),
    UniformGrid(0, 10, 4),
    UniformGrid(5, 6),
    FloatGrid(),
    FloatGrid(integral=True),
    FloatGrid(1, 8),
]


def oracle(records: Any, grid: Grid, missing: Any) -> list[int]:
    """All records as steps, one by one, in order."""
    steps = []
    for record in records:
        numbers, absent = column(grid.kind, [record])
        if absent is None:
            steps.append(int(grid.encode(numbers)[0]))
        elif missing != "drop":
            ends = {"lower": 0, "upper": grid.size - 1}
            steps.append(ends[missing] if missing in ends else stand_in(grid, missing))
    return sorted(steps)


def stand_in(grid: Grid, value: Any) -> int:
    return int(grid.encode(column(grid.kind, [value]).numbers)[0])


def check(view: SortedView, expected: list[int], data: st.DataObject) -> None:
    assert view.n == len(expected)
    index = sorted(data.draw(st.sets(st.integers(0, max(0, view.n - 1)), max_size=view.n)))
    steps = view.order_statistics(np.array(index, dtype=np.int64))
    assert steps.dtype == np.int64
    assert steps.tolist() == [expected[i] for i in index]
    top = view.grid.size - 1
    asked = [0, top, *data.draw(st.lists(st.integers(0, top))), *expected[:5]]
    below, up_to = view.ranks(np.array(asked))
    assert below.tolist() == [sum(e < step for e in expected) for step in asked]
    assert up_to.tolist() == [sum(e <= step for e in expected) for step in asked]


@pytest.mark.parametrize("missing", POLICIES)
@settings(max_examples=60, deadline=None)
@given(records=RECORDS, grid=st.sampled_from(GRIDS), data=st.data())
def test_answers_equal_a_plain_sort(
    missing: Any, records: list[Any], grid: Grid, data: st.DataObject
) -> None:
    check(ArrayView(records, grid, missing=missing), oracle(records, grid, missing), data)


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "f2", "i8", "i1", ">u8", "?", "object"])
@pytest.mark.parametrize("missing", ["upper", "drop", 7])
@settings(max_examples=20, deadline=None)
@given(records=st.lists(st.integers(0, 100)), masked=st.booleans(), data=st.data())
def test_typed_arrays_equal_a_plain_sort(
    dtype: str, missing: Any, records: list[int], masked: bool, data: st.DataObject
) -> None:
    values: Any = np.array(records, dtype=dtype)
    mask = [masked and record % 3 == 0 for record in records]
    listed = [None if gone else v for v, gone in zip(values.tolist(), mask, strict=True)]
    if masked:
        values = np.ma.masked_array(values, mask)
    grid = UniformGrid(10, 90, 4)
    check(ArrayView(values, grid, missing=missing), oracle(listed, grid, missing), data)


@pytest.mark.parametrize("missing", ["upper", "lower", 40])
def test_a_few_positions_of_many_records(missing: Any) -> None:
    """Enough records for every way of selecting, and for several chunks of counting."""
    generator = np.random.default_rng(1)
    values = generator.normal(50, 20, 1_200_000)
    values[generator.random(len(values)) < 0.05] = np.nan
    grid = UniformGrid(0.0, 100.0, 0.01)
    view = ArrayView(values, grid, missing=missing)
    place = {"upper": grid.size - 1, "lower": 0}.get(missing, 4000)
    expected = np.sort(np.where(np.isnan(values), place, grid.encode(values)))
    for index in (np.arange(590_000, 600_000), np.array([0, 5, 700_000, len(values) - 1])):
        assert (view.order_statistics(index) == expected[index]).all()
    asked = np.array([0, 1, 3999, 4000, 4001, grid.size - 1])
    below, up_to = view.ranks(asked)
    assert below.tolist() == np.searchsorted(expected, asked, side="left").tolist()
    assert up_to.tolist() == np.searchsorted(expected, asked, side="right").tolist()


@pytest.mark.parametrize("records", [[], [None], [math.nan] * 3, ["a"], HOSTILE_RECORDS])
@pytest.mark.parametrize("missing", ["upper", "lower", 5])
def test_the_number_of_records_never_depends_on_what_they_are(
    records: list[Any], missing: Any
) -> None:
    for grid in GRIDS:
        assert ArrayView(records, grid, missing=missing).n == len(records)


def test_dropping_is_the_only_policy_that_changes_n() -> None:
    assert ArrayView([1, None, math.nan, 2], GRIDS[0], missing="drop").n == 2


@pytest.mark.parametrize("index", [[-1], [3], [0, 5], [-1, 1]])
def test_positions_outside_the_records_are_refused(index: list[int]) -> None:
    with pytest.raises(LookupError, match="outside the records"):
        ArrayView([1, 2, 3], GRIDS[0]).order_statistics(np.array(index))


@pytest.mark.parametrize("values", [np.array([1, 2], dtype=np.int8), [1, 2]])
@pytest.mark.parametrize("missing", [300, -(2**70), 2**70, 2.5, np.int16(300)])
def test_a_stand_in_may_be_of_a_wider_type(values: Any, missing: Any) -> None:
    """It stands for a record, so it is clamped as one; and it changes no other record."""
    masked = np.ma.masked_array(np.array(values, dtype=np.int8), [True, False])
    large = [None, 2**60 + 1]
    for kind_grid in (UniformGrid(0, 1000), UniformGrid(0, 2**61)):
        view = ArrayView(masked, kind_grid, missing=missing)
        assert view.n == 2
        assert view.order_statistics(np.arange(2)).tolist() == sorted(
            [2, stand_in(kind_grid, missing)]
        )
    view = ArrayView(large, UniformGrid(0, 2**61), missing=2.5)
    assert view.order_statistics(np.array([1])).tolist() == [2**60 + 1]


def test_policies_are_checked_whether_or_not_anything_is_missing() -> None:
    for records in ([1, 2], [1, None]):
        with pytest.raises(
            ValueError, match=r"^missing must be one of .*; did you mean 'upper'\?$"
        ):
            ArrayView(records, GRIDS[0], missing="uper")
        with pytest.raises(TypeError, match=r"^missing must be of type number like the values"):
            ArrayView(records, GRIDS[0], missing=dt.date(2024, 1, 1))
        with pytest.raises(ValueError, match=r"^missing must be finite, got nan$"):
            ArrayView(records, GRIDS[0], missing=math.nan)
        with pytest.raises(TypeError, match=r"^missing must be of type number like the values"):
            ArrayView(records, GRIDS[0], missing=[1])


@pytest.mark.parametrize("kind", [REAL, INTEGER, BOOLEAN])
def test_data_are_never_modified(kind: Any) -> None:
    values = np.array([3.0, np.nan, 1.0, 2.0] * 50)
    values.flags.writeable = False
    before = values.tobytes()
    for missing in ("upper", "lower", "drop", 1):
        view = ArrayView(values, default_grid(kind), missing=missing)
        view.order_statistics(np.array([0, 1, 5]))
        view.ranks(np.array([0, 1]))
    assert values.tobytes() == before


def test_types_meet_grids() -> None:
    days = [dt.date(2024, 1, 2), None, dt.date(2024, 1, 1)]
    grid = default_grid(DATE, (dt.date(2024, 1, 1), dt.date(2024, 2, 1)))
    view = ArrayView(days, grid, missing="upper")
    assert view.order_statistics(np.arange(3)).tolist() == [0, 1, 31]
    with pytest.raises(
        TypeError, match=r"^data must be of type date like the grid, got an array of"
    ):
        ArrayView(np.zeros(3), default_grid(DATE))
