"""`dpquantiles plan`: the accuracy of a release, and the epsilon that is enough."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from dpquantiles import require, written
from dpquantiles.cli import options, screen
from dpquantiles.cli.options import option
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kinds import BY_NAME
from dpquantiles.planner.choice import AUTO
from dpquantiles.planner.costs import READING
from dpquantiles.planner.needs import epsilon_for
from dpquantiles.planner.plans import Plan
from dpquantiles.planner.plans import plan as planned
from dpquantiles.planner.reference import SHAPES
from dpquantiles.present import plans
from dpquantiles.written import distance, stated_grid, value

Size = Annotated[
    str,
    option(
        "--size",
        "N",
        "The number of records, such as 10000 or 1e6. With groups, the records of one group; with "
        "units, the number of units times the rows used of each.",
        options.DATA,
    ),
]
Type = Annotated[
    str | None,
    option(
        "--type",
        "NAME",
        f"{options.TYPES} By default it is that of --bounds, and float without them.",
        options.DATA,
        BY_NAME,
    ),
]
Data = Annotated[
    str,
    option(
        "--data",
        "NAME",
        "What the records are assumed to look like: even, smooth, clustered, tied or rounded.",
        options.DATA,
        SHAPES,
    ),
]
Spread = Annotated[
    str | None,
    option(
        "--spread",
        "SHARE",
        "Where the records are assumed to lie: LOW:HIGH, or a fraction of the bounds. Default: "
        "half of the bounds.",
        options.DATA,
    ),
]
Where = Annotated[
    str,
    option(
        "--source",
        "NAME",
        "Where the records are: in memory, or in an engine (Parquet files, patterns, queries).",
        options.DATA,
        READING,
    ),
]
RankError = Annotated[
    str | None,
    option(
        "--rank-error",
        "SHARE",
        "Instead of --epsilon: find the smallest epsilon that keeps 95% of errors within this "
        "share of the records, such as 0.01.",
        options.PRIVACY,
    ),
]
ErrorInValues = Annotated[
    str | None,
    option(
        "--value-error",
        "DISTANCE",
        "The same, with the error in values, such as 500 or 7d, for records spread evenly over "
        "--spread LOW:HIGH.",
        options.PRIVACY,
    ),
]
Plot = Annotated[
    Path | None,
    option(
        "--plot", "FILE", "Draw a chart of error against epsilon to this SVG file.", options.OUTPUT
    ),
]


def plan(
    size: Size,
    q: options.Quantiles,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    rank_error: RankError = None,
    value_error: ErrorInValues = None,
    bounds: options.Bounds = None,
    resolution: options.Resolution = None,
    type: Type = None,
    neighbors: options.NeighborsName = "swap",
    data: Data = "even",
    spread: Spread = None,
    source: Where = "memory",
    intervals: options.Intervals = None,
    intervals_of: options.IntervalsOf = "data",
    max_rows_per_unit: options.MaxRowsPerUnit = None,
    plot: Plot = None,
    format: options.PlainFormat = "text",
    quiet: options.Quiet = False,
) -> None:
    """Predict how accurate a release will be; reads no data and spends nothing.

    Example: dpquantiles plan --size 10000 -q deciles -e 1 --bounds 0 500000

    To find epsilon: dpquantiles plan --size 1e6 -q p50 --value-error 500 --spread 0:9e4
    """
    screen.hush(quiet)
    require.choice(options.PLAIN_FORMATS, format=format)
    quantiles = written.quantiles(",".join(q))
    n = require.count(minimum=1, size=written.whole("size", size))
    grid = stated_grid(type or _type_of_times(spread, bounds), bounds, resolution)
    part = None if spread is None else _spread(spread, grid)
    beside = written.intervals(intervals, intervals_of)
    rows = written.whole("max_rows_per_unit", max_rows_per_unit or "1")
    asked: dict[str, Any] = {"size": n, "q": quantiles, "grid": grid, "data": data, "spread": part}
    asked |= {"neighbors": neighbors, "intervals": beside, "max_rows_per_unit": rows}
    asked["source"] = require.choice(READING, source=source)
    errors = {"rank_error": rank_error, "value_error": value_error}
    epsilon = _enough(errors, (epsilon, rho), delta, asked) or epsilon
    budget = written.budget(epsilon, delta, rho, neighbors)
    amounts = {name: getattr(budget, name) for name in budget.numbers}
    show(planned(**amounts, **asked), plot, format=format)


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


def _type_of_times(spread: str | None, bounds: object) -> str | None:
    """The type of a spread of dates or times without bounds; numbers do not tell a type."""
    if spread is None or bounds is not None:
        return None
    name = written.told_type(spread.split(":"))
    return name if name in written.SPANS else None


def _spread(text: str, grid: Grid) -> Any:
    if ":" in text:
        return tuple(value(part, grid.kind, "spread") for part in text.split(":"))
    return written.number("spread", text, "0.5")


def _enough(
    errors: Mapping[str, str | None],
    budgets: Iterable[str | None],
    delta: str | None,
    asked: Mapping[str, Any],
) -> str | None:
    """The smallest epsilon for an error, as text; a note says it. None if no error is stated."""
    stated = {name: error for name, error in errors.items() if error is not None}
    if not stated:
        return None
    if len(stated) > 1 or any(budget is not None for budget in budgets):
        raise InvalidValue(
            f"{next(iter(stated)).replace('_', '-')} must be given instead of epsilon, rho and "
            "other errors, not beside them"
        )
    ((name, text),) = stated.items()
    if name == "value_error":
        error: Any = {name: distance(text, asked["grid"].kind, "value-error")}
    else:
        error = {name: written.number(name, text, "0.01")}
    small = None if delta is None else written.number("delta", delta, "1e-6")
    enough = epsilon_for(**error, delta=small, **asked)
    what = name.replace("_", " ")
    screen.note(f"epsilon = {enough:g} is enough for a 95% {what} of at most {text}")
    return f"{enough:.17g}"
