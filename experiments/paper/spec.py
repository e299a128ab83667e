"""What is run: every study as a list of runs, in full or quickly.

All numbers here are fixed beforehand. A quick run is the beginning of the full one: its rows are
kept and the full run only adds to them (times excepted, which a quick run takes with less care).
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from dpquantiles.mechanisms import MECHANISMS
from experiments.paper.contenders import OURS, PAPER, UNKNOWN_SIZE
from experiments.paper.data import DATASETS, PAPER_BOUNDS, Bounds, Tables
from experiments.paper.runs import (
    LARGEST_M,
    LINE_BY_LINE,
    Run,
    Timing,
    Trials,
    TunedSmoothness,
    TunedTree,
)
from experiments.paper.tuning import CHECKS_FROM, SHAPES, Tuned

PANELS = ("gaussian", "uniform", "ratings", "pages")
TIED = ("hours", "stars", "income")
COUNTS = tuple(range(1, LARGEST_M + 1))
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
TIMED_M = 30
TIMED_SIZES = (1000, 1_000_000)
TIMED_CONTENDERS = (*PAPER, OURS, LINE_BY_LINE)
WIDE = {"tried": 150, "lowest": 1e-10, "highest": 10.0}
WIDE_COUNTS = (3, 9)
FIRST_BATCHES = (5, 5, 10)
BATCH = 20
SLOW_BATCH = 2


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much is run."""

    name: str
    trials: int
    """Of the paper's figures and everything else that is cheap."""
    slow_trials: int
    """Of cells that take seconds each."""
    most_work: int
    """Cells with a larger m n than this, for slow mechanisms, are left out."""
    tree_trials: int
    check_trials: int
    smooth_trials: int
    rounds: int
    beside: str


FULL = Scale(
    name="full",
    trials=200,
    slow_trials=20,
    most_work=10**7,
    tree_trials=50,
    check_trials=150,
    smooth_trials=5,
    rounds=20,
    beside="nothing",
)
QUICK = Scale(
    name="quick",
    trials=5,
    slow_trials=2,
    most_work=10**6,
    tree_trials=5,
    check_trials=5,
    smooth_trials=1,
    rounds=3,
    beside="other runs",
)


