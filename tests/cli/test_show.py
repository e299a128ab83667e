"""`dpquantiles show`: releases from files, from stdin and from ledgers."""

import io
import sys
from pathlib import Path

import pytest

from dpquantiles import Ledger, results
from tests.cli.conftest import Command
from tests.present.releases import release
from tests.present.test_pictures import RESULTS


@pytest.mark.parametrize("name", RESULTS)
def test_every_kind_of_result(run: Command, tmp_path: Path, name: str) -> None:
    path = tmp_path / "saved.json"
    path.write_text(RESULTS[name].to_json())
    done = run("show", path)
    assert (done.code, done.err) == (0, "")
    assert results.from_dict(done.json) == RESULTS[name]


def test_from_stdin(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(release([1, 2, 3]).to_json()))
    assert run("show", "-", "-f", "csv").out.splitlines()[1:] == ["0.25,1", "0.5,2", "0.75,3"]


def test_from_a_ledger(run: Command, table: Path, tmp_path: Path) -> None:
    budget = tmp_path / "budget.db"
    Ledger(budget, epsilon=9)
    assert "keeps no release" in run("show", budget).err
    charged = ("--ledger", budget, "--dataset", "pay", "--request-id")
    first, last = (
        run("release", table, "-c", "change", "-q", q, "-e", 1, *charged, name).json["q"]
        for q, name in (("0.1", "may"), ("0.9", "june"))
    )
    assert run("show", budget).json["q"] == last == [0.9]
    assert run("show", budget, "--request-id", "may").json["q"] == first == [0.1]
    assert "with the request id 'july'" in run("show", budget, "--request-id", "july").err
    assert Ledger(budget).spent("pay") == 2


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b"1", b'{"format": 1}', b"q,value\n", b"\xff\xfe"]
)
def test_other_files_are_refused(run: Command, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    done = run("show", path)
    assert (done.code, done.out) == (2, "")
    assert "must hold a release as JSON, as release -o release.json writes it" in done.err
    assert "is only for ledgers" in run("show", path, "--request-id", "x").err


def test_a_missing_file(run: Command, tmp_path: Path) -> None:
    done = run("show", tmp_path / "gone.json")
    assert (done.code, done.out) == (2, "")
    assert "cannot read" in done.err
