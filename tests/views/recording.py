"""A view that passes every question on and remembers it, to check what a mechanism asks."""

from dataclasses import dataclass, field

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.views import Limits, SortedView, occupied, rough_ranks
from dpquantiles.views.protocol import Ints


@dataclass
class RecordingView:
    """Another view, plus a record of all positions and steps that were asked for."""

    view: SortedView
    asked_index: set[int] = field(default_factory=set)
    asked_steps: set[int] = field(default_factory=set)

    @property
    def n(self) -> int:
        return self.view.n

    @property
    def missing(self) -> int | None:
        return self.view.missing

    @property
    def grid(self) -> Grid:
        return self.view.grid

    def order_statistics(self, index: Ints) -> Ints:
        self.asked_index.update(np.asarray(index).tolist())
        return self.view.order_statistics(index)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        self.asked_steps.update(np.asarray(steps).tolist())
        return self.view.ranks(steps)

    def rough_ranks(self, steps: Ints, slack: int) -> tuple[Ints, Ints]:
        return rough_ranks(self.view, steps, slack)

    def occupied(self, length: int, limits: Limits) -> int:
        return occupied(self.view, length, limits)
