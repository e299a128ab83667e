"""Answers that must not change by accident: seeded calls of everything, against what is kept.

`pytest tests/golden --rewrite-golden` keeps what the code gives now; the difference belongs in the
change log.
"""

import json
import math
import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.golden import cases, ledgers, numbers, stated

HERE = Path(__file__).parent


def compare(
    group: str,
    found: Iterable[cases.Case],
    rewrite: bool,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> None:
    """One file per group, one line per case: its name and its answer."""
    given = {name: call() for name, call in found}
    path = HERE / f"{group}.jsonl"
    if rewrite:
        lines = [json.dumps(case, sort_keys=True) for case in given.items()]
        path.write_text("\n".join([*lines, ""]), "utf-8")
    kept: dict[str, Any] = dict(map(json.loads, path.read_text("utf-8").splitlines()))
    assert list(given) == list(kept)
    differing = {
        name: (kept[name], answer) for name, answer in given.items() if not same(answer, kept[name])
    }
    assert not differing


def nearly(one: Any, other: Any) -> bool:
    """Whether two plain values are the same, but for the last digits of what is computed."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(nearly, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(nearly(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite-golden"))


def test_mechanisms(rewrite: bool) -> None:
    compare("mechanisms", cases.of_mechanisms(), rewrite)


def test_kinds(rewrite: bool) -> None:
    compare("kinds", cases.of_kinds(), rewrite)


def test_sources(rewrite: bool, tmp_path: Path) -> None:
    compare("sources", cases.of_sources(tmp_path), rewrite)


def test_plans(rewrite: bool) -> None:
    compare("plans", cases.of_plans(), rewrite)


def test_commands(rewrite: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(cases.of_sources(tmp_path))
    found = cases.of_commands(tmp_path, lambda: (lambda s: (s.out, s.err))(capsys.readouterr()))
    compare("commands", found, rewrite)


def test_constants(rewrite: bool) -> None:
    compare("constants", stated.of_constants(), rewrite)


def test_numbers(rewrite: bool) -> None:
    compare("numbers", numbers.of_numbers(), rewrite, nearly)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.1, 0.1 + 1e-12, True),
        (0.1, 0.1 + 1e-9, False),
        ([1, {"a": [2.0]}], [1, {"a": [2.0]}], True),
        ([1, {"a": [2.0]}], [1, {"a": [2.1]}], False),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        (1, True, False),
        ("1", 1, False),
    ],
)
def test_nearly_the_same_is_no_more_than_digits(one: Any, other: Any, same: bool) -> None:
    assert nearly(one, other) == same


def test_ledgers(rewrite: bool, tmp_path: Path) -> None:
    compare("ledgers", ledgers.of_ledgers(tmp_path), rewrite, nearly)
