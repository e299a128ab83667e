"""Checks of JointExp that can be run on the mechanism as it is and on broken copies of it.

The oracle computes the law from its definition, in the dumbest way: the utility is a minimum over
all feasible rank vectors, probabilities are weights over the sum of all weights.
"""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import dpquantiles as dpq
from dpquantiles.auditing.laws import Explorer
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.places import Ints
from dpquantiles.mechanisms import joint_exp
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.views import WindowView
from tests.views.recording import RecordingView

Answer = tuple[int, ...]


def view_of(records: Sequence[int], points: int) -> dpq.ArrayView:
    """Records that are steps of a grid with this many points already; those beyond are missing."""
    steps = np.array(records, dtype=np.int64)
    numbers = np.ma.masked_array(steps, steps >= points)
    return dpq.ArrayView(numbers, grid_of(points))


@cache
def grid_of(points: int) -> dpq.UniformGrid:
    """The whole numbers from zero."""
    return dpq.UniformGrid(0, points - 1, 1)


def all_answers(points: int, m: int) -> Iterator[Answer]:
    """Every nondecreasing vector of m grid points."""
    return itertools.combinations_with_replacement(range(points), m)


BEYOND = 1 << 40
"""A point above all grid points and all records, with as many records as anybody wants."""


def ranks(records: Sequence[int], o: int, most: int) -> range:
    """The ranks that an answer allows, up to `most` if it lies beyond all records."""
    high = sum(x <= o for x in records)
    return range(sum(x < o for x in records), (max(high, most) if o == BEYOND else high) + 1)


def utility(
    records: Sequence[int], answer: Answer, targets: Sequence[int], nu: int, most_end: int
) -> int:
    """Equation (1): the best over all rank vectors that the answer allows."""
    n = len(records)
    allowed = [ranks(records, o, n + nu) for o in answer]
    gaps = [b - a for a, b in itertools.pairwise([0, *targets])]
    costs = (
        sum(abs(b - a - t) for (a, b), t in zip(itertools.pairwise([0, *r]), gaps, strict=True))
        + min(abs(n - r[-1] - (nu - targets[-1])), most_end)
        for r in itertools.product(*allowed)
    )
    return -min(costs)


def greedy_path(records: Sequence[int], answer: Answer, targets: Sequence[int]) -> list[int]:
    """Equation (2): the errors of the greedy cuts."""
    path, p = [], 0
    for o, target in zip(answer, targets, strict=True):
        allowed = ranks(records, o, p + target)
        p = min(max(p, allowed[0] - target), allowed[-1] - target)
        path.append(p)
    return path


def removal_order(size: int) -> list[int]:
    """The ranks 0 .. size-1 with their binary digits written backwards, in ascending order."""
    width = len(f"{size - 1:b}") if size > 1 else 0
    backwards = (int(f"{i:0{width}b}"[::-1], 2) if width else 0 for i in range(2**width))
    return [rank for rank in backwards if rank < size]


def left(target: int, size: int, missing: int) -> int:
    """What is left of the ranks below a target when missing records strike theirs."""
    return target - sum(rank < target for rank in removal_order(size)[:missing])


def weight(
    mechanism: dpq.JointExp, records: Sequence[int], answer: Answer, targets: Sequence[int], nu: int
) -> float:
    """The weight of an answer, straight from (3) and (4)."""
    assert mechanism.reach is not None
    swap, reach = mechanism.neighbors == "swap", mechanism.reach
    delta, leaving = (2, 2 * reach) if swap else (1, reach)
    rate = mechanism.epsilon / (2 * delta)
    most_end = 1 << 60 if swap else math.ceil(-joint_exp.LOG_WRONG_SIZE / rate)
    floor = math.exp(-rate * (leaving - delta)) / math.expm1(rate * delta)
    if any(abs(p) > reach for p in greedy_path(records, answer, targets)):
        return floor
    return math.exp(rate * utility(records, answer, targets, nu, most_end)) + floor


