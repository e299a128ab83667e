"""Private quantiles of other libraries, each used as well as it can be, all for epsilon under swap.

OpenDP and PyDP draw from the operating system and offer no seed.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from experiments.everyday_data import Array
from experiments.trials import Question

EPSILON = 1.0
FEWEST_CANDIDATES, MOST_CANDIDATES = 2001, 100_001
MOST_IN_A_CELL, MOST_IN_CELLS = 25, 30_000
"""Candidates of OpenDP; the last two where there are several in each cell of the step."""

MOST_LEAVES = 4096
HEIGHT, BRANCHING = 4, 16
"""The shape that PyDP's tree has by default in the library below it."""

SWAP = 2
"""A swap is two records in the distance of add-remove neighbors."""


def clamped(question: Question) -> Array:
    """The records as floats inside the bounds."""
    return np.asarray(np.clip(question.values.astype(float), *question.column.bounds))


def spread(question: Question, seed: int) -> tuple[Array, tuple[float, float]]:
    """Records moved at random inside the cells that they were rounded to, and bounds for them.

    Mechanisms that draw from the gaps between records cannot answer a tie. Each record moves by
    itself, so that nothing changes for privacy, and rounded answers find the tie again.
    """
    (lower, upper), half = question.column.bounds, (question.column.step or 0.0) / 2
    moves = np.random.default_rng([seed, 1]).uniform(-half, half, len(question.values))
    return clamped(question) + moves, (lower - half, upper + half)


@lru_cache
def opendp() -> Any:
    """The library, with what it calls contributed code, which its quantiles are."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def sized(dp: Any, n: int) -> tuple[Any, Any]:
    """Vectors of a public length: scores then change by one per swap at any quantile."""
    return dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()


def opendp_candidates(question: Question, seed: int) -> Array:
    """One exponential mechanism (permute and flip) for every quantile, over public candidates.

    Where the column has no step, many quantiles try fewer candidates: noise is larger than what
    lies between them.
    """
    dp, m = opendp(), len(question.q)
    values, candidates = tried(question, seed)
    answers = []
    for q in question.q.tolist():
        draw = dp.m.make_private_quantile(
            *sized(dp, len(values)), dp.max_divergence(), candidates, q, scale=SWAP * m / EPSILON
        )
        if not draw.map(SWAP) <= EPSILON / m * (1 + 1e-9):
            raise AssertionError(f"OpenDP charges {draw.map(SWAP)} in place of {EPSILON / m}")
        answers.append(draw(values))
    return question.column.rounded(answers)


def tried(question: Question, seed: int) -> tuple[list[float], list[float]]:
    """Records and candidates for OpenDP.

    It scores a tie by what lies below and above it, so that a large one is missed. Where there is
    room for several candidates in each cell, spread records find it.
    """
    column = question.column
    if column.step is None:
        most = max(MOST_CANDIDATES // len(question.q), FEWEST_CANDIDATES)
        return clamped(question).tolist(), column.points(most).tolist()
    points = column.points(MOST_CANDIDATES)
    each = min(MOST_IN_CELLS // len(points), MOST_IN_A_CELL)
    if each < 2:
        return clamped(question).tolist(), points.tolist()
    inside = (np.arange(each) + 0.5) / each - 0.5
    candidates = (points[:, None] + column.step * inside).ravel()
    return spread(question, seed)[0].tolist(), candidates.tolist()


def opendp_tree(question: Question, seed: int) -> Array:  # noqa: ARG001
    """A tree of noisy counts, made consistent; bins have the values of the step in their middle."""
    dp, values = opendp(), clamped(question).tolist()
    points = question.column.points(MOST_LEAVES)
    middles = (points[1:] + points[:-1]) / 2
    edges = [float(points[0]), *middles.tolist(), float(points[-1])]
    branching = dp.t.choose_branching_factor(size_guess=len(values))
    tree = (
        sized(dp, len(values))
        >> dp.t.then_find_bin(edges=edges[1:-1])
        >> dp.t.then_count_by_categories(
            categories=list(range(len(points))), null_category=False, MO=dp.L1Distance[int]
        )
        >> dp.t.then_b_ary_tree(leaf_count=len(points), branching_factor=branching)
    )
    noisy = tree >> dp.m.then_laplace(tree.map(SWAP) / EPSILON)
    if not noisy.map(SWAP) <= EPSILON * (1 + 1e-9):
        raise AssertionError(f"OpenDP charges {noisy.map(SWAP)} in place of {EPSILON}")
    answers = (
        noisy
        >> dp.t.make_consistent_b_ary_tree(branching_factor=branching)
        >> dp.t.make_quantiles_from_counts(edges, question.q.tolist())
    )(values)
    return question.column.rounded(answers)


def diffprivlib(question: Question, seed: int) -> Array:
    """One exponential mechanism for every quantile, over the gaps between records."""
    from diffprivlib.tools import quantile

    values, bounds = spread(question, seed)
    try:
        answers = quantile(values, question.q, epsilon=EPSILON, bounds=bounds, random_state=seed)
    except RuntimeError as failure:
        raise ValueError("no gap near the quantile is wide enough for its arithmetic") from failure
    return question.column.rounded(answers)


def pydp(question: Question, seed: int) -> Array:  # noqa: ARG001
    """For one quantile its noisy binary search, for several its tree."""
    from pydp.algorithms.laplacian import Percentile
    from pydp.algorithms.quantile_tree import QuantileTree

    values, (lower, upper) = clamped(question).tolist(), question.column.bounds
    if len(question.q) == 1:
        search = Percentile(
            epsilon=EPSILON / SWAP,
            percentile=float(question.q[0]),
            lower_bound=lower,
            upper_bound=upper,
            dtype="float",
        )
        return question.column.rounded([search.quick_result(values)])
    tree = QuantileTree(lower, upper, HEIGHT, BRANCHING)
    for value in values:
        tree.add_entry(value)
    return question.column.rounded(
        tree.compute_quantiles(EPSILON, 0.0, 1, SWAP, question.q.tolist())
    )
