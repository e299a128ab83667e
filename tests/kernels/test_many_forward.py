"""Sums and moves of many columns against the same, one number at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.kernels import many_forward
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.many_forward import BLOCK, Ints

RATE = 0.3
FALL = np.exp(-RATE * np.arange(400))
ROWS = [
    *(1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 5, 3 * BLOCK),
    *(BLOCK**2, BLOCK**2 + 3, 2 * BLOCK**2 + 1, 3 * BLOCK**2 + 5),
]


def masses(rows: int, columns: int) -> Floats:
    """Positive masses of very different sizes."""
    return np.exp(np.random.default_rng(rows).normal(0, 10, (rows, columns)))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", [1, 5, 200])
def test_rows_are_added_up(rows: int, columns: int) -> None:
    mass = masses(rows, columns)
    right = np.add.accumulate(mass, axis=0)
    many_forward._accumulate(mass)
    np.testing.assert_allclose(mass, right, rtol=1e-13)


advances = st.lists(st.integers(0, 40), min_size=1, max_size=4) | st.builds(
    lambda advance, count: [advance] * count, st.integers(0, 40), st.integers(1, 4)
)


def advance_of(columns: list[int]) -> Ints:
    """One advance for all columns if they have the same, as in a pass."""
    return np.array(columns if len(set(columns)) > 1 else columns[:1], dtype=np.int64)


@given(rows=st.integers(1, 30), columns=advances, first=st.integers(-1, 30))
@settings(max_examples=200, deadline=None)
def test_columns_move_by_their_own_advance(rows: int, columns: list[int], first: int) -> None:
    mass, first = masses(rows, len(columns)), min(first, rows)
    right = [
        [
            mass[row - advance, column] if row >= advance else 0.0
            for column, advance in enumerate(columns)
        ]
        for row in range(first, rows)
    ]
    before = mass.copy()
    moved = many_forward._lag(mass, advance_of(columns), first)
    np.testing.assert_array_equal(moved, np.array(right).reshape(rows - first, len(columns)))
    moved[:] = -1.0
    np.testing.assert_array_equal(mass, before)


@given(rows=st.integers(1, 30), columns=advances)
@settings(max_examples=200, deadline=None)
def test_windows_of_every_length(rows: int, columns: list[int]) -> None:
    mass = masses(rows, len(columns))
    right = [
        [
            sum(mass[row - j, column] * FALL[advance - j] for j in range(1, min(advance, row) + 1))
            for column, advance in enumerate(columns)
        ]
        for row in range(rows)
    ]
    windows = many_forward._window(mass, advance_of(columns), FALL)
    np.testing.assert_allclose(windows, np.array(right), rtol=1e-12)
