"""Unsorted numbers in bins by value, made in one pass, so that only some of them must be sorted.

The map from numbers to bins uses doubles and does not decrease. A number that it puts into a lower
bin lies below all numbers of a bin. That is how the ends of a bin are found, so rounding may make
them look farther apart than they are, but never misplaces a number.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = 1 << 15

SAMPLE = 1 << 12
TAIL = 512
"""One in so many numbers on each side lies in the first or the last bin, roughly."""

CHUNK = 1 << 16
"""Numbers per pass through the cache."""

NARROW = 2.0**-20
"""The ends of a bin are looked for this part of its width outside of its edges."""


class Line(NamedTuple):
    """The map to bins: (number - low) * scale, cut off to an integer from 0 to BINS - 1."""

    low: float
    scale: float

    def bins(self, numbers: NDArray[Any]) -> NDArray[np.intp]:
        """The bin of each number."""
        place = np.subtract(numbers, self.low, dtype=np.float64)
        np.multiply(place, self.scale, out=place)
        return np.asarray(np.clip(place, 0, BINS - 1, out=place), dtype=np.intp)

    def ends(self, bins: Ints) -> tuple[Floats, Floats]:
        """Numbers below, and above, all numbers of each bin; infinite where none is known."""
        below = np.asarray(self.low + (bins - NARROW) / self.scale, dtype=np.float64)
        above = np.asarray(self.low + (bins + (1 + NARROW)) / self.scale, dtype=np.float64)
        below[self.bins(below) >= bins] = -np.inf
        above[self.bins(above) <= bins] = np.inf
        return below, above


class Binned(NamedTuple):
    """The bin of every number, and the size of every bin."""

    line: Line
    bins: NDArray[np.uint16]
    counts: Ints

    def collected(self, numbers: NDArray[Any], wanted: NDArray[np.bool_]) -> NDArray[Any]:
        """The numbers of the wanted bins, in no particular order."""
        kept = []
        for start in range(0, len(numbers), CHUNK):
            inside = wanted.take(self.bins[start : start + CHUNK], mode="clip")
            kept.append(numbers[start : start + CHUNK].compress(inside))
        return np.concatenate(kept)


@np.errstate(all="ignore")
def binned(numbers: NDArray[Any]) -> Binned | None:
    """Bin an array; None if its numbers are too close together, or too far apart, for doubles."""
    line = _line(numbers)
    if line is None:
        return None
    bins, counts = np.empty(len(numbers), dtype=np.uint16), np.zeros(BINS, dtype=np.int64)
    for start in range(0, len(numbers), CHUNK):
        chunk = line.bins(numbers[start : start + CHUNK])
        counts += np.bincount(chunk, minlength=BINS)
        bins[start : start + CHUNK] = chunk
    return Binned(line, bins, counts)


def _line(numbers: NDArray[Any]) -> Line | None:
    """Bins between two quantiles of a sample or, if these are equal, between the extremes."""
    sample = np.sort(numbers[:: max(1, len(numbers) // SAMPLE)])
    tail = len(sample) // TAIL
    line = _between(sample[tail], sample[-1 - tail])
    return line or _between(numbers.min(), numbers.max())


def _between(low: Any, high: Any) -> Line | None:
    """Bins between two numbers; None if doubles cannot divide by their distance."""
    width = np.float64(high) - np.float64(low)
    scale = float(BINS / width)
    return Line(float(low), scale) if width < np.inf and 0 < scale < np.inf else None
