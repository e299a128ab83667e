"""A sorted view of an array in memory, which sorts no more of it than is asked for."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.grid import Grid
from dpquantiles.kernels.select import select
from dpquantiles.kinds import clamp, column
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
        self.grid = grid
        self._stand_in = stand_in(grid, missing)
        numbers, absent = column(grid.kind, values)
        self._numbers: NDArray[Any] = numbers if absent is None else numbers[~absent]
        self._absent = 0 if missing == "drop" else len(numbers) - len(self._numbers)
        # The records that stand in for missing ones come after all that lie below them.
        below, _ = self._present_ranks(np.array([self._stand_in])) if self._absent else ([0], [0])
        self._before = int(below[0])

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self._numbers) + self._absent

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions (ascending) of the sorted records."""
        if len(index) and not 0 <= index[0] <= index[-1] < self.n:
            raise LookupError("a position outside the records was asked for")
        after = index >= self._before + self._absent
        present = after | (index < self._before)
        steps = np.full(len(index), self._stand_in, dtype=np.int64)
        place = (index - self._absent * after)[present]
        steps[present] = self.grid.encode(select(self._numbers, place))
        return steps

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        below, up_to = self._present_ranks(steps)
        return (
            below + self._absent * (self._stand_in < steps),
            up_to + self._absent * (self._stand_in <= steps),
        )

    def _present_ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        order, inverse = np.unique(steps, return_inverse=True)
        # Slot 2i counts records strictly between steps i-1 and i, slot 2i+1 those equal to step i.
        slots = np.zeros(2 * len(order) + 1, dtype=np.int64)
        for start in range(0, len(self._numbers), CHUNK):
            chunk = self.grid.encode(self._numbers[start : start + CHUNK])
            left, right = (np.searchsorted(order, chunk, side=s) for s in ("left", "right"))
            slots += np.bincount(left + right, minlength=len(slots))
        below = np.cumsum(slots)
        return below[0:-1:2][inverse], below[1::2][inverse]


def stand_in(grid: Grid, missing: Any) -> int:
    """The step that stands in for a missing record."""
    if isinstance(missing, str):
        return 0 if require.choice(MISSING_POLICIES, missing=missing) == "lower" else grid.size - 1
    number = grid.kind.number(missing, "missing")
    return int(grid.encode(np.array([clamp(number) if isinstance(number, int) else number]))[0])
