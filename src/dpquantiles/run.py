"""The one way of a job: open, settle the grids, check, charge, read, choose, draw, state."""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpquantiles import by_group, cautions, results, written
from dpquantiles.by_group import Grouping
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue, unquoted
from dpquantiles.grid import Grid, default_grid, precision
from dpquantiles.job import Job
from dpquantiles.planner import SourceKind
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.results import Description, GroupedRelease, Release
from dpquantiles.sources.engine import backend_of
from dpquantiles.sources.source import (
    Opened,
    Source,
    open_data,
    open_whole,
    pinned_columns,
)
from dpquantiles.sources.tables import BACKENDS
from dpquantiles.sources.units import require_units
from dpquantiles.views import SortedSteps, SortedView, filled, stand_in

Made = Release | GroupedRelease | Description


class GriddedColumn(NamedTuple):
    """A column whose type is known, with all that its type decides."""

    source: Source
    grid: Grid
    missing: Any
    """The policy for missing values, or the value that stands in for them."""

    @property
    def stated_missing(self) -> object:
        """The same as a release states it."""
        if isinstance(self.missing, str):
            return self.missing
        (value,) = self.grid.decode(np.array([stand_in(self.grid, self.missing)]))
        return self.grid.kind.to_json(value)


def run(job: Job, watch: Callable[[Opened], AbstractContextManager[None]] | None = None) -> Made:
    """Make one release. `watch` may show how far the engine is while records are read.

    Random bits are used in this order: for the rows of units, for private keys or bought sizes, for
    the answers, column by column.
    """
    opened, grouping = open_job(job)
    if job.account is not None:
        check_drawable(job, opened, grouping)
    watched = nullcontext() if watch is None else watch(opened)
    with _charged(job, grouping) as entry:
        if entry.recorded is None:
            with unquoted(), watched:
                result = _read_and_draw(job, opened, grouping)
            entry.record(result)
        if entry.recorded is not None:  # what is handed over is what was written down
            result = results.from_dict(entry.recorded)
    library = _library(job, opened)
    return result if library is None else replace(result, backend=library)


def _library(job: Job, opened: Opened) -> str | None:
    """The library for frames of the result: that of the table, or of a column by itself."""
    if opened.table is not None:
        return backend_of(opened.table)
    return _own_library(job)


def _own_library(job: Job) -> str | None:
    """The library of data that are an object of one."""
    name = type(job.data).__module__.partition(".")[0]
    return name if name in BACKENDS else None


def open_job(job: Job) -> tuple[Opened, Grouping | None]:
    """Open the data of a job by their schema, and check the names of units and the keys of groups.

    No record is read.
    """
    stated = None if job.grid is None else job.grid.kind
    if not job.takes_table:
        return open_data(job.data, job.columns[0], stated), None
    opened = open_whole(job.data, stated)
    if opened.is_text and job.columns[0] in job.by:
        raise InvalidValue(
            "by must not name the column to summarize, because the keys of CSV files are text, "
            f"got {job.columns[0]!r} for both"
        )
    if job.units.column is not None:
        require_units(opened.table, job.units.column)
    return opened, Grouping.of(job, opened.table) if job.by else None


def settle(job: Job, name: str | None, source: Source) -> GriddedColumn:
    """A column with its grid; refuses parameters that are not of its type."""
    kind, bounds, missing = source.kind, job.bounds.get(name), job.missing
    if job.as_text:
        grid = written.grid_for(kind, bounds, job.resolution)
        missing = written.missing_policy(missing, kind)
    else:
        grid = job.grid or default_grid(kind, bounds, job.resolution)
    source.check(grid, missing)
    return GriddedColumn(source, grid, missing)


def declared_columns(job: Job, opened: Opened) -> dict[Any, GriddedColumn | None]:
    """The columns before they are read; None for one whose type only its records tell."""
    sources = {name: opened.declared(name) for name in job.columns}
    return {
        name: None if source is None else settle(job, name, source)
        for name, source in sources.items()
    }


def check_drawable(job: Job, opened: Opened, grouping: Grouping | None) -> None:
    """Run the draw on dummy records, so that a job that cannot work fails before it is charged.

    Under add-remove neighbors the number of records cannot matter, so there are none. Under swap
    neighbors it is public; where only a scan tells it, the draw itself refuses.
    """
    for column in filter(None, declared_columns(job, opened).values()):
        if grouping is not None:
            by_group.check_drawable(job, grouping, column.grid)
            continue
        n: int | None = 0
        if job.budget.neighbors is Neighbors.SWAP:
            n = None if job.units.column else opened.rows()
        if n is not None:
            dummies = SortedSteps(column.grid, np.zeros(0, dtype=np.int64), missing=n)
            _draw(job, filled(dummies, column.missing), column, opened.place, random.Random(0))


