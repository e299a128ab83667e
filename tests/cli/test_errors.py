"""Whatever is wrong with a command: exit code 2 and one line that says what, why and how."""

from pathlib import Path

import pytest

from dpquantiles.cli import main, screen
from dpquantiles.sources import named, parquet_files
from tests.cli.conftest import Command


def assert_refused(run: Command, message: str, *arguments: object) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert message in done.err


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e999"])
def test_epsilon_must_be_positive(run: Command, table: Path, epsilon: str) -> None:
    message = "epsilon must be positive and finite"
    assert_refused(run, message, "release", table, "-c", "change", "-q", "0.5", "-e", epsilon)


@pytest.mark.parametrize("epsilon", ["much", "", "1,5"])
def test_epsilon_must_be_a_number(run: Command, table: Path, epsilon: str) -> None:
    message = f"epsilon must be a positive, finite number, got {epsilon!r}; try 1"
    assert_refused(run, message, "release", table, "-c", "change", "-q", "0.5", "-e", epsilon)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("1.5", "q must lie between 0 and 1, got 1.5"),
        ("-0.1", "q must lie between 0 and 1, got -0.1"),
        ("nan", "q must lie between 0 and 1, got nan"),
        ("inf", "q must lie between 0 and 1, got inf"),
        ("50", "got 50; the percentile is p50, which is 0.5 as a quantile"),
        ("99.9", "got 99.9; the percentile is p99.9, which is 0.999 as a quantile"),
        ("p101", "q must lie between p0 and p100, got p101"),
        ("foo", "got 'foo'; for example 0.25,0.5,0.75 or p99.9 or deciles"),
        ("p5.5.5", "got '5.5.5'"),
        ("", "q must name at least one quantile"),
        (" , ", "q must name at least one quantile"),
        ("decile", "did you mean 'deciles'?"),
        ("0.1;0.2", "for example 0.25,0.5,0.75"),
        ("0.5x", "got '0.5x'"),
        ("0.1:0.9", "start:stop:step, got '0.1:0.9'"),
        ("0:inf:0.1", "start:stop:step"),
        ("0.1:x:0.1", "got 'x'"),
        ("0.1:0.9:0", "step > 0"),
        ("0.9:0.1:0.1", "start <= stop"),
        ("0:1:1e-9", "at most 100000 quantiles"),
    ],
)
def test_quantiles(run: Command, table: Path, q: str, message: str) -> None:
    assert_refused(run, message, "release", table, "-c", "change", "-q", q, "-e", "1")


@pytest.mark.parametrize("rest", [(), ("--format", "csv"), ("-f", "csv")])
def test_one_bound_alone(run: Command, table: Path, rest: tuple[str, ...]) -> None:
    done = run("release", table, "-c", "change", "-q", "0.5", "-e", "1", "--bounds", "100", *rest)
    assert done.code == 2
    assert "bounds must be two values, the lowest and the highest, got '100' alone" in done.err


