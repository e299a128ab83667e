"""Missing values on the command line: what counts as one, and that it is always said."""

from pathlib import Path

import pytest

import dpquantiles as dpq
from tests.cli.conftest import Command

MESSY = ["31,000", "n/a", "-999", "", "unknown"]
LEFT_OUT = "missing values are left out; how many there are stays protected"


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    """Two thirds of the cells are 40; every other one is a mess."""
    path = tmp_path / "messy.csv"
    cells = ["40", "40", '"{}"'] * 200
    rows = [cell.format(MESSY[k % len(MESSY)]) + ",a" for k, cell in enumerate(cells)]
    path.write_text("\n".join(["pay,who", *rows, ""]))
    return path


def median(run: Command, *options: object, q: str = "median") -> list[float]:
    done = run("release", "-c", "pay", "-q", q, "-e", 20, "--bounds", -1000, 1000, *options)
    assert done.code == 0, done.err
    assert LEFT_OUT in done.err
    answers: list[float] = done.json["values"]
    return answers


@pytest.mark.parametrize("pattern", [False, True])
def test_cells_that_are_no_numbers_are_left_out(run: Command, messy: Path, pattern: bool) -> None:
    file = str(messy.parent / "*.csv") if pattern else messy
    for stated in ((), ("--type", "int")):
        assert median(run, file, *stated, q="0.2,0.5,0.9") == [40, 40, 40]
        # A number that stands for a missing value is one until it is named.
        assert median(run, file, *stated, q="0.02") == [-999]
        for na in (("--na", "-999"), ("--na", "x", "--na", " -999 ")):
            assert median(run, file, *stated, *na, q="0.02") == [40]


def test_text_is_named_without_regard_to_case(run: Command, tmp_path: Path) -> None:
    """So that most of a column may be missing, and its type is still found."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["pay", *["Refused"] * 60, *["3"] * 40, ""]))
    assert run("release", path, "-c", "pay", "-q", "0.5", "-e", 1).code == 2
    assert median(run, path, "--na", "REFUSED") == [3]


def test_a_policy_is_said_in_every_form(run: Command, messy: Path) -> None:
    command = ("release", messy, "-c", "pay", "-q", "median", "-e", 9, "--type", "int")
    for options, provenance, sentence in (
        ((), "drop", LEFT_OUT),
        (("--missing", "upper"), "upper", "missing values count as the highest value"),
        (("--missing", "17"), 17, "missing values count as 17"),
    ):
        plain = run(*command, "--bounds", 0, 99, *options)
        assert plain.json["provenance"]["missing"] == provenance
        assert sentence in plain.err
        text = " ".join(run(*command, "--bounds", 0, 99, *options, "--format", "text").out.split())
        assert f"M{sentence[1:]}." in text
        dry = run(*command, "--bounds", 0, 99, *options, "--dry-run").out
        cells = "Cells that are empty, named by --na or not whole numbers count as missing"
        assert f"Missing: {cells}; {sentence}\n" in dry


def test_only_cells_of_csv_files_can_be_named(run: Command) -> None:
    done = run("release", "--sql", "SELECT 1 AS x", "-c", "x", "-q", "0.5", "-e", 1, "--na", "-9")
    assert done.code == 2
    assert "na must come with CSV files, got '-9'" in done.err


def test_a_column_of_text_is_refused_before_the_charge(run: Command, tmp_path: Path) -> None:
    """Where a schema declares it; nothing is charged, and no cell is read."""
    budget = tmp_path / "budget.db"
    run("ledger", "create", budget, "--epsilon", 5)
    entries, charged = len(dpq.Ledger(budget)), ("--ledger", budget, "--dataset", "x")
    sql = "SELECT * FROM (VALUES ('31,000'), ('n/a')) t(pay)"
    done = run("release", "--sql", sql, "-c", "pay", "-q", "0.5", "-e", 1, *charged)
    assert done.code == 2
    assert "pay" in done.err
    assert "31,000" not in done.err.replace(sql, "")
    assert len(dpq.Ledger(budget)) == entries


def test_what_is_missing_belongs_to_a_request(run: Command, messy: Path, tmp_path: Path) -> None:
    budget = tmp_path / "budget.db"
    run("ledger", "create", budget, "--epsilon", 5)
    charged = ("--ledger", budget, "--dataset", "x", "--request-id", "one", "--type", "int")
    command = ("release", messy, "-c", "pay", "-q", "0.5", "-e", 1, *charged)
    first = run(*command, "--na", "-999")
    assert first.code == 0
    assert run(*command, "--na", "-999").out == first.out
    assert run(*command).code == 2
