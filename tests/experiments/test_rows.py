"""Rows survive kills, half-written lines and second processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import dpquantiles as dpq
from experiments import rows
from tests.experiments import naps

ROOT = Path(__file__).parents[2]


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def start(path: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.experiments.naps", str(path)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)


def workers(process: "subprocess.Popen[bytes]") -> list[int]:
    """The processes that a process started."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(word) for word in found.read_text().split()]


def gone(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes in /proc")
def test_a_kill_loses_what_was_in_flight_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    process = start(path)
    wait_until(lambda: len(lines(path)) >= 10)
    children = workers(process)
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: all(gone(pid) for pid in children))
    kept = lines(path)
    assert 10 <= len(kept) < naps.COUNT
    with path.open("ab") as file:
        file.write(b'{"run": {"kind": "Nap", "num')
    again = start(path)
    assert again.wait(120) == 0
    after = lines(path)
    assert after[: len(kept)] == kept
    assert len(after) == naps.COUNT + 1  # the half-written line is still there, and ignored
    found = rows.read(path)
    assert found == {rows.key(run): {"twice": 2 * run.number} for run in naps.runs()}


def test_a_half_written_line_is_ignored_and_swallows_nothing(tmp_path: Path) -> None:
    path, (first, second, *_) = tmp_path / "rows.jsonl", naps.runs()
    with rows.appending(path) as keep:
        keep(first, {"twice": 0})
        keep(second, {"twice": 2})
    whole = path.read_bytes()
    for cut in range(len(whole) - 2, whole.index(b"\n") + 1, -40):
        path.write_bytes(whole[:cut])
        assert rows.missing([first, second], rows.read(path)) == [second]
        with rows.appending(path) as keep:
            keep(second, {"twice": 2})
        assert rows.missing([first, second], rows.read(path)) == []


def test_rows_of_another_version_are_measured_again(tmp_path: Path) -> None:
    path, run = tmp_path / "rows.jsonl", naps.Nap(number=1)
    with rows.appending(path) as keep:
        keep(run, {"twice": 2})
    row = json.loads(path.read_text("utf-8"))
    assert row["version"] == dpq.__version__
    path.write_text(json.dumps(row | {"version": "0.0.0"}) + "\n", encoding="utf-8")
    assert rows.read(path) == {}


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b"{}", b"\xff\xfe", b'{"run": 3}'])
def test_what_is_no_row_is_ignored(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line + b"\n")
    assert rows.read(path) == {}


def test_a_run_is_asked_for_once() -> None:
    runs = [naps.Nap(number=1), naps.Nap(number=1), naps.Nap(number=2)]
    assert rows.missing(runs, {rows.key(runs[2]): {}}) == [naps.Nap(number=1)]


def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    calls: list[None] = []
    runs = [naps.Nap(number=number, seconds=0) for number in range(4)]
    failures = rows.collect(
        runs, naps.measure, path=path, shared=2, done=lambda: calls.append(None)
    )
    assert failures == {rows.key(runs[2]): "ValueError: no"}
    assert rows.missing(runs, rows.read(path)) == [runs[2]]
    assert len(calls) == 4


def test_a_second_process_in_the_same_folder_says_so_and_stops(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom experiments import rows\n"
        "try:\n    with rows.alone_in(pathlib.Path(sys.argv[1])): print('mine')\n"
        "except rows.Busy as busy: print(busy)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]

    def other() -> str:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout

    with rows.alone_in(tmp_path):
        assert "is in use by another run" in other()
    assert other() == "mine\n"


def test_workers_have_one_thread_each(tmp_path: Path) -> None:
    rows.collect([], naps.measure, path=tmp_path / "rows.jsonl")
    assert all(os.environ[name] for name in rows.THREADS)
