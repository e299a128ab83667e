"""Checks of Fitted that can be run on the mechanism as it is and on broken copies of it.

Its noisy numbers are told what to be, and what it takes is caught, so that the probability of all
that it does is known: that of the numbers from the definition of the noise, that of the answers
from the exact law of JointExp, or from what a tree promises.
"""

import itertools
import json
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.entropy import Bits
from dpquantiles.grid import MOST_STEPS
from dpquantiles.mechanisms import fitted
from dpquantiles.mechanisms.adaptive_tree import COARSE, AdaptiveTree
from dpquantiles.mechanisms.between import Between
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.mechanisms.told_apart import StepGrid
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from dpquantiles.require import LARGEST_COUNT
from dpquantiles.results import Release
from dpquantiles.views import Limits, SortedView
from tests.mechanisms.adaptive_tree_checks import check_sum
from tests.mechanisms.joint_exp_checks import Answer, law_of, neighbor_pairs, view_of

Patch = pytest.MonkeyPatch
RELATIONS = ("swap", "add-remove")
DECILES = tuple(k / 10 for k in range(1, 10))
WIDE = 2**40
POINTS = 5
LEAST_JOINT = 0.7
NUMBERS = range(5)
"""What noisy numbers are told to be, in every combination."""


def evenly(m: int) -> tuple[float, ...]:
    return tuple((k + 0.5) / m for k in range(m))


def pure(
    epsilon: float, neighbors: str = "swap", size: int | None = None, q: Sequence[float] = (0.5,)
) -> Fitted:
    budget = PureDP(epsilon=epsilon, neighbors=Neighbors(neighbors))
    return Fitted(q=tuple(q), budget=budget, size=size)


def concentrated(
    rho: float, neighbors: str = "swap", size: int | None = None, q: Sequence[float] = (0.5,)
) -> Fitted:
    budget = ZCDP(rho=rho, neighbors=Neighbors(neighbors))
    return Fitted(q=tuple(q), budget=budget, size=size)


def amount(budget: Guarantee) -> Fraction:
    return Fraction(budget.rho if isinstance(budget, ZCDP) else budget.epsilon)


def ask_on_small_grids(patch: Patch) -> None:
    """Questions on grids of five points, which cost enough to be seen."""
    for name, value in (("COARSE", 2), ("FINENESS", 4), ("LUMP", 1), ("CROWDED_ROOT", 10**6)):
        patch.setattr(fitted, name, value)
    for name, share in (("LUMP_SHARE", 0.3), ("SIZE_SHARE", 0.2)):
        patch.setattr(fitted, name, share)


class Run(NamedTuple):
    """What a run asked for (true numbers, and the epsilon of each), what it took, and said."""

    asked: tuple[tuple[int, float], ...]
    taken: Mechanism
    told: str


def run(mechanism: Fitted, view: SortedView, script: Sequence[int]) -> Run:
    """One run whose noisy numbers are those of the script, up to where it takes a mechanism."""
    asked: list[tuple[int, float]] = []
    took: list[Mechanism] = []
    numbers = iter(script)

    def draw(count: PrivateCount, n: int, bits: Bits) -> int:  # noqa: ARG001
        asked.append((n, float(count.rate)))
        return next(numbers)

    def release(taken: Mechanism, view: SortedView, bits: Bits) -> Release:
        took.append(taken)
        return taken.released(view, bits, [0] * len(taken.q))

    with Patch.context() as patch:
        patch.setattr(PrivateCount, "draw", draw)
        for family in (JointExp, RecursiveJointExp, AdaptiveTree, Between):
            patch.setattr(family, "release", release)
        made = mechanism.release(view, random.SystemRandom())
    assert made.guarantee == mechanism.guarantee
    (taken,) = took
    return Run(tuple(asked), taken, json.dumps(made.provenance))


def log_chance(noisy: int, number: int, epsilon: float) -> float:
    """ln P[max(0, number + z) = noisy] for noise z with P[z] proportional to exp(-epsilon |z|)."""
    s = math.exp(-epsilon)
    if noisy == 0:
        return -epsilon * number - math.log1p(s)
    return math.log1p(-s) - math.log1p(s) - epsilon * abs(noisy - number)


Laws = dict[tuple[Any, Answer], dict[Answer, float]]


def answer_loss(taken: Mechanism, pair: tuple[Answer, Answer], laws: Laws) -> float:
    """The largest loss of what was taken, by its exact law; that of a tree as it promises."""
    if isinstance(taken, AdaptiveTree):
        return float(amount(taken.guarantee))
    assert isinstance(taken, JointExp)
    if taken.neighbors is Neighbors.ADD_REMOVE and taken.size is None:
        count, _ = taken.priced()
        sized = (taken.priced(size)[1] for size in NUMBERS)
        return float(count.rate) + max(answer_loss(one, pair, laws) for one in sized)
    for records in pair:
        if (taken, records) not in laws:
            laws[taken, records] = law_of(taken, records, POINTS)
    one, other = (laws[taken, records] for records in pair)
    return max(abs(one[answer] - other[answer]) for answer in one)


