"""Batched draws follow the exact law of JointExp."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.planner.chains import Chains, prefix, window

DRAWS = 40_000
CASES = {
    "distinct": ([1, 4, 6, 9], (0.5,), 4),
    "ties": ([2, 2, 2, 5, 5], (0.25, 0.75), 5),
    "copies in one gap": ([0, 0, 9, 9], (0.4, 0.5, 0.6), 4),
    "equal targets": ([3, 3, 4, 8], (0.5, 0.5), 4),
    "surplus": ([1, 1, 4, 7, 7], (0.3, 0.6), 3),
    "shortage": ([4, 6], (0.3, 0.6, 0.9), 5),
    "ends": ([0, 5, 9], (0.0, 1.0), 3),
}
"""Records among ten grid points, quantiles, and the public size."""


def chains_of(records: list[int], targets: list[int], size: int, rate: float) -> Chains:
    """Two copies of the same data, with an axis that covers everything."""
    n, m = len(records), len(targets)
    start, stop = -max(targets) - 1, n - min(targets) + 2
    padded = np.full((m, 2, stop - start + 1), -1, dtype=np.int64)
    for k, target in enumerate(targets):
        for i in range(padded.shape[2]):
            index = target + start + i - 1
            padded[k, :, i] = -1 if index < 0 else 10 if index >= n else records[index]
    both = np.array([n, n])
    return Chains(rate, np.array(targets), start, padded, both, both - size)


def slots(records: list[int], steps: np.ndarray) -> list[tuple[int, ...]]:
    """By answer, how many records lie below it plus how many lie at or below it: all that errors
    depend on. Inside a gap, chains draw from a continuum.
    """
    below, through = (np.searchsorted(records, steps, side=s) for s in ("left", "right"))
    return [tuple(row) for row in (below + through).tolist()]


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_law(case: str) -> None:
    records, q, size = CASES[case]
    epsilon = 1.6
    mechanism = JointExp(
        q=q, budget=privacy.budget(epsilon=epsilon, neighbors="add-remove"), size=size
    )
    law = mechanism.law(dpq.ArrayView(np.array(records), dpq.UniformGrid(0, 9, 1)))
    targets = np.rint(np.array(q) * size).astype(int).tolist()
    chains = chains_of(records, targets, size, epsilon / 2)
    walks = np.arange(DRAWS) % 2
    drawn = Counter(slots(records, chains.draw(np.random.default_rng(1), walks).steps))
    wanted: Counter[tuple[int, ...]] = Counter()
    for answer in itertools.combinations_with_replacement(range(10), len(q)):
        (slot,) = slots(records, np.array([answer]))
        wanted[slot] += DRAWS * math.exp(law.log_probability(answer))  # type: ignore[assignment]
    statistic, cells = 0.0, 0
    for slot, count in wanted.items():
        if count >= 5:
            statistic += (drawn.pop(slot, 0) - count) ** 2 / count
            cells += 1
    # Chi-square with cells - 1 degrees of freedom: beyond five deviations in no fair draw.
    assert statistic < cells + 5 * math.sqrt(2 * cells), (statistic, cells)
    assert sum(drawn.values()) < DRAWS / 20


def test_another_rate_is_rejected() -> None:
    records, q, size = CASES["ties"]
    law = JointExp(q=q, budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), size=size).law(
        dpq.ArrayView(np.array(records), dpq.UniformGrid(0, 9, 1))
    )
    targets = np.rint(np.array(q) * size).astype(int).tolist()
    drawn = chains_of(records, targets, size, 0.8).draw(
        np.random.default_rng(1), np.zeros(DRAWS, dtype=np.int64)
    )
    count = (drawn.steps == [2, 5]).all(axis=1).sum()
    wanted = DRAWS * math.exp(law.log_probability((2, 5)))
    assert abs(count - wanted) > 6 * math.sqrt(wanted)


@pytest.mark.parametrize("move", [0, 1, 2, 3, 7, 12, 40])
def test_scans_are_their_sums(move: int) -> None:
    masses = np.random.default_rng(3).random((2, 12))
    rate = 0.3
    for b, e in itertools.product(range(2), range(12)):
        low = sum(math.exp(-rate * (e - x)) * masses[b, x] for x in range(e + 1))
        assert prefix(masses, rate)[b, e] == pytest.approx(low)
        high = range(e, min(12, e + move))
        wanted = sum(math.exp(-rate * (x - e)) * masses[b, x] for x in high)
        assert window(masses, move, rate)[b, e] == pytest.approx(wanted)


def test_an_axis_that_is_too_short_is_noticed() -> None:
    view_records = np.arange(0, 2000)
    targets, start, stop = np.array([1000]), -3, 4
    window_of = view_records[targets[0] + start - 1 : targets[0] + stop]
    chains = Chains(0.01, targets, start, window_of[None, None, :], np.array([2000]), np.array([0]))
    drawn = chains.draw(np.random.default_rng(0), np.zeros(50, dtype=np.int64))
    assert not drawn.low_enough
    assert not drawn.high_enough
