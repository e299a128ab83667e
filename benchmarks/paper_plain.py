"""The paper's JointExp line by line, with the library routines that its text names.

Gillenwater, Joseph and Kulesza, "Differentially Private Quantiles" (ICML 2021): the recursion of
Algorithm 1 in log space ("Logarithm Trick": `scipy.special.logsumexp`, a Toeplitz product by FFT)
and the draw of every pair (i, k) by the racing method. The two routines can also be written in a
few lines of NumPy, which have less overhead on short arrays (`LEAN`). `paper_tuned` draws from the
same law with everything a careful reader can add; all are checked against the same enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import matmul_toeplitz
from scipy.special import logsumexp

from benchmarks.paper_tuned import SENSITIVITY, interval_edges, log_phi

Floats = NDArray[np.float64]


class Routines(NamedTuple):
    """The two steps that the paper leaves to a library."""

    log_sum: Callable[[Floats], Floats]
    """The log of the sums of exponentials along the last axis."""
    below_diagonal: Callable[[Floats, Floats], Floats]
    """A lower triangular Toeplitz matrix, given by its first column, times a vector."""


def _log_sum(table: Floats) -> Floats:
    top = np.maximum(table.max(axis=1), np.finfo(np.float64).min)
    return np.asarray(np.log(np.exp(table - top[:, None]).sum(axis=1)) + top)


def _below_diagonal(column: Floats, vector: Floats) -> Floats:
    size = 2 * column.size
    product = np.fft.fft(column, size) * np.fft.fft(vector, size)
    return np.asarray(np.fft.ifft(product).real[: column.size])


NAMED = Routines(
    log_sum=lambda table: np.asarray(logsumexp(table, axis=1)),
    below_diagonal=lambda column, vector: np.asarray(
        matmul_toeplitz((column, np.zeros(column.size)), vector)
    ),
)
LEAN = Routines(log_sum=_log_sum, below_diagonal=_below_diagonal)


def quantiles(
    values: ArrayLike,
    q: Sequence[float],
    epsilon: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
    routines: Routines = NAMED,
) -> Floats:
    """Return one epsilon-DP draw (swap neighbors) of the quantiles `q`, which must increase."""
    edges = interval_edges(values, bounds)
    intervals = draw(edges, q, epsilon, rng, routines)
    return np.sort(rng.uniform(edges[intervals], edges[intervals + 1]))


def estimated_bytes(n: int, m: int) -> int:
    """Peak memory of one call: alpha, and the copies that a log-sum over it makes."""
    return 8 * (n + 1) * m * (m + 4)


def log_alpha(
    edges: Floats, q: Sequence[float], epsilon: float, routines: Routines = NAMED
) -> Floats:
    """Entry [j-1, i, k-1]: log mass of the prefixes of length j that end with k copies of i."""
    n, m, rate = edges.size - 2, len(q), epsilon / (2 * SENSITIVITY)
    intervals, gaps = np.arange(n + 1), n * np.diff(np.concatenate([[0.0], q, [1.0]]))
    alpha = np.full((m, n + 1, m), -np.inf)
    with np.errstate(divide="ignore"):
        log_tau = np.log(np.diff(edges))
        alpha[0, :, 0] = log_phi(intervals, gaps[0], rate) + log_tau
        for j in range(1, m):
            log_hat = routines.log_sum(alpha[j - 1])
            log_column = log_phi(intervals, gaps[j], rate)
            top_column, top_hat = log_column.max(), log_hat.max()
            column = np.exp(log_column - top_column)
            column[0] = 0.0
            product = routines.below_diagonal(column, np.exp(log_hat - top_hat))
            product[: int(np.argmax(log_hat > -np.inf)) + 1] = 0.0
            alpha[j, :, 0] = log_tau + np.log(np.maximum(product, 0.0)) + top_column + top_hat
            for k in range(1, j + 1):
                alpha[j, :, k] = log_tau - rate * gaps[j] + alpha[j - 1, :, k - 1] - np.log(k + 1)
    return alpha


def draw(
    edges: Floats,
    q: Sequence[float],
    epsilon: float,
    rng: np.random.Generator,
    routines: Routines = NAMED,
) -> NDArray[np.intp]:
    """Draw the intervals from last to first, each pair (interval, copies) in one race."""
    n, m, rate = edges.size - 2, len(q), epsilon / (2 * SENSITIVITY)
    gaps = n * np.diff(np.concatenate([[0.0], q, [1.0]]))
    alpha = log_alpha(edges, q, epsilon, routines)
    drawn = np.empty(m, dtype=np.intp)
    j, end, above = m, n + 1, n
    while j > 0:
        scores = log_phi(above - np.arange(end), gaps[j], rate)
        log_weights = alpha[j - 1, :end, :j] + scores[:, np.newaxis]
        race = np.log(np.log(1.0 / rng.random(log_weights.shape))) - log_weights
        i, k = np.unravel_index(np.argmin(race), race.shape)
        drawn[j - k - 1 : j] = i
        j, end, above = j - int(k) - 1, int(i), int(i)
    return drawn
