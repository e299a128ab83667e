"""The tuned parameters: the paper's tables, and ours as chosen from rows.

The paper tunes on N(0, 1): for CSmooth the t of least variance, averaged over five sets of records,
and for AggTree the height and branching of least error, for missed points and for distance.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper.runs import LARGEST_M, TunedSmoothness, TunedTree
from experiments.rows import Rows, key

Shape = tuple[int, int]

MOST_LEAVES = 15**4
"""Shapes with more leaves are left out: the paper's best ones have at most 12^3."""

SHAPES: tuple[Shape, ...] = tuple(
    (height, branching)
    for height, branching in itertools.product(range(2, 16), range(2, 16))
    if branching**height <= MOST_LEAVES
)

_MISSED_HEIGHTS = (4, 3, 3, 3, 2, *(3,) * 24)
_MISSED_BRANCHINGS = (
    *(4, 6, 6, 9, 14, 10, 7, 7, 10, 10, 8, 7, 7, 12, 10),
    *(10, 10, 10, 7, 10, 10, 7, 10, 12, 12, 12, 10, 10, 12),
)
_DISTANCE_BRANCHINGS = (
    *(8, 6, 6, 10, 9, 9, 10, 10, 12, 12, 10, 10, 7, 10, 8),
    *(8, 10, 7, 10, 10, 12, 8, 10, 12, 10, 7, 5, 7, 5),
)
PAPER_SHAPES: Mapping[str, tuple[Shape, ...]] = {
    "missed": tuple(zip(_MISSED_HEIGHTS, _MISSED_BRANCHINGS, strict=True)),
    "distance": tuple((3, branching) for branching in _DISTANCE_BRANCHINGS),
}
"""The two tables of the paper's appendix, for m = 1 .. 29."""

PAPER_T = {(3, 0.5): 0.13}
"""The one tuned t that the paper states, by m and q."""

CHECKS_FROM = 1000
"""Trial numbers from here on were never used to choose."""


class Tuned(NamedTuple):
    """What was chosen: t by m, and shapes by error and m."""

    smoothness: Mapping[int, tuple[float, ...]]
    shapes: Mapping[str, tuple[Shape, ...]]


def smoothness(rows: Rows, runs: Iterable[TunedSmoothness]) -> dict[int, NDArray[np.float64]]:
    """The best t by m: one line per set of records, one column per quantile."""
    found: dict[int, list[list[float]]] = {}
    for run in runs:
        row = rows.get(key(run))
        if row:
            found.setdefault(run.m, []).append(row["t"])
    return {m: np.array(lines) for m, lines in found.items()}


def tree_errors(
    rows: Rows, runs: Iterable[TunedTree], error: str
) -> dict[Shape, NDArray[np.float64]]:
    """Errors by shape: one line per trial, one column per m."""
    found: dict[Shape, list[list[float]]] = {}
    for run in runs:
        row = rows.get(key(run))
        if row:
            found.setdefault((run.height, run.branching), []).extend(row[error])
    return {shape: np.array(lines) for shape, lines in found.items()}


def chosen(
    rows: Rows, smooth_runs: Iterable[TunedSmoothness], tree_runs: Iterable[TunedTree]
) -> Tuned:
    """What the rows of tuning say is best; the paper's where a row is missing."""
    found = smoothness(rows, smooth_runs)
    trees = list(tree_runs)
    shapes = {error: _best(tree_errors(rows, trees, error)) for error in PAPER_SHAPES}
    return Tuned({m: tuple(t.mean(axis=0).tolist()) for m, t in found.items()}, shapes)


def _best(errors: Mapping[Shape, NDArray[np.float64]]) -> tuple[Shape, ...]:
    shapes = list(errors)
    means = np.array([errors[shape].mean(axis=0) for shape in shapes])
    return tuple(shapes[place] for place in means.argmin(axis=0)) if shapes else ()


assert all(len(shapes) == LARGEST_M for shapes in PAPER_SHAPES.values())
