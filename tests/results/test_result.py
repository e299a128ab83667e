"""All kinds of results: their dictionaries tell of which kind they are, and restore them."""

import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles import results
from dpquantiles.results import Result

RELEASE = dpq.Release(
    values=(5,), q=(0.5,), guarantee=dpq.PureDP(epsilon=1), mechanism="joint_exp", type="int"
)
GROUPS = dpq.GroupedRelease(
    by=("region",),
    keys=(("north",), ("south",)),
    key_types=("str",),
    values=((5,), (7,)),
    q=(0.5,),
    guarantee=None,
    note="why",
    mechanism="joint_exp",
    type="int",
)
DESCRIPTION = dpq.Description(releases={"pay": RELEASE}, guarantee=dpq.PureDP(epsilon=1))
RESULTS = [RELEASE, GROUPS, DESCRIPTION]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_dictionary_tells_of_which_kind_it_is(result: Any) -> None:
    plain = json.loads(result.to_json())
    assert isinstance(result, Result)
    assert results.from_dict(plain) == type(result).from_dict(plain) == result
    assert type(result).from_json(result.to_json()) == result
    for format_number in (0, 2, None):
        with pytest.raises(ValueError, match=f"^format must be 1, got {format_number}(;|$)"):
            results.from_dict({**plain, "format": format_number})


def test_words_are_a_table_and_the_promise_or_why_there_is_none() -> None:
    promise = [
        "",
        "Replacing any one record by any other changes the odds of any result by at most",
        "a factor of 2.72 (pure differential privacy, epsilon = 1); the number of records",
        "is public.",
    ]
    assert repr(RELEASE).splitlines() == ["  q    value", "  0.5      5", *promise]
    assert repr(DESCRIPTION).splitlines() == ["  q    pay", "  0.5    5", *promise]
    groups = ["  region  0.5", "  north     5", "  south     7", "", "Why."]
    assert repr(GROUPS).splitlines() == groups
    assert all(str(result) == repr(result) for result in RESULTS)


def test_many_rows_and_columns_do_not_fill_the_screen() -> None:
    q = tuple(k / 100 for k in range(1, 100))
    many = dataclasses.replace(RELEASE, q=q, values=tuple(range(99)))
    rows = [line.split() for line in repr(many).splitlines()[:12]]
    assert [row[0] for row in rows[1:]] == [
        *("0.01", "0.02", "0.03", "0.04", "0.05", "…"),
        *("0.95", "0.96", "0.97", "0.98", "0.99"),
    ]
    keys = tuple((f"cell {k}",) for k in range(300))
    wide = dataclasses.replace(GROUPS, q=q, keys=keys, values=(tuple(range(99)),) * 300)
    lines = repr(wide).splitlines()
    assert len(lines) == 14
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:2] == ["region", "0.01"]
    assert lines[0].split()[-1] == "0.99"
    assert lines[6].split() == ["…"] * len(lines[0].split())


def test_long_keys_are_cut_off() -> None:
    long = dataclasses.replace(GROUPS, keys=(("north" * 30,), ("south",)))
    lines = repr(long).splitlines()
    assert lines[1].split() == [f"{('north' * 30)[:39]}…", "5"]
    assert long.columns()["region"][0] == "north" * 30


def test_warnings_are_shown() -> None:
    warned = dataclasses.replace(RELEASE, provenance={"warnings": ["Expect errors."]})
    assert repr(warned).endswith("\n\nExpect errors.")
    both = dpq.Description(releases={"a": warned, "b": warned}, guarantee=None, note="why")
    assert repr(both).count("Expect errors.") == 1


def test_every_result_is_looked_up_by_what_was_asked_for() -> None:
    assert RELEASE[0.5] == 5
    assert GROUPS["south"].values == (7,)
    assert DESCRIPTION["pay"] == RELEASE
    cases: list[tuple[Any, object, object]] = [
        (RELEASE, 0.5, 0.9),
        (GROUPS, "north", "west"),
        (DESCRIPTION, "pay", "hours"),
    ]
    for result, name, other in cases:
        assert name in result
        assert other not in result
        assert [] not in result
        assert {key: result[key] for key, _ in result.items()} == dict(result.items())
        assert len(list(result.items())) == len(result) == len(list(result))


def test_a_quantile_is_found_despite_its_last_bits_and_never_by_its_place() -> None:
    deciles = dataclasses.replace(
        RELEASE, q=tuple(k / 10 for k in range(1, 10)), values=tuple(range(1, 10))
    )
    assert deciles[0.1 + 0.2] == deciles[np.float64(0.3)] == 3
    for place in (0, 1, 2, -1, True, "median", float("nan"), None):
        assert place not in deciles
    low, high = dataclasses.replace(RELEASE, q=(0.9, 0.1), values=(9, 1))
    assert (low, high) == (9, 1)


@pytest.mark.parametrize(
    ("result", "wanted", "message"),
    [
        (RELEASE, 0, "q must be one that was released, got 0; released: 0.5; values has the"),
        (GROUPS, "west", "key of region must be one that was released, got 'west'; released: no"),
        (DESCRIPTION, "x", "column must be one that was released, got 'x'; released: pay"),
    ],
)
def test_what_was_not_released_is_refused_with_a_list(
    result: Any, wanted: object, message: str
) -> None:
    with pytest.raises(KeyError) as caught:
        result[wanted]
    assert isinstance(caught.value, dpq.NotReleased)
    assert str(caught.value).startswith(message)


def test_a_long_list_is_cut() -> None:
    many = dataclasses.replace(RELEASE, q=tuple(k / 100 for k in range(1, 100)))
    many = dataclasses.replace(many, values=tuple(range(99)))
    with pytest.raises(dpq.NotReleased, match=r"released: 0.01, 0.02, .*, 0.08, \.\.\., 0.99; "):
        many[0.999]


def test_epsilon_is_that_of_the_guarantee() -> None:
    assert RELEASE.epsilon == DESCRIPTION.epsilon == 1
    assert GROUPS.epsilon is None
    assert dataclasses.replace(RELEASE, guarantee=dpq.ZCDP(rho=1)).epsilon is None
    both = dpq.ApproxDP(epsilon=2, delta=1e-9)
    assert dataclasses.replace(RELEASE, guarantee=both).epsilon == 2


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_of_the_library_of_the_data(library: str) -> None:
    numbers = list(range(200))
    makers: dict[str, Any] = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "pyarrow": pa.table,
    }
    table = makers[library]({"x": numbers})
    for made in (
        dpq.quartiles(table, column="x", epsilon=1),
        dpq.quartiles(table["x"], epsilon=1),
        dpq.describe(table, ["x"], epsilon=1),
    ):
        frame = made.to_frame()
        assert type(frame) is type(table)
    assert list(pd.DataFrame(made.to_frame("pandas"))) == ["q", "x"]
    alone = dpq.deciles(numbers, epsilon=1, intervals=True)
    assert alone.to_frame("polars").columns == ["q", "value", "lower", "upper"]
    assert alone.to_frame("polars")["value"].to_list() == list(alone)


def test_keys_that_are_called_like_the_answers_stay() -> None:
    renamed = dataclasses.replace(GROUPS, by=("value",))
    assert renamed.columns() == {
        "value": ["north", "south"],
        "q": [0.5, 0.5],
        "value_": [5, 7],
    }
