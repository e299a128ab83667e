"""Records in bins against a full sort, for every question that a view can be asked."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpquantiles.grid import Grid, UniformGrid, default_grid
from dpquantiles.kernels import binned as kernel
from dpquantiles.kernels import cut_out
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.views import Limits, SortedSteps, binned
from dpquantiles.views.binned import BinnedRecords

RNG = np.random.default_rng(5)
N = binned.FEW + 1000
ARRAYS = {
    "normal": RNG.normal(0, 5, N),
    "heavy tails": RNG.standard_cauchy(N),
    "lognormal": RNG.lognormal(0, 3, N),
    "few values": RNG.integers(0, 100, N),
    "one value": np.full(N, 7.0),
    "almost one value": np.where(RNG.random(N) < 0.001, RNG.normal(size=N), 7.0),
    "infinities": np.where(RNG.random(N) < 0.4, np.inf, RNG.normal(size=N)),
    "minus infinities": np.where(RNG.random(N) < 0.001, -np.inf, RNG.normal(size=N)),
    "huge": RNG.uniform(-1.7, 1.7, N) * 1e308,
    "tiny": RNG.integers(0, 5, N) * 5e-324,
    "far from zero": 1e9 + 1e-6 * RNG.normal(size=N),
    "bytes": RNG.integers(-128, 128, N).astype(np.int8),
    "large integers": RNG.integers(-(2**62), 2**62, N),
    "close large integers": 2**60 + RNG.integers(0, 2000, N),
    "unsigned": RNG.integers(0, 2**63, N).astype(np.uint64) * np.uint64(2),
    "sorted": np.sort(RNG.normal(size=N)),
    "single precision": RNG.normal(size=N).astype(np.float32),
}
BY_BINS = [
    *("normal", "few values", "minus infinities", "bytes", "large integers", "sorted"),
    "lognormal",  # by bins of one ratio
]


def grids(numbers: NDArray[np.generic]) -> list[Grid]:
    """A grid of all numbers, and one that clamps most of them."""
    if numbers.dtype.kind == "f":
        return [default_grid(REAL, None, None), UniformGrid(-1.0, 1.0, 2.0**-20)]
    return [default_grid(INTEGER, None, None), UniformGrid(-50, 50)]


def check(view: BinnedRecords, slack: int, rng: np.random.Generator) -> None:
    """Compare all answers with those of sorted records."""
    ordered = SortedSteps(view.grid, np.sort(view.grid.encode(view.numbers)))
    n, size = view.n, view.grid.size
    near = ordered.steps[rng.integers(0, n, 30)] + rng.integers(-1, 2, 30)
    steps = np.concatenate([near, rng.integers(0, size, 5), [0, size - 1, size]])
    below, through = ordered.ranks(steps)
    least, most = view.rough_ranks(steps, slack)
    assert (least <= below).all()
    assert (below <= most).all()
    for found, right in zip(view.ranks(steps), (below, through), strict=True):
        np.testing.assert_array_equal(found, right)
    index = np.unique(rng.integers(0, n, min(n, 20)))
    np.testing.assert_array_equal(view.order_statistics(index), ordered.steps[index])
    assert len(view.order_statistics(index[:0])) == 0


@pytest.mark.parametrize("name", ARRAYS)
def test_every_answer_is_that_of_a_full_sort(name: str) -> None:
    numbers, rng = ARRAYS[name], np.random.default_rng(1)
    before = numbers.copy()
    for grid in grids(numbers):
        view = BinnedRecords(numbers, grid, 0)
        for slack in (N // 1000, N // 8192):
            check(view, slack, rng)
    np.testing.assert_array_equal(numbers, before)


def check_first_ranks(numbers: NDArray[np.generic], grid: Grid, first: int, last: int) -> None:
    """Compare the first positions that are asked for, and some asked for later."""
    ordered = np.sort(grid.encode(numbers))
    view = BinnedRecords(numbers, grid, 0)
    for index in (np.arange(first, last + 1), np.array([0, first, len(ordered) - 1])):
        np.testing.assert_array_equal(view.order_statistics(index), ordered[index])


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("first", [0, 300, N // 7, N // 2, N - 800, N - 60])
def test_the_first_ranks_are_those_of_a_full_sort(name: str, first: int) -> None:
    for grid in grids(ARRAYS[name]):
        check_first_ranks(ARRAYS[name], grid, first, first + 50)


@pytest.mark.parametrize("name", ["normal", "lognormal", "large integers", "sorted", "unsigned"])
def test_a_run_of_ranks_is_cut_out_without_bins(name: str) -> None:
    view = BinnedRecords(ARRAYS[name], grids(ARRAYS[name])[0], 0)
    view.order_statistics(np.arange(N // 2, N // 2 + 50))
    assert "_bins" not in view.__dict__
    assert "_sorted" not in view.__dict__


def test_a_cut_is_short_and_has_every_rank() -> None:
    numbers = ARRAYS["normal"]
    cut = cut_out.cut_out(numbers, N // 3, N // 3 + 100)
    assert cut is not None
    assert cut.before <= N // 3
    assert N // 3 + 100 < cut.before + len(cut.numbers) < N // 3 + N // 20
    np.testing.assert_array_equal(
        np.sort(cut.numbers), np.sort(numbers)[cut.before : cut.before + len(cut.numbers)]
    )


def test_a_cut_has_all_ranks_or_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every run of ranks, also where the sample is wrong by one."""
    for name, limit in {"SAMPLE": 16, "SURE": 0.1, "MOST": 1, "CHUNK": 7}.items():
        monkeypatch.setattr(cut_out, name, limit)
    made = 0
    for seed, (first, last) in itertools.product(
        range(20), itertools.combinations_with_replacement(range(61), 2)
    ):
        numbers = np.random.default_rng(seed).integers(0, [9, 500][seed % 2], 61)
        cut = cut_out.cut_out(numbers, first, last)
        if cut is not None:
            made += 1
            found = np.sort(cut.numbers)[first - cut.before : last + 1 - cut.before]
            assert first >= cut.before
            assert found.tolist() == np.sort(numbers)[first : last + 1].tolist()
    assert made > 1000


