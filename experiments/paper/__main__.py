"""Reproduce the paper: measure what is missing, draw all figures, write the page.

    python -m experiments.paper [--quick] [--goodreads PATH ...] [--columns PATH ...]
                                [--only PART ...] [--output build/paper]

Rows are kept as they come: a run that was cut off goes on where it stopped, and a full run goes on
from a quick one. Goodreads is not shipped: name books.csv as downloaded, or a folder with it or
with one-column files, here or in DPQUANTILES_GOODREADS; other columns with --columns or in
DPQUANTILES_DATA. Parts: tuning, accuracy, bounds, many, tied, epsilon, neighbors, sizes, timing.
"""

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments import progress, rows
from experiments.paper import data, report, runs, scale, spec, tuning
from experiments.paper.data import Tables
from experiments.paper.results import Results
from experiments.paper.runs import Run, Trials
from experiments.paper.scale import Scale

PROCESSES = 2
SHUFFLE_SEED = 1
PARTS = ("tuning", "accuracy", "bounds", "many", "tied", "epsilon", "neighbors", "sizes", "timing")
NEED_TUNING = {"tuning", "accuracy", "bounds", "timing"}
FAILED, IN_USE, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, draw, write; the exit code says whether a run failed or the folder is in use."""
    options = parser().parse_args(arguments)
    try:
        with rows.alone_in(options.output):
            tables = data.load([*options.goodreads, *options.columns])
            for message in tables.messages:
                print(f"note: {message}", file=sys.stderr)
            size = scale.QUICK if options.quick else scale.FULL
            return reproduce(options.output, size, tables, options.only)
    except rows.Busy as busy:
        print(f"error: {busy}", file=sys.stderr)
        return IN_USE
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    goodreads, columns = _paths("DPQUANTILES_GOODREADS"), _paths("DPQUANTILES_DATA")
    found.add_argument("--quick", action="store_true", help="the same figures with fewer trials")
    found.add_argument("--goodreads", type=Path, nargs="+", metavar="PATH", default=goodreads)
    found.add_argument("--columns", type=Path, nargs="+", metavar="PATH", default=columns)
    found.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    found.add_argument("--output", type=Path, default=Path("build/paper"))
    return found


def _paths(variable: str) -> list[Path]:
    return [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]


def reproduce(folder: Path, size: Scale, tables: Tables, parts: Sequence[str]) -> int:
    """Everything, in a folder that is ours."""
    kept = folder / "rows" / "rows.jsonl"
    tunings = tuning.tuning_runs(size, tables) if NEED_TUNING & set(parts) else []
    failures = _collect("tuning", tunings, kept, tables, PROCESSES)
    tuned = tuning.chosen(rows.read(kept), size)
    asked = [run for run in spec.trial_runs(size, tables, tuned) if run.cell.study in parts]
    timings = list(spec.timing_runs(size, tuned)) if "timing" in parts else []
    if size.beside == "nothing":
        failures |= _collect("trials", _shuffled(asked), kept, tables, PROCESSES)
        failures |= _collect("timings", timings, kept, tables, 1)
    else:
        longest_first = sorted(timings, key=lambda run: -run.n)
        everything: list[Run] = [*longest_first, *_shuffled(asked)]
        failures |= _collect("trials and timings", everything, kept, tables, PROCESSES)
    report.write(folder, size, Results.of(rows.read(kept), size, tables))
    for run, problem in failures.items():
        print(f"failed: {run}: {problem}", file=sys.stderr)
    return FAILED if failures else 0


def _shuffled(trials: Sequence[Trials]) -> list[Trials]:
    """In an order in which the time left can be told from the time spent."""
    return random.Random(SHUFFLE_SEED).sample(trials, len(trials))


def _collect(
    title: str, wanted: Sequence[Run], kept: Path, tables: Tables, processes: int
) -> dict[str, str]:
    todo = rows.missing(wanted, rows.read(kept))
    if not todo:
        return {}
    with progress.shown(title, len(todo)) as done:
        return rows.collect(
            todo, runs.measure, path=kept, shared=tables, processes=processes, done=done
        )


if __name__ == "__main__":
    sys.exit(main())
