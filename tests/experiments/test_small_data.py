"""The tables of small data, and contenders that are told the range."""

import json

import pytest

from experiments import rows, small_data
from experiments.peers.contenders import OURS
from experiments.small_data import CONTENDERS, COUNTS, GIVEN_ALL, cells, line, page, runs
from experiments.trials import Run, Shared, measure


def found(asked: list[Run], ours: float, given: float) -> rows.Rows:
    errors = {OURS: ours, GIVEN_ALL: given}
    return {
        rows.key(run): {"ranks": [errors.get(run.contender, 7.0)] * 3, "absurd": [True, False]}
        for run in asked
    }


def test_every_cell_has_its_ratio() -> None:
    asked = runs("", list(CONTENDERS), list(COUNTS), 3)
    made = list(cells(asked, found(asked, 3.0, 2.0)))
    assert len(made) * len(CONTENDERS) == len(asked)
    assert {(cell["ratio"], cell["behind"], cell["absurd"]) for cell in made} == {(1.5, True, 0.5)}
    assert json.loads(json.dumps(made)) == made
    text = "\n".join(page(made, 3))
    assert f"in {len(made)} of {len(made)} rows" in text
    assert "| 3.0 ± 0.0 | 2.0 ± 0.0 | 1.50 ✗ | 7.0 ± 0.0 | 7.0 ± 0.0 | 50.0% |" in text


def test_what_was_not_measured_stays_empty() -> None:
    asked = runs("", list(CONTENDERS), ["9"], 3)
    (cell, *_) = cells(asked, {})
    assert line(cell) == "| whole numbers | 100 |  |  |  |  |  |  |"


def test_little_behind_gets_no_cross() -> None:
    asked = runs("", list(CONTENDERS), ["9"], 3)
    (cell, *_) = cells(asked, found(asked, 1.2, 1.0))
    assert "| 1.20 |" in line(cell)


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("data", ["flights_arr_delay", "spending", "two clusters"])
def test_contenders_answer(name: str, data: str) -> None:
    run = Run(contender=name, code="", data=data, n=100, asked="3", trials=1, seconds=9)
    found = measure(Shared(small_data.CONTENDERS, ""), run)
    assert len(found["ranks"]) == len(found["absurd"]) == 1, found["note"]
