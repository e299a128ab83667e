"""Pictures of results: the same marks as SVG and in Matplotlib, and labels that keep apart."""

import dataclasses
import datetime as dt
import sys
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

import dpquantiles as dpq
from dpquantiles.present import pictures
from dpquantiles.present.chart import CHARACTER, LINE_HEIGHT, NARROW, WIDTH
from tests.present.releases import EVERY_TYPE, release, with_intervals

mpl.use("Agg")
SVG = "{http://www.w3.org/2000/svg}"
TYPES = {int: "int", bool: "bool", dt.datetime: "datetime"}
QUARTILES = (0.25, 0.5, 0.75)
DAY, MOMENT = dt.timedelta(days=1), dt.datetime(2024, 1, 6, 17, 39, 9, 617752)
DAYS = [dt.datetime(2013, 1, 1) + dt.timedelta(days=91 * k) for k in range(3)]


def groups(count: int, q: tuple[float, ...] = QUARTILES, **changes: Any) -> dpq.GroupedRelease:
    fields: dict[str, Any] = {
        "by": ("cell",),
        "keys": tuple((f"cell {k}",) for k in range(count)),
        "key_types": ("str",),
        "values": tuple(tuple(range(-k, 10 * len(q) - k, 10)) for k in range(count)),
        "q": q,
        "guarantee": None,
        "mechanism": "joint_exp",
        "type": "int",
    }
    return dpq.GroupedRelease(**(fields | changes))


def described(**columns: list[Any]) -> dpq.Description:
    releases = {name: release(some, TYPES[type(some[0])]) for name, some in columns.items()}
    return dpq.Description(releases=releases, guarantee=None)


RESULTS: dict[str, Any] = {
    **{f"release {k}": shown for k, shown in enumerate(EVERY_TYPE)},
    "intervals": with_intervals([1.0, 2.0, 4.0], "float", ends=(None, 3e38)),
    "groups": groups(3),
    "one quantile": groups(3, (0.5,)),
    "two quantiles": groups(3, (0.1, 0.9)),
    "deciles": groups(3, tuple(k / 10 for k in range(1, 10))),
    "300 groups": groups(300),
    "no groups": groups(0),
    "a long name": groups(1, keys=(("a name that goes on and on and on, for very long",),)),
    "days": groups(2, values=(tuple(DAYS), tuple(reversed(DAYS))), type="datetime"),
    "description": described(pay=[18400, 48500, 131600], day=DAYS, flag=[False, False, True]),
    "constant": described(pay=[7, 7, 7]),
    "long names and times": described(
        **{"a_column_with_a_very_long_name": [MOMENT, MOMENT + 40 * DAY, MOMENT + 90 * DAY]},
        **{"another_column_with_a_long_name": [MOMENT, MOMENT + DAY / 2, MOMENT + DAY]},
        **{"yet_another_column_with_such_a_name": [-(2**62) - 1, 0, 2**62 + 1]},
    ),
    "long labels": release([100_000, 700_000], "int"),
    "an absurd answer": release([-7_827_190, 1, 2, 3, 4, 5, 6, 7, 8], "int"),
    "an absurd group": groups(9, (0.5,), values=tuple((v,) for v in [*range(8), 10**15])),
    "at an edge": described(pay=[123_456_789, 123_456_789, 987_654_321]),
}


@pytest.mark.parametrize("room", [NARROW, WIDTH])
@pytest.mark.parametrize("name", RESULTS)
def test_labels_stay_in_the_picture_and_keep_apart(name: str, room: int) -> None:
    drawn = pictures.element(RESULTS[name], room)
    assert drawn.attrib["width"] == str(room)
    root = ElementTree.fromstring(ElementTree.tostring(drawn))
    boxes = []
    for text in root.iter(f"{SVG}text"):
        words = text.text or ""
        width = CHARACTER * len(words)
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        left = x - {"start": 0, "middle": width / 2, "end": width}[text.attrib["text-anchor"]]
        assert left >= -1, words
        assert left + width <= room + 1, words
        assert y <= float(root.attrib["height"])
        boxes.append((left, left + width, y, words))
    for k, (left, right, y, words) in enumerate(boxes):
        for other_left, other_right, other_y, other in boxes[k + 1 :]:
            beside = right <= other_left or other_right <= left
            assert beside or abs(y - other_y) >= LINE_HEIGHT - 2, (words, other)


@pytest.mark.parametrize("room", [NARROW, WIDTH])
@pytest.mark.parametrize("name", RESULTS)
def test_every_tick_below_has_its_label(name: str, room: int) -> None:
    drawn = pictures.element(RESULTS[name], room)
    ends = [(float(line.attrib["y1"]), float(line.attrib["y2"])) for line in drawn.iter("line")]
    ticks = [top + 17 for top, bottom in ends if bottom - top == 4]
    labels = [float(text.attrib["y"]) for text in drawn.iter("text")]
    assert len(ticks) == sum(label in ticks for label in labels)


