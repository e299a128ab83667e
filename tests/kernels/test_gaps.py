"""Open gaps against the sum over all steps at which a gap can have been entered."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpquantiles.kernels import gaps
from dpquantiles.kernels.algebra import Algebra, Logarithms, ScaledDoubles
from dpquantiles.kernels.gaps import open_gaps
from dpquantiles.kernels.scans import Decay

Floats = NDArray[np.float64]
RATE = 0.3


def expected(
    targets: list[int], free: dict[int, int], entering: Floats, row: int, cell: int
) -> float:
    """Entered at steps before `row`, at the same rank; C(w + a - 1, a) vectors of a answers."""
    length, rank, total = entering.shape[1], targets[row] + cell, 0.0
    for source in range(row):
        place = rank - targets[source]
        if place < length:
            answers, fade = row - source + 1, math.exp(-RATE * (targets[row] - targets[source]))
            vectors = math.comb(free[rank] + answers - 1, answers)
            total += vectors * fade * entering[source, place]
    return total


@pytest.mark.parametrize("algebra", [Logarithms(), ScaledDoubles(0.0, 40.0)])
@given(
    advances=st.lists(st.integers(0, 12), min_size=0, max_size=8),
    length=st.integers(1, 10),
    cells=st.sampled_from([1, 3, 2048]),
    data=st.tuples(st.integers(-1, 9), st.integers(0, 99)),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=90, deadline=None)
def test_gaps_are_their_sum(
    algebra: Algebra,
    advances: list[int],
    length: int,
    cells: int,
    data: tuple[int, int],
    seed: int,
) -> None:
    """On cells between two ranks; beyond them nothing ever enters a gap."""
    rng = np.random.default_rng(seed)
    targets = [0, *np.cumsum(advances, dtype=int).tolist()]
    free = {rank: int(rng.integers(0, 4)) for rank in range(targets[-1] + length)}
    entering = rng.uniform(0.5, 2.0, (len(targets), length)) * (rng.random(length) < 0.8)
    first, last = data[0], data[0] + data[1]
    for row, target in enumerate(targets):
        ranks = target + np.arange(length)
        entering[row, (ranks < first) | (ranks > last)] = 0.0
    with pytest.MonkeyPatch.context() as patch, np.errstate(divide="ignore"):
        patch.setattr(gaps, "CELLS", cells)
        walk = open_gaps(np.array(targets), length, Decay.of(RATE, length, algebra))
        for row, target in enumerate(targets):
            start = min(max(0, first - target), length - 1)
            here = slice(start, max(start + 1, min(length, last + 1 - target)))
            points = np.array([float(free[target + cell]) for cell in range(length)])[here]
            once = entering[row, here] * points
            logarithms, found = isinstance(algebra, Logarithms), np.empty(len(once))
            walk.step(row, here, np.log(once) if logarithms else once, points, found)
            found = np.exp(found) if logarithms else found
            sums = [expected(targets, free, entering, row, cell) for cell in range(length)]
            assert found == pytest.approx(sums[here], rel=1e-10)


def test_a_gap_of_any_mass_has_its_own_scale() -> None:
    """Neighboring ranks thousands of nats apart keep their precision, and so does what enters."""
    once = np.array([[-4000.0, 3000.0], [-4001.0, 2000.0], [-100.0, 2999.0]])
    walk = open_gaps(np.array([5, 5, 5]), 2, Decay.of(RATE, 2, Logarithms()))
    free, found = np.array([1.0, 1.0]), np.empty((3, 2))
    for row, mass in enumerate(once):
        walk.step(row, slice(0, 2), mass, free, found[row])
    assert found[1] == pytest.approx([-4000.0, 3000.0], rel=1e-14)
    assert found[2, 0] == pytest.approx(-4000.0 + math.log1p(math.exp(-1.0)), rel=1e-14)
    assert found[2, 1] == pytest.approx(3000.0, rel=1e-14)
