"""Counts the scans of an engine, and makes its tables look as if they had many rows."""

from typing import Any

import pytest

from dpquantiles.sources import lazy


def counted_scans(kind: Any, few: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows leave an engine in each scan from now on, if it may fetch only a few."""
    collect, seen = kind.collect, list[int]()

    def counting(self: Any, frame: Any) -> Any:
        found = collect(self, frame)
        seen.append(len(found))
        return found

    monkeypatch.setattr(kind, "collect", counting)
    for limit in ("FEW_ROWS", "MOST_ROWS", "MOST_ROUGH"):
        monkeypatch.setattr(lazy, limit, few)
    return seen
