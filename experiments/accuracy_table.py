"""Rank errors of all mechanisms, as tables of a page.

    python -m experiments.accuracy_table [--trials 50] [--rows build/accuracy/rows.jsonl]
                                         [--page docs/accuracy.md] [--kept]

Every cell is a mechanism, a number m of even quantiles, a number n of records and a kind of data;
its rows are kept as JSON lines, so that a run that was cut off goes on where it stopped. All runs
are seeded: none of these releases is private. The error of an answer o for the quantile q is the
distance of q n to [#(x < o), #(x <= o)], averaged over the quantiles. The page has other parts too,
which stay as they are.
"""

import argparse
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpquantiles as dpq
from dpquantiles.data import flight_delays
from dpquantiles.mechanisms import MECHANISMS
from experiments import marked, progress, rows
from experiments.errors import rank_error
from experiments.rows import Found

COUNTS = (1, 3, 9, 29, 60, 100, 255)
SIZES = (1000, 20_000)
MOST_SECONDS = 3600.0
"""A cell gets fewer trials when all of them would take longer; the page says how many."""

FEWEST_TRIALS = 5
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "concentrated": {"rho": 0.5},
}


class Data(NamedTuple):
    """A way to draw records, and public bounds for them."""

    words: str
    bounds: tuple[float, float]
    sample: Callable[[np.random.Generator, int], NDArray[Any]]


def clusters(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Twenty narrow clusters far apart among the 32-bit integers."""
    centers = rng.integers(0, 2**32, 20)
    values = rng.choice(centers, n) + rng.normal(0, 1000, n).astype(np.int64)
    return np.asarray(np.clip(values, 0, 2**32 - 1))


DATA = {
    "smooth": Data(
        "normal numbers, standard deviation 5, bounds [-100, 100]",
        (-100.0, 100.0),
        lambda rng, n: rng.normal(0, 5, n),
    ),
    "clustered": Data(
        "twenty clusters of width 1000 among the integers below 2^32", (0, 2**32 - 1), clusters
    ),
    "tied": Data(
        "arrival delays of flights in whole minutes, bounds [-180, 1440]",
        (-180, 1440),
        lambda rng, n: rng.choice(flight_delays(), n, replace=False),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured once."""

    data: str
    n: int
    m: int
    mechanism: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was found: a mean and its standard error over trials, or why there is none."""

    cell: Cell
    trials: int = 0
    mean: float | None = None
    error: float | None = None
    note: str = ""


def cells() -> Iterator[Cell]:
    """All cells, the quick ones first."""
    for m, n, data, name in itertools.product(COUNTS, SIZES, DATA, MECHANISMS):
        yield Cell(data=data, n=n, m=m, mechanism=name)


def trial_error(cell: Cell, seed: int) -> float:
    """The mean rank error of one seeded release."""
    data, mechanism = DATA[cell.data], MECHANISMS[cell.mechanism]
    values = data.sample(np.random.default_rng([seed, cell.n]), cell.n)
    q = [k / (cell.m + 1) for k in range(1, cell.m + 1)]
    release = dpq.quantiles(
        values,
        q,
        bounds=data.bounds,
        mechanism=mechanism.name,
        rng=random.Random(seed),
        **BUDGETS[mechanism.profile.kinds[0]],
    )
    return rank_error(np.sort(values), q, release)


def measure(cell: Cell, trials: int) -> Row:
    """All trials of a cell, or as many as fit into its time."""
    start, errors = time.perf_counter(), []
    try:
        for seed in range(trials):
            errors.append(trial_error(cell, seed))
            spent = time.perf_counter() - start
            if len(errors) >= FEWEST_TRIALS and spent > MOST_SECONDS:
                break
    except ValueError as refusal:
        return Row(cell=cell, note=str(refusal))
    spread = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
    return Row(cell=cell, trials=len(errors), mean=float(np.mean(errors)), error=spread)


def measured(trials: int, cell: Cell) -> Found:
    """The row of a cell, for the file."""
    found = asdict(measure(cell, trials))
    del found["cell"]
    return found


def read(path: Path) -> dict[Cell, Row]:
    """Rows of earlier runs."""
    kept = rows.read(path)
    found = {cell: kept.get(rows.key(cell)) for cell in cells()}
    return {cell: Row(cell=cell, **row) for cell, row in found.items() if row is not None}


def run(path: Path, trials: int) -> dict[Cell, Row]:
    """Measure what is missing, in parallel, and keep each row as soon as it is there."""
    missing = rows.missing(cells(), rows.read(path))
    with rows.alone_in(path.parent), progress.shown("cells", len(missing)) as done:
        failures = rows.collect(missing, measured, path=path, shared=trials, done=done)
    for cell, problem in failures.items():
        print(f"failed: {cell}: {problem}", file=sys.stderr)
    return read(path)


def shown(row: Row | None, trials: int) -> str:
    """A cell of the page."""
    if row is None or row.mean is None:
        return "refuses" if row else ""
    few = f" ({row.trials})" if row.trials < trials else ""
    return f"{row.mean:.1f} ± {row.error:.1f}{few}"


def table(found: dict[Cell, Row], data: str, n: int, trials: int) -> list[str]:
    """One Markdown table: mechanisms down, numbers of quantiles across."""
    lines = [
        "| mechanism | " + " | ".join(f"m = {m}" for m in COUNTS) + " |",
        "|---" * (len(COUNTS) + 1) + "|",
    ]
    for name in MECHANISMS:
        row = [found.get(Cell(data=data, n=n, m=m, mechanism=name)) for m in COUNTS]
        lines.append(f"| {name} | " + " | ".join(shown(each, trials) for each in row) + " |")
    return lines


def part(found: dict[Cell, Row], trials: int) -> list[str]:
    """All tables, and what they mean."""
    lines = [
        "Mean rank error per quantile ± standard error, for m even quantiles of n records under",
        f"swap neighbors, {trials} seeded trials (a number in parentheses: fewer, because the cell",
        "was slow). Budgets: ε = 1; for app_ind_exp (1, 10⁻⁶); for csmooth rho = 1/2, which is a",
        "weaker promise than ε = 1. *refuses*: the mechanism says that these public numbers do",
        "not suit it. An empty cell was not measured. Made by `make accuracy-table`.",
    ]
    for data, n in itertools.product(DATA, SIZES):
        lines += [
            "",
            f"## {data.capitalize()} data, n = {n:,}",
            "",
            f"Records: {DATA[data].words}.",
        ]
        lines += ["", *table(found, data, n, trials)]
    return lines


def main() -> None:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--rows", type=Path, default=Path("build/accuracy/rows.jsonl"))
    parser.add_argument("--page", type=Path, default=Path("docs/accuracy.md"))
    parser.add_argument(
        "--kept", action="store_true", help="only the page, from the rows that are there"
    )
    options = parser.parse_args()
    found = read(options.rows) if options.kept else run(options.rows, options.trials)
    marked.put(options.page, "mechanisms", part(found, options.trials))


if __name__ == "__main__":
    main()
