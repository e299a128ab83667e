"""What charges cost together against a budget, in exact arithmetic: 0.1 means one tenth.

Claim. Charges are granted only while their exact total is within the budget, and none is refused
because a sum was rounded.

A number of a charge or a budget stands for the digits that are written for it: `reading(0.1)` is
1/10, although the nearest double is a little more. Readings are added as fractions, so ten charges
of 0.1 are 1 and fit a budget of 1.0, and nothing more does. `held` gives the release the largest
double that is not above the reading, so that what it spends is never more than what was charged.

A cost is a vector (epsilon, delta, rho) with one reading of its guarantee on each route:

- a pure budget has one route, which takes pure costs as (epsilon, 0, 0);
- a concentrated budget has one, which takes pure costs as (0, 0, epsilon^2 / 2) and concentrated
  ones as (0, 0, rho);
- an approximate budget has two, which differ in whether pure costs add up as they are or as
  epsilon^2 / 2, and take approximate costs as (epsilon, delta, 0). A total with rho is within the
  budget if rho-concentrated privacy gives what epsilon and delta it leaves. Each route holds by
  itself (the Renyi divergence of order a is at most epsilon + rho a outside an event of
  probability delta), so a charge fits if one of them has room.

Charges on the same records add up. Of the disjoint parts of a partition a record is in one, so the
componentwise greatest total among them counts; partitions add up with each other and with charges
on the whole. Under swap neighbors that holds for a record that stays in its part, so the partition
joins the columns that a swap leaves as they are; an add-remove charge on a part counts twice in a
swap budget, which pays for leaving one part and for entering another.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from dpquantiles.privacy.conversions import above, below, zcdp_delta, zcdp_epsilon
from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.neighbors import Neighbors

ZERO = Fraction(0)
ROUNDED = 1 + Fraction(1, 2**48)
"""More than an exponential, a sum and a product of doubles can be too small by."""


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


class Part(NamedTuple):
    """One of the disjoint parts of a partition, written partition=label."""

    partition: str
    label: str


def reading(number: float) -> Fraction:
    """The decimal number that is written for a double."""
    return Fraction(repr(float(number)))


def written(number: Fraction) -> float:
    """The double to write for a number: the nearest one, or the next if that reads as less."""
    nearest = float(number)
    return nearest if reading(nearest) >= number else math.nextafter(nearest, math.inf)


def held(cost: Guarantee) -> Guarantee:
    """The guarantee to run with, in doubles, so that no number is above its reading."""
    names = {"epsilon", "delta", "rho"} & set(vars(cost))
    numbers: dict[str, Any] = {name: below(reading(getattr(cost, name))) for name in names}
    return replace(cost, **numbers)


def objection(cost: Guarantee, budget: Guarantee) -> str | None:
    """Why a cost cannot be stated in terms of a budget; None when it can."""
    if budget.neighbors is Neighbors.ADD_REMOVE and cost.neighbors is Neighbors.SWAP:
        return (
            "neighbors must be 'add-remove' as in the budget, got 'swap', which does not protect "
            "whether a record is there"
        )
    if isinstance(budget, PureDP) and not isinstance(cost, PureDP):
        return (
            f"a budget of epsilon alone takes charges of epsilon alone, got {cost}; "
            "ask for epsilon without delta or rho"
        )
    if isinstance(budget, ZCDP) and isinstance(cost, ApproxDP):
        return (
            f"a budget of rho takes charges of rho or of epsilon alone, got {cost}; "
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
    """Exact readings; a replaced record is one removed and one added, as in `as_swap`."""
    twice = cost.neighbors is not neighbors
    if isinstance(cost, ZCDP):
        return Amount(rho=reading(cost.rho) * (4 if twice else 1))
    epsilon = reading(cost.epsilon) * (2 if twice else 1)
    if isinstance(cost, PureDP):
        return Amount(epsilon=epsilon)
    delta = reading(cost.delta)
    if twice:
        delta *= ROUNDED * Fraction(1 + math.exp(min(cost.epsilon, 700.0)))
    return Amount(epsilon=epsilon, delta=delta)


def within(amount: Amount, budget: Guarantee) -> bool:
    """Whether a total is no more than a budget."""
    if isinstance(budget, PureDP):
        return amount.epsilon <= reading(budget.epsilon)
    if isinstance(budget, ZCDP):
        return amount.rho <= reading(budget.rho)
    epsilon = reading(budget.epsilon) - amount.epsilon
    delta = reading(budget.delta) - amount.delta
    if amount.rho == 0:
        return epsilon >= 0 and delta >= 0
    if not (below(epsilon) > 0 and below(delta) > 0):
        return False
    return zcdp_delta(above(amount.rho), below(epsilon)) <= below(delta)


class Spending:
    """What was charged to one account, and what still fits."""

    def __init__(self, budget: Guarantee) -> None:
        self.budget = budget
        self.charges = 0
        self.within: tuple[str, ...] = ()
        self.research_only = False
        self._nothing: Amounts = tuple(Amount() for _ in amounts(budget, budget))
        self._total = self._nothing
        self._parts: dict[Part, Amounts] = {}
        self._greatest: dict[str, Amounts] = {}

    def add(self, cost: Guarantee, part: Part | None = None) -> None:
        """Count a charge."""
        self.charges += 1
        # A swap release of a part protects a record against others of the same part only.
        parted = (part.partition,) if part and cost.neighbors is Neighbors.SWAP else ()
        self.within = tuple(dict.fromkeys((*self.within, *cost.within, *parted)))
        self.research_only = self.research_only or cost.research_only
        if part is None:
            self._total = self._with(cost, part)
            return
        self._total, self._greatest[part.partition], self._parts[part] = (
            self._with(cost, part),
            self._greatest_with(cost, part),
            self._part_with(cost, part),
        )

    def _part_with(self, cost: Guarantee, part: Part) -> Amounts:
        before = self._parts.get(part, self._nothing)
        return _each(Amount.plus, before, amounts(cost, self.budget))

    def _greatest_with(self, cost: Guarantee, part: Part) -> Amounts:
        before = self._greatest.get(part.partition, self._nothing)
        return _each(Amount.most, before, self._part_with(cost, part))

    def _with(self, cost: Guarantee, part: Part | None) -> Amounts:
        """The total with one more charge."""
        if part is None:
            return _each(Amount.plus, self._total, amounts(cost, self.budget))
        replaced = self._greatest.get(part.partition, self._nothing)
        others = _each(Amount.minus, self._total, replaced)
        return _each(Amount.plus, others, self._greatest_with(cost, part))

    def fits(self, cost: Guarantee, part: Part | None = None) -> bool:
        """Whether the budget holds with one more charge, on some route."""
        return any(within(amount, self.budget) for amount in self._with(cost, part))

    def remaining(self, cost: Guarantee, part: Part | None = None) -> float:
        """The greatest epsilon, or rho, at which this charge would fit; 0.0 when none does."""
        if isinstance(cost, ZCDP):
            return _greatest_double(lambda rho: self.fits(replace(cost, rho=rho), part))
        return _greatest_double(lambda epsilon: self.fits(replace(cost, epsilon=epsilon), part))

    def spent(self) -> float:
        """The rho of all charges, or their epsilon: at the delta of the budget, if it has one."""
        if isinstance(self.budget, ZCDP):
            return written(self._total[0].rho)
        delta = ZERO if isinstance(self.budget, PureDP) else reading(self.budget.delta)
        return min(_epsilon(amount, delta) for amount in self._total)

    def guarantee(self) -> Guarantee | None:
        """What all charges promise together, in the measure of the budget; None without any.

        It holds for what every charge protects: a swap that leaves the columns of all as they are.
        """
        if not self.charges:
            return None
        measure = "rho" if isinstance(self.budget, ZCDP) else "epsilon"
        spent: dict[str, Any] = {measure: max(self.spent(), math.ulp(0.0))}
        return replace(self.budget, within=self.within, research_only=self.research_only, **spent)


def _epsilon(amount: Amount, delta: Fraction) -> float:
    """The epsilon of a total at a delta."""
    if amount.rho == 0:
        return written(amount.epsilon)
    spare = below(delta - amount.delta)
    if spare <= 0:
        return math.inf
    return written(amount.epsilon + Fraction(zcdp_epsilon(above(amount.rho), spare)))


def _each(combine: Callable[[Amount, Amount], Amount], one: Amounts, other: Amounts) -> Amounts:
    return tuple(map(combine, one, other))


def _greatest_double(holds: Callable[[float], bool]) -> float:
    """The greatest positive double for which a falling condition holds, or 0.0.

    Positive doubles are ordered as the integers that their bits spell, so halving ends exactly.
    """
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(_double(middle)) else (low, middle)
    return _double(low)


def _double(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number
