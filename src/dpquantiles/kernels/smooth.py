"""The smooth sensitivity of an order statistic, and noise that may be scaled to it.

Nissim, Raskhodnikova, Smith, "Smooth Sensitivity and Sampling in Private Data Analysis" (STOC
2007), Proposition 3.4: with x_i the sorted records, x_i = a before them and x_i = b after them,

    S(X) = max over i <= j <= l of  (x_l - x_i) exp(-t max(l - i - 1, 0)).                     (1)

If the later of two partners l < l' is better for some i, it is better for all larger i. So the
first best partner l(i) never decreases, and divide and conquer takes O(n log n). All nodes of one
depth are solved together.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.kernels.algebra import Floats

Ints = NDArray[np.int64]

UNIFORM_BITS = 53


def smooth_sensitivity(records: Ints, center: int, t: float) -> float:
    """(1) for the record at `center`; `records` ascend and include the ends of the range."""
    lower, upper = records[: center + 1], records[center:]
    fall = np.exp(-t * np.arange(max(len(lower), len(upper)), dtype=np.float64))
    partners = _best_partners(lower, upper, fall)
    between = np.maximum(partners + np.arange(center, -1, -1) - 1, 0)
    return float(np.max((upper[partners] - lower) * np.exp(-t * between)))


def _best_partners(lower: Ints, upper: Ints, fall: Floats) -> Ints:
    """For each lower record, the first upper record that maximizes their faded distance.

    Position p = 1 .. len(lower) stands for record p - 1; other positions are sentinels. Each pass
    solves the positions halfway between solved ones, whose partners bound the new ones.
    """
    count, last = len(lower), len(upper) - 1
    stride = 1 << count.bit_length()
    best = np.full(stride + 1, last, dtype=np.int64)
    best[0] = 0
    while stride > 1:
        stride //= 2
        middle = np.arange(stride, count + 1, 2 * stride)
        first, stop = best[middle - stride], best[middle + stride] + 1
        starts = np.cumsum(stop - first) - (stop - first)
        node = np.repeat(np.arange(len(middle)), stop - first)
        partner = np.arange(len(node)) - starts[node] + first[node]
        faded = (upper[partner] - lower[middle - 1][node]) * fall[partner]
        top = np.maximum.reduceat(faded, starts)
        best[middle] = np.minimum.reduceat(np.where(faded == top[node], partner, last), starts)
    return best[1 : count + 1]


def uniform(bits: Bits) -> float:
    """A multiple of 2**-53 strictly between 0 and 1."""
    return (2 * bits.getrandbits(UNIFORM_BITS - 1) + 1) * 2.0**-UNIFORM_BITS


def laplace(bits: Bits) -> float:
    """Continuous Laplace noise of scale 1: an exponential, by inversion, with a random sign."""
    return math.copysign(math.log(uniform(bits)), bits.getrandbits(1) - 0.5)


def normal(bits: Bits) -> float:
    """Continuous standard normal noise (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(uniform(bits)))
    return radius * math.cos(2.0 * math.pi * uniform(bits))
