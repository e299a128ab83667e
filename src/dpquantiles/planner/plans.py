"""Plans: how accurate a release will be, from public numbers, before anything is spent."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpquantiles import privacy, require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, GridFamily, UniformGrid, default_grid, finest, require_grid
from dpquantiles.intervals import AskedIntervals, Intervals, require_intervals
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.registry import Registration
from dpquantiles.planner import choice, costs
from dpquantiles.planner.costs import SourceKind
from dpquantiles.planner.estimates import Estimate, estimate
from dpquantiles.planner.reference import Reference, Shape, bounded, extent, reference
from dpquantiles.privacy import Guarantee, NeighborsName, Units
from dpquantiles.privacy.guarantees import IN_WORDS
from dpquantiles.require import AskedQuantiles

FORMAT = 1
"""The version of the JSON layout."""

FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The budgets of a curve, as multiples of the planned one."""

CURVE_FEW, CURVE_DRAWS = 30, 128
"""With more than `CURVE_FEW` quantiles, each point of a curve has at most `CURVE_DRAWS` draws."""

OTHER_DRAWS = 512, 128
"""The most draws of mechanisms that auto does not choose, for few quantiles and for more."""

LONGEST = 1000.0
"""About how many milliseconds one draw of a mechanism may take that auto does not choose."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The expected errors of every mechanism; all numbers rest on `assumption`."""

    size: int
    q: tuple[float, ...]
    budget: Guarantee
    grid: Mapping[str, object] = field(hash=False)
    assumption: str
    table: tuple[Estimate, ...]
    """The mechanisms that can meet the budget, the most accurate one first."""
    chosen: choice.Choice
    """What `mechanism="auto"` chooses, and why."""
    left_out: Mapping[str, str] = field(hash=False)
    """Mechanisms that are not in the table, and why."""
    view: Reference = field(repr=False, compare=False)
    intervals: Intervals | None = None
    """The planned intervals, if any, which get a third of the budget."""
    rows: int = 1
    """How many rows of a unit count; each of them has a part of the budget."""
    extent: float | None = field(default=None, repr=False, compare=False)
    """The distance between the ends of the records, where it is stated."""

    @property
    def best(self) -> Estimate:
        """The mechanism with the smallest expected error on the assumed data."""
        return self.table[0]

    def __getitem__(self, mechanism: str) -> Estimate:
        """A mechanism by name; "auto" is the chosen one, or the best if that was left out."""
        estimates = {estimate.mechanism: estimate for estimate in self.table}
        if mechanism == choice.AUTO:
            return estimates.get(self.chosen.mechanism, self.best)
        return estimates[require.choice(estimates, mechanism=mechanism)]

    def in_values(self, ranks: float) -> Any:
        """A rank error as a distance between values, for even records.

        It needs bounds, or a pair of values as the spread.
        """
        if not 0 <= ranks < math.inf:
            raise InvalidValue(f"ranks must be a rank error: 0 or more, and finite, got {ranks!r}")
        if self.extent is None:
            raise InvalidValue(
                "data must be 'even', with bounds or spread=(low, high), for errors in values; "
                f"got {self.assumption}"
            )
        if not isinstance(finest(self.view.grid), UniformGrid):
            return min(ranks / self.size, 1.0) * self.extent
        (piece,) = self.view.pieces
        steps = min(piece.steps - 1, math.ceil(ranks * piece.steps / self.size))
        low, high = self.view.grid.decode(np.array([piece.first, piece.first + steps]))
        return high - low

    def curve(self, mechanism: str = choice.AUTO) -> tuple[tuple[Guarantee, Estimate], ...]:
        """The errors of a mechanism at budgets below and above the planned one."""
        budgets = [self.budget.scaled(factor) for factor in FACTORS]
        name, draws = self[mechanism].mechanism, None if len(self.q) <= CURVE_FEW else CURVE_DRAWS
        return tuple(
            (b, estimate(name, b.per_row(self.rows), self.q, self.view, draws, self.intervals))
            for b in budgets
        )

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary."""
        return {
            "format": FORMAT,
            "size": self.size,
            "q": list(self.q),
            "budget": self.budget.to_dict(),
            "grid": dict(self.grid),
            "assumption": self.assumption,
            "best": self.best.mechanism,
            "auto": self.chosen._asdict(),
            "table": [
                {"mechanism": e.mechanism, "expected": list(e.expected), "bound95": list(e.bound)}
                for e in self.table
            ],
            "left_out": dict(self.left_out),
        }

    def to_json(self) -> str:
        """The plan as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        # The display code is imported only when it is needed.
        from dpquantiles.present.plans import text

        return text(self)

    def _repr_html_(self) -> str:
        from dpquantiles.present.plans import html

        return html(self)


