"""The draw that belongs to the forward pass: from the last answer back to the first.

Equation numbers are those of `mechanisms/joint_exp.md`.
"""

from dataclasses import dataclass

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.forward import Ints, Masses, copies_at
from dpquantiles.kernels.scans import Decay


@dataclass(frozen=True, eq=False)
class Walk:
    """One walk back through the masses of a forward pass; the arguments are those of `forward`."""

    records: Ints
    masses: Masses
    targets: Ints
    decay: Decay
    bits: Bits

    @property
    def algebra(self) -> Algebra:
        """How the masses are held."""
        return self.decay.algebra

    def back(self, cell: int) -> list[int]:
        """The answers, drawn from the last one, whose cut has its error in this cell."""
        answers: list[int] = []
        k, standing = len(self.targets), self._standing(len(self.targets), cell)
        while True:
            below, above = self.records[k - 1, cell : cell + 2].tolist()
            if standing == "gap":
                count = self._copies(k, cell, above - below - 1)
                offsets = draws.sorted_with_repeats(self.bits, above - below - 1, count)
                answers += [below + 1 + offset for offset in reversed(offsets)]
                cell += int(self.targets[k - 1] - self.targets[k - count])
                k -= count - 1
            else:
                answers.append(above if standing == "lower" else below)
            if k == 1:
                return answers[::-1]
            cell, standing = self._predecessor(k, cell, standing)
            k -= 1

    def _choose(self, weights: Floats) -> int:
        return draws.weighted(self.bits, weights, self.algebra)

    def _standing(self, k: int, cell: int) -> str:
        """Where the k-th answer stands, given the error of its cut."""
        below, above = self.records[k - 1, cell : cell + 2].tolist()
        if below == above:
            return "interior"
        upper, lower = self.masses.upper.item(k, cell), self.masses.lower.item(k, cell)
        once, repeated = self._in_gap(k, cell, above - below - 1)
        gap = self.algebra.add(once, repeated)
        if self._chooses_first(upper, self.algebra.add(gap, lower).item()):
            return "upper"
        return "gap" if self._chooses_first(gap.item(), lower) else "lower"

    def _in_gap(self, k: int, cell: int, points: int) -> tuple[float, float]:
        """Masses of the gap at a cell: entered by the k-th answer, and by an earlier one."""
        entering, repeated = self.masses.entering, self.masses.repeated
        factor = self.algebra.number(np.float64(points))
        once = self.algebra.times(entering.item(k, cell), factor)
        return once.item(), repeated.item(k, cell)

    def _chooses_first(self, first: float, second: float) -> bool:
        return draws.chooses_first(self.bits, first, second, self.algebra)

    def _copies(self, k: int, cell: int, points: int) -> int:
        """How many answers share the gap: the terms of (8), of which the first is the usual one."""
        if self._chooses_first(*self._in_gap(k, cell, points)):
            return 1
        terms = copies_at(self.masses, self.targets, k, points, cell, self.decay)
        return 2 + self._choose(terms[1:])

    def _predecessor(self, k: int, cell: int, standing: str) -> tuple[int, str]:
        """Cell and standing of answer k-1, given where answer k entered its slot."""
        if standing == "interior":
            return cell, self._standing(k - 1, cell)
        total, advance = self.masses.total[k - 1], int(self.targets[k - 1] - self.targets[k - 2])
        first = cell if standing == "upper" else 0
        stop = cell + 1 if standing == "lower" else min(cell + advance, len(total))
        here = self.decay.length - cell
        near = self.decay.around[here + first : here + stop]
        same_rank = cell + advance
        if standing == "lower" or same_rank >= len(total):
            weights = self.algebra.times(total[first:stop], near)
        else:
            weights = np.empty(stop - first + 1)
            self.algebra.times(total[first:stop], near, out=weights[:-1])
            tied = self.masses.upper.item(k - 1, same_rank)
            weights[-1] = self.algebra.times(tied, self.decay.fall[advance])
        choice = self._choose(weights)
        if choice == stop - first:
            return same_rank, "upper"
        return first + choice, self._standing(k - 1, first + choice)
