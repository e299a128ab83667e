"""What is run once the parameters are tuned: every study as a list of runs."""

import itertools
from collections.abc import Iterator

from dpquantiles.mechanisms import MECHANISMS
from experiments.paper.cells import RECORDS, Cell
from experiments.paper.contenders import OURS, PAPER, UNKNOWN_SIZE
from experiments.paper.data import DATASETS, PAPER_BOUNDS, Tables
from experiments.paper.runs import LARGEST_M, LINE_BY_LINE, Timing, Trials
from experiments.paper.scale import Scale, batches, slow_batches
from experiments.paper.tuning import COUNTS, PANELS, TIMED_M, Shape, Tuned

TIED = ("hours", "stars", "income")
TIED_CONTENDERS = ("JointExp", "JointExp, ties undone", OURS)
FEW_COUNTS = (1, 3, 9, 15, 29)
MANY_COUNTS = (1, 3, 9, 29, 60, 100, 255)
MANY_SIZES = (1000, 20_000)
LOOSENESS: tuple[int | None, ...] = (1, 10, 1000, None)
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
EPSILON_CONTENDERS = (
    *(OURS, "recursive_joint_exp", "agg_tree", "app_ind_exp", "csmooth", "paper_joint_exp"),
)
SIZES = (100, 300, 1000, 3000, 10_000, 100_000, 1_000_000)
SIZE_CONTENDERS = (
    *(OURS, "recursive_joint_exp", "agg_tree", "approx_quantiles", "app_ind_exp"),
    *("csmooth", "paper_joint_exp"),
)
NEIGHBORS = (
    *((OURS, kind) for kind in ("swap", "add-remove", UNKNOWN_SIZE)),
    *(("paper_joint_exp", kind) for kind in ("swap", "add-remove")),
    *(("agg_tree", kind) for kind in ("swap", "add-remove")),
)
ONE_M = 9
TIMED_COUNTS = (1, 3, 5, 7, 9, 12, 15, 18, 21, 25, 29)
PAPER_SECONDS = {RECORDS: 1e-3, 1_000_000: 60.0}
"""What the paper states for m = 30."""

TIMED_SIZES = tuple(PAPER_SECONDS)
TIMED_CONTENDERS = (*PAPER, OURS, LINE_BY_LINE)


def trial_runs(scale: Scale, tables: Tables, tuned: Tuned) -> list[Trials]:
    """All trials of all studies."""
    return [
        *accuracy_runs(scale, tables, tuned),
        *bounds_runs(scale, tables, tuned),
        *many_runs(scale),
        *tied_runs(scale, tables),
        *epsilon_runs(scale),
        *neighbor_runs(scale),
        *size_runs(scale),
    ]


def _trials(cell: Cell, cut: Iterator[tuple[int, int]]) -> Iterator[Trials]:
    return (Trials(cell=cell, first=first, trials=trials) for first, trials in cut)


def _tuned_trials(cell: Cell, tuned: Tuned, total: int) -> Iterator[Trials]:
    """Batches with the parameters that a tuned contender needs; none before it was tuned."""
    shapes: set[Shape | None] = {None}
    if cell.contender == "AggTree":
        shapes = {best[cell.m - 1] for best in tuned.shapes.values() if best}
    t = tuned.smoothness.get(cell.m) if cell.contender == "CSmooth" else None
    if cell.contender == "CSmooth" and t is None:
        return
    for shape, (first, trials) in itertools.product(sorted(shapes, key=str), batches(total)):
        yield Trials(cell=cell, first=first, trials=trials, shape=shape, smoothness=t)


def accuracy_runs(scale: Scale, tables: Tables, tuned: Tuned) -> Iterator[Trials]:
    """Both error figures: four data sets, the paper's four mechanisms and ours."""
    for panel, contender, m in itertools.product(PANELS, (*PAPER, OURS), COUNTS):
        cell = Cell(study="accuracy", data=tables.name(panel), contender=contender, m=m)
        yield from _tuned_trials(cell, tuned, scale.trials)


def bounds_cell(data: str, contender: str, factor: int | None) -> Cell:
    """The paper's bounds times a factor, or none."""
    bounds = None if factor is None else (PAPER_BOUNDS[0] * factor, PAPER_BOUNDS[1] * factor)
    return Cell(study="bounds", data=data, contender=contender, m=ONE_M, bounds=bounds)


