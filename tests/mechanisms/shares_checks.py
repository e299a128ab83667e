"""Checks for mechanisms that are made of several JointExps: exact losses over all neighbors."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms import joint_exp_checks as checks

Answer = tuple[int, ...]
Floats = NDArray[np.float64]
LawOf = Callable[[Any, Sequence[int], int], dict[Answer, float]]

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def pairs(
    mechanism: Any, sizes: Sequence[int], points: int, law_of: LawOf = checks.law_of
) -> list[tuple[Floats, Floats]]:
    """The log probabilities of all answers, for all pairs of small neighbors, some missing."""
    laws: dict[Hashable, Floats] = {}

    def law(records: Answer) -> Floats:
        if records not in laws:
            laws[records] = np.array(list(law_of(mechanism, records, points).values()))
            assert math.isclose(np.exp(laws[records]).sum(), 1.0, rel_tol=1e-9)
        return laws[records]

    found = checks.neighbor_pairs(str(mechanism.neighbors), sizes, points + 1)
    return [(law(one), law(other)) for one, other in found]


def worst_loss(found: list[tuple[Floats, Floats]]) -> float:
    """The largest privacy loss."""
    return max(float(np.abs(a - b).max()) for a, b in found)


def worst_delta(found: list[tuple[Floats, Floats]], epsilon: float) -> float:
    """The least delta at which all pairs are (epsilon, delta)-indistinguishable."""
    both = [*found, *((b, a) for a, b in found)]
    return max(float(np.maximum(0.0, np.exp(a) - np.exp(epsilon + b)).sum()) for a, b in both)


def worst_rho(found: list[tuple[Floats, Floats]]) -> float:
    """The largest Renyi divergence over its order, for several orders."""
    both = [*found, *((b, a) for a, b in found)]
    return max(
        math.log(np.exp(order * a + (1 - order) * b).sum()) / (order - 1) / order
        for a, b in both
        for order in ORDERS
    )


def check_within(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> float:
    """No loss above epsilon; the worst one, for further checks."""
    worst = worst_loss(pairs(mechanism, sizes, points, **options))
    assert worst <= mechanism.guarantee.epsilon * (1 + 1e-9)
    return worst


def check_pure(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> None:
    """No loss above epsilon, and the accounting is not wasteful."""
    assert check_within(mechanism, sizes, points, **options) > mechanism.guarantee.epsilon / 2


def check_concentrated(mechanism: Any, sizes: Sequence[int], points: int, **options: Any) -> None:
    """No Renyi divergence above rho times its order, and none of use far below."""
    worst = worst_rho(pairs(mechanism, sizes, points, **options))
    assert worst <= mechanism.guarantee.rho * (1 + 1e-9)
    assert worst > mechanism.guarantee.rho / 4
