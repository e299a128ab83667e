"""The choice of a mechanism from public numbers: what `mechanism="auto"` means.

For every mechanism that is the best somewhere, a table (`tables.py`) says how far off it is on
smooth, clustered and tied records of the same public shape. A good choice is

    at most 10 % worse than the best on smooth records, and
    at most twice as far off as the best on clustered and tied ones.

Ties can make errors arbitrarily small. So on clustered and tied records the best counts as no
better than a single private median, which is 2 / epsilon ranks off, and as no better than one rank.
The regret of a mechanism is the largest ratio of its error to what is allowed. The first mechanism
with a regret of at most 1 is chosen, joint_exp before those that read all records. Where there is
none, the least regret decides. The choice never looks at the records. A mechanism may do so itself,
and pays for it.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from dpquantiles.grid import Grid
from dpquantiles.intervals import Intervals
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.registry import MechanismName
from dpquantiles.planner import tables
from dpquantiles.privacy import ZCDP, Guarantee

AUTO: Final = "auto"

AskedMechanism: TypeAlias = MechanismName | Literal["auto"]
"""The name of a mechanism, or "auto"."""


class Allowed(NamedTuple):
    """How many times as far off as the best a good choice may be.

    The best counts as at least `ranks` off, and at least `units` times 1 / epsilon.
    """

    times: float
    ranks: float
    units: float

    def limit(self, best: float, unit: float) -> float:
        """The largest error without regret."""
        return self.times * max(best, self.ranks, self.units * unit)


LUMPS = Allowed(2.0, 1.0, 2.0)
ALLOWED = {"smooth": Allowed(1.1, 0.0, 0.1), "clustered": LUMPS, "tied": LUMPS}

WEAKEST, STRONGEST = 2.0**-40, 2.0**40
"""A smaller or larger epsilon, or root of a rho, makes no difference to the choice."""

UNKNOWN_SIZE = 10_000
"""Assumed where the number of records is protected and not stated, so that it is not used."""


class Choice(NamedTuple):
    """A mechanism, and why."""

    mechanism: str
    why: str


def answers(q: tuple[float, ...], intervals: Intervals | None) -> int:
    """How many answers are drawn; intervals need one more on each side of every quantile."""
    return len(set(q)) * (1 if intervals is None else 3)


def choose(budget: Guarantee, m: int, size: int | None, grid: Grid) -> Choice:
    """The mechanism for m answers of `size` records; the size is None where it is not public."""
    return _chosen(budget, m, UNKNOWN_SIZE if size is None else size, tables.grid_name(grid), size)


@lru_cache(maxsize=1024)
def _chosen(budget: Guarantee, m: int, n: int, grid: str, size: int | None) -> Choice:
    candidates = (registry.REGISTERED[name] for name in tables.CANDIDATES)
    able = [one.name for one in candidates if one.fewest <= m <= one.most]
    errors = {
        data: {name: _error(name, budget, m, n, grid, data) for name in able}
        for data in tables.DATA
    }
    unit = 1 / _rate(JointExp.name, budget, m, grid)
    limits = {
        data: allowed.limit(min(errors[data].values()), unit) for data, allowed in ALLOWED.items()
    }

    def regret(name: str) -> float:
        return max(errors[data][name] / limit for data, limit in limits.items())

    name = next((name for name in able if regret(name) <= 1), min(able, key=regret))
    return Choice(name, _reason(name, m, n, size, errors))


def _reason(
    name: str, m: int, n: int, size: int | None, errors: dict[str, dict[str, float]]
) -> str:
    """Why it was chosen, in words made of public numbers and figures of the table."""
    records = f"{n:,} records"
    if size is None:
        records = f"a protected number of records ({n:,} assumed)"
    quantiles = "one quantile" if m == 1 else f"{m} even quantiles"
    smooth, clustered, tied = (f"{errors[data][name]:.2g}" for data in tables.DATA)
    others = ", ".join(
        f"{other} {error:.2g}"
        for other, error in errors["smooth"].items()
        if other != name and math.isfinite(error)
    )
    return (
        f"expected rank error {smooth} for {quantiles} of {records} if smooth, "
        f"{clustered} if clustered, {tied} if tied; if smooth, others: {others}"
    )


def _error(name: str, budget: Guarantee, m: int, n: int, grid: str, data: str) -> float:
    """The expected rank error of the table, rescaled to the budget as `tables.py` explains."""
    ratio = _rate(name, budget, m, grid)
    return tables.error(name, grid, data, n * ratio, m, ratio) / ratio


def _rate(name: str, budget: Guarantee, m: int, grid: str) -> float:
    """The rate of a mechanism within a budget, in units of its rate at epsilon = 1 under swap."""
    if isinstance(budget, ZCDP):
        budget = replace(budget, rho=min(max(budget.rho, WEAKEST**2), STRONGEST**2))
    else:
        budget = replace(budget, epsilon=min(max(budget.epsilon, WEAKEST), STRONGEST))
    return registry.REGISTERED[name].rate(budget, m, tables.GRIDS[grid])
