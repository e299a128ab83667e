"""`dpquantiles release`: private quantiles of one column of a file."""

import random
from collections.abc import Callable
from dataclasses import replace

from dpquantiles import engine, entropy, require
from dpquantiles.cli import arguments, options, plan, screen
from dpquantiles.planner import AUTO
from dpquantiles.present import text
from dpquantiles.privacy import Neighbors
from dpquantiles.release import Release
from dpquantiles.sources.files import read_column
from dpquantiles.views.array import MISSING_POLICIES

FORMATS: dict[str, Callable[[Release], str]] = {
    "text": lambda release: screen.apart(text.render(release, screen.width())),
    "json": Release.to_json,
    "csv": text.csv,
}


def release(
    file: options.File,
    column: options.Column,
    q: options.Quantiles,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    bounds: options.Bounds = None,
    resolution: options.Resolution = None,
    type: options.Type = None,
    neighbors: options.NeighborsName = "swap",
    size: options.Size = None,
    missing: options.Missing = None,
    mechanism: options.Mechanism = AUTO,
    seed: options.Seed = None,
    format: options.Format = None,
    dry_run: options.DryRun = False,
) -> None:
    """Release private quantiles of one column of a file.

    Example: dpquantiles release trips.csv -c minutes -q quartiles -e 1
    """
    show = FORMATS[_format(format)]
    number = None if seed is None else arguments.whole("seed", seed)
    records = None if size is None else arguments.whole("size", size)
    # All that can be checked without the data is checked before they are read.
    request = engine.Request(
        q=arguments.quantiles(",".join(q)),
        budget=arguments.budget(epsilon, delta, rho, neighbors),
        # Under swap neighbors the number of records is public, so that only a plan needs it.
        size=None if dry_run and neighbors == Neighbors.SWAP else records,
        missing=missing if missing in MISSING_POLICIES else None,
        mechanism=mechanism,
    )
    if dry_run:
        grid = plan.stated_grid(type, bounds, resolution)
        plan.show(plan.dry_run(request, records, grid), as_json=format == "json")
        return
    typed = read_column(file, column, type)
    request = replace(
        request,
        grid=arguments.grid(typed.kind, bounds, resolution),
        missing=arguments.missing(missing, typed.kind),
    )
    bits = entropy.system() if number is None else random.Random(number)
    answer = engine.run(typed, request, bits)
    if type is None and file.suffix.lower() == ".csv":
        _say_type(column, typed.kind.name)
    if answer.guarantee is None:
        screen.warning("not private: whoever knows the seed can take the noise away")
    screen.result(show(answer))


def _format(name: str | None) -> str:
    if name is None:
        return "text" if screen.is_terminal() else "json"
    return require.choice(FORMATS, format=name)


def _say_type(column: str, name: str) -> None:
    screen.note(f"column {column!r} read as {name}; its type counts as public (--type {name})")