@pytest.mark.parametrize("name", RESULTS)
def test_matplotlib_draws_the_same_marks(name: str) -> None:
    shown = pictures.picture(RESULTS[name])
    ax = RESULTS[name].plot()
    assert len(ax.lines) == sum(mark.kind != "label" for mark in shown.marks)
    assert len(ax.texts) == sum(mark.kind == "label" for mark in shown.marks)
    assert ax.get_title(loc="left") == shown.heading
    ax.figure.canvas.draw()
    assert RESULTS[name].plot(ax) is ax
    mpl.pyplot.close(ax.figure)


def test_dates_are_dates_of_matplotlib() -> None:
    ax = release(DAYS, "datetime").plot()
    (left, *_) = ax.lines[-1].get_xdata()
    assert left == (DAYS[-1] - dt.datetime(1970, 1, 1)).days
    mpl.pyplot.close(ax.figure)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dpq.MissingBackend, match=r"pip install 'dpquantiles\[plot\]'; to_svg"):
        release([1, 2]).plot()
    assert release([1, 2]).to_svg().startswith("<svg")


def test_a_release_rises_in_steps_from_answer_to_answer() -> None:
    shown = pictures.picture(release([4, 1, 2], q=(0.9, 0.1, 0.5)))
    (steps,) = (mark.places for mark in shown.marks if mark.kind == "curve")
    assert steps == [(1, 0.1), (2, 0.1), (2, 0.5), (4, 0.5), (4, 0.9)]
    assert all((a == c) != (b == d) for (a, b), (c, d) in pairwise(steps))


def test_groups_are_sorted_by_their_median() -> None:
    shown = pictures.picture(groups(5))
    assert [tick.label for tick in shown.up.ticks] == [f"cell {k}" for k in (4, 3, 2, 1, 0)]
    dots = [mark.places[0] for mark in shown.marks if mark.kind == "dot"]
    assert dots == [(6 + k, k) for k in range(5)]
    assert shown.caption == "Quantiles, bar: 0.25 to 0.75; dot: 0.5."


def test_of_many_groups_the_lowest_and_highest_are_drawn() -> None:
    shown = pictures.picture(RESULTS["300 groups"])
    labels = [tick.label for tick in shown.up.ticks]
    assert len(labels) == 41
    assert (labels[0], labels[20], labels[-1]) == ("cell 299", "…", "cell 0")
    assert "260 groups in the middle are left out." in shown.caption


@pytest.mark.parametrize(
    ("q", "legend"),
    [
        ((0.5,), "dot: 0.5"),
        ((0.1, 0.9), "bar: 0.1 to 0.9"),
        ((0.9, 0.5, 0.1), "bar: 0.1 to 0.9; dot: 0.5"),
        ((0.05, 0.25, 0.5, 0.75, 0.95), "line: 0.05 to 0.95; bar: 0.25 to 0.75; dot: 0.5"),
        (tuple(k / 10 for k in range(1, 10)), "line: 0.1 to 0.9; bar: 0.3 to 0.7; dot: 0.5"),
    ],
)
def test_a_legend_says_what_is_drawn(q: tuple[float, ...], legend: str) -> None:
    shown = pictures.picture(groups(2, q))
    assert shown.caption == f"Quantiles, {legend}."
    kinds = {mark.kind for mark in shown.marks}
    assert kinds == {part.split(":")[0] for part in legend.split("; ")}


def test_every_column_of_a_description_has_its_own_scale() -> None:
    shown = pictures.picture(described(pay=[0, 25, 100], age=[20, 60, 80]))
    dots = [mark.places[0] for mark in shown.marks if mark.kind == "dot"]
    assert dots == [(pytest.approx(2 / 3), 0), (0.25, 1)]
    assert [mark.text for mark in shown.marks if mark.kind == "label"] == [
        *("60", "20", "80"),
        *("25", "0", "100"),
    ]
    assert [tick.label for tick in shown.up.ticks] == ["age", "pay"]


def test_names_are_escaped() -> None:
    hostile = dataclasses.replace(groups(1), keys=(("<script>&",),))
    assert "&lt;script&gt;&amp;" in hostile.to_svg()


def test_an_absurd_answer_does_not_flatten_the_others() -> None:
    """It is drawn at the edge, and the caption says so."""
    absurd = release([-7_827_190, 1, 2, 3, 4, 5, 6, 7, 8], "int")
    shown = pictures.picture(absurd)
    assert (shown.across.low, shown.across.high) == (1, 8)
    assert shown.caption == "One answer lies far outside, and is drawn at the edge."
    assert all(1 <= x <= 8 for mark in shown.marks for x, _ in mark.places)
    heavy = release([1, 2, 3, 4, 400], "int")
    assert pictures.picture(heavy).across.high == 400
    assert pictures.picture(heavy).caption == ""


def test_one_quantile_by_group_is_drawn_with_its_intervals() -> None:
    keys: Any = {"by": "g", "keys": ["a", "b"], "column": "v", "epsilon": 5.0}
    table = {"g": ["a", "b"] * 500, "v": list(range(1000))}
    pandas = pytest.importorskip("pandas")
    grouped: Any = dpq.median(pandas.DataFrame(table), intervals=0.9, **keys)
    shown = pictures.picture(grouped)
    assert [mark.kind for mark in shown.marks].count("interval") == 2
    assert "Bars contain the true quantile with a chance of at least 90%." in shown.caption
