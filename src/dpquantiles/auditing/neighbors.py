"""Small data sets, all of them, and all their neighbors."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from dpquantiles.grid import UniformGrid
from dpquantiles.privacy import Neighbors
from dpquantiles.views import ArrayView

Records = tuple[int, ...]
"""Steps of a small grid, in order."""


def small(points: int, n: int) -> Iterator[Records]:
    """All data sets of n records on so many points; also all answers to n quantiles."""
    return itertools.combinations_with_replacement(range(points), n)


def pairs(
    neighbors: Neighbors, sizes: Sequence[int], points: int
) -> Iterator[tuple[Records, Records]]:
    """All pairs of neighbors, the first of these sizes, each pair once."""
    for n in sizes:
        for records in small(points, n):
            if neighbors is Neighbors.ADD_REMOVE:
                for extra in range(points):
                    yield records, tuple(sorted((*records, extra)))
            else:
                for gone, new in itertools.product(range(n), range(points)):
                    swapped = tuple(sorted((*records[:gone], *records[gone + 1 :], new)))
                    if records < swapped:
                        yield records, swapped


def view_of(records: Records, points: int) -> ArrayView:
    """Records as a mechanism sees them."""
    return ArrayView(np.array(records, dtype=np.int64), UniformGrid(0, points - 1, 1))
