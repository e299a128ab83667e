"""A hundred to a thousand records: our default call, knowing nothing, beside JointExp knowing all.

    python -m experiments.small_data [--trials 200] [--quick] [--data FOLDER]
                                     [--folder build/small_data] [--page docs/accuracy.md]
    python -m experiments.small_data --absurd [--releases 10000]

Deciles and quartiles for epsilon = 1 under swap neighbors. JointExp is given the dyadic range of
the very records and the step that they were rounded to; the paper's JointExp and AppIndExp, which
splits epsilon, are given the range. The folder gets `page.md` and `cells.json`; with --page the
tables are put there too. Rows are kept: a run that was cut off goes on where it stopped, and ours
are measured again when the library has changed. With --absurd only our deciles are drawn, many
times, and releases with an answer more than ten spans of the records from their middle are counted.
Real columns other than the shipped one are read from the folder named by --data or
DPQUANTILES_DATA, and left out where it has none. All runs are seeded: none of them is private.
"""

import argparse
import itertools
import json
import math
import os
import random
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dpquantiles as dpq
from experiments import marked, rows, trials
from experiments.everyday_data import Array, columns, dyadic
from experiments.peers.contenders import APPROXIMATE, OURS, PURE, without_facts
from experiments.peers.verdict import Errors, behind, mean, standard_error
from experiments.rows import Rows
from experiments.trials import Contender, Question, Run, Shared

SIZES = (100, 300, 1000)
COUNTS = {"9": "Deciles", "3": "Quartiles"}
NOT_HERE = {"latencies", "lognormal"}
QUICK_TRIALS = 20
LONGEST = 1e6
"""Seconds: runs are never cut short."""

MOST_RATIO = 1.25
GIVEN_ALL = "JointExp, range and step"


def told(
    question: Question, seed: int, *, mechanism: Any, budget: dict[str, Any], step: bool = False
) -> Array:
    """A mechanism that is told the dyadic range of these very records."""
    unit = question.column.step or 0
    lower, upper = dyadic(question.values.min(), question.values.max())
    options = dict(budget)
    if step and unit:
        lower, upper = unit * math.floor(lower / unit), unit * math.ceil(upper / unit)
        options["resolution"] = unit
    release = dpq.quantiles(
        question.values,
        question.q,
        mechanism=mechanism,
        bounds=tuple(question.values.dtype.type([lower, upper])),
        rng=random.Random(seed),
        **options,
    )
    return np.asarray(release)


CONTENDERS: dict[str, Contender] = {
    OURS: without_facts,
    GIVEN_ALL: partial(told, mechanism="joint_exp", budget=PURE, step=True),
    "paper's JointExp, range": partial(told, mechanism="paper_joint_exp", budget=PURE),
    "AppIndExp, range": partial(told, mechanism="app_ind_exp", budget=APPROXIMATE),
}


def runs(folder: str, names: Sequence[str], counts: Sequence[str], most: int) -> list[Run]:
    """Every contender on every question; our mechanisms change with the library."""
    code = trials.fingerprint()
    return [
        Run(
            contender=name,
            code=code if name in (OURS, GIVEN_ALL) else "",
            data=data,
            n=n,
            asked=asked,
            trials=most,
            seconds=LONGEST,
        )
        for asked, data, n, name in itertools.product(counts, columns(folder), SIZES, names)
        if data not in NOT_HERE
    ]


def measured(asked: Sequence[Run], options: argparse.Namespace) -> Rows:
    """The rows of all runs."""
    shared = Shared(CONTENDERS, options.data)
    found, failures = trials.run_all(asked, shared, options.folder / "rows.jsonl")
    for run, problem in failures.items():
        print(f"failed: {run}: {problem}", file=sys.stderr)
    return found