def losses(mechanism: Fitted, sizes: Sequence[int]) -> dict[str, float]:
    """The largest loss of question and answers together, by epsilon, for each that is taken.

    None is above epsilon. For the same noisy numbers, neighbors take the same mechanism and say the
    same of it.
    """
    worst: dict[str, float] = {}
    laws: Laws = {}
    stages = mechanism.stages(POINTS)
    scripts = list(itertools.product(NUMBERS, repeat=1 + (stages.size is not None)))
    run_once = cache(lambda records, script: run(mechanism, view_of(records, POINTS), script))
    for pair in neighbor_pairs(str(mechanism.budget.neighbors), sizes, POINTS + 1):
        for script in scripts:
            one, other = (run_once(records, script) for records in pair)
            assert len(one.asked) == len(other.asked) == len(script)
            assert (one.taken, one.told) == (other.taken, other.told)
            asked = zip(script, one.asked, other.asked, strict=True)
            loss = sum(abs(log_chance(y, *a) - log_chance(y, *b)) for y, a, b in asked)
            loss += answer_loss(one.taken, pair, laws)
            name = one.taken.name
            worst[name] = max(worst.get(name, 0.0), loss / float(amount(mechanism.budget)))
            assert worst[name] <= 1 + 1e-9
    return worst


def check_private(mechanism: Fitted, sizes: Sequence[int]) -> None:
    """Both kinds of answers are reached, and no loss is above epsilon."""
    found = losses(mechanism, sizes)
    assert found.keys() == {"joint_exp", "adaptive_tree"}
    assert found["joint_exp"] > LEAST_JOINT
    # A tree is charged with all that it promises, so that question and tree use all of epsilon.
    assert found["adaptive_tree"] > 0.999999


def mechanisms(value: float, q: Sequence[float] = (0.5,)) -> Iterator[Fitted]:
    """All kinds of budgets, neighbors and sizes."""
    for family in (pure, concentrated):
        for neighbors, size in (("swap", None), ("add-remove", None), ("add-remove", 9)):
            yield family(value, neighbors, size, q)


def check_stages() -> None:
    """What the stages may spend adds up to the budget, exactly."""
    for value in np.exp(np.random.default_rng(3).uniform(-18, 18, 60)).tolist():
        for mechanism in mechanisms(value):
            for points in (1, COARSE, COARSE + 1, MOST_STEPS):
                check_sum(mechanism.stages(points), mechanism.budget)


def check_rest() -> None:
    """Whatever is taken keeps within what is left, and noise costs no more than its share."""
    for value, m in itertools.product((1e-6, 0.01, 1.0, 40.0, 1e9), (1, 9, 60)):
        for mechanism in mechanisms(value, evenly(m)):
            for stage in mechanism.stages(WIDE)[:2]:
                if isinstance(stage, ZCDP):
                    assert Fraction(stage.noise_rate) ** 2 / 2 <= Fraction(stage.rho)
                elif stage is not None:
                    assert Fraction(stage.noise_rate) <= amount(stage)
            for lumpy, size in itertools.product((False, True), (0, 1000, 10**9, LARGEST_COUNT)):
                taken = mechanism.chosen(StepGrid(WIDE), lumpy=lumpy, size=size)
                rest, spent = mechanism.stages(WIDE).answers, taken.guarantee
                assert (spent.kind, spent.neighbors) == (rest.kind, rest.neighbors)
                assert amount(spent) <= amount(rest)
                assert taken.q == mechanism.q


def check_sensitivity(neighbors: str) -> None:
    """All neighbors of up to three records on nine points, parts of any length."""
    seen = set()
    for pair in neighbor_pairs(neighbors, [0, 1, 2, 3], 9):
        for length in (1, 2, 4, 16):
            views = (dpq.ArrayView(list(x), dpq.UniformGrid(0, 8, 1)) for x in pair)
            one, other = (vars(fitted)["occupied"](view, length, Limits(0, 9)) for view in views)
            assert one == len({step // length for step in pair[0]})
            seen.add(other - one)
    assert seen == ({0, 1} if neighbors == "add-remove" else {-1, 0, 1})


def check_told_apart() -> None:
    """Normal records are smooth; in whole numbers, or in narrow clusters of ties, they are not."""
    mechanism = pure(1.0, q=DECILES)
    grid = dpq.UniformGrid(-1000.0, 1000.0, 2.0**-20)
    for seed in range(20):
        numbers = np.random.default_rng(seed)
        normal = numbers.normal(0, 10, 2000)
        for data, taken in (
            (normal, "joint_exp"),
            (np.round(normal), "adaptive_tree"),
            (numbers.choice([-300.0, 20.0, 500.0], 2000), "adaptive_tree"),
        ):
            release = mechanism.release(dpq.ArrayView(data, grid), random.Random(seed))
            assert release.provenance["taken"] == taken
