"""PrivateCount: the number of records plus discrete Laplace noise, drawn exactly.

Adding or removing one record changes the count by one, so noise with P[z] proportional to
exp(-epsilon |z|) on the integers is epsilon-DP under add-remove neighbors (Ghosh, Roughgarden,
Sundararajan, SIAM J. Comput. 41(6), 2012), and costs at most a rho of epsilon^2 / 2 (Bun, Steinke,
arXiv 1605.02065v1, Prop. 1.4). Clamping the count is post-processing.
Proof: `count.md` beside this file.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.kernels.draws import MOST_RATE, discrete_laplace, discrete_laplaces
from dpquantiles.privacy import Guarantee

COUNT_SHARE = 0.2
"""The share of a budget that buys the number of records if it is neither public nor stated."""


@dataclass(frozen=True, kw_only=True)
class PrivateCount:
    """A private count that a neighbor changes by at most one, such as the number of records."""

    budget: Guarantee

    @property
    def guarantee(self) -> Guarantee:
        """The whole budget, without its delta, which is not needed."""
        return self.budget.without_delta

    @property
    def rate(self) -> Fraction:
        """The rate of the noise."""
        return Fraction(self.budget.noise_rate)

    def draw(self, n: int, bits: Bits) -> int:
        """Draw n plus noise, clamped to a possible number of records."""
        noisy = n + discrete_laplace(bits, self.rate)
        return min(max(0, noisy), require.LARGEST_COUNT)

    def draw_all(self, n: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Like `draw`, for the numbers of records of many data sets."""
        noise = discrete_laplaces(bits, min(self.rate, MOST_RATE), len(n))
        noisy: NDArray[np.int64] = np.clip(n + noise, 0, require.LARGEST_COUNT)
        return noisy
