"""PrivateKeys: which groups are released, at exactly the stated (epsilon, delta)."""

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ApproxDP, Neighbors

Output = int | None
"""A noisy count; None where the group is not released."""

BUDGETS = [(1.0, 0.05), (0.3, 0.2), (2.0, 1e-3), (0.1, 0.4), (5.0, 0.5), (0.7, 1e-6)]


def law(epsilon: float, threshold: int, n: int) -> dict[Output, float]:
    """What a group of n records shows, from the definition, in plain sums."""
    noise = {z: math.exp(-epsilon * abs(z)) for z in range(-threshold, threshold + 1)}
    total = math.fsum(noise.values())
    found: Counter[Output] = Counter()
    for z, weight in noise.items():
        shown = n + z if n > 0 and n + z > threshold else None
        found[shown] += weight / total  # type: ignore[assignment]
    return dict(found)


def worst_excess(epsilon: float, threshold: int) -> float:
    """The largest P[S] - exp(epsilon) P'[S] over all sets S and neighboring counts."""
    worst = 0.0
    for n in range(3 * threshold + 3):
        for one, other in ((n, n + 1), (n + 1, n)):
            a, b = law(epsilon, threshold, one), law(epsilon, threshold, other)
            excess = (p - math.exp(epsilon) * b.get(shown, 0.0) for shown, p in a.items())
            worst = max(worst, math.fsum(x for x in excess if x > 0))
    return worst


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_selection_is_private_for_all_counts(epsilon: float, delta: float) -> None:
    keys = PrivateKeys(
        budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
    )
    assert worst_excess(epsilon, keys.threshold) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_threshold_is_the_least(epsilon: float, delta: float) -> None:
    keys = PrivateKeys(
        budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
    )
    k = keys.threshold
    chance = law(epsilon, k, 1).get(k + 1, 0.0)
    assert math.isclose(math.exp(keys.log_chance(k)), chance, rel_tol=1e-9)
    assert chance <= delta
    assert k == 1 or math.exp(keys.log_chance(k - 1)) > delta * (1 - 1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.3, 0.01), (2.0, 1e-3)])
def test_a_lower_threshold_is_caught(epsilon: float, delta: float) -> None:
    threshold = PrivateKeys(
        budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
    ).threshold
    assert worst_excess(epsilon, threshold - 1) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.8, 0.05), (0.15, 0.12)])
@pytest.mark.parametrize("n", [0, 1, 3, 6, 40])
def test_draws_of_keys_fit_their_law(n: int, epsilon: float, delta: float) -> None:
    keys, count = (
        PrivateKeys(budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)),
        20_000,
    )
    assert (epsilon * keys.threshold < 1) == (epsilon < 0.2)
    released, sizes = keys.draw(np.full(count, n), random.Random(n))
    drawn = Counter(sizes.tolist())
    assert len(released) == len(sizes)
    expected = law(epsilon, keys.threshold, n)
    shown = sorted(y for y in expected if y is not None)
    assert set(drawn) <= set(shown)
    observed = [drawn[y] for y in shown] + [count - len(sizes)]
    wanted = [count * expected[y] for y in shown] + [count * expected.get(None, 0.0)]
    pairs = [(o, w) for o, w in zip(observed, wanted, strict=True) if w > 0]
    if len(pairs) > 1:
        assert stats.chisquare(*zip(*pairs, strict=True)).pvalue > 1e-3
    else:
        assert pairs[0][0] == count


@pytest.mark.parametrize("delta", [0.5, 1e-3])
def test_tiny_budgets_take_no_longer(delta: float) -> None:
    """Of the noise of a count at such an epsilon, hardly any is as small as the threshold."""
    keys = PrivateKeys(budget=ApproxDP(epsilon=1e-9, delta=delta, neighbors=Neighbors.ADD_REMOVE))
    released, sizes = keys.draw(np.full(200, 10**6), random.Random(3))
    assert len(released) == 200
    assert np.abs(sizes - 10**6).max() <= keys.threshold <= 1 / delta


def test_empty_groups_are_never_released() -> None:
    released, sizes = PrivateKeys(
        budget=ApproxDP(epsilon=1.0, delta=0.9, neighbors=Neighbors.ADD_REMOVE)
    ).draw(np.zeros(500, dtype=np.int64), random.Random(1))
    assert len(released) == len(sizes) == 0


def test_what_is_left_adds_up_to_the_budget() -> None:
    budget = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    keys, rest = PrivateKeys.bought(budget)
    assert keys.guarantee.epsilon + rest.amount <= budget.epsilon
    assert keys.guarantee.delta == budget.delta
    assert rest.neighbors is Neighbors.ADD_REMOVE


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0, "delta": 0.1}, r"^epsilon must be positive"),
        ({"epsilon": 1, "delta": 1}, r"^delta must lie strictly between 0 and 1"),
        ({"epsilon": 1e-14, "delta": 0.1}, r"^epsilon must leave between"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateKeys(budget=ApproxDP(**parameters, neighbors=Neighbors.ADD_REMOVE))
