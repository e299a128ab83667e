"""What a sorted view promises: a size, a grid, and answers to two questions in batches."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid

Ints = NDArray[np.int64]


class SortedView(Protocol):
    """Records as grid steps, in order, without saying where they are or how they are sorted."""

    @property
    def n(self) -> int:
        """The number of records."""

    @property
    def grid(self) -> Grid:
        """The public grid that the records were mapped to."""

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (0 .. n-1, ascending) of the sorted records."""

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
