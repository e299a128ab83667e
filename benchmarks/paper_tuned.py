"""The paper's JointExp, as its text gives it: the opponent that our mechanism is measured against.

Gillenwater, Joseph and Kulesza, "Differentially Private Quantiles" (ICML 2021), Algorithm 1. The
sorted records, clamped to [a, b], cut the range into n + 1 intervals. A draw picks a nondecreasing
sequence of m intervals with probability proportional to

    exp(-c sum_j |(i_j - i_{j-1}) - n_j|) * prod_j tau(i_j) / prod_i count_i!,     c = epsilon / 4,

where tau is an interval's width and n_j = (q_j - q_{j-1}) n; then a uniform point of each interval.
Swap neighbors, sensitivity 2. Time O(mn log n + m^2 n), memory O(m^2 n).

What a careful reader adds, without changing the distribution:

- real FFTs of a composite length, not complex ones of length 2n + 1;
- the "logarithm trick" and the "racing" draw of the paper's appendices, with one scratch block for
  the sums over k and ziggurat exponentials in place of ln(1/U);
- each draw of (i, k) takes i from the sums over k that the forward pass has already made, and then
  k given i: O(n + m) numbers per draw in place of O(mn).

Duplicates stay as they are: equal neighbors enclose an interval of width zero, its logarithm is
minus infinity, and it is never drawn. The paper suggests to perturb heavily tied data by a little
data-independent noise first; that is left to the caller.

The multiplication loses what lies 16 digits under the largest product, and rounding can leave such
entries below zero; they are clipped, as every implementation by FFT has to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SENSITIVITY = 2


@dataclass(frozen=True, kw_only=True)
class Forward:
    """What the backward draw needs from the forward pass.

    `log_alpha[j - 1][k - 1, i]` is the log mass of the prefixes of length j that end with exactly
    k copies of interval i, and `log_sums[j - 1][i]` is its sum over k.
    """

    rate: float
    gaps: Floats
    log_alpha: list[Floats]
    log_sums: list[Floats]


def quantiles(
    values: ArrayLike,
    q: Sequence[float],
    epsilon: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> Floats:
    """Return one epsilon-DP draw (swap neighbors) of the quantiles `q`, which must increase."""
    edges = interval_edges(values, bounds)
    intervals = draw(forward(edges, q, epsilon), rng)
    return np.sort(rng.uniform(edges[intervals], edges[intervals + 1]))


def estimated_bytes(n: int, m: int) -> int:
    """Peak memory of one call: alpha, the scratch block for its sums, and the FFT's buffers."""
    return 8 * (n + 1) * (m * (m + 1) // 2 + 2 * m + 16)


def interval_edges(values: ArrayLike, bounds: tuple[float, float]) -> Floats:
    """Sort and clamp the records and put the bounds around them: interval i is edges[i : i + 2]."""
    lower, upper = bounds
    inner = np.sort(np.asarray(values, dtype=np.float64))
    return np.concatenate([[lower], np.clip(inner, lower, upper), [upper]])


def forward(edges: Floats, q: Sequence[float], epsilon: float) -> Forward:
    """Fill alpha, one quantile after the other, in log space."""
    n, m = edges.size - 2, len(q)
    rate = epsilon / (2 * SENSITIVITY)
    gaps = n * np.diff(np.concatenate([[0.0], q, [1.0]]))
    with np.errstate(divide="ignore"):
        log_tau = np.log(np.diff(edges))
    scratch = np.empty((m, n + 1))
    log_alpha = [(log_phi(np.arange(n + 1), gaps[0], rate) + log_tau)[np.newaxis]]
    log_sums = [log_alpha[0][0]]
    for j in range(2, m + 1):
        alpha = np.empty((j, n + 1))
        kernel = log_phi(np.arange(n + 1), gaps[j - 1], rate)
        np.add(log_toeplitz_product(kernel, log_sums[-1]), log_tau, out=alpha[0])
        np.add(log_alpha[-1], log_tau - rate * gaps[j - 1], out=alpha[1:])
        alpha[1:] -= np.log(np.arange(2, j + 1))[:, np.newaxis]
        log_alpha.append(alpha)
        log_sums.append(log_sum_of_rows(alpha, scratch[:j]))
    return Forward(rate=rate, gaps=gaps, log_alpha=log_alpha, log_sums=log_sums)


def draw(table: Forward, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw the m intervals from last to first, each with all of its copies at once."""
    m, n = len(table.log_alpha), table.log_sums[0].size - 1
    intervals = np.empty(m, dtype=np.intp)
    j, end, above = m, n + 1, n
    while j > 0:
        steps = above - np.arange(end)
        log_weights = table.log_sums[j - 1][:end] + log_phi(steps, table.gaps[j], table.rate)
        i = race(log_weights, rng)
        copies = 1 + race(table.log_alpha[j - 1][:, i], rng)
        intervals[j - copies : j] = i
        j, end, above = j - copies, i, i
    return intervals


def log_phi(steps: NDArray[np.intp], gap: float, rate: float) -> Floats:
    """Score of moving up by that many intervals when `gap` records should lie between."""
    return np.asarray(-rate * np.abs(steps - gap), dtype=np.float64)


def log_toeplitz_product(log_kernel: Floats, log_vector: Floats) -> Floats:
    """Log of sum_{i' < i} kernel[i - i'] vector[i'], by FFT outside of log space.

    Nothing lies below the first entry that has mass, and rounding must not put anything there: a
    draw that went there would find no predecessor.
    """
    size = log_vector.size
    length = composite_length(2 * size - 1)
    top_kernel, top_vector = log_kernel[1:].max(initial=-np.inf), log_vector.max()
    kernel = np.exp(log_kernel - top_kernel)
    kernel[0] = 0.0
    vector = np.exp(log_vector - top_vector)
    spectrum = np.fft.rfft(kernel, length)
    spectrum *= np.fft.rfft(vector, length)
    product = np.fft.irfft(spectrum, length)[:size]
    product[: int(np.argmax(log_vector > -np.inf)) + 1] = 0.0
    np.maximum(product, 0.0, out=product)
    with np.errstate(divide="ignore"):
        np.log(product, out=product)
    product += top_kernel + top_vector
    return product


def log_sum_of_rows(rows: Floats, scratch: Floats) -> Floats:
    """Column-wise log of the sum of exponentials, with the maximum taken out first."""
    top = rows.max(axis=0)
    np.maximum(top, np.finfo(np.float64).min, out=top)
    np.subtract(rows, top, out=scratch)
    np.exp(scratch, out=scratch)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(scratch.sum(axis=0)) + top, dtype=np.float64)


def race(log_weights: Floats, rng: np.random.Generator) -> int:
    """Draw an index in proportion to exp(log_weights): the first to arrive wins."""
    return int(np.argmin(np.log(rng.standard_exponential(log_weights.size)) - log_weights))


def composite_length(size: int) -> int:
    """The smallest odd * 2^k >= size with a small odd part: FFTs of such lengths are fast."""
    odds = (1, 3, 5, 9, 15, 25, 27, 45)
    return min(odd << (-(-size // odd) - 1).bit_length() for odd in odds)
