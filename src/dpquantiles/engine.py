"""The one place where all meet: public parameters are settled, then data are read, then drawn."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.charging import Account, charged, fingerprint
from dpquantiles.described import Description
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid import Grid, Held, default_grid
from dpquantiles.kinds import ANYTHING, Domain
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.privacy import Neighbors, Units
from dpquantiles.release import Release
from dpquantiles.request import Request
from dpquantiles.sources.frames import backend_of
from dpquantiles.sources.memory import blank
from dpquantiles.sources.source import Source, fetched, open_source, open_table, pinned_table
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows, present, require_units, units_beside
from dpquantiles.views import FilledView, SortedView
from dpquantiles.views.groups import SortedSteps


def run(
    data: Any,
    request: Request,
    bits: Bits,
    column: str | None = None,
    account: Account | None = None,
) -> Release:
    """Settle what is public, charge, read, draw, and hand back the answers in the order asked."""

    def opened(held: Any) -> tuple[Source, Grid]:
        stated = None if request.grid is None else request.grid.kind
        source = open_source(held, column, stated)
        return source, settled(source, request)

    # A table has a schema, and typed arrays have a type, which is public; of anything else only the
    # records tell the type.
    known = None if column is None else opened(data)

    def rehearsed(granted: Request) -> None:
        empty = blank(data) if column is None else None
        public = known if empty is None else opened(empty)
        if public is not None:
            source, grid = public
            rehearse(granted, grid, source.length if empty is None else len(data))

    def draw(granted: Request) -> Release:
        source, grid = known or opened(data)
        with source.pinned() as still:
            view = still.view(grid, granted.missing)
            release = _draw(view, granted, bits, source.domain)
        if release.guarantee is None:
            return release
        return replace(release, guarantee=request.build(release.mechanism).guarantee)

    return charged(
        account,
        request,
        bits,
        draw,
        promise=request.build().guarantee,
        rehearse=rehearsed,
        restore=Release.from_dict,
        units=Units(),
        about={"column": column, "source": column and fingerprint(data)},  # text names files then
    )


def settled(source: Source, request: Request) -> Grid:
    """The grid of a column, once it is certain that all public parameters are of its type."""
    grid = request.grid or default_grid(source.kind, request.bounds, request.resolution)
    source.check(grid, request.missing)
    return grid


def precision(grid: Grid, domain: Domain) -> dict[str, object]:
    """What a release says of rounding and clamping that nobody asked for, if there is any."""
    notes = _notes(grid, domain)
    return {"precision": list(notes)} if notes else {}


@lru_cache(maxsize=256)
def _notes(grid: Grid, domain: Domain) -> tuple[str, ...]:
    """Kept, because exact fractions take longer than a small draw."""
    return tuple(Held(grid, domain).notes)


def rehearse(request: Request, grid: Grid, n: int | None) -> None:
    """Refuse what public numbers forbid, by a draw from as many equal records.

    Under add-remove neighbors their number cannot matter, so there are none; under swap neighbors
    it is public, but None where only a scan tells it, and then the draw itself refuses.
    """
    if request.budget.neighbors is Neighbors.ADD_REMOVE:
        n = 0
    if n is not None:
        nobody = SortedSteps(grid, np.zeros(0, dtype=np.int64))
        _draw(FilledView(nobody, 0, n), request, random.Random(0))


@np.errstate(all="ignore")
def _draw(view: SortedView, request: Request, bits: Bits, domain: Domain = ANYTHING) -> Release:
    """One draw, in the order asked, of records whose declared type holds the domain.

    What NumPy says about overflow or underflow depends on the data, so the caller's own settings
    must not turn it into a warning or an error.
    """
    choice = request.choice(view.n, view.grid)
    mechanism = request.build(choice.mechanism)
    if isinstance(mechanism, Bracketed):
        mechanism = replace(mechanism, domain=domain)
    release = mechanism.release(view, bits)
    answers = dict(zip(release.q, release.values, strict=True))
    return replace(
        release,
        q=request.q,
        values=tuple(answers[q] for q in request.q),
        provenance={**release.provenance, "choice": choice.why, **precision(view.grid, domain)},
    )


def run_for_units(
    data: Any,
    request: Request,
    bits: Bits,
    column: str | None,
    units: Units,
    account: Account | None = None,
) -> Release:
    """As `run`, for a budget that all rows of a unit share; rows are bounded inside the engine."""
    if units.column is None:
        return run(data, request, bits, column, account)
    if column is None:
        raise InvalidType("column must be given with unit: the column whose quantiles are wanted")
    priced = replace(request, budget=units.price(request.budget, grouped=False))
    priced.without_intervals()
    table = open_table(data, (column,))
    table.dtype(column)
    require_units(table, units.column)
    known = open_source(table, column)
    grid = settled(known, request)
    rows, unit = units_beside(table, units.column, (column,))
    if isinstance(request.missing, str) and request.missing == "drop":
        rows = present(rows, column)

    def draw(granted: Request) -> Release:
        row = replace(granted, budget=units.price(granted.budget, grouped=False))
        kept = bound_rows(rows, unit, units.rows, (column,), bits)
        with open_source(kept, column, grid.kind).pinned() as still:
            release = _draw(still.view(grid, row.missing), row, bits, known.domain)
        spent = priced.without_intervals(release.mechanism).guarantee
        stated = units.stated(spent, request.budget)
        return replace(
            release,
            guarantee=None if release.guarantee is None else stated,
            provenance={**release.provenance, "budget": stated.to_dict(), **units.provenance},
        )

    def rehearsed(granted: Request) -> None:
        row = replace(granted, budget=units.price(granted.budget, grouped=False))
        rehearse(row, grid, None)  # under swap neighbors the number of units is still to be counted

    return charged(
        account,
        request,
        bits,
        draw,
        promise=units.stated(priced.without_intervals().guarantee, request.budget),
        rehearse=rehearsed,
        restore=Release.from_dict,
        units=units,
        about={"column": column, "source": fingerprint(data)},
    )


def describe(
    data: Any,
    columns: Sequence[str],
    request: Request,
    bits: Bits,
    units: Units,
    bounds: Mapping[str, tuple[Any, Any]],
    account: Account | None = None,
) -> Description:
    """Quantiles of several columns, each for an equal share of the budget of one row.

    The columns are read and drawn in their order, after the rows of units are chosen.
    """
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        raise InvalidValue(
            f"columns must be a list that names each column once, got {require.shown(columns)}"
        )
    if not isinstance(bounds, Mapping):
        raise InvalidType(
            "bounds must be a dictionary from columns to pairs (lower, upper), "
            f"got {require.shown(bounds)}"
        )
    for column in bounds:
        require.choice(columns, bounds=column)
    table = open_table(data, columns)
    if units.column is not None:
        require_units(table, units.column)
    sources = {column: open_source(table, column) for column in columns}
    grids = {
        column: settled(source, replace(request, bounds=bounds.get(column)))
        for column, source in sources.items()
    }
    shared = _shared(request, len(columns), units)

    def rehearsed(granted: Request) -> None:
        for column, source in sources.items():
            known = source.length if units.column is None else None
            rehearse(_shared(granted, len(columns), units), grids[column], known)

    def draw(granted: Request) -> Description:
        row = _shared(granted, len(columns), units)
        with pinned_table(_bounded(table, columns, units, bits), columns) as still:
            rows = fetched(still, columns)
            releases = {}
            for column, grid in grids.items():
                view = open_source(rows, column, grid.kind).view(grid, row.missing)
                # The declared type: what rows were fetched as may differ, and depends on how many.
                releases[column] = _draw(view, row, bits, sources[column].domain)
        return _described(releases, request, shared, units)

    about = {
        "columns": tuple(columns),
        "bounds": sorted(map(str, bounds.items())),
        "source": fingerprint(data),
    }
    made = charged(
        account,
        request,
        bits,
        draw,
        promise=units.stated(shared.build().guarantee, request.budget),
        rehearse=rehearsed,
        restore=Description.from_dict,
        units=units,
        about=about,
    )
    return replace(made, backend=backend_of(table))


def _bounded(table: Table, columns: Sequence[str], units: Units, bits: Bits) -> Table:
    """Columns of a table, with at most as many rows of every unit as count."""
    if units.column is None:
        return table
    rows, unit = units_beside(table, units.column, columns)
    return bound_rows(rows, unit, units.rows, columns, bits)


def _shared(request: Request, columns: int, units: Units) -> Request:
    """What is asked of each column: at an equal share of the budget of one row."""
    part = request.budget.divided(columns)
    return replace(request, budget=units.price(part, grouped=False))


def _described(
    releases: Mapping[str, Release], request: Request, shared: Request, units: Units
) -> Description:
    """The releases of all columns, with what they promise at the budget that was asked for."""
    note = next(iter(releases.values())).note
    promises = {shared.build(release.mechanism).guarantee for release in releases.values()}
    # Mechanisms that promise different things are all within the budget that each was given.
    spent = promises.pop() if len(promises) == 1 else shared.budget
    stated = None if note else units.stated(spent, request.budget.divided(len(releases)))
    return Description(
        releases={name: replace(release, guarantee=stated) for name, release in releases.items()},
        guarantee=None if note else replace(request.budget, unit=units.column).promised(spent),
        note=note,
    )
