"""How much is run, in full or quickly; all numbers are fixed beforehand.

A quick run is the beginning of the full one: its rows are kept and the full run only adds to them
(times excepted, which a quick run takes with less care).
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

FIRST_BATCHES = (5, 5, 10)
BATCH = 20
SLOW_BATCH = 2


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Numbers of trials and limits."""

    name: str
    trials: int
    """Of the paper's figures and everything else that is cheap."""
    slow_trials: int
    """Of cells that take seconds each."""
    most_work: int
    """Cells of slow mechanisms with a larger m n than this are left out."""
    tree_trials: int
    check_trials: int
    most_leaves: int
    smooth_trials: int
    rounds: int
    beside: str
    """What else runs while times are taken."""


FULL = Scale(
    name="full",
    trials=200,
    slow_trials=20,
    most_work=10**7,
    tree_trials=50,
    check_trials=150,
    most_leaves=15**4,
    smooth_trials=5,
    rounds=20,
    beside="nothing",
)
QUICK = Scale(
    name="quick",
    trials=10,
    slow_trials=2,
    most_work=10**6,
    tree_trials=50,
    check_trials=20,
    most_leaves=15**3,
    smooth_trials=1,
    rounds=3,
    beside="other runs",
)


def batches(total: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """First trial and number of trials of every batch: small ones, which a quick run wants too."""
    sizes = itertools.chain(FIRST_BATCHES, itertools.repeat(BATCH))
    yield from _cut(total, first, sizes)


def slow_batches(total: int) -> Iterator[tuple[int, int]]:
    """The same for trials that take seconds: a run in flight is lost when the work is cut off."""
    yield from _cut(total, 0, itertools.repeat(SLOW_BATCH))


def _cut(total: int, first: int, sizes: Iterator[int]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < total:
        size = min(next(sizes), total - start)
        yield first + start, size
        start += size
