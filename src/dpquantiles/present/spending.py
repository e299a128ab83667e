"""The spending of a ledger's data sets over time: a table with small pictures, or an SVG."""

import datetime as dt
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dpquantiles.job import Job
from dpquantiles.ledger import Ledger, entries
from dpquantiles.ledger.books import Owner, Standing
from dpquantiles.ledger.entries import RECORD
from dpquantiles.present import tables
from dpquantiles.present.chart import CHARACTER, COLORS, LINE_HEIGHT, RIGHT, Axis, Chart, short
from dpquantiles.present.report import Remains
from dpquantiles.present.ticks import EPOCH, position, ticks
from dpquantiles.privacy import ApproxDP, Guarantee

BLOCKS = "▁▂▃▄▅▆▇█"
"""The levels of a picture in a line; the last one is the whole budget."""

MOST_TIMES = 24
WIDTH, NARROW = 560, 400
MOST_LINES = 12
"""The most accounts in the picture; those that have spent the most are shown."""

LONGEST_DATASET, LONGEST_UNIT = 20, 10
"""The most characters of names in the table, so that it fits beside the pictures."""

Steps = Sequence[tuple[dt.datetime, float]]
"""The times at which an account was charged, and what it had spent by then."""

Span = tuple[dt.datetime, dt.datetime]


def left(job: Job) -> Remains:
    """The remaining budget of a job with an account."""
    assert job.account is not None
    account, unit = job.account, job.units.column or RECORD
    return remains(account.ledger, account.dataset, account.part, unit)


def remains(ledger: Ledger, dataset: str, part: str | None, unit: str) -> Remains:
    """The remaining budget of a data set."""
    rest = ledger.remaining(dataset, part=part, unit=unit)
    measure, budget = ledger.budget.measure, entries.words(ledger.budget)
    words = f"{measure} = {entries.digits(rest)} remains of {budget}"
    return Remains(dataset, words, rest / ledger.budget.amount)


def fits(job: Job) -> bool:
    """Whether the ledger would grant a new request of the cost of a job with an account."""
    assert job.account is not None
    dataset, part = job.account.dataset, job.account.part
    unit = job.units.column or RECORD
    return job.account.ledger.fits(job.budget, dataset=dataset, part=part, unit=unit)


def _steps(ledger: Ledger) -> dict[Owner, Steps]:
    """The spending of each account over time; if a clock was set back, time stands still."""
    steps: dict[Owner, list[tuple[dt.datetime, float]]] = {}
    moment = dt.datetime.min
    for point in ledger.history():
        written = dt.datetime.fromisoformat(point.time).replace(tzinfo=None, microsecond=0)
        moment = max(moment, written)
        steps.setdefault(point.owner, []).append((moment, point.spent))
    return {**steps}


def _measure(budget: Guarantee) -> str:
    if isinstance(budget, ApproxDP):
        return f"epsilon at delta = {budget.delta:g}"
    return budget.measure


def text(ledger: Ledger, width: int = tables.WIDTH) -> str:
    """A table of all accounts, each with its spending over time."""
    budget, steps = ledger.budget, _steps(ledger)
    stated = f"{budget.amount:g} ({_measure(budget)}, {budget.neighbors} neighbors)"
    lines = [f"Budget of every data set: {stated}."]
    if not steps:
        return "\n".join([*lines, "Nothing has been charged yet."])
    accounts = ledger.accounts()
    columns = {
        "data set": [short(owner.dataset, LONGEST_DATASET) for owner in steps],
        "unit": [short(owner.unit, LONGEST_UNIT) for owner in steps],
        "charges": [str(accounts[owner].charges) for owner in steps],
        "spent": [f"{points[-1][1]:.6g}" for points in steps.values()],
        "remaining": [f"{accounts[owner].remaining:.6g}" for owner in steps],
    }
    first, last = _span(steps)
    room = width - max(map(len, tables.lines(columns))) - len("   ")
    cells = max(1, min(room, MOST_TIMES)) if last > first else 1
    limit = budget.amount
    pictures = [f" {_blocks(points, (first, last), cells, limit)}" for points in steps.values()]
    legend = (
        f"The bars show what was spent from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC; "
        "a full block is the whole budget."
    )
    return "\n".join(
        [
            *lines,
            "",
            *tables.lines(columns, pictures),
            "",
            *textwrap.wrap(legend, width),
            *_cautions(accounts, width),
        ]
    )


