"""Our default call beside everything else, in one run on the same data.

    python -m experiments.peers [--seconds 3600] [--trials 200] [--quick] [--data FOLDER]
                                [--folder build/peers] [--page docs/accuracy.md]

Ours is told nothing; the paper's mechanisms and other libraries are told bounds and resolution.
Every run is one contender on one question, and gets an even part of the seconds. Where others look
better than ours, those who may be the best, and ours, get more trials in a second round. A run's
row is kept, so that what was cut off goes on where it stopped; ours are measured again when the
library has changed. The folder gets `page.md` and `cells.json`; with --page the page is put there
too. Real columns other than the shipped one are read from the folder named by --data or
DPQUANTILES_DATA, and left out where it has none. A library that is absent is told: they are the
extra `peers`. None of these releases is private: they are seeded, where a library offers it.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from experiments import marked, rows, trials
from experiments.everyday_data import columns
from experiments.peers.contenders import ABSENT, ENTRIES, OURS, code, shared
from experiments.peers.page import (
    MEASURES,
    PEERS,
    WITH_WEAKER,
    counts,
    page,
    plain,
    worst,
)
from experiments.peers.verdict import Cell
from experiments.rows import Rows
from experiments.trials import Run

SIZES = (1000, 20_000)
COUNTS = ("1", "3", "9", "29", "99")
TAILS = ("p99", "p99.9", "p99.99")
TAILED = "latencies"
NOT_HERE = {TAILED, "three decimals"}
QUICK_COUNTS = ("1", "9")
QUICK_SECONDS, QUICK_TRIALS = 120.0, 20

CONTESTED_SECONDS = 5.0
"""For each run of the second round."""

Question = tuple[str, int, str]


def questions(folder: str, quick: bool) -> Iterator[Question]:
    """All cells."""
    even = [name for name in columns(folder) if name not in NOT_HERE]
    yield from itertools.product(even, SIZES, QUICK_COUNTS if quick else COUNTS)
    yield from itertools.product((TAILED,), SIZES, TAILS)


def runs(asked: list[Question], options: argparse.Namespace) -> Iterator[Run]:
    """Every contender on every question."""
    seconds = options.seconds * trials.PROCESSES / (len(asked) * len(ENTRIES))
    codes = {name: code(entry) for name, entry in ENTRIES.items()}
    for (data, n, quantiles), name in itertools.product(asked, ENTRIES):
        yield Run(
            contender=name,
            code=codes[name],
            data=data,
            n=n,
            asked=quantiles,
            trials=options.trials,
            seconds=round(seconds, 3),
        )


def question(run: Run) -> Question:
    """The cell of a run."""
    return run.data, run.n, run.asked


def contested(asked: list[Run], found: Rows) -> list[Run]:
    """The second round."""
    firsts = {(run.data, run.n, run.asked, run.contender): run for run in asked}
    names = {
        (cell.data, cell.n, cell.asked, name): None
        for cell, peers in itertools.product(cells(asked, found), (PEERS, WITH_WEAKER))
        for name in cell.contested(OURS, peers)
    }
    return [replace(firsts[name], seconds=CONTESTED_SECONDS) for name in names]


def cells(asked: list[Run], found: Rows) -> list[Cell]:
    """What was found, question by question; later runs take the place of earlier ones."""
    made = []
    order = {key: place for place, key in enumerate(dict.fromkeys(map(question, asked)))}
    for (data, n, quantiles), group in itertools.groupby(
        sorted(asked, key=lambda run: order[question(run)]), key=question
    ):
        kept = {run.contender: found[rows.key(run)] for run in group if rows.key(run) in found}
        for measure in MEASURES:
            errors = {name: row.get(measure, []) for name, row in kept.items()}
            if any(errors.values()):
                made.append(Cell(data=data, n=n, asked=quantiles, measure=measure, errors=errors))
    return made


def absent(asked: list[Run]) -> dict[str, str]:
    """What stands in place of numbers of a library that is not there."""
    return {run.contender: ABSENT for run in asked if run.code == ABSENT}


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="for all runs together, by default 3600")
    parser.add_argument("--trials", type=int, help="at most, by default 200")
    parser.add_argument("--quick", action="store_true", help="few questions, in three minutes")
    parser.add_argument("--data", default=os.environ.get("DPQUANTILES_DATA", ""))
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    options.seconds = options.seconds or (QUICK_SECONDS if options.quick else 3600.0)
    options.trials = options.trials or (QUICK_TRIALS if options.quick else 200)
    return options


def main() -> None:
    """Measure what is missing and write the page."""
    options = parsed()
    asked = list(runs(list(questions(options.data, options.quick)), options))
    path = options.folder / "rows.jsonl"
    quick_first = sorted(asked, key=lambda run: (len(trials.quantiles(run.asked)), run.n))
    found, failures = trials.run_all(quick_first, shared(options.data), path)
    if not options.quick:
        more = contested(asked, found)
        found, more_failures = trials.run_all(more, shared(options.data), path)
        asked, failures = asked + more, failures | more_failures
    for run, problem in failures.items():
        print(f"failed: {run}: {problem}", file=sys.stderr)
    made = cells(asked, found)
    lines = page(made, columns(options.data), absent(asked))
    (options.folder / "page.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (options.folder / "cells.json").write_text(json.dumps(plain(made), indent=1), encoding="utf-8")
    if options.page:
        marked.put(options.page, "peers", lines)
    print("\n".join([*counts(made), "", *worst(made)]))


if __name__ == "__main__":
    main()