def cells(asked: Sequence[Run], found: Rows) -> Iterator[dict[str, Any]]:
    """What was found, question by question."""
    for (quantiles, data, n), group in itertools.groupby(
        asked, key=lambda run: (run.asked, run.data, run.n)
    ):
        kept = {run.contender: found.get(rows.key(run), {}) for run in group}
        ranks = {name: row["ranks"] for name, row in kept.items() if row.get("ranks")}
        means = {name: summary(errors) for name, errors in ranks.items()}
        both = [means[name]["mean"] for name in (OURS, GIVEN_ALL) if name in means]
        yield {
            "data": data,
            "n": n,
            "asked": quantiles,
            "ratio": both[0] / both[1] if len(both) == 2 and both[1] else None,
            "behind": behind(ranks.get(OURS, ()), ranks.get(GIVEN_ALL, ()), MOST_RATIO),
            "absurd": mean(kept[OURS]["absurd"]) if OURS in means else None,
            "errors": means,
        }


def summary(ranks: Errors) -> dict[str, float]:
    """A mean rank error and its standard error."""
    return {"mean": mean(ranks), "standard_error": standard_error(ranks), "trials": len(ranks)}


def line(cell: dict[str, Any]) -> str:
    """One row of a table; a cross where ours is too far behind JointExp that is told all."""
    errors = [cell["errors"].get(name) for name in CONTENDERS]
    figures = [f"{e['mean']:.1f} ± {e['standard_error']:.1f}" if e else "" for e in errors]
    ratio = cell["ratio"]
    shown = "" if ratio is None else f"{ratio:.2f}" + " ✗" * cell["behind"]
    far = "" if cell["absurd"] is None else f"{cell['absurd']:.1%}"
    row = [cell["data"], f"{cell['n']:,}", *figures[:2], shown, *figures[2:], far]
    return "| " + " | ".join(row) + " |"


def page(made: Sequence[dict[str, Any]], most: int) -> list[str]:
    """A table for every number of quantiles."""
    over = [cell for cell in made if (cell["ratio"] or 0) > MOST_RATIO]
    beyond = [cell for cell in over if cell["behind"]]
    lines = [
        f"Mean rank error ± standard error, {most} trials. The ratio is ours to JointExp that is",
        f"told the range and the step: more than {MOST_RATIO} in {len(over)} of {len(made)} rows,",
        f"in {len(beyond)} by more than two standard errors (✗). Absurd: releases of ours with an",
        "answer more than ten spans of the data from their middle.",
    ]
    names = list(CONTENDERS)
    for asked, title in COUNTS.items():
        header = ["data", "n", *names[:2], "ratio", *names[2:], "absurd"]
        lines += ["", f"### {title}", "", "| " + " | ".join(header) + " |"]
        lines += ["|---" * len(header) + "|"]
        lines += [line(cell) for cell in made if cell["asked"] == asked]
    return lines


def count_absurd(options: argparse.Namespace) -> list[str]:
    """Our deciles, many times: which releases have an answer beyond all reason."""
    pairs = len(runs(options.data, [OURS], ["9"], 1))
    asked = runs(options.data, [OURS], ["9"], math.ceil(options.releases / pairs))
    found = measured(asked, options)
    flags = {run: found.get(rows.key(run), {}).get("absurd", []) for run in asked}
    lines = ["| data | n | releases | absurd |", "|---" * 4 + "|"]
    for run, far in flags.items():
        lines.append(f"| {run.data} | {run.n:,} | {len(far):,} | {sum(far):,} |")
    total, many = sum(map(sum, flags.values())), sum(map(len, flags.values()))
    return [f"{total:,} of {many:,} releases have an absurd answer.", "", *lines]


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, help="by default 200")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TRIALS} trials")
    parser.add_argument("--absurd", action="store_true", help="only count absurd answers")
    parser.add_argument("--releases", type=int, default=10_000, help="with --absurd, all together")
    parser.add_argument("--data", default=os.environ.get("DPQUANTILES_DATA", ""))
    parser.add_argument("--folder", type=Path, default=Path("build/small_data"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    options.trials = options.trials or (QUICK_TRIALS if options.quick else 200)
    return options


def main() -> None:
    """Measure what is missing and write the page."""
    options = parsed()
    if options.absurd:
        lines = count_absurd(options)
        (options.folder / "absurd.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        asked = runs(options.data, list(CONTENDERS), list(COUNTS), options.trials)
        made = list(cells(asked, measured(asked, options)))
        lines = page(made, options.trials)
        (options.folder / "page.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = json.dumps(made, indent=1)
        (options.folder / "cells.json").write_text(text, encoding="utf-8")
        if options.page:
            marked.put(options.page, "small data", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
