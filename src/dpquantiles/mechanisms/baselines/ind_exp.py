"""IndExp and AppIndExp: a separate exponential mechanism for every quantile.

The baselines of Gillenwater, Joseph, Kulesza, "Differentially Private Quantiles" (arXiv
2102.08244), on a grid, with ties treated as sets, and with a window of ranks. JointExp for a single
quantile is the exponential mechanism: under swap neighbors its utility is -2 p at rate
epsilon_1 / 4,

    p = distance of T = round(q n) to [lo(o), hi(o)],   P[o] ~ exp(-epsilon_1 p / 2)           (1)

plus the floor of JointExp. Under add-remove it is (1) to (4) of `joint_exp.py` with m = 1. The m
answers are drawn independently and then sorted. The two mechanisms differ in the epsilon_1 of each
answer:

    IndExp      epsilon_1 = epsilon / m; for a rho, the largest with m rho_BR(epsilon_1) <= rho
    AppIndExp   the largest epsilon_1 whose m-fold composition is (epsilon, delta)-DP, by Dong,
                Durfee, Rogers (arXiv 1909.13830v3), Theorem 3                                 (2)

Sorting is post-processing. The probability of a vector is the sum over all ways in which
independent answers can form it:

    P[o] = sum over permutations s of prod_k P_k[o_s(k)] / prod of multiplicities of o!        (3)

Proof: `ind_exp.md` beside this file.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, finest
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.mechanisms.mechanism import Profile, WithLaw, log_probability_in_order
from dpquantiles.privacy import PureDP
from dpquantiles.views import Demand, SortedView, WindowView
from dpquantiles.views.protocol import merged


@dataclass(frozen=True, kw_only=True)
class IndExp(WithLaw):
    """Each of the m quantiles gets 1 / m of the budget."""

    name: ClassVar[str] = "ind_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="m R",
        when="For comparison: each quantile by itself; joint_exp is better for two or more.",
    )

    @staticmethod
    def parts(m: int) -> int:
        """The number of parts of the budget."""
        return m

    @property
    def each(self) -> float:
        """epsilon_1."""
        return self.budget.bounded_range(self.parts(len(self.q)))

    @property
    def singles(self) -> list[JointExp]:
        """One mechanism per quantile, in ascending order."""
        budget = PureDP(epsilon=self.each, neighbors=self.neighbors)
        return [JointExp(q=(q,), budget=budget, size=self.size) for q in sorted(self.q)]

    def demand(self, n: int, grid: Grid, missing: int = 0) -> Demand:
        """The records around every target; all records if the size must be bought first."""
        if self.buys_size:
            return Demand.everything(n)
        runs = [run for single in self.singles for run in single.demand(n, finest(grid), missing)]
        return Demand(runs=merged(sorted(runs, key=lambda run: run.start)))

    def law(self, view: SortedView) -> "IndExpLaw":
        """The exact distribution (3) on the records of a view, which is read only once."""
        self.public_size(view.n)
        window = WindowView.of(view, self.demand(view.n, view.grid, self.left_out(view)))
        laws = tuple(single.law_on_grid(window) for single in self.singles)
        return IndExpLaw(laws, tuple(np.argsort(self.q, kind="stable").tolist()))


@dataclass(frozen=True, kw_only=True)
class AppIndExp(IndExp):
    """Each of the m quantiles gets the epsilon that (2) allows."""

    name: ClassVar[str] = "app_ind_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("approximate",),
        neighbors=("swap", "add-remove"),
        cost="m R",
        when="For comparison, with delta: better than ind_exp for five quantiles or more.",
    )


@dataclass(frozen=True)
class IndExpLaw:
    """The law (3) of independent answers that are sorted; `singles` ascend by quantile."""

    singles: tuple[JointExpLaw, ...]
    order: tuple[int, ...]

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability (3) that exactly these values are released."""
        if len(values) != len(self.order):
            raise InvalidValue(f"values must be {len(self.order)} answers, got {len(values)}")
        answers = [values[place] for place in self.order]
        chances = np.array([[law.log_probability([v]) for v in answers] for law in self.singles])
        if any(a > b for a, b in itertools.pairwise(answers)):
            return -math.inf
        return log_probability_in_order(chances, tuple(Counter(answers).values()))

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        answers = sorted(law.draw(bits)[0] for law in self.singles)
        places = sorted(range(len(answers)), key=self.order.__getitem__)
        return tuple(answers[place] for place in places)