@pytest.mark.parametrize(
    ("column", "bounds", "message"),
    [
        ("change", ("5", "1"), "bounds must have lower < upper"),
        ("change", ("1", "1"), "bounds must have lower < upper"),
        ("change", ("nan", "1"), "finite"),
        ("rate", ("0", "inf"), "finite"),
        ("change", ("low", "high"), "bounds must be of type int like the column, got 'low'"),
        ("change", ("2024-01-01", "2025-01-01"), "bounds must be of type int"),
        ("day", ("1", "2"), "bounds must be of type date like the column, got '1'; for example"),
        ("day", ("2024-02-30", "2025-01-01"), "bounds must be of type date"),
    ],
)
def test_bounds(
    run: Command, table: Path, column: str, bounds: tuple[str, str], message: str
) -> None:
    command = ("release", table, "-c", column, "-q", "0.5", "-e", "1", "--bounds", *bounds)
    assert_refused(run, message, *command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--size", "-1", "--neighbors", "add-remove"), "size must be at least 0"),
        (("--size", "many", "--neighbors", "add-remove"), "size must be a whole number"),
        (("--size", "5"), "use --neighbors add-remove"),
        (("--neighbors", "add_remove"), "did you mean 'add-remove'?"),
        (("--mechanism", "joint-exp"), "did you mean 'joint_exp'?"),
        (("--missing", "uper"), "did you mean 'upper'?"),
        (("--missing", "nan"), "or a value of type int, got 'nan'"),
        (("--format", "jsn"), "did you mean 'json'?"),
        (("--type", "integer"), "did you mean 'int'?"),
        (("--seed", "x"), "seed must be a whole number"),
        (("--resolution", "0"), "resolution must be positive"),
        (("--resolution", "x", "--bounds", "0", "9"), "resolution must be of type int"),
        (
            ("--resolution", "10", "--bounds", "0", "9"),
            "bounds must leave at least two possible answers",
        ),
        (("--bounds", "1"), "bounds must be two values, the lowest and the highest, got '1' alone"),
        (("--bounds", "0,5", "100,5"), "bounds must be of type int like the column, got '0,5'"),
        (("--bounds", "0,5,9"), "bounds must be two values"),
        (("--size", "1.5", "--neighbors", "add-remove"), "size must be a whole number, got '1.5'"),
        (("--size", "1e99999999", "--neighbors", "add-remove"), "size must be a whole number"),
        (("--size", "nan", "--neighbors", "add-remove"), "size must be a whole number"),
        (("-o", "answers.xlsx"), "must end in one of .txt, .json, .csv, .md, .html, .svg, .parq"),
        (("-o", "no/such/folder.csv"), "there is no folder 'no/such'"),
        (("--plot", "picture.png"), "plot must end in .svg, got 'picture.png'; for other formats"),
        (("--format", "parquet"), "format must be one of 'text', 'json', 'csv', 'md', 'html', 's"),
        (("--colum", "x"), "--column"),
        (
            ("-q", "percentiles", "-e", "1e-9", "--mechanism", "joint_exp"),
            "epsilon must be at least",
        ),
    ],
)
def test_options(run: Command, table: Path, options: tuple[str, ...], message: str) -> None:
    assert_refused(run, message, "release", table, "-c", "change", "-q", "0.5", "-e", "1", *options)


def test_resolution_of_dates_is_a_length_of_time(run: Command, table: Path) -> None:
    command = ("release", table, "-c", "day", "-q", "0.5", "-e", "1", "--resolution", "7")
    assert_refused(run, "must be a length of time, got '7'; for example 7d", *command)


def test_columns(run: Command, table: Path) -> None:
    rest = ("-q", "0.5", "-e", "1")
    assert_refused(run, "did you mean 'change'?", "release", table, "-c", "chnge", *rest)
    assert_refused(run, "a column of text", "release", table, "-c", "name", *rest)
    assert_refused(run, "see dpquantiles release --help", "release", table, *rest)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.csv", None, "no such file"),
        ("junk.csv", bytes(range(256)), "does not look like text in UTF-8"),
        ("junk.parquet", bytes(range(256)), "is not a Parquet file"),
        ("broken.parquet", b"PAR1" + bytes(99) + b"PAR1", "may be cut off or damaged"),
        ("empty.csv", b"", "must begin with a line of column names"),
        ("table.xlsx", b"", "must end in .csv, .tsv"),
    ],
)
def test_files(
    run: Command, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_refused(run, message, "release", tmp_path / name, "-c", "x", "-q", "0.5", "-e", "1")


def test_a_directory(run: Command, tmp_path: Path) -> None:
    command = ("release", tmp_path, "-c", "x", "-q", "0.5", "-e", "1")
    assert_refused(run, "is a directory", *command)


def test_a_missing_library(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    for module in (named, parquet_files):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    command = ("release", tmp_path / "x.parquet", "-c", "x", "-q", "0.5", "-e", "1")
    assert_refused(run, "pip install 'dpquantiles[pyarrow]'", *command)


def test_commands(run: Command) -> None:
    assert_refused(run, "No such command 'relase'", "relase")
    assert "? See dpquantiles --help" in run("relase").err
    assert_refused(run, "Missing option '--column'", "release")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EOFError])
def test_an_interrupt_is_quiet(
    run: Command, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    def interrupt(_: str) -> None:
        raise stop

    monkeypatch.setattr(screen, "result", interrupt)
    done = run("--version")
    assert (done.code, done.out, done.err.strip()) == (130, "", "")


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(screen, "result", fail)
    with pytest.raises(ZeroDivisionError):
        main(["--version"])
