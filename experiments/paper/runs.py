"""The kinds of runs: each knows its public numbers and how to measure its row."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpquantiles as dpq
from benchmarks import paper_plain
from dpquantiles.kernels.smooth import smooth_sensitivity
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.baselines.csmooth import shape as noise_shape
from experiments.paper.cells import RECORDS, Cell
from experiments.paper.contenders import CONTENDERS, Question, even_quantiles
from experiments.paper.data import DATASETS, PAPER_BOUNDS, Floats, Tables
from experiments.rows import Found

LARGEST_M = 29
DIGITS = 7
LINE_BY_LINE = "JointExp, line by line"


def true_quantiles(values: Floats, q: tuple[float, ...]) -> Floats:
    """The exact answers; as in the paper's code, the lower of two records."""
    return np.quantile(values, q, method="lower")


def missed_points(values: Floats, true: Floats, answers: Floats) -> Floats:
    """For each quantile, the number of records between the true and the private answer."""
    ordered = np.sort(values)
    ranks = (np.searchsorted(ordered, points, side="right") for points in (true, answers))
    return np.abs(np.subtract(*ranks)).astype(np.float64)


def rank_of(q: float) -> int:
    """The rank, from one, of the true quantile; tolerant of how q was rounded."""
    return math.ceil(round(q * RECORDS, 9))


def plain(numbers: Any) -> list[Any]:
    """Numbers for a row, to as many digits as anybody can see."""
    return [float(f"{number:.{DIGITS}g}") for number in numbers]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Some trials of one cell; the number of a trial tells which records it gets."""

    cell: Cell
    first: int
    trials: int
    shape: tuple[int, int] | None = None
    smoothness: tuple[float, ...] | None = None

    def question(self) -> Question:
        """What the contender is asked."""
        return Question(
            q=even_quantiles(self.cell.m),
            epsilon=self.cell.epsilon,
            bounds=self.cell.bounds,
            resolution=DATASETS[self.cell.data].resolution,
            neighbors=self.cell.neighbors,
            shape=self.shape,
            smoothness=self.smoothness,
        )

    def measure(self, tables: Tables) -> Found:
        """Missed points and distance per quantile of every trial, or why it was refused."""
        cell, question, errors = self.cell, self.question(), []
        for trial in range(self.first, self.first + self.trials):
            values = tables.sample(cell.data, cell.n, trial)
            bits = random.Random(f"{cell.contender} {cell.m} {trial}")
            try:
                answers = CONTENDERS[cell.contender](values, question, bits)
            except ValueError as refusal:
                return {"refused": str(refusal)}
            true = true_quantiles(values, question.q)
            missed = missed_points(values, true, answers).mean()
            errors.append((missed, np.abs(answers - true).mean()))
        missed_column, distance_column = zip(*errors, strict=True)
        return {"missed": plain(missed_column), "distance": plain(distance_column)}


@dataclass(frozen=True, kw_only=True)
class TunedTree:
    """Errors of one shape of AggTree for all m at once: a tree answers every question."""

    height: int
    branching: int
    first: int
    trials: int
    data: str = "standard"

    def measure(self, tables: Tables) -> Found:
        """Both errors, one list of m = 1 .. 29 for every trial."""
        questions = [even_quantiles(m) for m in range(1, LARGEST_M + 1)]
        every = tuple(sorted({q for question in questions for q in question}))
        tree = MECHANISMS["agg_tree"](
            q=every,
            budget=dpq.PureDP(epsilon=1.0),
            height=self.height,
            branching=self.branching,
        )
        missed, distance = [], []
        for trial in range(self.first, self.first + self.trials):
            values = tables.sample(self.data, RECORDS, trial)
            view = dpq.ArrayView(values, dpq.UniformGrid(*PAPER_BOUNDS))
            bits = random.Random(f"{self.height} {self.branching} {trial}")
            answers = np.asarray(tree.release(view, bits))
            true = true_quantiles(values, every)
            off = dict(zip(every, missed_points(values, true, answers), strict=True))
            far = dict(zip(every, np.abs(answers - true), strict=True))
            missed.append(plain(np.mean([off[q] for q in question]) for question in questions))
            distance.append(plain(np.mean([far[q] for q in question]) for question in questions))
        return {"missed": missed, "distance": distance}


@dataclass(frozen=True, kw_only=True)
class TunedSmoothness:
    """The t of CSmooth with the least variance, for each of m quantiles, on one set of records."""

    m: int
    trial: int
    tried: int = 50
    lowest: float = 0.01
    highest: float = 1.0
    data: str = "standard"

    def measure(self, tables: Tables) -> Found:
        """The best t of each quantile, by the paper's formula for the variance."""
        values = np.sort(tables.sample(self.data, RECORDS, self.trial))
        grid = dpq.UniformGrid(*PAPER_BOUNDS)
        records = np.concatenate([[0], grid.encode(values), [grid.size - 1]])
        t = np.geomspace(self.lowest, self.highest, self.tried)
        epsilon = 1 / np.sqrt(self.m)
        sigma = noise_shape(t / epsilon)
        # The paper's variance is 2 S^2 / (exp(-5 sigma^2) (epsilon - t / sigma)^2).
        log_noise = 2.5 * sigma**2 - np.log(t / 5) + 3 * np.log(sigma)
        best = []
        for q in even_quantiles(self.m):
            center = rank_of(q)
            found = np.log([smooth_sensitivity(records, center, each) for each in t.tolist()])
            best.append(t[np.argmin(found + log_noise)])
        return {"t": plain(best)}


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Times of a contender and of `numpy.sort` on the same array, called in turn."""

    contender: str
    n: int
    m: int
    rounds: int
    beside: str
    """What else ran at the time."""
    shape: tuple[int, int] | None = None
    smoothness: tuple[float, ...] | None = None

    def measure(self, tables: Tables) -> Found:
        """Seconds of both, round by round; random bits come from the system, as in a release."""
        values = tables.sample("gaussian", self.n, 0)
        question = Question(q=even_quantiles(self.m), shape=self.shape, smoothness=self.smoothness)
        call = self._call(values, question)
        if self.n <= RECORDS:
            call()
        pairs = [(_seconds(call), _seconds(lambda: np.sort(values))) for _ in range(self.rounds)]
        seconds, sort = zip(*pairs, strict=True)
        return {"seconds": plain(seconds), "sort": plain(sort)}

    def _call(self, values: Floats, question: Question) -> Callable[[], object]:
        if self.contender == LINE_BY_LINE:
            rng = np.random.default_rng(0)
            return lambda: paper_plain.quantiles(values, list(question.q), 1.0, PAPER_BOUNDS, rng)
        return lambda: CONTENDERS[self.contender](values, question, random.SystemRandom())


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


Run = Trials | TunedTree | TunedSmoothness | Timing


def measure(tables: Tables, run: Run) -> Found:
    """The row of a run."""
    return run.measure(tables)
