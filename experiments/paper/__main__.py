"""Reproduce the paper: measure what is missing, draw all figures, write the page.

    python -m experiments.paper [--quick] [--goodreads PATH ...] [--columns PATH ...]
                                [--only PART ...] [--output build/paper]

Rows are kept as they come: a run that was cut off goes on where it stopped, and a full run goes on
from a quick one. Goodreads is not shipped: name books.csv as downloaded, or a folder with it or with
one-column files, here or in DPQUANTILES_GOODREADS; other columns with --columns or DPQUANTILES_DATA.
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import machine
from experiments import rows
from experiments.paper import claims, data, figures, page, progress, runs, spec, tuning
from experiments.paper.claims import Evidence
from experiments.paper.data import Tables
from experiments.paper.results import ERRORS, Results
from experiments.paper.runs import Run, Timing, Trials
from experiments.paper.spec import Scale
from experiments.paper.tuning import Tuned

PROCESSES = 2
SHUFFLE_SEED = 1
PARTS = ("tuning", "accuracy", "bounds", "many", "tied", "epsilon", "neighbors", "sizes", "timing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, draw, write; 1 if a run failed, 2 if the folder is in use."""
    options = parser().parse_args(arguments)
    scale = spec.QUICK if options.quick else spec.FULL
    tables = data.load([*options.goodreads, *options.columns])
    for message in tables.messages:
        print(f"note: {message}", file=sys.stderr)
    try:
        with rows.alone_in(options.output):
            return reproduce(options.output, scale, tables, options.only)
    except rows.Busy as busy:
        print(f"error: {busy}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--quick", action="store_true", help="the same figures with fewer trials")
    found.add_argument("--goodreads", type=Path, nargs="+", metavar="PATH")
    found.add_argument("--columns", type=Path, nargs="+", metavar="PATH")
    found.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    found.add_argument("--output", type=Path, default=Path("build/paper"))
    found.set_defaults(goodreads=_paths("DPQUANTILES_GOODREADS"), columns=_paths("DPQUANTILES_DATA"))
    return found


def _paths(variable: str) -> list[Path]:
    return [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]


def reproduce(folder: Path, scale: Scale, tables: Tables, parts: Sequence[str]) -> int:
    """Everything, in a folder that is ours."""
    kept, failures = folder / "rows" / "rows.jsonl", dict[str, str]()
    failures |= _collect("tuning", spec.tuning_runs(scale, tables), kept, tables, PROCESSES)
    tuned = tuning.chosen(rows.read(kept), spec.smooth_runs(scale), spec.tree_runs(scale))
    trials = [run for run in spec.trial_runs(scale, tables, tuned) if run.study in parts]
    timings = spec.timing_runs(scale, tuned) if "timing" in parts else []
    if scale.beside == "nothing":
        failures |= _collect("trials", _shuffled(trials), kept, tables, PROCESSES)
        failures |= _collect("timings", timings, kept, tables, 1)
    else:
        longest_first = sorted(timings, key=lambda run: -run.n)
        everything = [*longest_first, *_shuffled(trials)]
        failures |= _collect("trials and timings", everything, kept, tables, PROCESSES)
    write(folder, scale, tables, tuned, rows.read(kept))
    for run, problem in failures.items():
        print(f"failed: {run}: {problem}", file=sys.stderr)
    return 1 if failures else 0


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


def write(folder: Path, scale: Scale, tables: Tables, tuned: Tuned, found: rows.Rows) -> None:
    """Figures, claims, the page and the summary."""
    evidence = evidence_of(scale, tables, tuned, found)
    findings = claims.findings(evidence)
    figures.draw_all(evidence, folder / "figures")
    report = page.Report(evidence, findings, folder / "figures", _notes(scale, tables))
    table = [finding.to_dict() for finding in findings]
    (folder / "claims.json").write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    (folder / "summary.md").write_text(page.markdown_summary(report), encoding="utf-8")
    (folder / "index.html").write_text(page.html_page(report), encoding="utf-8")
    print(f"claims: {page.count_words(findings)}; see {folder / 'index.html'}")


def evidence_of(scale: Scale, tables: Tables, tuned: Tuned, found: rows.Rows) -> Evidence:
    """What the rows say, in the order in which the claims ask."""
    asked: list[Trials | Timing] = [
        *spec.trial_runs(scale, tables, tuned),
        *spec.timing_runs(scale, tuned),
    ]
    wide = tuning.smoothness(found, spec.wide_smooth_runs(scale, tables))
    checks = spec.tree_checks(scale)
    return Evidence(
        Results(found, asked, tuned, tables),
        tuning.smoothness(found, spec.smooth_runs(scale)),
        [float(t) for lines in wide.values() for t in lines.flat],
        {error: tuning.tree_errors(found, checks, error) for error in ERRORS},
    )


def _notes(scale: Scale, tables: Tables) -> list[str]:
    """What a reader must know before the figures."""
    here = machine()
    trials = f"{scale.trials} trials per point"
    return [
        f"A {scale.name} run: {trials}, fewer where a release takes seconds; the paper's captions "
        "say 50 trials and its text 20.",
        f"Times were measured beside {scale.beside}, on {here['cpu']}, {here['cores']} cores, "
        f"Python {here['python']}, NumPy {here['numpy']}, {here['date']}.",
        *tables.messages,
    ]


if __name__ == "__main__":
    sys.exit(main())
