"""Verdicts and tables of the comparison with others, from errors that are given."""

from pathlib import Path

import numpy as np
import pytest

from experiments import marked, rows
from experiments.everyday_data import MADE_UP, Column
from experiments.peers import libraries, page, verdict
from experiments.peers.__main__ import cells, contested
from experiments.peers.contenders import ABSENT, ENTRIES, OURS, shared, version
from experiments.peers.verdict import Cell, Measure, behind
from experiments.trials import Question, Run, measure, quantiles

PEER, OTHER, WEAKER = "JointExp", "AggTree", "CSmooth"


def cell(
    ours: list[float],
    peer: list[float],
    *,
    weaker: list[float] | None = None,
    kind: Measure = "ranks",
    asked: str = "9",
) -> Cell:
    errors = {OURS: ours, PEER: peer, OTHER: [50.0, 51.0] * 2, WEAKER: weaker or []}
    return Cell(data="prices", n=1000, asked=asked, measure=kind, errors=errors)


@pytest.mark.parametrize(
    ("ours", "best", "lost"),
    [
        ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], True),
        ([1.09, 1.09, 1.09], [1.0, 1.0, 1.0], False),  # within 10 %
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], False),
        ([6.0, 0.0, 0.0], [1.0, 1.0, 1.0], False),  # worse, but by chance
        ([12.0, 112.0, 1012.0], [10.0, 100.0, 900.0], False),  # 12 % in total, with one standout
        ([12.0, 22.0, 32.0], [10.0, 20.0, 30.0], False),
        ([15.0, 26.0, 37.0], [10.0, 20.0, 30.0], True),  # paired: apart, the spread would hide it
        ([0.1], [0.0], False),  # one trial says nothing
        ([0.0, 0.0], [0.0, 0.0], False),
        ([], [1.0, 1.0], False),
    ],
)
def test_behind(ours: list[float], best: list[float], lost: bool) -> None:
    assert behind(ours, best) is lost


def test_only_trials_of_both_are_compared() -> None:
    assert behind([2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 99.0, 99.0])
    assert not behind([1.0, 1.0, 99.0, 99.0], [1.0, 1.0])


def test_another_tolerance() -> None:
    assert behind([1.2, 1.2], [1.0, 1.0])
    assert not behind([1.2, 1.2], [1.0, 1.0], 1.25)


def test_the_best_is_the_least_mean_of_those_who_answered() -> None:
    here = cell([3.0, 3.0], [2.0, 2.0], weaker=[1.0, 1.0])
    assert here.best(page.PEERS) == PEER
    assert here.best(page.WITH_WEAKER) == WEAKER
    assert here.best(["OpenDP"]) is None
    assert not here.lost(OURS, ["OpenDP"])
    assert here.gap(OURS, page.PEERS) == 1.0


def test_luck_that_names_the_best_does_not_judge_ours() -> None:
    lucky = cell([2.0] * 6, [1.0, 2.0] * 3)
    assert lucky.best(page.PEERS) == PEER
    assert not lucky.lost(OURS, page.PEERS)
    assert lucky.gap(OURS, page.PEERS) == 0.0
    assert cell([2.0] * 6, [1.0, 1.0] * 3).lost(OURS, page.PEERS)


def test_cells_where_ours_is_not_the_best_get_more_trials_of_all_who_may_be() -> None:
    close = cell([3.0] * 4, [2.0, 2.1] * 2)
    assert close.contested(OURS, page.PEERS) == [OURS, PEER]
    unclear = Cell(**{**vars(close), "errors": {**close.errors, OTHER: [0.0, 9.0] * 2}})
    assert unclear.contested(OURS, page.PEERS) == [OURS, PEER, OTHER]
    assert cell([2.2] * 4, [2.0, 2.1] * 2).contested(OURS, page.PEERS) == []
    assert cell([], [2.0] * 4).contested(OURS, page.PEERS) == []


def test_a_second_round_takes_the_place_of_the_first_where_it_was_measured() -> None:
    firsts = [
        Run(contender=name, code="", data="hours", n=200, asked="3", trials=9, seconds=1)
        for name in (OURS, PEER, OTHER)
    ]
    errors = {OURS: [3.0] * 4, PEER: [2.0] * 4, OTHER: [9.0] * 4}
    found = {rows.key(run): {"ranks": errors[run.contender]} for run in firsts}
    more = contested(firsts, found)
    assert [(run.contender, run.seconds > 1) for run in more] == [(OURS, True), (PEER, True)]
    (once,) = cells(firsts + more, found)
    assert once.errors == errors
    (twice,) = cells(firsts + more, {**found, rows.key(more[0]): {"ranks": [2.0] * 8}})
    assert twice.errors == {**errors, OURS: [2.0] * 8}


def test_ours_are_never_their_own_peers() -> None:
    assert not any(ENTRIES[name].ours for name in page.WITH_WEAKER)
    assert not any(ENTRIES[name].weaker for name in page.PEERS)
    assert len(page.PEERS) + 4 == len(ENTRIES)


