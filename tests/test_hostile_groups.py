"""Groups and units of tables that were made to break them: types, names, nulls and objects."""

import datetime as dt
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.privacy import PureDP
from dpquantiles.sources import group_scans, units
from dpquantiles.sources.groups import GroupedRows
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.sources.source import open_data
from dpquantiles.sources.tables import open_table


def duckdb_table(columns: Any) -> Any:
    return pytest.importorskip("duckdb").from_arrow(columns)


NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
FROM_ARROW: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=NULLABLE.get),
    "pandas of arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.DataFrame(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": duckdb_table,
}
each_library = pytest.mark.parametrize("library", FROM_ARROW)
LAZY = ("polars lazy", "duckdb")


def ask(data: Any, q: Any = 0.5, **options: Any) -> Any:
    stated = {"column": "v", "by": "g", "keys": ["a"], "epsilon": 50.0, "bounds": (0, 100)}
    return dpq.quantiles(data, q, **{**stated, **options})


@each_library
@pytest.mark.parametrize("dtype", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
def test_keys_beyond_a_columns_numbers_are_empty_groups(library: str, dtype: Any) -> None:
    """300 wraps to 44 in 8 bits: a record of group 44 must not answer twice."""
    table = pa.table({"g": pa.array([44] * 50 + [1] * 50, dtype), "v": np.arange(100.0)})
    release = ask(FROM_ARROW[library](table), keys=[44, 300, 1])
    assert release.provenance["sizes"] == [50, 0, 50]
    assert release[44].value == pytest.approx(25, abs=5)
    assert release[1].value == pytest.approx(75, abs=5)


@each_library
def test_unsigned_keys_are_told_apart_to_the_last_bit(library: str) -> None:
    last = 2**64 - 1
    table = pa.table({"g": pa.array([last] * 60 + [last - 1] * 40, pa.uint64()), "v": range(100)})
    data = FROM_ARROW[library](table)
    assert ask(data, keys=[last - 1, last, 7]).provenance["sizes"] == [40, 60, 0]
    found = ask(data, keys="private", neighbors="add-remove", delta=1e-6)
    assert list(found) == [last - 1, last]


def test_keys_that_no_computer_word_holds_are_refused() -> None:
    signed = pl.DataFrame({"g": [1], "v": [0.0]})
    for key in (2**63, -(2**63) - 1, 2**64 + 44):
        with pytest.raises(ValueError, match=r"^keys must be whole numbers from -9223372036854775"):
            ask(signed, keys=[key])
    for key in (-1, 2**64):
        with pytest.raises(ValueError, match=r"^keys must be whole numbers from 0 to 18446744073"):
            ask(signed.cast({"g": pl.UInt64}), keys=[key])
    with pytest.raises(TypeError, match=r"^by must name columns of text, whole numbers \(of up"):
        ask(signed.cast({"g": pl.Int128}), keys=[1])
    with pytest.raises(ValueError, match=r"^keys must be text that UTF-8 can write"):
        ask(signed.cast({"g": pl.String}), keys=["\ud800"])


def test_a_row_is_in_one_group_whatever_a_library_takes_for_equal() -> None:
    table = open_table(pl.DataFrame({"dpq_key_0": ["a", "b"], "dpq_value": [1.0, 2.0]}))
    rows = GroupedRows(table, ("dpq_key_0",), open_data(table, "dpq_value").source("dpq_value"))
    codes, typed = rows._coded(table.frame, [("a",), ("a",), ("b",)])
    assert len(codes) == len(typed.values) == 2


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, None]])
@pytest.mark.parametrize("lazy", [False, True])
def test_what_stands_in_for_missing_values_is_checked_whatever_is_missing(
    values: list[Any], lazy: bool
) -> None:
    data = pl.DataFrame({"g": ["a", "a"], "v": values}, schema_overrides={"v": pl.Float64})
    with pytest.raises(TypeError, match=r"^missing must be"):
        ask(data.lazy() if lazy else data, missing=dt.date(2020, 1, 1))


UNNAMED = {
    "Binary": pa.array([b"z", b"\xff\xfe"]),
    "List": pa.array([[1], [2]]),
    "Duration": pa.array([dt.timedelta(1), dt.timedelta(2)]),
}


