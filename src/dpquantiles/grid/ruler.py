"""Rulers: how trees divide grids, above all families, of which not everything has been stated.

    blocks    every number of few digits is a block, and so is the gap between two of them
    marks     a block has WIDTH marks, which divide its steps evenly

A tree cuts runs of marks. So a number that people write is told apart from its neighbors after few
cuts, and data of any usual size are reached with few cuts, while all doubles would need dozens.
On a single grid, and where a family has few points or its type has limits, every step is a mark.
A ruler is public.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpquantiles.forking import cached_property
from dpquantiles.grid.family import GridFamily, decimal_base
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.uniform import decimal

Ints = NDArray[np.int64]

DIGITS = 3
"""Numbers with so many significant digits are blocks, and the halves between those that begin with
one, where gaps are wide."""

WIDTH = 4**23
"""Marks are so fine that they tell all doubles of usual size apart."""

POWERS = range(-8, 13)
"""These powers of ten times a number of so many digits are blocks, if numbers are real. Smaller and
larger ones share a block each."""

LAST_DECADE = 18
"""64-bit integers end in this decade."""

FREE_REALS, FREE_OTHERS = 3, 2
"""So often a tree cuts real numbers without bounds, or others, without a look at the records,
measured on usual columns."""


@dataclass(frozen=True, eq=False)
class Ruler:
    """Ascending marks on the steps of a grid."""

    starts: Ints
    """The first step of each block, and the end of the last."""
    width: int
    """How many marks a block has: a power of four."""
    free: int
    """How often trees cut everything without a look at the records."""
    way: int = 0
    """How often trees must cut after that to reach a block."""

    @property
    def size(self) -> int:
        """How many marks there are."""
        return (len(self.starts) - 1) * self.width

    def steps(self, marks: Ints) -> Ints:
        """The first step of each mark, floor(steps of its block * mark / width) behind the block.

        The product may need more than 64 bits, so both factors are halved.
        """
        block, mark = np.divmod(np.asarray(marks, dtype=np.int64), self.width)
        half = math.isqrt(self.width)
        (high, low), (upper, lower) = (
            np.divmod(factor, half) for factor in (self._lengths[block], mark)
        )
        carried = (high * lower + low * upper + low * lower // half) // half
        return np.asarray(self.starts[block] + high * upper + carried)

    @cached_property
    def _lengths(self) -> Ints:
        """How many steps each block has, and none behind the last one."""
        return np.append(np.diff(self.starts), 0)

    def single(self, first: Ints, end: Ints) -> NDArray[np.bool_]:
        """Whether several marks have at most one step between them."""
        return np.asarray((self.steps(end) - self.steps(first) <= 1) & (end - first > 1))


class EveryStep(Ruler):
    """The ruler on which every step is a mark."""

    def __init__(self, points: int) -> None:
        super().__init__(np.array([0, points]), points, 1)

    def steps(self, marks: Ints) -> Ints:
        """The marks themselves."""
        return marks


def ruler_of(grid: Grid) -> Ruler:
    """The ruler of a grid, which follows from public numbers."""
    if isinstance(grid, GridFamily) and decimal_base(grid) is not None:
        return _decimal(grid)
    return EveryStep(grid.size)


@lru_cache(maxsize=16)
def _decimal(family: GridFamily) -> Ruler:
    """The ruler on which numbers of few digits stand alone."""
    base, whole = family.base, family.kind.integral
    powers = range(LAST_DECADE - DIGITS + 2) if whole else POWERS
    heads = np.arange(10 ** (DIGITS - 1), 10**DIGITS)
    above = np.concatenate(
        [decimal(heads, power) for power in powers]
        + [decimal(10 * heads[: heads[0]] + 5, power - 1) for power in powers[1:]]
    )
    small = np.arange(10 ** (DIGITS - 1)) if whole else np.zeros(1)
    points = base.encode(np.concatenate([-above, -small, small, above]))
    starts = np.unique(np.concatenate([[0], points, points + 1, [base.size]]))
    free = FREE_REALS if family.unbounded and not whole else FREE_OTHERS
    return Ruler(starts, WIDTH, free, max(0, math.ceil(math.log(len(starts), 4)) - free))
