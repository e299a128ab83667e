"""Scans against double loops, for both representations of masses."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import scans
from dpquantiles.kernels.algebra import Algebra, Logarithms, ScaledDoubles, choose

Floats = NDArray[np.float64]


def as_masses(logs: Floats, algebra: Algebra) -> Floats:
    return logs if isinstance(algebra, Logarithms) else np.exp(logs) * algebra.one


def as_logs(masses: Floats, algebra: Algebra) -> list[float]:
    return [algebra.log(mass) for mass in masses.tolist()]


def slow(logs: Floats, rate: float, first: int, stop: int, here: int) -> float:
    terms = [float(logs[j]) - rate * abs(j - here) for j in range(first, stop)]
    finite = [term for term in terms if term > -math.inf]
    if not finite:
        return -math.inf
    top = max(finite)
    return top + math.log(math.fsum(math.exp(term - top) for term in finite))


@pytest.mark.parametrize("algebra", [Logarithms(), ScaledDoubles(100.0, 40.0)])
@given(
    length=st.integers(1, 700),
    width=st.integers(0, 800),
    rate=st.sampled_from([0.01, 0.25, 1.0, 2.5]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=25, deadline=None)
def test_scans_are_their_sums(
    algebra: Algebra, length: int, width: int, rate: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    logs = rng.uniform(-30, 30, length)
    logs[rng.random(length) < 0.3] = -np.inf
    if rate * length > 500:
        algebra = Logarithms()
    masses, decay = as_masses(logs, algebra), scans.Decay.of(rate, length, algebra)
    results = {
        "prefix": as_logs(scans.prefix(masses, decay), algebra),
        "suffix": as_logs(scans.suffix(masses, decay), algebra),
        "window": as_logs(scans.window(masses, width, decay), algebra),
    }
    for i in {0, length // 3, length // 2, length - 1}:
        stop = min(length, i + width)
        assert results["prefix"][i] == pytest.approx(slow(logs, rate, 0, i + 1, i), abs=1e-9)
        assert results["suffix"][i] == pytest.approx(slow(logs, rate, i, length, i), abs=1e-9)
        assert results["window"][i] == pytest.approx(slow(logs, rate, i, stop, i), abs=1e-9)


@pytest.mark.parametrize("algebra", [Logarithms(), ScaledDoubles(100.0, 40.0)])
@pytest.mark.parametrize("width", [257, 300, 600, 899])
def test_long_windows_with_little_decay(algebra: Algebra, width: int) -> None:
    """Every cell, where what lies many runs away still counts."""
    length, rate = 900, 1e-3
    logs = np.random.default_rng(width).uniform(-3, 3, length)
    decay = scans.Decay.of(rate, length, algebra)
    found = as_logs(scans.window(as_masses(logs, algebra), width, decay), algebra)
    expected = [slow(logs, rate, i, min(length, i + width), i) for i in range(length)]
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("algebra", [Logarithms(), ScaledDoubles(10.0, 2.1)])
def test_scans_of_every_length_and_width(algebra: Algebra, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of four cells: shorter than a run, as long, one more, and many runs of runs."""
    monkeypatch.setattr(algebras, "LOGARITHMIC_RUN", 4)
    monkeypatch.setattr(scans, "LOGARITHMIC_RUN", 4)
    monkeypatch.setattr(scans, "SHORT_WINDOW", 9)
    rate, rng = 0.5, np.random.default_rng(8)
    for length in range(1, 22):
        decay = scans.Decay.of(rate, length, algebra)
        assert len(decay.rise) == 4
        logs = rng.uniform(-3, 3, length)
        masses, cells = as_masses(logs, algebra), range(length)
        prefix = [slow(logs, rate, 0, i + 1, i) for i in cells]
        assert as_logs(scans.prefix(masses, decay), algebra) == pytest.approx(prefix, abs=1e-12)
        suffix = [slow(logs, rate, i, length, i) for i in cells]
        assert as_logs(scans.suffix(masses, decay), algebra) == pytest.approx(suffix, abs=1e-12)
        for width in range(length + 2):
            window = [slow(logs, rate, i, min(length, i + width), i) for i in cells]
            found = as_logs(scans.window(masses, width, decay), algebra)
            assert found == pytest.approx(window, abs=1e-12)
        around = [-rate * abs(i) for i in range(-length, length + 1)]
        factors = decay.around if isinstance(algebra, Logarithms) else np.log(decay.around)
        assert factors.tolist() == pytest.approx(around, abs=1e-12)


def test_a_prefix_keeps_small_masses_before_large_ones() -> None:
    """What a difference of sums, or a Fourier transform, would lose."""
    logs = np.array([-600.0, 0.0, 600.0])
    sums = scans.prefix(logs, scans.Decay.of(1.0, 3, Logarithms()))
    assert sums[0] == -600.0
    assert sums[1] == pytest.approx(0.0)


def test_depth_grows_slowly() -> None:
    assert scans.scan_depth(10**6, 256) < 1000


@pytest.mark.parametrize(
    ("log_volume", "log_floor", "longest", "rate", "doubles"),
    [
        (224.0, -268.0, 1073, 0.25, True),
        (600.0, -640.0, 2560, 0.25, True),
        (640.0, -690.0, 2760, 0.25, False),
        (720.0, 0.0, 3, 0.25, False),
        (200.0, -250.0, 3200, 0.25, False),
        (200.0, -250.0, 7, 90.0, True),
        (200.0, -250.0, 7, 900.0, False),
        (0.7, 3.0, 1, 1000.0, False),
    ],
)
def test_choice_of_representation(
    log_volume: float, log_floor: float, longest: int, rate: float, doubles: bool
) -> None:
    algebra = choose(log_volume, log_floor, longest, rate)
    assert isinstance(algebra, ScaledDoubles) == doubles
    if isinstance(algebra, ScaledDoubles):
        top = log_volume + algebra.log_scale + rate * (algebra.run_length(rate) - 1)
        assert max(top, log_volume) < math.log(np.finfo(float).max)
        assert log_floor + algebra.log_scale > math.log(np.finfo(float).tiny) + 80
        assert algebra.run_length(rate) >= min(16, longest)


def test_the_depth_of_a_scan_counts_all_that_is_rounded() -> None:
    """Privacy is paid for so many roundings: not one too few where an axis is cut unevenly."""
    for run, length in itertools.product((16, 256, 2048), (1, 5, 16, 17, 255, 256, 257, 2**16 + 1)):
        runs, levels, covered = 0, 0, 1
        while runs * run < length:
            runs += 1
        while covered <= length:
            covered *= 256
            levels += 1
        inside = min(length, max(run, 256 * levels))
        carried = 3 * len(f"{runs:b}")
        assert scans.scan_depth(length, run) == inside + carried + levels + 8
