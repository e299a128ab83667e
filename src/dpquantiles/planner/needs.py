"""The inverse of a plan: the smallest epsilon, or the fewest records, for a given accuracy."""

import math
from collections.abc import Callable
from typing import Any

from dpquantiles import privacy, require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.intervals import AskedIntervals, Intervals, require_intervals
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner import choice
from dpquantiles.planner.costs import SourceKind
from dpquantiles.planner.estimates import estimate
from dpquantiles.planner.plans import planned_grid, row_budget
from dpquantiles.planner.reference import Reference, Shape, extent, reference
from dpquantiles.privacy import Guarantee, NeighborsName
from dpquantiles.require import AskedQuantiles

PRECISION = 1.02
"""Results are at most this factor above the smallest possible ones."""

STEPS_BELOW = (1.1, 1.3)
"""A result divided by these is tried as well, in case it is enough."""

LEAST_EPSILON, MOST_EPSILON = 1e-6, 100.0
MOST_SIZE = 2**31


def epsilon_for(
    *,
    size: int,
    q: AskedQuantiles,
    rank_error: float | None = None,
    value_error: Any = None,
    delta: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    grid: Grid | None = None,
    neighbors: NeighborsName = "swap",
    max_rows_per_unit: int = 1,
    data: Shape = "even",
    spread: Any = None,
    intervals: AskedIntervals = None,
    mechanism: choice.AskedMechanism = choice.AUTO,
    source: SourceKind = "memory",
) -> float:
    """The smallest epsilon at which 95% of releases are off by at most this error.

    State one of two errors, which applies to every quantile by itself. `rank_error` is a fraction
    of `size`: 0.01 means one record in a hundred. `value_error` is a distance between values, such
    as 500 dollars or `timedelta(days=7)`; it needs `spread=(low, high)`, where most records lie, or
    bounds, and assumes that records are evenly spread there. The other parameters are those of
    `plan`, and the result rests on the same assumption about the data.
    """
    points = planned_grid(bounds, resolution, grid)
    target = _target(rank_error, value_error, points, spread, data)
    n, requested = require.count(minimum=1, size=size), require.quantiles(q=q)
    beside, name = require_intervals(intervals), _mechanism(mechanism)
    view = reference(data, n, points, spread)

    def excess(epsilon: float) -> float:
        budget = privacy.budget(epsilon=epsilon, delta=delta, neighbors=neighbors)
        row = row_budget(budget, max_rows_per_unit)
        return _worst(name, row, requested, view, beside, source) / (target * n)

    smallest = _smallest(excess, 1.0, LEAST_EPSILON, MOST_EPSILON, lambda x: float(f"{x:.3g}"))
    if smallest is None:
        stated = _stated(rank_error, value_error)
        raise InvalidValue(
            f"{stated}, which even epsilon={MOST_EPSILON:g} misses with {n:,} records; allow "
            "a larger error, or ask for fewer quantiles"
        )
    return smallest


def size_for(
    *,
    q: AskedQuantiles,
    rank_error: float | None = None,
    value_error: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    grid: Grid | None = None,
    neighbors: NeighborsName = "swap",
    max_rows_per_unit: int = 1,
    data: Shape = "even",
    spread: Any = None,
    intervals: AskedIntervals = None,
    mechanism: choice.AskedMechanism = choice.AUTO,
    source: SourceKind = "memory",
) -> int:
    """The fewest records with which 95% of releases are off by at most this error.

    `rank_error` is a fraction of the size, `value_error` a distance between values. They and the
    other parameters are those of `epsilon_for`.
    """
    budget = privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)
    row = row_budget(budget, max_rows_per_unit)
    requested, points = require.quantiles(q=q), planned_grid(bounds, resolution, grid)
    target = _target(rank_error, value_error, points, spread, data)
    beside, name = require_intervals(intervals), _mechanism(mechanism)

    def excess(size: float) -> float:
        n = max(1, math.ceil(size))
        view = reference(data, n, points, spread)
        return _worst(name, row, requested, view, beside, source) / (target * n)

    smallest = _smallest(
        excess, 1000.0, 1.0, float(MOST_SIZE), lambda x: math.ceil(float(f"{x:.3g}"))
    )
    if smallest is None:
        raise InvalidValue(
            f"{_stated(rank_error, value_error)}, which even {MOST_SIZE:,} records miss; allow "
            "a larger error, use a larger epsilon, or ask for fewer quantiles"
        )
    return int(smallest)


