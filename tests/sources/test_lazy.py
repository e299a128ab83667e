"""The scanned view: how many scans, how many values, and what it refuses."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import dpquantiles as dpq
from dpquantiles.errors import ScanFailed
from dpquantiles.grid import UniformGrid, default_grid
from dpquantiles.kinds import REAL
from dpquantiles.privacy import NeighborsName
from dpquantiles.sources import bins as bins_module
from dpquantiles.sources import lazy as lazy_module
from dpquantiles.sources.columns import Numbers
from dpquantiles.sources.engine import Engine
from dpquantiles.sources.lazy import ScannedView
from dpquantiles.sources.polars import Polars
from dpquantiles.sources.tables import Table
from dpquantiles.views import ArrayView, FilledView, Limits

VALUES = np.random.default_rng(3).normal(50_000, 10_000, 20_000)
TABLE = pl.LazyFrame({"x": VALUES})
WINDOW = np.arange(9_900, 10_100)


def lazy(values: Any = VALUES) -> Numbers:
    return Polars().numbers(Table(nw.from_native(pl.LazyFrame({"x": values}))), "x")


class Counting(Polars):
    """Counts the rows that leave the engine."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def collect(self, frame: Any) -> Any:
        found = super().collect(frame)
        self.rows.append(len(found))
        return found

    def watch(self, numbers: Numbers) -> Numbers:
        return replace(numbers, engine=self)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Engine], None]:
    """Lets an engine of the test read all lazy tables."""

    def replaced(engine: Engine) -> None:
        monkeypatch.setattr("dpquantiles.sources.lazy.engine_of", lambda _: engine)

    return replaced


def test_two_scans_and_few_values() -> None:
    counting = Counting()
    grid = default_grid(REAL, (0, 100_000))
    view = ScannedView(counting.watch(lazy()), grid)
    index = np.arange(9_900, 10_100)
    expected = ArrayView(VALUES, grid)
    np.testing.assert_array_equal(view.order_statistics(index), expected.order_statistics(index))
    assert view.scans == len(counting.rows) == 2
    assert counting.rows[1] <= 220
    # What is known is not asked for again.
    view.order_statistics(index[5:50])
    view.ranks(view.order_statistics(index[:1]))
    assert view.scans == 2


def test_a_release_takes_two_scans(use: Callable[[Engine], None]) -> None:
    counting = Counting()
    use(counting)
    dpq.deciles(TABLE, column="x", epsilon=1)
    assert len(counting.rows) == 2
    assert counting.rows[1] < len(VALUES) / 2


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_steps_that_hold_whole_bins_need_no_second_scan(
    neighbors: NeighborsName, use: Callable[[Engine], None]
) -> None:
    counting = Counting()
    use(counting)
    data = pl.LazyFrame({"x": [1, 2, 2, 3, 10**9] * 100})
    release = dpq.median(data, column="x", epsilon=100, neighbors=neighbors, bounds=(0, 9))
    assert (release.value, len(counting.rows)) == (2, 1)


def test_everything_is_fetched_at_once_when_it_is_all_wanted() -> None:
    counting = Counting()
    grid = default_grid(REAL)
    view = ScannedView(counting.watch(lazy()), grid)
    everything = np.arange(len(VALUES))
    np.testing.assert_array_equal(
        view.order_statistics(everything), ArrayView(VALUES, grid).order_statistics(everything)
    )
    assert view.scans == 2


def test_crowded_bins_are_refined_and_then_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_module, "MOST_ROWS", 1000)
    counting = Counting()
    grid = UniformGrid(0.0, 1e9)
    view = ScannedView(counting.watch(lazy()), grid)
    index = np.arange(9_900, 10_100)
    expected = ArrayView(VALUES, grid).order_statistics(index)
    np.testing.assert_array_equal(view.order_statistics(index), expected)
    assert view.scans == 3
    assert counting.rows[-1] <= 1000


