"""What every source owes: the same windows, ranks and releases as the array in memory."""

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.grid import default_grid
from dpquantiles.planner.tables import CANDIDATES
from dpquantiles.sources import lazy, memory
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.source import open_data
from dpquantiles.views import ArrayView, SortedView
from tests.sources.origins import COLUMNS, IN_MEMORY, LAZY, SLOW, make

Q = (0.9, 0.1, 0.5)

pytestmark = [
    pytest.mark.usefixtures("shared_passes"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*defaulting to pandas:UserWarning"),
]

LOOSE: dict[str, list[dict[str, Any]]] = {
    "floats": [{"bounds": (0, 200_000)}, {"bounds": (-1e300, 1e300)}, {"resolution": 0.5}],
    "skewed": [{"bounds": (0.0, 1e15)}, {"bounds": (1.0, 2.0)}],
    "odd floats": [{"bounds": (-1, 1), "resolution": 0.25}],
    "integers": [
        {"bounds": (0, 10**15)},
        {"bounds": (-5, 5)},
        {"resolution": 10},
        {"grid": dpq.FloatGrid()},
    ],
    "decimals": [{"bounds": (Decimal(-1), Decimal(10**9)), "resolution": Decimal("0.5")}],
}
"""Bounds that are absurdly loose, or too narrow, a resolution alone, and grids of another type than
the column."""


def release(data: Any, **options: Any) -> dpq.Release:
    asked = {"epsilon": 1, "rng": random.Random(7), **options}
    found: dpq.Release = dpq.quantiles(data, Q, **asked)
    return found


@cache
def of_array(ask: Callable[..., dpq.Release], name: str, **options: Any) -> dpq.Release:
    """What the column in memory gives; seeded, so that it is the same for all engines."""
    return ask(COLUMNS[name], **options)


def assert_same_view(view: SortedView, expected: SortedView) -> None:
    assert view.n == expected.n
    quarter, middle = expected.n // 4, expected.n // 2
    windows = [*range(quarter, middle - 5), *range(middle, expected.n)]
    index = np.array(windows, dtype=np.int64)
    steps = expected.order_statistics(index)
    np.testing.assert_array_equal(view.order_statistics(index), steps)
    asked = np.unique(np.clip(np.append(steps[::50], [0, 5]), 0, view.grid.size - 1))
    for found, wanted in zip(view.ranks(asked), expected.ranks(asked), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("engine", [*IN_MEMORY, *LAZY])
def test_windows_and_releases_are_those_of_the_array(
    engine: str, name: str, request: pytest.FixtureRequest
) -> None:
    array = COLUMNS[name]
    data = make(engine, pa.table({"x": array}), request)
    source = open_data(data, "x").source("x")
    typed = memory.read(array)
    assert source.kind.name == typed.kind.name
    if engine in LAZY:
        assert isinstance(source, LazyColumn)
        read_by = type(source.numbers.engine)
        assert f"{read_by.__module__}.{read_by.__name__}".endswith(f".{LAZY[engine]}")
    grid = default_grid(typed.kind)
    if engine not in SLOW or name in ("floats", "integers", "dates"):
        for policy in ("upper", "drop"):
            view = ArrayView(typed.values, grid, missing=policy)
            assert_same_view(source.view(grid, policy), view)
    variants: list[dict[str, Any]] = [{}]
    if engine not in SLOW:
        policies = [{"missing": "lower"}, {"missing": "upper"}]
        variants += [{"neighbors": "add-remove"}, *policies, *LOOSE.get(name, [])]
    for options in variants:
        expected = of_array(release, name, **options)
        assert unnamed(release(data, column="x", **options)) == expected


def unnamed(found: dpq.Release) -> dpq.Release:
    """The same release without the name of its column, which an array does not have."""
    assert found.column == "x"
    known = {name: value for name, value in found.provenance.items() if name != "column"}
    return replace(found, provenance=known)


MANY = tuple(k / 100 for k in range(1, 100))

DEFAULTS = [name for name in CANDIDATES if name != "joint_exp"]
"""What auto may choose for as many quantiles."""


def percentiles(data: Any, **options: Any) -> dpq.Release:
    asked = {"epsilon": 20, "rng": random.Random(3), **options}
    found: dpq.Release = dpq.quantiles(data, MANY, **asked)
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("engine", [*IN_MEMORY, *LAZY])
def test_percentiles_are_those_of_the_array(
    engine: str, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if hardly any record may be fetched, so that the engine has to count them."""
    if engine in SLOW and name not in ("floats", "integers", "ties"):
        pytest.skip("some columns will do for engines that take their time")
    data = make(engine, pa.table({"x": COLUMNS[name]}), request)
    ways = ("auto",) if engine in IN_MEMORY or engine in SLOW else ("auto", *DEFAULTS)

    def check(way: str) -> None:
        found = unnamed(percentiles(data, column="x", mechanism=way))
        assert found == of_array(percentiles, name, mechanism=way)

    for way in ways:
        check(way)
    if engine in LAZY:
        monkeypatch.setattr(lazy, "MOST_ROUGH", 20)
        monkeypatch.setattr(lazy, "MOST_RANGES", 2)
        check(way)
        monkeypatch.setattr(lazy, "FEW_ROWS", 0)
        check("adaptive_tree")


@pytest.mark.parametrize("name", ["floats", "skewed", "integers"])
@pytest.mark.parametrize("engine", [engine for engine in LAZY if engine not in SLOW])
def test_percentiles_told_a_fact_are_those_of_the_array(
    engine: str, name: str, request: pytest.FixtureRequest
) -> None:
    """Trees cut other marks there."""
    data = make(engine, pa.table({"x": COLUMNS[name]}), request)
    for options in LOOSE[name]:
        expected = of_array(percentiles, name, **options)
        assert unnamed(percentiles(data, column="x", **options)) == expected


CROWDED = ["floats", "skewed", "integers", "datetimes", "decimals"]


@pytest.mark.parametrize(
    ("engine", "name"),
    # One column will do for engines that take their time.
    [(engine, name) for engine in LAZY for name in (CROWDED[:1] if engine in SLOW else CROWDED)],
)
def test_bins_that_hold_too_much_are_binned_again(
    engine: str, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "MOST_ROWS", 20)
    monkeypatch.setattr(lazy, "WORTHWHILE", 0)
    array = COLUMNS[name]
    data = make(engine, pa.table({"x": array}), request)
    typed = memory.read(array)
    wide = (-(10**14), 10**14) if name in ("floats", "integers") else None
    grid = default_grid(typed.kind, wide)
    view = open_data(data, "x").source("x").view(grid, "drop")
    assert_same_view(view, ArrayView(typed.values, grid, missing="drop"))
