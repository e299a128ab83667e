"""Columns as people have them, made up and real, and what a careful user would say about them.

Real columns other than the shipped one are read from a folder that the user names.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.data import flight_delays

Array = NDArray[Any]
Sample = Callable[[np.random.Generator, int], Array]
SHIPPED = "flights_arr_delay"


class Column(NamedTuple):
    """A way to draw records, public bounds for them, and how they are rounded, if they are."""

    words: str
    bounds: tuple[float, float]
    step: float | None
    sample: Sample
    geometric: bool = False
    """Whether people think of such values in ratios: what one would try is spaced like that."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a careful user would tell."""
        return {"bounds": self.bounds} | ({} if self.step is None else {"resolution": self.step})

    def rounded(self, values: Any) -> Array:
        """The nearest values of the column's step: free, once values are private."""
        numbers = np.asarray(values, dtype=float)
        return numbers if self.step is None else on_step(numbers, self.step)

    def points(self, most: int) -> Array:
        """What an answer may be: every value of the step, or so many where they are too many."""
        lower, upper = self.bounds
        if self.step is not None and (upper - lower) / self.step < most:
            return self.rounded(np.arange(lower, upper + self.step / 2, self.step))
        if not self.geometric:
            return np.unique(self.rounded(np.linspace(lower, upper, most)))
        spaced = np.geomspace(self.step or 1e-6 * upper, upper, most)
        return np.unique(self.rounded(np.append(lower, spaced)))


def on_step(values: Array, step: float) -> Array:
    """Multiples of a step, as the doubles that print as them."""
    if step < 1:
        return np.asarray(np.rint(values / step) / round(1 / step))
    return np.asarray(np.rint(values / step) * step)


def dyadic(low: float, high: float) -> tuple[float, float]:
    """The least range of [0, 2^k], [-2^k, 0] and [-2^k, 2^k] that holds both numbers."""
    far = max(abs(low), abs(high))
    power = 2.0 ** math.ceil(math.log2(far)) if far else 1.0
    return (-power if low < 0 else 0.0, power if high > 0 or low >= 0 else 0.0)


HOURS = np.array([8, 10, 15, 20, 24, 30, 35, 38, 40, 45, 50, 60], dtype=float)
SHARES = np.array([1, 3, 3, 7, 3, 6, 6, 6, 45, 7, 9, 4]) / 100


def prices(rng: np.random.Generator, n: int) -> Array:
    return np.round(np.floor(rng.lognormal(3, 0.8, n)) + 0.99, 2)


def ratings(rng: np.random.Generator, n: int) -> Array:
    return np.round(np.clip(rng.normal(3.9, 0.35, n), 0, 5), 2)


def spending(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.6, 0.0, np.round(rng.lognormal(3.5, 1, n), 2))


def clusters(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.5, 100.0, 900.0) + rng.normal(0, 1, n)


@lru_cache
def real(folder: str, name: str) -> Array:
    """A whole real column."""
    if name == SHIPPED:
        return flight_delays()
    values = np.loadtxt(Path(folder) / f"{name}.csv", skiprows=1)
    return values if np.any(values % 1) else values.astype(np.int64)


def drawn(folder: str, name: str, rng: np.random.Generator, n: int) -> Array:
    """Records of a real column, without replacement where it has enough of them."""
    whole = real(folder, name)
    return rng.choice(whole, n, replace=n > len(whole))


MADE_UP = {
    "whole numbers": Column("0, 1, .. n - 1", (0, 100_000), 1, lambda rng, n: rng.permutation(n)),
    # Deciles of 0 .. 999 are round numbers, which a coarse step meets by luck; these are not.
    "shifted numbers": Column(
        "37, 38, .. n + 36", (0, 100_000), 1, lambda rng, n: 37 + rng.permutation(n)
    ),
    "prices": Column("prices ending in .99", (0.0, 1000.0), 0.01, prices),
    "hours": Column(
        "twelve values of hours per week as floats, 45% of them 40",
        (0.0, 100.0),
        1.0,
        lambda rng, n: rng.choice(HOURS, n, p=SHARES),
    ),
    "ratings": Column("ratings up to 5 with two decimals", (0.0, 5.0), 0.01, ratings),
    "spending": Column(
        "60% zeros, the others lognormal with two decimals", (0.0, 10_000.0), 0.01, spending, True
    ),
    "two clusters": Column(
        "normal numbers of standard deviation 1 around 100 and 900", (0.0, 1000.0), None, clusters
    ),
    "normal": Column(
        "normal numbers, standard deviation 5",
        (-100.0, 100.0),
        None,
        lambda rng, n: rng.normal(0, 5, n),
    ),
    "lognormal": Column(
        "lognormal numbers around 20",
        (0.0, 10_000.0),
        None,
        lambda rng, n: rng.lognormal(3, 1, n),
        True,
    ),
    "three decimals": Column(
        "lognormal numbers around 20 with three decimals",
        (0.0, 10_000.0),
        0.001,
        lambda rng, n: np.round(rng.lognormal(3, 1, n), 3),
        True,
    ),
    "latencies": Column(
        "lognormal latencies around 55 ms",
        (0.0, 60_000.0),
        None,
        lambda rng, n: rng.lognormal(4, 1, n),
        True,
    ),
}

REAL: dict[str, tuple[tuple[float, float], float]] = {
    "acs_income": ((-20_000, 1_000_000), 100),
    "adult_age": ((0, 120), 1),
    "adult_hours": ((0, 168), 1),
    SHIPPED: ((-180, 1440), 1),
    "goodreads_pages": ((0, 10_000), 1),
    "goodreads_ratings": ((0.0, 5.0), 0.01),
}
"""Bounds and steps of real columns."""


def columns(folder: str) -> dict[str, Column]:
    """All columns that can be drawn here."""
    there = {
        name: Column(f"drawn from {name}", bounds, step, partial(drawn, folder, name))
        for name, (bounds, step) in REAL.items()
        if name == SHIPPED or (folder and (Path(folder) / f"{name}.csv").exists())
    }
    return MADE_UP | there
