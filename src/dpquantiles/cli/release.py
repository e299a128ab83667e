"""`dpquantiles release`: private quantiles of one column of files or of a query."""

import random
from collections.abc import Callable
from dataclasses import replace

from dpquantiles import entropy, require
from dpquantiles.charging import charged, fingerprint
from dpquantiles.cli import arguments, options, plan, screen
from dpquantiles.cli.dry_run import report, rows_are_public
from dpquantiles.cli.grouped import Asked
from dpquantiles.cli.place import Place
from dpquantiles.cli.progress import scanning
from dpquantiles.kinds import Kind
from dpquantiles.planner import AUTO
from dpquantiles.present import releases
from dpquantiles.privacy import Guarantee, Units
from dpquantiles.request import Request
from dpquantiles.results import GroupedRelease, Release, Result
from dpquantiles.views.filled import MISSING_POLICIES

FORMATS: dict[str, Callable[[Release | GroupedRelease], str]] = {
    "text": lambda release: screen.apart(releases.text(release, screen.width())),
    "json": Result.to_json,
    "csv": releases.csv,
}


def release(
    column: options.Column,
    q: options.Quantiles,
    file: options.File = None,
    sql: options.Sql = None,
    database: options.Database = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    bounds: options.Bounds = None,
    resolution: options.Resolution = None,
    type: options.Type = None,
    neighbors: options.NeighborsName = "swap",
    size: options.Size = None,
    missing: options.Missing = None,
    by: options.By = None,
    keys: options.Keys = None,
    unit: options.Unit = None,
    max_rows_per_unit: options.MaxRowsPerUnit = None,
    mechanism: options.Mechanism = AUTO,
    intervals: options.Intervals = None,
    intervals_of: options.IntervalsOf = "data",
    seed: options.Seed = None,
    format: options.Format = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    part: options.Part = None,
    request_id: options.RequestId = None,
    dry_run: options.DryRun = False,
) -> None:
    """Release private quantiles of one column of files or of a query, of groups where asked.

    Example: dpquantiles release trips.csv -c minutes -q quartiles -e 1
    """
    shown = _format(format)
    number = None if seed is None else arguments.whole("seed", seed)
    rows = (
        None
        if max_rows_per_unit is None
        else arguments.whole("max_rows_per_unit", max_rows_per_unit)
    )
    units = Units.of(unit, rows)
    records = None if size is None else arguments.whole("size", size)
    asked = Asked(tuple(by or ()), keys, units, records)
    # All that can be checked without the data is checked before they are read.
    request = Request(
        q=arguments.quantiles(",".join(q)),
        budget=arguments.budget(epsilon, delta, rho, neighbors),
        size=asked.size,
        missing=missing if missing in MISSING_POLICIES else None,
        mechanism=mechanism,
        intervals=arguments.intervals(intervals, intervals_of),
    )
    promise = asked.promise(request)
    account = arguments.account(ledger, dataset, part, request_id)
    place = Place(file, sql, database)
    schema = place.schema(column, type, whole=asked.whole)
    if schema is not None and not (place.is_text and type == "datetime"):  # cells tell the zone
        request = _settled(request, schema.kind, bounds, resolution, missing)
    read = asked.settle(place, request)
    if dry_run:
        screen.result(report(str(place), column, schema, place.size(), request, promise, account))
        grid = request.grid or plan.stated_grid(type, bounds, resolution)
        rows = None if asked.by else _public_rows(place, promise)
        screen.result("")
        found = plan.dry_run(asked.per_row(request), records or rows, grid, grouped=bool(asked.by))
        plan.show(found, mechanism=mechanism)
        return
    bits = entropy.system() if number is None else random.Random(number)

    def draw(granted: Request) -> Release | GroupedRelease:
        source = asked.open(place, column, type)
        granted = _settled(granted, source.kind, bounds, resolution, missing)
        with scanning(getattr(source, "percent", None), place.size().bytes):
            answer = asked.run(source, column, granted, bits)
        if type is None and place.is_text:
            _say_type(column, source.kind.name)
        if answer.guarantee is None:
            return answer
        chosen = replace(request, mechanism=answer.mechanism)
        return replace(answer, guarantee=asked.promise(chosen))

    typed = {"type": type, "bounds": bounds, "resolution": resolution, "missing": missing}
    grouped = {"by": asked.by, "keys": read, "size": asked.size}
    answer = charged(
        account,
        request,
        bits,
        draw,
        promise=promise,
        rehearse=lambda granted: asked.rehearse(granted, _public_rows(place, promise)),
        restore=asked.restore,
        units=units,
        about={"column": column, "source": fingerprint(file, sql, database), **typed, **grouped},
    )
    if answer.guarantee is None:
        screen.warning("not private: whoever knows the seed can take the noise away")
    screen.result(FORMATS[shown](answer))


def _public_rows(place: Place, promise: Guarantee) -> int | None:
    """How many records there are, where that is public and told by metadata."""
    return place.size().rows if rows_are_public(promise) else None


def _settled(
    request: Request,
    kind: Kind,
    bounds: tuple[str, str] | None,
    resolution: str | None,
    missing: str | None,
) -> Request:
    """What is asked for, in the type of the column."""
    return replace(
        request,
        grid=arguments.grid(kind, bounds, resolution),
        missing=arguments.missing(missing, kind),
    )


def _format(name: str | None) -> str:
    if name is None:
        return "text" if screen.is_terminal() else "json"
    return require.choice(FORMATS, format=name)


def _say_type(column: str, name: str) -> None:
    screen.note(f"column {column!r} read as {name}; its type counts as public (--type {name})")
