"""Checks for mechanisms that are made of several JointExps: exact losses over all neighbors."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms import joint_exp_checks as checks

Answer = tuple[int, ...]
Floats = NDArray[np.float64]
LawOf = Callable[[Any, Sequence[int], int], dict[Answer, float]]

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def law_of(mechanism: Any, records: Sequence[int], points: int) -> dict[Answer, float]:
    """The log probability of every answer, as the mechanism says."""
    law = mechanism.law(checks.view_of(records, points))
    return {a: law.log_probability(a) for a in checks.all_answers(points, len(mechanism.q))}


def pairs(
    mechanism: Any, sizes: Sequence[int], points: int, law_of: LawOf = law_of
) -> Iterator[tuple[Floats, Floats]]:
    """The log probabilities of all answers, for all pairs of small neighbors, some missing."""
    laws: dict[Hashable, Floats] = {}

    def law(records: Answer) -> Floats:
        if records not in laws:
            laws[records] = np.array(list(law_of(mechanism, records, points).values()))
            assert math.isclose(np.exp(laws[records]).sum(), 1.0, rel_tol=1e-9)
        return laws[records]

    found = checks.neighbor_pairs(str(mechanism.neighbors), sizes, points + 1)
    return ((law(one), law(other)) for one, other in found)


def worst_loss(found: Iterable[tuple[Floats, Floats]]) -> float:
    """The largest privacy loss."""
    return max(float(np.abs(a - b).max()) for a, b in found)


def worst_delta(found: Iterable[tuple[Floats, Floats]], epsilon: float) -> float:
    """The least delta at which all pairs are (epsilon, delta)-indistinguishable."""
    both = [pair for a, b in found for pair in ((a, b), (b, a))]
    return max(float(np.maximum(0.0, np.exp(a) - np.exp(epsilon + b)).sum()) for a, b in both)


def worst_rho(found: Iterable[tuple[Floats, Floats]]) -> float:
    """The largest Renyi divergence over its order, for several orders."""
    both = [pair for a, b in found for pair in ((a, b), (b, a))]
    return max(
        math.log(np.exp(order * a + (1 - order) * b).sum()) / (order - 1) / order
        for a, b in both
        for order in ORDERS
    )


def check_within(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> float:
    """No loss above epsilon; the worst one, for further checks."""
    worst, most = 0.0, mechanism.guarantee.epsilon * (1 + 1e-9)
    for pair in pairs(mechanism, sizes, points, **options):
        worst = max(worst, worst_loss([pair]))
        assert worst <= most
    return worst


def check_pure(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> None:
    """No loss above epsilon, and the accounting is not wasteful."""
    assert check_within(mechanism, sizes, points, **options) > mechanism.guarantee.epsilon / 2


def check_concentrated(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> None:
    """No Renyi divergence above rho times its order, and none of use far below."""
    worst = worst_rho(pairs(mechanism, sizes, points, **options))
    assert worst <= mechanism.guarantee.rho * (1 + 1e-9)
    assert worst > mechanism.guarantee.rho / 4
