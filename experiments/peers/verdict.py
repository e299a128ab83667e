"""Who is best in a cell, and whether ours is behind it: statistics of paired trials.

The best of many is partly the luckiest. So every other trial names the best, and the trials in
between, which did not choose it, say how far ours is behind.
"""

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
        """The peer with the least mean error, by the trials that name it."""
        there = [name for name in peers if self.errors.get(name)]
        return min(there, key=lambda name: mean(self.errors[name][::2]), default=None)

    def judged(self, name: str) -> Errors:
        """The trials that did not name the best."""
        return self.errors.get(name, ())[1::2]

    def lost(self, ours: str, peers: Collection[str]) -> bool:
        """Whether ours is behind the best of the peers."""
        best = self.best(peers)
        return best is not None and behind(self.judged(ours), self.judged(best))

    def gap(self, ours: str, peers: Collection[str]) -> float:
        """How much more error ours has than the best."""
        best = self.best(peers)
        return 0.0 if best is None else mean(self.judged(ours)) - mean(self.judged(best))

    def contested(self, ours: str, peers: Collection[str]) -> list[str]:
        """Whom more trials should compare: ours and all peers that may be the best.

        Nobody, if all peers err more than ours, or less by no more than what is tolerated.
        """
        spread = {
            name: (mean(self.errors[name]), STANDARD_ERRORS * standard_error(self.errors[name]))
            for name in peers
            if self.errors.get(name)
        }
        least = min((middle for middle, _ in spread.values()), default=np.inf)
        if not self.errors.get(ours) or mean(self.errors[ours]) <= TOLERATED * least:
            return []
        return [ours, *(name for name, (middle, far) in spread.items() if middle - far <= least)]


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
