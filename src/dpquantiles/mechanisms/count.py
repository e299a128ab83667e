"""PrivateCount: the number of records plus discrete Laplace noise, drawn exactly.

Adding or removing one record changes the count by one, so noise with P[z] proportional to
exp(-epsilon |z|) on the integers is epsilon-DP under add-remove neighbors (Ghosh, Roughgarden,
Sundararajan, SIAM J. Comput. 41(6), 2012). Clamping the count is post-processing.
Proof: `count.md` beside this file.

`bought` spends a share of any budget on such a count, for mechanisms that need a public size;
`noisy_count` spends all of one.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.kernels.draws import MOST_RATE, discrete_laplace, discrete_laplaces
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP

BELOW = 1 - 2.0**-50
"""Keeps products and quotients of budgets on the private side of rounding."""

COUNT_SHARE = 0.2
"""The share of a budget that buys the number of records where it is neither public nor given."""


@dataclass(frozen=True, kw_only=True)
class PrivateCount:
    """A count of records under add-remove neighbors."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))

    @property
    def guarantee(self) -> PureDP:
        """epsilon-differential privacy for add-remove neighbors."""
        return PureDP(epsilon=self.epsilon, neighbors=Neighbors.ADD_REMOVE)

    def draw(self, n: int, bits: Bits) -> int:
        """n plus noise, clamped to what can be a number of records."""
        noisy = n + discrete_laplace(bits, Fraction(self.epsilon))
        return min(max(0, noisy), require.LARGEST_COUNT)

    def draw_all(self, n: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """As `draw`, for the numbers of records of many data sets."""
        noise = discrete_laplaces(bits, min(Fraction(self.epsilon), MOST_RATE), len(n))
        noisy: NDArray[np.int64] = np.clip(n + noise, 0, require.LARGEST_COUNT)
        return noisy


def budget_share(budget: Guarantee, share: float) -> Guarantee:
    """A share of a budget; shares that add up to one leave nothing, and never less."""
    if isinstance(budget, ZCDP):
        return replace(budget, rho=budget.rho * share * BELOW)
    return replace(budget, epsilon=budget.epsilon * share * BELOW)


def noise_rate(budget: Guarantee) -> float:
    """The rate of noise on a number that one record changes by at most one, for a budget."""
    return math.sqrt(2 * budget.rho) * BELOW if isinstance(budget, ZCDP) else budget.epsilon


def noisy_count(number: int, budget: Guarantee, bits: Bits) -> int:
    """A number of something that one record changes by at most one, with noise, not negative."""
    return PrivateCount(epsilon=noise_rate(budget)).draw(number, bits)


def counting_share(budget: Guarantee) -> tuple[PrivateCount, Guarantee]:
    """A private count for `COUNT_SHARE` of a budget, and what is left of the budget.

    An epsilon-DP count is epsilon^2 / 2 of a rho (Bun, Steinke, arXiv 1605.02065v1, Prop. 1.4).
    """
    if isinstance(budget, ZCDP):
        count = PrivateCount(epsilon=math.sqrt(2 * COUNT_SHARE * budget.rho))
        return count, replace(budget, rho=(1 - COUNT_SHARE) * budget.rho * (1 - 1e-12))
    count = PrivateCount(epsilon=budget.epsilon * COUNT_SHARE)
    return count, replace(budget, epsilon=math.nextafter(budget.epsilon - count.epsilon, 0.0))


def bought(budget: Guarantee, n: int, bits: Bits) -> tuple[int, Guarantee]:
    """The private count itself, and what is left of the budget."""
    count, rest = counting_share(budget)
    return count.draw(n, bits), rest
