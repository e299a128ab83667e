"""Mutants: drawn fairly, never of annotations, and scored with their uncertainty."""

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="mutants are made by the extra of that name")

from experiments import mutants, rows, wilson
from experiments.mutant_tests import KILLED, SURVIVED

SMALL = Path("src/dpquantiles/mechanisms/count.py")


def test_a_sample_has_one_mutant_of_a_place_and_holds_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mutants, "modules", lambda: [SMALL])
    drawn = mutants.shuffled(1)
    assert drawn == mutants.shuffled(1)
    assert drawn != mutants.shuffled(2)
    places = {mutant.place for mutant in mutants.mutants(SMALL)}
    assert len(drawn) == len(places) < len(list(mutants.mutants(SMALL)))
    assert {mutant.place for mutant in drawn} == places


def test_a_mutant_is_another_program() -> None:
    text = (mutants.ROOT / SMALL).read_text("utf-8")
    operators = set()
    for mutant in list(mutants.mutants(SMALL))[::5]:
        assert mutant.text != text
        changed = mutants.difference(mutant)
        assert 1 <= len(changed) <= 4
        assert not any("-> Guarantee" in line for line in changed)
        operators.add(mutant.operator)
    assert len(operators) > 3


def test_what_python_does_not_take_is_no_mutant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = Path("module.py")
    (tmp_path / module).write_text("def f(*, x=1): return x * 2\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    taken = {(mutant.column, mutant.is_program) for mutant in mutants.mutants(module)}
    assert taken == {(6, False), (11, True), (24, True), (26, True)}


def test_annotations_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = Path("module.py")
    (tmp_path / module).write_text(
        "x: int | None = 1 + 2\ndef f(y: int | str) -> int | None: ...\n"
    )
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    assert {(mutant.line, mutant.column) for mutant in mutants.mutants(module)} == {
        (1, 16),
        (1, 18),
        (1, 20),
    }


def test_tests_near_a_module_come_first() -> None:
    near, wide = (mutants.tests_of(SMALL, far) for far in (False, True))
    assert near[0] == wide[0] == "tests/mechanisms/test_count.py"
    assert "tests/contract/test_budgets.py" in near
    assert set(near) < set(wide)
    assert near.index("tests/golden/test_golden.py") == 2
    # A module without a test of its own has those of what imports it.
    kernel = Path("src/dpquantiles/kernels/joint.py")
    assert "tests/mechanisms/test_joint_exp.py" in mutants.tests_of(kernel, False)
    for module in mutants.modules():
        assert mutants.tests_of(module, False)


def test_a_score_has_an_interval_that_narrows() -> None:
    widths = []
    for tried in (20, 200, 2000):
        share, low, high = wilson.score(tried * 19 // 20, tried)
        assert low < share == 0.95 < high < 1
        widths.append(high - low)
    assert all(a > b for a, b in pairwise(widths))
    assert wilson.score(10, 10)[2] == pytest.approx(1.0)


def test_a_report_names_survivors_and_leaves_out_what_was_not_tried() -> None:
    one, two, three = list(mutants.mutants(SMALL))[:3]
    found = {
        rows.key(one): {"outcome": KILLED, "by": "a test"},
        rows.key(two): {"outcome": SURVIVED, "by": ""},
    }
    said = mutants.report([one, two, three], found, 3)
    assert said.startswith("2 of 3 mutants tried, 1 killed: 50.0%")
    assert f"{SMALL.as_posix()}:{two.line} {two.operator}" in said
    assert len([line for line in said.splitlines() if line.startswith("src/")]) == 1
