"""A recording view passes on every question and remembers it."""

import numpy as np

from dpquantiles.grid import UniformGrid
from dpquantiles.views import ArrayView
from tests.views.recording import RecordingView


def test_questions_are_passed_on_and_remembered() -> None:
    whole = ArrayView([5, 1, 3], UniformGrid(0, 9))
    view = RecordingView(whole)
    assert (view.n, view.grid) == (3, whole.grid)
    assert (view.asked_index, view.asked_steps) == (set(), set())
    assert view.order_statistics(np.array([0, 2])).tolist() == [1, 5]
    assert [counts.tolist() for counts in view.ranks(np.array([3]))] == [[1], [2]]
    view.order_statistics(np.array([1]))
    assert (view.asked_index, view.asked_steps) == ({0, 1, 2}, {3})
