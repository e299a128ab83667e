"""The tuned parameters: the paper's tables, and ours as chosen from rows.

The paper tunes on N(0, 1): for CSmooth the t of least variance, averaged over five sets of records,
and for AggTree the height and branching of least error, for missed points and for distance.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper.data import Tables
from experiments.paper.runs import LARGEST_M, Run, TunedSmoothness, TunedTree
from experiments.paper.scale import Scale, batches
from experiments.rows import Rows, key

Shape = tuple[int, int]

PANELS = ("gaussian", "uniform", "ratings", "pages")
COUNTS = tuple(range(1, LARGEST_M + 1))
TIMED_M = 30
"""The paper states times for one more quantile than it has figures for."""

WIDE = {"tried": 150, "lowest": 1e-10, "highest": 10.0}
WIDE_COUNTS = (3, 9)
TRIED_SHAPES = range(2, 16)
"""Heights and branchings that are tried; the paper's best ones have at most 12^3 leaves."""

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


def chosen(rows: Rows, scale: Scale) -> Tuned:
    """What the rows of tuning say is best."""
    found = smoothness(rows, smooth_runs(scale))
    trees = tree_runs(scale)
    shapes = {error: _best(tree_errors(rows, trees, error)) for error in PAPER_SHAPES}
    return Tuned({m: tuple(t.mean(axis=0).tolist()) for m, t in found.items()}, shapes)


def _best(errors: Mapping[Shape, NDArray[np.float64]]) -> tuple[Shape, ...]:
    shapes = list(errors)
    means = np.array([errors[shape].mean(axis=0) for shape in shapes])
    return tuple(shapes[place] for place in means.argmin(axis=0)) if shapes else ()


def smooth_runs(scale: Scale) -> list[TunedSmoothness]:
    """The paper's choice of t, with one m more for the timings."""
    trials, counts = range(scale.smooth_trials), (*COUNTS, TIMED_M)
    return [TunedSmoothness(m=m, trial=trial) for m, trial in itertools.product(counts, trials)]


def wide_smooth_runs(scale: Scale, tables: Tables) -> list[TunedSmoothness]:
    """The wide range of t from which the paper started, on its own data sets too."""
    names = ("standard", *(tables.name(panel) for panel in PANELS))
    cells = itertools.product(names, WIDE_COUNTS, range(scale.smooth_trials))
    return [
        TunedSmoothness(data=data, m=m, trial=trial, **WIDE)  # type: ignore[arg-type]
        for data, m, trial in cells
    ]


def tree_runs(scale: Scale) -> list[TunedTree]:
    """Every shape, to choose from."""
    return _trees(scale, scale.tree_trials, 0)


def tree_checks(scale: Scale) -> list[TunedTree]:
    """Every shape on fresh records, to compare what was chosen without the luck of the choice."""
    return _trees(scale, scale.check_trials, CHECKS_FROM)


def _trees(scale: Scale, total: int, first: int) -> list[TunedTree]:
    return [
        TunedTree(height=height, branching=branching, first=start, trials=trials)
        for height, branching in itertools.product(TRIED_SHAPES, TRIED_SHAPES)
        if branching**height <= scale.most_leaves
        for start, trials in batches(total, first)
    ]


def tuning_runs(scale: Scale, tables: Tables) -> list[Run]:
    """All that must be known before the tuned contenders can run."""
    return [
        *smooth_runs(scale),
        *wide_smooth_runs(scale, tables),
        *tree_runs(scale),
        *tree_checks(scale),
    ]
