"""What a ledger's data sets have spent over time: a table with small pictures, or an SVG."""

import datetime as dt
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.ledger import Ledger
from dpquantiles.ledger.books import Owner, Standing
from dpquantiles.present import svg as drawing
from dpquantiles.present import text as tables
from dpquantiles.present.axis import EPOCH, Tick, position, ticks
from dpquantiles.privacy import ApproxDP, Guarantee

BLOCKS = "▁▂▃▄▅▆▇█"
"""Levels of a picture in a line: the last is the whole budget."""

MOST_TIMES = 24
COLORS = ("#3d85e0", "#e0872b", "#2f9e6b", "#b65fcf", "#d1495b", "#8a8d91")
WIDTH, HEIGHT, TOP, LEFT, BOTTOM = 560, 250, 28, 54, 40
LINE_HEIGHT = 14
MOST_LINES = 12
"""Accounts in the picture: those that have spent the most."""

LONGEST_NAME = 36
"""Characters; what is longer ends in dots in the picture."""

Steps = Mapping[Owner, Sequence[tuple[dt.datetime, float]]]
"""When each account had spent how much, in order."""


def _steps(ledger: Ledger) -> Steps:
    """A clock that was set back is taken to stand still: what was spent stays spent."""
    found: dict[Owner, list[tuple[dt.datetime, float]]] = {}
    moment = dt.datetime.min
    for point in ledger.history():
        moment = max(moment, dt.datetime.fromisoformat(point.time).replace(tzinfo=None))
        found.setdefault(point.owner, []).append((moment, point.spent))
    return found


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
        "data set": [owner.dataset for owner in steps],
        "unit": [owner.unit for owner in steps],
        "charges": [str(accounts[owner].charges) for owner in steps],
        "spent": [f"{points[-1][1]:.6g}" for points in steps.values()],
        "remaining": [f"{accounts[owner].remaining:.6g}" for owner in steps],
    }
    first, last = _span(steps)
    pictures = [f" {_blocks(p, (first, last), ledger.budget.amount)}" for p in steps.values()]
    legend = (
        f"Pictures: from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC; a full block is the "
        "whole budget."
    )
    return "\n".join(
        [
            *lines,
            "",
            *tables.table(columns, pictures),
            "",
            *textwrap.wrap(legend, width),
            *_cautions(accounts, width),
        ]
    )


def _cautions(accounts: Mapping[Owner, Standing], width: int) -> list[str]:
    """What accounts promise whose charges protect less, or less exactly, than the budget says."""
    lines: list[str] = []
    for owner, (_, _, stated) in accounts.items():
        if stated is not None and (stated.within or stated.research_only):
            lines += textwrap.wrap(f"{owner.dataset} ({owner.unit}) keeps {stated}.", width)
    return lines


def _span(steps: Steps) -> tuple[dt.datetime, dt.datetime]:
    moments = [moment for points in steps.values() for moment, _ in points] or [EPOCH]
    return min(moments), max(moments)


def _blocks(
    points: Sequence[tuple[dt.datetime, float]],
    span: tuple[dt.datetime, dt.datetime],
    limit: float,
) -> str:
    """One character for each stretch of time: what had been spent by its end."""
    first, last = span
    cells = MOST_TIMES if last > first else 1
    ends = [first + (last - first) * ((k + 1) / cells) for k in range(cells)]
    spent = [max((s for m, s in points if m <= end), default=0.0) for end in ends]
    return "".join(_block(share / limit) for share in spent)


def _block(share: float) -> str:
    if share <= 0:
        return " "
    return BLOCKS[-1] if share >= 1 else BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 2)]


class _Frame:
    """Where times and amounts stand in the picture."""

    def __init__(self, span: tuple[dt.datetime, dt.datetime], top: float, right: float) -> None:
        self.first, self.last = map(position, span)
        self.top, self.right = top, right

    def x(self, moment: float) -> float:
        length = self.last - self.first
        share = (moment - self.first) / length if length else 0.0
        return round(LEFT + share * (self.right - LEFT), 1)

    def y(self, amount: float) -> float:
        floor = HEIGHT - BOTTOM
        return round(floor - amount / self.top * (floor - TOP), 1)


