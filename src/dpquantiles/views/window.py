"""A view that holds only some runs of the sorted records, as an engine would send them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.views.protocol import Ints, SortedView


@dataclass(frozen=True)
class WindowView:
    """`n`, the grid, and the records at `index` (ascending); nothing else can be asked."""

    n: int
    grid: Grid
    index: Ints
    steps: Ints

    @classmethod
    def of(cls, view: SortedView, demand: Sequence[range]) -> "WindowView":
        """The part of a view that a mechanism demands."""
        runs = [np.arange(run.start, run.stop, dtype=np.int64) for run in demand]
        index = np.concatenate(runs) if runs else np.empty(0, dtype=np.int64)
        return cls(view.n, view.grid, index, view.order_statistics(index))

    def order_statistics(self, index: Ints) -> Ints:
        place = np.searchsorted(self.index, index)
        held = place < len(self.index)
        held[held] = self.index[place[held]] == index[held]
        if not held.all():
            raise LookupError("a rank outside the windows was asked for")
        return self.steps[place]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:  # noqa: ARG002
        raise LookupError("rank windows cannot count records below a value")
