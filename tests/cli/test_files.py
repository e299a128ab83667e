"""Files as people have them: compressed, with tabs or semicolons, and from standard input."""

import gzip
import io
import sys
from pathlib import Path

import pytest

import dpquantiles as dpq
from tests.cli.conftest import Command

ASKED = ("-c", "pay", "-q", "median", "-e", 9, "--bounds", 0, 9000)
GERMAN = "name;pay\n" + "Anna;1.234,5\nBert;k. A.\n" * 300


class Stdin(io.TextIOWrapper):
    """Standard input that tells how much was read of it."""

    def __init__(self, text: str) -> None:
        self.bytes = io.BytesIO(text.encode())
        super().__init__(self.bytes)

    @property
    def rest(self) -> int:
        return len(self.bytes.getvalue()) - self.bytes.tell()


@pytest.fixture
def german(tmp_path: Path) -> Path:
    path = tmp_path / "lohn.csv"
    path.write_text(GERMAN, encoding="utf-8")
    return path


def median(run: Command, *arguments: object) -> float:
    done = run("release", *arguments, *ASKED)
    assert done.code == 0, done.err
    (value,) = done.json["values"]
    return float(value)


def test_decimal_commas_and_points_between_thousands(run: Command, german: Path) -> None:
    marks = ("--delimiter", ";", "--decimal", ",", "--thousands", ".")
    assert median(run, german, *marks) == pytest.approx(1234.5, abs=1)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("name;pay", "separated by semicolons, not by commas: add --delimiter ';'; if its numbers"),
        ("name\tpay", "separated by tabs, not by commas: add --delimiter '\\t'"),
        ("name|pay|x, y", "separated by bars, not by commas: add --delimiter '|'"),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_wrong_separator_gets_a_hint(
    run: Command, tmp_path: Path, header: str, hint: str, grouped: bool
) -> None:
    """It is found from the header, which is public; the lines below may hold anything."""
    path = tmp_path / "x.csv"
    for below in ("", "Anna,1\n", "a;b;c\n" * 5):
        path.write_text(f"{header}\n{below}", encoding="utf-8")
        groups = ("--by", "name", "--keys", "Anna") if grouped else ()
        done = run("release", path, *ASKED, *groups)
        assert done.code == 2
        assert hint in done.err
        assert "Anna" not in done.err.replace("'Anna'", "")


def test_numbers_in_another_form_are_text_and_the_error_teaches(run: Command, german: Path) -> None:
    done = run("release", german, *ASKED, "--delimiter", ";")
    assert done.code == 2
    assert "got a column of text" in done.err
    assert "--decimal ',' and --thousands '.'" in done.err


def test_american_thousands_and_dates_are_text_and_the_error_teaches(
    run: Command, tmp_path: Path
) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("\ufeffpay,hired\n" + '"1,234.50",03/31/2024\n' * 300, encoding="utf-8")
    done = run("release", path, *ASKED)
    assert done.code == 2
    assert "numbers like 1,234.5 need --thousands ','" in done.err
    assert median(run, path, "--thousands", ",") == pytest.approx(1234.5, abs=1)
    done = run("release", path, "-c", "hired", "-q", "median", "-e", 1)
    assert "dates must be written like 2024-03-31" in done.err


def test_the_form_of_dates_is_said_where_others_count_as_missing(
    run: Command, tmp_path: Path
) -> None:
    path = tmp_path / "hired.csv"
    path.write_text("hired\n" + "2024-03-31\n2024-04-01\n4/2/2024\n" * 100, encoding="utf-8")
    done = run("release", path, "-c", "hired", "-q", "median", "-e", 1)
    assert "cells that are empty, named by --na or not dates like 2024-03-31 count" in done.err


@pytest.mark.parametrize(
    ("bounds", "said"),
    [((0, 10), "Every answer is the highest possible value, 10."), ((0, 90), ""), ((50, 90), "")],
)
def test_answers_at_a_bound_get_a_hint(
    run: Command, tmp_path: Path, bounds: tuple[int, int], said: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "40\n50\n60\n" * 300, encoding="utf-8")
    asked = ("-c", "x", "-q", "quartiles", "-e", 9, "--bounds", *bounds, "-f", "text")
    shown = " ".join(run("release", path, *asked).out.split())
    assert ("Every answer" in shown) is bool(said)
    assert said in shown


@pytest.mark.parametrize("name", ["pay.tsv", "pay.tsv.gz", "pay.csv.gz", "pay.txt"])
@pytest.mark.parametrize("grouped", [False, True])
def test_files_by_their_names(run: Command, tmp_path: Path, name: str, grouped: bool) -> None:
    path, comma = tmp_path / name, "\t" if ".tsv" in name else ","
    content = f"who{comma}pay\n" + f"a{comma}40\n" * 500
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(content)
    asked = ("--delimiter", ",") if name.endswith(".txt") else ()
    if not grouped:
        assert median(run, path, *asked) == 40
        return
    done = run("release", path, *asked, *ASKED, "--by", "who", "--keys", "a")
    assert done.json["groups"][0]["values"] == [40]


@pytest.mark.parametrize("groups", [(), ("--by", "name", "--keys", "Anna,Bert")])
def test_standard_input(
    run: Command, monkeypatch: pytest.MonkeyPatch, groups: tuple[str, ...]
) -> None:
    marks = ("--delimiter", ";", "--decimal", ",", "--thousands", ".")
    monkeypatch.setattr(sys, "stdin", Stdin(f"\n{GERMAN}"))
    done = run("release", "-", *marks, *ASKED, *groups)
    assert done.code == 0, done.err
    release = done.json["groups"][0] if groups else done.json
    assert release["values"] == [pytest.approx(1234.5, abs=1)]


def test_only_the_header_of_standard_input_is_read_before_the_charge(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    account = ("--ledger", tmp_path / "budget.db", "--dataset", "people")
    for options, code in ((account, 3), (("--dry-run",), 0), (("--type", "number"), 2)):
        stdin = Stdin("name,pay\n" + "Anna,40\n" * 100)
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(stdin, "readline", None)
        done = run("release", "-", *ASKED, *options)
        assert done.code == code, done.err
        assert stdin.rest == len("Anna,40\n" * 100)


def test_a_request_from_standard_input_is_repeated_by_its_name(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dpq.Ledger(tmp_path / "budget.db", epsilon=9)
    account = ("--ledger", tmp_path / "budget.db", "--dataset", "people", "--request-id", "a")
    made = []
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", Stdin("name,pay\n" + "Anna,40\n" * 100))
        done = run("release", "-", *ASKED, *account)
        assert done.code == 0, done.err
        made.append(done.json)
    assert made[0] == made[1]


def test_errors_call_standard_input_by_its_name(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin("name,pays\nAnna,40\n"))
    done = run("release", "-", *ASKED)
    assert done.err.startswith("error: '-' has no column 'pay'; did you mean 'pays'?")
    monkeypatch.setattr(sys, "stdin", Stdin(""))
    assert "'-' must begin with a line of column names" in run("release", "-", *ASKED).err


def test_a_terminal_is_no_file(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = Stdin("")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "got a terminal; pipe a file into it" in run("release", "-", *ASKED).err


@pytest.mark.parametrize(
    "options", [("--delimiter", ";"), ("--decimal", ","), ("--thousands", ","), ("--na", "5")]
)
def test_a_query_has_no_dialect(run: Command, options: tuple[str, str]) -> None:
    done = run("release", "--sql", "SELECT 1 AS pay", *ASKED, *options)
    assert done.code == 2
    assert "must come with CSV files" in done.err
