"""What may be written for intervals, and what is refused."""

from typing import Any

import pytest

from dpquantiles import Intervals
from dpquantiles.intervals import require_intervals


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, None),
        (False, None),
        (True, Intervals(level=0.95, of="data")),
        (0.5, Intervals(level=0.5, of="data")),
        ("population", Intervals(level=0.95, of="population")),
        (Intervals(0.9, of="population"), Intervals(level=0.9, of="population")),
    ],
)
def test_what_may_be_written(written: Any, meant: Intervals | None) -> None:
    assert require_intervals(written) == meant


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (95, r"^intervals must lie strictly between 0 and 1, got 95; for 95% write 0.95$"),
        (0, r"^intervals must lie strictly between 0 and 1, got 0"),
        (0.9999999, r"^intervals must be at most 0.999999, got "),
        ("sample", r"^intervals must be one of 'data', 'population', got 'sample'"),
        ([0.9], r"^intervals must be a number between 0 and 1, got an object of type list"),
    ],
)
def test_what_is_refused(written: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        require_intervals(written)


def test_levels_and_subjects_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^level must lie strictly between 0 and 1, got 1"):
        Intervals(1.0)
    with pytest.raises(ValueError, match=r"^of must be one of 'data', 'population', got 'people'"):
        Intervals(of="people")  # type: ignore[arg-type]
