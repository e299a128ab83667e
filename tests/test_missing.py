"""Missing values through the whole of a call: sources, groups, units, descriptions and words."""

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.present import releases

SENTENCE = "Missing values are left out; how many there are stays protected."


def half_missing(n: int = 2000) -> np.ndarray[Any, Any]:
    """The values 0 .. n-1, in any order, and as many that are missing."""
    values = np.concatenate([np.arange(float(n)), np.full(n, math.nan)])
    return np.random.default_rng(1).permutation(values)


def seeded(data: Any, q: Any, **options: Any) -> Any:
    if not {"epsilon", "rho"} & options.keys():
        options["epsilon"] = 4.0
    return dpq.quantiles(data, q, rng=random.Random(5), **options)


@pytest.mark.parametrize("name", MECHANISMS)
def test_quantiles_are_those_of_the_values_that_are_there(name: Any) -> None:
    profile = MECHANISMS[name].profile
    options: dict[str, Any] = {"rho": 3.0} if profile.kinds == ("concentrated",) else {}
    options |= {"delta": 1e-6, "epsilon": 4.0} if profile.kinds == ("approximate",) else {}
    data = half_missing()
    for missing in (None, "drop"):
        release = seeded(
            data, [0.25, 0.75], mechanism=name, bounds=(0, 1999), missing=missing, **options
        )
        assert np.abs(np.asarray(release) - [500, 1500]).max() < 120
        assert release.provenance["missing"] == "drop"
        assert release.provenance.get("size", 4000) == 4000
    if name == "paper_joint_exp":  # which is bad on ties
        return
    high = seeded(data, [0.25, 0.75], mechanism=name, bounds=(0, 1999), missing="upper", **options)
    assert abs(high.values[0] - 1000) < 120


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("there", [0, 1, 7])
def test_nearly_all_records_may_be_missing(name: Any, there: int) -> None:
    profile = MECHANISMS[name].profile
    options: dict[str, Any] = {"rho": 1.0} if profile.kinds == ("concentrated",) else {}
    options |= {"delta": 1e-6, "epsilon": 4.0} if profile.kinds == ("approximate",) else {}
    data = [5.0] * there + [math.nan] * (3000 - there)
    for intervals in (None, 0.9):
        if name == "slice_quantiles" and intervals:
            continue  # refused by public numbers
        release = seeded(
            data, [0.2, 0.9], mechanism=name, bounds=(0, 9), intervals=intervals, **options
        )
        assert all(0 <= value <= 9 for value in release)


TABLE = {
    "x": [None if k % 3 == 0 else k / 10 for k in range(1500)],
    "y": list(range(1500)),
    "g": [("a", "b")[k % 2] for k in range(1500)],
    "who": [f"p{k // 3}" for k in range(1500)],
}
"""A third of x is missing. Every person has one such row."""

FRAMES = {
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "lazy": pl.DataFrame(TABLE).lazy(),
}
each_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@each_frame
def test_groups_are_as_large_as_their_rows(frame: Any) -> None:
    options: dict[str, Any] = {"column": "x", "by": "g", "keys": ["a", "b", "c"]}
    for mechanism in ("joint_exp", "agg_tree", "recursive_joint_exp"):
        release = seeded(frame, 0.5, bounds=(0, 150), mechanism=mechanism, **options)
        assert release.provenance["sizes"] == [750, 750, 0]
        assert release.provenance["missing"] == "drop"
        assert abs(release["a"].value - 75) < 8
    high = seeded(frame, 0.5, bounds=(0, 150), missing="upper", **options)
    assert high["b"].value > 100
    assert high.provenance["missing"] == "upper"


@each_frame
def test_a_unit_without_any_value_counts(frame: Any) -> None:
    options: dict[str, Any] = {"column": "x", "unit": "who", "bounds": (0, 150)}
    release = seeded(frame, 0.5, **options)
    assert release.provenance["size"] == 500
    assert abs(release.value - 75) < 8
    alone = pl.DataFrame({**TABLE, "x": [None if k < 750 else k / 10 for k in range(1500)]})
    half = seeded(alone, 0.5, **options)
    assert half.provenance["size"] == 500
    assert abs(half.value - 112) < 8


@each_frame
def test_columns_of_a_description_miss_their_own_values(frame: Any) -> None:
    made = dpq.describe(frame, ["x", "y"], epsilon=8.0, rng=random.Random(1))
    assert {made["x"].provenance["size"], made["y"].provenance["size"]} == {1500}
    assert releases.text(made, 200).count(SENTENCE) == 1


def test_whether_any_is_missing_is_not_shown() -> None:
    """Everything but the answers is the same."""
    found = []
    for gone in (0, 1, 999):
        data = np.where(np.arange(1000) < gone, math.nan, 3.0)
        for options in ({}, {"mechanism": "agg_tree"}, {"intervals": True}):
            release = seeded(data, [0.1, 0.5], bounds=(0, 9), resolution=1, **options)
            answers = ("values", "lower", "upper", "ranks")
            shown = {k: None if k in answers else v for k, v in release.to_dict().items()}
            found.append((str(sorted(options)), str(shown)))
            assert SENTENCE in " ".join(releases.text(release).split())
            assert SENTENCE in release._repr_html_()
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("options", "provenance", "sentence"),
    [
        ({}, "drop", SENTENCE),
        ({"neighbors": "add-remove"}, "drop", SENTENCE),
        ({"missing": "lower"}, "lower", "Missing values count as the lowest value."),
        ({"missing": "upper"}, "upper", "Missing values count as the highest value."),
        ({"missing": 4}, 4, "Missing values count as 4."),
        ({"missing": 400}, 9, "Missing values count as 9."),
    ],
)
def test_policies_are_stated(options: dict[str, Any], provenance: Any, sentence: str) -> None:
    release = seeded([1, 2, None, 4] * 50, 0.5, bounds=(0, 9), **options)
    assert release.provenance["missing"] == provenance
    assert sentence in " ".join(releases.text(release).split())
    again = dpq.Release.from_json(release.to_json())
    assert again == release


def test_a_release_of_earlier_versions_says_nothing_about_it() -> None:
    plain = seeded([1, 2, 3], 0.5).to_dict()
    del plain["provenance"]["missing"]
    assert "Missing" not in releases.text(dpq.Release.from_dict(plain))
