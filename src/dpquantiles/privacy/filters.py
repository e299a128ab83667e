"""Filters: which totals of charges a budget grants, by a rule that the first charge fixes.

Claim. All charges that a filter grants keep the budget together, even if an analyst chooses each
one after looking at earlier answers (`filters.md`). No charge is refused because of rounding.

A number in a charge or a budget means the digits that it is written with: `reading(0.1)` is 1/10,
although the nearest double is a little more. Readings are added as fractions, so ten charges of
0.1 make exactly 1 and fit a budget of 1.0, and nothing more does.

A cost is a vector (epsilon, delta, rho). A budget counts costs on one or two routes:

- A pure budget has one route. It counts a pure cost as (epsilon, 0, 0).
- A concentrated budget has one route. It counts a pure cost as (0, 0, epsilon^2 / 2) and a
  concentrated one as (0, 0, rho).
- An approximate budget has two routes. One counts pure costs as they are, the other as
  epsilon^2 / 2. Both count an approximate cost as (epsilon, delta, 0).

An approximate budget grants a total on two conditions. Its delta must be within the share of delta
that is set aside for approximate costs. And either there is no rho and epsilon is within the
budget, or epsilon + a rho is within the limit that the rest of delta allows at the Renyi order a.
The shares, the order and the limit depend only on the budget and on the kind of the first charge.
Choosing the best order for the charges that were made would be wrong, because these charges may
depend on answers.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dpquantiles.forking import cached_property
from dpquantiles.privacy.conversions import (
    SAFE,
    above,
    below,
    reading,
    renyi_epsilon,
    renyi_excess,
    renyi_limit,
    written,
)
from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.units import Neighbors

ZERO = Fraction(0)
MOST_EXPONENT = 700.0
"""The exponential of this is still a double."""

SUMMED = {PureDP: Fraction(1, 2), ApproxDP: Fraction(1), ZCDP: Fraction(0)}
"""The share of delta that approximate charges may use in total, by the kind of the first charge."""


class Amount(NamedTuple):
    """A cost, or a sum of costs: exact, and compared componentwise."""

    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Fraction = ZERO

    def plus(self, other: "Amount") -> "Amount":
        return Amount(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "Amount") -> "Amount":
        return Amount(*(a - b for a, b in zip(self, other, strict=True)))

    def most(self, other: "Amount") -> "Amount":
        return Amount(*map(max, self, other))


Amounts = tuple[Amount, ...]
"""One amount for each route of a budget."""


def objection(cost: Guarantee, budget: Guarantee) -> str | None:
    """Why a cost cannot be stated in terms of a budget; None when it can."""
    if budget.neighbors is Neighbors.ADD_REMOVE and cost.neighbors is Neighbors.SWAP:
        return (
            "neighbors must be 'add-remove' as in the budget, got 'swap', which does not protect "
            "whether a record is there"
        )
    if isinstance(budget, PureDP) and not isinstance(cost, PureDP):
        return (
            f"a budget of epsilon alone accepts only charges of epsilon alone, got {cost}; "
            "ask for epsilon without delta or rho"
        )
    if isinstance(budget, ZCDP) and isinstance(cost, ApproxDP):
        return (
            f"a budget of rho accepts only charges of rho or of epsilon alone, got {cost}; "
            "ask without delta"
        )
    return None


def amounts(cost: Guarantee, budget: Guarantee) -> Amounts:
    """A cost on every route of a budget, for the budget's neighbors."""
    epsilon, delta, rho = _for_neighbors(cost, budget.neighbors)
    concentrated = Amount(rho=rho + epsilon**2 / 2)
    if isinstance(budget, PureDP):
        return (Amount(epsilon=epsilon),)
    if isinstance(budget, ZCDP):
        return (concentrated,)
    plain = Amount(epsilon, delta, rho)
    return (plain, concentrated if isinstance(cost, PureDP) else plain)


def _for_neighbors(cost: Guarantee, neighbors: Neighbors) -> Amount:
    """The numbers of a cost, read exactly; a swap removes one record and adds one (`as_swap`)."""
    once = Amount(**{name: reading(getattr(cost, name)) for name in cost.numbers})
    if cost.neighbors is neighbors:
        return once
    return Amount(2 * once.epsilon, once.delta and _delta_of_two(once), 4 * once.rho)


def _delta_of_two(once: Amount) -> Fraction:
    """The delta for two records, 1 + e^epsilon times as much; 1 if that overflows."""
    if once.epsilon >= MOST_EXPONENT:
        return Fraction(1)
    return once.delta * Fraction(1 + math.exp(above(once.epsilon))) / Fraction(SAFE)


@dataclass(frozen=True)
class Filter:
    """The rule that grants or refuses totals, fixed by the budget and the kind of first charge."""

    budget: Guarantee
    first: type[Guarantee]

    @cached_property
    def summed(self) -> Fraction:
        """The share of delta that approximate charges may use in total."""
        return SUMMED[self.first] * _delta(self.budget)

    @cached_property
    def ordered(self) -> float:
        """The share of delta that is kept for the Renyi order."""
        return below(_delta(self.budget) - self.summed)

    @cached_property
    def _order(self) -> tuple[Fraction, Fraction]:
        """The best order for charges of rho alone, and the limit on its divergence."""
        epsilon = below(reading(self.budget.amount))
        excess = renyi_excess(epsilon, self.ordered)
        return 1 + Fraction(excess), Fraction(renyi_limit(excess, epsilon, self.ordered))

    def objection(self, cost: Guarantee) -> str | None:
        """Why a kind of charge is never granted to this account; None when it may be."""
        if not isinstance(self.budget, ApproxDP):
            return None
        if isinstance(cost, ApproxDP) and self.first is ZCDP:
            return (
                "its first charge was of rho, so all of its delta is kept for rho, got a charge "
                "of epsilon and delta; ask for rho, or for epsilon alone"
            )
        if isinstance(cost, ZCDP) and self.first is ApproxDP:
            return (
                "its first charge was of epsilon and delta, so all of its delta is kept for such "
                "charges, got one of rho; ask for epsilon, or for epsilon and delta"
            )
        return None

    def admits(self, total: Amount) -> bool:
        """Whether a total is granted."""
        limit = reading(self.budget.amount)
        if isinstance(self.budget, ZCDP):
            return total.rho <= limit
        if total.delta > self.summed:
            return False
        if not total.rho:
            return total.epsilon <= limit
        if not self.ordered:
            return False
        order, most = self._order
        return total.epsilon + order * total.rho <= most

    def spent(self, total: Amount) -> float:
        """The least epsilon, or rho, of a budget of this kind that grants a total.

        A ledger that was written before there were filters may have a total that this budget does
        not grant. Such a total has spent the whole budget.
        """
        if isinstance(self.budget, ZCDP):
            return written(total.rho)
        if not total.rho:
            return written(total.epsilon)
        if not self.admits(total):
            return self.budget.epsilon
        least = renyi_epsilon(above(total.epsilon), above(total.rho), self.ordered)
        return min(least, self.budget.epsilon)


def _delta(budget: Guarantee) -> Fraction:
    return reading(budget.delta) if isinstance(budget, ApproxDP) else ZERO