def test_lost_cells_are_counted_and_the_worst_comes_first() -> None:
    cells = [
        cell([3.0] * 4, [2.0] * 4, asked="1"),
        cell([9.0] * 4, [2.0] * 4, asked="3"),
        cell([2.0] * 4, [2.0] * 4, weaker=[1.0] * 4, asked="9"),
        cell([5.0] * 4, [0.07] * 4, kind="values", asked="p99.9"),
    ]
    first, second = " ".join(map(str.strip, page.counts(cells))).split(". - ")
    assert "**2 of 3** cells (3 where weaker" in first
    assert "**1 of 1** cells" in second
    assert [line.split(" | ")[2:] for line in page.worst(cells)[2:]] == [
        ["m = 3", "9.0 ± 0.0", "2.0 ± 0.0", PEER, "4.5 |"],
        ["m = 1", "3.0 ± 0.0", "2.0 ± 0.0", PEER, "1.5 |"],
        ["p99.9", "500% ± 0%", "7% ± 0%", PEER, "71.4 |"],
    ]
    assert page.ratio([1.0], [0.0]) == "> 100"


def test_everyone_is_judged_by_the_same_rule() -> None:
    cells = [
        cell([3.0] * 4, [2.0] * 4),  # ours and AggTree are behind JointExp
        cell([2.0] * 4, [90.0] * 4),  # JointExp is behind AggTree, whose errors are about 50
        cell([9.0] * 4, [2.0] * 4, kind="values", asked="p99.9"),
    ]
    assert page.standings(cells)[2:] == [
        f"| {OURS} | 1 of 2 cells |",
        f"| {PEER} | 1 of 2 cells |",
        f"| {OTHER} | 1 of 2 cells |",
    ]
    assert page.standings([cell([2.0] * 4, [2.0] * 4, weaker=[2.0] * 4)])[2:5] == [
        f"| {OURS} | 0 of 1 cells |",
        f"| {PEER} | 0 of 1 cells |",
        f"| {WEAKER} | 0 of 1 cells |",
    ]


def test_a_table_marks_the_best_and_the_lost_and_says_what_is_absent() -> None:
    lines = page.tables([cell([3.0] * 4, [2.0] * 4)], {"PyDP": "not installed"})
    header, row = lines[3], lines[-1]
    found = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    assert lines[1] == "### Rank error, n = 1,000"
    assert found[OURS] == "3.0 ± 0.0 ✗"
    assert found[PEER] == "**2.0 ± 0.0**"
    assert found["OpenDP"] == "refuses"
    assert found["PyDP |"] == "not installed |"


def test_all_cells_are_kept_as_plain_values() -> None:
    (kept,) = page.plain([cell([3.0] * 4, [2.0] * 4)])
    assert (kept["best"], kept["lost"], kept["asked"]) == (PEER, True, "m = 9")
    assert kept["errors"][PEER] == {"mean": 2.0, "standard_error": 0.0, "trials": 4}
    assert WEAKER not in kept["errors"]


def test_quantiles_by_name() -> None:
    assert quantiles("3").tolist() == [0.25, 0.5, 0.75]
    assert quantiles("p99.99").tolist() == [0.9999]


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if not entry.library])
def test_contenders_of_the_package_answer(name: str) -> None:
    run = Run(contender=name, code="", data="hours", n=200, asked="3", trials=2, seconds=9)
    found = measure(shared(""), run)
    assert (len(found["ranks"]), found["values"], found["note"]) == (2, [], "")
    assert found == measure(shared(""), run)


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.library])
@pytest.mark.parametrize("asked", ["1", "3"])
def test_other_libraries_answer_or_are_told_absent(name: str, asked: str) -> None:
    run = Run(contender=name, code="", data="hours", n=200, asked=asked, trials=2, seconds=9)
    found = measure(shared(""), run)
    if version(ENTRIES[name].library) == ABSENT:
        assert found["note"].startswith("No module named")
    else:
        assert len(found["ranks"]) == 2, found["note"]


@pytest.mark.parametrize("data", ["hours", "prices", "spending", "acs_income", "normal"])
def test_spread_records_and_candidates_stay_in_their_cells(data: str) -> None:
    known = {"acs_income": Column("", (-20_000, 1_000_000), 100, MADE_UP["hours"].sample)}
    column = (MADE_UP | known)[data]
    values = np.append(column.sample(np.random.default_rng(0), 500), column.bounds)
    question = Question(values, quantiles("3"), column)
    moved, (lower, upper) = libraries.spread(question, 0)
    step = column.step or 0
    assert (np.abs(moved - values) <= step / 2 * (1 + 1e-9) + 1e-9).all()
    assert (lower, upper) == (column.bounds[0] - step / 2, column.bounds[1] + step / 2)
    assert (len(np.unique(moved)) == len(moved)) or not step
    _, candidates = libraries.tried(question, 0)
    assert (np.diff(candidates) > 0).all()
    rounded = np.unique(column.rounded(candidates))
    assert (rounded[0], rounded[-1]) == column.bounds
    assert len(candidates) <= libraries.MOST_CANDIDATES + 1


def test_a_part_of_a_page_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    text = "before\n<!-- a -->\nold\n<!-- end of a -->\nbetween\n<!-- b -->\n<!-- end of b -->\n"
    path.write_text(text, encoding="utf-8")
    marked.put(path, "a", ["new", "lines"])
    once = path.read_text("utf-8")
    assert once == text.replace("\nold\n", "\n\nnew\nlines\n\n")
    marked.put(path, "a", ["new", "lines"])
    assert path.read_text("utf-8") == once


def test_a_standard_error_needs_two_trials() -> None:
    assert verdict.standard_error([1.0]) == float("inf")
    assert verdict.standard_error([1.0, 3.0]) == pytest.approx(1.0)
