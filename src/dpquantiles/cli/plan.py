"""`dpquantiles plan`: the accuracy of a release, and the epsilon that is enough."""

from pathlib import Path
from typing import Annotated, Any

from dpquantiles import require, written
from dpquantiles.cli import options, screen
from dpquantiles.cli.options import option
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.planner.choice import AUTO, answers, choose
from dpquantiles.planner.costs import READING
from dpquantiles.planner.needs import epsilon_for
from dpquantiles.planner.plans import Plan, planned
from dpquantiles.planner.reference import SHAPES, reference
from dpquantiles.present import plans
from dpquantiles.privacy import Neighbors
from dpquantiles.written import stated_grid, value

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
    quantiles = written.quantiles(",".join(q))
    n = require.count(minimum=1, size=written.whole("size", size))
    grid = stated_grid(type, bounds, resolution)
    part = None if spread is None else _spread(spread, grid)
    if rank_error is not None:
        epsilon = _enough(
            rank_error, epsilon, rho, delta, quantiles, n, grid, neighbors, data, part, source
        )
    budget = written.budget(epsilon, delta, rho, neighbors)
    beside = written.intervals(intervals, intervals_of)
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


def _spread(text: str, grid: Grid) -> Any:
    if ":" in text:
        return tuple(value(part, grid.kind, "spread") for part in text.split(":"))
    return written.number("spread", text, "0.5")


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
        rank_error=written.number("rank_error", rank_error, "0.01"),
        size=size,
        q=q,
        delta=None if delta is None else written.number("delta", delta, "1e-6"),
        grid=grid,
        neighbors=require.choice(Neighbors, neighbors=neighbors),
        data=require.choice(SHAPES, data=data),
        spread=spread,
        source=require.choice(READING, source=source),
    )
    screen.note(f"epsilon = {enough:g} is the smallest with a 95 % rank error of {rank_error}")
    return f"{enough:.17g}"
