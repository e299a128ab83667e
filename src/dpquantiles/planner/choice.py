"""The choice of a mechanism from public numbers: what `mechanism="auto"` means.

A table (`tables.py`) has the errors of every mechanism that is the best one somewhere, on smooth,
clustered, tied and rounded records. A good choice has an error of

    at most 1.1 times that of the best mechanism on smooth records,
    at most 1.5 times that of the best mechanism on rounded records, and
    at most twice that of the best mechanism on clustered and tied ones.

Ties can make errors arbitrarily small. So on these records, the best error counts as at least one
rank, and as at least the 2 / epsilon ranks of a single private median. The regret of a
mechanism is the largest ratio of its error to the allowed one. A mechanism is good if its regret is
at most 1. It is also good if all its errors are below a ten-thousandth of the records, which hardly
anybody can tell from none, and below a hundredth of those beyond the outermost quantile. Of the
good ones, the cheapest on this kind of source (`costs.py`) is chosen; of those that cost about the
same, the first one. If none is good, the mechanism with the least regret is chosen. The choice
never looks at the records. A mechanism may look at them itself, and pays for that.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from dpquantiles.grid import Grid, GridFamily
from dpquantiles.intervals import Intervals
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.registry import MechanismName
from dpquantiles.planner import costs, tables
from dpquantiles.planner.costs import SourceKind
from dpquantiles.privacy import ZCDP, Guarantee

AUTO: Final = "auto"

AskedMechanism: TypeAlias = MechanismName | Literal["auto"]
"""The name of a mechanism, or "auto"."""


class Allowed(NamedTuple):
    """How many times the best error a good choice may have.

    The best error counts as at least `ranks`, and as at least `units` / epsilon.
    """

    times: float
    ranks: float
    units: float

    def limit(self, best: float, unit: float) -> float:
        """The largest allowed error."""
        return self.times * max(best, self.ranks, self.units * unit)


LUMPS = Allowed(2.0, 1.0, 2.0)
ALLOWED = {
    "smooth": Allowed(1.1, 0.0, 0.1),
    "clustered": LUMPS,
    "tied": LUMPS,
    "rounded": Allowed(1.5, 1.0, 2.0),
}

WEAKEST, STRONGEST = 2.0**-40, 2.0**40
"""Beyond these, epsilon (or the root of rho) makes no difference to the choice."""

NEGLIGIBLE, NEGLIGIBLE_BEYOND = 1e-4, 1e-2
"""Errors below this part of the records, and of those beyond the outermost quantile, are good."""

ABOUT = 1.2
"""Costs that differ by less than this factor are about the same."""

UNKNOWN_SIZE = 10_000
"""The assumed number of records where it is protected and no size is stated."""


class Choice(NamedTuple):
    """A mechanism, and why it was chosen."""

    mechanism: str
    why: str


def answers(q: tuple[float, ...], intervals: Intervals | None) -> int:
    """How many answers are drawn: intervals need one more on each side of every quantile."""
    return len(set(q)) * (1 if intervals is None else 3)


def negligible(q: tuple[float, ...]) -> float:
    """Which part of the records is no error that matters, for these quantiles."""
    beyond = min(min(share, 1 - share) for share in q)
    return min(NEGLIGIBLE, NEGLIGIBLE_BEYOND * beyond)


def choose(
    budget: Guarantee,
    m: int,
    size: int | None,
    grid: Grid,
    source: SourceKind | None = None,
    small: float = NEGLIGIBLE,
) -> Choice:
    """Choose a mechanism for m answers; `size` is the number of records, or None if not public.

    Errors up to `small`, as a part of the records, are good. Without a kind of source, as for
    groups, cost does not count.
    """
    n = UNKNOWN_SIZE if size is None else size
    return _chosen(budget, m, n, tables.grid_name(grid), size, source, small)


@lru_cache(maxsize=1024)
def _chosen(
    budget: Guarantee,
    m: int,
    n: int,
    grid: str,
    size: int | None,
    source: SourceKind | None,
    small: float,
) -> Choice:
    candidates = (registry.REGISTERED[name] for name in tables.CANDIDATES)
    able = [one.name for one in candidates if one.fewest <= m <= one.most]
    by_name = {name: _errors(name, budget, m, n, grid) for name in able}
    errors = {data: {name: by_name[name][data] for name in able} for data in tables.DATA}
    rate = _rate(JointExp.name, budget, m, grid)
    limits = {
        data: allowed.limit(min(errors[data].values()), 1 / rate)
        for data, allowed in ALLOWED.items()
    }

    def regret(name: str) -> float:
        return max(errors[data][name] / limit for data, limit in limits.items())

    good = [name for name in able if regret(name) <= 1]
    most_accurate = good[0] if good else min(able, key=regret)
    if source is None:
        return Choice(most_accurate, _reason(most_accurate, m, n, size, errors))
    good = [x for x in able if x in good or max(by_name[x].values()) <= small * n]
    asked = costs.Asked(budget, m, n, rate, grid in tables.FAMILIES)
    cheap = _cheap({name: costs.cost(name, asked, source) for name in good or [most_accurate]})
    name = most_accurate if most_accurate in cheap else cheap[0]
    why = _reason(name, m, n, size, errors)
    if name != most_accurate:
        why += f"; {most_accurate} is also good, but slower here"
    return Choice(name, why)


def joint_cost(budget: Guarantee, m: int, n: int, grid: Grid) -> float:
    """What joint_exp costs for m answers from n records in memory: milliseconds, roughly."""
    rate = _rate(JointExp.name, budget, m, tables.grid_name(grid))
    asked = costs.Asked(budget, m, n, rate, isinstance(grid, GridFamily))
    return costs.cost(JointExp.name, asked, "memory")


def _cheap(cost: dict[str, float]) -> list[str]:
    """The mechanisms that cost about as little as the cheapest one."""
    least = min(cost.values())
    return [name for name, amount in cost.items() if amount <= ABOUT * least]


def expected_error(name: str, budget: Guarantee, m: int, size: int, grid: Grid) -> float | None:
    """The rank error to expect on the least suitable records, if the table has the mechanism."""
    errors = table_errors(name, budget, m, size, grid)
    return None if errors is None else max(errors.values())


def table_errors(
    name: str, budget: Guarantee, m: int, size: int, grid: Grid
) -> dict[str, float] | None:
    """The rank errors of the table by kind of data, if it has them."""
    if name not in tables.CANDIDATES:
        return None
    errors = _errors(name, budget, m, size, tables.grid_name(grid))
    return {data: min(error, float(size)) for data, error in errors.items()}


def _reason(
    name: str, m: int, n: int, size: int | None, errors: dict[str, dict[str, float]]
) -> str:
    """Why it was chosen, in words, from public numbers and the table."""
    records = f"{n:,} records"
    if size is None:
        records = f"a protected number of records ({n:,} assumed)"
    quantiles = "a median" if m == 1 else f"{m} even quantiles"
    smooth, *lumps = (f"{digits(errors[data][name])} if {data}" for data in tables.DATA)
    others = ", ".join(
        f"{other} {digits(error)}"
        for other, error in errors["smooth"].items()
        if other != name and math.isfinite(error)
    )
    return (
        f"expected rank error for {quantiles} of {records}: {smooth}, {', '.join(lumps)}; "
        f"if smooth, others: {others}"
    )


def digits(error: float) -> str:
    """Two significant digits, without an exponent."""
    return f"{float(f'{error:.2g}'):,.10g}"


@lru_cache(maxsize=4096)
def _errors(name: str, budget: Guarantee, m: int, n: int, grid: str) -> dict[str, float]:
    """Expected rank errors by data, from the table and rescaled to the budget (see `tables.py`)."""
    ratio = _rate(name, budget, m, grid)
    return {
        data: tables.error(name, grid, data, n * ratio, m, ratio) / ratio for data in tables.DATA
    }


def _rate(name: str, budget: Guarantee, m: int, grid: str) -> float:
    """The rate of a mechanism at a budget, in units of its rate at epsilon = 1 under swap."""
    if isinstance(budget, ZCDP):
        budget = replace(budget, rho=min(max(budget.rho, WEAKEST**2), STRONGEST**2))
    else:
        budget = replace(budget, epsilon=min(max(budget.epsilon, WEAKEST), STRONGEST))
    return registry.REGISTERED[name].rate(budget, m, tables.grid_of(grid))