def all_weights(
    mechanism: dpq.JointExp,
    records: Sequence[int],
    points: Sequence[int],
    targets: Sequence[int],
    nu: int,
) -> dict[Answer, float]:
    """The weights of all answers; one beyond all records is released as the last point."""
    wider = [*points, BEYOND] if mechanism.neighbors == "add-remove" else points
    weights: Counter[Answer] = Counter()
    for answer in itertools.combinations_with_replacement(wider, len(targets)):
        released = tuple(min(o, points[-1]) for o in answer)
        weights[released] += weight(mechanism, records, answer, targets, nu)  # type: ignore[assignment]
    return dict(weights)


def oracle(mechanism: dpq.JointExp, everybody: Sequence[int], points: int) -> dict[Answer, float]:
    """The log probability of every answer, straight from the definition."""
    records = [x for x in everybody if x < points]
    n, missing = len(records), len(everybody) - len(records) if mechanism.size is None else 0
    size = n + missing if mechanism.size is None else mechanism.size
    targets = [left(round(q * size), size, missing) for q in sorted(mechanism.q)]
    weights = all_weights(mechanism, records, range(points), targets, size - missing)
    total = math.fsum(weights.values())
    return {answer: math.log(weight / total) for answer, weight in weights.items()}


def law_of(mechanism: dpq.JointExp, records: Sequence[int], points: int) -> dict[Answer, float]:
    """The log probability of every answer, as the mechanism says."""
    return log_probabilities(mechanism.law(view_of(records, points)), points)


def log_probabilities(law: Any, points: int) -> dict[Answer, float]:
    """The log probability of every answer; a JointExp says all of them at once."""
    answers = ascending_steps(points, len(law.order))
    if not isinstance(law, JointExpLaw):
        return {answer: law.log_probability(answer) for answer in map(tuple, answers.tolist())}
    logs = law.log_probabilities(answers)
    return dict(zip(map(tuple, answers.tolist()), logs.tolist(), strict=True))


@cache
def ascending_steps(points: int, m: int) -> Ints:
    """All answers, which are steps of the grid already, in rows."""
    return np.array(list(all_answers(points, m)), dtype=np.int64)


def check_is_the_equation(mechanism: dpq.JointExp, records: Sequence[int], points: int) -> None:
    """The law sums to one and equals the oracle; the forward pass gives only the normalizer."""
    law, said = mechanism.law(view_of(records, points)), law_of(mechanism, records, points)
    assert math.isclose(math.fsum(map(math.exp, said.values())), 1.0, rel_tol=1e-9)
    for answer, expected in oracle(mechanism, records, points).items():
        assert math.isclose(said[answer], expected, abs_tol=1e-6), (answer, records)
        assert law.log_probability(answer) == said[answer]


def neighbor_pairs(
    neighbors: str, sizes: Sequence[int], points: int
) -> Iterator[tuple[Answer, Answer]]:
    """All pairs of small data sets that differ in one record."""
    for n in sizes:
        for records in all_answers(points, n):
            if neighbors == "add-remove":
                for extra in range(points):
                    yield records, tuple(sorted((*records, extra)))
            else:
                for i, new in itertools.product(range(n), range(points)):
                    swapped = tuple(sorted((*records[:i], *records[i + 1 :], new)))
                    if records < swapped:
                        yield records, swapped


def losses(mechanism: dpq.JointExp, sizes: Sequence[int], points: int) -> Iterator[float]:
    """The largest privacy loss over all answers, for all neighbors; records may be missing."""

    @cache
    def law(records: Answer) -> Floats:
        answers = ascending_steps(points, len(mechanism.q))
        logs: Floats = mechanism.law(view_of(records, points)).log_probabilities(answers)
        return logs

    for one, other in neighbor_pairs(str(mechanism.neighbors), sizes, points + 1):
        yield loss(law(one), law(other))


def loss(one: Floats, other: Floats) -> float:
    """The largest distance of two logs; what is impossible for both tells nothing."""
    apart = np.subtract(one, other, where=one != other, out=np.zeros_like(one))
    return float(np.abs(apart).max())