def test_the_first_request_may_be_empty() -> None:
    view = BinnedRecords(ARRAYS["normal"], default_grid(REAL, None, None), 0)
    assert len(view.order_statistics(np.empty(0, dtype=np.int64))) == 0


def test_ranks_that_the_sample_misjudges_are_not_cut_out() -> None:
    """Every second number is in the sample, and these are far from all others."""
    apart = np.arange(N, dtype=np.float64)
    for sampled in (-1e9, 1e9):
        apart[::2] = sampled + np.arange(len(apart[::2]))
        for first in (N // 4, 3 * N // 4):
            assert cut_out.cut_out(apart, first, first + 50) is None
            check_first_ranks(apart, default_grid(REAL, None, None), first, first + 50)


@pytest.mark.parametrize(
    ("name", "first"),
    [("one value", N // 2), ("almost one value", N // 3), ("infinities", 4 * N // 5)],
)
def test_a_cut_that_would_be_long_is_given_up(name: str, first: int) -> None:
    assert cut_out.cut_out(ARRAYS[name], first, first + 50) is None


@pytest.mark.parametrize("name", BY_BINS)
def test_few_records_are_sorted(name: str) -> None:
    view = BinnedRecords(ARRAYS[name], grids(ARRAYS[name])[0], 0)
    view.rough_ranks(np.array([0]), N // 4000)
    for _ in range(2):
        view.order_statistics(np.arange(N // 2, N // 2 + 50))
    assert view._bins is not None
    assert len(view._pool) < N // 5


def test_rough_ranks_are_about_the_slack_apart() -> None:
    view = BinnedRecords(ARRAYS["normal"], default_grid(REAL, None, None), 0)
    steps = view.grid.encode(np.linspace(-20, 20, 1000))
    least, most = view.rough_ranks(steps, 50)
    assert 0 < (most - least).max() <= 3 * 50


@given(
    values=st.lists(st.integers(0, 40), min_size=1, max_size=80),
    spread=st.sampled_from([1e-300, 0.3, 1.0, 1e18]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=150, deadline=None)
def test_few_bins_and_short_chunks(values: list[int], spread: float, seed: int) -> None:
    """Arrays on both sides of every limit."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, limit in (
            *((kernel, name, limit) for name, limit in (("BINS", 8), ("SAMPLE", 16), ("CHUNK", 7))),
            *((binned, name, limit) for name, limit in (("BINS", 8), ("FEW", 5), ("CHUNK", 7))),
            *((cut_out, name, limit) for name, limit in (("SAMPLE", 16), ("CHUNK", 7))),
            *((cut_out, name, limit) for name, limit in (("SURE", 0.1), ("MOST", 1))),
        ):
            patch.setattr(module, name, limit)
        numbers, first = np.array(values) * spread, seed % len(values)
        for grid in grids(numbers):
            check_first_ranks(numbers, grid, first, min(first + 2, len(numbers) - 1))
            check(BinnedRecords(numbers, grid, 0), len(values) // 4, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["normal", "few values", "one value", "large integers"])
@pytest.mark.parametrize("length", [1, 1000, 2**40])
def test_occupied_parts(name: str, length: int) -> None:
    numbers = ARRAYS[name]
    view = BinnedRecords(numbers, grids(numbers)[0], 0)
    right = len(np.unique(view.grid.encode(numbers) // length))
    for limits in (Limits(0, N), Limits(0, N // 4), Limits(3, 50), Limits(right, right + 1)):
        assert view.occupied(length, limits) == limits.clamped(right)


def test_ends_of_bins_hold_for_every_number() -> None:
    for name, numbers in ARRAYS.items():
        found = kernel.binned(numbers)
        if found is None:
            assert name in ("one value", "infinities", "huge", "tiny", "minus infinities")
            continue
        below, above = found.line.ends(np.arange(kernel.BINS))
        doubles = numbers.astype(np.float64)
        assert (below[found.bins] <= doubles).all()
        assert (doubles <= above[found.bins]).all()


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [(0, 1)],
        [(0, 5)],
        [(16_000, 16_060)],
        [(kernel.BINS - 1, kernel.BINS)],
        [(0, kernel.BINS)],
        [(3, 9), (20_000, 20_001)],
        [(0, 2), (kernel.BINS - 2, kernel.BINS)],
    ],
)
def test_numbers_of_wanted_bins_are_collected(runs: list[tuple[int, int]]) -> None:
    """One run of bins is found in a way of its own; none of its neighbors may come along."""
    numbers = np.random.default_rng(4).normal(0, 5, 3 * kernel.CHUNK + 7)
    bins = kernel.binned(numbers)
    assert bins is not None
    wanted = np.zeros(kernel.BINS, dtype=bool)
    for start, stop in runs:
        wanted[start:stop] = True
    expected = [
        x for x, own in zip(numbers.tolist(), bins.bins.tolist(), strict=True) if wanted[own]
    ]
    assert bins.collected(numbers, wanted).tolist() == expected
