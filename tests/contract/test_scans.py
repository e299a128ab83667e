"""How often a release reads its table: each kind of request on each engine, whatever it asks for.

A scan is a query whose rows are fetched. Tables here have few rows, so the limits below which an
engine may simply fetch them all are lowered as if they had many.
"""

import random
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpquantiles as dpq
from tests.sources.counting import counted_scans
from tests.sources.origins import LAZY, in_postgres, make

N, FEW = 12_000, 600
RNG = np.random.default_rng(11)
KEYS = [f"k{i}" for i in range(12)]
TABLE = pa.table(
    {
        "x": pa.array(
            np.where(RNG.random(N) < 0.05, np.nan, RNG.lognormal(10, 1, N)), pa.float64()
        ),
        "g": pa.array(RNG.choice(KEYS, N).tolist()),
        "u": pa.array(RNG.integers(0, 2000, N)),
    }
)
DECILES, PERCENTILES = "deciles", [k / 100 for k in range(1, 100)]
UNIT = {"unit": "u", "max_rows_per_unit": 2, "neighbors": "add-remove"}

REQUESTS: dict[str, tuple[int, Any, dict[str, Any]]] = {
    "deciles": (2, DECILES, {}),
    "deciles in bounds": (2, DECILES, {"bounds": (0, 10**6)}),
    "deciles and intervals": (2, DECILES, {"intervals": True}),
    "a protected size": (2, DECILES, {"neighbors": "add-remove"}),
    "percentiles": (2, PERCENTILES, {}),
    "percentiles in bounds": (2, PERCENTILES, {"bounds": (0, 10**6)}),
    "percentiles of fitted": (2, PERCENTILES, {"mechanism": "fitted"}),
    "percentiles of adaptive_tree": (2, PERCENTILES, {"mechanism": "adaptive_tree"}),
    "percentiles of recursive_joint_exp": (2, PERCENTILES, {"mechanism": "recursive_joint_exp"}),
    "units": (2, DECILES, UNIT),
    "groups": (3, DECILES, {"by": "g", "keys": KEYS}),
    "percentiles of groups": (3, PERCENTILES, {"by": "g", "keys": KEYS}),
    "private keys": (
        3,
        DECILES,
        {"by": "g", "keys": "private", "delta": 1e-6, "neighbors": "add-remove"},
    ),
    "groups of units": (3, DECILES, {"by": "g", "keys": KEYS, **UNIT}),
}
"""How many scans each kind of request may take."""


@pytest.fixture
def scans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each scan fetches."""
    module, _, name = LAZY[request.getfixturevalue("engine")].partition(".")
    kind = getattr(import_module(f"dpquantiles.sources.{module}"), name)
    return counted_scans(kind, FEW, monkeypatch)


def table_in(engine: str, request: pytest.FixtureRequest) -> Any:
    """The table in an engine."""
    if engine != "postgres":
        return make(engine, TABLE, request)
    types = {"x": "double precision", "g": "text", "u": "bigint"}
    return in_postgres(TABLE, types, request.getfixturevalue("postgres"), "scanned")


@pytest.mark.usefixtures("shared_passes")
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("engine", LAZY)
def test_few_scans(engine: str, scans: list[int], request: pytest.FixtureRequest) -> None:
    data, taken = table_in(engine, request), {}
    for name, (_, q, options) in REQUESTS.items():
        scans.clear()
        dpq.quantiles(data, q, column="x", epsilon=1.0, rng=random.Random(7), **options)
        taken[name] = list(scans)
    too_many = {name: taken[name] for name in taken if len(taken[name]) > REQUESTS[name][0]}
    assert not too_many
    # A tree gets counts, and no values; the rows of a unit are chosen where they are.
    assert sum(taken["percentiles in bounds"][1:]) <= 30
    assert taken["groups of units"][-1] < sum(taken["groups"][1:]) / 2


@pytest.mark.usefixtures("shared_passes")
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("engine", LAZY)
def test_a_description_of_one_column(
    engine: str, scans: list[int], request: pytest.FixtureRequest
) -> None:
    dpq.describe(table_in(engine, request), ["x"], epsilon=1.0, rng=random.Random(7))
    assert len(scans) == 2