def worst_loss(mechanism: dpq.JointExp, sizes: Sequence[int], points: int) -> float:
    """The largest privacy loss over all neighbors and all answers."""
    return max(losses(mechanism, sizes, points))


def check_private(mechanism: dpq.JointExp, sizes: Sequence[int], points: int) -> None:
    """No loss above epsilon."""
    for found in losses(mechanism, sizes, points):
        assert found <= mechanism.epsilon * (1 + 1e-9)


def sampler_distribution(law: JointExpLaw, patch: Callable[..., None]) -> dict[Answer, float]:
    """What the walk back really draws, by exploring every choice that it can make."""
    explorer = Explorer()

    def weighted(_bits: object, weights: Floats, algebra: Algebra) -> int:
        logs = [algebra.log(w) for w in weights.tolist()]
        top = max(logs)
        return explorer.choose([math.exp(x - top) for x in logs])

    def chooses_first(_bits: object, first: float, second: float, algebra: Algebra) -> bool:
        logs = algebra.log(first), algebra.log(second)
        return explorer.choose([math.exp(x - max(logs)) for x in logs]) == 0

    def sorted_with_repeats(_bits: object, choices: int, count: int) -> list[int]:
        vectors = list(all_answers(choices, count))
        return list(vectors[explorer.choose([1.0] * len(vectors))])

    for function in (weighted, chooses_first, sorted_with_repeats):
        patch(draws, function.__name__, function)
    distribution: Counter[Answer] = Counter()
    while True:
        answer = law.draw(random.Random(0))
        distribution[answer] += explorer.probability  # type: ignore[assignment]
        if not explorer.advance():
            return dict(distribution)


def check_walk(
    mechanism: dpq.JointExp, records: Sequence[int], points: int, patch: Callable[..., None]
) -> None:
    """The sampler's distribution, computed without sampling, is the law."""
    law = mechanism.law(view_of(records, points))
    drawn = sampler_distribution(law, patch)
    for answer, log in log_probabilities(law, points).items():
        expected = math.exp(log)
        assert math.isclose(drawn.get(answer, 0.0), expected, rel_tol=1e-9), (answer, records)


def fit(drawn: Counter[Answer], law: JointExpLaw, points: int) -> float:
    """The p-value of the chi-square test that draws follow a law; rare answers are pooled."""
    total = drawn.total()
    observed, expected, rest = [], [], [0.0, 0.0]
    for answer, log in log_probabilities(law, points).items():
        mean = total * math.exp(log)
        if mean >= 10:
            observed.append(float(drawn[answer]))
            expected.append(mean)
        else:
            rest = [rest[0] + drawn[answer], rest[1] + mean]
    if rest[1] > 0:
        observed.append(rest[0])
        expected.append(rest[1])
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


def draw_many(law: JointExpLaw, count: int, seed: int) -> Counter[Answer]:
    """Seeded draws from a law."""
    bits = random.Random(seed)
    return Counter(law.draw(bits) for _ in range(count))


def check_draws(mechanism: dpq.JointExp, records: Sequence[int], points: int) -> None:
    """Draws at a fixed seed fit the law."""
    law = mechanism.law(view_of(records, points))
    assert fit(draw_many(law, 20_000, seed=11), law, points) > 1e-3


def check_window(mechanism: dpq.JointExp, records: Sequence[int], points: int) -> None:
    """Windows give bit-identical laws, and nothing outside the demand is asked for."""
    whole = view_of(records, points)
    demand = mechanism.demand(whole.n, whole.grid, mechanism.left_out(whole))
    recording = RecordingView(whole)
    reference = mechanism.law(recording)
    allowed = {i for run in demand for i in run}
    assert recording.asked_index <= allowed
    assert not recording.asked_steps
    law = mechanism.law(WindowView.of(whole, demand))
    assert log_probabilities(law, points) == log_probabilities(reference, points)
    assert law.draw(random.Random(3)) == reference.draw(random.Random(3))
