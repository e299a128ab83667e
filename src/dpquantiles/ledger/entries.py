"""Entries of a ledger: their content, their one canonical spelling, and the chain of their hashes.

Names that look the same are the same: blanks around a name are removed, and accents are joined with
their letters. Otherwise a typing error could open a second budget for the same data.
"""

import csv
import hashlib
import io
import json
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpquantiles.errors import InvalidType, InvalidValue, LedgerError
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.spending import Part
from dpquantiles.require import shown

START = ""
"""The first entry has this in place of the hash of an entry before it."""

CSV_COLUMNS = (
    *("number", "time", "action", "dataset", "unit", "part", "request"),
    *("kind", "epsilon", "delta", "rho", "neighbors", "within", "research_only"),
    "hash",
)

RECORD = "record"
"""The name of the unit if a guarantee protects single records."""

LONGEST_NAME = 200

IDENTITY = ("dataset", "unit", "part", "cost", "parameters")
"""The fields that must be the same when a request is repeated."""


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
        """The content of the entry, read from its bytes."""
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


def require_name(**parameter: object) -> str:
    """A printable, non-empty name, in the spelling in which ledgers store it."""
    ((name, value),) = parameter.items()
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be a name, such as 'payroll-2026', got {shown(value)}")
    if not value.strip() or not value.isprintable() or len(value) > LONGEST_NAME:
        raise InvalidValue(
            f"{name} must be a printable name of 1 to {LONGEST_NAME} characters, got "
            f"{value[:LONGEST_NAME]!r}"
        )
    return unicodedata.normalize("NFC", value.strip())


def require_part(*, part: object) -> str | None:
    """None, or a partition and a label: region=north."""
    if part is None:
        return None
    text = require_name(part=part)
    partition, equals, label = (piece.strip() for piece in text.partition("="))
    if not (partition and equals and label):
        raise InvalidValue(
            f"part must be written partition=label, such as 'region=north', got {text!r}; parts "
            "of one partition must be disjoint"
        )
    return f"{partition}={label}"


def part_of(text: str | None) -> Part | None:
    """The part that was written as partition=label."""
    return None if text is None else Part(*text.split("=", 1))


def charge_content(
    cost: Guarantee,
    *,
    dataset: str,
    part: str | None,
    unit: str,
    request_id: str | None,
    parameters: Mapping[str, object],
) -> dict[str, Any]:
    """The content of a charge's entry; a request without an id gets a unique one."""
    if not isinstance(cost, (PureDP, ApproxDP, ZCDP)):
        raise InvalidType(f"cost must be a guarantee, such as PureDP(epsilon=1), got {shown(cost)}")
    charge = {
        "action": "charge",
        "dataset": require_name(dataset=dataset),
        "unit": require_name(unit=unit),
        "part": require_part(part=part),
        "request": new_id() if request_id is None else require_name(request_id=request_id),
        "cost": cost.to_dict(),
        "parameters": dict(parameters),
    }
    plain: dict[str, Any] = json.loads(canonical(charge))
    return plain


def new_id() -> str:
    """A unique name."""
    return os.urandom(16).hex()


def probe(budget: Guarantee) -> Guarantee:
    """A charge in the measure of a budget, to ask how large such a charge may be."""
    if isinstance(budget, ZCDP):
        return budget
    return PureDP(epsilon=budget.epsilon, neighbors=budget.neighbors)


def digits(number: float) -> str:
    """All digits of a number, because rounding could show more than it is."""
    return repr(number).removesuffix(".0")


def words(cost: Guarantee) -> str:
    """The numbers of a cost or a budget, in words."""
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(cost, name)]
    return ", ".join(f"{name} = {digits(getattr(cost, name))}" for name in names)


def unreleased(charge: Mapping[str, Any]) -> str:
    """A note about the charge of a failed request, and how to run it again."""
    return (
        f"data set {charge['dataset']!r} was charged, but nothing was released; the same "
        f"request with the id {charge['request']!r} runs again without another charge"
    )
