"""Spending: what was charged to one account, also on disjoint parts, and what still fits.

Charges on the same records add up. A record is in only one of the disjoint parts of a partition, so
a partition counts as the componentwise greatest total among its parts. Partitions add up with each
other and with charges on the whole. `filters.md` has the proof.

Under swap neighbors this holds for a record that stays in its part, so the partition joins the
columns that a swap leaves as they are. An add-remove charge on a part counts twice in a swap
budget, which pays for leaving one part and for entering another.

A charge counts as the digits that it is written with. A release runs with the largest doubles that
are not above them (`spendable` of a guarantee), so it never spends more than was charged.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from dpquantiles.privacy.conversions import greatest_double
from dpquantiles.privacy.filters import Amount, Amounts, Filter, amounts, objection
from dpquantiles.privacy.guarantees import ApproxDP, Guarantee
from dpquantiles.privacy.units import Neighbors


class Part(NamedTuple):
    """One of the disjoint parts of a partition, written partition=label."""

    partition: str
    label: str


class Spending:
    """What was charged to one account, and what still fits."""

    def __init__(self, budget: Guarantee) -> None:
        self.budget = budget
        self.charges = 0
        self.within: tuple[str, ...] = ()
        self.research_only = False
        self._filter: Filter | None = None
        self._nothing: Amounts = tuple(Amount() for _ in amounts(budget, budget))
        self._total = self._nothing
        self._parts: dict[Part, Amounts] = {}
        self._greatest: dict[str, Amounts] = {}

    def add(self, cost: Guarantee, part: Part | None = None) -> None:
        """Count a charge."""
        self.charges += 1
        self._filter = self._filter_for(cost)
        # Under swap neighbors, a release of a part only protects swaps within that part.
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

    def _filter_for(self, cost: Guarantee) -> Filter:
        """The filter that the first charge fixed, or that this charge would fix as the first."""
        return self._filter or Filter(self.budget, type(cost))

    def objection(self, cost: Guarantee) -> str | None:
        """Why a charge of this kind is never granted, however small it is; None if it may be."""
        return objection(cost, self.budget) or self._filter_for(cost).objection(cost)

    def fits(self, cost: Guarantee, part: Part | None = None) -> bool:
        """Whether one more charge is granted on at least one route."""
        return any(map(self._filter_for(cost).admits, self._with(cost, part)))

    def remaining(self, cost: Guarantee, part: Part | None = None) -> float:
        """The greatest epsilon, or rho, at which this charge would fit; 0.0 if none fits."""
        return greatest_double(lambda amount: self.fits(cost.at(amount), part))

    def remaining_delta(self, cost: ApproxDP, part: Part | None = None) -> float:
        """The greatest delta at which this charge would fit if it had next to no epsilon."""
        free = replace(cost, epsilon=math.ulp(0.0))
        return greatest_double(
            lambda delta: delta < 1 and self.fits(replace(free, delta=delta), part)
        )

    def spent(self) -> float:
        """The least rho, or epsilon at the delta of the budget, that grants all charges so far."""
        if self._filter is None:
            return 0.0
        return min(map(self._filter.spent, self._total))

    def guarantee(self) -> Guarantee | None:
        """The least budget that grants all charges so far; None if there are none.

        The charges keep it together if they were fixed beforehand, or would have stayed within it
        whatever the answers. If somebody stopped because of the answers, the promise is the whole
        budget. It protects only what every charge protects: a swap must leave the columns of all
        charges as they are.
        """
        if not self.charges:
            return None
        spent = self.budget.at(max(self.spent(), math.ulp(0.0)))
        return replace(spent, within=self.within, research_only=self.research_only)


def _each(combine: Callable[[Amount, Amount], Amount], one: Amounts, other: Amounts) -> Amounts:
    return tuple(map(combine, one, other))
