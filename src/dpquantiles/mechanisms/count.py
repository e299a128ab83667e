"""PrivateCount: the number of records plus discrete Laplace noise, drawn exactly.

Adding or removing one record changes the count by one, so noise with P[z] proportional to
exp(-epsilon |z|) on the integers is epsilon-DP under add-remove neighbors (Ghosh, Roughgarden,
Sundararajan, SIAM J. Comput. 41(6), 2012). Clamping the count is post-processing.
Proof: `count.md` beside this file.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.kernels.draws import discrete_laplace
from dpquantiles.privacy import Neighbors, PureDP


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
