"""JointExp without a size: every record counts d times, so that all targets are whole numbers.

    quantiles     q_k = a_k / d,  0 < a_1 <= ... <= a_m < d                                     (1)
    records       n d, of which d are added or removed together
    targets       T_k = a_k n, for every n, so E = 0 and no size is needed
    sensitivity   D = 2 (d - the least a_k - a_{k-1}),  a_0 = 0,  a_{m+1} = d                   (2)

In ranks of records, the sensitivity D / d is 1 for a median and less than 2 for all quantiles. It
is 1 with a size; but buying one takes a share of the budget, and its noise moves all answers. Which
way is more accurate was measured: this one for few quantiles, as long as D / d is small. Proof:
"Without a public size" in `joint_exp.md` beside this file.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpquantiles.kernels.places import Ints

MOST_COPIES = 100
"""The largest common denominator d."""

MOST_SENSITIVITY = {1: 2.0, 2: 1.5}
"""By the number of quantiles, the largest D / d with which a bought size would not be better."""

INNER = 0.25
"""Quantiles with a smaller share of all records below or above them are near the ends."""

MOST_WORK = 1 << 14
"""The largest m D / epsilon; the length of all axes is about 200 times that."""


class Copies(NamedTuple):
    """How often every record counts, and the quantiles in that unit."""

    times: int
    """d of (1)."""
    numerators: Ints
    """a_k of (1), ascending."""

    @classmethod
    def of(cls, q: Sequence[float], epsilon: float) -> "Copies | None":
        """The copies that make a size unnecessary; None if buying one is better."""
        shares = [Fraction(x).limit_denominator(MOST_COPIES) for x in sorted(q)]
        times = math.lcm(*(share.denominator for share in shares))
        exact = all(float(share) == x for share, x in zip(shares, sorted(q), strict=True))
        if not exact or times > MOST_COPIES or not 0 < shares[0] <= shares[-1] < 1:
            return None
        copies = cls(times, np.array([int(share * times) for share in shares]))
        delta, m = copies.sensitivity, len(shares)
        accurate = delta <= MOST_SENSITIVITY.get(m, 0.0) * times
        return copies if accurate and m * delta <= MOST_WORK * epsilon else None

    @property
    def sensitivity(self) -> int:
        """D of (2)."""
        return 2 * (self.times - int(np.diff(self.numerators, prepend=0, append=self.times).min()))

    @property
    def near_ends(self) -> bool:
        """Whether the range of a family of grids may be open, so that anchors must hold it."""
        return bool((np.abs(2 * self.numerators - self.times) > (1 - 2 * INNER) * self.times).any())

    def targets(self, copied: int) -> Ints:
        """The targets among so many copies of records."""
        return self.numerators * (copied // self.times)
