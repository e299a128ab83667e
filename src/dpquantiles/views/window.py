"""A view that holds only what a mechanism demanded, as an engine would send it."""

from dataclasses import dataclass

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.views.demand import Demand
from dpquantiles.views.protocol import Ints, SortedView


@dataclass(frozen=True, eq=False)
class WindowView:
    """`n`, the grid, and the answers to one demand; nothing else can be asked."""

    n: int
    grid: Grid
    index: Ints
    found: Ints
    steps: Ints
    below: Ints
    through: Ints

    @classmethod
    def of(cls, view: SortedView, demand: Demand) -> "WindowView":
        """The part of a view that a mechanism demands."""
        index, steps = demand.index, np.unique(demand.steps)
        found = view.order_statistics(index)
        return cls(view.n, view.grid, index, found, steps, *view.ranks(steps))

    def order_statistics(self, index: Ints) -> Ints:
        return self.found[_places(self.index, index)]

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        places = _places(self.steps, steps)
        return self.below[places], self.through[places]


def _places(held: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands among those that are held."""
    places = np.searchsorted(held, wanted)
    known = places < len(held)
    known[known] = held[places[known]] == np.asarray(wanted)[known]
    if not known.all():
        raise LookupError("something outside the demand was asked for")
    return places