def svg(ledger: Ledger) -> str:
    """Spending over time, one line for each account, under the line of the budget."""
    root = drawing.canvas("Spending over time", WIDTH, HEIGHT)
    limit = ledger.budget.amount
    steps = dict(sorted(_steps(ledger).items(), key=_level, reverse=True)[:MOST_LINES])
    names = [_short(f"{owner.dataset} ({owner.unit})") for owner in steps]
    longest = max(map(len, ["budget", *names]))
    frame = _Frame(_span(steps), limit, WIDTH - 14 - drawing.CHARACTER * longest)
    _axes(
        root,
        frame,
        ticks([0.0, limit], 4),
        _time_ticks(_span(steps)) if steps else [],
        _measure(ledger.budget),
    )
    levels = [frame.y(points[-1][1]) for points in steps.values()]
    heights = _apart([frame.y(limit), *levels])
    _label(root, (frame.right, heights[0]), "budget", "currentColor")
    lines = zip(names, steps.values(), heights[1:], strict=True)
    for k, (name, points, height) in enumerate(lines):
        color = COLORS[k % len(COLORS)]
        _staircase(root, frame, points, color)
        _label(root, (frame.right, height), name, color)
    return tostring(root, encoding="unicode")


def _short(name: str) -> str:
    """A name that leaves room for the lines."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _level(account: tuple[Owner, Sequence[tuple[dt.datetime, float]]]) -> float:
    """What an account has spent by now."""
    return account[1][-1][1]


def _time_ticks(span: tuple[dt.datetime, dt.datetime]) -> list[Tick]:
    """Dates are short, so that more of them fit than of times of day."""
    return ticks(span, 4 if span[1] - span[0] > dt.timedelta(days=4) else 2)


def _apart(heights: Sequence[float]) -> list[float]:
    """Heights of labels, moved down where two would stand upon each other, not below the base."""
    placed = list(heights)
    order = sorted(range(len(placed)), key=placed.__getitem__)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + LINE_HEIGHT)
    lowest = float(HEIGHT - BOTTOM)
    for k in reversed(order):
        placed[k] = min(placed[k], lowest)
        lowest = placed[k] - LINE_HEIGHT
    return placed


def _axes(
    root: Element, frame: _Frame, amounts: Sequence[Tick], times: Sequence[Tick], measure: str
) -> None:
    for mark in amounts:
        height = frame.y(mark.position)
        drawing.line(root, (LEFT, height), (frame.right, height), opacity=0.16)
        drawing.text(root, (LEFT - 8, height + 4), mark.label, anchor="end")
    drawing.line(root, (LEFT, frame.y(frame.top)), (frame.right, frame.y(frame.top)), opacity=0.8)
    base = HEIGHT - BOTTOM
    drawing.line(root, (LEFT, base), (frame.right, base), opacity=0.5)
    for mark in times:
        x = frame.x(mark.position)
        drawing.line(root, (x, base), (x, base + 4), opacity=0.5)
        drawing.text(root, (x, base + 17), mark.label, anchor=_anchor(x, mark.label))
    drawing.text(root, ((LEFT + frame.right) / 2, HEIGHT - 6), "time (UTC)", anchor="middle")
    drawing.text(root, (8, 12), measure, anchor="start")


def _anchor(x: float, label: str) -> str:
    """How a label stands at its tick, so that it stays in the picture."""
    half = drawing.CHARACTER * len(label) / 2
    if x < half:
        return "start"
    return "end" if x > WIDTH - half else "middle"


def _staircase(
    root: Element, frame: _Frame, points: Sequence[tuple[dt.datetime, float]], color: str
) -> None:
    corners, height = [], frame.y(0)
    for moment, spent in points:
        x = frame.x(position(moment))
        corners += [(x, height), (x, frame.y(spent))]
        height = frame.y(spent)
    corners.append((frame.right, height))
    path = " ".join(f"{x:g},{y:g}" for x, y in corners)
    style = {"fill": "none", "stroke": color, "stroke-width": "1.8", "stroke-linejoin": "round"}
    SubElement(root, "polyline", {"points": path, **style})


def _label(root: Element, place: tuple[float, float], words: str, color: str) -> None:
    at = {"x": f"{place[0] + 8:g}", "y": f"{place[1] + 4:g}", "fill": color}
    SubElement(root, "text", at).text = words
