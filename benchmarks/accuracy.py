"""How far the answers are off, in ranks, against the paper's algorithm and splitting epsilon.

    python -m benchmarks.accuracy [--quick] [--figure docs/images/accuracy.svg]

Each trial takes 1000 records: normal numbers, or delays of flights in whole minutes, drawn without
replacement. Every contender answers the same records at the same total epsilon, swap neighbors. The
error of an answer o for the quantile q is the distance of q n to [#(x < o), #(x <= o)]: an answer
that falls on a tied value is right for every rank that this value covers.

The figure is written as SVG, with a PNG beside it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpquantiles as dpq
from benchmarks import figure, paper_tuned
from benchmarks.figure import Curve, Panel
from benchmarks.speed import even_quantiles
from dpquantiles.privacy import PureDP

Floats = NDArray[np.float64]
Numbers = NDArray[Any]

EPSILON = 1.0
RECORDS = 1000
TRIALS = 200
QUICK_TRIALS = 20
COUNTS = (1, 3, 9, 15, 29)


class Trial(NamedTuple):
    """What every contender gets: records, quantiles, public bounds and step, and a seed."""

    values: Numbers
    q: list[float]
    bounds: tuple[float, float]
    step: float
    seed: int


Contender = Callable[[Trial], Floats]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A way to get records, what is public about them, and who shall answer."""

    name: str
    sample: Callable[[np.random.Generator], Numbers]
    bounds: tuple[float, float]
    step: float
    contenders: Mapping[str, Contender]

    def trial(self, m: int, seed: int) -> Trial:
        """Fresh records for m even quantiles; the same for every run and every contender."""
        values = self.sample(np.random.default_rng([seed, m]))
        return Trial(values, even_quantiles(m), self.bounds, self.step, seed)


def ours(trial: Trial) -> Floats:
    """All quantiles as a user would ask for them; the mechanism is chosen from public numbers."""
    grid = dpq.UniformGrid(*trial.bounds, trial.step)
    bits = random.Random(trial.seed)
    release = dpq.quantiles(trial.values, trial.q, epsilon=EPSILON, grid=grid, rng=bits)
    return np.array(release.values, dtype=np.float64)


def split(trial: Trial) -> Floats:
    """Each quantile by itself at epsilon / m, in order afterwards: what there is without JointExp.

    For one quantile JointExp *is* the single-quantile exponential mechanism at the same epsilon:
    its utility counts both sides of the cut, |r - T| + |(n - r) - (n - T)| = 2 |r - T|, and its
    sensitivity is 2, so the weight is exp(-epsilon |r - T| / 2), which is that of the utility
    |r - T| with sensitivity 1. No correction of epsilon is due.
    """
    bits, share = random.Random(trial.seed), EPSILON / len(trial.q)
    return np.sort(np.concatenate([joint_exp(trial, [q], share, bits) for q in trial.q]))


def joint_exp(trial: Trial, q: list[float], epsilon: float, bits: random.Random) -> Floats:
    """One seeded release."""
    grid = dpq.UniformGrid(*trial.bounds, trial.step)
    mechanism = dpq.JointExp(q=tuple(q), budget=PureDP(epsilon=epsilon))
    release = mechanism.release(dpq.ArrayView(trial.values, grid), bits)
    return np.array(release.values, dtype=np.float64)


def paper(trial: Trial) -> Floats:
    """The paper's algorithm on the records as they are."""
    rng = np.random.default_rng(trial.seed)
    return paper_tuned.quantiles(trial.values, trial.q, EPSILON, trial.bounds, rng)


def paper_spread(trial: Trial) -> Floats:
    """The paper's algorithm with the ties undone first and the answers rounded afterwards.

    The most that its remedy for ties can give: noise as wide as one step moves no record to
    another value, and rounding takes the answers back to where the records are.
    """
    rng = np.random.default_rng(trial.seed)
    noise = rng.uniform(-trial.step / 2, trial.step / 2, trial.values.size)
    outputs = paper_tuned.quantiles(trial.values + noise, trial.q, EPSILON, trial.bounds, rng)
    return np.asarray(np.round(outputs / trial.step) * trial.step, dtype=np.float64)


def normal_numbers(rng: np.random.Generator) -> Floats:
    """The paper's synthetic data."""
    return rng.normal(0.0, 5.0, RECORDS)


def some_flights(delays: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Some of the flights, none of them twice."""
    return rng.choice(delays, RECORDS, replace=False)


def flight_delays() -> NDArray[np.int64]:
    """The delays that ship with the package, one entry per flight, from a table of counts."""
    source = resources.files("dpquantiles") / "data" / "flights_arr_delay.csv"
    with source.open(encoding="utf-8") as lines:
        minutes, flights = np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.int64).T
    return np.repeat(minutes, flights)


def datasets() -> list[Dataset]:
    """The two panels: numbers without ties, and whole minutes with many."""
    delays = flight_delays()
    everyone: dict[str, Contender] = {"ours": ours, "paper": paper, "split": split}
    normal = Dataset(
        name="normal",
        sample=normal_numbers,
        bounds=(-100.0, 100.0),
        step=2.0**-30,
        contenders=everyone,
    )
    flights = Dataset(
        name="flights",
        sample=lambda rng: some_flights(delays, rng),
        bounds=(-180, 1440),
        step=1,
        contenders={**everyone, "paper spread": paper_spread},
    )
    return [normal, flights]


def rank_errors(values: Numbers, answers: Floats, q: list[float]) -> Floats:
    """The distance of each q n to the ranks that the answer covers."""
    ordered, targets = np.sort(values), np.array(q) * values.size
    below = np.searchsorted(ordered, answers, side="left")
    through = np.searchsorted(ordered, answers, side="right")
    outside = np.maximum(below - targets, targets - through)
    return np.asarray(np.maximum(outside, 0.0), dtype=np.float64)


def panel(dataset: Dataset, trials: int) -> Panel:
    """Mean error over quantiles and trials, with its standard error, for every contender."""
    errors = {name: np.empty((len(COUNTS), trials)) for name in dataset.contenders}
    for row, m in enumerate(COUNTS):
        print(f"{dataset.name} m={m}", file=sys.stderr, flush=True)
        for seed in range(trials):
            trial = dataset.trial(m, seed)
            for name, contender in dataset.contenders.items():
                mean = rank_errors(trial.values, contender(trial), trial.q).mean()
                errors[name][row, seed] = mean
    return {
        name: Curve(COUNTS, each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(trials))
        for name, each in errors.items()
    }


def table(name: str, curves: Panel) -> str:
    """Mean errors as text, with the standard error of each."""
    lines = [f"{name:14}" + "".join(f"{f'm={m}':>16}" for m in COUNTS)]
    for contender, curve in curves.items():
        cells = zip(curve.y, curve.error, strict=True)
        lines.append(f"{contender:14}" + "".join(f"{y:>8.2f} +-{e:>5.2f}" for y, e in cells))
    return "\n".join(lines)


def main() -> None:
    """Run the trials, show the errors as text, and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--figure", type=Path, default=Path("docs/images/accuracy.svg"))
    options = parser.parse_args()
    trials = QUICK_TRIALS if options.quick else TRIALS
    panels = {each.name: panel(each, trials) for each in datasets()}
    print("\n\n".join(table(name, curves) for name, curves in panels.items()))
    figure.draw(panels, options.figure)


if __name__ == "__main__":
    main()
