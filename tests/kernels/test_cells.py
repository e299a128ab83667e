"""Cells: partitions of all steps, cut by their rule, on grids of every size."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles.grid import FloatGrid
from dpquantiles.kernels import cells, draws, keyed
from tests.mechanisms.adaptive_tree_checks import counting, log_cut, log_whole

Ints = cells.Ints
RECORDS = (0, 0, 0, 1, 5, 9, 17, 17, 17, 17, 63)


def silent(_depth: int, start: Ints) -> Ints:
    return np.zeros(len(start), dtype=np.int64)


def loud(_depth: int, start: Ints) -> Ints:
    return np.full(len(start), 1 << 40, dtype=np.int64)


def noise_of(seed: int) -> cells.Noise:
    """Numbers from -3 to 3 that differ from cell to cell."""

    def noise(depth: int, start: Ints) -> Ints:
        words = keyed.Streams(seed.to_bytes(32), depth, start).words(np.arange(len(start)))
        return (words % 7).astype(np.int64) - 3

    return noise


def tens(first: Ints, end: Ints) -> np.ndarray:
    """Cells within the same ten are final."""
    return np.asarray(first // 10 == (end - 1) // 10)


def dumb(
    records: tuple[int, ...], points: int, rule: cells.Rule, final: cells.Final = cells.never
) -> list[int]:
    """The first steps of the cells by (1) as it reads, without noise."""
    levels = cells.height(points)

    def below(start: int, depth: int) -> list[int]:
        width = 4 ** (levels - depth)
        count = sum(start <= x < start + width for x in records)
        close = max(1 - rule.toll, count - rule.least - (depth - rule.free) * rule.toll) >= 1
        if start >= points:
            return []
        whole = final(np.array([start]), np.array([min(start + width, points)]))[0] or not close
        if depth == levels or (depth >= rule.free and whole):
            return [start]
        return [step for k in range(4) for step in below(start + k * width // 4, depth + 1)]

    return below(0, 0)


RULES = [
    cells.Rule(0, 1),
    cells.Rule(1, 2),
    cells.Rule(0, 3),
    cells.Rule(0, 1, 2),
    cells.Rule(1, 2, 3),
]


@pytest.mark.parametrize("final", [cells.never, tens])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("points", [1, 2, 3, 4, 5, 16, 17, 64, 65, 300])
def test_cells_follow_their_rule(points: int, rule: cells.Rule, final: cells.Final) -> None:
    records = tuple(x for x in RECORDS if x < points)
    found = cells.grown(counting(records), points, rule, silent, final=final)
    assert found.start.tolist() == dumb(records, points, rule, final)
    assert set(found.partition.tolist()) == {0}


@pytest.mark.parametrize("final", [cells.never, tens])
@pytest.mark.parametrize("rule", RULES)
def test_all_cells_are_among_those_reached(rule: cells.Rule, final: cells.Final) -> None:
    """Where all counts are known, they are the cells themselves and those that were cut."""
    below = counting(RECORDS)
    for seed in range(30):
        noise = noise_of(seed)
        found = cells.grown(below, 300, rule, noise, final=final).start.tolist()
        edges = cells.reached(lambda steps: (below(steps),) * 2, 300, rule, noise, final)
        assert edges.tolist() == [*found, 300]


@pytest.mark.parametrize(
    ("points", "levels"),
    [(1, 0), (2, 1), (4, 1), (5, 2), (16, 2), (17, 3), (2**62, 31), (2**62 + 1, 32)],
)
def test_height_is_the_least_that_covers(points: int, levels: int) -> None:
    assert cells.height(points) == levels


@given(
    points=st.one_of(st.integers(1, 400), st.integers(1, 2**63 - 1)),
    places=st.lists(st.floats(0, 1), max_size=30),
    rule=st.builds(cells.Rule, st.integers(0, 5), st.integers(1, 6), st.integers(1, 3)),
    seed=st.integers(0, 99),
)
def test_cells_cover_the_grid(
    points: int, places: list[float], rule: cells.Rule, seed: int
) -> None:
    """Ascending, from the first step on, within the grid, each as long as a cell or cut short."""
    records = tuple(min(points - 1, int(place * points)) for place in places)
    noise = np.random.default_rng(seed)
    found = cells.grown(
        counting(records), points, rule, lambda _, start: noise.integers(-3, 2, len(start))
    ).start.tolist()
    assert found[0] == 0
    assert found == sorted(set(found))
    assert found[-1] < points
    for start, end in zip(found, [*found[1:], points], strict=True):
        depth = math.ceil(math.log(end - start, 4) - 1e-9) if end < points else 0
        assert end == points or end - start == 4**depth
        assert start % 4**depth == 0


@pytest.mark.parametrize("points", [2**62, FloatGrid(integral=True).size, 2**63 - 1])
@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_the_largest_grids_stay_within_64_bits(points: int, place: float) -> None:
    step = min(points - 1, int(place * points))
    found = cells.grown(counting((step,) * 1000), points, cells.Rule(0, 3), silent).start
    assert found.min() == 0
    assert (np.diff(found) > 0).all()
    ends = np.append(found[1:], points)
    (home,) = np.flatnonzero((found <= step) & (step < ends))
    assert ends[home] - found[home] == 1
    assert len(found) <= 3 * cells.height(points) + 1


def test_what_is_reached_on_the_largest_grids_stays_within_64_bits() -> None:
    points = 2**63 - 1
    for step in (0, 2**62 + 12345, points - 1):
        below = counting((step,) * 1000)

        def rough(steps: Ints, below: Callable[[Ints], Ints] = below) -> tuple[Ints, Ints]:
            return below(steps), below(steps)

        known = cells.reached(rough, points, cells.Rule(0, 3), silent)
        assert (np.diff(known) > 0).all()
        assert known[[0, -1]].tolist() == [0, points]
        assert {step, step + 1} <= set(known.tolist())


@pytest.mark.parametrize("partitions", [1, 3])
def test_growing_ends_where_cells_are_too_many(
    partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "MOST_CELLS", 20)
    found = cells.grown(counting(()), 1000, cells.Rule(0, 1), loud, partitions)
    assert len(found.start) == partitions * 16
    assert found.start.tolist() == [64 * k for k in range(16)] * partitions
    assert found.partition.tolist() == sorted([*range(partitions)] * 16)


@pytest.mark.parametrize(("most", "count"), [(15, 4), (16, 16), (63, 16), (64, 64)])
def test_as_many_cells_as_the_most_are_left(
    most: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "MOST_CELLS", most)
    assert len(cells.grown(counting(()), 1024, cells.Rule(0, 1), loud).start) == count


@pytest.mark.parametrize(("most", "count"), [(9, 7), (10, 10), (12, 10), (13, 13), (18, 16)])
def test_cells_that_stay_whole_count_among_the_most(
    most: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only the first cell of each level is cut."""
    monkeypatch.setattr(cells, "MOST_CELLS", most)
    found = cells.grown(
        counting(()),
        4**7,
        cells.Rule(0, 1),
        lambda _, start: np.where(start == 0, 9, -9),
    )
    assert len(found.start) == count


