"""One entry of the table behind the choice of a mechanism, measured by rehearsals."""

from typing import Any

from dpquantiles.mechanisms import registry
from dpquantiles.planner.reference import FLOAT_SPREAD, WHOLE_NUMBERS, reference
from dpquantiles.planner.rehearsal import rehearse
from dpquantiles.planner.tables import GRIDS, STRONG, STRONG_DATA
from dpquantiles.privacy import PureDP

SPREAD = 0.1
"""Of grids with bounds; without them it is that of `reference`."""

SAMPLES = 16
"""Data sets behind every entry: what lies at the quantiles matters as much as what is drawn."""

OCTAVES = 2
"""Smooth records spread over parts of the grid whose lengths differ by so many factors of two: over
an unlucky length, all cells of a tree are cut once too often at the same time."""


def measured(name: str, grid: str, data: str, n: int, m: int, draws: int) -> float:
    """One entry of the table, from so many draws on each data set."""
    epsilon = STRONG if data == STRONG_DATA else 1.0
    kind = "smooth" if data == STRONG_DATA else data
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    mechanism = registry.build(name, PureDP(epsilon=epsilon), q=q)
    octave = OCTAVES / SAMPLES if kind == "smooth" else 0.0
    views = (
        reference(
            kind, round(n / epsilon), GRIDS[grid], spread_of(grid, 2 ** (octave * seed)), seed
        )
        for seed in range(SAMPLES)
    )
    mean = sum(float(rehearse(mechanism, view, draws).mean()) for view in views) / SAMPLES
    return mean * epsilon


def spread_of(grid: str, times: float) -> Any:
    """The spread of records on a grid of the table, or so many times as wide."""
    if grid == "integers":
        return (0, round(times * WHOLE_NUMBERS))
    return times * (FLOAT_SPREAD if grid == "float" else SPREAD)
