"""Independent answers put in order: the probability of what is seen, summed over who gave it."""

import math
from collections.abc import Sequence

import numpy as np

from dpquantiles.errors import InvalidValue
from dpquantiles.kernels.algebra import Floats

MOST_PERMUTED = 16
"""The most answers of which the sum is made: its cost is 2**m."""


def log_probability(chances: Floats, repeats: Sequence[int]) -> float:
    """log of  sum over permutations s of prod_k P_k[o_s(k)] / prod of repeats!

    Entry (k, i) of `chances` is log P_k[o_i] for ascending answers o, of which equal ones come in
    groups of so many `repeats`: a vector of answers is counted once for each order of equal ones.
    """
    if len(chances) > MOST_PERMUTED:
        raise InvalidValue(
            f"values must be at most {MOST_PERMUTED} answers, got {len(chances)}: the "
            "probability is a sum over all permutations"
        )
    return _log_permanent(chances) - sum(math.lgamma(count + 1) for count in repeats)


def _log_permanent(chances: Floats) -> float:
    """log of the sum over permutations of the product of entries, row by row over sets of columns.

    All terms are positive, so no precision is lost.
    """
    m = len(chances)
    sets = np.arange(1 << m)
    masses = np.full(1 << m, -math.inf)
    masses[0] = 0.0
    for row in chances:
        grown = np.full(1 << m, -math.inf)
        for column, chance in enumerate(row):
            without = sets[sets & (1 << column) == 0]
            place = without | (1 << column)
            grown[place] = np.logaddexp(grown[place], masses[without] + chance)
        masses = grown
    return float(masses[-1])
