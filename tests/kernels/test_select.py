"""Selection against a full sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpquantiles.kernels import select as module
from dpquantiles.kernels.select import runs_of, select

RNG = np.random.default_rng(5)
N = module.LARGE + 1000
LARGE_ARRAYS = {
    "normal": RNG.normal(0, 5, N),
    "heavy tails": RNG.standard_cauchy(N),
    "lognormal": RNG.lognormal(0, 3, N),
    "few values": RNG.integers(0, 100, N),
    "one value": np.full(N, 7.0),
    "almost one value": np.where(RNG.random(N) < 0.001, RNG.normal(size=N), 7.0),
    "infinities": np.where(RNG.random(N) < 0.4, np.inf, RNG.normal(size=N)),
    "minus infinities": np.where(RNG.random(N) < 0.4, -np.inf, RNG.normal(size=N)),
    "huge": RNG.uniform(-1.7, 1.7, N) * 1e308,
    "tiny": RNG.integers(0, 5, N) * 5e-324,
    "bytes": RNG.integers(-128, 128, N).astype(np.int8),
    "large integers": RNG.integers(-(2**62), 2**62, N),
    "unsigned": RNG.integers(0, 2**63, N).astype(np.uint64) * np.uint64(2),
    "sorted": np.sort(RNG.normal(size=N)),
    "single precision": RNG.normal(size=N).astype(np.float32),
}


@pytest.mark.parametrize("name", LARGE_ARRAYS)
def test_large_arrays(name: str) -> None:
    values = LARGE_ARRAYS[name]
    before = values.copy()
    runs = [np.arange(t, t + 700) for t in (0, 20_000, 20_500, 65_000, N - 700)]
    index = np.unique(np.concatenate(runs))
    np.testing.assert_array_equal(select(values, index), np.sort(values)[index])
    np.testing.assert_array_equal(values, before)


def test_bins_are_used_and_left_where_they_should_be() -> None:
    index = np.arange(60_000, 61_000)
    runs = runs_of(index)
    assert module._by_bins(LARGE_ARRAYS["normal"], runs) is not None
    assert module._by_bins(LARGE_ARRAYS["one value"], runs) is None


@given(values=st.lists(st.integers(-5, 5), max_size=60), data=st.data())
@settings(max_examples=100, deadline=None)
def test_small_arrays(values: list[int], data: st.DataObject) -> None:
    array: NDArray[np.int64] = np.array(values, dtype=np.int64)
    positions = st.sets(st.integers(0, max(0, len(values) - 1)), max_size=len(values))
    index = np.array(sorted(data.draw(positions)) if values else [], dtype=np.int64)
    np.testing.assert_array_equal(select(array, index), np.sort(array)[index])


def test_runs() -> None:
    assert runs_of(np.array([], dtype=np.int64)) == []
    assert runs_of(np.array([3, 4, 5, 9, 11, 12])) == [(3, 6), (9, 10), (11, 13)]


@pytest.mark.parametrize("spread", [1, 3, 40, 10**6])
def test_every_size_around_the_limits(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bins, short chunks and thin samples: arrays on both sides of every limit."""
    for name, limit in {"LARGE": 40, "BINS": 8, "SAMPLE": 16, "CHUNK": 10}.items():
        monkeypatch.setattr(module, name, limit)
    by_bins = 0
    for size in range(1, 100):
        values = RNG.integers(0, spread, size).astype(np.float64)
        ordered = np.sort(values)
        for wanted in (1, size // 8, size // 4, size // 4 + 1):
            for start in {0, size // 3, size - wanted}:
                index = np.arange(start, start + wanted)
                np.testing.assert_array_equal(select(values, index), ordered[index])
                found = module._by_bins(values, runs_of(index)) if wanted else None
                by_bins += found is not None
                if found is not None:
                    np.testing.assert_array_equal(found, ordered[index])
    assert (by_bins > 100) == (spread > 3)
