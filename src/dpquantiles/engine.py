"""The one place where all meet: public parameters are settled, then data are read, then drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.described import Description
from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid, default_grid
from dpquantiles.intervals import Intervals
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.law import Mechanism
from dpquantiles.privacy import Guarantee, Neighbors, Units, all_rows, share_of
from dpquantiles.release import Release
from dpquantiles.sources.frames import backend_of
from dpquantiles.sources.source import fetched, open_source, open_table
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows, present
from dpquantiles.views.array import MISSING_POLICIES


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release as it is asked for: public parameters only, checked once."""

    q: tuple[float, ...]
    budget: Guarantee
    bounds: tuple[Any, Any] | None = None
    resolution: Any = None
    grid: Grid | None = None
    size: int | None = None
    missing: Any = None
    mechanism: str = "joint_exp"
    intervals: Intervals | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _pair(self.bounds))
        if self.grid is not None:
            self._check_grid()
        object.__setattr__(self, "missing", self._missing_policy())
        self.build()

    def _check_grid(self) -> None:
        if not isinstance(self.grid, Grid):
            raise TypeError(
                "grid must be a grid, such as UniformGrid(0, 100) or FloatGrid(), "
                f"got {require.shown(self.grid)}"
            )
        if self.bounds is not None or self.resolution is not None:
            raise ValueError("grid must stand alone, got bounds or resolution beside it")

    def _missing_policy(self) -> Any:
        swap = self.budget.neighbors is Neighbors.SWAP
        if self.missing is None:
            return "upper" if swap else "drop"
        if isinstance(self.missing, str):
            require.choice(MISSING_POLICIES, missing=self.missing)
            if swap and self.missing == "drop":
                raise ValueError(
                    "missing='drop' would show how many records are missing, which swap neighbors "
                    "do not protect; use 'lower', 'upper' or a value, or neighbors='add-remove'"
                )
        return self.missing

    def build(self) -> Mechanism | Bracketed:
        """The mechanism for the distinct quantiles, in ascending order."""
        distinct = tuple(sorted(set(self.q)))
        if self.intervals is not None:
            return Bracketed(
                mechanism=self.mechanism,
                budget=self.budget,
                q=distinct,
                intervals=self.intervals,
                size=self.size,
            )
        mechanism: Mechanism = registry.build(
            self.mechanism, self.budget, q=distinct, size=self.size
        )
        return mechanism

    def without_intervals(self) -> Mechanism:
        """The mechanism for groups and units, around whose answers there are no intervals."""
        mechanism = self.build()
        if isinstance(mechanism, Bracketed):
            raise ValueError("intervals must be left out with by and with unit, got both")
        return mechanism


def _pair(bounds: Any) -> tuple[Any, Any]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise TypeError(
            f"bounds must be a pair (lower, upper), got {require.shown(bounds)}"
        ) from None
    return lower, upper


@np.errstate(all="ignore")
def run(data: Any, request: Request, bits: Bits, column: str | None = None) -> Release:
    """Settle what is public, read, draw, and hand back the answers in the order asked.

    What NumPy says about overflow or underflow depends on the data, so the caller's own settings
    must not turn it into a warning or an error.
    """
    stated = None if request.grid is None else request.grid.kind
    source = open_source(data, column, stated)
    grid = request.grid or default_grid(source.kind, request.bounds, request.resolution)
    mechanism = request.build()
    # All of the above is public: types, parameters and the price. What is below reads records.
    view = source.view(grid, request.missing)
    release = mechanism.release(view, bits)
    answers = dict(zip(release.q, release.values, strict=True))
    return replace(release, q=request.q, values=tuple(answers[q] for q in request.q))


def run_for_units(
    data: Any, request: Request, bits: Bits, column: str | None, units: Units
) -> Release:
    """As `run`, for a budget that all rows of a unit share; rows are bounded inside the engine."""
    if units.column is None:
        return run(data, request, bits, column)
    if column is None:
        raise TypeError("column must be given with unit: the column whose quantiles are wanted")
    priced = replace(request, budget=units.price(request.budget, grouped=False))
    stated = units.stated(priced.without_intervals().guarantee, request.budget)
    table = open_table(data, (column,))
    table.dtype(column)
    if isinstance(request.missing, str) and request.missing == "drop":
        table = present(table, column)
    release = run(bounded(table, (column,), units, bits), priced, bits, column)
    return replace(
        release,
        guarantee=None if release.guarantee is None else stated,
        provenance={**release.provenance, "budget": stated.to_dict(), **units.provenance},
    )


def bounded(data: Any, columns: Sequence[str], units: Units, bits: Bits) -> Table:
    """Columns of a table, with at most as many rows of every unit as count."""
    table = open_table(data, columns)
    for column in columns:
        table.dtype(column)
    if units.column is None:
        return table
    return bound_rows(table, units.column, units.rows, columns, bits)


def describe(
    data: Any,
    columns: Sequence[str],
    request: Request,
    bits: Bits,
    units: Units,
    bounds: Mapping[str, tuple[Any, Any]],
) -> Description:
    """Quantiles of several columns, each for an equal share of the budget of one row.

    The columns are read and drawn in their order, after the rows of units are chosen.
    """
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        raise ValueError(
            f"columns must be a list that names each column once, got {require.shown(columns)}"
        )
    if not isinstance(bounds, Mapping):
        raise TypeError(
            "bounds must be a dictionary from columns to pairs (lower, upper), "
            f"got {require.shown(bounds)}"
        )
    for column in bounds:
        require.choice(columns, bounds=column)
    part = share_of(request.budget, len(columns))
    priced = replace(request, budget=units.price(part, grouped=False))
    table = fetched(bounded(data, columns, units, bits), columns)
    asked = {column: replace(priced, bounds=bounds.get(column)) for column in columns}
    releases = {column: run(table, asked[column], bits, column) for column in columns}
    spent = priced.build().guarantee
    note = next(iter(releases.values())).note
    stated = None if note else units.stated(spent, part)
    return Description(
        releases={name: replace(release, guarantee=stated) for name, release in releases.items()},
        guarantee=None if note else all_rows(spent, replace(request.budget, unit=units.column)),
        note=note,
        backend=backend_of(table),
    )