@pytest.mark.parametrize("library", ["polars", "polars lazy", "pyarrow", "pandas of arrow"])
@pytest.mark.parametrize("name", UNNAMED)
def test_columns_that_name_no_units_are_refused_by_their_type(
    library: str, name: str, tmp_path: Path
) -> None:
    """Before a ledger is charged, and without a word of the records."""
    table = pa.table({"u": UNNAMED[name], "g": ["a", "b"], "v": [1.0, 2.0]})
    data = FROM_ARROW[library](table)
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    charge = {"epsilon": 1.0, "ledger": ledger, "dataset": "people"}
    before = len(ledger)
    with pytest.raises(TypeError, match=rf"^unit must name a column of text.* 'u' of type {name}"):
        ask(data, unit="u", neighbors="add-remove", **charge)
    assert len(ledger) == before


NAMED: list[list[Any]] = [
    ["None", "", None, None, "nan"],
    [True, False, None, None, True],
    [dt.date(2020, 1, 1), dt.date(2020, 1, 2), None, None, dt.date(2020, 1, 1)],
    [dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 2), None, None, dt.datetime(2020, 1, 1, 3)],
    [dt.time(3), dt.time(4), None, None, dt.time(3)],
    [1.5, 2.5, None, None, 1.5],
    [7, 8, None, None, 7],
]


def kept(data: Any, columns: tuple[str, ...] = ("v",)) -> list[Any]:
    table = units.bound_rows(open_table(data), "u", 1, columns, random.Random(1))
    frame = table.frame.collect() if table.lazy else table.frame
    assert tuple(frame.columns) == columns
    return sorted(frame.rows())


@each_library
@pytest.mark.parametrize("names", NAMED)
def test_units_of_many_types(library: str, names: list[Any]) -> None:
    found = kept(FROM_ARROW[library](pa.table({"u": names, "v": range(5)})))
    assert [names[v] for (v,) in found].count(None) == 1
    assert {names[v] for (v,) in found} == set(names)
    assert len(found) == len(set(names))


def test_objects_are_units_as_python_compares_them() -> None:
    names = [1, "1", 1, "1", None, float("nan"), [1], [1], b"\xff", "\ud800", "\ud800", "\udfff"]
    found = kept(pd.DataFrame({"u": pd.Series(names, dtype=object), "v": range(len(names))}))
    classes = [{0, 2}, {1, 3}, {4, 5}, {6, 7}, {8}, {9, 10}, {11}]
    assert [len(same & {v for (v,) in found}) for same in classes] == [1] * len(classes)
    mixed = pd.Series([1, "1", 1, "1"], dtype=object).astype("category")
    assert len(kept(pd.DataFrame({"u": mixed, "v": range(4)}))) == 2


def secret(*_: object) -> Any:
    raise ValueError("secret")


