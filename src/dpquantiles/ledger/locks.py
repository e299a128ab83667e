"""Locks that end with their process: one process runs a request at a time, and writers take turns.

Each lock is a lock of the operating system on an empty file beside the ledger. The file is removed
before the lock is released, so whoever gets a lock checks that its file is still in place.
"""

import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dpquantiles.errors import LedgerError
from dpquantiles.ledger.entries import digest

LONGEST_WAIT = 300.0
LONGEST_PAUSE = 0.02
"""Seconds. Writers pause for random times, so that none of them is always the last."""

undivided = threading.RLock()
"""Held while a thread uses a ledger's file, and while this process forks. A child that is forked in
the middle would inherit locks without the threads that release them, and wait forever."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=undivided.acquire,
        after_in_parent=undivided.release,
        after_in_child=undivided.release,
    )

if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def claimed(ledger: Path, request: str) -> Iterator[None]:
    """Be the only one who runs a request; refuses at once if another process or thread runs it."""
    path = ledger.with_name(f"{ledger.name}-claim-{digest(request.encode())[:16]}")
    file = _acquire(path)
    if file is None:
        raise LedgerError(
            f"request {request!r} is being run by another process; when it has finished, ask again "
            "to get its release"
        )
    with _until_released(file, path):
        yield


@contextmanager
def turn(ledger: Path) -> Iterator[None]:
    """Wait for the turn to write; with many writers, SQLite's own lock is not enough."""
    path = ledger.with_name(f"{ledger.name}-turn")
    deadline = time.monotonic() + LONGEST_WAIT
    while (file := _acquire(path)) is None:
        if time.monotonic() > deadline:
            raise LedgerError(f"ledger '{ledger}' cannot be used: other processes kept it busy")
        time.sleep(random.uniform(0, LONGEST_PAUSE))
    with _until_released(file, path):
        yield


def _acquire(path: Path) -> BinaryIO | None:
    """The locked file, or None while another holds it."""
    while True:
        file = path.open("ab")
        try:
            _lock(file)
        except OSError:
            file.close()
            return None
        if _in_place(file, path):
            return file
        file.close()


def _in_place(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _until_released(file: BinaryIO, path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        file.close()
