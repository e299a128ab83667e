"""Files by pattern and queries on the command line, dry runs, and the bar for long scans."""

import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpquantiles as dpq
from dpquantiles.cli import release
from dpquantiles.cli.dry_run import _bytes
from tests.cli.conftest import Command
from tests.cli.test_errors import assert_refused

OPTIONS = ("-c", "x", "-q", "deciles", "-e", "1", "--seed", "3", "--format", "csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    numbers = list(range(1000))
    pq.write_table(pa.table({"x": numbers[:400]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": numbers[400:]}), tmp_path / "b.parquet")
    (tmp_path / "all.csv").write_text("\n".join(["x", *map(str, numbers), ""]))
    with duckdb.connect(str(tmp_path / "numbers.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(1000)")
    return tmp_path


def test_all_ways_to_the_same_numbers_give_the_same_answers(run: Command, folder: Path) -> None:
    expected = run("release", folder / "all.csv", *OPTIONS).out
    assert expected.startswith("q,value\n0.1,")
    database = ("--database", folder / "numbers.duckdb")
    for place in (
        (f"{folder}/*.parquet",),
        (f"{folder}/*.csv",),
        ("--sql", f"SELECT x FROM '{folder}/*.parquet'"),
        ("--sql", "SELECT x FROM t", *database),
        ("--sql", "SELECT x FROM t", *database, "--type", "int"),
    ):
        done = run("release", *place, *OPTIONS)
        assert (done.code, done.out) == (0, expected), done.err


def test_the_type_of_cells_is_said(run: Command, folder: Path) -> None:
    assert "column 'x' read as int" in run("release", f"{folder}/*.csv", *OPTIONS).err
    assert "read as" not in run("release", f"{folder}/*.parquet", *OPTIONS).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "data must be given once: either a FILE, or a query with --sql"),
        (("a.csv", "--sql", "SELECT 1"), "data must be given once"),
        (("a.csv", "--database", "b.duckdb"), "database must come with --sql"),
        (("none/*.parquet",), "no such file: 'none/*.parquet'"),
        (("--sql", "DROP TABLE t"), "sql must be one SELECT statement"),
        (("--sql", "SELECT 1 AS y"), "column must name a column of the table, got 'x'"),
        (("--sql", "SELECT 'a' AS x"), "column 'x': data must be numbers"),
        (("--sql", "SELECT 1 AS x", "--database", "none.duckdb"), "no such file: 'none.duckdb'"),
    ],
)
def test_what_is_wrong_with_a_place(run: Command, arguments: tuple[str, ...], message: str) -> None:
    assert_refused(run, message, "release", *arguments, *OPTIONS)


def test_an_engine_that_fails_is_one_line_without_data(run: Command) -> None:
    sql = "SELECT CASE WHEN range = 7 THEN error('secret') ELSE 1.5 END::DOUBLE AS x FROM range(9)"
    done = run("release", "--sql", sql, *OPTIONS)
    assert done.code == 2
    assert done.err.startswith("error: DuckDB failed while the data was read")
    assert "secret" not in done.err
    assert done.out == ""


def test_a_dry_run_shows_what_would_be_read_and_its_cost(run: Command, folder: Path) -> None:
    done = run("release", f"{folder}/*.parquet", *OPTIONS, "--dry-run")
    assert done.code == 0
    assert "2 files" in done.out
    assert "1,000 rows" in done.out
    assert "x: int" in done.out
    assert "9 quantiles; mechanism: auto" in done.out
    assert "epsilon = 1" in done.out
    assert "nothing was released" in done.out


def test_a_dry_run_keeps_a_protected_number_of_rows(run: Command, folder: Path) -> None:
    options = ("--neighbors", "add-remove", "--dry-run")
    assert "rows" not in run("release", f"{folder}/*.parquet", *OPTIONS, *options).out


def test_a_dry_run_reads_no_record(run: Command, folder: Path) -> None:
    (folder / "all.csv").write_text("x\nthis is no number\n")
    done = run("release", folder / "all.csv", *OPTIONS, "--dry-run")
    assert "not declared, found when the file is read" in done.out
    sql = "SELECT error('secret')::DOUBLE AS x FROM range(9)"
    assert "a query" in run("release", "--sql", sql, *OPTIONS, "--dry-run").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bounds", "5", "1"), "bounds must have lower < upper"),
        (("--type", "number"), "type must be one of"),
        (("--missing", "never"), "missing must be one of"),
    ],
)
def test_a_dry_run_checks_what_is_public(
    run: Command, folder: Path, options: tuple[str, ...], message: str
) -> None:
    place = f"{folder}/*.parquet"
    assert_refused(run, message, "release", place, *OPTIONS, "--dry-run", *options)


