"""Columns are rounded as they say, lie in their bounds, and come back from a seed."""

import numpy as np
import pytest

from experiments.everyday_data import MADE_UP, columns, dyadic, on_step

ALL = columns("")


@pytest.mark.parametrize("name", ALL)
def test_records_lie_on_the_step_inside_the_bounds(name: str) -> None:
    column = ALL[name]
    values = column.sample(np.random.default_rng(0), 2000)
    assert len(values) == 2000
    assert (values >= column.bounds[0]).all()
    assert (values <= column.bounds[1]).all()
    if column.step is not None:
        assert (column.rounded(values) == values).all()
    assert (values == column.sample(np.random.default_rng(0), 2000)).all()


@pytest.mark.parametrize("name", ALL)
def test_points_are_sorted_on_the_step_and_reach_both_bounds(name: str) -> None:
    column = ALL[name]
    points = column.points(5001)
    assert (np.diff(points) > 0).all()
    assert (points[0], points[-1]) == column.bounds
    assert len(points) <= 5002
    assert (column.rounded(points) == points).all()


def test_points_are_all_values_of_the_step_where_they_are_few() -> None:
    hours = MADE_UP["hours"]
    assert hours.points(102).tolist() == list(range(101))


def test_values_of_a_step_are_the_doubles_that_print_so() -> None:
    values = on_step(np.array([0.2899999, 19.99000072, 3.0]), 0.01)
    assert values.tolist() == [0.29, 19.99, 3.0]
    assert on_step(np.array([1249.0]), 100).tolist() == [1200.0]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 299, (0, 512)),
        (17, 64, (0, 64)),
        (-3, 5, (-8, 8)),
        (-9, -2, (-16, 0)),
        (0.01, 0.2, (0, 0.25)),
        (0, 0, (0, 1)),
    ],
)
def test_dyadic_range(low: float, high: float, found: tuple[float, float]) -> None:
    assert dyadic(low, high) == found
