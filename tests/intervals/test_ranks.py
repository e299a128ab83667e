"""Measured ranks: the chance of a miss, exactly, and the shape of intervals."""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpquantiles as dpq
from dpquantiles import Intervals
from dpquantiles.intervals import Interval, MeasuredRanks, tails
from dpquantiles.intervals.ranks import Estimates
from dpquantiles.kinds import INTEGER

ENDS = (0, 99)


def measured(
    counts: Sequence[int], rate: float, *, public: int | None, missing: int | None = None
) -> MeasuredRanks:
    """Cuts at 10, 20, ...: the value k itself starts the cell above its cut."""
    cuts = range(10, 10 * len(counts), 10)
    return MeasuredRanks(
        requested=Intervals(),
        lower=tuple(cuts),
        upper=tuple(cut - 1 for cut in cuts),
        counts=tuple(counts),
        rate=rate,
        size=public,
        ends=ENDS,
        missing=missing,
    )


def miss_chance(
    counts: Sequence[int],
    q: float,
    level: float,
    rate: float,
    *,
    public: bool,
    missing: int | None = None,
) -> Any:
    """The exact chance that either end is wrong; noise too rare to be tried counts as a miss."""
    n, hidden = sum(counts), [] if missing is None else [missing]
    noises, chances = likely_noise(len(counts) + len(hidden), rate)
    wanted, below = Intervals(level), dict(zip(range(10, 100, 10), np.cumsum(counts), strict=False))
    missed = np.full(2, 1 - chances.sum())
    for noisy, chance in zip(np.add(noises, [*counts, *hidden]).tolist(), chances, strict=True):
        gone = noisy.pop() if hidden else None
        ranks = measured(noisy, rate, public=n + sum(hidden) if public else None, missing=gone)
        # An answer that compares with nothing cannot hide a wrong end.
        lower, upper = ranks.interval(q, math.nan, wanted)
        wrong = [
            lower != ENDS[0] and below[lower] >= q * n,
            upper != ENDS[1] and below[upper + 1] <= q * n,
        ]
        missed += np.array(wrong) * chance
    return missed


def likely_noise(terms: int, rate: float) -> tuple[Any, Any]:
    """All noise but the rarest 0.0001 of it, one row for each, and the chance of each row."""
    most = math.ceil(13.5 / rate)
    rows = np.indices((2 * most + 1,) * terms).reshape(terms, -1).T - most
    size = np.abs(rows).sum(axis=1)
    rows, size = rows[size <= most], size[size <= most]
    chances = np.tanh(rate / 2) ** terms * np.exp(-rate * size)
    assert 1 - 1e-4 < chances.sum() < 1
    return rows, chances


@pytest.fixture(autouse=True)
def tails_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much of the noise leads to the same surplus."""
    monkeypatch.setattr(tails, "noise_tail", cache(tails.noise_tail))


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("level", [0.7, 0.95])
@pytest.mark.parametrize(
    ("counts", "q"),
    [((5, 5), 0.5), ((3, 9), 0.25), ((0, 4), 0.2), ((2, 0, 2), 0.5)],
)
def test_the_chance_of_a_miss_is_exact_and_small(
    counts: tuple[int, ...], q: float, level: float, public: bool
) -> None:
    rate = 1.0 if len(counts) == 2 else 2.0
    missed = miss_chance(counts, q, level, rate, public=public)
    assert (missed <= (1 - level) / 2 + 1e-4).all()
    if counts[0] == q * sum(counts):
        # On the cut itself a miss needs the least noise, and the level is nearly used up.
        assert missed.max() > (1 - level) / 2 * math.exp(-2 * rate)


@pytest.mark.parametrize("level", [0.7, 0.95])
@pytest.mark.parametrize(
    ("counts", "q", "missing"),
    [((5, 5), 0.5, 3), ((3, 9), 0.25, 0), ((1, 4), 0.2, 50), ((9, 1), 0.9, 2)],
)
def test_missing_records_are_one_more_count(
    counts: tuple[int, ...], q: float, level: float, missing: int
) -> None:
    """All estimates are tried: the count of missing records weighs nothing, or on either side."""
    for weighs in range(3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np, "argmin", always(weighs, np.argmin))
            missed = miss_chance(counts, q, level, 1.5, public=True, missing=missing)
        assert (missed <= (1 - level) / 2 + 1e-4).all()
        assert missed.max() > (1 - level) / 2 * math.exp(-4.5)


def always(choice: int, original: Any) -> Any:
    """The choice among estimates, which is the only one along the first axis."""

    def argmin(array: Any, axis: int | None = None) -> Any:
        return original(array) if axis is None else np.full(array.shape[1], choice)

    return argmin


def test_the_best_estimate_is_taken() -> None:
    few = measured([10, 10, 10], 0.5, public=40, missing=10)
    for q in (0.1, 0.5, 0.9):
        share, left, right = few._estimates(q)
        variance = (1 - share) ** 2 * left + share**2 * right
        for best, i in zip(variance, (1, 2), strict=True):
            others = [
                (1 - q) ** 2 * i + q**2 * (3 - i),
                (1 - q / 2) ** 2 * i + (q / 2) ** 2 * (4 - i),
                ((1 - q) / 2) ** 2 * (i + 1) + ((1 + q) / 2) ** 2 * (3 - i),
            ]
            assert best == pytest.approx(min(others))


def test_a_count_of_missing_records_of_another_weight_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the number of present records were known: its noise is left out of the test."""
    monkeypatch.setattr(
        MeasuredRanks,
        "_estimates",
        lambda *_: Estimates(np.array([0.5]), np.array([1]), np.array([1])),
    )
    missed = miss_chance((9, 1), 0.9, 0.8, 1.5, public=True, missing=2)
    assert missed.max() > 0.1 * 1.3


