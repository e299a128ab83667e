"""Rulers: ascending marks over all steps, on which numbers of few digits stand alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles.grid import Grid, Ruler, UniformGrid, decimal_base, default_grid, ruler_of
from dpquantiles.grid.family import FEW
from dpquantiles.grid.ruler import WIDTH
from dpquantiles.kernels import cells
from dpquantiles.kinds import DATE, INTEGER, REAL, DecimalUnits, Duration

OPEN = {
    "reals": default_grid(REAL),
    "integers": default_grid(INTEGER),
    "decimals": default_grid(DecimalUnits(2)),
    "durations": default_grid(Duration()),
    "reals with bounds": default_grid(REAL, (0.0, 9e6)),
    "reals with a resolution": default_grid(REAL, None, 0.01),
    "integers with bounds": default_grid(INTEGER, (0, 9_000_000)),
    "integers with a resolution": default_grid(INTEGER, None, 10),
}
RULERS = {name: ruler_of(grid) for name, grid in OPEN.items()}
EVERY_STEP: dict[str, Grid] = {
    "few points": default_grid(INTEGER, (1, FEW)),
    "both": default_grid(REAL, (0.0, 9.0), 0.01),
    "one grid": UniformGrid(0, 300, 1),
    "dates": default_grid(DATE),
}


@pytest.mark.parametrize("name", EVERY_STEP)
def test_elsewhere_every_step_is_a_mark(name: str) -> None:
    grid = EVERY_STEP[name]
    ruler, marks = ruler_of(grid), np.arange(0, grid.size + 1, max(1, grid.size // 50))
    assert (ruler.size, ruler.free) == (grid.size, 1)
    assert ruler.steps(marks).tolist() == marks.tolist()
    assert not ruler.single(marks[:-1], marks[1:]).any() or grid.size <= 300
    assert not ruler.single(marks[:-1], marks[:-1] + 1).any()


@pytest.mark.parametrize("name", OPEN)
@given(places=st.lists(st.floats(0, 1), min_size=2, max_size=40), near=st.integers(-3, 3))
def test_steps_ascend_with_the_marks(name: str, places: list[float], near: int) -> None:
    grid, ruler = OPEN[name], RULERS[name]
    blocks = np.unique([int(place * (len(ruler.starts) - 1)) for place in places])
    inside = np.array([int(place * ruler.size) for place in places])
    marks = np.clip(np.concatenate([blocks * WIDTH + near, inside]), 0, ruler.size)
    steps = ruler.steps(np.sort(marks))
    assert (np.diff(steps) >= 0).all()
    assert steps.min() >= 0
    assert steps.max() <= grid.size
    assert ruler.steps(np.array([0, ruler.size])).tolist() == [0, grid.size]


@pytest.mark.parametrize("name", OPEN)
def test_blocks_are_whole(name: str) -> None:
    ruler = ruler_of(OPEN[name])
    blocks = np.arange(len(ruler.starts)) * WIDTH
    assert (np.diff(ruler.starts) > 0).all()
    assert (ruler.steps(blocks) == ruler.starts).all()
    assert ruler.size < 2**63


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("reals", [0.0, 0.05, 0.1, 4.37, -4.37, 19.9, 40.0, 365.0, 5e6]),
        ("integers", [0, 7, 40, -40, 365, 32_900, 1_990_000]),
        ("decimals", [1990, 50]),
        ("reals with bounds", [0.05, 0.1, 4.37, 19.9, 40.0, 365.0, 5e6]),
        ("reals with a resolution", [0.0, 0.05, 0.1, 4.37, -4.37, 19.9, 40.0, 365.0, 5e6]),
        ("integers with bounds", [7, 40, 365, 32_900, 1_990_000]),
        ("integers with a resolution", [0, 40, -40, 360, 32_900, 1_990_000]),
    ],
)
def test_numbers_of_few_digits_stand_alone(name: str, numbers: list[float]) -> None:
    """One block, so that a tree isolates them in eight or nine cuts, and not in thirty."""
    grid = OPEN[name]
    ruler, steps = ruler_of(grid), grid.encode(np.array(numbers))
    block = np.searchsorted(ruler.starts, steps)
    assert (ruler.starts[block] == steps).all()
    assert (ruler.starts[block + 1] == steps + 1).all()
    assert ruler.single(block * WIDTH, (block + 1) * WIDTH).all()
    assert cells.height(ruler.size) - cells.height(WIDTH) <= 9


@pytest.mark.parametrize("name", ["reals", "integers", "reals with a resolution"])
def test_all_numbers_of_usual_size_are_told_apart(name: str) -> None:
    """Ties need not lie on decimals: those of float32 do not."""
    grid = OPEN[name]
    ruler, rng = ruler_of(grid), np.random.default_rng(3)
    numbers = np.exp(rng.uniform(np.log(1e-5), np.log(1e14), 300)) * rng.choice([-1, 1], 300)
    for step in grid.encode(numbers).tolist():
        block = int(np.searchsorted(ruler.starts, step, side="right")) - 1
        first, last = block * WIDTH, (block + 1) * WIDTH
        while last - first > 1:
            middle = (first + last) // 2
            below = ruler.steps(np.array([middle]))[0] <= step
            first, last = (middle, last) if below else (first, middle)
        assert ruler.steps(np.array([first, last])).tolist() == [step, step + 1]


def test_families_of_many_points_have_a_decimal_base() -> None:
    assert all(decimal_base(grid) is not None for grid in OPEN.values())
    assert all(decimal_base(grid) is None for grid in EVERY_STEP.values())
    assert decimal_base(default_grid(INTEGER, (0, FEW))) is not None


def test_next_to_no_numbers_of_few_digits_leave_the_threshold_alone() -> None:
    """Bounds may leave fewer blocks than are cut anyway."""
    assert ruler_of(default_grid(REAL, (1.00001, 1.00002))).way == 0


def test_large_blocks_need_no_more_than_64_bits() -> None:
    for width in (4, 4**4, 4**15, WIDTH):
        ruler = Ruler(np.array([5, 2**62 - 1]), width, 1)
        marks = np.array([0, 1, width // 3, width - 1, width])
        exact = [5 + (2**62 - 6) * mark // width for mark in marks.tolist()]
        assert ruler.steps(marks).tolist() == exact
