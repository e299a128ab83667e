"""Who answers: the paper's four mechanisms as it ran them, and all of ours by name.

A contender gets the records and a question of public numbers and gives back answers. Random bits
are seeded, so that none of these releases is private.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dpquantiles as dpq
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.privacy import ZCDP, PureDP, budget, per_call_epsilon
from experiments.paper.data import PAPER_BOUNDS, Bounds, Floats

DELTA = 1e-6
PAPER_STEP = 0.01
"""The granularity at which the paper searches the epsilon of each call of AppIndExp."""

UNKNOWN_SIZE = "add-remove, size bought"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, in public numbers; `shape` and `smoothness` are for the tuned contenders."""

    q: tuple[float, ...]
    epsilon: float = 1.0
    bounds: Bounds | None = PAPER_BOUNDS
    resolution: float | None = None
    neighbors: str = "swap"
    shape: tuple[int, int] | None = None
    smoothness: tuple[float, ...] | None = None


def even_quantiles(m: int) -> tuple[float, ...]:
    """The m quantiles that cut a distribution into equal parts."""
    return tuple(k / (m + 1) for k in range(1, m + 1))


Answer = Callable[[Floats, Question, random.Random], Floats]


def view_of(values: Floats, question: Question) -> dpq.ArrayView:
    """The records on a grid so fine that it does not matter: the paper knows no grid."""
    assert question.bounds is not None
    lower, upper = question.bounds
    return dpq.ArrayView(values, dpq.UniformGrid(float(lower), float(upper)))


def joint_exp(values: Floats, question: Question, bits: random.Random) -> Floats:
    """JointExp as published."""
    mechanism = MECHANISMS["paper_joint_exp"](
        q=question.q,
        budget=budget(epsilon=question.epsilon, neighbors=question.neighbors),
    )
    return np.asarray(mechanism.release(view_of(values, question), bits))


def joint_exp_with_noise(values: Floats, question: Question, bits: random.Random) -> Floats:
    """JointExp as published with the paper's remedy for ties, and the most that it can give.

    Noise as wide as the resolution moves no record to another value, and rounding takes the
    answers back to where records can be.
    """
    assert question.resolution is not None
    width = question.resolution / 2
    rng = np.random.default_rng(bits.getrandbits(64))
    answers = joint_exp(values + rng.uniform(-width, width, len(values)), question, bits)
    return np.asarray(np.rint(answers / question.resolution) * question.resolution)


def app_ind_exp(values: Floats, question: Question, bits: random.Random) -> Floats:
    """One exponential mechanism per quantile; for one quantile JointExp is that mechanism."""
    share = per_call_epsilon(question.epsilon, DELTA, len(question.q))
    each = math.floor(share / PAPER_STEP) * PAPER_STEP or share
    view = view_of(values, question)
    single = MECHANISMS["paper_joint_exp"]
    share_of_each = PureDP(epsilon=each)
    answers = [single(q=(q,), budget=share_of_each).release(view, bits).value for q in question.q]
    return np.sort(answers)


def csmooth(values: Floats, question: Question, bits: random.Random) -> Floats:
    """Each quantile at its own tuned t and an even share of rho = epsilon^2 / 2."""
    assert question.smoothness is not None
    view, share = view_of(values, question), question.epsilon**2 / 2 / len(question.q)
    single = MECHANISMS["csmooth"]
    pairs = zip(question.q, question.smoothness, strict=True)
    spent = ZCDP(rho=share)
    return np.sort(
        [single(q=(q,), budget=spent, smoothness=t).release(view, bits).value for q, t in pairs]
    )


def agg_tree(values: Floats, question: Question, bits: random.Random) -> Floats:
    """A tree of the tuned height and branching."""
    assert question.shape is not None
    height, branching = question.shape
    mechanism = MECHANISMS["agg_tree"](
        q=question.q,
        budget=PureDP(epsilon=question.epsilon),
        height=height,
        branching=branching,
    )
    return np.asarray(mechanism.release(view_of(values, question), bits))


def registered(name: str) -> Answer:
    """A mechanism of the library as a user would call it."""

    def answers(values: Floats, question: Question, bits: random.Random) -> Floats:
        mechanism = MECHANISMS[name]
        kind = mechanism.profile.kinds[0]
        sized = question.neighbors == "add-remove" and mechanism.profile.uses_size
        resolved = question.resolution if question.bounds else None
        release = dpq.quantiles(
            values,
            question.q,
            epsilon=None if kind == "concentrated" else question.epsilon,
            delta=DELTA if kind == "approximate" else None,
            rho=question.epsilon**2 / 2 if kind == "concentrated" else None,
            bounds=question.bounds,
            resolution=resolved,
            neighbors="swap" if question.neighbors == "swap" else "add-remove",
            size=len(values) if sized else None,
            mechanism=mechanism.name,
            rng=bits,
        )
        return np.asarray(release, dtype=np.float64)

    return answers


CONTENDERS: dict[str, Answer] = {
    "JointExp": joint_exp,
    "JointExp, ties undone": joint_exp_with_noise,
    "AppIndExp": app_ind_exp,
    "CSmooth": csmooth,
    "AggTree": agg_tree,
    **{name: registered(name) for name in MECHANISMS},
}

PAPER = ("JointExp", "AppIndExp", "CSmooth", "AggTree")
OURS = "joint_exp"
