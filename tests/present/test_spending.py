"""The spending of a ledger as text and as a picture."""

import datetime as dt
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpquantiles import Ledger, PureDP
from dpquantiles.ledger import file
from dpquantiles.present import spending
from dpquantiles.present.chart import LINE_HEIGHT, PLOT_HEIGHT

PLOT_TOP, PLOT_LEFT = 30, 30
PLOT_BOTTOM = PLOT_TOP + PLOT_HEIGHT


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    days = iter(range(100))
    start = dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    made = Ledger(
        tmp_path / "budget.db", epsilon=4.0, clock=lambda: start + dt.timedelta(days=next(days))
    )
    for dataset, epsilon in (("pay", 1.0), ("pay", 1.0), ("survey", 0.5), ("pay", 2.0)):
        made.charge(PureDP(epsilon=epsilon), dataset=dataset)
    return made


def test_a_line_for_each_account(ledger: Ledger) -> None:
    assert spending.text(ledger).splitlines() == [
        "Budget of every data set: 4 (epsilon, swap neighbors).",
        "",
        "  data set    unit  charges  spent  remaining",
        "  pay       record        3      4          0   ▃▃▃▃▃▃▃▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅█",
        "  survey    record        1    0.5        3.5                  ▂▂▂▂▂▂▂▂▂",
        "",
        "The bars show what was spent from 2026-01-01 22:00 to 2026-01-04 22:00 UTC; a",
        "full block is the whole budget.",
    ]


def test_stairs_rise_to_what_was_spent(ledger: Ledger) -> None:
    root = ElementTree.fromstring(spending.svg(ledger))
    tag = "{http://www.w3.org/2000/svg}"
    pay, survey = (
        [tuple(map(float, corner.split(","))) for corner in line.attrib["points"].split()]
        for line in root.iter(f"{tag}polyline")
    )
    floor, top = PLOT_BOTTOM, PLOT_TOP
    quarter = (floor - top) / 4
    heights = [floor, floor - quarter, floor - quarter, floor - 2 * quarter, floor - 2 * quarter]
    assert [y for _, y in pay] == [*heights, top, top]
    assert survey[0][0] > pay[0][0]
    labels = [text.text for text in root.iter(f"{tag}text")]
    assert {"budget", "pay (record)", "survey (record)", "epsilon", "time (UTC)"} <= set(labels)


def test_a_small_page_has_the_names_outside_of_the_picture(ledger: Ledger) -> None:
    chart, colors = spending.narrow_picture(ledger)
    drawn = [line.get("stroke") for line in chart.root.iter("polyline")]
    assert list(colors.items()) == list(
        zip(["pay (record)", "survey (record)"], drawn, strict=True)
    )
    assert chart.width < spending.picture(ledger).width
    assert not set(colors) & {text.text for text in chart.root.iter("text")}


def test_times_have_no_parts_of_seconds(tmp_path: Path) -> None:
    start = dt.datetime(2026, 11, 18, 5, 32, 45, 797484, tzinfo=dt.UTC)
    moments = iter([start, start, start + dt.timedelta(minutes=12)])
    ledger = Ledger(tmp_path / "budget.db", epsilon=4.0, clock=lambda: next(moments))
    for _ in range(2):
        ledger.charge(PureDP(epsilon=1.0), dataset="pay")
    chart, _ = spending.narrow_picture(ledger)
    labels = [text.text or "" for text in chart.root.iter("text")]
    assert not [label for label in labels if "2026" in label and "." in label]
    assert any("2026-11-18 05:" in label for label in labels)


def test_labels_do_not_stand_on_each_other() -> None:
    placed = spending._apart([50.0, 52.0, 10.0, 51.0], PLOT_BOTTOM)
    assert placed[2] == 10.0
    assert sorted(placed) == [10.0, 50.0, 64.0, 78.0]


