"""PrivateKeys: select the groups to release, and their rough sizes, with truncated noise.

A group with n > 0 records gets the noisy count n + z, where z in -k .. k has a probability
proportional to exp(-epsilon |z|). The group is released if the count is above k. A group without
records is never released. k is the smallest number such that the noise has its largest value with a
probability of at most delta:

    P[z = k] = exp(-epsilon k) (1 - r) / (1 + r - 2 r^(k+1)) <= delta,  r = exp(-epsilon)     (1)

Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection" (arXiv
2006.03684), use this noise as well. Proof: `private_keys.md` beside this file.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.kernels.draws import (
    LEAST_RATE,
    MOST_RATE,
    below,
    bernoulli_exp,
    discrete_laplaces,
)
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.privacy import ApproxDP, Guarantee
from dpquantiles.privacy.conversions import SAFE


@dataclass(frozen=True, kw_only=True)
class PrivateKeys:
    """A private selection of groups under add-remove neighbors."""

    budget: ApproxDP

    def __post_init__(self) -> None:
        if not LEAST_RATE <= self.epsilon <= MOST_RATE:
            raise InvalidValue(
                "epsilon must leave between 2**-40 and 2**9 for the private keys, "
                f"got {self.epsilon!r} as their share"
            )

    @classmethod
    def bought(cls, budget: ApproxDP) -> "tuple[PrivateKeys, Guarantee]":
        """A selection for a share of epsilon and all of delta, and the epsilon that is left."""
        part, rest = budget.split(COUNT_SHARE)
        return cls(budget=budget.at(part.amount)), rest.without_delta

    @property
    def epsilon(self) -> float:
        """The rate of the noise."""
        return self.budget.epsilon

    @property
    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-differential privacy under add-remove neighbors."""
        return self.budget

    @property
    def threshold(self) -> int:
        """k of (1): the largest noise, and the largest count that is not released."""
        low, high, limit = 0, 1, math.log(self.budget.delta) + math.log(SAFE)
        while self.log_chance(high) > limit:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.log_chance(middle) <= limit else (middle, high)
        return high

    def log_chance(self, k: int) -> float:
        """The log probability (1) of the largest noise."""
        r = math.exp(-self.epsilon)
        tail = -2 * r * math.expm1(-self.epsilon * k)
        # 1 + r - 2 r^(k+1) = (1 - r) + 2 r (1 - r^k), a sum of positive numbers.
        apart = -math.expm1(-self.epsilon)
        return -self.epsilon * k + math.log(apart) - math.log(apart + tail)

    def draw(self, n: NDArray[np.int64], bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw which groups with n records are released, and their noisy counts."""
        k = self.threshold
        noise = truncated(bits, Fraction(self.epsilon), k, len(n))
        released = np.flatnonzero((n > 0) & (n + noise > k))
        return released, (n + noise)[released]


def truncated(bits: Bits, rate: Fraction, k: int, count: int) -> NDArray[np.int64]:
    """`count` integers z in -k .. k with probability proportional to exp(-rate |z|), by rejection.

    Proposals are discrete Laplace. If the distribution is nearly uniform, they are uniform, because
    hardly any Laplace number would be small enough.
    """
    if rate * k < 1:
        return np.array([_nearly_uniform(bits, rate, k) for _ in range(count)], dtype=np.int64)
    drawn, left = np.zeros(count, dtype=np.int64), np.arange(count)
    while len(left):
        drawn[left] = discrete_laplaces(bits, rate, len(left))
        left = left[np.abs(drawn[left]) > k]
    return drawn


def _nearly_uniform(bits: Bits, rate: Fraction, k: int) -> int:
    while True:
        z = below(bits, 2 * k + 1) - k
        if bernoulli_exp(bits, rate * abs(z)):
            return z
