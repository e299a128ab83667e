"""Records on which intervals are tried: synthetic shapes and real columns."""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.data import flight_delays

FOLDER = os.environ.get("DPQUANTILES_DATA", "")


class Data(NamedTuple):
    """A way to draw records, public bounds for them, and the true quantile where it is known."""

    words: str
    bounds: tuple[float, float]
    sample: Callable[[np.random.Generator, int], NDArray[Any]]
    quantile: Callable[[float], float] | None = None


@lru_cache
def column(name: str, type_name: str) -> NDArray[Any]:
    """A real column."""
    if name == "flights_arr_delay":
        return flight_delays()
    return np.loadtxt(Path(FOLDER) / f"{name}.csv", skiprows=1).astype(type_name)


def clusters(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Twenty narrow clusters far apart among the 32-bit integers."""
    values = rng.choice(rng.integers(0, 2**32, 20), n) + rng.normal(0, 1000, n).astype(np.int64)
    return np.asarray(np.clip(values, 0, 2**32 - 1))


def cliff(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Two narrow clusters of equal size with a wide gap at the median."""
    return np.where(np.arange(n) < n // 2, -50, 50) + rng.normal(0, 0.1, n)


def real(name: str, type_name: str, bounds: tuple[float, float]) -> Data:
    """Records of a real column, drawn with replacement, so that the column is the population."""

    def sample(rng: np.random.Generator, n: int) -> NDArray[Any]:
        return rng.choice(column(name, type_name), n)

    def quantile(q: float) -> float:
        return float(np.quantile(column(name, type_name), q, method="inverted_cdf"))

    return Data(f"drawn from {name}", bounds, sample, quantile)


DATA = {
    "smooth": Data(
        "normal numbers, standard deviation 5, bounds [-100, 100]",
        (-100.0, 100.0),
        lambda rng, n: rng.normal(0, 5, n),
        lambda q: NormalDist(0, 5).inv_cdf(q),
    ),
    "tied": Data(
        "the same, rounded to whole numbers",
        (-100, 100),
        lambda rng, n: np.rint(rng.normal(0, 5, n)).astype(np.int64),
        lambda q: round(NormalDist(0, 5).inv_cdf(q)),
    ),
    "clustered": Data(
        "twenty clusters of width 1000 among the integers below 2^32", (0, 2**32 - 1), clusters
    ),
    "cliff": Data(
        "two clusters of width 0.1, one hundred apart, bounds [-100, 100]", (-100.0, 100.0), cliff
    ),
    "goodreads_ratings": real("goodreads_ratings", "float", (0.0, 5.0)),
    "goodreads_pages": real("goodreads_pages", "int", (0, 10_000)),
    "acs_income": real("acs_income", "int", (-20_000, 1_000_000)),
    "adult_age": real("adult_age", "int", (0, 120)),
    "adult_hours": real("adult_hours", "int", (0, 168)),
    "flights_arr_delay": real("flights_arr_delay", "int", (-180, 1440)),
}


def there(name: str) -> bool:
    """Whether the data can be drawn here."""
    shipped = not DATA[name].words.startswith("drawn from") or name == "flights_arr_delay"
    return shipped or bool(FOLDER and (Path(FOLDER) / f"{name}.csv").exists())