def bounds_runs(scale: Scale, tables: Tables, tuned: Tuned) -> Iterator[Trials]:
    """Bounds that are looser by a factor, and for ours none at all."""
    for panel, contender, factor in itertools.product(PANELS, (*PAPER, OURS), LOOSENESS):
        if factor is not None or contender == OURS:
            cell = bounds_cell(tables.name(panel), contender, factor)
            yield from _tuned_trials(cell, tuned, scale.trials)


def many_runs(scale: Scale) -> Iterator[Trials]:
    """All mechanisms for very many quantiles."""
    for name, n, m in itertools.product(MECHANISMS, MANY_SIZES, MANY_COUNTS):
        if m * n > scale.most_work:
            continue
        cell = Cell(study="many", data="gaussian", contender=name, m=m, n=n)
        slow = m * n > 10**6 or m > 100
        yield from _trials(
            cell, slow_batches(scale.slow_trials) if slow else batches(_some(scale, m))
        )


def _some(scale: Scale, m: int) -> int:
    return min(scale.trials, scale.slow_trials * (5 if m <= LARGEST_M else 2))


def tied_cell(data: str, contender: str, m: int) -> Cell:
    """Tied data with bounds that suit them."""
    return Cell(study="tied", data=data, contender=contender, m=m, bounds=DATASETS[data].bounds)


def tied_runs(scale: Scale, tables: Tables) -> Iterator[Trials]:
    """Tied data: the paper's mechanism, its remedy, and ours."""
    for wanted, name, m in itertools.product(TIED, TIED_CONTENDERS, FEW_COUNTS):
        yield from _trials(tied_cell(tables.name(wanted), name, m), batches(scale.trials))


def epsilon_cell(contender: str, epsilon: float) -> Cell:
    """More or less budget."""
    return Cell(study="epsilon", data="gaussian", contender=contender, m=ONE_M, epsilon=epsilon)


def epsilon_runs(scale: Scale) -> Iterator[Trials]:
    """From very private to hardly private."""
    for name, epsilon in itertools.product(EPSILON_CONTENDERS, EPSILONS):
        yield from _trials(epsilon_cell(name, epsilon), batches(scale.trials))


def neighbors_cell(contender: str, neighbors: str, m: int) -> Cell:
    """What one person's data may change."""
    return Cell(study="neighbors", data="gaussian", contender=contender, m=m, neighbors=neighbors)


def neighbor_runs(scale: Scale) -> Iterator[Trials]:
    """Swap against add-remove."""
    for (name, neighbors), m in itertools.product(NEIGHBORS, FEW_COUNTS):
        yield from _trials(neighbors_cell(name, neighbors, m), batches(scale.trials))


def size_runs(scale: Scale) -> Iterator[Trials]:
    """From a hundred records to a million; fewer trials where there are many records."""
    for name, n in itertools.product(SIZE_CONTENDERS, SIZES):
        whole = name == "paper_joint_exp"
        if whole and n * ONE_M > scale.most_work:
            continue
        cell = Cell(study="sizes", data="gaussian", contender=name, m=ONE_M, n=n)
        slow = n > 10**5 or (whole and n > 10**4)
        yield from _trials(
            cell, slow_batches(scale.slow_trials) if slow else batches(_some(scale, ONE_M))
        )


def timing_runs(scale: Scale, tuned: Tuned) -> Iterator[Timing]:
    """Times at 1000 records for many m, and at 1000 and a million records for m = 30."""
    if not tuned.smoothness or not tuned.shapes["missed"]:
        return
    cells = [(RECORDS, m) for m in TIMED_COUNTS] + [(n, TIMED_M) for n in TIMED_SIZES]
    for (n, m), name in itertools.product(cells, TIMED_CONTENDERS):
        # Line by line, a million records would take minutes and many gigabytes.
        if name == LINE_BY_LINE and n > RECORDS:
            continue
        shape = tuned.shapes["missed"][min(m, LARGEST_M) - 1]
        yield Timing(
            contender=name,
            n=n,
            m=m,
            rounds=_rounds(scale, name, n),
            beside=scale.beside,
            shape=shape if name == "AggTree" else None,
            smoothness=tuned.smoothness[m] if name == "CSmooth" else None,
        )


def _rounds(scale: Scale, name: str, n: int) -> int:
    if n == RECORDS:
        return scale.rounds
    return 1 if name in {"JointExp", "AppIndExp"} else 3