def batches(total: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """First trial and number of trials of every batch: small ones, which a quick run wants too."""
    sizes = itertools.chain(FIRST_BATCHES, itertools.repeat(BATCH))
    yield from _cut(total, first, sizes)


def slow_batches(total: int) -> Iterator[tuple[int, int]]:
    """The same for trials that take seconds: a run in flight is lost when the work is cut off."""
    yield from _cut(total, 0, itertools.repeat(SLOW_BATCH))


def _cut(total: int, first: int, sizes: Iterator[int]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < total:
        size = min(next(sizes), total - start)
        yield first + start, size
        start += size


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
    return _trees(scale.tree_trials, 0)


def tree_checks(scale: Scale) -> list[TunedTree]:
    """Every shape on fresh records, to compare what was chosen without the luck of the choice."""
    return _trees(scale.check_trials, CHECKS_FROM)


def _trees(total: int, first: int) -> list[TunedTree]:
    cells = itertools.product(SHAPES, batches(total, first))
    return [
        TunedTree(height=height, branching=branching, first=start, trials=trials)
        for (height, branching), (start, trials) in cells
    ]


def tuning_runs(scale: Scale, tables: Tables) -> list[Run]:
    """All that must be known before the tuned contenders can run."""
    return [
        *smooth_runs(scale),
        *wide_smooth_runs(scale, tables),
        *tree_runs(scale),
        *tree_checks(scale),
    ]


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


def _tuned_trials(
    tuned: Tuned, *, study: str, data: str, contender: str, m: int, total: int, bounds: Bounds
) -> Iterator[Trials]:
    """Batches with the parameters that a tuned contender needs; a tree has two shapes at most."""
    shapes: set[tuple[int, int] | None] = {None}
    if contender == "AggTree":
        shapes = {best[m - 1] for best in tuned.shapes.values()}
    t = tuned.smoothness[m] if contender == "CSmooth" else None
    for shape, (first, trials) in itertools.product(sorted(shapes, key=str), batches(total)):
        yield Trials(
            study=study,
            data=data,
            contender=contender,
            m=m,
            first=first,
            trials=trials,
            bounds=bounds,
            shape=shape,
            smoothness=t,
        )


def accuracy_runs(scale: Scale, tables: Tables, tuned: Tuned) -> Iterator[Trials]:
    """Both error figures: four data sets, the paper's four mechanisms and ours."""
    for panel, contender, m in itertools.product(PANELS, (*PAPER, OURS), COUNTS):
        yield from _tuned_trials(
            tuned,
            study="accuracy",
            data=tables.name(panel),
            contender=contender,
            m=m,
            total=scale.trials,
            bounds=PAPER_BOUNDS,
        )


def bounds_runs(scale: Scale, tables: Tables, tuned: Tuned) -> Iterator[Trials]:
    """Bounds that are looser by a factor, and for ours none at all."""
    for panel, contender, factor in itertools.product(PANELS, (*PAPER, OURS), LOOSENESS):
        data = tables.name(panel)
        if factor is not None:
            loose = (PAPER_BOUNDS[0] * factor, PAPER_BOUNDS[1] * factor)
            yield from _tuned_trials(
                tuned,
                study="bounds",
                data=data,
                contender=contender,
                m=ONE_M,
                total=scale.trials,
                bounds=loose,
            )
        elif contender == OURS:
            for first, trials in batches(scale.trials):
                yield Trials(
                    study="bounds",
                    data=data,
                    contender=OURS,
                    m=ONE_M,
                    first=first,
                    trials=trials,
                    bounds=None,
                )


def many_runs(scale: Scale) -> Iterator[Trials]:
    """All mechanisms for very many quantiles."""
    for name, n, m in itertools.product(MECHANISMS, MANY_SIZES, MANY_COUNTS):
        if m * n > scale.most_work:
            continue
        slow = m * n > 10**6 or m > 100
        cut = slow_batches(scale.slow_trials) if slow else batches(_some(scale, m))
        for first, trials in cut:
            yield Trials(
                study="many", data="gaussian", contender=name, m=m, n=n, first=first, trials=trials
            )


def _some(scale: Scale, m: int) -> int:
    return min(scale.trials, scale.slow_trials * (5 if m <= LARGEST_M else 2))


def tied_runs(scale: Scale, tables: Tables) -> Iterator[Trials]:
    """Tied data: the paper's mechanism, its remedy, and ours."""
    contenders = ("JointExp", "JointExp, ties undone", OURS)
    for wanted, name, m in itertools.product(TIED, contenders, FEW_COUNTS):
        data = tables.name(wanted)
        for first, trials in batches(scale.trials):
            yield Trials(
                study="tied",
                data=data,
                contender=name,
                m=m,
                first=first,
                trials=trials,
                bounds=DATASETS[data].bounds,
            )


def epsilon_runs(scale: Scale) -> Iterator[Trials]:
    """From very private to hardly private."""
    for name, epsilon in itertools.product(EPSILON_CONTENDERS, EPSILONS):
        for first, trials in batches(scale.trials):
            yield Trials(
                study="epsilon",
                data="gaussian",
                contender=name,
                m=ONE_M,
                epsilon=epsilon,
                first=first,
                trials=trials,
            )


def neighbor_runs(scale: Scale) -> Iterator[Trials]:
    """Swap against add-remove."""
    for (name, neighbors), m in itertools.product(NEIGHBORS, FEW_COUNTS):
        for first, trials in batches(scale.trials):
            yield Trials(
                study="neighbors",
                data="gaussian",
                contender=name,
                m=m,
                neighbors=neighbors,
                first=first,
                trials=trials,
            )


def size_runs(scale: Scale) -> Iterator[Trials]:
    """From a hundred records to a million; fewer trials where there are many records."""
    for name, n in itertools.product(SIZE_CONTENDERS, SIZES):
        whole = name == "paper_joint_exp"
        if whole and n * ONE_M > scale.most_work:
            continue
        slow = n > 10**5 or (whole and n > 10**4)
        cut = slow_batches(scale.slow_trials) if slow else batches(_some(scale, ONE_M))
        for first, trials in cut:
            yield Trials(
                study="sizes",
                data="gaussian",
                contender=name,
                m=ONE_M,
                n=n,
                first=first,
                trials=trials,
            )


def timing_runs(scale: Scale, tuned: Tuned) -> list[Timing]:
    """Times at 1000 records for many m, and at 1000 and a million records for m = 30."""
    cells = [(TIMED_SIZES[0], m) for m in TIMED_COUNTS] + [(n, TIMED_M) for n in TIMED_SIZES]
    return [
        Timing(
            contender=name,
            n=n,
            m=m,
            rounds=_rounds(scale, name, n),
            beside=scale.beside,
            shape=tuned.shapes["missed"][min(m, LARGEST_M) - 1] if name == "AggTree" else None,
            smoothness=tuned.smoothness[m] if name == "CSmooth" else None,
        )
        for (n, m), name in itertools.product(cells, TIMED_CONTENDERS)
        # Line by line, a million records would take minutes and many gigabytes.
        if not (name == LINE_BY_LINE and n > TIMED_SIZES[0])
    ]


def _rounds(scale: Scale, name: str, n: int) -> int:
    if n == TIMED_SIZES[0]:
        return scale.rounds
    return 1 if name in {"JointExp", "AppIndExp"} else 3
