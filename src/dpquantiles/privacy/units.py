"""What a unit with several rows costs: the budget of one row, so that all rows of a unit keep it.

Proof: `units.md` beside this file.
"""

import math
from dataclasses import replace
from fractions import Fraction

from dpquantiles import require
from dpquantiles.privacy.conversions import SAFE
from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP


def per_row(budget: Guarantee, rows: int) -> Guarantee:
    """The budget of one row whose `rows`-fold group privacy is within a budget, rounded down.

    Epsilon is divided by k, rho by k^2, and delta by exp(epsilon) - 1 over exp(epsilon / k) - 1.
    """
    require.count(minimum=1, rows=rows)
    if rows == 1:
        return replace(budget, unit=None)
    if isinstance(budget, ZCDP):
        return replace(budget, rho=share(budget.rho, rows**2), unit=None)
    epsilon = share(budget.epsilon, rows)
    if isinstance(budget, PureDP):
        return replace(budget, epsilon=epsilon, unit=None)
    return replace(budget, epsilon=epsilon, delta=budget.delta * _ratio(budget, rows), unit=None)


def _ratio(budget: ApproxDP, rows: int) -> float:
    """(exp(epsilon / k) - 1) / (exp(epsilon) - 1), from below and without overflow."""
    part = budget.epsilon / rows
    decay = math.exp(part - budget.epsilon)
    return SAFE * decay * math.expm1(-part) / math.expm1(-budget.epsilon)


def share(amount: float, parts: int) -> float:
    """The largest double of which `parts` make at most the amount."""
    found = amount / parts
    while Fraction(found) * parts > Fraction(amount):
        found = math.nextafter(found, 0.0)
    return found


def all_rows(spent: Guarantee, budget: Guarantee) -> Guarantee:
    """What a release at `per_row(budget, k)` promises to units: the budget that it was bought with.

    A mechanism that needs no delta promises none.
    """
    if isinstance(spent, PureDP) and isinstance(budget, ApproxDP):
        stated_for = {**budget.stated_for, "research_only": spent.research_only}
        return PureDP(epsilon=budget.epsilon, **stated_for)
    return replace(budget, research_only=spent.research_only)
