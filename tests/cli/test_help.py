"""Help and completion: options in panels, and names that shells complete."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest

from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner.tables import CANDIDATES
from tests.cli.conftest import Command


def test_help_has_panels(run: Command) -> None:
    shown = run("release", "--help").out
    panels = ["Data", "Answers", "Privacy", "Groups and people", "Ledger", "Output"]
    assert re.findall(r"─ ([A-Z][a-z ]+) ─", shown)[2:] == panels


def test_a_plan_reads_no_file_to_find_a_type(run: Command) -> None:
    release, plan = (" ".join(run(name, "--help").out.split()) for name in ("release", "plan"))
    assert "inferred from the" in release
    assert "inferred from the" not in plan


def test_all_budgets_are_in_one_panel(run: Command) -> None:
    panel = run("ledger", "create", "--help").out.partition("Privacy")[2]
    assert all(name in panel for name in ("--epsilon", "--delta", "--rho"))


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


def test_mechanisms_are_listed_in_words(run: Command) -> None:
    shown = run("mechanisms").out
    head, *parts = shown.split("\n\n")
    assert " ".join(head.split()).startswith("A mechanism is the algorithm that draws the answers.")
    other = parts.index("For other needs, with --mechanism NAME:")
    assert {part.split()[0] for part in parts[1:other]} == set(CANDIDATES)
    assert {part.split()[0] for part in parts[other + 1 :]} == set(MECHANISMS) - set(CANDIDATES)
    assert "Needs --bounds. For research only, never for publication." in " ".join(shown.split())
    listed = json.loads(run("mechanisms", "--format", "json").out)
    assert [one["name"] for one in listed] == list(MECHANISMS)
    assert all(one["cost"] for one in listed)


EVERY = ["", "release", "show", "plan", "studio", "mechanisms", "demo", "doctor", "audit", "ledger"]
EVERY += [f"ledger {name}" for name in ("create", "show", "verify", "export")]


@pytest.mark.parametrize("command", EVERY)
def test_help_shows_names_and_no_types(command: str, run: Command) -> None:
    shown = run(*command.split(), "--help").out
    assert not re.search(r"<\w+>|\{", shown)
    if command.startswith("ledger "):
        assert re.search(rf"Usage: dpquantiles {command} \[OPTIONS\] FILE *\n", shown)


@pytest.mark.parametrize("command", EVERY)
def test_sentences_of_a_help_page_fill_their_lines(command: str, run: Command) -> None:
    """Lines end early only where a paragraph ends."""
    intro = run(*command.split(), "--help").out.partition("╭")[0]
    for paragraph in re.split(r"\n\s*\n", intro.strip()):
        for line, below in pairwise(paragraph.splitlines()):
            assert len(f"{line.rstrip()} {below.split()[0]}") >= 80
