"""A window of a view: the same answers inside, none outside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.grid import UniformGrid
from dpquantiles.views import ArrayView, Demand, ReadAhead, WindowView

GRID = UniformGrid(0, 20)


@st.composite
def windows(draw: st.DrawFn) -> tuple[list[int], list[range]]:
    records = draw(st.lists(st.integers(0, 20), max_size=30))
    edges = sorted(draw(st.sets(st.integers(0, len(records)), max_size=6)))
    return records, [range(*pair) for pair in zip(edges[::2], edges[1::2], strict=False)]


@settings(max_examples=150, deadline=None)
@given(windows(), st.data())
def test_identical_inside_and_refused_outside(
    case: tuple[list[int], list[range]], data: st.DataObject
) -> None:
    records, demand = case
    whole = ArrayView(records, GRID)
    window = WindowView.of(whole, Demand(runs=tuple(demand)))
    assert (window.n, window.grid) == (whole.n, whole.grid)
    held = sorted(position for run in demand for position in run)
    asked = np.array(sorted(data.draw(st.sets(st.sampled_from(held)))) if held else [], dtype=int)
    assert (window.order_statistics(asked) == whole.order_statistics(asked)).all()
    for position in sorted({-1, *range(len(records) + 1)} - set(held)):
        beside = np.array(sorted([*held[:2], position]))
        with pytest.raises(LookupError, match="outside the demand"):
            window.order_statistics(beside)


def test_a_window_counts_only_at_the_steps_that_were_demanded() -> None:
    whole = ArrayView([1, 2, 2, 7], GRID)
    window = WindowView.of(whole, Demand(steps=np.array([2, 7])))
    for found, expected in zip(window.ranks(np.array([7, 2])), ([3, 1], [4, 3]), strict=True):
        assert found.tolist() == expected
    with pytest.raises(LookupError, match="outside the demand"):
        window.ranks(np.array([3]))


@given(
    st.lists(st.integers(0, 30), max_size=40),
    st.lists(st.tuples(st.integers(-5, 45), st.integers(0, 9)), max_size=4),
)
def test_what_was_read_ahead_changes_no_answer(
    records: list[int], runs: list[tuple[int, int]]
) -> None:
    whole = ArrayView(records, UniformGrid(0, 30))
    ahead = ReadAhead.of(whole, [range(start, start + length) for start, length in runs])
    steps = np.arange(31)
    np.testing.assert_array_equal(ahead.ranks(steps), whole.ranks(steps))
    for index in (ahead.index, np.arange(whole.n)):
        np.testing.assert_array_equal(ahead.order_statistics(index), whole.order_statistics(index))
