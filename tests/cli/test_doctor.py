"""`dpquantiles doctor`: what is there, what is not, and whether the core works."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from dpquantiles.cli import about
from dpquantiles.version import __version__
from tests.cli.conftest import Command


def test_a_healthy_installation(run: Command) -> None:
    done = run("doctor")
    assert done.code == 0
    assert __version__ in done.out
    assert done.out.count("\n  ok  ") == 2


def test_what_is_missing_gets_its_command(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    done = run("doctor")
    assert done.code == 0
    assert "pip install 'dpquantiles[plot]'" in done.out


def test_a_broken_core(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> bool:
        raise NotImplementedError("no entropy here")

    monkeypatch.setitem(about.CHECKS, "secure random bits", broken)
    monkeypatch.setitem(about.CHECKS, "wrong", lambda: False)
    done = run("doctor")
    assert done.code == 1
    assert "failed  secure random bits: NotImplementedError: no entropy here" in done.out
    assert "failed  wrong: wrong result" in done.out


def test_every_library_of_the_project_is_looked_for() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {extra for extra, _ in about.OPTIONAL.values()}
    assert extras == set(project["optional-dependencies"]) - {"dev", "docs", "mutants", "peers"}
    needed = {re.split(r"\W", line)[0] for line in project["dependencies"] if ";" not in line}
    assert needed == set(about.CORE)
