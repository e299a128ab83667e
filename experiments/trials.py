"""Seeded trials of contenders on columns: the same records for all of them, one error per trial.

A run is one contender on one question. It ends early when its time is over; errors are kept trial
by trial, so that two contenders can be compared on the records that both have seen. What is not
seeded (libraries that offer no seed) is not the same in another run.
"""

import hashlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dpquantiles as dpq
from experiments import errors, progress, rows
from experiments.everyday_data import Array, Column, columns
from experiments.rows import Found, Rows

PROCESSES = 2
FEWEST, FEWEST_SLOW = 10, 4
PATIENCE = 20.0
"""A run whose seconds are over gets so many trials all the same; fewer after twenty seconds."""

Asked = str
"""Even quantiles, as `9`, or one tail, as `p99.9`."""


class Question(NamedTuple):
    """What a contender is asked, and what it may be told about the column."""

    values: Array
    q: Array
    column: Column


Contender = Callable[[Question, int], Any]
"""Answers to a question, by a seed."""


class Shared(NamedTuple):
    """What all workers need."""

    contenders: Mapping[str, Contender]
    folder: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is measured once; `code` changes when what is measured has changed."""

    contender: str
    code: str
    data: str
    n: int
    asked: Asked
    trials: int
    seconds: float


def fingerprint() -> str:
    """A name for the library as it is now: its releases may be others after any change."""
    root = Path(dpq.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in {".py", ".json"})
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def quantiles(asked: Asked) -> Array:
    """The numbers behind what is asked."""
    if asked.startswith("p"):
        return np.array([round(float(asked[1:]) / 100, 10)])
    return np.arange(1, int(asked) + 1) / (int(asked) + 1)


def measure(shared: Shared, run: Run) -> Found:
    """All trials of a run, or as many as its time allows; a refusal is told in its own words."""
    column, q = columns(shared.folder)[run.data], quantiles(run.asked)
    contender = shared.contenders[run.contender]
    found: Found = {"ranks": [], "values": [], "absurd": [], "note": ""}
    start = time.perf_counter()
    for seed in range(run.trials):
        spent = time.perf_counter() - start
        if spent > run.seconds and seed >= (FEWEST if spent < PATIENCE else FEWEST_SLOW):
            break
        values = column.sample(np.random.default_rng([seed, run.n]), run.n)
        try:
            with warnings.catch_warnings(action="ignore"):
                answers = contender(Question(values, q, column), seed)
        except (ImportError, ValueError) as refusal:
            return found | {"note": str(refusal)}
        ordered = np.sort(values)
        found["ranks"].append(round(errors.rank_error(ordered, q, answers), 6))
        found["absurd"].append(errors.absurd(ordered, answers))
        if run.asked.startswith("p"):
            found["values"].append(round(errors.value_error(ordered, q, answers), 6))
    return found


def run_all(runs: Sequence[Run], shared: Shared, path: Path) -> tuple[Rows, dict[str, str]]:
    """Measure what is missing, in parallel; all rows, and what failed."""
    missing = rows.missing(runs, rows.read(path))
    with rows.alone_in(path.parent), progress.shown("runs", len(missing)) as done:
        failures = rows.collect(
            missing, measure, path=path, shared=shared, processes=PROCESSES, done=done
        )
    return rows.read(path), failures
