"""The page stands alone, tells all, and the command leaves everything where it says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.paper import __main__ as command
from experiments.paper import report
from experiments.paper.drawing import Curve, band
from experiments.paper.figures import FIGURES
from experiments.paper.scale import FULL, QUICK
from experiments.paper.sections import SECTIONS
from experiments.rows import alone_in
from tests.experiments import stored

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("paper")
    report.write(found, QUICK, stored.results())
    return found


def test_every_figure_is_there_twice_and_has_its_section(folder: Path) -> None:
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.svg").stat().st_size > 1000
        assert (folder / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert {section.figure for section in SECTIONS} == set(FIGURES)


def test_a_band_does_not_stretch_a_log_axis() -> None:
    curve = Curve.of({1: np.array([0.0, 6.0]), 2: np.array([4.0, 6.0]), 3: np.array([])})
    assert list(curve.x) == [1, 2]
    low, high = band(curve)
    assert low.tolist() == [0.75, 4.0]
    assert high.tolist() == [6.0, 6.0]


def test_the_page_needs_no_other_file(folder: Path) -> None:
    text = (folder / "index.html").read_text("utf-8")
    assert text.count("<img") == len(FIGURES)
    assert set(re.findall(r"src='([a-z]+:[a-z/+]+;)", text)) == {"data:image/svg+xml;"}
    assert all(target.startswith("#") for target in re.findall(r"href='([^']*)'", text))
    assert not re.search(r"<script|<link|url\(", text)
    assert "none of these releases carries a guarantee" in text
    assert "stands in" in text


def test_claims_are_plain_json_and_all_on_the_page(folder: Path) -> None:
    found = json.loads((folder / "claims.json").read_text("utf-8"))
    page = (folder / "index.html").read_text("utf-8")
    summary = (folder / "summary.md").read_text("utf-8")
    assert len(found) > 20
    for line in found:
        assert line["claim"].replace("'", "&#x27;") in page
        assert line["claim"] in summary
        assert line["command"] in page


def test_a_second_run_in_the_folder_stops(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "experiments.paper", "--output", str(tmp_path)]
    with alone_in(tmp_path):
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == command.IN_USE
    assert "is in use by another run" in done.stderr


def test_goodreads_is_named_by_option_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPQUANTILES_GOODREADS", "a.csv:b.csv")
    assert command.parser().parse_args([]).goodreads == [Path("a.csv"), Path("b.csv")]
    options = command.parser().parse_args(["--goodreads", "c.csv"])
    assert options.goodreads == [Path("c.csv")]


@pytest.mark.slow
def test_the_command_makes_a_part_and_goes_on_from_it(tmp_path: Path) -> None:
    """The real command: a missing file is told, the part runs, a second call measures nothing."""
    arguments = ["--quick", "--only", "tied", "--output", str(tmp_path), "--goodreads", "no.csv"]
    line = [sys.executable, "-m", "experiments.paper", *arguments]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no.csv is not used" in done.stderr
    assert "Kaggle" in done.stderr
    kept = (tmp_path / "rows" / "rows.jsonl").read_bytes()
    assert kept.count(b"\n") == 90
    again = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0
    assert (tmp_path / "rows" / "rows.jsonl").read_bytes() == kept
    assert "runs" not in again.stderr


def test_a_quick_run_says_that_it_is_no_judge(folder: Path) -> None:
    said = "10 trials per point are too few to judge claims"
    for name in ("index.html", "summary.md"):
        assert said in (folder / name).read_text("utf-8")
    assert report.cautions(FULL) == []
