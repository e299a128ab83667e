"""Laws: the distribution of a mechanism's answers, and what several of them are made with."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kernels.algebra import Floats

MOST_PERMUTED = 16
"""The most answers of which the sum is made: its cost is 2**m."""


class Law(Protocol):
    """The distribution of a mechanism's answers on given data."""

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released."""

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""


def steps_of(grid: Grid, values: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Answers as the steps that they stand for, for a law to be asked about; `count` of them."""
    if len(values) != count:
        raise InvalidValue(f"values must be {count} answers, got {len(values)}")
    numbers = [grid.kind.number(value, "values") for value in values]
    steps = grid.encode(np.array(numbers))
    if [grid.kind.number(value, "values") for value in grid.decode(steps)] != numbers:
        raise InvalidValue("values must be points of the grid")
    return steps


def log_probability_in_order(chances: Floats, repeats: Sequence[int]) -> float:
    """The log probability of independent answers that were put in order:

        log of  sum over permutations s of prod_k P_k[o_s(k)] / prod of repeats!

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
