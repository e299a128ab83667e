"""Quantiles by group: keys, sizes, frames and guarantees, as users meet them."""

import datetime as dt
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.privacy import ApproxDP, Neighbors, PureDP
from dpquantiles.sources import group_scans, groups

RNG = np.random.default_rng(1)
N = 3000
COUNTIES = ["Kent", "Essex", "Devon"]
CENTER = {"Kent": 30, "Essex": 50, "Devon": 70}
COUNTY = RNG.choice(COUNTIES, N).tolist()
COLUMNS: dict[str, Any] = {
    "county": [None, *COUNTY[1:]],
    "year": RNG.choice([2023, 2024], N).tolist(),
    "age": [int(CENTER[county] + RNG.integers(-5, 6)) for county in COUNTY],
    "person": RNG.integers(0, 900, N).tolist(),
}
FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "polars lazy": pl.LazyFrame,
}
KIND = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
each_frame = pytest.mark.parametrize("library", FRAMES)


def table(library: str = "polars") -> Any:
    return FRAMES[library](COLUMNS)


def ask(data: Any = None, q: Any = (0.5,), **options: Any) -> Any:
    """Quantiles of age by county, unless said otherwise."""
    stated = {"column": "age", "by": "county", "keys": COUNTIES, "epsilon": 1.0}
    data = table() if data is None else data
    return dpq.quantiles(data, q, **{**stated, "bounds": (0, 120), **options})


@each_frame
def test_every_key_is_answered_in_the_order_given(library: str) -> None:
    keys = ["Devon", "Nowhere", "Kent"]
    release = ask(table(library), (0.5, 0.25), keys=keys)
    assert list(release) == keys
    assert release.q == (0.5, 0.25)
    assert [len(values) for values in release.values] == [2, 2, 2]
    for key in ("Devon", "Kent"):
        assert abs(release[key].values[0] - CENTER[key]) <= 2
        assert all(type(value) is int for value in release[key].values)
    assert release.guarantee == PureDP(epsilon=1.0, within=("county",))


@each_frame
def test_frames_are_of_the_users_own_kind(library: str) -> None:
    release = ask(table(library), (0.25, 0.75))
    kind = KIND[library.split()[0]]
    long, wide = release.to_frame(), release.to_wide()
    assert isinstance(long, kind)
    assert isinstance(wide, kind)
    if kind is pl.DataFrame:
        assert long.columns == ["county", "q", "value", "size", "expected_error"]
        known = {"size": pl.Int64, "expected_error": pl.Float64}
        assert long.schema == {"county": pl.String, "q": pl.Float64, "value": pl.Int64} | known
        assert wide.columns == ["county", "q0.25", "q0.75"]
        assert wide.rows() == [(k, *v) for k, v in zip(COUNTIES, release.values, strict=True)]
    other = "pandas" if kind is pl.DataFrame else "polars"
    assert isinstance(release.to_frame(backend=other), KIND[other])


def test_several_key_columns() -> None:
    keys = [("Kent", 2024), ("Devon", 2023), ("Kent", 1066)]
    for given in (keys, pl.DataFrame(keys, schema=["county", "year"], orient="row")):
        release = ask(by=["county", "year"], keys=given)
        assert list(release) == keys
        assert release["Devon", 2023].value == pytest.approx(70, abs=3)
        assert release.guarantee is not None
        assert release.guarantee.within == ("county", "year")
    assert list(release.long()) == ["county", "year", "q", "value", "size", "expected_error"]


def test_keys_may_be_of_many_types() -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)] * 50
    data = pl.DataFrame({"day": days, "flag": [True] * 99 + [False], "x": range(100)})
    release = dpq.quantiles(
        data, "median", column="x", by=["day", "flag"], keys=[(days[1], True)], epsilon=1
    )
    assert dpq.GroupedRelease.from_json(release.to_json()) == release
    categories = pl.DataFrame(COLUMNS).with_columns(pl.col("county").cast(pl.Categorical))
    assert abs(ask(categories)["Kent"].value - 30) <= 2
    frame = pd.DataFrame(COLUMNS).astype({"county": "category"})
    assert abs(ask(frame, keys=np.array(COUNTIES))["Kent"].value - 30) <= 2


