"""Releases as plain text and as CSV."""

import csv
import datetime as dt
import io
from dataclasses import replace
from typing import Any

import pytest

import dpquantiles as dpq
from dpquantiles.intervals import Intervals
from dpquantiles.present import releases
from dpquantiles.present.tables import LINE
from dpquantiles.present.ticks import ticks
from dpquantiles.results import Release
from dpquantiles.sources.cells import parse
from tests.present.releases import EVERY_TYPE, release, with_intervals


def test_a_release_as_text() -> None:
    shown = releases.text(release([-26, -5, 52], q=(0.25, 0.5, 0.75)))
    assert shown.splitlines() == [
        "  q     value",
        "  0.25    -26   ●",
        "  0.5      -5   ─────────●",
        "  0.75     52   ───────────────────────────────────●",
        "",
        "Replacing any one record by any other changes the odds of any result by at most",
        "a factor of 2.72 (pure differential privacy, epsilon = 1); the number of records",
        "is public.",
    ]


@pytest.mark.parametrize("shown", EVERY_TYPE, ids=lambda shown: f"{len(shown)} {shown.type}")
@pytest.mark.parametrize("width", [40, 80])
def test_prose_and_picture_fit_the_width(shown: Release, width: int) -> None:
    lines = releases.text(shown, width).splitlines()
    table = lines[: len(shown.values) + 1]
    assert max(line.count(LINE) for line in table) <= width // 2
    assert all(len(line) <= width for line in lines[len(table) :])


@pytest.mark.parametrize("shown", EVERY_TYPE, ids=lambda shown: f"{len(shown)} {shown.type}")
def test_csv_reads_back(shown: Release) -> None:
    rows = list(csv.reader(io.StringIO(releases.csv(shown))))
    assert rows[0] == ["q", "value"]
    assert [float(q) for q, _ in rows[1:]] == list(shown.q)
    assert [
        parse(cell, type(value).__name__.lower())
        for (_, cell), value in zip(rows[1:], shown.values, strict=True)
    ] == list(shown.values)


def test_intervals_stand_beside_the_values() -> None:
    shown = releases.text(with_intervals([-26, -5, 52], q=(0.25, 0.5, 0.75), ends=(-99, 99)))
    assert shown.splitlines()[:4] == [
        "  q     value  lower  upper",
        "  0.25    -26    -99     -5   ●",
        "  0.5      -5    -26     52   ─────────●",
        "  0.75     52     -5     99   ───────────────────────────────────●",
    ]
    assert shown.splitlines()[-2:] == [
        "Each interval contains the quantile of the data with a chance of at least 95%,",
        "whatever the data is.",
    ]
    population = with_intervals([1, 2], requested=Intervals(0.9, of="population"))
    assert "of the population that the records were drawn from with a chance of at least 90%" in (
        " ".join(releases.text(population).split())
    )


def test_open_ends_are_said_in_words_and_left_empty_in_csv() -> None:
    shown = with_intervals([-2.5, 0.25, 5.0], "float", q=(0.25, 0.5, 0.75), ends=(None, None))
    assert [line[:32].rstrip() for line in releases.text(shown).splitlines()[:4]] == [
        "  q     value    lower    upper",
        "  0.25  -2.50  or less     0.25",
        "  0.5    0.25    -2.50     5.00",
        "  0.75   5.00     0.25  or more",
    ]
    assert releases.csv(shown).splitlines()[1:] == [
        "0.25,-2.5,,0.25",
        "0.5,0.25,-2.5,5.0",
        "0.75,5.0,0.25,",
    ]


def test_intervals_in_csv_read_back() -> None:
    shown = with_intervals([0.1, 1 / 3, 5.0], "float", ends=(-1e300, 1e300))
    rows = list(csv.reader(io.StringIO(releases.csv(shown))))
    assert rows[0] == ["q", "value", "lower", "upper"]
    assert [(float(low), float(high)) for *_, low, high in rows[1:]] == list(shown.interval())
    assert rows[2][2:] == [repr(0.1), repr(5.0)]


def test_one_value_has_no_picture() -> None:
    assert releases.dots([7]) == []
    assert releases.dots([7, 7]) == []


