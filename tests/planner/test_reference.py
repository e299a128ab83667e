"""Reference data sets are what sorted arrays of the same records would be."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpquantiles as dpq
from dpquantiles.grid import Grid, default_grid
from dpquantiles.kinds import INTEGER, REAL, Kind
from dpquantiles.planner import reference as references
from dpquantiles.planner.reference import MOST_RECORDS, MOST_SEARCHED, SHAPES, reference

GRIDS: list[Grid] = [
    dpq.UniformGrid(0, 1, 1),
    dpq.UniformGrid(0, 120, 1),
    dpq.UniformGrid(-100.0, 100.0),
    dpq.FloatGrid(),
    dpq.FloatGrid(integral=True),
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.integers(1, 500),
    st.sampled_from(GRIDS),
    st.one_of(st.none(), st.floats(0.001, 1.0)),
    st.sampled_from([1, 8, 1024]),
    st.integers(0, 3),
    st.sampled_from([0, MOST_SEARCHED]),
)
def test_formulas_agree_with_a_sorted_array(
    shape: str, n: int, grid: Grid, spread: float | None, labels: int, seed: int, held: int
) -> None:
    if grid.size * labels >= 2**62:
        labels = 1
    view = reference(shape, n, grid, spread, seed).told_apart(labels)
    records = view.order_statistics(np.arange(n))
    assert (np.diff(records) >= 0).all()
    assert records[0] >= 0
    assert records[-1] < view.points
    probes = np.unique(np.concatenate([records, records - 1, records + 1, [0, view.points - 1]]))
    with mock.patch.object(references, "MOST_SEARCHED", held):
        below, through = view.ranks(probes)
    assert (below == np.searchsorted(records, probes, side="left")).all()
    assert (through == np.searchsorted(records, probes, side="right")).all()


def test_labels_tell_ties_apart_and_keep_their_values() -> None:
    view = reference("tied", 1000, dpq.UniformGrid(0, 10**6, 1))
    fine = view.told_apart(1024)
    index = np.arange(1000)
    assert (fine.order_statistics(index) // 1024 == view.order_statistics(index)).all()
    assert len(np.unique(fine.order_statistics(index))) == 1000


@pytest.mark.parametrize("shape", ["smooth", "clustered", "tied"])
def test_every_seed_has_a_data_set_of_its_own(shape: str) -> None:
    grid, index = dpq.UniformGrid(0, 10**9, 1), np.arange(3000)
    drawn = [reference(shape, 3000, grid, seed=k).order_statistics(index) for k in (0, 1, 1)]
    assert (drawn[0] != drawn[1]).any()
    assert (drawn[1] == drawn[2]).all()


def test_shapes_are_what_their_words_say() -> None:
    grid, index = dpq.UniformGrid(0, 10**9, 1), np.arange(8000)
    distinct = {
        shape: len(np.unique(reference(shape, 8000, grid).order_statistics(index)))
        for shape in SHAPES
    }
    assert distinct["even"] == 8000
    assert distinct["tied"] == 80
    gaps = np.diff(reference("clustered", 8000, grid).order_statistics(index))
    assert (gaps > 10**6).sum() == 19
    assert "0.5 of the bounds" in reference("even", 5, grid).words
    assert "20 narrow clusters" in reference("clustered", 5, grid).words


def test_spread_is_a_fraction_or_a_pair_of_values() -> None:
    grid = dpq.UniformGrid(0, 120, 1)
    view = reference("even", 1000, grid, (20, 60))
    assert view.order_statistics(np.array([0, 999])).tolist() == [20, 60]
    assert "20 to 60" in view.words
    real = dpq.UniformGrid(0.0, 100_000.0, 0.5)
    assert "10,000 to 60,000.5" in reference("even", 5, real, (10_000.0, 60_000.5)).words
    for wrong in (0, -1, 1.5, (60, 20), (-5, 20), (1, 2, 3)):
        with pytest.raises(ValueError, match=r"^spread must "):
            reference("even", 1000, grid, wrong)
    with pytest.raises(TypeError, match=r"^spread must "):
        reference("even", 1000, grid, "wide")


@pytest.mark.parametrize(("kind", "width"), [(REAL, 0.01), (INTEGER, 10)])
def test_with_a_resolution_alone_records_are_its_first_multiples(kind: Kind, width: float) -> None:
    """Nobody has said where values lie, so they are not spread over all that a type can hold."""
    grid = default_grid(kind, None, width)
    view, index = reference("even", 1000, grid), np.array([0, 999])
    assert f"the first 94,652 multiples of {width}" in view.words
    low, high = grid.decode(view.order_statistics(index))
    assert 0 <= low < high <= 94_652 * width
    assert references.extent(grid, None) is None
    rounded = reference("rounded", 1000, grid)
    numbers = np.array(grid.decode(np.unique(rounded.order_statistics(np.arange(1000)))))
    assert len(numbers) == 80
    assert (np.abs(numbers / (1000 * width) - np.rint(numbers / (1000 * width))) < 1e-9).all()


def test_huge_references_cost_nothing() -> None:
    view = reference("even", 2**53, dpq.UniformGrid(-100.0, 100.0))
    assert view.n == MOST_RECORDS
    middle = view.order_statistics(np.array([view.n // 2]))
    assert abs(int(view.ranks(middle)[0][0]) - view.n // 2) <= 1
