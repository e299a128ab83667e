"""A ledger with a clock that ticks once per entry."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from dpquantiles.ledger import Ledger

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def clock() -> Callable[[], dt.datetime]:
    hours = iter(range(10_000))
    return lambda: NOON + dt.timedelta(hours=next(hours))


@pytest.fixture
def ledger(path: Path, clock: Callable[[], dt.datetime]) -> Ledger:
    return Ledger(path, epsilon=3.0, clock=clock)
