"""What a mechanism will ask of a sorted view, stated before it asks."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dpquantiles.views.protocol import Ints


def _no_steps() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Demand:
    """Positions of sorted records, as ascending disjoint runs, and steps whose ranks are wanted."""

    runs: tuple[range, ...] = ()
    steps: Ints = field(default_factory=_no_steps)

    @classmethod
    def everything(cls, n: int) -> "Demand":
        """All records: for mechanisms whose later questions depend on their earlier answers."""
        return cls(runs=(range(n),) if n else ())

    def __iter__(self) -> Iterator[range]:
        return iter(self.runs)

    @property
    def index(self) -> Ints:
        """All positions, ascending."""
        runs = [np.arange(run.start, run.stop, dtype=np.int64) for run in self.runs]
        return np.concatenate([*runs, _no_steps()])


def merged(runs: list[range]) -> tuple[range, ...]:
    """Runs in ascending order of their starts, joined where they touch; empty ones left out."""
    joined: list[range] = []
    for run in runs:
        if joined and run.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(run.stop, joined[-1].stop))
        elif run:
            joined.append(run)
    return tuple(joined)
