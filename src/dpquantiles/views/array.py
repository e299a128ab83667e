"""A sorted view of an array in memory, which sorts no more of it than is needed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kernels.select import select
from dpquantiles.kinds import column
from dpquantiles.views.filled import filled
from dpquantiles.views.protocol import Ints

CHUNK = 1 << 20


class ArrayView:
    """Records of an array, list or tuple on a grid.

    The map to the grid is monotone, so selection works on the raw numbers and only what is
    selected is encoded. `missing` says what stands in for a missing record: "lower" or "upper" for
    the ends of the grid, a value of the data's type, or nothing ("drop", which changes n and is for
    add-remove neighbors only).
    """

    def __init__(self, values: Iterable[Any], grid: Grid, *, missing: Any = "upper") -> None:
        numbers, absent = column(grid.kind, values)
        present = _Present(numbers if absent is None else numbers[~absent], grid)
        self._records = filled(present, missing, len(numbers) - present.n)

    @property
    def grid(self) -> Grid:
        return self._records.grid

    @property
    def n(self) -> int:
        """The number of records."""
        return self._records.n

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        if len(index) and not 0 <= index[0] <= index[-1] < self.n:
            raise LookupError("a position outside the records was asked for")
        return self._records.order_statistics(index)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        return self._records.ranks(steps)


@dataclass(frozen=True, eq=False)
class _Present:
    """The records that are not missing."""

    numbers: NDArray[Any]
    grid: Grid

    @property
    def n(self) -> int:
        return len(self.numbers)

    def order_statistics(self, index: Ints) -> Ints:
        return self.grid.encode(select(self.numbers, index))

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        order, inverse = np.unique(steps, return_inverse=True)
        # Slot 2i counts records strictly between steps i-1 and i, slot 2i+1 those equal to step i.
        slots = np.zeros(2 * len(order) + 1, dtype=np.int64)
        for start in range(0, self.n, CHUNK):
            chunk = self.grid.encode(self.numbers[start : start + CHUNK])
            left, right = (np.searchsorted(order, chunk, side=s) for s in ("left", "right"))
            slots += np.bincount(left + right, minlength=len(slots))
        below = np.cumsum(slots)
        return below[0:-1:2][inverse], below[1::2][inverse]
