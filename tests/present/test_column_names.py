"""The name of the column stands wherever people look, and data without a name show none."""

import json
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.present import pictures, releases, report
from dpquantiles.results import GroupedRelease, Release
from tests.present.releases import release

FRAME = pl.DataFrame({"weekly pay": range(400), "county": ["Kent", "Essex"] * 200})
SEEDED: dict[str, Any] = {"epsilon": 1.0, "rng": random.Random(1)}


def one() -> Release:
    made = dpq.quartiles(FRAME, column="weekly pay", **SEEDED)
    assert isinstance(made, Release)
    return made


def grouped() -> GroupedRelease:
    groups: Any = {"by": "county", "keys": ["Kent", "Essex"]}
    made = dpq.quartiles(FRAME, column="weekly pay", **groups, **SEEDED)
    assert isinstance(made, GroupedRelease)
    return made


@pytest.mark.parametrize("make", [one, grouped])
@pytest.mark.parametrize(
    "show", [releases.text, releases.html, releases.markdown, pictures.svg, report.page, repr]
)
def test_every_form_names_the_column(make: Any, show: Any) -> None:
    assert "weekly pay" in show(make())


@pytest.mark.parametrize("make", [one, grouped])
def test_matplotlib_names_the_axis(make: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert make().plot().get_xlabel().splitlines()[0] == "weekly pay"


def test_json_carries_the_name_and_does_without_it() -> None:
    plain = one().to_dict()
    assert Release.from_dict(plain).column == "weekly pay"
    older = json.loads(json.dumps(plain))
    del older["provenance"]["column"]
    assert Release.from_dict(older).column is None
    assert "weekly pay" not in releases.text(Release.from_dict(older))


def test_a_description_names_each_column() -> None:
    described = dpq.describe(FRAME, ["weekly pay"], **SEEDED)
    assert described["weekly pay"].column == "weekly pay"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (np.arange(50), None),
        (list(range(50)), None),
        (pd.Series(range(50), name="age"), "age"),
        (pd.Series(range(50)), None),
        (pd.Series(range(50), name=7), None),
        (pl.Series("age", range(50)), "age"),
        (pl.Series(range(50)), None),
    ],
    ids=["array", "list", "pandas", "pandas unnamed", "pandas number", "polars", "polars unnamed"],
)
def test_a_series_has_its_own_name_and_other_columns_have_none(data: Any, name: str | None) -> None:
    made = dpq.median(data, **SEEDED)
    assert made.column == name
    assert ("column" in made.provenance) == (name is not None)
    assert releases.text(made).split()[:2] == ["q", name or "value"]


@pytest.mark.parametrize("name", ["q", "lower", "x" * 200, "two\nlines", "<b>&|"])
def test_odd_names_leave_tables_whole(name: str) -> None:
    shown = release([1, 2, 3], provenance={"column": name})
    table = releases.columns(shown)
    assert list(map(len, table.values())) == [3, 3]
    assert max(map(len, releases.text(shown).splitlines())) <= 80
    assert len(releases.markdown(shown).split("\n\n")[0].splitlines()) == 5
    assert "<b>" not in report.page(shown) + pictures.svg(shown) + releases.html(shown)
