"""`dpquantiles release`: private quantiles of one column of a file."""

import random
from collections.abc import Callable
from dataclasses import replace

from dpquantiles import engine, entropy, require
from dpquantiles.cli import arguments, options, screen
from dpquantiles.kinds import BY_NAME, Kind
from dpquantiles.present import text
from dpquantiles.release import Release
from dpquantiles.sources.files import read_column, require_column
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
    mechanism: options.Mechanism = "joint_exp",
    seed: options.Seed = None,
    format: options.Format = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    part: options.Part = None,
    request_id: options.RequestId = None,
) -> None:
    """Release private quantiles of one column of a file.

    Example: dpquantiles release trips.csv -c minutes -q quartiles -e 1
    """
    show = FORMATS[_format(format)]
    number = _whole("seed", seed)
    # All that can be checked without the data is checked before they are read.
    request = engine.Request(
        q=arguments.quantiles(",".join(q)),
        budget=arguments.budget(epsilon, delta, rho, neighbors),
        size=_whole("size", size),
        missing=missing if missing in MISSING_POLICIES else None,
        mechanism=mechanism,
    )
    bits = entropy.system() if number is None else random.Random(number)

    def settled(asked: engine.Request, kind: Kind) -> engine.Request:
        return replace(
            asked,
            grid=arguments.grid(kind, bounds, resolution),
            missing=arguments.missing(missing, kind),
        )

    def draw(granted: engine.Request) -> Release:
        typed = read_column(file, column, type)
        answer = engine.run(typed, settled(granted, typed.kind), bits)
        if type is None and file.suffix.lower() == ".csv":
            _say_type(column, typed.kind.name)
        return answer

    about = {"column": column, "type": type, "bounds": bounds, "resolution": resolution}
    account = arguments.account(
        ledger, dataset, part, request_id, about={**about, "missing": missing}
    )
    if account is None:
        answer = draw(request)
    else:
        require_column(file, column)
        if type in BY_NAME and type != "datetime":  # the zone of moments is only in the data
            settled(request, BY_NAME[type])
        answer = engine.charged(account, request, bits, draw)
    if answer.guarantee is None:
        screen.warning("not private: whoever knows the seed can take the noise away")
    screen.result(show(answer))


def _format(name: str | None) -> str:
    if name is None:
        return "text" if screen.is_terminal() else "json"
    return require.choice(FORMATS, format=name)


def _whole(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} must be a whole number, got {text!r}") from None


def _say_type(column: str, name: str) -> None:
    screen.note(f"column {column!r} read as {name}; its type counts as public (--type {name})")
