"""What lies at each rank: an atom that ends, begins or goes on there, and free grid points.

A rank is a cut between two neighboring records, `below` and `above`. An atom is a grid point with
records on it. Kernels work on these places, so they need not know how records were mapped to a
grid. What lies beyond all records is the `End`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.forking import cached_property
from dpquantiles.kernels.algebra import Floats

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Places(NamedTuple):
    """All of it for many ranks, as arrays of the same shape: two of integers, three of booleans."""

    first: NDArray[Any]
    """The first grid point above the record below. An atom that ends or goes on is just before."""
    free: NDArray[Any]
    """How many grid points lie strictly between the two records. An atom that begins is next."""
    ends: NDArray[Any]
    begins: NDArray[Any]
    interior: NDArray[Any]
    """Whether the cut is inside an atom."""

    @classmethod
    def of_steps(cls, below: Ints, above: Ints, points: int | Ints) -> "Places":
        """Cuts between records that are grid points.

        -1 stands for no record below, and `points`, the size of the grid, for none above.
        """
        apart, after_first = above > below, below >= 0
        return cls(
            first=below + 1,
            free=above - below - apart,
            ends=apart & after_first,
            begins=apart & (above < points),
            interior=after_first & (below < points) & ~apart,
        )

    @classmethod
    def of_halves(cls, below: Ints, above: Ints) -> "Places":
        """Cuts between records in half steps, which need not be grid points.

        Point i is the half step 2i + 1. Even half steps lie between points: 0 before all of them,
        and twice the size of the grid after all of them.
        """
        apart, on_point = above > below, (below & 1).astype(bool)
        first = (below + 1) >> 1
        return cls(
            first=first,
            free=np.maximum((above >> 1) - first, 0),
            ends=apart & on_point,
            begins=apart & (above & 1).astype(bool),
            interior=~apart & on_point,
        )


@dataclass(frozen=True, eq=False)
class End:
    """How paths end: some answers may lie beyond all records, and then the data end."""

    surplus: int | Ints
    """E of (1): the error at the end of the data."""
    most: int
    """S of (1): the most that the way from the last answer to the end of the data costs."""
    tops: Floats
    """By step, the least error of an answer beyond all records; inf if there can be none."""

    @cached_property
    def counts(self) -> list[int]:
        """How many answers may lie on the grid, if all others lie beyond all records."""
        beyond = np.isfinite(self.tops).reshape(len(self.tops), -1).any(axis=1)
        return [*np.flatnonzero(beyond).tolist(), len(self.tops)]

    def cost(self, errors: int | Ints, count: int) -> Floats:
        """The cost of the way from cut `count`, the last on the grid, to the end of the data."""
        last = errors if count == len(self.tops) else np.maximum(errors, self.tops[count])
        way = np.minimum(np.abs(last - self.surplus), self.most)
        return np.asarray(last - errors + way, dtype=np.float64)
