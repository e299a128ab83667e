"""Records of a view told apart by labels, (5) of `recursive_joint_exp.py`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import MOST_STEPS
from dpquantiles.kinds import INTEGER, Kind
from dpquantiles.views import SortedView
from dpquantiles.views.protocol import Ints


@dataclass(frozen=True)
class StepGrid:
    """A grid whose values are its own steps."""

    size: int
    kind: ClassVar[Kind] = INTEGER

    def encode(self, numbers: NDArray[Any]) -> Ints:
        return np.asarray(np.clip(numbers, 0, self.size - 1), dtype=np.int64)

    def decode(self, steps: Ints) -> list[Any]:
        return [int(step) for step in steps]

    def describe(self) -> dict[str, object]:
        return {"name": "steps", "points": self.size}


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The records of a view as distinct steps (5) of a finer grid.

    Labels follow from how many records share a step, so only requested records are fetched.
    """

    view: SortedView
    grid: StepGrid
    shift: int
    missing: None = None

    @classmethod
    def of(cls, view: SortedView, nu: int) -> "ToldApart":
        """Provide labels for about nu records on one grid point, as far as steps fit in 62 bits.

        If there are too few labels, they repeat; the largest grids have only one.
        """
        room = max(1, MOST_STEPS // view.grid.size).bit_length() - 1
        shift = min(max(1, nu.bit_length()), room)
        return cls(view, StepGrid(view.grid.size << shift), shift)

    @property
    def n(self) -> int:
        return self.view.n

    def order_statistics(self, index: Ints) -> Ints:
        steps = self.view.order_statistics(index)
        distinct, inverse = np.unique(steps, return_inverse=True)
        below, through = (counts[inverse] for counts in self.view.ranks(distinct))
        labels = np.zeros_like(steps)
        for shared, here in _by_size(through - below):
            labels[here] = self._labels(shared)[(index - below)[here]]
        return np.asarray((steps << self.shift) + labels)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        whole, label = steps >> self.shift, steps & ((1 << self.shift) - 1)
        below, through = self.view.ranks(whole)
        lower, upper = below.copy(), below.copy()
        for shared, here in _by_size(through - below):
            labels = self._labels(shared)
            lower[here] += np.searchsorted(labels, label[here], side="left")
            upper[here] += np.searchsorted(labels, label[here], side="right")
        return lower, upper

    def _labels(self, shared: int) -> Ints:
        """The labels of `shared` records on the same step, in ascending order."""
        return np.sort(van_der_corput(np.arange(shared), self.shift))


def _by_size(sizes: Ints) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each size that occurs, and where it occurs."""
    for size in np.unique(sizes).tolist():
        yield size, sizes == size


def van_der_corput(index: Ints, bits: int) -> Ints:
    """The lowest `bits` bits of each number, in reverse order."""
    reversed_bits = np.zeros_like(index)
    for bit in range(bits):
        reversed_bits |= ((index >> bit) & 1) << (bits - 1 - bit)
    return reversed_bits
