"""Why intervals count: coverage of answers at shifted ranks that are trusted as they are.

    python -m experiments.shifted_ranks [--trials 200]

The shift is calibrated on evenly spread data, where errors of JointExp in ranks walk from zero back
to zero in steps of Laplace law; then it is tried on other data. Prints one line per kind of data:
the coverage at level 0.95 of the quantile that is covered least, for m = 1, 3, 9 at epsilon = 1,
n = 1000, swap. All runs are seeded.
"""

import argparse
import math
import random

import numpy as np
from numpy.typing import NDArray

import dpquantiles as dpq
from experiments.interval_coverage import COUNTS, LEVEL
from experiments.interval_data import DATA, there

N, EPSILON = 1000, 1.0
RATE = EPSILON / 4


def walk(steps: int, half: int) -> NDArray[np.float64]:
    """The law, on -half .. half, of the sum of so many steps."""
    step = np.exp(-RATE * np.abs(np.arange(-half, half + 1)))
    law = np.zeros(2 * half + 1)
    law[half] = 1.0
    for _ in range(steps):
        law = np.convolve(law, step / step.sum(), "same")
    return law


def even_shift(m: int) -> int:
    """The least shift that the middle one of 3 m answers exceeds with the chance of one side."""
    answers, half = 3 * m, math.ceil(100 / RATE)
    middle = (answers + 1) // 2
    errors = walk(middle, half) * walk(answers + 1 - middle, half)
    tail = np.cumsum(errors[::-1])[::-1] / errors.sum()
    return int(np.argmax(tail <= (1 - LEVEL) / 2)) - half


def coverage(name: str, m: int, trials: int) -> float:
    """Of the quantile that is covered least."""
    shift, q, covered = even_shift(m), np.arange(1, m + 1) / (m + 1), np.zeros(m)
    targets = np.rint(q * N)
    shifted = np.concatenate([targets - shift, targets, targets + shift]) / N
    for seed in range(trials):
        values = np.sort(DATA[name].sample(np.random.default_rng([seed, N]), N))
        release = dpq.quantiles(
            values, shifted, epsilon=EPSILON, bounds=DATA[name].bounds, rng=random.Random(seed)
        )
        below = np.searchsorted(values, release.values[:m], side="left")
        through = np.searchsorted(values, release.values[-m:], side="right")
        covered += (below < q * N) & (through > q * N)
    return float(covered.min() / trials)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    trials = parser.parse_args().trials
    print("shift".ljust(20), *(f"{even_shift(m):6}" for m in COUNTS))
    for name in filter(there, DATA):
        print(name.ljust(20), *(f"{coverage(name, m, trials):6.2f}" for m in COUNTS), flush=True)


if __name__ == "__main__":
    main()
