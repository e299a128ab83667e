"""The inspection of a ledger's file: every byte must follow from the entries.

The entries are chained by hashes. Around them, a database file has headers, page tables and unused
space. All of these follow from the entries: if a new database is built from them in memory, it must
have the same bytes. Only a few numbers in the header do not follow from the layout, so they are
checked on their own: two flags say that the file has a log, the change counter is stored twice, and
the last entry names the version of SQLite that wrote it.
"""

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from dpquantiles.ledger import file
from dpquantiles.ledger.books import Books
from dpquantiles.ledger.entries import Broken, Entry, explained
from dpquantiles.ledger.locks import turn, undivided

LOG_FLAGS, COUNTER, COUNTER_AGAIN = slice(18, 20), slice(24, 28), slice(92, 96)
WRITER = slice(96, 100)

LOG_HEADER, FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
LOG_MAGIC = 0x377F0682
"""The least significant bit tells the byte order of the checksums."""


def verify(path: Path, head: str | None = None) -> Books:
    """Check that every entry and every byte is as it was written; returns the books.

    With `head`, one of the entries must have that hash. The log is checked first, because SQLite
    clears it when the file is opened.
    """
    file.identify(path)
    real = path.resolve()  # the log is beside the file, not beside a link to it
    return file.steadily(real, lambda: _verified(real, head))


def _verified(path: Path, head: str | None) -> Books:
    with undivided, explained(path):
        check_log(path)
        size = path.stat().st_size
        with file.reading(path) as table:
            entries = list(table.after(0))
            books = Books.of(entries, table.count())
            image = table.image()
        check_pages(image, entries)
        if size > len(image):
            raise Broken("bytes were appended to the file")
        if head is not None and head not in {entry.hash for entry in entries}:
            raise Broken(f"no entry has the hash {head!r}, so its history was rewritten")
    return books


def check_pages(image: bytes, entries: Sequence[Entry]) -> None:
    """Refuse an image that is not, byte for byte, the layout of these entries."""
    expected = bytearray(_laid_out(entries))
    expected[LOG_FLAGS] = b"\2\2"
    expected[COUNTER] = expected[COUNTER_AGAIN] = image[COUNTER]
    expected[WRITER] = _version(entries[-1].content["software"]["sqlite"]).to_bytes(4, "big")
    if image == expected:
        return
    page = _first_difference(image, expected)
    raise Broken(
        f"the entries are intact, but the file around them is not (page {page}): it was edited, or "
        "written by a version of SQLite that lays out pages in another way"
    )


def _laid_out(entries: Sequence[Entry]) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        file.lay_out(connection)
        file.build(connection, entries)
        return connection.serialize()


def _version(text: str) -> int:
    major, minor, patch = map(int, text.split(".")[:3])
    return major * 1_000_000 + minor * 1_000 + patch


def _first_difference(image: bytes, expected: bytearray) -> int:
    size = file.PAGE_SIZE
    starts = range(0, max(len(image), len(expected)), size)
    differ = (image[at : at + size] != expected[at : at + size] for at in starts)
    return 1 + list(differ).index(True)


def check_log(path: Path) -> None:
    """Refuse a log with an unfinished write, at a time when nobody writes."""
    with turn(path) if file.is_writable(path) else nullcontext():
        if not log_is_whole(path):
            raise Broken(
                "its log ends in an unfinished write; either a process was killed while writing, "
                "and nobody relied on what it wrote, or the log was edited; the next charge "
                "clears it"
            )


def log_is_whole(path: Path) -> bool:
    """Whether every write in the log was finished: all checksums match, up to a commit."""
    try:
        log = file.log_of(path).read_bytes()
    except FileNotFoundError:
        return True
    if not log:
        return True
    if len(log) < LOG_HEADER.size:
        return False
    magic, _, size, _, *salts, first, second = LOG_HEADER.unpack_from(log)
    order = ">" if magic & 1 else "<"
    sums = _checksum(log[: LOG_HEADER.size - 8], order, (0, 0))
    if magic & ~1 != LOG_MAGIC or sums != (first, second):
        return False
    finished = True
    for header, page in _frames(log, size):
        if len(page) != size:
            return False
        _, pages_after, *rest = FRAME_HEADER.unpack(header)
        if rest[0] != salts[0] and rest[1] != salts[1]:
            break  # the rest is left over from an earlier, finished log
        if rest[:2] != salts:
            return False
        sums = _checksum(header[:8] + page, order, sums)
        if sums != (rest[2], rest[3]):
            return False
        finished = pages_after > 0
    return finished


def _frames(log: bytes, size: int) -> Iterator[tuple[bytes, bytes]]:
    for at in range(LOG_HEADER.size, len(log), FRAME_HEADER.size + size):
        body = at + FRAME_HEADER.size
        yield log[at:body], log[body : body + size]


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    """SQLite's checksum of a log: two sums over pairs of 32-bit words."""
    first, second = start
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
