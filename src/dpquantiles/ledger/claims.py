"""Claims: at most one process at a time runs a request, and a killed process lets go at once.

A claim is a lock of the operating system on an empty file beside the ledger. The file is removed
before the lock is let go, so whoever gets a lock checks that its file is still the one in place.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dpquantiles.errors import LedgerError
from dpquantiles.ledger.entries import digest

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
    """Hold the claim on a request; refuses when another process or thread holds it."""
    path = ledger.with_name(f"{ledger.name}-claim-{digest(request.encode())[:16]}")
    file = _acquire(path, request)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        file.close()


def _acquire(path: Path, request: str) -> BinaryIO:
    while True:
        file = path.open("ab")
        try:
            _lock(file)
        except OSError:
            file.close()
            raise LedgerError(
                f"request {request!r} is being run by another process; when that has ended, ask "
                "again to get its release"
            ) from None
        if _in_place(file, path):
            return file
        file.close()


def _in_place(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
