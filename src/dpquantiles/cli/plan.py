"""`dpquantiles plan`: the accuracy of a release, and the epsilon that is enough."""

from pathlib import Path
from typing import Annotated, Any

from dpquantiles import require
from dpquantiles.cli import arguments, options, screen
from dpquantiles.cli.options import option
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kinds import named
from dpquantiles.planner.choice import AUTO, answers, choose
from dpquantiles.planner.costs import READING
from dpquantiles.planner.needs import epsilon_for
from dpquantiles.planner.plans import Plan, planned
from dpquantiles.planner.reference import SHAPES, reference
from dpquantiles.present import plans
from dpquantiles.privacy import Neighbors
from dpquantiles.sources.cells import parse
from dpquantiles.written import grid_for, value

GUESSED = ("int", "float", "date", "datetime", "timedelta")
"""The types that the spelling of bounds may tell, in the order in which they are tried."""

Size = Annotated[str, option("--size", "N", "How many records: 10000, 1e6.", options.DATA)]
Data = Annotated[
    str,
    option(
        "--data",
        "NAME",
        "What records are assumed to be: even, smooth, clustered, tied.",
        options.DATA,
        SHAPES,
    ),
]
Spread = Annotated[
    str | None,
    option(
        "--spread",
        "SHARE",
        "Over which part of the bounds they lie: a fraction, or LOW:HIGH. Default: half.",
        options.DATA,
    ),
]
Where = Annotated[
    str,
    option(
        "--source",
        "NAME",
        "Where records are: memory, or engine (Parquet, patterns, queries).",
        options.DATA,
        READING,
    ),
]
RankError = Annotated[
    str | None,
    option(
        "--rank-error",
        "SHARE",
        "In place of --epsilon: find the smallest one whose 95 % error is this share of the "
        "records, such as 0.01.",
        options.PRIVACY,
    ),
]
Plot = Annotated[
    Path | None,
    option("--plot", "FILE", "Draw error against epsilon to this SVG file.", options.OUTPUT),
]


def plan(
    size: Size,
    q: options.Quantiles,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    rank_error: RankError = None,
    bounds: options.Bounds = None,
    resolution: options.Resolution = None,
    type: options.Type = None,
    neighbors: options.NeighborsName = "swap",
    data: Data = "even",
    spread: Spread = None,
    source: Where = "memory",
    intervals: options.Intervals = None,
    intervals_of: options.IntervalsOf = "data",
    plot: Plot = None,
    format: options.PlainFormat = "text",
    quiet: options.Quiet = False,
) -> None:
    """Show how accurate a release will be; reads no data and spends nothing.

    Example: dpquantiles plan --size 10000 -q deciles --epsilon 1 --bounds 0 120
    """
    screen.hush(quiet)
    require.choice(options.PLAIN_FORMATS, format=format)
    quantiles = arguments.quantiles(",".join(q))
    n = require.count(minimum=1, size=arguments.whole("size", size))
    grid = stated_grid(type, bounds, resolution)
    part = None if spread is None else _spread(spread, grid)
    if rank_error is not None:
        epsilon = _enough(
            rank_error, epsilon, rho, delta, quantiles, n, grid, neighbors, data, part, source
        )
    budget = arguments.budget(epsilon, delta, rho, neighbors)
    beside = arguments.intervals(intervals, intervals_of)
    place = require.choice(READING, source=source)
    chosen = choose(budget, answers(quantiles, beside), n, grid, place)
    result = planned(budget, quantiles, reference(data, n, grid, part), n, beside, chosen=chosen)
    show(result, plot, format=format)


def show(
    shown: Plan, plot: Path | None = None, *, mechanism: str = AUTO, format: str = "text"
) -> None:
    """Show a plan, with one mechanism in detail and error against budget; or write it as JSON."""
    name = mechanism if mechanism in {estimate.mechanism for estimate in shown.table} else AUTO
    if plot is not None:
        screen.write(plot, plans.svg(shown, shown.curve(name)))
        screen.note(f"drew error against budget to '{plot}'")
    if format == "json":
        screen.result(shown.to_json())
        return
    width = screen.width()
    lines = [
        plans.text(shown, width, name),
        "",
        f"Error against budget, {shown[name].mechanism}:",
        "",
        *plans.bars(shown.curve(name), shown.size, width // 3),
    ]
    screen.result("\n".join(lines))


def stated_grid(type: str | None, bounds: tuple[str, str] | None, resolution: str | None) -> Grid:
    """The grid of a column, from public parameters alone."""
    name = type or next((name for name in GUESSED if _states(name, bounds, resolution)), "float")
    return grid_for(named(name), bounds, resolution)


def _states(name: str, bounds: tuple[str, str] | None, resolution: str | None) -> bool:
    """Whether bounds are written as values of a type; a number with a point is not an int."""
    texts = [*(bounds or ()), *([resolution] if resolution and name == "int" else [])]
    if name == "int" and any("." in text for text in texts):
        return False
    return bool(bounds) and all(parse(text.strip(), name) is not None for text in texts)


def _spread(text: str, grid: Grid) -> Any:
    if ":" in text:
        return tuple(value(part, grid.kind, "spread") for part in text.split(":"))
    return arguments.number("spread", text, "0.5")


def _enough(
    rank_error: str,
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    q: tuple[float, ...],
    size: int,
    grid: Grid,
    neighbors: str,
    data: str,
    spread: Any,
    source: str,
) -> str:
    """The smallest epsilon that is enough, as text; a note says it."""
    if epsilon is not None or rho is not None:
        raise InvalidValue("rank-error must stand in place of epsilon and rho, got both")
    enough = epsilon_for(
        rank_error=arguments.number("rank_error", rank_error, "0.01"),
        size=size,
        q=q,
        delta=None if delta is None else arguments.number("delta", delta, "1e-6"),
        grid=grid,
        neighbors=require.choice(Neighbors, neighbors=neighbors),
        data=require.choice(SHAPES, data=data),
        spread=spread,
        source=require.choice(READING, source=source),
    )
    screen.note(f"epsilon = {enough:g} is the smallest with a 95 % rank error of {rank_error}")
    return f"{enough:.17g}"
