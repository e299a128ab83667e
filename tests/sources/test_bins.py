"""Bins: maps that do not decrease, stay in range and never fail, whatever the numbers."""

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kinds import DATE, DURATION, INTEGER, REAL, Datetime, DecimalUnits
from dpquantiles.sources.bins import (
    BINS,
    DAY,
    ROOT_BINS,
    Even,
    Intervals,
    Map,
    Pieces,
    Roots,
    first_map,
)


def bins_of(numbers: list[float], bins: Map) -> list[int]:
    frame = nw.from_native(pl.DataFrame({"p": pl.Series(numbers, dtype=pl.Float64)}))
    frame = frame.with_columns(bins.prepared(nw.col("p")).alias("m"))
    place = bins.bin(nw.col("p"), nw.col("m")).cast(nw.Int64)
    return frame.select(place.alias("b"))["b"].to_list()


GRIDS: dict[str, tuple[Grid, Fraction]] = {
    "real": (FloatGrid(), Fraction(1)),
    "bounded": (UniformGrid(0.0, 1.0), Fraction(1)),
    "loose": (UniformGrid(-1e300, 1e300), Fraction(1)),
    "integers": (default_grid(INTEGER), Fraction(1)),
    "few integers": (UniformGrid(-3, 3), Fraction(1)),
    "dates": (default_grid(DATE), Fraction(DAY)),
    "datetimes": (default_grid(Datetime()), Fraction(1, 1000)),
    "durations": (default_grid(DURATION), Fraction(1)),
    "decimals": (default_grid(DecimalUnits(2)), Fraction(1)),
}


@pytest.mark.parametrize("name", GRIDS)
@settings(max_examples=25, deadline=None)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=1))
def test_first_bins_follow_the_order_of_numbers(name: str, numbers: list[float]) -> None:
    found = bins_of(sorted(numbers), first_map(*GRIDS[name]))
    assert found == sorted(found)
    assert found[0] >= 0
    assert found[-1] <= ROOT_BINS


@pytest.mark.parametrize("name", GRIDS)
def test_the_same_bins_in_sql(name: str) -> None:
    numbers = [-math.inf, *np.linspace(-2e4, 3e4, 301).tolist(), 0.0, 1e-9, 1e18, math.inf]
    assert in_sql(numbers, first_map(*GRIDS[name])) == bins_of(numbers, first_map(*GRIDS[name]))


@pytest.mark.parametrize("name", [*GRIDS, "pieces"])
def test_the_same_bins_in_numpy(name: str) -> None:
    numbers = [-math.inf, *np.linspace(-2e4, 3e4, 301).tolist(), 0.0, 1e-9, 1e18, math.inf]
    pieces = Pieces.of([(-1e4, -5e3), (0.0, 0.0), (1.5, 2e4), (2.5e4, 1e18)])
    bins = pieces if name == "pieces" else first_map(*GRIDS[name])
    assert bins.places(np.array(numbers)).tolist() == bins_of(numbers, bins)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("times", [1, 2**14])
@settings(max_examples=25, deadline=None)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=1))
def test_positions_lie_around_their_bins(name: str, times: int, numbers: list[float]) -> None:
    first = first_map(*GRIDS[name])
    assert isinstance(first, (Even, Roots))
    bins, positions = replace(first, bins=first.bins * times), np.sort(numbers)
    low, high = bins.around(bins.places(positions))
    least, most = bins.around(np.array([0, bins.bins - 1]))
    inside = np.clip(positions, least[0], most[1])  # no bin ends in an infinite number
    assert (low <= inside).all()
    assert (inside <= high).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()


def in_sql(numbers: list[float], bins: Map) -> list[int]:
    frame = pa.table({"p": numbers})
    relation = duckdb.from_arrow(frame)
    return [place for (place,) in relation.select(f"CAST({bins.sql('p')} AS BIGINT)").fetchall()]


