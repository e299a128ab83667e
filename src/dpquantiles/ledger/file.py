"""The ledger's file: one SQLite table that only grows, and writes that survive a crash.

A write is one transaction that holds the write lock from its first read to its commit. It is
finished only after the log has been copied into the file and emptied. SQLite would mistake a
damaged log for a shorter one, so an entry that somebody relies on is never in the log alone.

Only SQLite opens the file. If anything else opened and closed it too, closing would drop the locks
that SQLite holds for the whole process.
"""

import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from dpquantiles.errors import LedgerError
from dpquantiles.ledger.entries import Entry
from dpquantiles.ledger.locks import turn, undivided

FORMAT = 2
"""Ledgers of format 1 name no rule in their first entry. Software that knows only format 1 grants
charges by another rule, so it must not charge a ledger that names one."""

APPLICATION = int.from_bytes(b"dpq\0", "big")
"""SQLite's application id is this plus the format, so that a newer ledger is recognized."""

NEWEST_FORMAT = 255
PATIENCE = 60.0
"""The seconds to wait for other processes."""

LOOKS, PAUSE = 6, 0.05
"""How often a read-only ledger is read before it counts as broken, and the seconds between."""

PAGE_SIZE = 32_768
"""Large pages keep the table two levels deep for about 70,000 entries. Up to that depth, all
versions of SQLite lay out the same entries in the same bytes."""

SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER no_update BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
)

REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_PERM: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; its folder must be writable too",
    sqlite3.SQLITE_BUSY: "other processes kept it busy",
    sqlite3.SQLITE_LOCKED: "other processes kept it busy",
    sqlite3.SQLITE_PROTOCOL: "other processes kept it busy",
    sqlite3.SQLITE_NOTADB: "it is not a ledger",
}
"""Why SQLite failed, by its primary code; any other code means that the file is corrupt."""


def _failure(path: Path, error: Exception) -> LedgerError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    reason = REASONS.get(code & 0xFF, f"it is corrupt or was edited ({error})")
    return LedgerError(f"ledger '{path}' cannot be used: {reason}")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)


def identify(path: Path) -> None:
    """Refuse a file that is not a ledger of a known format; takes no locks and changes nothing."""
    if path.exists() and not path.is_file():
        raise LedgerError(f"'{path}' is neither a ledger nor a file; name another one")
    if not path.is_file():
        raise FileNotFoundError(
            f"no ledger at '{path}'; create it with a budget: Ledger({str(path)!r}, epsilon=3.0), "
            f"or dpquantiles ledger create {path} --epsilon 3"
        )
    try:
        with undivided, closing(_connect(path, "mode=ro&immutable=1")) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT:
            return  # another process may be writing; a later read with locks will tell
        raise _failure(path, error) from None
    format_number = application - APPLICATION
    if not 0 < format_number <= NEWEST_FORMAT:
        raise LedgerError(f"'{path}' is not a ledger; name another file")
    if format_number > FORMAT:
        raise LedgerError(
            f"ledger '{path}' was written by a newer version of dpquantiles (format "
            f"{format_number}, this version knows {FORMAT}); upgrade dpquantiles"
        )


def is_writable(path: Path) -> bool:
    """Whether both the file and its folder, which holds SQLite's log, can be written."""
    allowed = path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    return bool(allowed) and all(os.access(p, os.W_OK) for p in (path, path.absolute().parent))


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written safely."""
    if not is_writable(path):
        raise LedgerError(
            f"ledger '{path}' cannot be used: it is read-only; make the file and its folder "
            "writable to charge it"
        )
    if path.stat().st_nlink > 1:
        raise LedgerError(
            f"ledger '{path}' cannot be used: the file has a second name (a hard link), and "
            "a process that uses one name does not see the log of the other; remove one of them"
        )


class EntryTable:
    """The entries, within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def after(self, number: int) -> Iterator[Entry]:
        """The entries after this one, in order."""
        query = (
            "SELECT number, CAST(body AS BLOB), CAST(hash AS BLOB) FROM entries WHERE number > ?"
        )
        for row, body, digest in self._connection.execute(f"{query} ORDER BY number", (number,)):
            yield Entry(row, body or b"", (digest or b"").decode("ascii", "replace"))

    def count(self) -> int:
        """The number of entries, according to the file's own header."""
        (number,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(number)

    def append(self, entries: Iterable[Entry]) -> None:
        """Write entries, and their count into the header."""
        number = 0
        for number, body, digest in ((e.number, e.body.decode("ascii"), e.hash) for e in entries):
            self._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, digest))
        self._connection.execute(f"PRAGMA user_version = {number}")

    def image(self) -> bytes:
        """The file as SQLite sees it, byte for byte."""
        return self._connection.serialize()


