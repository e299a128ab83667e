"""A studio in a process of its own, as people start it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-W", "error", "-m", "dpquantiles", "studio"]


class Served(NamedTuple):
    """A running studio."""

    process: subprocess.Popen[str]
    address: str
    """The first address, whose token works once."""

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def begin(*arguments: object) -> Served:
    command = [*COMMAND, *map(str, arguments), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http\S+", process.stdout.readline())
    if found is None:
        raise AssertionError(process.communicate()[1])
    return Served(process, found[0])


@contextmanager
def served(folder: Path, books: Path | None = None) -> Iterator[Served]:
    studio = begin(folder, *([] if books is None else ["--ledger", books]))
    try:
        yield studio
    finally:
        if studio.process.poll() is None:
            studio.process.send_signal(signal.SIGINT)
        try:
            studio.process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            studio.kill()


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
