"""The table behind `mechanism="auto"`, measured from its beginning, and what auto makes of it.

    python -m experiments.choice_table [--output src/dpquantiles/planner/choice.json] [--kept]
                                       [--rows build/choice/rows.jsonl]
                                       [--again fitted --grids float,integers --data rounded]

About two hours of one core. Draws are seeded: the same code gives the same table. Rows
are kept as JSON lines, so that a run that was cut off goes on where it stopped. With --kept only
the section of `docs/planning.md` is written, from the table that is there. With --again only these
mechanisms are measured on these grids and data, in place of their rows in the table that is there.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from dpquantiles.grid import Grid
from dpquantiles.mechanisms import registry
from dpquantiles.planner import choose
from dpquantiles.planner.estimates import simulated_errors
from dpquantiles.planner.reference import FLOAT_SPREAD, UNEVEN, WHOLE_NUMBERS, reference
from dpquantiles.planner.tables import (
    CANDIDATES,
    COUNTS,
    DATA,
    FAMILIES,
    GRIDS,
    SIZES,
    STRONG,
    STRONG_DATA,
    TREES,
    error,
    grid_name,
    grid_of,
    measured_on,
)
from dpquantiles.privacy import PureDP

Row = list[float | None]
BEGIN, END = "<!-- choice -->", "<!-- end of choice -->"
PROCESSES = 2
MANY, HUNDREDS, THOUSAND = 15, 99, 1000
TWINS = {144: 143}
"""joint_exp does not change here, where recursive_joint_exp grows a level."""

TREE_TWINS = {23: 15, 24: 15, 44: 29, 143: 99, 144: 99, 255: 99}
"""Errors of trees change little with the number of quantiles."""

HOPELESS, SLOW = 3.0, 9.0
"""joint_exp is not measured for more quantiles once it is so many times worse than a tree; and not
for a thousand once it is worse, or off by so many ranks, and slow."""

MOST_ON_FAMILY = 44
"""joint_exp is not measured for more quantiles on a family of grids: it would be too slow."""

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
            kind, round(n / epsilon), grid_of(grid), spread_of(grid, 2 ** (octave * seed)), seed
        )
        for seed in range(SAMPLES)
    )
    mean = sum(float(simulated_errors(mechanism, view, draws).mean()) for view in views) / SAMPLES
    return mean * epsilon


def spread_of(grid: str, times: float) -> Any:
    """The spread of records on a grid of the table, or so many times as wide."""
    if grid == "integers":
        return (0, round(times * WHOLE_NUMBERS))
    return times * (UNEVEN * FLOAT_SPREAD if grid == "float" else SPREAD)


def draws(name: str, m: int, data: str) -> int:
    """Draws on each data set: more where they are cheap, and where a tenth counts."""
    smooth = data in (STRONG_DATA, "smooth")
    if name in TREES:
        return 32
    if m == THOUSAND and name != "fitted":
        return 4
    return (32 if m < HUNDREDS or name == "fitted" else 16) if smooth else 8


def row(name: str, grid: str, data: str, n: int, tree: float) -> Row:
    """Errors of one mechanism for all numbers of quantiles, beside those of a good tree."""
    found: dict[int, float | None] = {}
    for m in COUNTS:
        last = list(found.values())[-1] if found else 0.0
        worst = min(tree, SLOW) + 1 if m == THOUSAND else HOPELESS * tree + 1
        too_many = grid in FAMILIES and m > MOST_ON_FAMILY
        if name in TREES and m in TREE_TWINS:
            found[m] = found[TREE_TWINS[m]]
        elif name == "joint_exp" and (last is None or last > worst or too_many):
            found[m] = None
        elif name == "joint_exp" and m in TWINS:
            found[m] = found[TWINS[m]]
        else:
            found[m] = round(measured(name, grid, data, n, m, draws(name, m, data)), 3)
    return list(found.values())


Case = tuple[str, str, int]
STANDS_FOR: dict[Case, Case] = {
    (grid, data, 1_000_000): (grid, data, 100_000)
    for grid, data in (("integers", "tied"), ("integers", "rounded"), ("float", "rounded"))
}
"""Rows that would take hours, and those that stand for them."""


def all_cases() -> Iterator[Case]:
    """Every grid, kind of data and size."""
    for grid, n in itertools.product(GRIDS, SIZES):
        yield from ((grid, data, n) for data in measured_on(grid))


def rows_of(case: Case) -> dict[str, Row]:
    """The rows of all mechanisms for one grid, kind of data and size."""
    grid, data, n = case
    tree = good_tree(grid, data, n)
    return {name: row(name, grid, data, n, tree) for name in CANDIDATES}


def good_tree(grid: str, data: str, n: int) -> float:
    """The error of a good tree."""
    return min(measured(name, grid, data, n, MANY, 4) for name in TREES)


def run(path: Path) -> dict[Case, dict[str, Row]]:
    """Measure what is missing, in parallel, and keep each row as soon as it is there."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = {(grid, data, n): rows for (grid, data, n), rows in map(json.loads, lines)}
    missing = [case for case in all_cases() if case not in found and case not in STANDS_FOR]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(PROCESSES) as pool, path.open("a", encoding="utf-8") as kept:
        started = {pool.submit(rows_of, case): case for case in missing}
        for done, future in enumerate(as_completed(started), start=1):
            case = started[future]
            found[case] = future.result()
            kept.write(json.dumps([case, found[case]]) + "\n")
            kept.flush()
            print(f"\r{done} of {len(missing)} rows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def run_again(
    path: Path, names: list[str], grids: list[str], kinds: list[str], errors: dict[str, Any]
) -> dict[str, Any]:
    """The same table with some new rows, which are kept, too."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = {tuple(case): row for case, row in map(json.loads, lines)}
    cases = [
        case
        for case in ((name, *case) for name, case in itertools.product(names, all_cases()))
        if case[1] in grids and case[2] in kinds
        if case not in found and case[1:] not in STANDS_FOR
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(PROCESSES) as pool, path.open("a", encoding="utf-8") as kept:
        started = {pool.submit(row, *case, good_tree(*case[1:])): case for case in cases}
        for done, future in enumerate(as_completed(started), start=1):
            case = started[future]
            found[case] = future.result()
            kept.write(json.dumps([case, found[case]]) + "\n")
            kept.flush()
            print(f"\r{done} of {len(cases)} rows", end="", file=sys.stderr, flush=True)
    for (name, grid, data, n), new in found.items():
        rows = errors[grid].setdefault(data, {}).setdefault(name, [None] * len(SIZES))
        rows[SIZES.index(n)] = new
    for (grid, data, n), (*_, other) in STANDS_FOR.items():
        for rows in errors[grid].get(data, {}).values():
            rows[SIZES.index(n)] = rows[SIZES.index(other)]
    return errors


def table(path: Path) -> dict[str, dict[str, dict[str, list[Row]]]]:
    """All errors: by grid, data and mechanism; rows by size, columns by number of quantiles."""
    found = run(path)
    found |= {case: found[other] for case, other in STANDS_FOR.items()}
    return {
        grid: {
            data: {name: [found[grid, data, n][name] for n in SIZES] for name in CANDIDATES}
            for data in measured_on(grid)
        }
        for grid in GRIDS
    }


def ratios(grid: Grid, epsilon: float) -> list[str]:
    """What auto chooses, and how far it is from the best of the table on every kind of data."""
    kinds = [data for data in measured_on(grid_name(grid)) if data in DATA]
    head = ["records", "quantiles", "auto chooses", *kinds]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for n, m in itertools.product((1000, 20_000, 100_000), (1, 9, 29, 60, 100, 255)):
        taken = choose(PureDP(epsilon=epsilon), m, n, grid).mechanism
        cells = []
        for data in kinds:
            found = {
                name: error(name, grid_name(grid), data, n * epsilon, m) for name in CANDIDATES
            }
            best = min(found, key=found.__getitem__)
            if best == taken:
                cells.append(f"{found[taken] / epsilon:.1f}, the best")
            else:
                own, other = found[taken] / epsilon, found[best] / epsilon
                cells.append(f"{own:.1f}; {best} {other:.1f}")
        lines.append(f"| {n:,} | {m} | {taken} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path("src/dpquantiles/planner/choice.json")
    parser.add_argument("--output", type=Path, default=default)
    parser.add_argument("--rows", type=Path, default=Path("build/choice/rows.jsonl"))
    parser.add_argument("--page", type=Path, default=Path("docs/planning.md"))
    parser.add_argument("--kept", action="store_true", help="only the page, from the kept table")
    parser.add_argument("--again", help="only these mechanisms, in place of their rows")
    parser.add_argument("--grids", default=",".join(GRIDS), help="with --again: these grids")
    kinds = ",".join((*DATA, STRONG_DATA))
    parser.add_argument("--data", default=kinds, help="with --again: these kinds of data")
    options = parser.parse_args()
    if options.again:
        errors = json.loads(options.output.read_text("utf-8"))["errors"]
        names, grids, kinds = (
            text.split(",") for text in (options.again, options.grids, options.data)
        )
        errors = run_again(options.rows, names, grids, kinds, errors)
        plain = {"sizes": SIZES, "counts": COUNTS, "errors": errors}
        options.output.write_text(json.dumps(plain) + "\n", encoding="utf-8")
    elif not options.kept:
        plain = {"sizes": SIZES, "counts": COUNTS, "errors": table(options.rows)}
        options.output.write_text(json.dumps(plain) + "\n", encoding="utf-8")
    text = options.page.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    lines = ratios(grid_of("fine"), 1.0)
    page = before + "\n".join([BEGIN, "", *lines, "", END]) + after
    options.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
