"""Files of a release: every format, checked before the charge, and nothing paid for is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from dpquantiles import Ledger, Release
from dpquantiles.cli import destinations, outputs, screen
from tests.cli.conftest import Command, Run
from tests.present.releases import EVERY_TYPE, release
from tests.present.test_pictures import RESULTS

ASK = ("-c", "change", "-q", "deciles", "-e", "5", "--type", "int")
ENDINGS = ("json", "csv", "parquet", "md", "html", "svg", "txt")


@pytest.fixture
def ask(run: Command, table: Path) -> Command:
    def call(*options: object) -> Run:
        return run("release", table, *ASK, *options)

    return call


def test_one_release_in_every_format(ask: Command, run: Command, tmp_path: Path) -> None:
    files = [tmp_path / f"deciles.{ending}" for ending in ENDINGS]
    done = ask("--intervals", 0.9, *(part for file in files for part in ("-o", file)))
    assert (done.code, done.out) == (0, "")
    assert all(f"'{file}'" in done.err for file in files)
    text = dict(zip(ENDINGS, files, strict=True))
    made = Release.from_json(text["json"].read_text("utf-8"))
    plain = json.loads(text["json"].read_text("utf-8"))
    assert list(zip(plain["lower"], plain["upper"], strict=True)) == list(made.interval())
    frame = pl.read_parquet(text["parquet"])
    assert frame.to_dict(as_series=False) == made.columns()
    assert pl.read_csv(text["csv"]).rows() == frame.rows()
    assert text["md"].read_text("utf-8").splitlines()[2].split("|")[1:3] == [
        " 0.1 ",
        f" {made.values[0]} ",
    ]
    assert text["html"].read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "differential privacy" in text["html"].read_text("utf-8")
    ElementTree.fromstring(text["svg"].read_text("utf-8"))
    assert text["txt"].read_text("utf-8").split()[:4] == ["q", "change", "lower", "upper"]
    for ending in set(ENDINGS) - {"parquet"}:
        printed = run("show", text["json"], "--format", {"txt": "text"}.get(ending, ending)).out
        assert printed.strip("\n") == text[ending].read_text("utf-8").strip("\n")
    assert sorted(path.name for path in tmp_path.glob("*deciles*")) == sorted(
        file.name for file in files
    )


def test_a_format_prints_beside_files_and_a_plot_leaves_the_rest_as_it_was(
    ask: Command, tmp_path: Path
) -> None:
    both = ask("-o", tmp_path / "a.json", "--format", "csv")
    assert both.out.startswith("q,value\n")
    assert (tmp_path / "a.json").exists()
    drawn = ask("--plot", tmp_path / "a.svg")
    assert drawn.json["q"][0] == 0.1
    ElementTree.fromstring((tmp_path / "a.svg").read_text("utf-8"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("old.json",), "'old.json' already exists; name another file, or add --force"),
        (("new.csv", "old.json"), "already exists"),
        (("new.csv", "./new.csv"), "output must name each file once"),
        (("folder.csv",), "it is a folder"),
        (("none/new.csv",), "there is no folder 'none'"),
        (("new",), "must end in one of"),
        (("table.csv", "--force"), "output must not be a file that it is made from"),
        (("budget.db",), "must end in one of"),
        ((f"{'n' * 300}.csv",), "File name too long"),
    ],
)
def test_an_output_is_refused_before_the_charge(
    run: Command,
    table: Path,
    tmp_path: Path,
    names: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(tmp_path / "budget.db", epsilon=9)
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "folder.csv").mkdir()
    before = table.read_text()
    files = [part for name in names for part in (("-o", name) if "-" not in name else (name,))]
    charged = ("--ledger", "budget.db", "--dataset", "pay")
    done = run("release", table.name, *ASK, *charged, *files)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(ledger) == 1
    assert (tmp_path / "old.json").read_text() == "old"
    assert table.read_text() == before
    assert not (tmp_path / "new.csv").exists()


def test_force_writes_over(ask: Command, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text("old")
    assert ask("-o", path, "--force").code == 0
    assert Release.from_json(path.read_text("utf-8")).type == "int"


def test_parquet_without_a_library_is_refused_before_the_charge(
    ask: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destinations, "find_spec", lambda _: None)
    done = ask("-o", tmp_path / "a.parquet")
    assert done.code == 2
    assert "pip install 'dpquantiles[pyarrow]'" in done.err


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_result_fits_in_every_format(
    tmp_path: Path, ending: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "PARQUET_LIBRARIES", (library,))
    shown: list[Any] = [*EVERY_TYPE, *RESULTS.values()]
    for k, result in enumerate(shown):
        path = tmp_path / f"{k}.{ending}"
        outputs.deliver(result, destinations.outputs(None, [path], None, force=False, inputs=[]))
        assert path.stat().st_size
    if ending == "parquet":
        assert pl.read_parquet(tmp_path / "0.parquet")["value"].to_list() == [-26, -5, 52]


def assert_kept(done: Run, message: str) -> None:
    assert done.code == 4
    assert Release.from_json(done.out).type == "int"
    assert message in done.err
    assert "keep the JSON above, which dpquantiles show renders" in done.err


def test_a_file_that_fails_after_the_charge_loses_nothing(
    run: Command, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger(tmp_path / "budget.db", epsilon=9)
    (tmp_path / "old.csv").write_text("old")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    charged = ("--ledger", tmp_path / "budget.db", "--dataset", "pay", "--force")
    named = ("--request-id", "march")
    done = run("release", table, *ASK, *charged, *named, "-o", tmp_path / "old.csv")
    monkeypatch.undo()
    assert_kept(done, f"cannot write '{tmp_path / 'old.csv'}': No space left on device; keep")
    show = f"dpquantiles show {tmp_path / 'budget.db'} --request-id march"
    assert f"the ledger keeps it too: {show}" in done.err
    assert (tmp_path / "old.csv").read_text() == "old"
    again = run("show", tmp_path / "budget.db", *named)
    assert Release.from_json(again.out) == Release.from_json(done.out)


def test_a_format_that_fails_loses_nothing(
    ask: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any) -> str:
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(outputs.WRITERS, "md", broken)
    done = ask("-o", tmp_path / "a.md", "-o", tmp_path / "a.csv")
    assert_kept(done, f"cannot write '{tmp_path / 'a.md'}': a bug")
    assert (tmp_path / "a.csv").exists()
    assert not (tmp_path / "a.md").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits and devices of Linux")
def test_a_full_disk(table: Path, tmp_path: Path) -> None:
    import resource

    command = [sys.executable, "-m", "dpquantiles", "release", str(table), *ASK]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "a.json")],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert_kept(Run(done.returncode, done.stdout, done.stderr), "File too large")
    assert os.listdir(tmp_path) == [table.name]
    with open("/dev/full", "w") as full:
        printed = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert printed.returncode == 4
    assert "cannot write to stdout: No space left on device" in printed.stderr
    start = printed.stderr.index("{")
    assert Release.from_json(printed.stderr[start:]).type == "int"


def test_what_remains_is_told_after_each_release(run: Command, table: Path, tmp_path: Path) -> None:
    Ledger(tmp_path / "budget.db", epsilon=9)
    charged = ("--ledger", tmp_path / "budget.db", "--dataset", "pay")
    done = run("release", table, *ASK, *charged)
    assert "note: data set 'pay': epsilon = 4 remains of epsilon = 9\n" in done.err


def test_quiet_leaves_warnings_and_errors(run: Command, table: Path, tmp_path: Path) -> None:
    quiet = run("release", table, *ASK[:-2], "--quiet", "-o", tmp_path / "a.csv", "--seed", 1)
    assert quiet.err.startswith("warning: not private")
    assert "note:" not in quiet.err
    loud = run("release", table, *ASK[:-2])
    assert "note:" in loud.err
    assert "error:" in run("release", table, *ASK, "--quiet", "-o", "a.xlsx").err
    assert run("plan", "--size", 99, "-q", "0.5", "--rank-error", 0.1, "--quiet").err == ""
    assert run("ledger", "create", tmp_path / "new.db", "-e", 1, "--quiet").err == ""
    assert (tmp_path / "new.db").exists()


def test_no_color_means_none(run: Command, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = run("release", table, *ASK)
    assert "\x1b" in colored.out
    assert "\x1b" in colored.err
    monkeypatch.setenv("NO_COLOR", "1")
    plain = run("release", table, *ASK)
    assert "\x1b" not in plain.out + plain.err


def test_tables_fit_80_columns(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Ledger(tmp_path / "b.db", epsilon=9)
    for name, result in {**RESULTS, "wide": release(list(range(99)))}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(result.to_json())
        lines = run("show", path, "-f", "text").out.splitlines()
        assert max(map(len, lines)) <= 80, name
    for command in (("mechanisms",), ("doctor",), ("demo",), ("release", "-h"), ("show", "-h")):
        assert max(map(len, run(*command).out.splitlines())) <= 80, command
