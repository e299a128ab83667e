"""Runs of the real entry point, inside this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dpquantiles.cli import main


class Run(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(self.out)
        return plain


Command = Callable[..., Run]


@pytest.fixture(autouse=True)
def _plans(rough_plans: None) -> None:
    """A dry run shows what a plan says; the numbers are those of the library."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: object) -> Run:
        code = main([str(argument) for argument in arguments])
        return Run(code, *capsys.readouterr())

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table with one column of each kind, and gaps."""
    rows = [
        f"{k - 50},{k / 4},2024-01-{k % 28 + 1:02d},{'NA' if k % 10 == 0 else k},person {k}"
        for k in range(103)
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["change,rate,day,gaps,name", *rows, ""]))
    return path
