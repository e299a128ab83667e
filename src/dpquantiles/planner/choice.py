"""The choice of a mechanism from public numbers: what `mechanism="auto"` means.

Of the mechanisms that are the best somewhere, the table of rehearsals (`tables.py`) says how far
each is off on evenly spread, clustered and tied records of the same public shape. The choice is

    1. within 10 % of the best on even records,
    2. nowhere more than twice as far off as the best, or as even records would be,

and among those that are both, the one whose worst case is the best. Where no mechanism is both, 2
comes first: evenly spread records then pay for the chance that records are clustered. The records
themselves are never asked.
"""

from functools import lru_cache
from typing import NamedTuple

from dpquantiles.grid import Grid
from dpquantiles.mechanisms.agg_tree import FLOAT_SHAPE, SHAPE
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.planner import tables
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, bounded_range_eta

AUTO = "auto"
NEAR = 1.1
CATASTROPHE = 2.0
UNKNOWN_SIZE = 10_000
"""Assumed where the number of records is protected and not stated: the choice must not use it."""


class Choice(NamedTuple):
    """A mechanism, and why."""

    mechanism: str
    why: str


def choose(budget: Guarantee, m: int, size: int | None, grid: Grid) -> Choice:
    """The mechanism for m quantiles of `size` records; None where the size is not public."""
    return _chosen(budget, m, UNKNOWN_SIZE if size is None else size, tables.named(grid), size)


@lru_cache(maxsize=1024)
def _chosen(budget: Guarantee, m: int, n: int, grid: str, size: int | None) -> Choice:
    errors = {
        data: {name: _error(name, budget, m, n, grid, data) for name in tables.CANDIDATES}
        for data in tables.DATA
    }
    best = {data: min(found.values()) for data, found in errors.items()}
    even = best["even"]

    def worst(name: str) -> float:
        """The largest ratio to the best; what is below the best on even records is no harm."""
        return max(errors[data][name] / max(best[data], even) for data in tables.DATA)

    harmless = [
        name
        for name in tables.CANDIDATES
        if all(errors[d][name] <= CATASTROPHE * max(best[d], even) for d in tables.DATA[1:])
    ]
    near = [name for name in harmless if errors["even"][name] <= NEAR * even]
    if near:
        name = min(near, key=worst)
    elif harmless:
        name = min(harmless, key=lambda name: errors["even"][name])
    else:
        name = min(tables.CANDIDATES, key=worst)
    held = (
        f"{n:,} records" if size is not None else f"a protected number of records ({n:,} assumed)"
    )
    others = ", ".join(
        f"{other} {errors['even'][other]:.2g}"
        for other in tables.CANDIDATES
        if other != name and errors["even"][other] < 1e9
    )
    why = (
        f"expected rank error {errors['even'][name]:.2g} for {m} even quantiles of {held} "
        f"(evenly spread; clustered {errors['clustered'][name]:.2g}, tied "
        f"{errors['tied'][name]:.2g}); others evenly spread: {others}"
    )
    return Choice(name, why)


def _error(name: str, budget: Guarantee, m: int, n: int, grid: str, data: str) -> float:
    """The expected rank error, from the table: see there for the change of scale."""
    ratio = strength(name, budget, m, grid)
    return tables.error(name, grid, data, n * ratio, m) / ratio


def strength(name: str, budget: Guarantee, m: int, grid: str) -> float:
    """The rate of a mechanism within a budget, in units of its rate at epsilon = 1 under swap."""
    neighbors = 2.0 if budget.neighbors is Neighbors.ADD_REMOVE else 1.0
    if not isinstance(budget, ZCDP):
        return neighbors * budget.epsilon
    if name == "joint_exp":
        return neighbors * bounded_range_eta(budget.rho)
    if name == "recursive_joint_exp":
        parts = RecursiveJointExp.parts(m)
        return neighbors * parts * bounded_range_eta(budget.rho / parts)
    height = (FLOAT_SHAPE if grid == "float" else SHAPE)[0]
    # sqrt(2 rho / nodes) per node, against 1 / (2 height).
    nodes = 2 * height / neighbors
    return float((2 * budget.rho / nodes) ** 0.5 * 2 * height)