@contextmanager
def _session(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one operation, so that a ledger survives forks and threads."""
    try:
        with undivided, closing(_open(path)) as connection:
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite may quote a damaged schema
        raise _failure(path, error) from error


def _open(path: Path) -> sqlite3.Connection:
    if not is_writable(path) and not log_of(path).exists():
        # Without a log nobody can be writing.
        return _connect(path, "mode=ro&immutable=1")
    connection = _connect(path, "mode=rw")
    try:
        for setting in ("synchronous=FULL", "fullfsync=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log of a file."""
    return path.with_name(f"{path.name}-wal")


Seen = TypeVar("Seen")


def steadily(path: Path, look: Callable[[], Seen]) -> Seen:
    """The result of reading a ledger, read again if it seems broken and is read-only.

    Whoever may not write cannot lock either, and may see a half-finished write of somebody else.
    """
    for _ in range(LOOKS - 1):
        try:
            return look()
        except LedgerError:
            if is_writable(path):
                raise
            time.sleep(PAUSE)
    return look()


@contextmanager
def reading(path: Path) -> Iterator[EntryTable]:
    """One consistent view of the entries."""
    with _session(path) as connection:
        connection.execute("BEGIN")
        yield EntryTable(connection)


@contextmanager
def writing(path: Path) -> Iterator[EntryTable]:
    """One transaction, which is on the disk when the block has ended without an error."""
    require_writable(path)
    with undivided, turn(path), _session(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield EntryTable(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        _empty_log(connection)


def _empty_log(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy:
            return
        if time.monotonic() > deadline:
            raise LedgerError("other processes kept the ledger busy; nothing was released")


def build(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Write a ledger into an empty database; the same entries always give the same pages."""
    format_number = FORMAT if "rule" in entries[0].content else 1
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION + format_number}")
    for statement in SCHEMA:
        connection.execute(statement)
    EntryTable(connection).append(entries)
    connection.execute("COMMIT")


def lay_out(connection: sqlite3.Connection) -> None:
    """Apply the settings that shape the pages of a new database."""
    settings = (f"page_size={PAGE_SIZE}", "encoding='UTF-8'", "auto_vacuum=NONE")
    for setting in (*settings, "secure_delete=ON", "synchronous=FULL", "fullfsync=ON"):
        connection.execute(f"PRAGMA {setting}").fetchall()


def create(path: Path, first: Entry) -> None:
    """Create a ledger, complete or not at all; FileExistsError if there is a file already."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f"{path.name}-new-", dir=path.absolute().parent)
    except OSError as error:
        raise type(error)(f"cannot create ledger '{path}': {error.strerror}") from None
    os.close(descriptor)
    draft = Path(name)
    try:
        with undivided, closing(_connect(draft, "mode=rw")) as connection:
            lay_out(connection)
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            build(connection, [first])
        with undivided, turn(path):  # if several processes create it, only the first one succeeds
            if path.exists():
                raise FileExistsError(f"'{path}' already exists; name another file")
            draft.rename(path)
    except sqlite3.Error as error:
        raise _failure(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.absolute().parent)


def _sync_folder(folder: Path) -> None:
    """Write a new file name to the disk; systems that cannot open a folder do so by themselves."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
