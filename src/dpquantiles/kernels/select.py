"""Selection of runs of the sorted order from an unsorted array, without a full sort.

Small arrays are sorted. Large ones are binned by value in one pass, and only the bins that contain
wanted positions are collected and sorted. Where bins do not help, `np.partition` is used.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LARGE = 1 << 17
BINS = 1 << 14
SAMPLE = 1 << 12
CHUNK = 1 << 16
"""Records per pass through the cache."""


class PositionRun(NamedTuple):
    """Consecutive positions start .. stop-1 of the sorted order."""

    start: int
    stop: int


def runs_of(index: Ints) -> list[PositionRun]:
    """Ascending positions as runs of consecutive ones."""
    if not len(index):
        return []
    breaks = np.flatnonzero(np.diff(index) > 1) + 1
    starts = index[np.concatenate([[0], breaks])]
    stops = index[np.concatenate([breaks - 1, [len(index) - 1]])] + 1
    return [PositionRun(*run) for run in zip(starts.tolist(), stops.tolist(), strict=True)]


def select(values: NDArray[Any], index: Ints) -> NDArray[Any]:
    """The values at ascending positions of the sorted order."""
    if 4 * len(index) >= len(values):
        return np.sort(values)[index]
    if not len(index):
        return values[:0]
    runs = runs_of(index)
    if len(values) >= LARGE:
        selected = _by_bins(values, runs)
        if selected is not None:
            return selected
    edges = sorted({edge for run in runs for edge in (run.start, run.stop - 1)})
    parted = np.partition(values, edges)
    return np.concatenate([np.sort(parted[run.start : run.stop]) for run in runs])


def _by_bins(values: NDArray[Any], runs: list[PositionRun]) -> NDArray[Any] | None:
    """Select with a histogram; None if the wanted bins contain too many records."""
    stride = max(1, len(values) // SAMPLE)
    sample = np.sort(values[::stride]).astype(np.float64)
    low, high = float(sample[len(sample) // 512]), float(sample[-1 - len(sample) // 512])
    with np.errstate(all="ignore"):
        scale = float(np.float64(BINS) / (high - low))
        if not (0 < scale < np.inf):
            return None
        thinned = [PositionRun(run.start // stride, -(-run.stop // stride)) for run in runs]
        if _wanted_bins(_bin(sample, low, scale)[1], thinned)[0] is None:
            return None
        bins, counts = _bin(values, low, scale)
    wanted, first_bins = _wanted_bins(counts, runs)
    if wanted is None:
        return None
    kept = np.sort(_collect(values, bins, wanted))
    # Bins are ordered by value, so records before a run that are not kept lie in lower bins.
    left_out = np.concatenate([[0], np.cumsum(np.where(wanted, 0, counts))])
    pairs = zip(runs, left_out[first_bins].tolist(), strict=True)
    return np.concatenate([kept[run.start - out : run.stop - out] for run, out in pairs])


def _wanted_bins(counts: Ints, runs: list[PositionRun]) -> tuple[NDArray[np.bool_] | None, Ints]:
    """The bins of the runs (None if over a quarter of all records), and each run's first bin."""
    ends = np.cumsum(counts)
    first = np.searchsorted(ends, [run.start for run in runs], side="right")
    last = np.searchsorted(ends, [run.stop - 1 for run in runs], side="right")
    wanted = np.zeros(BINS, dtype=bool)
    for low, high in zip(first, last, strict=True):
        wanted[low : high + 1] = True
    return (wanted if 4 * int(counts[wanted].sum()) <= ends[-1] else None), first


def _bin(values: NDArray[Any], low: float, scale: float) -> tuple[NDArray[np.uint16], Ints]:
    """The bin of every record, and the size of every bin; bins are monotone in the value."""
    bins = np.empty(len(values), dtype=np.uint16)
    counts = np.zeros(BINS, dtype=np.int64)
    for start in range(0, len(values), CHUNK):
        place = np.subtract(values[start : start + CHUNK], low, dtype=np.float64)
        np.multiply(place, scale, out=place)
        chunk = np.clip(place, 0, BINS - 1, out=place).astype(np.intp)
        counts += np.bincount(chunk, minlength=BINS)
        bins[start : start + CHUNK] = chunk
    return bins, counts


def _collect(
    values: NDArray[Any], bins: NDArray[np.uint16], wanted: NDArray[np.bool_]
) -> NDArray[Any]:
    """The records of the wanted bins, in no particular order."""
    starts = range(0, len(values), CHUNK)
    return np.concatenate([values[s : s + CHUNK][wanted[bins[s : s + CHUNK]]] for s in starts])