def test_a_few_refinements_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that doubles cannot tell apart would otherwise be binned for ever."""
    monkeypatch.setattr(lazy_module, "MOST_ROWS", 1)
    monkeypatch.setattr(lazy_module, "WORTHWHILE", 0)
    values = 2**62 + np.arange(500)
    grid = UniformGrid(2**62, 2**62 + 499)
    view = ScannedView(lazy(np.append(values, [0, 2**63 - 1])), grid)
    np.testing.assert_array_equal(view.order_statistics(np.arange(1, 501)), np.arange(500))
    assert view.scans <= lazy_module.MOST_REFINEMENTS + 2


@pytest.mark.parametrize("bounds", [None, (0, 10**6)])
def test_crowded_bins_that_are_far_apart_are_divided(
    bounds: Any, monkeypatch: pytest.MonkeyPatch, use: Callable[[Engine], None]
) -> None:
    """As with many more records: all the bins that a tree wants hold too many to be fetched."""
    monkeypatch.setattr(lazy_module, "FEW_ROWS", 2000)
    values = np.random.default_rng(5).lognormal(10.5, 0.6, 200_000)
    counting = Counting()
    use(counting)
    asked: dict[str, Any] = {"column": "x", "epsilon": 1, "bounds": bounds}
    found, expected = (
        dpq.quantiles(data, "percentiles", mechanism="adaptive_tree", rng=random.Random(3), **asked)
        for data in (pl.LazyFrame({"x": values}), pl.DataFrame({"x": values}))
    )
    assert found == expected
    assert len(counting.rows) <= 4
    assert max(counting.rows[-2:]) <= 4000


def test_parts_of_bins_are_not_looked_for_in_bins_of_another_map(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refined bins are no parts of the first ones, and are fetched by their values."""
    monkeypatch.setattr(lazy_module, "MOST_ROWS", 3000)
    monkeypatch.setattr(lazy_module, "MOST_RANGES", 1)
    monkeypatch.setattr(bins_module, "BINS", 64)
    grid, index = UniformGrid(0.0, 2.0**31), np.append(WINDOW + 200, WINDOW + 1500)
    view = ScannedView(lazy(), grid)
    expected = ArrayView(VALUES, grid).order_statistics(index)
    np.testing.assert_array_equal(view.order_statistics(index), expected)
    assert view.scans == 3


def test_records_on_both_sides_of_a_step_are_counted_by_one_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if they are as near to its ends as doubles can be."""
    monkeypatch.setattr(lazy_module, "FEW_ROWS", 0)
    grid = UniformGrid(0.0, 2.0**20, 1.0)  # with four steps for each bin
    steps = np.array([400_001, 400_003, 400_402, 500_003])
    edges = np.concatenate([steps - 0.5, steps + 0.5])
    near = np.concatenate([np.nextafter(edges, 0), np.nextafter(edges, 2.0**20)])
    spread = (steps[:, None] + np.random.default_rng(6).uniform(-3, 3, (4, 5000))).ravel()
    values = np.concatenate([near, spread])
    view = ScannedView(lazy(values), grid)
    np.testing.assert_array_equal(view.ranks(steps), ArrayView(values, grid).ranks(steps))
    assert view.scans == 2


@pytest.mark.parametrize("values", [[], [None], [float("nan")]])
def test_nothing_to_see(values: list[Any]) -> None:
    view = ScannedView(lazy(pl.Series(values, dtype=pl.Float64)), default_grid(REAL))
    assert (view.n, view.missing) == (0, len(values))
    none = np.empty(0, dtype=np.int64)
    assert len(view.order_statistics(none)) == 0
    np.testing.assert_array_equal(view.ranks(np.array([0, 5])), [[0, 0], [0, 0]])
    with pytest.raises(LookupError, match="a position outside"):
        view.order_statistics(np.array([0]))


@pytest.mark.parametrize("step", [0, 3, 9])
def test_what_stands_in_takes_its_place_in_the_order(step: int) -> None:
    grid = UniformGrid(0, 9)
    present = ArrayView([1, 3, 3, 8], grid)
    filled = FilledView(present, step, 3)
    expected = ArrayView([1, 3, 3, 8, step, step, step], grid)
    index, steps = np.arange(7), np.arange(10)
    np.testing.assert_array_equal(filled.order_statistics(index), expected.order_statistics(index))
    np.testing.assert_array_equal(filled.ranks(steps), expected.ranks(steps))


class Failing(Polars):
    """Fails whenever it is to collect rows."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def collect(self, frame: Any) -> Any:  # noqa: ARG002
        raise self.error


