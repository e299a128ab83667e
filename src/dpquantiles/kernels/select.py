"""Selection of runs of the sorted order from an unsorted array, without a full sort."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def runs_of(index: Ints) -> list[tuple[int, int]]:
    """Ascending positions as (start, stop) runs of consecutive ones."""
    if not len(index):
        return []
    breaks = np.flatnonzero(np.diff(index) > 1) + 1
    starts = index[np.concatenate([[0], breaks])]
    stops = index[np.concatenate([breaks - 1, [len(index) - 1]])] + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def select(values: NDArray[Any], index: Ints) -> NDArray[Any]:
    """The values at ascending positions of the sorted order."""
    runs = runs_of(index)
    wanted = sum(stop - start for start, stop in runs)
    if 4 * wanted >= len(values):
        return np.sort(values)[index]
    edges = sorted({edge for start, stop in runs for edge in (start, stop - 1)})
    parted = np.partition(values, edges)
    return np.concatenate([np.sort(parted[start:stop]) for start, stop in runs])
