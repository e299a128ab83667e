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
    """The map to bins: (place - low) * scale, cut off to an integer from 0 to BINS - 1."""

    low: float
    scale: float
    by_ratio: bool
    """Whether a number's place is that among all doubles, which gives bins of about one ratio, and
    not the number itself, which gives bins of one width."""

    @classmethod
    def between(cls, low: Any, high: Any, by_ratio: bool) -> "Line | None":
        """Bins between two numbers; None if doubles cannot divide by the distance of places."""
        ends = np.array([low, high], dtype=np.float64)
        start, stop = (among_doubles(ends) if by_ratio else ends).tolist()
        width = np.float64(stop) - np.float64(start)
        scale = float(BINS / width)
        return cls(start, scale, by_ratio) if width < np.inf and 0 < scale < np.inf else None

    def bins(self, numbers: NDArray[Any]) -> NDArray[np.intp]:
        """The bin of each number."""
        if self.by_ratio:
            numbers = among_doubles(np.asarray(numbers, dtype=np.float64))
        place = np.subtract(numbers, self.low, dtype=np.float64)
        np.multiply(place, self.scale, out=place)
        return np.asarray(np.clip(place, 0, BINS - 1, out=place), dtype=np.intp)

    def ends(self, bins: Ints) -> tuple[Floats, Floats]:
        """Numbers below, and above, all numbers of each bin; infinite where none is known."""
        below = self._number(self.low + (bins - NARROW) / self.scale)
        above = self._number(self.low + (bins + (1 + NARROW)) / self.scale)
        below[self.bins(below) >= bins] = -np.inf
        above[self.bins(above) <= bins] = np.inf
        return below, above

    def _number(self, place: NDArray[np.floating[Any]]) -> Floats:
        """The number at a place."""
        number = np.asarray(place, dtype=np.float64)
        return at_places(number) if self.by_ratio else number

    def crowding(self, numbers: NDArray[Any]) -> int:
        """How many pairs of numbers share a bin: the fewer, the better do bins divide them."""
        counts = np.bincount(self.bins(numbers), minlength=BINS)
        return int((counts * (counts - 1)).sum())


SIGN, GREATEST = np.int64(-(2**63)), float.fromhex("0x1.fffffffffffffp+62")


def among_doubles(numbers: Floats) -> Floats:
    """How many doubles lie between zero and each number, with its sign, about."""
    pattern = np.ascontiguousarray(numbers).view(np.int64)
    place = (pattern & ~SIGN).astype(np.float64)
    return np.copysign(place, numbers, out=place)


def at_places(places: Floats) -> Floats:
    """The numbers at places among all doubles; infinite beyond all of them."""
    size = np.minimum(np.abs(places), GREATEST).astype(np.int64)
    numbers = np.minimum(size, np.float64(np.inf).view(np.int64)).view(np.float64)
    return np.copysign(numbers, places)


class Binned(NamedTuple):
    """The bin of every number, and the size of every bin."""

    line: Line
    bins: NDArray[np.uint16]
    counts: Ints

    def collected(self, numbers: NDArray[Any], wanted: NDArray[np.bool_]) -> NDArray[Any]:
        """The numbers of the wanted bins, in no particular order."""
        ends = np.flatnonzero(np.diff(wanted, prepend=False, append=False)).astype(np.uint16)
        kept = []
        for start in range(0, len(numbers), CHUNK):
            bins = self.bins[start : start + CHUNK]
            if len(ends) == 2:  # for one run of bins, compare; before it, differences wrap around
                inside = bins - ends[0] < ends[1] - ends[0]
            else:
                inside = wanted.take(bins, mode="clip")
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
    ends = sample[tail], sample[-1 - tail]
    if ends[0] == ends[1]:
        return Line.between(numbers.min(), numbers.max(), by_ratio=False)
    lines = [Line.between(*ends, by_ratio=by_ratio) for by_ratio in (False, True)]
    usable = [line for line in lines if line is not None]
    return min(usable, key=lambda line: line.crowding(sample), default=None)
