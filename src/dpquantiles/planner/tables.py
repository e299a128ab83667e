"""The table behind the choice of a mechanism: mean rank errors, measured on made-up records.

An entry is the mean rank error of one mechanism over evenly spaced quantiles, at epsilon = 1 under
swap neighbors. It depends on the grid, the shape of the data, the number of records and the number
of quantiles, and is averaged over several data sets. Smooth records are random, because a tree with
few leaves would look too good on evenly spaced ones. Every data set has clusters or ties of other
sizes, because it matters a lot whether a quantile lies at the edge of a cluster or inside it.
Rounded records are tied on multiples of a step, which families of grids find. Other grids look for
none, so there rounded records count as tied.

One table serves all budgets. A budget that multiplies the rate of a mechanism by r gives 1/r of the
error that r times as many records have at epsilon = 1. Trees on random records are an exception,
because they do not see what lies inside a cell. So smooth records are also measured at
epsilon = `STRONG`, in the same units. `python -m experiments.choice_table` makes the table.
"""

import json
import math
from bisect import bisect_right
from functools import lru_cache
from typing import Any

from dpquantiles.grid import FloatGrid, Grid, UniformGrid, decimal_base, family_of, finest
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.mechanisms.adaptive_tree import COARSE

CANDIDATES = ("joint_exp", "fitted", "recursive_joint_exp", "adaptive_tree", "agg_tree")
"""Mechanisms that are the most accurate ones somewhere; joint_exp, which reads least, is first."""

TREES = ("adaptive_tree", "agg_tree")
"""Mechanisms whose errors hardly depend on the number of quantiles, beyond a few."""

DATA = ("smooth", "clustered", "tied", "rounded")
STRONG, STRONG_DATA = 5.0, "smooth at a large epsilon"
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
COUNTS = (1, 9, 15, 23, 24, 29, 44, 64, 99, 143, 144, 255, 1000)
"""Numbers of quantiles; recursive_joint_exp gets another level at 24 and at 144. Larger numbers
count as the last one."""

UNIFORM = {"coarse": 7, "middle": 10, "fine": 38}
"""Grids of two to this many points. Up to about 2**10, a tree has a leaf for every point."""

FAMILIES = {"float": REAL, "integers": INTEGER}
"""Families of grids about which nothing is stated, on which rounded records are measured too. On
"integers", hardly any of the points are near the records. They stand for families with bounds or a
resolution, too."""

GRIDS = (*UNIFORM, *FAMILIES)

FROM = {"coarse": 1, "middle": 2**9, "fine": COARSE + 1}
"""The smallest number of points of a grid that is looked up under each name."""


@lru_cache(maxsize=len(GRIDS))
def grid_of(name: str) -> Grid:
    """The grid that a name stands for, built when it is first needed: a family takes a while."""
    if name in FAMILIES:
        return family_of(FAMILIES[name], None, None)
    return UniformGrid(0, 2 ** UNIFORM[name] - 1)


def measured_on(grid: str) -> tuple[str, ...]:
    """The kinds of data that the table has for a grid."""
    kept = DATA if grid in FAMILIES else tuple(data for data in DATA if data != "rounded")
    return (*kept, STRONG_DATA)


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """Errors by grid, data and mechanism: a row per size, a column per number of quantiles."""
    from importlib import resources  # slower to import than the whole planner

    text = resources.files(__package__).joinpath("choice.json").read_text("utf-8")
    errors: dict[str, Any] = json.loads(text)["errors"]
    return errors


def grid_name(grid: Grid) -> str:
    """The name under which a grid is looked up in the table."""
    base = finest(grid)
    if decimal_base(grid) is not None or (isinstance(base, FloatGrid) and base.unbounded):
        return "integers" if grid.kind.integral else "float"
    return [name for name, points in FROM.items() if points <= grid.size][-1]


def error(name: str, grid: str, data: str, n: float, m: int, rate: float = 1.0) -> float:
    """The error for any n (records times rate), any number of quantiles and any rate."""
    weak = _entry(name, grid, data, n, m)
    if data != "smooth" or rate <= 1.0:
        return weak
    strong = _entry(name, grid, STRONG_DATA, n, m)
    share = min(1.0, math.log(rate) / math.log(STRONG))
    return float(weak ** (1 - share) * strong**share)


def _entry(name: str, grid: str, data: str, n: float, m: int) -> float:
    """An error by linear interpolation of logarithms between entries."""
    by_data = table()[grid]
    rows = by_data.get(data, by_data["tied"])[name]
    row, across = _place(SIZES, n)
    column, along = _place(COUNTS, m)
    logarithm = 0.0
    for r, weight in ((row, 1 - across), (row + 1, across)):
        for c, share in ((column, 1 - along), (column + 1, along)):
            if weight * share:
                value = rows[r][c]
                if value is None:
                    return math.inf
                logarithm += weight * share * math.log(value + 1e-3)
    return math.exp(logarithm)


def _place(marks: tuple[int, ...], x: float) -> tuple[int, float]:
    """The mark below a number, and how far the number lies towards the next mark."""
    if x <= marks[0]:
        return 0, 0.0
    if x >= marks[-1]:
        return len(marks) - 2, 1.0
    k = bisect_right(marks, x) - 1
    return k, math.log(x / marks[k]) / math.log(marks[k + 1] / marks[k])
