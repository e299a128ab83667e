"""Between: a JointExp answers some of the quantiles, and the others lie between its answers.

If there are few records, or little epsilon, many quantiles are closer together than any private
answer is accurate. A JointExp that must answer all of them becomes less accurate, and loses its
way. A tree loses the few records in its noise. So a JointExp on a family of grids answers a few
quantiles, evenly spread from the lowest to the highest one. With answers o at q and o' at q',

    between   the answer at p is the point of the drawn member nearest to
              o + (o' - o) (p - q) / (q' - q)                                                    (1)
    ties      if o or o' was drawn several times in a row, records are probably tied; then it is o
              or o', by which of q and q' is nearer to p                                         (2)

(1) and (2) are computed from what was drawn, so they cost nothing. Proof: `between.md`.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid, GridFamily
from dpquantiles.grid.member import Member
from dpquantiles.kernels.algebra import Floats
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism, Profile
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Between(Mechanism):
    """All quantiles `q` from at most `number` answers of a JointExp; its grid must be a family."""

    name: ClassVar[str] = "between"
    profile: ClassVar[Profile] = replace(
        JointExp.profile, when="Part of fitted: many quantiles of few records."
    )
    number: int

    @cached_property
    def joint(self) -> JointExp:
        """The mechanism that is drawn from."""
        drawn = tuple(spread(self._distinct, self.number).tolist())
        return JointExp(q=drawn, budget=self.budget, size=self.size)

    @property
    def _distinct(self) -> Floats:
        return np.unique(self.q)

    def demand(self, n: int, grid: Grid) -> Demand:
        """What JointExp reads."""
        return self.joint.demand(n, grid)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw of JointExp, and the answers between."""
        drawn = self.joint.release(view, bits)
        values = self.values(_member(view.grid, drawn), drawn.values)
        return replace(
            drawn,
            mechanism=self.name,
            q=self.q,
            values=values,
            provenance={**drawn.provenance, "drawn": list(self.joint.q)},
        )

    def values(self, member: Member, drawn: tuple[Any, ...]) -> tuple[Any, ...]:
        """Values for all quantiles, in their order, from those that were drawn on a member."""
        numbers = np.array([member.kind.number(value, "values") for value in drawn])
        places = np.searchsorted(self._distinct, self.q)
        steps = between(np.array(self.joint.q), member.encode(numbers), self._distinct)
        return tuple(member.decode(steps[places]))


def _member(grid: Any, release: Release) -> Member:
    """The member of a family on which answers were drawn."""
    family: GridFamily = grid
    description: Any = release.provenance["grid"]
    index: int = description["member"]["index"]
    return family.members[index]


def spread(q: Floats, number: int) -> Floats:
    """At most `number` of these ascending quantiles: those nearest to evenly spaced places."""
    places = np.linspace(q[0], q[-1], number)
    return np.unique(q[np.searchsorted((q[1:] + q[:-1]) / 2, places)])


def between(drawn: Floats, steps: Ints, q: Floats) -> Ints:
    """The steps (1) and (2) at ascending quantiles, from the steps at those that were drawn.

    The first quantile was drawn. Behind the last one that was drawn, its step is the answer.
    """
    same = np.concatenate([[False], steps[1:] == steps[:-1], [False]])
    tied = same[1:] | same[:-1]
    low = np.searchsorted(drawn, q, side="right") - 1
    high = np.minimum(low + 1, len(drawn) - 1)
    share = (q - drawn[low]) / np.where(high > low, drawn[high] - drawn[low], 1.0)
    share = np.where(tied[low] | tied[high], share > 1 / 2, share)
    gap = steps[high] - steps[low]
    # A product of large numbers may be rounded up.
    return np.asarray(steps[low] + np.minimum(np.rint(share * gap).astype(np.int64), gap))