@pytest.mark.parametrize("name", GRIDS)
@settings(max_examples=25, deadline=None)
@given(
    numbers=st.lists(st.floats(allow_nan=False) | st.floats(-100, 100), min_size=1),
    power=st.integers(1, 30),
)
def test_parts_lie_inside_their_bins(name: str, numbers: list[float], power: int) -> None:
    bins = first_map(*GRIDS[name])
    parts = replace(bins, parts=1 << power)
    coarse = bins_of(numbers, bins)
    assert [part >> power for part in bins_of(numbers, parts)] == coarse
    assert [part >> power for part in in_sql(numbers, parts)] == in_sql(numbers, bins)


@settings(max_examples=40, deadline=None)
@given(
    ends=st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=12, unique=True),
    numbers=st.lists(st.floats(-1e6, 1e6), min_size=1),
)
def test_finer_bins_keep_ranges_apart(ends: list[float], numbers: list[float]) -> None:
    ends = sorted(ends)
    ranges = [(low, high) for low, high in zip(ends[::2], ends[1::2], strict=False) if low < high]
    ranges = [wanted for wanted in ranges if Even(*wanted).helps]
    inside = sorted(x for x in numbers + ends if any(a <= x <= b for a, b in ranges))
    if not inside:
        return
    found = bins_of(inside, Pieces.of(ranges))
    assert found == sorted(found)
    assert found == in_sql(inside, Pieces.of(ranges))
    assert found[-1] < BINS
    piece = BINS // len(ranges)
    for x, place in zip(inside, found, strict=True):
        assert ranges[place // piece][0] <= x <= ranges[place // piece][1]


def test_each_whole_number_of_a_short_range_has_a_bin_of_its_own() -> None:
    bins = first_map(UniformGrid(-3, 3), Fraction(1))
    assert bins_of([-9, -3, -2, -1, 0, 1, 2, 3, 9], bins) == [0, 0, 1, 2, 3, 4, 5, 6, 6]
    cents = first_map(UniformGrid(Decimal("0.00"), Decimal("2.00")), Fraction(1))
    assert bins_of([k / 100 for k in range(201)], cents) == list(range(201))


def test_dates_of_our_time_have_a_bin_for_each_day() -> None:
    bins = first_map(default_grid(DATE), Fraction(DAY))
    days = [(dt.date(2024, 1, d) - dt.date(1970, 1, 1)).days for d in range(1, 32)]
    assert len(set(bins_of([float(day) for day in days], bins))) == 31


def test_bins_of_wide_ranges_widen() -> None:
    assert isinstance(first_map(FloatGrid(), Fraction(1)), Roots)
    assert isinstance(first_map(UniformGrid(0, 10**15), Fraction(1)), Roots)
    assert isinstance(first_map(UniformGrid(0.0, 1e6), Fraction(1)), Even)
    assert isinstance(first_map(default_grid(REAL, (0, 1)), Fraction(1)), Even)
    spread = bins_of(np.geomspace(1e-5, 1e11, 1000).tolist(), first_map(FloatGrid(), Fraction(1)))
    assert len(set(spread)) == 1000


@pytest.mark.parametrize(
    "ends", [(1.0, 1.0), (0.0, 5e-324), (-1.7e308, 1.7e308), (0.0, float("inf"))]
)
def test_ends_that_doubles_cannot_divide_are_left_alone(ends: Any) -> None:
    assert not Even(*ends).helps


PARTS = 8
"""The parts of each bin below."""


@given(
    st.sets(st.integers(0, 9), min_size=1, max_size=5), st.lists(st.integers(-3, 10 * PARTS + 3))
)
def test_intervals_are_cut_where_it_is_asked_and_nowhere_else(
    bins: set[int], starts: list[int]
) -> None:
    first = np.array(sorted(bins), dtype=np.int64) * PARTS
    wholes = Intervals(first, first + PARTS - 1)
    which, pieces = wholes.cut(np.array(starts, dtype=np.int64))
    own = [(a, [s for s in sorted(set(starts)) if a < s < a + PARTS]) for a in first.tolist()]
    assert which.tolist() == [place for place, (_, inside) in enumerate(own) if inside]
    firsts = [start for a, inside in own if inside for start in (a, *inside)]
    lasts = [end for a, inside in own if inside for end in (*(s - 1 for s in inside), a + 7)]
    assert (pieces.first.tolist(), pieces.last.tolist()) == (firsts, lasts)