def test_a_group_has_the_law_that_it_has_by_itself() -> None:
    """Rows of other groups, listed or not, cannot matter."""
    alone = pl.DataFrame(COLUMNS).filter(pl.col("county") == "Kent")
    one = ask(alone, keys=["Kent"], rng=random.Random(4))
    assert ask(keys=["Kent"], rng=random.Random(4)).values == one.values


@each_frame
def test_seeds_repeat_on_every_library(library: str) -> None:
    reference = ask(keys=COUNTIES, q="deciles", rng=random.Random(9))
    found = ask(table(library), keys=COUNTIES, q="deciles", rng=random.Random(9))
    assert found.values == reference.values
    assert found.guarantee is None
    assert found.note


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_whole_keys_are_looked_up_as_a_join_finds_them(
    library: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the ends of their type, beside rows of other groups, and where a key is missing."""
    ends = np.iinfo(dtype)
    codes = np.array([ends.min, ends.min + 1, 3, 4, 5, ends.max - 1, ends.max], dtype=dtype)
    column = np.random.default_rng(1).choice(codes, 500)
    rows = pa.table({"g": pa.array(column, mask=np.arange(500) % 50 == 0), "x": range(500)})
    frames = {
        "pandas": rows.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(rows),
        "pyarrow": rows,
    }
    frame = frames[library]
    lowest, highest = int(ends.min), int(ends.max)
    for listed in ([5, 3, 4], [20, 3], [lowest, lowest + 1], [highest], [3, 2**40, 2**62]):
        asked: dict[str, Any] = {"column": "x", "by": "g", "keys": listed}
        seen = []
        for most, chunk in ((16, 64), (0, 1 << 16)):
            monkeypatch.setattr(groups, "DENSE", most)
            for module in (groups, group_scans):
                monkeypatch.setattr(module, "CHUNK", chunk)
            release = dpq.quantiles(frame, [0.5, 0.1], epsilon=9.0, rng=random.Random(2), **asked)
            seen.append((release.values, release.provenance["sizes"]))
        assert seen[0] == seen[1]
        known = column[np.arange(500) % 50 != 0]
        assert seen[0][1] == [int((known == key).sum()) for key in listed]


@each_frame
def test_whole_keys_that_are_private_and_not_found(library: str) -> None:
    """Data never decide between a release and an error, although no key can be looked up."""
    frame = FRAMES[library]({"g": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
    asked: dict[str, Any] = {"keys": "private", "delta": 1e-9, "neighbors": "add-remove"}
    release = dpq.median(frame, column="x", by="g", epsilon=0.1, rng=random.Random(1), **asked)
    assert len(release) == 0
    assert release.provenance["sizes"] == []


def test_json_and_words() -> None:
    release = ask((None), (0.5, 0.1))
    again = dpq.GroupedRelease.from_json(release.to_json())
    assert again == release
    assert json.loads(release.to_json())["groups"][0]["key"] == ["Kent"]
    title, _, *table = str(release).splitlines()
    assert title == "Quantiles of age by county"
    assert " ".join(table).split()[:4] == ["county", "0.5", "0.1", "Kent"]
    assert "<table" in release._repr_html_()
    assert isinstance(again.to_frame(backend="pyarrow"), pa.Table)
    with pytest.raises(KeyError):
        release["Nowhere"]


def test_other_mechanisms_run_by_group() -> None:
    for name in ("ind_exp", "agg_tree", "approx_quantiles", "recursive_joint_exp"):
        for neighbors in ("swap", "add-remove"):
            release = ask(q=(0.25, 0.5), mechanism=name, neighbors=neighbors, epsilon=4.0)
            assert release.mechanism == name
            assert abs(release["Kent"].values[1] - 30) <= 6


def test_budgets_of_other_kinds() -> None:
    assert ask(rho=0.5, epsilon=None).guarantee.kind == "concentrated"
    stated = ask(neighbors="add-remove", delta=1e-6).guarantee
    assert stated == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)


def test_sizes_are_public_given_or_bought() -> None:
    true = [COLUMNS["county"].count(county) for county in COUNTIES]
    assert ask().provenance["sizes"] == true
    bought = ask(neighbors="add-remove", epsilon=20.0)
    assert bought.provenance["size_share"] == 0.2
    assert np.abs(np.subtract(bought.provenance["sizes"], true)).max() < 20
    given = ask(neighbors="add-remove", size=1000)
    assert given.provenance["sizes"] == [1000] * 3
    assert "size_share" not in given.provenance
    each = ask(neighbors="add-remove", size={"Kent": 900, "Devon": 1100, "Essex": 1000})
    assert each.provenance["sizes"] == [900, 1000, 1100]
    assert each.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)


@each_frame
def test_private_keys(library: str) -> None:
    release = ask(table(library), keys="private", neighbors="add-remove", delta=1e-6)
    assert list(release) == sorted(COUNTIES)
    assert abs(release["Kent"].value - 30) <= 2
    assert release.guarantee == ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    assert release.provenance["keys_threshold"] > 20


def test_small_groups_are_not_found() -> None:
    data = pl.DataFrame({"county": ["Kent"] * 5 + ["Essex"] * 500, "age": range(505)})
    release = ask(data, keys="private", neighbors="add-remove", delta=1e-6)
    assert list(release) == ["Essex"]
    empty = ask(data.clear(), keys="private", neighbors="add-remove", delta=1e-6)
    assert len(empty) == 0
    assert empty.to_frame().height == 0
    assert dpq.GroupedRelease.from_json(empty.to_json()) == empty


@each_frame
def test_units_by_group(library: str) -> None:
    release = ask(
        table(library), neighbors="add-remove", unit="person", max_rows_per_unit=2, epsilon=4.0
    )
    assert release.guarantee == PureDP(epsilon=4.0, neighbors=Neighbors.ADD_REMOVE, unit="person")
    assert release.provenance["max_rows_per_unit"] == 2
    assert sum(release.provenance["sizes"]) < 1900
    assert abs(release["Essex"].value - 50) <= 3


@each_frame
def test_units_without_groups(library: str) -> None:
    swap = dpq.quantiles(
        table(library), "median", column="age", unit="person", epsilon=1.0, bounds=(0, 120)
    )
    assert swap.guarantee == PureDP(epsilon=1.0, unit="person")
    people = len(set(COLUMNS["person"]))
    assert swap.provenance["size"] == people
    both = dpq.quantiles(
        table(library),
        "median",
        column="age",
        unit="person",
        max_rows_per_unit=3,
        rho=0.9,
        neighbors="add-remove",
    )
    assert both.guarantee is not None
    assert both.guarantee.unit == "person"
    assert both.provenance["budget"]["rho"] == 0.9  # type: ignore[index]


@each_frame
def test_descriptions(library: str) -> None:
    found = dpq.describe(
        table(library), ["age", "year"], epsilon=8.0, bounds={"age": (0, 120)}, unit="person"
    )
    assert list(found) == ["age", "year"]
    assert found.guarantee == PureDP(epsilon=8.0, unit="person")
    assert found["age"].guarantee == PureDP(epsilon=4.0, unit="person")
    assert found["year"].values[0] in range(2020, 2026)
    frame = found.to_frame()
    assert isinstance(frame, KIND[library.split()[0]])
    assert list(found.columns()) == ["q", "age", "year"]
    assert dpq.Description.from_json(found.to_json()) == found
    assert "<table" in found._repr_html_()
    assert str(found).split()[:4] == ["q", "age", "year", "0.05"]


def test_data_never_raise() -> None:
    for values in ([None, float("nan"), float("inf")], [1e300, -1e300, 0.0], [None] * 3):
        data = pl.DataFrame({"g": ["a", None, "b"], "x": values, "u": [None, 1, 1]}, strict=False)
        data = data.with_columns(pl.col("x").cast(pl.Float64))
        for neighbors in ("swap", "add-remove"):
            release = dpq.quantiles(
                data, [0.5], column="x", by="g", keys=["a", "c"], epsilon=1, neighbors=neighbors
            )
            assert len(release.values) == 2
    units = dpq.quantiles(data, [0.5], column="x", unit="u", epsilon=1)
    assert len(units.values) == 1


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"keys": None}, ValueError, r"^keys must be given with by: .* keys='private'"),
    ({"keys": "privat"}, ValueError, r"^keys must be one of 'private', .* did you mean 'private'"),
    ({"keys": "private"}, ValueError, r"^keys='private' needs neighbors='add-remove'"),
    (
        {"keys": "private", "neighbors": "add-remove"},
        ValueError,
        r"^keys='private' needs epsilon and delta",
    ),
    (
        {"keys": "private", "neighbors": "add-remove", "delta": 1e-6, "size": 5},
        ValueError,
        r"^size must be left out with keys='private'",
    ),
    ({"keys": []}, ValueError, r"^keys must name at least one group, got none$"),
    ({"keys": ["Kent", "Kent"]}, ValueError, r"^keys must name each group once, got 'Kent' more"),
    ({"keys": [1]}, TypeError, r"^keys must be of type str like the column 'county', got 1 of"),
    ({"keys": ["Kent", None]}, ValueError, r"^keys must not be missing, got None for 'county'$"),
    ({"keys": 7}, TypeError, r"^keys must be a list of keys, a table or 'private', got 7"),
    ({"by": "year", "keys": ["2023"]}, TypeError, r"^keys must be of type int like .* 'year'"),
    ({"by": "year", "keys": [True]}, TypeError, r"^keys must be of type int like .* 'year'"),
    ({"by": ["county", "year"]}, TypeError, r"^keys must be tuples of 2 values, for county, year"),
    ({"by": "conty"}, ValueError, r"^by must name a column .* did you mean 'county'\?"),
    ({"by": []}, ValueError, r"^by must name at least one column"),
    ({"by": ["county", "county"]}, ValueError, r"^by must name each column once"),
    ({"column": None}, TypeError, r"^column must be given with by"),
    ({"column": "agee"}, ValueError, r"^column must name a column .* did you mean 'age'\?"),
    ({"column": "county"}, TypeError, r"^column 'county': data must be numbers"),
    ({"unit": "persn", "neighbors": "add-remove"}, ValueError, r"^unit must name .* 'person'\?"),
    ({"unit": "person"}, ValueError, r"^unit='person' with by needs neighbors='add-remove'"),
    ({"max_rows_per_unit": 2}, ValueError, r"^max_rows_per_unit needs unit"),
    ({"size": 5}, ValueError, r"^size must be left out under swap neighbors"),
    (
        {"size": {"Kent": 5}, "neighbors": "add-remove"},
        ValueError,
        r"^size must give a number for every key, got none for 'Essex'$",
    ),
    ({"min_size": 0}, ValueError, r"^min_size must be at least 1, got 0$"),
    ({"by": None, "keys": None, "min_size": 5}, ValueError, r"^min_size needs by"),
    (
        {"neighbors": "add-remove", "mechanism": "agg_tree", "min_size": 5},
        ValueError,
        r"^min_size needs the sizes of groups, which agg_tree does not buy; state them with size",
    ),
    (
        {
            **{"neighbors": "add-remove", "unit": "person", "max_rows_per_unit": 2},
            "intervals": "population",
        },
        ValueError,
        r"^intervals of the population need max_rows_per_unit=1, got 2",
    ),
    ({"size": -1, "neighbors": "add-remove"}, ValueError, r"^size must be at least 0, got -1$"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_parameters_are_checked(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(**options)


def test_more_parameters_are_checked() -> None:
    reals = pl.DataFrame({"x": [0.5], "q": ["a"]})
    with pytest.raises(TypeError, match=r"^by must name columns of text, whole .* 'x' of type Fl"):
        dpq.quantiles(reals, 0.5, column="x", by="x", keys=[0.5], epsilon=1)
    with pytest.raises(ValueError, match=r"^by must name no column 'q', which the result has"):
        dpq.quantiles(reals, 0.5, column="x", by="q", keys=["a"], epsilon=1)
    with pytest.raises(ValueError, match=r"^keys needs by"):
        dpq.quantiles(reals, 0.5, column="x", keys=["a"], epsilon=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^column must be given with unit"):
        dpq.quantiles(reals, 0.5, unit="q", epsilon=1)
    with pytest.raises(ValueError, match=r"^columns must be a list that names each column once"):
        dpq.describe(table(), "age", epsilon=1)
    with pytest.raises(ValueError, match=r"^columns must be a list that names each column once"):
        dpq.describe(table(), [], epsilon=1)
    with pytest.raises(ValueError, match=r"^bounds must be one of 'age', got 'agee'; did you mean"):
        dpq.describe(table(), ["age"], epsilon=1, bounds={"agee": (0, 1)})


def test_thousands_of_groups() -> None:
    groups = 2000
    county = np.tile(np.arange(groups), 30)
    data = pl.DataFrame({"county": county, "age": county % 100})
    release = dpq.quantiles(
        data, (0.5,), column="age", by="county", keys=range(groups), epsilon=5.0, bounds=(0, 120)
    )
    assert np.abs(np.array(release.values)[:, 0] - np.arange(groups) % 100).max() <= 60
    assert np.median(np.abs(np.array(release.values)[:, 0] - np.arange(groups) % 100)) == 0


def test_lazy_tables_are_read_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows at a time, and a group that is larger than that by scans: the answers stay good."""
    from dpquantiles.sources import group_scans
    from dpquantiles.views import array

    monkeypatch.setattr(group_scans, "MOST_ROWS", 1100)
    monkeypatch.setattr(array, "PORTION", 1100)
    data = pl.concat([pl.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).filter(pl.col("age") > 60)])
    for neighbors in ("swap", "add-remove"):
        release = ask(data.lazy(), keys=["Devon", *COUNTIES[:2], "No"], neighbors=neighbors)
        for county in COUNTIES:
            assert abs(release[county].value - CENTER[county]) <= 3
        assert len(release["No"].values) == 1
    assert ask(data.lazy()).provenance["sizes"] == ask(data).provenance["sizes"]