HOSTILE = [
    type("NoHash", (), {"__hash__": secret}),
    type("NoComparison", (), {"__hash__": lambda _: hash(1), "__eq__": secret}),
    type("NoWords", (), {"__hash__": None, "__repr__": secret}),
    type("NoText", (), {"__str__": secret}),
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_objects_that_raise_name_nothing_and_raise_nothing(hostile: Any) -> None:
    """They are rows without a name, and change nothing for the names of others."""
    names = np.array([hostile(), 1, hostile(), 1.0, "1", None], dtype=object)
    codes = units._object_codes(names.tolist(), pd.isna(names))
    others = units._object_codes([1, 1.0, "1"], np.zeros(3, dtype=bool))
    assert codes[1] == codes[3] != codes[4]
    assert others[0] == others[1] != others[2]
    assert {codes[0], codes[2]}.isdisjoint(codes[[1, 3, 4]].tolist())
    assert codes[5] == -1
    table = pd.DataFrame({"u": names, "g": names, "v": range(6)})
    assert len(dpq.median(table, column="v", unit="u", epsilon=1.0, bounds=(0, 9))) == 1
    release = ask(table, keys=["1", "None"])
    assert release.provenance["sizes"] == [2, 0]
    private = {"keys": "private", "neighbors": "add-remove", "epsilon": 1.0, "delta": 1e-6}
    assert len(ask(table, **private)) == 0


@pytest.mark.parametrize("library", LAZY)
@pytest.mark.parametrize("name", ["dpq_u", "dpq_order", "dpq_absent", "dpq_column_0", "dpq_row"])
def test_columns_may_have_the_names_that_are_used_inside(library: str, name: str) -> None:
    table = pa.table({"u": ["x", "x", "y"], name: [5, 5, 7], "dpq_column_1": [1, 1, 2]})
    data = FROM_ARROW[library](table)
    assert kept(data, (name, "dpq_column_1")) == [(5, 1), (7, 2)]
    same = FROM_ARROW[library](table.rename_columns([name, "v", "dpq_column_1"]))
    found = dpq.quantiles(same, 0.5, column="v", unit=name, epsilon=50, bounds=(0, 100))
    assert found.provenance["size"] == 2


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize(
    "name", ["ind_exp", "recursive_joint_exp", "agg_tree", "joint_exp", "adaptive_tree", "fitted"]
)
def test_what_is_recorded_does_not_depend_on_how_a_group_is_read(
    name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One group, fetched or scanned where it is because it is large: a protected fact."""
    data = pl.LazyFrame({"g": ["a"] * 200, "v": np.arange(200) % 100})
    found = []
    for most in (1000, 100):
        monkeypatch.setattr(group_scans, "MOST_ROWS", most)
        found.append(ask(data, mechanism=name, neighbors=neighbors, rng=random.Random(3)))
    fetched, scanned = found
    assert fetched == scanned
    rough = name in ("adaptive_tree", "fitted")
    told = name != "agg_tree" and not rough
    assert ("sizes" in fetched.provenance) == (neighbors == "swap" or told)
    assert ("size_share" in fetched.provenance) == (neighbors == "add-remove" and (told or rough))
    share = 0.02 if rough else 0.2
    assert fetched.provenance.get("size_share", share) == share


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Int8", "bool"])
def test_keys_that_were_found_are_plain_values(dtype: str) -> None:
    flags = pd.array([True] * 50 + [False] * 50, "boolean").astype(dtype)
    data = pd.DataFrame({"g": flags, "v": np.arange(100.0)})
    release = ask(data, keys="private", neighbors="add-remove", delta=1e-6)
    assert [type(key) for key in release] == [bool if "bool" in dtype else int] * 2
    assert dpq.GroupedRelease.from_json(release.to_json()) == release


def test_keys_may_come_one_by_one() -> None:
    data = pl.DataFrame({"g": ["a", "b"], "v": [1.0, 2.0]})
    assert list(ask(data, keys=(key for key in "ab"))) == ["a", "b"]


def test_rows_without_a_key_are_in_no_group() -> None:
    cells = ["a", None, float("nan"), "None", "nan", 1, "1", "\ud800"]
    data = pd.DataFrame({"g": pd.Series(cells * 10, dtype=object), "v": np.arange(80.0)})
    sizes = ask(data[data.v > 7], keys=["None", "nan", "a", "1"]).provenance["sizes"]
    assert sizes == [9, 9, 9, 18]
    categories = pd.Series(["a", None, "None"] * 10, dtype="category")
    data = pd.DataFrame({"g": categories, "v": np.arange(30.0)})
    assert ask(data, keys=["None", "nan", "a"]).provenance["sizes"] == [10, 0, 10]


def test_no_column_of_a_result_hides_another() -> None:
    data = pl.DataFrame({"q": [1.0], "q_": [2.0], "q0.5": ["a"]})
    assert list(dpq.describe(data, ["q", "q_"], epsilon=1).columns()) == ["q__", "q", "q_"]
    near = (0.5, 0.5 + 1e-12, 0.25)
    release = ask(data, near, column="q", by="q0.5")
    assert list(release.wide()) == ["q0.5", "q0.5_", "q0.500000000001", "q0.25"]
    assert list(ask(data, (0.5, 1 / 3), column="q", by="q0.5").wide())[1:] == [
        "q0.5_",
        "q0.3333333333",
    ]


def test_slices_run_by_group_with_public_sizes() -> None:
    data = pl.DataFrame({"g": ["a"] * 500 + ["b"] * 300, "v": np.arange(800) % 100})
    for size in (400, {"a": 500, "b": 300}):
        release = ask(
            data, keys=["a", "b"], mechanism="slice_quantiles", neighbors="add-remove", size=size
        )
        assert release.mechanism == "slice_quantiles"
        assert release.provenance["sizes"] == ([400, 400] if size == 400 else [500, 300])
    assert release["b"].value == pytest.approx(50, abs=5)


@pytest.mark.parametrize("as_pandas", [False, True])
def test_dictionaries_may_hold_anything(as_pandas: bool) -> None:
    """A value twice, none at all, or another dictionary in every chunk."""
    index = pa.array([0, 1, 2, 3, None, 2, 3], pa.int32())
    column = pa.DictionaryArray.from_arrays(index, pa.array(["a", "a", "", None]))
    chunks = pa.chunked_array([column, pa.array(["", "b"]).dictionary_encode()])
    data = pa.table({"g": chunks, "u": chunks, "v": [1, 1, *[5] * 7]})
    table = data.to_pandas(types_mapper=pd.ArrowDtype) if as_pandas else data
    people = {"unit": "u", "max_rows_per_unit": 2, "neighbors": "add-remove", "size": 2}
    for options in ({}, people):
        release = ask(table, keys=["a", ""], epsilon=900.0, **options)
        assert release.values == ((1,), (5,))


@pytest.mark.parametrize(
    ("size", "message"),
    [(None, "as with private keys, choose another mechanism"), (400, "needs a list of keys")],
)
def test_slices_with_private_keys_are_refused_before_anything_is_charged(
    size: int | None, message: str, tmp_path: Path
) -> None:
    ledger = dpq.Ledger(tmp_path / "l.db", epsilon=9, delta=1e-3, neighbors="add-remove")
    data = pl.DataFrame({"g": ["a"] * 500, "v": np.arange(500) % 100})
    budget = {"delta": 1e-6, "neighbors": "add-remove", "size": size}
    with pytest.raises(ValueError, match=message):
        ask(
            data,
            keys="private",
            mechanism="slice_quantiles",
            ledger=ledger,
            dataset="d",
            rng=None,
            **budget,
        )
    assert ledger.remaining("d") == 9
    assert ledger.to_csv().count("\n") == 2


def test_sizes_of_private_keys_go_to_mechanisms_that_use_them() -> None:
    data = pl.DataFrame({"g": ["a"] * 500, "v": np.arange(500) % 100})
    for name in ("above_threshold", "agg_tree", "joint_exp"):
        release = ask(data, keys="private", neighbors="add-remove", delta=1e-6, mechanism=name)
        assert list(release) == ["a"]
        assert release.provenance["sizes"] == [pytest.approx(500, abs=50)]


def test_auto_is_chosen_from_public_numbers_and_says_why() -> None:
    data = pl.DataFrame({"g": ["a"], "v": [1.0]})
    many = tuple(np.linspace(0.001, 0.999, 300))
    release = ask(data, many, epsilon=0.1)
    assert release.mechanism == "fitted"
    assert release.guarantee == PureDP(epsilon=0.1, within=("g",))
    assert release.provenance["choice"].startswith("one choice for all groups: expected rank error")
    assert "1,000 records" in release.provenance["choice"]
    stated = ask(data, neighbors="add-remove", size={"a": 1234, "b": 1, "c": 9999})
    assert "1,234 records" in stated.provenance["choice"]
    assert ask(data, mechanism="ind_exp").provenance["choice"] == "asked for"


def test_unsigned_columns_are_known_by_the_schema() -> None:
    table = open_table(pl.DataFrame({"g": [1], "h": [1]}, schema_overrides={"g": pl.UInt64}))
    assert KeyColumns.of(table, ["g", "h"]).unsigned == {"g"}


@each_library
@pytest.mark.parametrize("parts", [[True, False], ["a", "b"], [1, 2]])
def test_no_library_warns_of_how_it_is_asked(library: str, parts: list[Any]) -> None:
    """Recorded, because a warning that is made an error inside Polars is lost there."""
    data = FROM_ARROW[library](pa.table({"g": parts * 20, "v": range(40)}))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ask(data, keys=parts[:1])
    assert [str(warning.message) for warning in warned] == []


@pytest.mark.parametrize("rows", [9, 0])
def test_objects_without_rows_are_released_like_others(rows: int) -> None:
    """Whether there is any row is protected, so it must not decide on an error."""
    held = {"g": ["a"] * 9, "v": [1.5] * 9, "u": [*range(9)]}
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in held.items()})
    asked: dict[str, Any] = {"column": "v", "neighbors": "add-remove", "size": 9, "epsilon": 1.0}
    grouped = dpq.quantiles(frame.iloc[:rows], 0.5, by="g", keys=["a"], **asked)
    assert len(grouped["a"].values) == 1
    assert len(dpq.median(frame.iloc[:rows], unit="u", **asked).values) == 1
