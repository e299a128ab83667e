"""Files that cannot be used: refused with the reason, and left as they are."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from dpquantiles import LedgerError, PureDP
from dpquantiles.ledger import Ledger, file, inspection
from dpquantiles.ledger.entries import Broken
from tests.ledger.crowd import released

ONE = PureDP(epsilon=1.0)


def text(path: Path) -> None:
    path.write_text("date,amount\n2026-01-01,3\n" * 100)


def empty(path: Path) -> None:
    path.touch()


def another_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (number, body, hash)")
    connection.commit()
    connection.close()


def newer(path: Path) -> None:
    Ledger(path, epsilon=3.0)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {file.APPLICATION + file.FORMAT + 1}")
    connection.commit()
    connection.close()


def corrupt(path: Path) -> None:
    Ledger(path, epsilon=3.0)
    whole = path.read_bytes()
    path.write_bytes(whole[: file.PAGE_SIZE] + os.urandom(file.PAGE_SIZE))


def edited(path: Path) -> None:
    Ledger(path, epsilon=3.0)
    path.write_bytes(path.read_bytes().replace(b'"epsilon":3.0', b'"epsilon":9.0'))


def cut(path: Path) -> None:
    Ledger(path, epsilon=3.0)
    path.write_bytes(path.read_bytes()[:-1000])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (text, "it is not a ledger"),
        (empty, "is not a ledger"),
        (another_database, "is not a ledger"),
        (newer, "written by a newer version of dpquantiles .*upgrade"),
        (corrupt, "corrupt or was edited"),
        (edited, "corrupt or was edited: entry 1 was edited"),
        (cut, "corrupt or was edited"),
    ],
)
def test_what_is_not_a_ledger_is_refused(
    path: Path, make: Callable[[Path], None], message: str
) -> None:
    make(path)
    before = path.read_bytes()
    for options in ({}, {"epsilon": 3.0}):
        with pytest.raises(LedgerError, match=message) as refused:
            Ledger(path, **options)  # type: ignore[arg-type]
        assert str(path) in str(refused.value)
    assert path.read_bytes() == before
    assert [beside.name for beside in path.parent.iterdir()] == [path.name]


def test_a_ledger_that_is_not_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="create it with a budget"):
        Ledger(path)
    with pytest.raises(FileNotFoundError, match="cannot create ledger"):
        Ledger(path / "nowhere" / "budget.db", epsilon=1.0)
    assert not path.exists()


def test_a_read_only_ledger_can_be_read_and_not_charged(ledger: Ledger, path: Path) -> None:
    ledger.charge(ONE, dataset="payroll")
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is read-only"):
        released(ledger, ONE, lambda: pytest.fail("drawn"), dataset="payroll")
    with pytest.raises(LedgerError, match="is read-only"):
        ledger.charge(ONE, dataset="payroll")
    assert Ledger(path).spent("payroll") == 1.0
    assert Ledger(path).verify() == ledger.head
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "budget", [{"epsilon": 0}, {"epsilon": -1}, {"delta": 0.1}, {"rho": 1, "epsilon": 1}]
)
def test_a_wrong_budget_creates_nothing(path: Path, budget: dict[str, float]) -> None:
    with pytest.raises((ValueError, TypeError), match="must"):
        Ledger(path, **budget)  # type: ignore[arg-type]
    assert not path.exists()


def test_what_is_not_a_file_is_not_a_ledger(path: Path) -> None:
    path.mkdir()
    for options in ({}, {"epsilon": 3.0}):
        with pytest.raises(LedgerError, match=r"is neither a ledger nor a file"):
            Ledger(path, **options)  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == [path]


def torn(times: int) -> Callable[[Path], AbstractContextManager[file.EntryTable]]:
    """Reading that comes in the middle of a write so many times."""
    reading, left = file.reading, [times]

    @contextmanager
    def read(path: Path) -> Iterator[file.EntryTable]:
        if left[0]:
            left[0] -= 1
            raise Broken("3 entries were found where 2 were written")
        with reading(path) as table:
            yield table

    return read


def test_a_reader_without_locks_looks_again(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may only read may come in the middle of a write of others: no alarm for that."""
    ledger.charge(ONE, dataset="payroll")
    monkeypatch.setattr(file, "PAUSE", 0.0)
    looks: list[Callable[[], object]] = [
        lambda: Ledger(path).spent("payroll"),
        ledger.entries,
        lambda: inspection.verify(path),
    ]
    for look in looks:
        for mode, times, alarm in ((0o444, 3, False), (0o444, 6, True), (0o644, 1, True)):
            path.chmod(mode)
            with monkeypatch.context() as patched:
                patched.setattr(file, "reading", torn(times))
                if alarm:
                    with pytest.raises(LedgerError, match="3 entries were found"):
                        look()
                else:
                    look()
