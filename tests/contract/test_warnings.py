"""Warnings are the same sentence on every path: they follow public numbers, not the source."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.cli import main

ROWS = 30
TABLE = {"x": list(range(ROWS)), "g": ["a"] * ROWS, "u": list(range(ROWS))}
SOURCES = ("pandas", "polars", "lazy", "pyarrow", "duckdb", "parquet", "csv")
COLUMN: dict[str, Any] = {"column": "x", "epsilon": 1}


def source(name: str, folder: Path) -> Any:
    frame = pl.DataFrame(TABLE)
    frame.write_parquet(folder / "table.parquet")
    frame.write_csv(folder / "table.csv")
    makers: dict[str, Callable[[], Any]] = {
        "parquet": lambda: str(folder / "table.parquet"),
        "csv": lambda: str(folder / "table.csv"),
        "pandas": lambda: pd.DataFrame(TABLE),
        "polars": lambda: frame,
        "lazy": lambda: frame.lazy(),
        "pyarrow": lambda: pa.table(TABLE),
        "duckdb": lambda: duckdb.from_arrow(pa.table(TABLE)),
    }
    return makers[name]()


@pytest.mark.parametrize("name", SOURCES)
def test_every_path_warns_alike(name: str, tmp_path: Path) -> None:
    data = source(name, tmp_path)
    expected = dpq.deciles(np.arange(ROWS), epsilon=1).provenance["warnings"]
    assert dpq.deciles(data, **COLUMN).provenance["warnings"] == expected
    assert dpq.deciles(data, unit="u", **COLUMN).provenance["warnings"] == expected
    described = dpq.describe(data, ["x"], q="deciles", epsilon=1)
    assert described["x"].provenance["warnings"] == expected
    sized = dpq.deciles(data, neighbors="add-remove", size=ROWS, **COLUMN)
    assert "of 30 records" in str(sized.provenance["warnings"])
    assert "warnings" not in dpq.deciles(data, neighbors="add-remove", **COLUMN).provenance
    groups = dpq.deciles(data, by="g", keys=["a", "b"], **COLUMN)
    assert "2 of 2 groups have so few records" in str(groups.provenance["warnings"])


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_the_command_line_warns_as_well(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected: Any = dpq.deciles(np.arange(ROWS), epsilon=1).provenance["warnings"]
    command = ["release", source(name, tmp_path), "-c", "x", "-q", "deciles", "-e", "1"]
    assert main([*command, "--format", "csv"]) == 0
    assert f"warning: {expected[0]}" in capsys.readouterr().err
    assert main([*command, "--format", "text"]) == 0
    shown = capsys.readouterr()
    assert expected[0] in " ".join(shown.out.split())
    assert "warning" not in shown.err


def test_extremes_have_a_warning_of_their_own() -> None:
    release: Any = dpq.quantiles(np.arange(10_000), [0, 0.5, 1], epsilon=5)
    first, *others = release.provenance["warnings"]
    assert first.startswith("The quantiles 0 and 1 are single records")
    assert not any("may lie outside" in other for other in others)
    for q in (0, 1):
        alone: Any = dpq.quantiles(np.arange(9), q, epsilon=9)
        assert alone.provenance["warnings"][0] == first


def test_a_warning_of_the_tails_names_the_least_room_and_the_largest_error() -> None:
    data, q = np.arange(10_000), [0.0005, 0.5, 0.9998]
    asked: Any = {"epsilon": 0.5, "bounds": (0, 9_999), "mechanism": "joint_exp"}
    release: Any = dpq.quantiles(data, q, **asked)
    expected = release.provenance["expected"]
    bounds = expected["rank_errors_95"]
    assert expected["rank_errors"][1] < bounds[1]
    assert bounds[0] >= 5
    assert bounds[2] >= 2
    assert bounds[0] != bounds[2]
    assert release.provenance["warnings"][0] == (
        "The answers for 0.0005, 0.9998 may lie outside the data: only 2 of 10,000 records lie "
        f"beyond, and answers may be off by up to {max(bounds[0], bounds[2]):g} records."
    )