def plan(
    *,
    size: int,
    q: AskedQuantiles,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    grid: Grid | None = None,
    neighbors: NeighborsName = "swap",
    data: Shape = "even",
    spread: Any = None,
    intervals: AskedIntervals = None,
    max_rows_per_unit: int = 1,
    source: SourceKind = "memory",
) -> Plan:
    """How accurate private quantiles will be; this needs no data and spends nothing.

    Args:
        size: The number of records that count; under add-remove, the public size that will be
            stated. With `by`, the size of one group, because every group gets the whole budget.
            With `unit`, the number of units times the rows of each that count.
        q: The quantiles, as in `quantiles`.
        epsilon: The budget, as in `quantiles`.
        delta: With epsilon, as in `quantiles`.
        rho: Instead of epsilon, as in `quantiles`.
        bounds: Where values may lie. Their type is the type of the data: (0, 120) plans for whole
            numbers, (0.0, 120.0) for real ones. Without bounds or grid, data is assumed real.
        resolution: The distance between neighboring answers, as in `quantiles`.
        grid: Instead of bounds and resolution, as in `quantiles`.
        neighbors: "swap" or "add-remove", as in `quantiles`.
        data: The assumed shape of the data: "even", "smooth", "clustered", "tied" or "rounded".
        spread: Where the records lie: a fraction of the bounds, around their middle, or a pair of
            values. The default is half of the bounds.
        intervals: Plan for a release with intervals, as in `quantiles`. Its answers get two thirds
            of the budget.
        max_rows_per_unit: With `unit`, how many rows of a unit count, as in `quantiles`.
        source: Where the records are: "memory", or "engine" for lazy tables, Parquet files and
            queries. Where several mechanisms are good, "auto" chooses the cheapest one there.

    Returns:
        A `Plan` with the expected and the 95 % rank errors of every mechanism, from draws of its
        exact law on a reference data set. The same parameters always give the same plan.
    """
    budget = privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)
    n, requested = require.count(minimum=1, size=size), require.quantiles(q=q)
    points, stated = planned_grid(bounds, resolution, grid), require_intervals(intervals)
    view, length = reference(data, n, points, spread), extent(points, spread)
    row, m = row_budget(budget, max_rows_per_unit), choice.answers(requested, stated)
    place, small = require.choice(costs.READING, source=source), choice.negligible(requested)
    chosen = choice.choose(row, m, n, points, place, small)
    return planned(
        budget,
        requested,
        view,
        n,
        stated,
        chosen=chosen,
        rows=max_rows_per_unit,
        extent=length if data == "even" else None,
    )


def row_budget(budget: Guarantee, rows: int) -> Guarantee:
    """The budget of one of the rows of a unit that count."""
    return Units.of("unit", rows).price(budget, grouped=False)


def planned(
    budget: Guarantee,
    q: tuple[float, ...],
    view: Reference,
    size: int,
    intervals: Intervals | None = None,
    *,
    chosen: choice.Choice,
    sized: bool = True,
    rows: int = 1,
    extent: float | None = None,
) -> Plan:
    """The plan for a reference data set; `chosen` is the choice of auto.

    Without `sized`, the number of records is neither public nor stated.
    """
    m, row = choice.answers(q, intervals), budget.per_row(rows)
    estimates, left_out = [], {}
    for name, registered in registry.REGISTERED.items():
        reason = unsuited(registered, budget, m)
        if name != chosen.mechanism:
            reason = reason or too_slow(name, row, m, view)
        if not reason:
            draws = None if name == chosen.mechanism else other_draws(registered, m)
            try:
                estimates.append(estimate(name, row, q, view, draws, intervals, sized=sized))
                continue
            except ValueError as refusal:
                reason = str(refusal)
        if not registered.mechanism.profile.research_only:
            left_out[name] = reason
    points = f" {view.grid.size:,} grid points;" if bounded(view.grid) else ""
    return Plan(
        size=size,
        q=q,
        budget=budget,
        grid=view.grid.describe(),
        assumption=f"{view.words};{points} {size:,} records",
        intervals=intervals,
        rows=rows,
        extent=extent,
        table=tuple(sorted(estimates, key=lambda estimate: estimate.mean)),
        chosen=chosen,
        left_out=left_out,
        view=view,
    )


def planned_grid(bounds: Any, resolution: Any, grid: Grid | None) -> Grid:
    """The grid that the public parameters describe."""
    if grid is not None:
        return require_grid(grid, bounds, resolution)
    if bounds is None:
        return default_grid(REAL, None, resolution)
    stated = UniformGrid(*require.pair(bounds=bounds), resolution, step_name="resolution")
    return default_grid(stated.kind, bounds, resolution)


def other_draws(registered: Registration, m: int) -> int:
    """How many draws a mechanism gets that auto does not choose."""
    return min(registered.draws_for(m) // 2, OTHER_DRAWS[m > registry.FEW])


def too_slow(name: str, budget: Guarantee, m: int, view: Reference) -> str:
    """Why a plan has no time for a mechanism that auto does not choose; empty if it has.

    On a family, a plan draws from the law itself. On one grid it has a faster way.
    """
    if name != JointExp.name or not isinstance(view.grid, GridFamily):
        return ""
    if choice.joint_cost(budget, m, view.n, view.grid) <= LONGEST:
        return ""
    return f"too slow for {m} answers without both bounds and a resolution"


def unsuited(registered: Registration, budget: Guarantee, m: int) -> str:
    """Why a plan leaves a mechanism out; empty if it does not."""
    profile = registered.mechanism.profile
    if profile.research_only:
        return "research only"
    if budget.kind not in profile.kinds:
        return f"cannot work with a budget of {IN_WORDS[budget.kind]}"
    if budget.neighbors not in profile.neighbors:
        return f"does not support neighbors {str(budget.neighbors)!r}"
    if m < registered.fewest:
        return registered.too_few
    if m > registered.most_planned:
        return f"too slow or too inaccurate for more than {registered.most_planned} quantiles"
    return ""
