"""Who is best in a cell, and whether ours is behind it: statistics of paired trials."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Measure = Literal["ranks", "values"]
Errors = Sequence[float]
TOLERATED = 1.1
STANDARD_ERRORS = 2.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One question on one kind of data, and the errors of everyone who answered, by trial."""

    data: str
    n: int
    asked: str
    measure: Measure
    errors: Mapping[str, Errors]

    def best(self, peers: Collection[str]) -> str | None:
        """The peer with the least mean error."""
        there = [name for name in peers if self.errors.get(name)]
        return min(there, key=lambda name: mean(self.errors[name]), default=None)

    def lost(self, ours: str, peers: Collection[str]) -> bool:
        """Whether ours is behind the best of the peers."""
        best = self.best(peers)
        return best is not None and behind(self.errors.get(ours, ()), self.errors[best])

    def gap(self, ours: str, peers: Collection[str]) -> float:
        """How much more error ours has than the best."""
        best = self.best(peers)
        return 0.0 if best is None else mean(self.errors[ours]) - mean(self.errors[best])


def mean(errors: Errors) -> float:
    """The mean error."""
    return float(np.mean(errors))


def standard_error(errors: Errors) -> float:
    """Of the mean; unknown after one trial."""
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.inf


def behind(ours: Errors, best: Errors, tolerated: float = TOLERATED) -> bool:
    """Whether ours is more than 10% worse, or as tolerated, by more than two standard errors.

    Trials with the same seed saw the same records: the standard error is that of their differences.
    """
    pairs = min(len(ours), len(best))
    if pairs < 2:
        return False
    excess = np.array(ours[:pairs]) - tolerated * np.array(best[:pairs])
    return mean(excess.tolist()) > STANDARD_ERRORS * standard_error(excess.tolist())
