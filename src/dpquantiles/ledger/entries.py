"""Entries: plain values with one canonical spelling, each chained to the one before by its hash.

They can be exported as JSON, or as CSV with one line per entry.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpquantiles.errors import LedgerError

START = ""
"""The first entry has this in place of the hash of an entry before it."""

CSV_COLUMNS = (
    *("number", "time", "action", "dataset", "unit", "part", "request"),
    *("kind", "epsilon", "delta", "rho", "neighbors", "within", "research_only"),
    "hash",
)


class Broken(Exception):
    """The entries or the file of a ledger are not as they were written; the message says why."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: its number, the bytes that are hashed, and their hash."""

    number: int
    body: bytes
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """What the entry says."""
        plain: dict[str, Any] = json.loads(self.body)
        return plain


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn `Broken` into an error that names the file of the ledger."""
    try:
        yield
    except Broken as reason:
        raise LedgerError(f"ledger '{path}' is corrupt or was edited: {reason}") from reason


def next_entry(number: int, previous: str, content: Mapping[str, object]) -> Entry:
    """The next entry after the one whose hash is `previous`."""
    body = canonical({**content, "number": number, "previous": previous})
    return Entry(number, body, digest(body))


def canonical(plain: object) -> bytes:
    """The one spelling of a plain value: sorted keys, no spaces, ASCII."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(body: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def checked_content(entry: Entry, number: int, previous: str) -> dict[str, Any]:
    """The content of an entry, after checking that it is the next one of its chain."""
    if entry.number != number:
        raise Broken(f"entry {number} is missing")
    if digest(entry.body) != entry.hash:
        raise Broken(f"entry {number} was edited: its hash does not match")
    try:
        content = entry.content
    except ValueError:
        raise Broken(f"entry {number} is not readable") from None
    if content.get("number") != number or content.get("previous") != previous:
        raise Broken(f"entry {number} does not follow the one before it")
    return content


def as_json(entries: Iterable[Entry]) -> str:
    """All entries as JSON, each with its hash: SHA-256 of the rest, sorted keys, no spaces."""
    plain = [{**entry.content, "hash": entry.hash} for entry in entries]
    return json.dumps({"entries": plain}, indent=2)


def as_csv(entries: Iterable[Entry]) -> str:
    """All charges and their times as CSV; only the JSON holds the released values."""
    written = io.StringIO()
    writer = csv.DictWriter(written, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        content = entry.content
        cost = content.get("cost") or content.get("budget") or {}
        columns = ",".join(cost.get("within", ()))
        writer.writerow({**content, **cost, "within": columns, "hash": entry.hash})
    return written.getvalue()
