"""A ledger for other programs: JSON with everything, CSV with one line per entry."""

import csv
import io
import json
from collections.abc import Iterable

from dpquantiles.ledger.entries import Entry

NUMBERS = ("kind", "epsilon", "delta", "rho", "neighbors", "within", "research_only")
COLUMNS = (
    "number",
    "time",
    "action",
    "dataset",
    "unit",
    "part",
    "request",
    *NUMBERS,
    "hash",
)


def as_json(entries: Iterable[Entry]) -> str:
    """Every entry with its hash: SHA-256 of the rest, with sorted keys and no spaces."""
    plain = [{**entry.content, "hash": entry.hash} for entry in entries]
    return json.dumps({"entries": plain}, indent=2)


def as_csv(entries: Iterable[Entry]) -> str:
    """What was charged and when; the released values are in the JSON."""
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        content = entry.content
        cost = content.get("cost") or content.get("budget") or {}
        columns = ",".join(cost.get("within", ()))
        writer.writerow({**content, **cost, "within": columns, "hash": entry.hash})
    return written.getvalue()
