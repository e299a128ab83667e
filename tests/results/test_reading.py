"""How answers are read off the leaves of a tree: spread over numbers, and ties on round ones."""

import random

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import Grid, UniformGrid, default_grid
from dpquantiles.kernels import tree
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.results import reading

REALS, INTEGERS = default_grid(REAL), default_grid(INTEGER)


def read(grid: Grid, edges: list[float], masses: list[float], q: list[float]) -> list[float]:
    """The answers for leaves that begin at these numbers; the last number ends them."""
    steps = np.concatenate([[0], grid.encode(np.array(edges)), [grid.size]])
    full = np.array([0.0, *masses, 0.0])
    return grid.decode(reading.answers(grid, full, steps, np.array(q)))


def test_with_bounds_answers_are_spread_over_steps() -> None:
    grid, edges = UniformGrid(0, 99, 1), np.array([0, 10, 20, 100])
    masses, q = np.array([5.0, 80.0, 15.0]), np.linspace(0, 1, 23)
    answers = reading.answers(grid, masses, edges, q)
    assert answers.tolist() == tree.inverse(masses, edges, q).tolist()


def test_answers_are_spread_over_numbers_and_not_over_doubles() -> None:
    """Half of all doubles between 0 and 8 are below 1e-150."""
    assert read(REALS, [0.0, 8.0, 16.0], [50.0, 50.0], [0.125, 0.25, 0.75]) == [2.0, 4.0, 12.0]
    assert read(INTEGERS, [0, 80, 160], [50.0, 50.0], [0.125, 0.25, 0.75]) == [20, 40, 120]


def test_answers_have_few_digits() -> None:
    answers = read(REALS, [3.0, 4.0, 5.0], [50.0, 50.0], [0.1234567, 0.7654321])
    assert answers == [3.247, 4.531]


@pytest.mark.parametrize("grid", [default_grid(REAL, (0.0, 100.0)), default_grid(REAL, None, 1e-4)])
def test_one_stated_fact_leaves_few_digits_and_ties(grid: Grid) -> None:
    assert read(grid, [3.0, 4.0, 5.0], [50.0, 50.0], [0.1234567, 0.7654321]) == [3.247, 4.531]
    edges = [15.0, 19.984, 19.997, 30.0]
    assert read(grid, edges, [5.0, 90.0, 5.0], [0.2, 0.5, 0.8]) == [19.99] * 3


@pytest.mark.parametrize(
    ("low", "high", "tie"),
    [(19.984, 19.997, 19.99), (39.7, 40.3, 40.0), (0.0401, 0.0502, 0.05), (-7.6, -7.43, -7.5)],
)
def test_a_spike_is_a_tie_on_the_roundest_number(low: float, high: float, tie: float) -> None:
    width = high - low
    edges = [low - width, low, high, high + width]
    assert read(REALS, edges, [1.0, 200.0, 1.0], [0.2, 0.5, 0.8]) == [tie] * 3


def test_of_numbers_that_are_as_round_the_middle_one_is_the_tie() -> None:
    assert read(INTEGERS, [0, 21, 49, 70], [1.0, 900.0, 1.0], [0.1, 0.9]) == [30, 30]


@pytest.mark.parametrize("masses", [[40.0, 200.0, 1.0], [1.0, 200.0, 40.0]])
def test_a_leaf_that_is_not_far_denser_is_no_spike(masses: list[float]) -> None:
    """Both of its neighbors must be light: clusters and slopes have edges, too."""
    answers = read(REALS, [0.0, 10.0, 20.0, 30.0], masses, [0.4, 0.5, 0.6])
    assert len(set(answers)) == 3


def test_light_leaves_are_no_spikes() -> None:
    """A mass no larger than others, between neighbors whose counts were lost in noise."""
    answers = read(
        REALS, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0], [0.0, 9.0, 0.0, 90.0, 95.0], [0.01, 0.03]
    )
    assert answers[0] < answers[1]


def test_answers_ascend_and_stay_in_their_leaves() -> None:
    rng = np.random.default_rng(5)
    for grid in (REALS, INTEGERS):
        for _ in range(200):
            numbers = np.unique(np.round(np.exp(rng.uniform(-3, 30, 12)) * rng.choice([-1, 1], 12)))
            steps = np.unique(np.concatenate([[0], grid.encode(numbers), [grid.size]]))
            masses = rng.exponential(1, len(steps) - 1) ** 4
            q = np.linspace(0, 1, 31)
            leaf, _ = tree.places(masses, steps, q)
            answers = reading.answers(grid, masses, steps, q)
            assert (np.diff(answers) >= 0).all()
            assert (steps[leaf] <= answers).all()
            assert (answers < steps[leaf + 1]).all()


@pytest.mark.parametrize(
    ("values", "most"), [("prices", 15.0), ("hours", 1.0), ("spending", 15.0), ("smooth", 25.0)]
)
def test_percentiles_without_bounds(values: str, most: float) -> None:
    """Mean rank errors of 99 percentiles of 20,000 records that all doubles would miss."""
    rng = np.random.default_rng(2)
    data = {
        "prices": np.round(np.floor(rng.lognormal(3, 0.8, 20_000)) + 0.99, 2),
        "hours": rng.choice([8.0, 20, 30, 35, 38, 40, 45, 50, 60], 20_000),
        "spending": np.where(
            rng.random(20_000) < 0.6, 0, np.round(rng.lognormal(3.5, 1, 20_000), 2)
        ),
        "smooth": rng.normal(0, 5, 20_000),
    }[values]
    q = np.arange(1, 100) / 100
    errors = []
    for seed in range(4):
        answers = np.asarray(dpq.quantiles(data, q, epsilon=1, rng=random.Random(seed)))
        below, through = ((data[:, None] < answers).sum(0), (data[:, None] <= answers).sum(0))
        wanted = q * len(data)
        errors.append(np.maximum(0, np.maximum(below - wanted, wanted - through)).mean())
    assert np.mean(errors) < most


def test_leaves_that_are_too_narrow_for_a_density_are_read_in_silence() -> None:
    """Warnings are errors here; below a plan, users would see them."""
    zero = int(REALS.encode(np.array([0.0]))[0])
    edges = np.array([0, zero, zero + 1, zero + 2, REALS.size])
    answers = reading.answers(REALS, np.array([1e5, 1e6, 1e5, 1e5]), edges, np.array([0.3, 0.5]))
    assert REALS.decode(answers) == [0.0, 0.0]


WIDE = UniformGrid(-1.7e308, 1.7e308)


@pytest.mark.parametrize("grid", [REALS, WIDE, UniformGrid(0.0, 1e-300, 1e-307)])
@pytest.mark.parametrize("masses", [[1e-300, 0.0, 1e-305, 1e-320], [1e5, 1e6, 1e300, 1.0]])
def test_a_callers_settings_of_numpy_do_not_matter(grid: Grid, masses: list[float]) -> None:
    """Densities of leaves may be too large or too small for doubles."""
    edges = np.linspace(0, grid.size, 5).astype(np.int64)
    asked = grid, np.array(masses), edges, np.array([0.1, 0.5, 0.9])
    usual = reading.answers(*asked)
    with np.errstate(all="raise"):
        strict = reading.answers(*asked)
    assert strict.tolist() == usual.tolist()
    assert (np.diff(usual) >= 0).all()
