"""A release: a frozen value that JSON keeps exactly, for every type of answer."""

import dataclasses
import datetime as dt
import json
import math
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpquantiles as dpq
from dpquantiles import Neighbors, PureDP, Release
from dpquantiles.intervals import Intervals, MeasuredRanks
from dpquantiles.kinds import Kind
from tests.kinds.strategies import KINDS, values

BERLIN = ZoneInfo("Europe/Berlin")


def release(*answers: Any, type: str = "int", **changes: Any) -> Release:
    fields: dict[str, Any] = {
        "values": answers,
        "q": tuple(k / 10 for k in range(len(answers))),
        "guarantee": PureDP(epsilon=1.5, neighbors=Neighbors.ADD_REMOVE),
        "mechanism": "joint_exp",
        "type": type,
        "provenance": {"epsilon": 0.1 + 0.2, "grid": {"points": 2**62, "lower": None}},
    }
    return Release(**{**fields, **changes})


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_json_keeps_everything(kind: Kind, data: st.DataObject) -> None:
    answers = data.draw(st.lists(values(kind), min_size=1, max_size=4))
    written = release(*answers, type=kind.name)
    text = written.to_json()
    read = Release.from_json(text)
    assert read == written
    assert [type(value) for value in read.values] == [type(value) for value in answers]
    assert read.to_json() == text
    if kind.name == "datetime":
        assert [v.utcoffset() for v in read.values] == [v.utcoffset() for v in answers]
        assert [v.fold for v in read.values] == [v.fold for v in answers]


def test_json_keeps_zones_and_repeated_hours() -> None:
    once = dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    written = release(once, once.replace(fold=1), type="datetime")
    read = Release.from_json(written.to_json())
    assert read == written
    assert [(value.tzinfo, value.fold) for value in read.values] == [(BERLIN, 0), (BERLIN, 1)]
    assert json.loads(written.to_json())["values"] == [
        "2024-10-27T02:30:00+02:00",
        "2024-10-27T02:30:00+01:00",
    ]


def test_json_of_a_zone_that_is_not_known_here_keeps_the_moment() -> None:
    moment = dt.datetime(2024, 7, 1, tzinfo=BERLIN)
    text = release(moment, type="datetime").to_json().replace("Europe/Berlin", "Mars/Olympus")
    (read,) = Release.from_json(text).values
    assert read == moment
    assert read.utcoffset() == dt.timedelta(hours=2)


@pytest.mark.parametrize("guarantee", [None, PureDP(epsilon=0.1), PureDP(epsilon=1e-300)])
def test_json_keeps_the_guarantee_and_the_note(guarantee: PureDP | None) -> None:
    written = release(1, 2, guarantee=guarantee, note="a “note”\n")
    assert Release.from_json(written.to_json()) == written
    assert json.loads(written.to_json())["guarantee"] == (guarantee and guarantee.to_dict())


def test_json_is_plain() -> None:
    assert json.loads(release(3, 4).to_json()) == {
        "format": 1,
        "q": [0.0, 0.1],
        "values": [3, 4],
        "type": "int",
        "zone": None,
        "mechanism": "joint_exp",
        "guarantee": {
            "kind": "pure",
            "epsilon": 1.5,
            "neighbors": "add-remove",
            "research_only": False,
        },
        "note": "",
        "provenance": {"epsilon": 0.1 + 0.2, "grid": {"points": 2**62, "lower": None}},
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, r"^format must be 1, got 2; a newer version of dpquantiles wrote this"),
        ({"format": "2"}, r"^format must be 1, got '2'$"),
        ({"format": 0}, r"^format must be 1, got 0$"),
        ({"format": None}, r"^format must be 1, got None$"),
        ({"type": "txt"}, r"^type must be one of 'float', .*, got 'txt'"),
        ({"guarantee": {"kind": "approx"}}, r"^kind must be one of 'pure', .*, got 'approx'"),
    ],
)
def test_other_json_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Release.from_dict({**release(1).to_dict(), **changes})


