"""A sorted view of an array in memory, which sorts no more of it than is asked for."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.grid import Grid
from dpquantiles.kernels.select import select
from dpquantiles.kinds import column
from dpquantiles.views.protocol import Ints

MISSING_POLICIES = ("drop", "lower", "upper")
CHUNK = 1 << 20


class ArrayView:
    """Records of an array, list or tuple on a grid.

    The map to the grid is monotone, so selection works on the raw numbers and only what is asked
    for is encoded. `missing` says what stands in for a missing record: "lower" or "upper" for the
    ends of the grid, a value of the data's type, or nothing ("drop", which changes n and is for
    add-remove neighbors only).
    """

    def __init__(self, values: Iterable[Any], grid: Grid, *, missing: Any = "upper") -> None:
        if isinstance(missing, str):
            require.choice(MISSING_POLICIES, missing=missing)
        numbers, absent = column(grid.kind, values)
        self.grid = grid
        self._low_count = self._high_count = 0
        if not isinstance(missing, str):
            stand_in = grid.kind.number(missing, "missing")
            numbers = numbers if absent is None else np.where(absent, stand_in, numbers)
        elif absent is not None:
            numbers = numbers[~absent]
            count = len(absent) - len(numbers)
            self._low_count = count if missing == "lower" else 0
            self._high_count = count if missing == "upper" else 0
        self._numbers: NDArray[Any] = numbers

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self._numbers) + self._low_count + self._high_count

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        present = index - self._low_count
        steps = np.zeros(len(index), dtype=np.int64)
        steps[present >= len(self._numbers)] = self.grid.size - 1
        inside = (present >= 0) & (present < len(self._numbers))
        steps[inside] = self.grid.encode(select(self._numbers, present[inside]))
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        order, inverse = np.unique(steps, return_inverse=True)
        # Slot 2i counts records strictly between steps i-1 and i, slot 2i+1 those equal to step i.
        slots = np.zeros(2 * len(order) + 1, dtype=np.int64)
        for start in range(0, len(self._numbers), CHUNK):
            chunk = self.grid.encode(self._numbers[start : start + CHUNK])
            left, right = (np.searchsorted(order, chunk, side=s) for s in ("left", "right"))
            slots += np.bincount(left + right, minlength=len(slots))
        slots += self._edge_slots(order, len(slots))
        below = np.cumsum(slots)
        return below[0:-1:2][inverse], below[1::2][inverse]

    def _edge_slots(self, order: Ints, length: int) -> Ints:
        """The slots of the records that stand in for missing ones."""
        edges = np.array([0, self.grid.size - 1])
        left, right = (np.searchsorted(order, edges, side=s) for s in ("left", "right"))
        weights = (self._low_count, self._high_count)
        return np.bincount(left + right, weights=weights, minlength=length).astype(np.int64)
