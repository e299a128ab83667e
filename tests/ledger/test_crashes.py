"""Killed anywhere: every charge that may have led to a release stays, and none counts twice."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dpquantiles import LedgerError, PureDP, Release
from dpquantiles.ledger import Ledger, file
from tests.ledger import crowd
from tests.ledger.crowd import release, released

if sys.platform == "win32":
    pytest.skip("no fork", allow_module_level=True)

import resource

ONE = PureDP(epsilon=1.0)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(task: Callable[[], object]) -> int:
    """Run a task in a forked process; its exit status."""
    child = crowd.fork()
    if child == 0:
        try:
            task()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def ask(path: Path, draw: Callable[[], Release]) -> Release:
    return released(Ledger(path), ONE, draw, dataset="payroll", request_id="march")


def before_the_commit(path: Path) -> None:
    append = file.EntryTable.append

    def append_and_die(self: file.EntryTable, entries: object) -> None:
        append(self, entries)  # type: ignore[arg-type]
        die()

    file.EntryTable.append = append_and_die  # type: ignore[method-assign]
    ask(path, lambda: release(1))


def before_the_log_is_emptied(path: Path) -> None:
    file._empty_log = lambda connection: die()  # noqa: ARG005
    ask(path, lambda: release(1))


def while_drawing(path: Path) -> None:
    ask(path, lambda: die() or release(1))  # type: ignore[func-returns-value]


def before_the_record(path: Path) -> None:
    Ledger._append = lambda *_: die()  # type: ignore[method-assign,assignment]
    ask(path, lambda: release(1))


def before_the_record_is_in_the_file(path: Path) -> None:
    def draw() -> Release:
        file._empty_log = lambda connection: die()  # noqa: ARG005
        return release(1)

    ask(path, draw)


def before_the_release_is_used(path: Path) -> None:
    ask(path, lambda: release(1))
    die()


@pytest.mark.parametrize(
    ("killed", "charged", "recorded"),
    [
        (before_the_commit, False, False),
        (before_the_log_is_emptied, True, False),
        (while_drawing, True, False),
        (before_the_record, True, False),
        (before_the_record_is_in_the_file, True, True),
        (before_the_release_is_used, True, True),
    ],
)
def test_killed_at_every_step(
    path: Path, killed: Callable[[Path], None], charged: bool, recorded: bool
) -> None:
    Ledger(path, epsilon=3.0)
    assert in_child(lambda: killed(path)) == signal.SIGKILL
    assert Ledger(path).spent("payroll") == float(charged)
    assert ask(path, lambda: release(2)) == release(1 if recorded else 2)
    assert ask(path, lambda: pytest.fail("drawn again")) == release(1 if recorded else 2)
    ledger = Ledger(path)
    assert ledger.spent("payroll") == 1.0
    assert ledger.verify() == ledger.head
    kinds = Counter(entry.content["action"] for entry in ledger.entries())
    assert kinds == {
        "budget": 1,
        "charge": 1,
        "release": 1,
        **({"retry": 1} if charged and not recorded else {}),
    }


def check_crowd(tmp_path: Path, *, processes: int, kills: int, charges: int) -> None:
    path, diary = tmp_path / "budget.db", crowd.Diary(tmp_path / "diary")
    cost = PureDP(epsilon=0.01)
    ledger = Ledger(path, epsilon=charges / 100)
    errors = tmp_path / "errors"
    assert crowd.run(path, diary, cost=cost, processes=processes, kills=kills) == kills
    assert not errors.exists(), errors.read_text()
    contents = [entry.content for entry in ledger.entries()]
    charged = [content["request"] for content in contents if content["action"] == "charge"]
    recorded = {
        content["request"]: content["release"]["values"][0]
        for content in contents
        if content["action"] == "release"
    }
    drawn, left = diary.lines("draw"), diary.lines("left")
    # No charge twice, the budget spent to the last hundredth and not overrun.
    assert len(charged) == len(set(charged)) == charges
    spent = sum(Fraction(repr(c["cost"]["epsilon"])) for c in contents if c["action"] == "charge")
    assert spent == Fraction(charges, 100)
    # Whatever was drawn had been charged; whatever left had been recorded, and only once.
    assert {request for request, _ in drawn} <= set(charged)
    assert set(recorded) == set(charged)
    assert len(left) <= len(recorded)
    assert all(recorded[request] == value for request, value in left)
    assert ledger.verify() == Ledger(path).head
    claims = [file for file in tmp_path.iterdir() if "-claim-" in file.name]
    assert {file.name for file in tmp_path.iterdir()} - {f.name for f in claims} <= {
        "budget.db",
        "diary",
        "budget.db-turn",
    }


def test_a_crowd_with_kills(tmp_path: Path) -> None:
    check_crowd(tmp_path, processes=6, kills=15, charges=30)


@pytest.mark.slow
def test_fifty_processes_and_two_hundred_kills(tmp_path: Path) -> None:
    check_crowd(tmp_path, processes=50, kills=200, charges=300)


def limited(path: Path, room: int, task: Callable[[], object]) -> int:
    """Run a task in a process that cannot write beyond some bytes of any file."""

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            task()
        except LedgerError as error:
            reason = str(error)
            os._exit(7 if "disk" in reason and str(path) in reason else 8)

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return os.waitstatus_to_exitcode(in_child(run))


@pytest.mark.parametrize("room", [0, 10, 40_000, 60_000, 65_536])
def test_nothing_is_released_on_a_full_disk(path: Path, room: int) -> None:
    before = Ledger(path, epsilon=3.0).head
    drawn = path.with_name("drawn")
    assert limited(path, room, lambda: ask(path, lambda: drawn.mkdir() or release(1))) == 7  # type: ignore[func-returns-value]
    assert not drawn.exists()
    ledger = Ledger(path)
    assert ledger.spent("payroll") in (0.0, 1.0)
    assert ledger.spent("payroll") == 1.0 or ledger.verify() == before
    assert ask(path, lambda: release(2)) == release(2)
    assert ledger.spent("payroll") == 1.0
    assert ledger.verify() == ledger.head


def test_a_disk_that_is_full_at_the_record_keeps_the_release(path: Path) -> None:
    Ledger(path, epsilon=3.0)

    def fill() -> Release:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        return release(1)

    assert limited(path, 10**9, lambda: ask(path, fill)) == 7
    assert Ledger(path).spent("payroll") == 1.0
    assert ask(path, lambda: release(2)) == release(2)
    assert Ledger(path).verify()


def test_a_write_that_fails_leaves_nothing(path: Path) -> None:
    ledger = Ledger(path, epsilon=3.0)
    before = path.read_bytes()
    charge = {"action": "charge", "request": "march"}

    def interrupted() -> None:
        with file.writing(path) as table:
            table.append([ledger._next(charge)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == before
    assert ledger.verify() == ledger.head
