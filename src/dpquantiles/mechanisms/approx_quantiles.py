"""ApproximateQuantiles: the middle quantile first, then both halves of the records, and so on.

Kaplan, Schnapp, Stemmer, "Differentially Private Approximate Quantiles" (ICML 2022, arXiv
2110.05429v1, Algorithm 1). An exponential mechanism answers the middle one of m quantiles. The
records are split at the answer. Then the lower quantiles are answered on the lower part, and the
upper quantiles on the upper part.

    levels    L = floor(log2 m) + 1                                                            (1)

This is the tree of `recursive_joint_exp.py` with one quantile per node, so its equations apply. Two
things differ from the paper. First, a node aims at the nominal number of records on either side of
its cut, not at a fraction of its true size. With a records below the cut and b above it,

    P[o] ~ exp(-c (|a - t| + |b - (nu - t)|)) plus a floor,                                    (2)

where t and nu are the public target and size of the node. A record is in a or in b, so it changes
the utility by at most one. At rate c, a level costs 2 c under add-remove and 4 c under swap for any
quantile, and an error of one rank costs 2 c once it exceeds the mismatch of the node's size. (With
the utility -|a - q' n'| and true sizes, an error of one rank costs c, and a level costs up to
2 c max(q', 1 - q'). That is no better at the median and worse elsewhere.) Second, labels tell ties
apart, (5) of `recursive_joint_exp.py`, so a cut can fall inside an atom.

Proof: `approx_quantiles.md` beside this file.
"""

from dataclasses import dataclass
from typing import ClassVar

from dpquantiles.mechanisms.mechanism import Profile
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp


@dataclass(frozen=True, kw_only=True)
class ApproximateQuantiles(RecursiveJointExp):
    """All quantiles `q` within one budget, by halving the records again and again."""

    name: ClassVar[str] = "approx_quantiles"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="n log n + m R",
        when="For comparison: one quantile after another; recursive_joint_exp is better.",
    )

    @staticmethod
    def parts(m: int) -> int:
        """(1)."""
        return m.bit_length()