class Panic(BaseException):
    """What a panic in Rust looks like."""


@pytest.mark.parametrize("error", [ConnectionError("secret 42"), Panic("secret 42")])
def test_an_engine_that_fails_is_not_quoted(
    error: BaseException, use: Callable[[Engine], None]
) -> None:
    use(Failing(error))
    with pytest.raises(ScanFailed, match=r"^Polars failed while the data was read \(") as caught:
        dpq.median(TABLE, column="x", epsilon=1)
    assert type(error).__name__ in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_library_that_is_missing_is_named(use: Callable[[Engine], None]) -> None:
    use(Failing(ImportError("No module named 'pyarrow'", name="pyarrow")))
    with pytest.raises(dpq.MissingBackend, match=re.escape("pip install 'dpquantiles[polars]'")):
        dpq.median(TABLE, column="x", epsilon=1)


def test_an_interrupt_stays_one(use: Callable[[Engine], None]) -> None:
    use(Failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        dpq.median(TABLE, column="x", epsilon=1)


SPARSE = np.linspace(40_000, 60_000, 30).astype(np.int64)

LOOKS: dict[str, tuple[dict[str, int], Callable[[ScannedView], object]]] = {
    "fetched": ({}, lambda view: view.order_statistics(WINDOW)),
    "fetched apart": ({"MOST_RANGES": 0}, lambda view: view.ranks(SPARSE)),
    "divided": ({"FEW_ROWS": 0}, lambda view: view.ranks(SPARSE)),
    "refined": ({"MOST_ROWS": 10}, lambda view: view.order_statistics(WINDOW)),
    "all refined": ({"MOST_ROUGH": 0}, lambda view: view.rough_ranks(SPARSE, 10)),
}
"""Ways to a second scan: the limits that lead there, and what is asked."""

MIDDLE = np.argsort(VALUES)[9_000:11_000]
CHANGES: dict[str, NDArray[np.float64]] = {
    "more": np.append(VALUES, VALUES[MIDDLE]),
    "one more": np.append(VALUES, VALUES[MIDDLE[1000]]),
    "fewer": np.delete(VALUES, MIDDLE[900:1100]),
    "moved": np.concatenate([np.delete(VALUES, MIDDLE), VALUES[MIDDLE] + 20_000]),
    "one more at the end": np.append(VALUES, VALUES.max()),
    "missing": np.append(VALUES, np.nan),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("change", CHANGES)
def test_data_that_change_between_scans_are_refused(
    look: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, ask = LOOKS[look]
    for name, value in limits.items():
        monkeypatch.setattr(lazy_module, name, value)
    if change in ("missing", "one more at the end") and look != "all refined":
        pytest.skip("only a scan of all rows can notice it")
    view = ScannedView(lazy(), UniformGrid(0.0, 2.0**31, 1.0))  # with few bins for all records
    view._numbers = lazy(CHANGES[change])
    with pytest.raises(ScanFailed, match="changed between two scans"):
        ask(view)


@pytest.mark.parametrize("length", [1, 4**5])
@pytest.mark.parametrize("shape", ["smooth", "tied", "clustered", "clamped"])
@pytest.mark.parametrize("bounds", [(0.0, 100_000.0), None])
def test_occupied_parts_are_those_of_the_array(
    shape: str, length: int, bounds: tuple[float, float] | None
) -> None:
    values = np.random.default_rng(8).normal(50_000, 15_000, 20_000)
    if shape == "tied":
        values = np.round(values, -2)
    if shape == "clustered":
        values = np.round(values, -4) + np.random.default_rng(9).normal(0, 1e-6, len(values))
    if shape == "clamped":
        values += 1e6
    grid = default_grid(REAL, bounds)
    expected = ArrayView(values, grid)
    for limits in (Limits(0, 10**9), Limits(1000, 2500), Limits(2000, 6000), Limits(0, 12_000)):
        view = ScannedView(lazy(values), grid)
        assert view.occupied(length, limits) == expected.occupied(length, limits)


def test_parts_in_two_cells_are_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells have eight steps, parts have four, and all records lie around the ends of cells."""
    monkeypatch.setattr(bins_module, "EVEN_BINS", 1)
    ends = 9.5 + 16 * np.arange(50)
    values = np.concatenate([[1.5], ends - 0.9, ends + 0.9, [1.5 + 8 * 130]])
    grid, limits = UniformGrid(0.0, 2.0**20, 1.0), Limits(0, 60)
    assert ArrayView(values, grid).occupied(4, limits) == 52
    view = ScannedView(lazy(values), grid)
    assert view._fills_cells(4, 50)
    assert view.occupied(4, limits) == 52


def test_smooth_records_fill_cells_that_the_engine_counts() -> None:
    counting = Counting()
    view = ScannedView(counting.watch(lazy()), default_grid(REAL, (0, 100_000)))
    enough = view.n // 8
    assert view.occupied(1, Limits(0, enough)) == enough
    assert counting.rows[1:] in ([], [1])


RNG = np.random.default_rng(8)
MANY = 200_000
CROWDED: dict[str, Any] = {
    "one number": np.full(MANY, 7.5),
    "neighbors": 1 + RNG.random(MANY) * 1e-9,
    "all different": RNG.permutation(MANY),
    "missing": np.full(MANY, np.nan),
    "nanoseconds since 1970": RNG.integers(17 * 10**17, 18 * 10**17, MANY),
    "very large": np.exp(RNG.normal(0, 100, MANY)),
    "two scales": np.append(np.exp(RNG.normal(0, 5, MANY // 2)), 1e7 + RNG.random(MANY // 2)),
}


@pytest.mark.parametrize("m", [9, 99])
@pytest.mark.parametrize("bounds", [None, (0, 10**6)])
@pytest.mark.parametrize("name", CROWDED)
def test_records_that_crowd_a_bin(
    name: str, bounds: Any, m: int, use: Callable[[Engine], None]
) -> None:
    """They need a scan more than others at most, and are never fetched twice."""
    counting, values = Counting(), CROWDED[name]
    use(counting)
    q = [k / (m + 1) for k in range(1, m + 1)]
    asked: dict[str, Any] = {"epsilon": 1, "bounds": bounds, "column": "x"}
    asked["mechanism"] = "joint_exp" if m == 9 else "adaptive_tree"
    found, expected = (
        dpq.quantiles(data, q, rng=random.Random(3), **asked)
        for data in (pl.LazyFrame({"x": values}), pl.DataFrame({"x": values}))
    )
    assert found == expected
    assert len(counting.rows) <= 5
    assert sum(counting.rows) <= 2 * MANY


@pytest.mark.parametrize(("bins", "narrow"), [(1 << 20, True), (1 << 34, False)])
def test_bins_of_polars_are_as_small_as_their_number_allows(bins: int, narrow: bool) -> None:
    values = [None, math.nan, -math.inf, math.inf, 0.0, *VALUES]
    numbers = lazy(values)
    found = Polars().binned(numbers, numbers.frame, bins_module.Roots(2.0**40, bins)).collect()
    assert found["bin"].dtype == (nw.Int32 if narrow else nw.Int64)
    assert found["bin"].to_list()[:2] == [-1, -1]
    assert min(found["bin"].to_list()[2:]) >= 0


def test_ends_of_segments_are_plain_numbers() -> None:
    """Objects of Python would take four times the memory, and there may be a million segments."""
    view = ScannedView(lazy(), default_grid(REAL))
    assert view._segments.least.dtype == view._segments.greatest.dtype == np.float64
