"""Entries: plain values with one canonical spelling, each chained to the one before by its hash."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpquantiles.errors import LedgerError

START = ""
"""What the first entry names as the hash before it."""


class Broken(Exception):
    """What is wrong with the entries or the file of a ledger."""


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
    """What is wrong with a ledger is said together with its name."""
    try:
        yield
    except Broken as reason:
        raise LedgerError(f"ledger '{path}' is corrupt or was edited: {reason}") from reason


def written(number: int, previous: str, content: Mapping[str, object]) -> Entry:
    """The next entry after the one whose hash is `previous`."""
    body = canonical({**content, "number": number, "previous": previous})
    return Entry(number, body, digest(body))


def canonical(plain: object) -> bytes:
    """The one spelling of a plain value: sorted keys, no spaces, ASCII."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(body: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def follow(entry: Entry, number: int, previous: str) -> dict[str, Any]:
    """What an entry says, once it is certain that it is the next one of its chain."""
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
