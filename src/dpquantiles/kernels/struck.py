"""The ranks that missing records strike, so that targets fit the records that are present.

Of N records in all, M are missing. Each of them strikes one of the ranks 0 .. N-1, in the order of
reversed binary digits, which strikes evenly everywhere. Proof: `mechanisms/missing.md`.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def struck_below(targets: Ints, size: Ints, missing: Ints) -> Ints:
    """How many of the first `missing` ranks of the order lie below each target.

    The order counts up, 0, 1, 2, ..., with binary digits reversed, and leaves out what is not below
    `size`. So it begins with aligned blocks of 2^b numbers: the largest one that strikes no
    more than `missing` ranks, then a smaller one, and so on. Reversed, the numbers of a block are
    evenly spaced. `size` and `missing` may have an entry for each column of `targets`.
    """
    width = np.frexp(np.maximum(size - 1, 0))[1].astype(np.int64)
    first, left, below = np.zeros_like(size), missing, np.zeros_like(targets)
    for bits in range(int(width.max(initial=0)), -1, -1):
        apart = np.int64(1) << np.maximum(width - bits, 0)
        struck = _spaced_below(size, first, apart, bits)
        taken = (bits <= width) & (struck <= left)
        below += np.where(taken, _spaced_below(targets, first, apart, bits), 0)
        left = left - np.where(taken, struck, 0)
        first = first + np.where(taken, apart >> 1, 0)
    return below


def _spaced_below(end: Ints, first: Ints, apart: Ints, bits: int) -> Ints:
    """How many of the 2^bits numbers first, first + apart, ... are below an end."""
    return np.asarray(np.clip(-((first - end) // apart), 0, 1 << bits))
