"""`dpquantiles demo`: its numbers are right and its advice works."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from dpquantiles.cli.about import rank_errors
from dpquantiles.data import flight_delays
from tests.cli.conftest import Command
from tests.present.releases import release


def test_the_data_are_all_there() -> None:
    delays = flight_delays()
    assert len(delays) == 327_346
    assert str(delays.dtype) == "int64"
    assert np.quantile(delays, [0, 0.5, 1]).tolist() == [-86, -5, 1272]


def test_deciles_beside_the_exact_ones(run: Command) -> None:
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines() if line.startswith("  0.")]
    assert [row[0] for row in rows] == [f"0.{k}" for k in range(1, 10)]
    assert [int(row[2]) for row in rows] == [-26, -19, -14, -10, -5, 1, 9, 21, 52]
    assert all(int(row[3].replace(",", "")) < 3000 for row in rows)
    assert "differential privacy" in done.out
    assert "only because this data is public" in done.out


def test_rank_errors_count_ties_as_hits() -> None:
    data = np.array([1, 2, 2, 2, 3, 9])
    answers = release([2, 2, 4, 0], q=(0.5, 0.1, 0.5, 0.5))
    assert rank_errors(data, answers) == pytest.approx([0, 0.4, 2, 3])


def test_its_advice_works(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line.partition("(")[0] for line in run("demo").out.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("    dpquantiles ")]
    assert len(commands) == 3
    for command in commands:
        assert run(*command).code == 0
    assert (tmp_path / "flights.csv").read_text().startswith("arr_delay\n-86\n")


def test_saving_never_overwrites(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    done = run("demo", "--save", path)
    assert done.code == 2
    assert "already exists" in done.err
    assert path.read_text() == "mine"
    assert "cannot write" in run("demo", "--save", tmp_path / "no" / "x.csv").err
