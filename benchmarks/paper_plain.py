"""The paper's JointExp line by line, with the library routines that its text names.

Gillenwater, Joseph and Kulesza, "Differentially Private Quantiles" (ICML 2021): the recursion of
Algorithm 1 in log space ("Logarithm Trick": `scipy.special.logsumexp`, a Toeplitz product by FFT)
and the draw of every pair (i, k) by the racing method. `paper_tuned` draws from the same law with
everything a careful reader can add; the two are checked against the same enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import matmul_toeplitz
from scipy.special import logsumexp

from benchmarks.paper_tuned import SENSITIVITY, interval_edges, log_phi

Floats = NDArray[np.float64]


def quantiles(
    values: ArrayLike,
    q: Sequence[float],
    epsilon: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> Floats:
    """Return one epsilon-DP draw (swap neighbors) of the quantiles `q`, which must increase."""
    edges = interval_edges(values, bounds)
    intervals = draw(edges, q, epsilon, rng)
    return np.sort(rng.uniform(edges[intervals], edges[intervals + 1]))


def estimated_bytes(n: int, m: int) -> int:
    """Peak memory of one call: alpha, and the copies that a log-sum over it makes."""
    return 8 * (n + 1) * m * (m + 4)


def log_alpha(edges: Floats, q: Sequence[float], epsilon: float) -> Floats:
    """Entry [j-1, i, k-1]: log mass of the prefixes of length j that end with k copies of i."""
    n, m, rate = edges.size - 2, len(q), epsilon / (2 * SENSITIVITY)
    intervals, gaps = np.arange(n + 1), n * np.diff(np.concatenate([[0.0], q, [1.0]]))
    alpha = np.full((m, n + 1, m), -np.inf)
    with np.errstate(divide="ignore"):
        log_tau = np.log(np.diff(edges))
        alpha[0, :, 0] = log_phi(intervals, gaps[0], rate) + log_tau
        for j in range(1, m):
            log_hat = logsumexp(alpha[j - 1], axis=1)
            log_column = log_phi(intervals, gaps[j], rate)
            top_column, top_hat = log_column.max(), log_hat.max()
            column, row = np.exp(log_column - top_column), np.zeros(n + 1)
            column[0] = 0.0
            product = matmul_toeplitz((column, row), np.exp(log_hat - top_hat))
            product[: int(np.argmax(log_hat > -np.inf)) + 1] = 0.0
            alpha[j, :, 0] = log_tau + np.log(np.maximum(product, 0.0)) + top_column + top_hat
            for k in range(1, j + 1):
                alpha[j, :, k] = log_tau - rate * gaps[j] + alpha[j - 1, :, k - 1] - np.log(k + 1)
    return alpha


def draw(
    edges: Floats, q: Sequence[float], epsilon: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the intervals from last to first, each pair (interval, copies) in one race."""
    n, m, rate = edges.size - 2, len(q), epsilon / (2 * SENSITIVITY)
    gaps = n * np.diff(np.concatenate([[0.0], q, [1.0]]))
    alpha = log_alpha(edges, q, epsilon)
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