def test_values_further_apart_than_a_double_can_say() -> None:
    wide = release([-1.6e308, 0.0, 1.6e308], "float")
    assert [line.count(LINE) for line in releases.text(wide).splitlines()[1:4]] == [0, 18, 35]
    assert "nan" not in releases.html(wide)
    assert [tick.label for tick in ticks(wide.values, 5)][:2] == ["-1.5e308", "-1e308"]


def test_keys_stand_to_the_left() -> None:
    grouped = dpq.GroupedRelease(
        by=("region", "age"),
        keys=(("north", "0-9"), ("south", "90 and more")),
        key_types=("str", "str"),
        values=((1,), (20,)),
        q=(0.5,),
        guarantee=None,
        mechanism="joint_exp",
        type="int",
    )
    table = [
        "  region  age          0.5",
        "  north   0-9            1",
        "  south   90 and more   20",
    ]
    assert releases.text(grouped).splitlines()[:3] == table
    assert releases.markdown(grouped).splitlines()[1] == "| :-- | :-- | --: |"


def test_intervals_by_group_are_shown_or_said_to_be_elsewhere() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"g": ["a", "b"] * 500, "v": list(range(1000))})
    keys: Any = {"by": "g", "keys": ["a", "b"], "column": "v", "epsilon": 5.0, "intervals": True}
    one, three = dpq.median(table, **keys), dpq.quartiles(table, **keys)
    assert list(releases.columns(one)) == ["g", "0.5", "lower", "upper", "size", "expected_error"]
    assert list(releases.columns(three)) == ["g", "0.25", "0.5", "0.75"]
    for grouped in (one, three):
        assert "Each interval contains the quantile of the data" in " ".join(
            releases.text(grouped).split()
        )
    assert "The intervals are in to_frame()" in " ".join(releases.text(three).split())
    assert "to_frame()" not in releases.text(one)


def grouped(by: str = "town", **changes: Any) -> dpq.GroupedRelease:
    options: dict[str, Any] = {
        "by": (by,),
        "keys": (("Kent",), ("Ely",)),
        "key_types": ("str",),
        "values": ((1,), (20,)),
        "q": (0.5,),
        "guarantee": None,
        "mechanism": "joint_exp",
        "type": "int",
        "provenance": {"sizes": [12_000, 60], "expected_errors": [0.0002, 0.035]},
    }
    return dpq.GroupedRelease(**(options | changes))


def test_a_table_of_groups_says_how_far_to_trust_each() -> None:
    assert releases.text(grouped()).splitlines()[:3] == [
        "  town  0.5    size  expected_error",
        "  Kent    1  12,000          0.0002",
        "  Ely    20      60           0.035",
    ]
    taken = releases.columns(grouped(by="size"))
    assert taken["size"] == ["Kent", "Ely"]
    assert taken["size_"] == ["12,000", "60"]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, None),
        (1, "1 of 3 groups is hidden: its size is below 50."),
        (98, "98 of 100 groups are hidden: their sizes are below 50."),
    ],
)
def test_hidden_groups_are_counted_wherever_groups_are_shown(count: int, said: str | None) -> None:
    shown = grouped(provenance={"min_size": 50, "hidden": count})
    for form in (releases.text, repr, releases.markdown, releases.html):
        words = " ".join(form(shown).split())
        assert words.count("hidden") == (said is not None)
        assert said is None or said in words


EXACT = "-9,007,199,254,740,992 to 9,007,199,254,740,992"
ROUNDED = f"Values outside {EXACT} are rounded to 53 significant bits."


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (release([-26, 2**53]), False),
        (release([-26, 2**53 + 2]), True),
        (release([-(2**60), 5]), True),
        (with_intervals([5, 2**60]), True),
        (release([dt.datetime(2024, 1, 1)], "datetime"), True),
    ],
)
def test_rounding_of_huge_numbers_is_said_beside_huge_answers(shown: Release, said: bool) -> None:
    noted = replace(shown, provenance={"precision": [ROUNDED, "Another note."]})
    assert (ROUNDED in " ".join(releases.text(noted).split())) == said
    assert "Another note." in releases.text(noted)