@pytest.mark.parametrize("known", [{}, {"grid": None}, {"grid": {"family": 7}}])
def test_a_family_of_a_newer_version_is_refused(known: dict[str, object]) -> None:
    plain = dpq.deciles(list(range(100)), epsilon=1.0).to_dict()
    assert Release.from_dict(plain).to_dict() == plain
    assert Release.from_dict({**plain, "provenance": known}).provenance == known
    newer: Any = json.loads(json.dumps(plain))
    newer["provenance"]["grid"]["family"]["version"] += 1
    kept = json.dumps(newer)
    with pytest.raises(ValueError, match=r"grid family must be 1, got 2; a newer version of dpq"):
        Release.from_dict(newer)
    assert json.dumps(newer) == kept


def test_a_release_is_a_frozen_value() -> None:
    assert release(1, 2) == release(1, 2)
    assert release(1, 2) != release(1, 3)
    assert release(1, 2) != release(1, 2, note="other")
    assert len({release(1, 2), release(1, 2)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        release(1).values = (2,)  # type: ignore[misc]


def test_one_answer_is_a_value() -> None:
    assert release(7).value == 7
    for answers in ([], [1, 2]):
        with pytest.raises(ValueError, match=rf"^value is for one quantile, got {len(answers)}"):
            _ = release(*answers).value


def test_a_release_is_a_sequence_and_an_array() -> None:
    three = release(1, 2, 3)
    assert list(three) == [1, 2, 3]
    assert len(three) == 3
    assert np.asarray(three).tolist() == [1, 2, 3]
    assert np.asarray(three).dtype == np.int64
    assert np.asarray(three, dtype=np.float32).dtype == np.float32
    assert np.asarray(release(0.5, type="float")).dtype == np.float64
    assert np.asarray(release(True, type="bool")).dtype == bool
    day = dt.date(2024, 5, 31)
    assert np.asarray(release(day, type="date")).tolist() == [day]
    with pytest.raises(ValueError, match="always a copy"):
        three.__array__(copy=False)


def test_the_words_hold_answers_and_promise() -> None:
    shown = str(release(5, q=(0.25,)))
    assert shown.split()[:4] == ["q", "value", "0.25", "5"]
    assert "(pure differential privacy, epsilon = 1.5)" in " ".join(shown.split())
    assert str(release(5, q=(0.5,), guarantee=None, note="why")).endswith("\n\nWhy.")


def test_intervals_in_words_and_json() -> None:
    ranks = MeasuredRanks(
        requested=Intervals(0.9),
        lower=(3, 8),
        upper=(2, 7),
        counts=(40, 20, 40),
        rate=0.5,
        size=100,
        ends=(0, 9),
    )
    shown = release(5, q=(0.5,), ranks=ranks)
    assert str(shown).split()[:8] == ["q", "value", "lower", "upper", "0.5", "5", "3", "7"]
    assert (shown.to_dict()["lower"], shown.to_dict()["upper"]) == ([3], [7])
    open_ended = release(5, q=(0.5,), ranks=dataclasses.replace(ranks, lower=(None, 8)))
    assert open_ended.to_dict()["lower"] == [None]
    assert Release.from_json(open_ended.to_json()) == open_ended
    assert shown.interval() == ((3, 7),)
    assert shown.interval(0.999999) == ((0, 9),)
    assert shown.interval(of="population") == ((0, 9),)
    assert Release.from_json(shown.to_json()) == shown
    assert not {"ranks", "lower", "upper"} & set(release(5).to_dict())


def test_floats_are_exact() -> None:
    answers = (0.1, 1 / 3, 5e-324, math.pi * 1e300, -0.0)
    read = Release.from_json(release(*answers, type="float").to_json())
    assert [value.hex() for value in read.values] == [value.hex() for value in answers]