def test_charges_within_a_second_have_labels_that_keep_apart(tmp_path: Path) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    moments = iter(start + dt.timedelta(microseconds=k) for k in range(9))
    ledger = Ledger(tmp_path / "budget.db", epsilon=4.0, clock=lambda: next(moments))
    for _ in range(2):
        ledger.charge(PureDP(epsilon=1.0), dataset="pay")
    root = ElementTree.fromstring(spending.svg(ledger))
    labels = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sum("2026-01-01" in label for label in labels) == 1


def test_long_names_fit_in_80_columns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.db", epsilon=4.0)
    for k in range(3):
        ledger.charge(PureDP(epsilon=1 / 3), dataset=f"{k}" * 99, unit="somebody" * 9)
    assert max(map(len, spending.text(ledger).splitlines())) <= 80


def test_an_empty_ledger_has_a_picture_too(tmp_path: Path) -> None:
    empty = Ledger(tmp_path / "budget.db", rho=1.0)
    assert "Nothing has been charged yet." in spending.text(empty)
    ElementTree.fromstring(spending.svg(empty))


def test_many_accounts_and_hostile_names(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.db", epsilon=1.0)
    for k in range(15):
        ledger.charge(PureDP(epsilon=0.5), dataset=f"<b>&{k}")
    root = ElementTree.fromstring(spending.svg(ledger))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == spending.MOST_LINES


def test_a_file_is_read_as_often_for_many_accounts_as_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "budget.db", epsilon=1.0)
    reading, read = file.reading, []

    def counted(path: Path) -> AbstractContextManager[file.EntryTable]:
        read.append(path)
        return reading(path)

    monkeypatch.setattr(file, "reading", counted)
    times = []
    for accounts in (1, 6):
        for k in range(accounts):
            ledger.charge(PureDP(epsilon=0.1), dataset=f"data {k}")
        read.clear()
        spending.text(ledger)
        times.append(len(read))
    assert times[0] == times[1]


def test_labels_stay_in_the_picture(tmp_path: Path) -> None:
    """Long names, and more accounts that spent little than fit below their lines."""
    ledger = Ledger(tmp_path / "budget.db", epsilon=1.0)
    for k in range(15):
        ledger.charge(PureDP(epsilon=0.001), dataset=f"{k} {'x' * 190}")
    root = ElementTree.fromstring(spending.svg(ledger))
    tag = "{http://www.w3.org/2000/svg}"
    labels = [text for text in root.iter(f"{tag}text") if (text.text or "").endswith("…")]
    heights = sorted(float(label.attrib["y"]) for label in labels)
    assert len(heights) == spending.MOST_LINES
    assert min(b - a for a, b in pairwise(heights)) >= LINE_HEIGHT
    assert heights[0] > PLOT_TOP
    assert heights[-1] <= PLOT_BOTTOM + 4
    for line in root.iter(f"{tag}polyline"):
        corners = [corner.split(",") for corner in line.attrib["points"].split()]
        assert all(PLOT_LEFT <= float(x) < spending.WIDTH / 2 + 50 for x, _ in corners)


def test_a_clock_that_was_set_back_does_not_turn_the_line_back(tmp_path: Path) -> None:
    hours = iter([0, 1, 9, 2, 3])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    ledger = Ledger(
        tmp_path / "budget.db", epsilon=4.0, clock=lambda: start + dt.timedelta(hours=next(hours))
    )
    for _ in range(4):
        ledger.charge(PureDP(epsilon=1.0), dataset="pay")
    root = ElementTree.fromstring(spending.svg(ledger))
    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    across = [float(corner.split(",")[0]) for corner in line.attrib["points"].split()]
    assert across == sorted(across)
    assert spending.text(ledger).splitlines()[3].endswith(f"{'▃' * 23}█")


def test_only_the_whole_budget_is_a_full_block() -> None:
    assert [spending._block(share) for share in (0.0, 0.01, 0.9, 0.999999, 1.0)] == list(" ▁▇▇█")
