"""Stored rows of real trials on Gaussian data, as results: three trials for m = 1 .. 29."""

import json
from pathlib import Path

import numpy as np

from experiments.paper import data
from experiments.paper.cells import Cell
from experiments.paper.results import ERRORS, Results
from experiments.paper.runs import Timing, Trials
from experiments.paper.scale import QUICK
from experiments.paper.tuning import COUNTS, PAPER_SHAPES, Tuned
from experiments.rows import Rows, key

ERRORS_BY_NAME: dict[str, dict[str, list[list[float]]]] = json.loads(
    Path(__file__).with_name("stored_rows.json").read_text("utf-8")
)
SHAPES = {"missed": (3, 10), "distance": (3, 9)}
SECONDS = {"JointExp": [0.012, 0.013, 0.014], "CSmooth": [0.02, 0.02, 0.03], "joint_exp": [0.5]}
WRONG = 1e9
"""What a claim would show if it read errors of the other shape."""


def trial_rows() -> tuple[list[Trials], Rows]:
    """Rows as they are on disk, in two batches; a tree has its own shape for either error."""
    runs, rows = list[Trials](), Rows()
    for name, errors in ERRORS_BY_NAME.items():
        for m in COUNTS:
            cell = Cell(study="accuracy", data="gaussian", contender=name, m=m)
            for wanted in ERRORS if name == "AggTree" else (None,):
                for first, count in ((0, 2), (2, 1)):
                    shape = SHAPES[wanted] if wanted else None
                    run = Trials(cell=cell, first=first, trials=count, shape=shape)
                    runs.append(run)
                    rows[key(run)] = {
                        error: [
                            value if wanted in (None, error) else WRONG
                            for value in errors[error][m - 1][first : first + count]
                        ]
                        for error in ERRORS
                    }
    return runs, rows


def results() -> Results:
    """What the claims are computed from."""
    shapes = {error: (SHAPES[error],) * len(COUNTS) for error in ERRORS}
    checks = {
        shape: np.full((4, 29), 10.0 + shape[1])
        for shape in {*PAPER_SHAPES["missed"], *PAPER_SHAPES["distance"], *SHAPES.values()}
    }
    found = Results(
        tables=data.load([]),
        tuned=Tuned({m: (0.1,) * m for m in COUNTS}, shapes),
        smoothness={3: np.array([[0.2, 0.12, 0.2], [0.2, 0.14, 0.2]])},
        wide_smoothness=[0.005, *[0.05] * 99],
        tree_checks={"missed": checks, "distance": checks},
    )
    runs, rows = trial_rows()
    found.add(rows, reversed(runs))
    for n, m in ((1000, 29), (1000, 30)):
        for name, seconds in SECONDS.items():
            timing = Timing(contender=name, n=n, m=m, rounds=len(seconds), beside=QUICK.beside)
            row = {"seconds": seconds, "sort": [1e-4] * len(seconds)}
            found.add({key(timing): row}, [timing])
    return found
