"""`dpquantiles audit`: the table, JSON, files, and the exit code when a claim does not hold."""

import json
from pathlib import Path

import pytest

from dpquantiles.auditing import package
from dpquantiles.mechanisms.joint_exp import JointExp
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    effort = package.Effort((0, 1, 2), (1.0,), 2, 200, 100, False)
    monkeypatch.setattr(package, "QUICK", effort)


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """Of swap neighbors, for which it is two."""
    patch.setattr(JointExp, "sensitivity", property(lambda _: 1))


def test_a_table(run: Command) -> None:
    done = run("audit", "--mechanism", "joint_exp", "-m", "agg_tree")
    assert done.code == 0
    for words in ("Exact:", "Spending:", "Statistical:", "Hostile:", "2 mechanisms", "eps 1"):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_broken_mechanism_gives_exit_code_one(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    halve_the_sensitivity(monkeypatch)
    done = run("audit", "-m", "joint_exp", "--quick")
    assert done.code == 1
    assert "claims failed" in done.out
    assert " !" in done.out
    path = tmp_path / "audit.json"
    done = run("audit", "-m", "joint_exp", "--format", "json", "--output", path)
    assert (done.code, done.out) == (1, "")
    assert "wrote the audit to" in done.err
    assert json.loads(path.read_text("utf-8"))["passed"] is False


def test_json(run: Command) -> None:
    plain = run("audit", "-m", "agg_tree", "-f", "json").json
    assert plain["passed"] is True
    assert {row["subject"] for row in plain["findings"]} == {"agg_tree"}


@pytest.mark.parametrize("wrong", [("-m", "joint"), ("--format", "csv")])
def test_wrong_options_are_refused(run: Command, wrong: tuple[str, str]) -> None:
    done = run("audit", *wrong)
    assert done.code == 2
    assert "must be one of" in done.err
