"""Planned against measured errors, as a table of `docs/planning.md`.

    python -m experiments.planning [--runs 1000] [--rows build/planning/rows.jsonl] [--page ...]

Every cell plans m even quantiles of 10,000 records among the 32-bit integers for one mechanism, and
then draws seeded releases from the real mechanism on the reference data, as records in memory.
Held: how often an answer is within its 95% bound, on average over the quantiles and for the worst
of them. Ratio: the sum of the bounds over the sum of the measured 95% points. Tight: how many of
the quantiles have a bound of at most 1.5 times the measured point.
"""

import argparse
import itertools
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import dpquantiles as dpq
from dpquantiles.mechanisms import registry
from dpquantiles.planner.estimates import estimate, rank_errors
from dpquantiles.planner.reference import reference
from dpquantiles.privacy import PureDP

SIZE = 10_000
CANDIDATES = {
    1: ("joint_exp",),
    3: ("joint_exp",),
    9: ("joint_exp",),
    29: ("joint_exp", "fitted"),
    99: ("fitted",),
    255: ("fitted", "adaptive_tree"),
}
"""By number of quantiles, what auto chooses for them; at 29 it changes over."""

EPSILONS = (0.1, 1.0, 5.0)
SHAPES = ("even", "smooth", "clustered", "tied")
BOUNDS = (0, 2**32 - 1)
PROCESSES = 2
MOST_SECONDS = 200.0
"""A cell gets fewer runs when all of them would take longer; the table says how many."""

TIGHT = 1.5
"""A point of less than one rank counts as one."""

BEGIN, END = "<!-- measured -->", "<!-- end -->"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell and what was found."""

    data: str
    m: int
    epsilon: float
    mechanism: str
    runs: int
    expected: float
    """Planned and measured mean errors over all quantiles."""
    mean: float
    bound: float
    """Planned and measured 95% points, averaged over the quantiles."""
    point: float
    held: float
    least_held: float
    """Over all quantiles, and for the worst of them."""
    tight: float
    """Share of the quantiles whose bound is at most `TIGHT` times the measured point."""


def measure(data: str, m: int, epsilon: float, name: str, most: int) -> Row:
    """One cell."""
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    grid, budget = dpq.UniformGrid(*BOUNDS), PureDP(epsilon=epsilon)
    assumed = reference(data, SIZE, grid)
    planned = estimate(name, budget, q, assumed)
    numbers = grid.decode(assumed.order_statistics(np.arange(SIZE)))
    view = dpq.ArrayView(np.array(numbers), grid)
    mechanism = registry.build(name, budget, q=q)
    law = mechanism.law(view) if hasattr(mechanism, "law") else None
    errors, started = [], time.process_time()
    for seed in range(most):
        bits = random.Random(seed)
        values = law.draw(bits) if law else mechanism.release(view, bits).values
        errors.append(rank_errors(assumed, np.array(q), grid.encode(np.array(values))))
        if time.process_time() - started > MOST_SECONDS and seed >= 99:
            break
    found, bounds = np.array(errors), np.array(planned.bound)
    held = (found <= bounds + 1e-9).mean(axis=0)
    points = np.quantile(found, 0.95, axis=0, method="higher")
    return Row(
        data=data,
        m=m,
        epsilon=epsilon,
        mechanism=name,
        runs=len(found),
        expected=planned.mean,
        mean=float(found.mean()),
        bound=float(bounds.mean()),
        point=float(points.mean()),
        held=float(held.mean()),
        least_held=float(held.min()),
        tight=float((bounds <= TIGHT * np.maximum(points, 1.0)).mean()),
    )


def read(path: Path) -> list[Row]:
    """Rows of earlier runs."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [Row(**json.loads(line)) for line in lines]


def run(path: Path, runs: int) -> list[Row]:
    """Measure what is missing, in parallel, and keep each row as soon as it is there."""
    rows = read(path)
    known = {(row.data, row.m, row.epsilon, row.mechanism) for row in rows}
    cells = [
        (data, m, epsilon, name)
        for m, data, epsilon in itertools.product(CANDIDATES, SHAPES, EPSILONS)
        for name in CANDIDATES[m]
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(PROCESSES) as pool, path.open("a", encoding="utf-8") as kept:
        started = [pool.submit(measure, *cell, runs) for cell in cells if cell not in known]
        for future in as_completed(started):
            rows.append(future.result())
            kept.write(json.dumps(asdict(rows[-1])) + "\n")
            kept.flush()
            print(f"\r{len(rows)} of {len(cells)} cells", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def table(rows: list[Row]) -> list[str]:
    """The rows in Markdown."""
    lines = [
        "| data | m | ε | mechanism | runs | expected | measured | 95% planned | measured "
        "| ratio | held | worst quantile | tight |",
        "|---" * 13 + "|",
    ]
    order = {data: place for place, data in enumerate(SHAPES)}
    for row in sorted(rows, key=lambda row: (order[row.data], row.m, row.mechanism, row.epsilon)):
        ratio = row.bound / row.point if row.point else 1.0 if row.bound == 0 else float("inf")
        lines.append(
            f"| {row.data} | {row.m} | {row.epsilon:g} | {row.mechanism} | {row.runs} "
            f"| {row.expected:.2f} | {row.mean:.2f} | {row.bound:.1f} | {row.point:.1f} "
            f"| {ratio:.2f} | {row.held:.1%} | {row.least_held:.1%} | {row.tight:.0%} |"
        )
    return lines


def main() -> None:
    """Measure what is missing and put the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", type=Path, default=Path("build/planning/rows.jsonl"))
    parser.add_argument("--page", type=Path, default=Path("docs/planning.md"))
    options = parser.parse_args()
    lines = table(run(options.rows, options.runs))
    text = options.page.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page = before + "\n".join([BEGIN, "", *lines, "", END]) + after
    options.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