def test_bytes_in_words() -> None:
    told = [_bytes(size) for size in (0, 999, 1000, 123_456_789, 5 * 10**17)]
    assert told == ["0 bytes", "999 bytes", "1.0 kB", "123.5 MB", "500.0 PB"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def bar(monkeypatch: pytest.MonkeyPatch, percent: Any, size: int | None) -> str:
    """What a terminal shows while data is read for a second."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(release, "DELAY", 0.0)
    monkeypatch.setattr(release, "PERIOD", 0.01)
    with release.scanning(percent, size):
        time.sleep(0.6)
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.getvalue())


@pytest.mark.parametrize("size", [None, 10_000_000])
def test_a_long_scan_shows_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    shown = bar(monkeypatch, lambda: 40.0, size)
    assert "reading" in shown
    assert ("4.0 MB of 10.0 MB" if size else "40%") in shown


@pytest.mark.parametrize("percent", [None, lambda: 0.0, lambda: -1.0])
def test_the_bar_moves_where_the_engine_says_nothing(
    monkeypatch: pytest.MonkeyPatch, percent: Any
) -> None:
    """As for groups, whose rows an engine hands over while its query goes on."""
    frames = set(re.findall("reading (.*?)[\r\n]", bar(monkeypatch, percent, 10_000_000)))
    assert "0:00:00" in "".join(frames)
    assert "of" not in "".join(frames)


def test_a_further_scan_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([50.0, 90.0, 0.0, 0.0, 10.0, 60.0])
    assert "reading, scan 2" in bar(monkeypatch, lambda: next(told, 60.0), None)


def test_no_bar_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, short = io.StringIO(), Terminal()
    for stream, delay in ((shown, 0.0), (short, 60.0)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(release, "DELAY", delay)
        with release.scanning(lambda: 40.0, None):
            time.sleep(0.05)
        assert stream.getvalue() == ""


def test_duckdb_tells_how_far_it_is(folder: Path) -> None:
    from dpquantiles.sources.named import Named
    from dpquantiles.sources.source import open_whole

    query = Named("SELECT x FROM t", is_query=True, database=str(folder / "numbers.duckdb"))
    percent = open_whole(query).table.percent
    assert percent is not None
    assert percent() <= 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,w\n1,2\n", "b.csv' lacks it"),
        ("v,x,v\n1,2,3\n", "b.csv' has several of that name"),
        ("", "b.csv' must begin with a line of column names"),
    ],
)
def test_all_headers_are_read_before_the_charge(
    run: Command, tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text("x,v\n1,3\n")
    (tmp_path / "b.csv").write_text(content)
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=10)
    account = ("--ledger", tmp_path / "budget.db", "--dataset", "people")
    roles = ("-c", "v"), ("-c", "v", "--type", "int"), ("-c", "x", "--unit", "v")
    for role in (*roles, ("-c", "x", "--by", "v", "--keys", "3")):
        asked = ("release", f"{tmp_path}/*.csv", *role, "-q", "0.5", "-e", "1", *account)
        done = run(*asked)
        assert done.code == 2
        assert message in done.err
    assert len(ledger) == 1
