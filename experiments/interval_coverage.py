"""Coverage and width of intervals by simulation, as a page of tables.

    python -m experiments.interval_coverage [--trials 200] [--rows build/intervals/rows.jsonl]
                                            [--page docs/interval_coverage.md] [--kept]

Every cell is a kind of data, a number n of records, a number m of even quantiles, a budget and a
relation of neighbors. Each trial draws fresh records and one seeded release (none of them private)
at level 0.95, and asks whether each interval holds every q-quantile of the data, #(x < lower) < q n
and #(x <= upper) > q n, or, for the population, its true quantile. Rows are kept as JSON lines, so
that a run that was cut off goes on where it stopped. Real columns other than the shipped one are
read from the folder named by DPQUANTILES_DATA, and left out where it has none.
"""

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

import dpquantiles as dpq
from experiments.errors import rank_error
from experiments.interval_data import DATA, there

LEVEL = 0.95
COUNTS = (1, 3, 9)
SIZES = (1000, 20_000)
EPSILONS = (0.1, 1.0, 5.0)
Subject = Literal["data", "population"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
NEIGHBORS = ("swap", "add-remove")
MOST_SECONDS, FEWEST_TRIALS = 6.0, 100
"""A cell gets fewer trials when all of them would take longer."""

POPULATIONS = ("smooth", "tied", "acs_income", "flights_arr_delay")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured once."""

    of: Subject
    data: str
    n: int
    m: int
    epsilon: float
    neighbors: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was found, over all trials."""

    cell: Cell
    trials: int
    worst: float
    """Coverage of the quantile that was covered least."""
    mean: float
    """Coverage of all quantiles."""
    half_width: float
    """Median number of records between the ends, halved."""
    wide: float
    """Share of intervals with an open end."""
    error: float
    """Mean rank error of the answers."""
    error_alone: float
    """The same without intervals."""


def cells() -> Iterator[Cell]:
    """All cells, the quick ones first."""
    for n, m, of, name, epsilon, neighbors in itertools.product(
        SIZES, COUNTS, SUBJECTS, filter(there, DATA), EPSILONS, NEIGHBORS
    ):
        if of == "data" or name in POPULATIONS:
            yield Cell(of=of, data=name, n=n, m=m, epsilon=epsilon, neighbors=neighbors)


class Trial(NamedTuple):
    """One release, quantile by quantile."""

    covered: NDArray[np.bool_]
    records: NDArray[np.int64]
    wide: NDArray[np.bool_]
    error: float
    error_alone: float


def trial(cell: Cell, seed: int) -> Trial:
    """One seeded release with intervals and one without."""
    data = DATA[cell.data]
    values = data.sample(np.random.default_rng([seed, cell.n]), cell.n)
    q = np.arange(1, cell.m + 1) / (cell.m + 1)
    options: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "bounds": data.bounds,
        "neighbors": cell.neighbors,
    }
    release = dpq.quantiles(
        values, q, intervals=dpq.Intervals(LEVEL, cell.of), rng=random.Random(seed), **options
    )
    alone = dpq.quantiles(values, q, rng=random.Random(seed), **options)
    ordered = np.sort(values)
    intervals = release.interval()
    wide = np.array([None in interval for interval in intervals])
    lower = np.array([-np.inf if end is None else end for end, _ in intervals])
    upper = np.array([np.inf if end is None else end for _, end in intervals])
    below = np.searchsorted(ordered, lower, side="left")
    through = np.searchsorted(ordered, upper, side="right")
    if cell.of == "population":
        assert data.quantile is not None
        truth = np.array([data.quantile(p) for p in q])
        covered = (lower <= truth) & (truth <= upper)
    else:
        covered = (below < q * cell.n) & (through > q * cell.n)
    return Trial(
        covered,
        through - below,
        wide,
        rank_error(ordered, q, release),
        rank_error(ordered, q, alone),
    )