def _worst(
    name: str,
    budget: Guarantee,
    q: tuple[float, ...],
    view: Reference,
    intervals: Intervals | None,
    source: SourceKind,
) -> float:
    """The largest 95% error of a mechanism, or of the one that auto chooses."""
    m = choice.answers(q, intervals)
    small = choice.negligible(q)
    chosen = name or choice.choose(budget, m, view.n, view.grid, source, small).mechanism
    return estimate(chosen, budget, q, view, None, intervals).worst


def _target(
    rank_error: float | None, value_error: Any, grid: Grid, spread: Any, data: str
) -> float:
    """The error as a fraction of the size."""
    if (rank_error is None) == (value_error is None):
        raise InvalidValue("rank_error or value_error must be given, and not both")
    if rank_error is not None:
        return _rank_error(rank_error)
    length = extent(grid, spread)
    if length is None or data != "even":
        raise InvalidValue(
            "value_error needs to know where the records lie: state spread=(low, high) or bounds, "
            f"and assume that data is 'even', got data={data!r} and spread={spread!r}"
        )
    distance = require.positive(value_error=float(grid.kind.step(value_error, "value_error")))
    if distance >= length:
        raise InvalidValue(
            "value_error must be smaller than the range of the records, "
            f"got {value_error!r}; state another spread=(low, high)"
        )
    return distance / length


def _stated(rank_error: float | None, value_error: Any) -> str:
    name, error = ("value", value_error) if rank_error is None else ("rank", rank_error)
    return f"{name}_error must be achievable, got {error!r}"


def _rank_error(rank_error: float) -> float:
    hint = "; it is a fraction of the size, such as 0.01"
    target = require.positive(hint, rank_error=rank_error)
    if target >= 1:
        raise InvalidValue(f"rank_error must be below 1, got {target!r}{hint}")
    return target


def _mechanism(name: str) -> str:
    """The name of a mechanism; empty for "auto"."""
    return "" if name == choice.AUTO else require.choice(MECHANISMS, mechanism=name)


def _smallest(
    excess: Callable[[float], float],
    start: float,
    least: float,
    most: float,
    rounded: Callable[[float], float],
) -> float | None:
    """The smallest rounded x with excess(x) <= 1; None if there is none.

    The excess falls roughly like 1 / x, but may rise where another mechanism is chosen. So values
    a little below the result are tried as well, and the search continues if one of them is enough.
    """
    smallest = _crossing(excess, start, least, most)
    while smallest is not None:
        below = [smallest / step for step in STEPS_BELOW if smallest / step >= least]
        enough = [x for x in below if excess(x) <= 1]
        if not enough:
            break
        smallest = _crossing(excess, enough[-1], least, enough[-1])
    # Simulated errors vary from one x to the next, so only a value that was tried is returned.
    while smallest is not None and excess(rounded(smallest)) > 1:
        smallest = rounded(smallest) * PRECISION
    return None if smallest is None else rounded(smallest)


def _crossing(
    excess: Callable[[float], float], start: float, least: float, most: float
) -> float | None:
    """Where an excess that falls roughly like 1 / x reaches 1; None if it does not.

    Each step goes slightly past the point that 1 / x predicts. If that point is outside the bracket
    that is left, the step bisects the bracket.
    """
    low, high, x = least, most * PRECISION, start
    while high / low > PRECISION:
        over = excess(x)
        low, high = (low, x) if over <= 1 else (x, high)
        if low >= most:
            return None
        aimed = x * over * (PRECISION**0.5 if over > 1 else PRECISION**-0.5)
        inside = low * PRECISION**0.4 < aimed < high * PRECISION**-0.4
        x = min(most, aimed if inside else math.sqrt(low * high))
    return high if high <= most else None
