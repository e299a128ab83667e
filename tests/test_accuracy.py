"""How far seeded releases are off, in ranks, on known and on real data.

Real columns other than the shipped one are read from the folder named by DPQUANTILES_DATA, one CSV
file with a header and a single column each.
"""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpquantiles as dpq
from dpquantiles.data import flight_delays

each_length = pytest.mark.parametrize("trials", [60, pytest.param(200, marks=pytest.mark.slow)])
FOLDER = os.environ.get("DPQUANTILES_DATA", "")

REAL_COLUMNS: dict[str, tuple[type, tuple[float, float]]] = {
    "goodreads_ratings": (float, (0, 5)),
    "goodreads_pages": (int, (0, 10_000)),
    "acs_income": (int, (-20_000, 1_000_000)),
    "adult_age": (int, (0, 120)),
    "adult_hours": (int, (0, 168)),
    "flights_arr_delay": (int, (-180, 1440)),
}


def even_quantiles(m: int) -> list[float]:
    return [k / (m + 1) for k in range(1, m + 1)]


def rank_error(values: NDArray[Any], q: Sequence[float], answers: Sequence[float]) -> float:
    """Mean distance of q n to [#(x < o), #(x <= o)]."""
    ordered, targets = np.sort(values), np.asarray(q) * len(values)
    low = np.searchsorted(ordered, answers, side="left")
    high = np.searchsorted(ordered, answers, side="right")
    return float(np.maximum(0, np.maximum(low - targets, targets - high)).mean())


def mean_error(
    sample: Callable[[np.random.Generator], NDArray[Any]], m: int, trials: int, **options: Any
) -> float:
    """Mean rank error of seeded releases over fresh samples."""
    q, errors = even_quantiles(m), []
    for trial in range(trials):
        values = sample(np.random.default_rng(trial))
        release = dpq.quantiles(values, q, epsilon=1.0, rng=random.Random(trial), **options)
        errors.append(rank_error(values, q, release.values))
    return float(np.mean(errors))


def column(name: str) -> NDArray[Any]:
    """A real column; the shipped one is always there."""
    if name == "flights_arr_delay":
        return flight_delays()
    path = Path(FOLDER) / f"{name}.csv"
    if not FOLDER or not path.exists():
        pytest.skip(f"{name} is not shipped; name a folder that has it with DPQUANTILES_DATA")
    values = np.loadtxt(path, skiprows=1)
    return values.astype(REAL_COLUMNS[name][0])


@pytest.mark.parametrize(("m", "limit"), [(1, 2.3), (3, 3.8), (9, 6.0), (29, 12.0)])
def test_normal_data(m: int, limit: float) -> None:
    """One grid, with bounds and a resolution."""
    options = {"bounds": (-100, 100), "resolution": 2.0**-30}
    assert mean_error(lambda rng: rng.normal(0, 5, 1000), m, 200, **options) <= limit


@each_length
@pytest.mark.parametrize(("m", "limit"), [(1, 3.1), (3, 4.2), (9, 6.6)])
@pytest.mark.parametrize("bounds", [None, (-100, 100)])
def test_normal_data_on_a_family(m: int, limit: float, bounds: Any, trials: int) -> None:
    """Nothing is known of the rounding, or of the range either."""
    error = mean_error(lambda rng: rng.normal(0, 5, 1000), m, trials, bounds=bounds)
    assert error <= limit


ROUNDED: dict[str, tuple[Callable[[np.random.Generator, int], NDArray[Any]], dict[str, Any]]] = {
    "ratings": (
        lambda rng, n: np.round(np.clip(rng.normal(3.9, 0.35, n), 0, 5), 2),
        {"bounds": (0.0, 5.0), "resolution": 0.01},
    ),
    "hours": (
        lambda rng, n: rng.choice([8.0, 15, 20, 24, 30, 35, 38, 40, 40, 40, 45, 50, 60], n),
        {"bounds": (0.0, 100.0), "resolution": 1.0},
    ),
    "incomes in thousands": (
        lambda rng, n: np.round(rng.lognormal(10.5, 0.7, n), -3),
        {"bounds": (0.0, 1e6), "resolution": 1.0},
    ),
}
"""Columns that are rounded, and what is true of them. Nobody has said how incomes are rounded."""


@pytest.mark.parametrize("fact", ["bounds", "resolution"])
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize(("n", "m"), [(300, 9), (1000, 9), (1000, 99), (20_000, 99)])
def test_one_stated_fact_does_not_lose(n: int, m: int, name: str, fact: str) -> None:
    """Whoever knows one fact and not the other is no worse off than who knows nothing."""
    sample, facts = ROUNDED[name]
    nothing, one = (
        mean_error(lambda rng: sample(rng, n), m, 12, **options)
        for options in ({}, {fact: facts[fact]})
    )
    assert one <= 1.25 * nothing + 1
    print(f"{one:.2f} ranks with {fact} alone, {nothing:.2f} with nothing")


@each_length
def test_known_size_under_add_remove_halves_the_error(trials: int) -> None:
    options = {"bounds": (-100, 100), "neighbors": "add-remove", "size": 1000}
    assert mean_error(lambda rng: rng.normal(0, 5, 1000), 3, trials, **options) <= 2.0


@each_length
def test_one_huge_atom(trials: int) -> None:
    hours = column("adult_hours")

    def sample(rng: np.random.Generator) -> NDArray[Any]:
        return rng.choice(hours, 1000, replace=False)

    assert mean_error(sample, 9, trials, bounds=(0, 168)) <= 1.0


@each_length
@pytest.mark.parametrize("name", REAL_COLUMNS)
def test_no_bounds_cost_little(name: str, trials: int) -> None:
    values, (_, bounds) = column(name), REAL_COLUMNS[name]

    def sample(rng: np.random.Generator) -> NDArray[Any]:
        return rng.choice(values, 1000, replace=False)

    bounded = mean_error(sample, 3, trials, bounds=bounds)
    unbounded = mean_error(sample, 3, trials)
    print(f"{name}: {bounded:.2f} ranks with bounds, {unbounded:.2f} without")
    assert unbounded <= bounded + 3