def measure(cell: Cell, trials: int) -> Row:
    """All trials of a cell."""
    start, found = time.perf_counter(), []
    for seed in range(trials):
        found.append(trial(cell, seed))
        if len(found) >= FEWEST_TRIALS and time.perf_counter() - start > MOST_SECONDS:
            break
    covered, records, wide, error, alone = (np.array(part) for part in zip(*found, strict=True))
    return Row(
        cell=cell,
        trials=len(found),
        worst=float(covered.mean(axis=0).min()),
        mean=float(covered.mean()),
        half_width=float(np.median(records) / 2),
        wide=float(wide.mean()),
        error=float(error.mean()),
        error_alone=float(alone.mean()),
    )


def read(path: Path) -> dict[Cell, Row]:
    """Rows of earlier runs; a line that was cut off is left out and measured again."""
    rows: dict[Cell, Row] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            plain = json.loads(line)
        except json.JSONDecodeError:
            continue
        cell = Cell(**plain.pop("cell"))
        rows[cell] = Row(cell=cell, **plain)
    return rows


def run(path: Path, trials: int) -> dict[Cell, Row]:
    """Measure what is missing, and keep each row as soon as it is there."""
    rows = read(path)
    missing = [cell for cell in cells() if cell not in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as kept:
        for done, cell in enumerate(missing, start=1):
            rows[cell] = measure(cell, trials)
            kept.write(json.dumps(asdict(rows[cell])) + "\n")
            kept.flush()
            print(f"\r{done} of {len(missing)} cells", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def shown(row: Row | None) -> str:
    """A cell of the page."""
    if row is None:
        return ""
    return f"{row.worst:.3f} · {row.half_width:,.0f} · {row.error:.1f} ({row.error_alone:.1f})"


def table(rows: dict[Cell, Row], of: Subject, n: int, neighbors: str) -> list[str]:
    """One Markdown table: data down, numbers of quantiles and budgets across."""
    columns = list(itertools.product(COUNTS, EPSILONS))
    names = DATA if of == "data" else POPULATIONS
    lines = [
        "| data | " + " | ".join(f"m = {m}, ε = {epsilon:g}" for m, epsilon in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name in names:
        found = [
            rows.get(Cell(of=of, data=name, n=n, m=m, epsilon=epsilon, neighbors=neighbors))
            for m, epsilon in columns
        ]
        lines.append(f"| {name} | " + " | ".join(map(shown, found)) + " |")
    return lines


def page(rows: dict[Cell, Row]) -> str:
    """The whole page."""
    trials = {row.trials for row in rows.values()}
    lines = [
        "# Coverage and width of intervals",
        "",
        f"Intervals at level {LEVEL} for m even quantiles of n records, by JointExp;",
        f"{min(trials)} to {max(trials)} seeded trials in each cell, each on fresh records, fewer",
        "where they are slow. A cell reads *a · b · c (d)*: *a* the coverage of the quantile that",
        "was covered least (its standard error at 0.95 and 200 trials is 0.015), *b* the",
        "half-width of intervals in records (median), *c* the mean rank error of the answers, *d*",
        "that of the same release without intervals. Under add-remove no size was stated. An empty",
        "cell was not measured. Made by `make interval-coverage`; what the numbers mean:",
        "[intervals](intervals.md).",
        "",
        "Data:",
        "",
        *(f"- {name}: {data.words}" for name, data in DATA.items()),
    ]
    for of, n, neighbors in itertools.product(SUBJECTS, SIZES, NEIGHBORS):
        lines += ["", f"## Quantiles of the {of}, n = {n:,}, {neighbors}", ""]
        lines += table(rows, of, n, neighbors)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rows", type=Path, default=Path("build/intervals/rows.jsonl"))
    parser.add_argument("--page", type=Path, default=Path("docs/interval_coverage.md"))
    parser.add_argument("--kept", action="store_true", help="a page of the rows that are there")
    options = parser.parse_args()
    rows = read(options.rows) if options.kept else run(options.rows, options.trials)
    options.page.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
