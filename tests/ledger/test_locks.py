"""One ledger is one ledger: under every name, in every thread, and in children of any moment."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from dpquantiles import LedgerError, PureDP, Release
from dpquantiles.ledger import Ledger, file, inspection, locks
from tests.ledger import crowd
from tests.ledger.crowd import release, released

ONE = PureDP(epsilon=1.0)

if sys.platform == "win32":
    pytest.skip("no fork, no links", allow_module_level=True)


def ask(ledger: Ledger, answer: int) -> Release:
    draw = lambda: release(answer)  # noqa: E731
    return released(ledger, ONE, draw, dataset="payroll", request_id="march")


def test_a_link_to_a_ledger_is_the_same_ledger(ledger: Ledger, path: Path) -> None:
    """Locks and logs stand beside the file, so its name must be one."""
    link = path.with_name("link.db")
    link.symlink_to(path.name)

    def nested() -> Release:
        with pytest.raises(LedgerError, match="'march' is being run by another process"):
            ask(Ledger(link), 2)
        return release(1)

    assert released(ledger, ONE, nested, dataset="payroll", request_id="march") == release(1)
    assert Ledger(link).path == path
    file.log_of(path).write_bytes(b"half a write")
    with pytest.raises(LedgerError, match="log ends in an unfinished write"):
        inspection.verify(link)


def test_a_file_with_two_names_is_not_charged(ledger: Ledger, path: Path) -> None:
    other = path.with_name("hard.db")
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(LedgerError, match="has a second name"):
            ask(Ledger(name), 1)
    other.unlink()
    assert ask(ledger, 1) == release(1)


def test_a_ledger_stays_where_it_was_opened(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(path.name, epsilon=3.0)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.charge(ONE, dataset="payroll")
    assert Ledger(path).spent("payroll") == 1.0


def test_a_request_is_recorded_once_even_without_its_lock(ledger: Ledger, path: Path) -> None:
    """Somebody tidies up lock files while they are in use."""

    def nested() -> Release:
        for claim in path.parent.glob("*-claim-*"):
            claim.unlink()
        assert ask(Ledger(path), 2) == release(2)
        return release(1)

    with pytest.raises(LedgerError, match="was released by another process in the meantime"):
        released(ledger, ONE, nested, dataset="payroll", request_id="march")
    assert ask(ledger, 3) == release(2)
    assert Ledger(path).verify() == ledger.head


def test_of_several_creators_one_does(path: Path) -> None:
    start = threading.Barrier(6)
    opened: list[Ledger] = []

    def create() -> None:
        start.wait()
        opened.append(Ledger(path, epsilon=3.0))

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({ledger.head for ledger in opened}) == 1
    assert len(opened) == 6
    assert [beside.name for beside in path.parent.iterdir()] == [path.name]


def test_a_child_born_while_threads_charge_can_charge_too(path: Path) -> None:
    cost = PureDP(epsilon=0.01)
    ledger = Ledger(path, epsilon=100.0)
    ended = threading.Event()
    done: list[str] = []

    def charge() -> None:
        while not ended.is_set():
            done.append(ledger.charge(cost, dataset="payroll"))

    threads = [threading.Thread(target=charge) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(20):
        time.sleep(0.005)
        child = crowd.fork()
        if child == 0:
            signal.alarm(30)  # a child that waits forever is killed
            try:
                ledger.charge(cost, dataset="payroll")
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    ended.set()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 20
    assert len(ledger) == 1 + len(done) + 20
    assert ledger.verify() == ledger.head


def test_a_second_creator_leaves_the_first_ledger(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="already exists"):
        file.create(path, ledger.entries()[0])
    assert path.read_bytes() == before
    assert [beside.name for beside in path.parent.iterdir()] == [path.name]


def test_a_lock_on_a_file_that_was_removed_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before lets go between our opening its file and our locking it."""
    lock = locks._lock
    removed: list[str] = []

    def late(held: BinaryIO) -> None:
        if not removed:
            removed.append(held.name)
            Path(held.name).unlink()
        lock(held)

    monkeypatch.setattr(locks, "_lock", late)
    with locks.claimed(path, "march"):
        assert len(removed) == 1
        with pytest.raises(LedgerError, match="being run"), locks.claimed(path, "march"):
            pass


def test_writes_reach_the_disk_before_they_count(path: Path) -> None:
    """No kill shows this, only a power cut."""
    Ledger(path, epsilon=3.0)
    with file._session(path) as connection:
        full = 2
        assert connection.execute("PRAGMA synchronous").fetchone() == (full,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