def _charged(job: Job, grouping: Grouping | None) -> AbstractContextManager[Any]:
    """Charge the account of a job, if there is one, for as long as the release is made."""
    if job.account is None:
        return nullcontext(_NotKept())
    account, promise = job.account, job.promise()
    groups = {} if grouping is None else grouping.parameters()
    return account.ledger.charged(
        replace(job.budget, within=promise.within, research_only=promise.research_only),
        dataset=account.dataset,
        part=account.part,
        unit=job.units.column,
        request_id=account.request_id,
        parameters={**job.parameters(), **groups},
    )


class _NotKept:
    """What stands in for a ledger's entry where there is no ledger."""

    recorded = None

    def record(self, result: Made) -> None:
        """Nothing is kept."""


def _read_and_draw(job: Job, opened: Opened, grouping: Grouping | None) -> Made:
    typed = opened.typed(job.columns)
    columns = {name: settle(job, name, typed.source(name)) for name in job.columns}
    if grouping is None or typed.table is None:
        return _draw_columns(job, typed, columns)
    ((_, column),) = columns.items()
    release = by_group.draw(job, grouping, typed.table, *column)
    provenance = {**release.provenance, "missing": column.stated_missing}
    return replace(release, provenance={**_named(job, job.columns[0]), **provenance})


def _draw_columns(
    job: Job, opened: Opened, columns: Mapping[Any, GriddedColumn]
) -> Release | Description:
    sources = {name: column.source for name, column in columns.items()}
    with pinned_columns(opened, sources, job.units, job.drops_first, job.bits) as still:
        made = {}
        for name, source in still.items():
            column = columns[name]
            view = source.view(column.grid, column.missing)
            made[name] = _draw(job, view, column, opened.place, job.bits)
    return _state(job, made)


class _Drawn(NamedTuple):
    release: Release
    guarantee: Guarantee


@np.errstate(all="ignore")
def _draw(
    job: Job, view: SortedView, column: GriddedColumn, place: SourceKind, bits: Bits
) -> _Drawn:
    """Choose a mechanism and draw once; the answers are in the order asked for.

    What NumPy says about overflow or underflow depends on the data, so the caller's own settings
    must not turn it into a warning or an error.
    """
    size = view.n + (view.missing or 0)
    choice = job.choose(size, view.grid, place)
    domain = column.source.domain
    mechanism = job.build(choice.mechanism, job.typical_size, domain)
    release = mechanism.release(view, bits)
    answers = dict(zip(release.q, release.values, strict=True))
    provenance = {
        **release.provenance,
        "missing": column.stated_missing,
        "choice": choice.why,
        **cautions.for_column(job, choice.mechanism, size, view.grid),
        **precision(view.grid, domain),
    }
    return _Drawn(
        replace(
            release,
            q=job.q,
            values=tuple(answers[q] for q in job.q),
            note=release.note or " ".join(provenance.get("warnings", ())),
            provenance=provenance,
        ),
        mechanism.guarantee,
    )


def _named(job: Job, column: str | None) -> dict[str, object]:
    """The name of a column for the provenance; a series has one of its own."""
    is_series = column is None and _own_library(job) is not None
    name = getattr(job.data, "name", None) if is_series else column
    return {"column": name} if isinstance(name, str) and name else {}


def _state(job: Job, drawn: Mapping[Any, _Drawn]) -> Release | Description:
    """What was drawn, with what it promises at the budget that was asked for."""
    promise = job.promise(guarantee for _, guarantee in drawn.values())
    releases = {
        name: replace(release, provenance={**_named(job, name), **release.provenance})
        for name, (release, _) in drawn.items()
    }
    private = all(release.guarantee is not None for release in releases.values())
    if job.describes:
        share = promise.divided(len(releases)) if private else None
        note = next(iter(releases.values())).note
        releases = {name: replace(release, guarantee=share) for name, release in releases.items()}
        return Description(releases=releases, guarantee=promise if private else None, note=note)
    ((_, release),) = releases.items()
    provenance = release.provenance
    if job.units.column is not None:
        provenance = {**provenance, "budget": promise.to_dict(), **job.units.provenance}
    return replace(release, guarantee=promise if private else None, provenance=provenance)
