"""Coverage of intervals on hostile records, as a table of `docs/intervals.md`.

    python -m experiments.hostile_intervals [--trials 200] [--worst 2000] [--page docs/intervals.md]

Each trial is one seeded release (not private) of quartiles at epsilon 5 and level 0.95, half of the
trials under swap and half under add-remove neighbors. It asks of the records as they are, exactly
and not as the grid holds them, whether #(x < lower) < q n < #(x <= upper). The ten data sets that
were covered least get more trials. The coverage of a data set is that of its worst quartile.
"""

import argparse
import itertools
import random
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpquantiles as dpq
from experiments.hostile_data import HOSTILE

LEVEL = 0.95
EPSILON = 5.0
Q = (0.25, 0.5, 0.75)
WORST = 10
NEIGHBORS = tuple(dpq.Neighbors)
BEGIN, END = "<!-- hostile -->", "<!-- end of hostile -->"


class Found(NamedTuple):
    """What was found of one data set."""

    covered: float
    """The share of trials in which the worst quartile was covered."""
    open: float
    """The share of intervals with an open end."""
    trials: int


def measure(name: str, trials: int, epsilon: float = EPSILON) -> Found:
    """All trials of one data set."""
    data = HOSTILE[name]()
    covered, open_ends = np.zeros(len(Q)), 0
    for trial, neighbors in zip(range(trials), itertools.cycle(NEIGHBORS)):
        release = dpq.quantiles(
            data.records,
            Q,
            epsilon=epsilon,
            neighbors=neighbors,
            missing="upper",
            intervals=LEVEL,
            mechanism="joint_exp",
            rng=random.Random(trial),
            **data.options,
        )
        assert release.ranks is not None
        intervals = release.interval()
        covered += [
            data.covered(interval, q, release.ranks.ends)
            for interval, q in zip(intervals, Q, strict=True)
        ]
        open_ends += sum(None in interval for interval in intervals)
    return Found(float(covered.min() / trials), open_ends / (len(Q) * trials), trials)


def run(trials: int, worst: int) -> dict[str, Found]:
    """All data sets, and those that were covered least at length."""
    found = {}
    for name in HOSTILE:
        found[name] = measure(name, trials)
        print(f"\r{len(found)} of {len(HOSTILE)}", end="", file=sys.stderr, flush=True)
    for name in sorted(found, key=lambda name: found[name].covered)[:WORST]:
        found[name] = measure(name, worst)
        print(f"\r{name}: {found[name].covered:.4f}", file=sys.stderr, flush=True)
    return found


def table(found: dict[str, Found]) -> str:
    """The data sets as Markdown, those that were covered least first."""
    lines = ["| data | coverage | open ends | trials |", "|---|---|---|---|"]
    for name, row in sorted(found.items(), key=lambda item: (-item[1].trials, item[1].covered)):
        lines.append(f"| {name} | {row.covered:.4f} | {row.open:.0%} | {row.trials:,} |")
    return "\n".join(lines)


def main() -> None:
    """Measure everything and write the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--worst", type=int, default=2000)
    parser.add_argument("--page", type=Path, default=Path("docs/intervals.md"))
    options = parser.parse_args()
    before, _, rest = options.page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    shown = table(run(options.trials, options.worst))
    options.page.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