@pytest.mark.parametrize("public", [True, False])
def test_the_chance_of_missing_the_population_is_exact_and_small(public: bool) -> None:
    """A cut just above the quantile, over all samples and all noise: only chance can pass it."""
    n, q, rate, most, wanted = 20, 0.4, 2.0, 4, Intervals(0.6, of="population")
    one = np.exp(-rate * np.abs(np.arange(-most, most + 1)))
    one /= one.sum()
    missed = 0.0
    for below, left, right in itertools.product(
        range(n + 1), range(-most, most + 1), range(-most, most + 1)
    ):
        counts = [below + left, n - below + right]
        ranks = measured(counts, rate, public=n if public else None)
        if ranks.interval(q, ENDS[1], wanted).lower != ENDS[0]:
            missed += stats.binom.pmf(below, n, q) * one[left + most] * one[right + most]
    assert (1 - 0.6) / 2 / 20 <= missed <= (1 - 0.6) / 2


def test_the_walk_stops_at_the_first_cut_that_is_not_refuted() -> None:
    """Noise that makes an inner cut look clear must not carry the end past an outer one."""
    wanted = Intervals(0.9)
    clear = measured([10, 0, 0, 90], 2.0, public=100)
    assert clear.interval(0.5, 50, wanted).lower == 30
    dented = measured([60, -50, 0, 90], 2.0, public=100)
    assert dented.interval(0.5, 50, wanted).lower == ENDS[0]


def test_intervals_hold_their_answers_and_grow_with_the_level() -> None:
    ranks = measured([30, 10, 10, 10, 10, 30], 0.5, public=100)
    previous = None
    for level in (0.1, 0.5, 0.9, 0.99, 0.9999):
        lower, upper = ranks.interval(0.5, 33, Intervals(level))
        assert lower <= 33 <= upper
        if previous:
            assert lower <= previous[0]
            assert upper >= previous[1]
        previous = (lower, upper)
    population = ranks.interval(0.5, 33, Intervals(0.9, of="population"))
    data = ranks.interval(0.5, 33, Intervals(0.9))
    assert population.lower <= data.lower
    assert population.upper >= data.upper


@pytest.mark.parametrize("public", [None, 60])
def test_extremes_reach_the_ends(public: int | None) -> None:
    ranks = measured([20, 20, 20], 3.0, public=public)
    assert ranks.interval(0.0, 5, Intervals()) == (0, 9)
    assert ranks.interval(1.0, 50, Intervals()) == (20, 99)
    assert measured([60], 3.0, public=public).interval(0.5, 50, Intervals()) == ENDS


def test_numpy_settings_of_the_caller_do_not_matter() -> None:
    """The square of a tiny quantile underflows, whether or not the caller asked for errors."""
    with np.errstate(all="raise"):
        for data in (np.array([1.0, np.nan]), np.arange(50.0)):
            made = dpq.quantiles(data, [1e-300, 0.5], epsilon=1, intervals=True)
            assert len(made.interval()) == 2


def test_ranks_are_written_and_read() -> None:
    ranks = measured([20, -3, 20], 0.1 + 0.2, public=None)
    for ends, missing in ((ENDS, None), ((None, 99), 7), ((None, None), -1)):
        shown = replace(ranks, ends=ends, lower=(None, 20), upper=(9, None), missing=missing)
        plain = json.loads(json.dumps(shown.to_dict(INTEGER), allow_nan=False))
        assert MeasuredRanks.from_dict(plain, INTEGER) == shown


def test_open_ends_stay_open() -> None:
    """What may lie beyond the grid is not cut off by an answer, nor by a cut of no known value."""
    ranks = replace(measured([20, 20, 20], 3.0, public=60), ends=(None, None))
    assert ranks.interval(0.0, 5, Intervals()) == (None, 9)
    assert ranks.interval(1.0, 50, Intervals()) == (20, None)
    assert ranks.interval(0.5, 15, Intervals()) == (10, 19)
    lost = replace(ranks, lower=(None, 20), upper=(9, None))
    assert lost.interval(0.5, 15, Intervals()) == (None, None)


def test_intervals_in_words_mind_open_ends() -> None:
    closed, above, below = Interval(3, 5), Interval(3, None), Interval(None, 5)
    anything = Interval(None, None)
    shown = [str(interval) for interval in (closed, above, below, anything)]
    assert shown == ["3 to 5", "3 or more", "5 or less", "any value"]
    held = [[i.holds(x) for x in (2, 3, 5, 6)] for i in (closed, above, below, anything)]
    assert held == [
        [False, True, True, False],
        [False, True, True, True],
        [True, True, True, False],
        [True, True, True, True],
    ]
