"""Calls that a type checker accepts, and the types that it gives them."""

import random
from datetime import date
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import dpquantiles as dpq

data = np.arange(100.0)
table: Any = {}


def releases(ledger: dpq.Ledger) -> None:
    assert_type(dpq.quantiles(data, 0.5, epsilon=1), dpq.Release)
    assert_type(dpq.quantiles(data, [0.1, 0.9], epsilon=1.5, delta=1e-6), dpq.Release)
    assert_type(dpq.quantiles(data, np.array([0.5]), rho=0.1, by=None), dpq.Release)
    assert_type(dpq.quantiles(data, "deciles", epsilon=1, neighbors="add-remove"), dpq.Release)
    assert_type(dpq.median(data, epsilon=1, neighbors=dpq.Neighbors.SWAP), dpq.Release)
    assert_type(dpq.median([1, None], epsilon=1, missing="drop", size=2), dpq.Release)
    assert_type(dpq.median([date(2024, 1, 1)], epsilon=1, missing=date(2024, 1, 1)), dpq.Release)
    assert_type(dpq.quartiles(data, epsilon=1, bounds=(0, 9), resolution=0.1), dpq.Release)
    assert_type(dpq.quartiles(data, epsilon=1, grid=dpq.UniformGrid(0, 9)), dpq.Release)
    assert_type(dpq.deciles(data, epsilon=1, mechanism="joint_exp"), dpq.Release)
    assert_type(dpq.deciles(data, epsilon=1, rng=random.Random(7)), dpq.Release)
    assert_type(dpq.percentiles(data, 99, epsilon=1, intervals=0.9), dpq.Release)
    assert_type(dpq.percentiles(data, [1, 99], epsilon=1, intervals="population"), dpq.Release)
    assert_type(dpq.median("x.csv", column="x", unit="id", max_rows_per_unit=2), dpq.Release)
    assert_type(
        dpq.median(data, epsilon=1, ledger=ledger, dataset="a", part="b=c", request_id="d"),
        dpq.Release,
    )


def groups(by: str | None) -> None:
    keys = ["a", "b"]
    asked = dpq.median(table, column="x", by="g", keys=keys, epsilon=1, intervals=0.9, min_size=9)
    assert_type(asked, dpq.GroupedRelease)
    assert_type(
        dpq.quantiles(table, 0.5, column="x", by="g", keys=keys, epsilon=1), dpq.GroupedRelease
    )
    assert_type(dpq.median(table, column="x", by="g", keys=keys), dpq.GroupedRelease)
    assert_type(dpq.quartiles(table, column="x", by=["g"], keys="private"), dpq.GroupedRelease)
    assert_type(dpq.deciles(table, column="x", by=("g", "h"), size={"a": 9}), dpq.GroupedRelease)
    assert_type(dpq.percentiles(table, 5, column="x", by="g", keys=keys), dpq.GroupedRelease)
    assert_type(dpq.median(table, column="x", by=by), dpq.Release | dpq.GroupedRelease)


def options_from_elsewhere(options: dict[str, Any]) -> None:
    dpq.quantiles(data, 0.5, **options)
    dpq.median(data, epsilon=1, **options)


def other_functions(path: Path) -> None:
    assert_type(dpq.describe(table, ["x", "y"], epsilon=1), dpq.Description)
    dpq.describe(table, ["x"], q="quartiles", rho=1, bounds={"x": (0, 1)}, mechanism="auto")
    assert_type(dpq.plan(size=9, q="median", epsilon=1, data="tied", intervals=True), dpq.Plan)
    assert_type(dpq.epsilon_for(rank_error=0.1, size=9, q=[0.5], mechanism="agg_tree"), float)
    assert_type(dpq.size_for(rank_error=0.1, q=0.5, rho=1, neighbors="swap"), int)
    assert_type(dpq.Ledger(path, epsilon=1, neighbors="add-remove").budget.neighbors, dpq.Neighbors)
    dpq.median(data, intervals=dpq.Intervals(0.9, of="population")).interval(of="data")
