"""Help and completion: options in panels, and names that shells complete."""

import os
import re
import subprocess
import sys

import pytest

from tests.cli.conftest import Command


def test_help_has_panels(run: Command) -> None:
    shown = run("release", "--help").out
    panels = ["Data", "Answers", "Privacy", "Groups and people", "Ledger", "Output"]
    assert re.findall(r"─ ([A-Z][a-z ]+) ─", shown)[2:] == panels


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("dpquantiles sh", ["show"]),
        ("dpquantiles release --mechanism join", ["joint_exp"]),
        ("dpquantiles release --neighbors a", ["add-remove"]),
        ("dpquantiles release -q q", ["quartiles"]),
        ("dpquantiles show --format s", ["svg"]),
        ("dpquantiles ledger export --format c", ["csv"]),
    ],
)
def test_shells_complete(typed: str, completed: list[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "dpquantiles"],
        env={**os.environ, "_DPQUANTILES_COMPLETE": "complete_bash", **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == completed
