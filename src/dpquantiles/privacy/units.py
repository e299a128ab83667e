"""What a unit with several rows costs: the budget of one row, so that all rows of a unit keep it.

Proof: `units.md` beside this file.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.privacy.conversions import SAFE
from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.neighbors import Neighbors


@dataclass(frozen=True, kw_only=True)
class Units:
    """Whom a release protects: one record, or all rows of a unit, of which at most `rows` count."""

    column: str | None = None
    rows: int = 1

    @classmethod
    def of(cls, unit: str | None, max_rows_per_unit: int | None) -> "Units":
        """Units as users state them; one row per unit unless said otherwise."""
        if unit is None and max_rows_per_unit is not None:
            raise InvalidValue(
                "max_rows_per_unit needs unit, the column that names whom the rows belong to, "
                f"got max_rows_per_unit={max_rows_per_unit!r} without it"
            )
        if unit is not None and not isinstance(unit, str):
            raise InvalidType(f"unit must be the name of a column, got {require.shown(unit)}")
        rows = 1 if max_rows_per_unit is None else max_rows_per_unit
        return cls(column=unit, rows=require.count(minimum=1, max_rows_per_unit=rows))

    @property
    def provenance(self) -> dict[str, object]:
        """The public numbers of a release to units."""
        if self.column is None:
            return {}
        return {"unit": self.column, "max_rows_per_unit": self.rows}

    def price(self, budget: Guarantee, *, grouped: bool) -> Guarantee:
        """The budget of one row; refuses what would show how many rows a unit has, and where."""
        if self.column is not None and budget.neighbors is Neighbors.SWAP:
            if self.rows > 1:
                raise InvalidValue(
                    f"max_rows_per_unit={self.rows} needs neighbors='add-remove': units have "
                    "different numbers of rows, so under swap neighbors the public number of rows "
                    "would tell about them"
                )
            if grouped:
                raise InvalidValue(
                    f"unit={self.column!r} with by needs neighbors='add-remove': a unit may be in "
                    "any group, so under swap neighbors the public sizes of groups would tell"
                )
        return per_row(budget, self.rows)

    def stated(self, spent: Guarantee, budget: Guarantee) -> Guarantee:
        """What a release that spent a row's budget promises, given what it was bought with."""
        return all_rows(spent, replace(budget, unit=self.column)) if self.column else spent


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


def share_of(budget: Guarantee, parts: int) -> Guarantee:
    """The budget of each of several releases on the same people that together keep a budget."""
    if isinstance(budget, ZCDP):
        return replace(budget, rho=share(budget.rho, parts))
    if isinstance(budget, PureDP):
        return replace(budget, epsilon=share(budget.epsilon, parts))
    return replace(budget, epsilon=share(budget.epsilon, parts), delta=share(budget.delta, parts))


def all_rows(spent: Guarantee, budget: Guarantee) -> Guarantee:
    """What a release at `per_row(budget, k)` promises to units: the budget that it was bought with.

    A mechanism that needs no delta promises none.
    """
    if isinstance(spent, PureDP) and isinstance(budget, ApproxDP):
        stated_for = {**budget.stated_for, "research_only": spent.research_only}
        return PureDP(epsilon=budget.epsilon, **stated_for)
    return replace(budget, research_only=spent.research_only)