@pytest.mark.parametrize("last", [5, 6, 11])
def test_a_record_does_not_decide_which_groups_choose_the_grid(
    last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of records decides how groups are read, and is protected."""
    from dpquantiles.mechanisms import joint_exp_groups

    seen: list[Any] = []

    def spy(mechanism: Any, records: Any, sizes: Any, bits: Any) -> int:
        views = records.views(joint_exp_groups.evidence(len(records)))
        seen.append((mechanism.q, sizes.tolist(), [view.n for view in views]))
        return original(mechanism, records, sizes, bits)

    original = joint_exp_groups.draw_member
    monkeypatch.setattr(joint_exp_groups, "draw_member", spy)
    monkeypatch.setattr(group_scans, "MOST_ROWS", 10)
    data = pl.LazyFrame({"g": ["a"] * 5 + ["b"] * last, "v": [1] * 5 + [10**9] * last})
    options: dict[str, Any] = {"column": "v", "by": "g", "keys": ["a", "b"], "epsilon": 1}
    made: Any = dpq.median(data, **options, neighbors="add-remove", size=5, rng=random.Random(1))
    assert seen == [((0.5,), [5, 5], [5, last])]
    assert made.provenance["grid"]["member"]["index"] == 1654


@pytest.mark.parametrize("name", ["fitted", "joint_exp", "ind_exp"])
def test_large_groups_one_after_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group is scanned where it is, on the grid of the column's type."""
    monkeypatch.setattr(group_scans, "MOST_ROWS", 10)
    data = pl.LazyFrame({"g": ["a", "b", "c"] * 100, "v": np.arange(300)})
    options: dict[str, Any] = {"column": "v", "by": "g", "keys": ["a", "b", "c"], "epsilon": 1}
    made: Any = dpq.median(data, **options, mechanism=name, rng=random.Random(1))  # type: ignore[call-overload]
    assert len(made) == len(made.values) == 3
    assert ("member" in made.provenance["grid"]) == (name == "joint_exp")


def test_a_csv_column_is_not_grouped_by_itself(tmp_path: Path) -> None:
    """Its keys would be text, and its values numbers, so that no key would ever match."""
    (tmp_path / "a.csv").write_text("v\n1.5\n2.5\n")
    with pytest.raises(ValueError, match="by must not name the column to summarize"):
        dpq.median(tmp_path / "a.csv", column="v", by="v", keys=["1.5"], epsilon=1)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_groups_have_intervals(neighbors: str) -> None:
    """They hold the true quantiles, whatever the group is like, and survive being saved."""
    made = ask(neighbors=neighbors, intervals=0.9, epsilon=20, rng=random.Random(4))
    frame = made.to_frame("polars")
    assert frame.columns[-4:] == ["lower", "upper", "size", "expected_error"]
    assert len(frame.drop_nulls()) == len(frame)
    assert (frame["lower"] <= frame["value"]).all()
    assert (frame["value"] <= frame["upper"]).all()
    for key, release in made.items():
        rows = frame.filter(pl.col("county") == key)
        assert [one.lower for one in release.interval()] == rows["lower"].to_list()
        assert release.interval(0.99)[0].lower <= release.interval()[0].lower
    again = dpq.GroupedRelease.from_json(made.to_json())
    assert again == made
    assert made.provenance["rank_share"] == pytest.approx(1 / 3)


def test_units_have_intervals_of_the_rows_that_count() -> None:
    people = pl.DataFrame({"x": np.arange(4000) % 100, "who": np.arange(4000) // 2})
    asked: dict[str, Any] = {"column": "x", "unit": "who", "epsilon": 10, "bounds": (0, 100)}
    for neighbors, rows in (("swap", 1), ("add-remove", 2)):
        options: dict[str, Any] = {
            "neighbors": neighbors,
            "max_rows_per_unit": rows,
            "intervals": True,
        }
        made = dpq.median(people, **asked, **options)
        ((low, high),) = made.interval()
        assert low <= made.value <= high
        assert high - low < 20
    with pytest.raises(ValueError, match=r"^intervals of the population need max_rows_per_unit=1"):
        made.interval(of="population")


def test_small_groups_are_hidden_by_their_sizes() -> None:
    sizes = dict(zip(ask(), ask().provenance["sizes"], strict=True))
    least = sorted(sizes.values())[1]
    made = ask(min_size=least)
    assert list(made) == [key for key, size in sizes.items() if size >= least]
    assert made.provenance["min_size"] == least
    assert made.provenance["hidden"] == len(sizes) - len(made)
    assert len(made.to_wide("polars")) == len(made)
    nobody = ask(min_size=10**6)
    assert len(nobody) == 0
    assert dpq.GroupedRelease.from_json(nobody.to_json()) == nobody


@pytest.mark.parametrize("name", ["joint_exp", "paper_joint_exp"])
def test_how_many_groups_are_shown_decides_no_field(name: str) -> None:
    """Keys that were found may be none; the fields of a release follow from public numbers."""
    told = []
    for rows in (1, 400):
        data = pl.DataFrame({"g": ["a"] * rows, "v": [5.0] * rows})
        options: dict[str, Any] = {"column": "v", "by": "g", "keys": "private", "delta": 1e-9}
        options |= {"neighbors": "add-remove", "epsilon": 1, "bounds": (0.0, 9.0)}
        made: Any = dpq.median(data, **options, mechanism=name, rng=random.Random(2))  # type: ignore[call-overload]
        assert len(made) == (rows > 1)
        told.append(made.provenance.keys())
    assert told[0] == told[1]


def test_small_groups_look_less_trustworthy() -> None:
    table = pl.DataFrame({"x": np.arange(1010) % 100, "g": ["large"] * 1000 + ["small"] * 10})
    made = dpq.median(table, column="x", by="g", keys=["large", "small"], epsilon=1)
    large, small = made.to_frame("polars")["expected_error"]
    assert large < 0.05 < small <= 1


def test_bought_sizes_give_no_warning() -> None:
    """A warning counts groups and names sizes, so it speaks of public sizes alone."""
    table = pl.DataFrame({"x": [1, 2, 3], "g": ["a", "a", "b"]})
    options: dict[str, Any] = {"column": "x", "by": "g", "keys": ["a", "b"], "epsilon": 1}
    assert "warnings" in dpq.median(table, **options).provenance
    assert "warnings" in dpq.median(table, **options, neighbors="add-remove", size=2).provenance
    for seed in range(5):
        made = dpq.median(table, **options, neighbors="add-remove", rng=random.Random(seed))
        assert "warnings" not in made.provenance