def _cautions(accounts: Mapping[Owner, Standing], width: int) -> list[str]:
    """The promises of accounts that protect less, or less exactly, than the budget says."""
    lines: list[str] = []
    for owner, (_, _, stated) in accounts.items():
        if stated is not None and (stated.within or stated.research_only):
            lines += textwrap.wrap(f"{owner.dataset} ({owner.unit}) keeps {stated}.", width)
    return lines


def _span(steps: Mapping[Owner, Steps]) -> Span:
    moments = [moment for points in steps.values() for moment, _ in points] or [EPOCH]
    return min(moments), max(moments)


def _blocks(points: Steps, span: Span, cells: int, limit: float) -> str:
    """One character for each stretch of time, for the amount that was spent by its end."""
    first, last = span
    ends = [first + (last - first) * ((k + 1) / cells) for k in range(cells)]
    spent = [max((s for m, s in points if m <= end), default=0.0) for end in ends]
    return "".join(_block(share / limit) for share in spent)


def _block(share: float) -> str:
    if share <= 0:
        return " "
    return BLOCKS[-1] if share >= 1 else BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 2)]


def svg(ledger: Ledger) -> str:
    """The picture of the spending as a file of its own."""
    return picture(ledger).svg()


def picture(ledger: Ledger) -> Chart:
    """Spending over time, one line for each account, under the line of the budget."""
    steps = _most(ledger)
    names = ["budget", *map(_name, steps)]
    chart = _curves(ledger, steps, WIDTH, 14 + CHARACTER * max(map(len, names)))
    levels = [points[-1][1] for points in steps.values()]
    heights = _apart([chart.y(level) for level in (ledger.budget.amount, *levels)], chart.bottom)
    colors = ["currentColor", *(_color(k) for k in range(len(steps)))]
    for name, height, color in zip(names, heights, colors, strict=True):
        chart.text((chart.right + 8, height + 4), name, color=color)
    return chart


def narrow_picture(ledger: Ledger) -> tuple[Chart, dict[str, str]]:
    """The same for a small page, with the colors of the accounts by name in place of labels."""
    steps = _most(ledger)
    colors = {_name(owner): _color(k) for k, owner in enumerate(steps)}
    return _curves(ledger, steps, NARROW, RIGHT), colors


def _most(ledger: Ledger) -> dict[Owner, Steps]:
    """The accounts that have spent the most."""
    return dict(sorted(_steps(ledger).items(), key=_level, reverse=True)[:MOST_LINES])


def _name(owner: Owner) -> str:
    return short(f"{owner.dataset} ({owner.unit})")


def _color(k: int) -> str:
    return COLORS[k % len(COLORS)]


def _curves(ledger: Ledger, steps: Mapping[Owner, Steps], width: int, right: float) -> Chart:
    limit = ledger.budget.amount
    chart = Chart(
        "Spending over time",
        _time_axis(steps),
        Axis.linear([0.0, limit], 4),
        width=width,
        right=right,
        heading=_measure(ledger.budget),
    )
    chart.line((chart.left, chart.y(limit)), (chart.right, chart.y(limit)), opacity=0.8)
    for k, points in enumerate(steps.values()):
        chart.curve(_staircase(chart, points), _color(k))
    return chart


def _time_axis(steps: Mapping[Owner, Steps]) -> Axis:
    """The axis of time; more labels fit if they are dates without times of day."""
    first, last = _span(steps)
    marks = ticks((first, last), 4 if last - first > dt.timedelta(days=4) else 2) if steps else []
    second = dt.timedelta(seconds=1)  # so that a single charge is on the left
    return Axis(marks, position(first), position(max(last, first + second)), "time (UTC)")


def _level(account: tuple[Owner, Steps]) -> float:
    """The amount that an account has spent so far."""
    return account[1][-1][1]


def _apart(heights: Sequence[float], bottom: float) -> list[float]:
    """Heights of labels, moved down where two would overlap, but not below the plot."""
    placed = list(heights)
    order = sorted(range(len(placed)), key=placed.__getitem__)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + LINE_HEIGHT)
    for k in reversed(order):
        placed[k] = min(placed[k], bottom)
        bottom = placed[k] - LINE_HEIGHT
    return placed


def _staircase(chart: Chart, points: Steps) -> list[tuple[float, float]]:
    corners, height = [], chart.y(0)
    for moment, spent in points:
        corners += [(chart.x(moment), height), (chart.x(moment), chart.y(spent))]
        height = chart.y(spent)
    return [*corners, (chart.right, height)]
