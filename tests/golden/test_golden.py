"""Answers that must not change by accident: seeded calls of everything, against what is kept.

`pytest tests/golden --rewrite-golden` keeps what the code gives now; the difference belongs in the
change log.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.golden import cases

HERE = Path(__file__).parent


def compare(group: str, found: Iterable[cases.Case], rewrite: bool) -> None:
    """One file per group, one line per case: its name and its answer."""
    given = {name: call() for name, call in found}
    path = HERE / f"{group}.jsonl"
    if rewrite:
        lines = [json.dumps(case, sort_keys=True) for case in given.items()]
        path.write_text("\n".join([*lines, ""]), "utf-8")
    kept: dict[str, Any] = dict(map(json.loads, path.read_text("utf-8").splitlines()))
    assert list(given) == list(kept)
    differing = {
        name: (kept[name], answer) for name, answer in given.items() if answer != kept[name]
    }
    assert not differing


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