def test_growing_does_not_go_on_below_a_level_that_was_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cells, "MOST_CELLS", 20)

    def noise(depth: int, start: Ints) -> Ints:
        return np.where((depth < 3) | (start == 0), 9, -9)

    found = cells.grown(counting(()), 4**6, cells.Rule(0, 1), noise)
    assert found.start.tolist() == [4**4 * k for k in range(16)]


def test_no_more_cells_than_the_most() -> None:
    found = cells.grown(counting(()), 4**12, cells.Rule(0, 1), loud)
    assert len(found.start) == cells.MOST_CELLS


def test_partitions_are_drawn_apart() -> None:
    """Many partitions have the law of one: the chance that the first cell is cut."""
    rate, bits = Fraction(1, 2), random.Random(5)
    found = cells.grown(
        counting((0, 0)),
        16,
        cells.Rule(1, 3),
        lambda _, start: draws.discrete_laplaces(bits, rate, len(start)),
        20_000,
    )
    cut = np.bincount(found.partition[found.start == 1], minlength=20_000)
    assert cut.mean() == pytest.approx(math.exp(log_cut(1, 0.5)), abs=0.012)
    other = np.bincount(found.partition[found.start == 5], minlength=20_000)
    assert other.mean() == pytest.approx(math.exp(log_cut(-1, 0.5)), abs=0.012)
    assert abs(np.corrcoef(cut, other)[0, 1]) < 0.03


@pytest.mark.parametrize("rate", [0.2, 1.0, 3.0])
def test_chances_of_cuts_are_those_of_the_noise(rate: float) -> None:
    """What the checks of privacy rest on, against the law of the noise added up."""
    z = np.arange(-2000, 2001)
    mass = np.exp(-rate * np.abs(z))
    mass /= mass.sum()
    for x in range(-6, 8):
        assert math.exp(log_cut(x, rate)) == pytest.approx(mass[x + z >= 1].sum(), rel=1e-9)
        assert math.exp(log_whole(x, rate)) == pytest.approx(mass[x + z <= 0].sum(), rel=1e-9)


@given(
    st.lists(st.integers(0, 99), max_size=40),
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(0, 5),
    st.integers(0, 9),
)
def test_rough_counts_find_every_edge_that_matters(
    records: list[int], least: int, toll: int, slack: int, seed: int
) -> None:
    """Partitions that know only these edges are those that know all records."""
    rule, exact = cells.Rule(least=least, toll=toll), counting(tuple(sorted(records)))
    rng, noise = np.random.default_rng(seed), noise_of(seed)

    def rough(steps: Ints) -> tuple[Ints, Ints]:
        below = exact(steps)
        lower, upper = (rng.integers(0, slack + 1, below.shape) for _ in range(2))
        return np.maximum(0, below - lower), np.minimum(len(records), below + upper)

    known = cells.reached(rough, 100, rule, noise)
    known_below = exact(known)

    def of_known(steps: Ints) -> Ints:
        assert np.isin(steps, known).all()
        return known_below[np.searchsorted(known, steps)]

    some, whole = (cells.grown(below, 100, rule, noise) for below in (of_known, exact))
    assert some.start.tolist() == whole.start.tolist()
    assert some.below.tolist() == whole.below.tolist()
