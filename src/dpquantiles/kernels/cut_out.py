"""The numbers around a few ranks, cut out of an unsorted array in one pass.

Two members of a sample are the ends of the cut. They are chosen so that the ranks almost surely lie
between them; whether they do is known after the pass, by counting.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SAMPLE = 1 << 15

SURE = 3
"""How many standard deviations of a sampled rank lie between the ranks and the ends of the cut."""

MOST = 16
"""A cut of more than one in this many numbers is given up."""

CHUNK = 1 << 16
"""Numbers per pass through the cache."""


class Cut(NamedTuple):
    """Numbers in no particular order, and how many of the array lie below all of them."""

    numbers: NDArray[Any]
    before: int


def cut_out(numbers: NDArray[Any], first: int, last: int) -> Cut | None:
    """The numbers of ranks `first` to `last`, and some more; None if that would be too many."""
    sample = np.sort(numbers[:: max(1, len(numbers) // SAMPLE)])
    share, spread = len(sample) / len(numbers), SURE * len(sample) ** 0.5 / 2
    low, high = int(first * share - spread), int(last * share + spread) + 1
    if low <= 0 or high >= len(sample) or (high - low) * MOST > len(sample):
        return None
    before, kept, size = 0, [], 0
    for start in range(0, len(numbers), CHUNK):
        chunk = numbers[start : start + CHUNK]
        below = chunk < sample[low]
        inside = (chunk <= sample[high]) ^ below
        before += int(np.count_nonzero(below))
        kept.append(chunk.compress(inside))
        size += len(kept[-1])
        if size * MOST > len(numbers):
            return None
    return Cut(np.concatenate(kept), before) if before <= first and last < before + size else None
