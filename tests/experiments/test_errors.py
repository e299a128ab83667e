"""Errors of answers, on records where they can be counted by hand."""

from typing import Any

import numpy as np
import pytest

from experiments.errors import absurd, rank_error, value_error

TIED = np.array([1, 2, 2, 2, 5])


@pytest.mark.parametrize(
    ("q", "answer", "error"),
    [
        (0.5, 2, 0.0),  # 2.5 lies in [1, 4]
        (0.2, 2, 0.0),  # 1 is the left end
        (0.8, 2, 0.0),  # 4 is the right end
        (0.1, 2, 0.5),
        (0.9, 2, 0.5),
        (0.5, 1.9, 1.5),  # just off the tie: [1, 1]
        (0.5, 3, 1.5),
        (0.5, -7, 2.5),
        (0.5, 1e300, 2.5),
    ],
)
def test_a_tie_covers_all_its_ranks(q: float, answer: float, error: float) -> None:
    assert rank_error(TIED, [q], [answer]) == pytest.approx(error)


def test_rank_errors_are_averaged_over_quantiles() -> None:
    assert rank_error(TIED, [0.1, 0.5, 0.9], [2, 2, 3]) == pytest.approx((0.5 + 0 + 0.5) / 3)


@pytest.mark.parametrize(("answer", "error"), [(2, 0.0), (3, 0.5), (0, 1.0), (1e17, 10.0)])
def test_value_errors_are_relative_and_capped(answer: float, error: float) -> None:
    assert value_error(TIED, [0.5], [answer]) == pytest.approx(error)


@pytest.mark.parametrize(
    ("answers", "far"), [([43, -37], False), ([43.1], True), ([3, -37.1], True), ([np.inf], True)]
)
def test_absurd_is_more_than_ten_spans_from_the_middle(answers: Any, far: bool) -> None:
    assert absurd(TIED, answers) is far  # the middle is 3, the span 4
