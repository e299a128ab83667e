"""Text as values: types told from cells, and cells that do not fit."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles.kinds import column
from dpquantiles.sources.cells import looks_like_a_value, parse, read_cells


def records(cells: list[str], type_name: str | None = None) -> list[Any]:
    """The values of the cells as the library sees them, None where missing."""
    typed = read_cells(cells, "x", type_name)
    numbers, missing = column(typed.kind, typed.values)
    absent = np.zeros(len(cells), dtype=bool) if missing is None else missing
    return [
        None if a else typed.kind.value(n)
        for n, a in zip(numbers.tolist(), absent.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2", "+3"], [1, -2, 3]),
        (["1", "2.5", "1e3", ".5", "-inf"], [1.0, 2.5, 1000.0, 0.5, -np.inf]),
        (["true", "False", "TRUE"], [True, False, True]),
        (["2024-02-29", "1999-12-31"], [dt.date(2024, 2, 29), dt.date(1999, 12, 31)]),
        (
            ["2024-02-29", "2024-02-29 10:30"],
            [dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 10, 30)],
        ),
        (["20240229", "20240301"], [20240229, 20240301]),
    ],
)
def test_the_type_is_told_from_the_cells(cells: list[str], expected: list[Any]) -> None:
    found = records(cells)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize("text", ["", "NA", "na", "NaN", "null", "None", "N/A"])
def test_words_for_missing(text: str) -> None:
    assert records(["5", text, "7"]) == [5, None, 7]


def test_one_odd_cell_is_missing_and_changes_nothing_else() -> None:
    assert records(["1", "2", "three", "4"]) == [1, 2, None, 4]
    assert records(["2024-01-01", "2024-13-45", "2024-01-03"])[1] is None
    assert records(["1", "2"] * 50 + ["x" * 200_000])[-1] is None


def test_offsets_make_aware_datetimes() -> None:
    same = read_cells(["2024-01-01T12:00+02:00", "2024-01-02T12:00:30.5+02:00"], "x")
    assert same.kind.value(0).utcoffset() == dt.timedelta(hours=2)
    mixed = read_cells(["2024-01-01T12:00+02:00", "2024-01-01T12:00Z"], "x")
    assert mixed.kind.value(0).tzinfo == dt.UTC
    assert np.diff(mixed.values) == np.timedelta64(2, "h")


def test_nothing_but_missing_cells_is_still_a_column() -> None:
    assert read_cells(["", "NA"], "x").kind.name == "float"
    assert records(["", "NA"], "datetime") == [None, None]
    assert len(read_cells([], "x", "date").values) == 0


def test_a_column_of_text_is_refused() -> None:
    with pytest.raises(TypeError, match="column of text"):
        read_cells(["red", "green", "blue", "1"], "color")


@pytest.mark.parametrize("type_name", ["int", "date", "bool", "timedelta", "decimal"])
def test_with_a_stated_type_text_is_missing(type_name: str) -> None:
    column = read_cells(["red", "green", "blue", "x"], "color", type_name)
    assert column.kind.name == type_name
    assert len(column.values) == 4


def test_a_stated_type_rules() -> None:
    assert records(["1", "2"], "float") == [1.0, 2.0]
    assert records(["1.6", "2"], "int") == [2, 2]
    assert records(["1.10", "-3"], "decimal") == [Decimal("1.1"), Decimal("-3")]
    assert records(["1", "no", "T"], "bool") == [True, False, True]
    assert records(["20240229", "2024-03-01T10:00"], "date") == [
        dt.date(2024, 2, 29),
        dt.date(2024, 3, 1),
    ]


@pytest.mark.parametrize("text", ["9" * 30, "9" * 5000, "1e400", "inf"])
def test_numbers_beyond_64_bits_clamp(text: str) -> None:
    assert records([text, "1", "2"], "int")[0] == 2**63 - 1


@pytest.mark.parametrize("text", ["sNaN", "NaN123", "1E+9999999999999999999", "Infinity"])
def test_strange_decimals_never_raise(text: str) -> None:
    assert len(records([text, "1", "2"], "decimal")) == 3


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1:30", 5400),
        ("-1:30:00", -5400),
        ("0:00:01.5", 1.5),
        ("-1 day, 23:00:00", -3600),
        ("-1 days +23:00:00", -3600),
        ("2 days, 0:00:10", 172_810),
        ("P1DT2H", 93_600),
        ("-PT90S", -90),
        ("P2W", 1_209_600),
        ("7d", 604_800),
        ("1h 30min", 5400),
        ("1.5 hours", 5400),
        ("250ms", 0.25),
        ("5 us", 5e-6),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse(text, "timedelta") == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "P", "PT", "90", "1 fortnight", "-", "P1M", "9e9d"])
def test_what_is_not_a_duration(text: str) -> None:
    assert parse(text, "timedelta") is None


@given(st.timedeltas(min_value=dt.timedelta(days=-9999), max_value=dt.timedelta(days=9999)))
def test_durations_as_python_writes_them(duration: dt.timedelta) -> None:
    parsed = parse(str(duration), "timedelta")
    assert abs(parsed - duration) <= dt.timedelta(microseconds=1)


@given(
    st.lists(st.text(max_size=12), max_size=8),
    st.sampled_from(["int", "float", "bool", "decimal", "date", "datetime", "timedelta"]),
)
def test_no_text_raises_anything_else(cells: list[str], type_name: str) -> None:
    """However odd the cells, a majority of good ones makes the column readable."""
    good = {"bool": "true", "date": "2024-01-01", "datetime": "2024-01-01", "timedelta": "1h"}
    typed = read_cells([*cells, *[good.get(type_name, "1")] * 8], "x", type_name)
    column(typed.kind, typed.values)


def test_values_are_told_from_names() -> None:
    assert looks_like_a_value("-1.5")
    assert looks_like_a_value("2024-01-01")
    assert not looks_like_a_value("arr_delay")
    assert not looks_like_a_value("")
