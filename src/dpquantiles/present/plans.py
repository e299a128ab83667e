"""A plan for people: tables of errors as text or HTML, and pictures of error against budget."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.planner.choice import AUTO
from dpquantiles.planner.estimates import Estimate
from dpquantiles.planner.plans import Plan
from dpquantiles.present import svg
from dpquantiles.present.html import PRIVATE, cells
from dpquantiles.present.text import TRACK, WIDTH, table
from dpquantiles.present.words import quantile
from dpquantiles.privacy import ApproxDP, Guarantee

MOST_ROWS = 19
"""More quantiles than this are shown as an even selection."""

LEAST_DRAWN = 0.1
"""Ranks: what is less, and nothing at all, is drawn as this, because the axis is logarithmic."""

LINE_HEIGHT = 14

Curve = Sequence[tuple[Guarantee, Estimate]]


def title(plan: Plan) -> str:
    """What was planned."""
    return (
        f"Rank errors to expect for {_quantiles(plan)} of {plan.size:,} records "
        f"at {budget(plan.budget)}, {plan.budget.neighbors} neighbors"
    )


def _quantiles(plan: Plan) -> str:
    return "one quantile" if len(plan.q) == 1 else f"{len(plan.q)} quantiles"


def budget(stated: Guarantee) -> str:
    """A budget in short."""
    delta = f", delta = {stated.delta:g}" if isinstance(stated, ApproxDP) else ""
    return f"{stated.measure} = {stated.amount:.3g}{delta}"


def render(plan: Plan, width: int = WIDTH, mechanism: str = AUTO) -> str:
    """A plan as plain text, with the errors of one mechanism by quantile."""
    closer = plan[mechanism]
    lines = [
        *textwrap.wrap(f"{title(plan)}.", width),
        *textwrap.wrap(f"Assumed: {plan.assumption}.", width),
        "",
        *table(_mechanisms(plan)),
        "",
        f"By quantile, {closer.mechanism}:",
        "",
        *table(_by_quantile(plan, closer)),
        "",
        *textwrap.wrap(f"auto takes {plan.chosen.mechanism}: {plan.chosen.why}.", width),
        *(
            line
            for name, why in plan.left_out.items()
            for line in textwrap.wrap(f"Left out: {name}, {_first(why)}.", width)
        ),
    ]
    return "\n".join(lines)


def _first(why: str) -> str:
    return why.split(";")[0]


def _mechanisms(plan: Plan) -> dict[str, list[str]]:
    """Means over the quantiles, and the largest bound, of every mechanism."""
    auto = plan.chosen.mechanism
    return {
        "mechanism": [e.mechanism + " (auto)" * (e.mechanism == auto) for e in plan.table],
        "expected": [_ranks(e.mean) for e in plan.table],
        "95 %": [_ranks(e.worst) for e in plan.table],
        "of size": [f"{e.worst / plan.size:.2%}" for e in plan.table],
    }


def _by_quantile(plan: Plan, closer: Estimate) -> dict[str, list[str]]:
    """Expected and 95 % errors of a mechanism, in ranks and where possible in values."""
    m = len(plan.q)
    shown = (
        range(m) if m <= MOST_ROWS else [k * (m - 1) // (MOST_ROWS - 1) for k in range(MOST_ROWS)]
    )
    columns = {
        "q": [quantile(plan.q[k]) for k in shown],
        "expected": [_ranks(closer.expected[k]) for k in shown],
        "95 %": [_ranks(closer.bound[k]) for k in shown],
    }
    values = [_value(plan, closer.bound[k]) for k in shown]
    return columns if None in values else {**columns, "in values": [str(v) for v in values]}


def _value(plan: Plan, ranks: float) -> str | None:
    try:
        distance: Any = plan.in_values(ranks)
    except ValueError:
        return None
    return f"{distance:.3g}" if isinstance(distance, float) else str(distance)


def _ranks(error: float) -> str:
    return f"{error:,.0f}" if error >= 100 else f"{error:.1f}"


def bars(curve: Curve, size: int, width: int = TRACK) -> list[str]:
    """Error against budget for a terminal: lines as long as the logarithm of the error."""
    errors = [max(estimate.worst, LEAST_DRAWN) for _, estimate in curve]
    low, high = math.log(min(errors)), math.log(max(errors))
    span = max(high - low, 1e-9)
    lengths = [1 + round((math.log(e) - low) / span * (width - 1)) for e in errors]
    columns = {
        "budget": [budget(stated) for stated, _ in curve],
        "expected": [_ranks(estimate.mean) for _, estimate in curve],
        "95 %": [_ranks(estimate.worst) for _, estimate in curve],
        "of size": [f"{estimate.worst / size:.2%}" for _, estimate in curve],
    }
    return table(columns, [f" {'─' * length}●" for length in lengths])


class _Scale:
    """Positive numbers on a logarithmic axis between two places of a picture."""

    def __init__(self, numbers: Sequence[float], start: float, stop: float) -> None:
        self.low, self.high = math.log10(min(numbers)), math.log10(max(numbers))
        if self.high - self.low < 0.1:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.stop = start, stop

    def __call__(self, number: float) -> float:
        share = (math.log10(number) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self) -> list[float]:
        """Powers of ten, and twice and five times as much where there is room."""
        steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        found = [step * 10.0**power for power in powers for step in steps]
        return [x for x in found if self.low - 1e-9 <= math.log10(x) <= self.high + 1e-9]


def picture(plan: Plan, curve: Curve) -> str:
    """Error against budget as SVG: the expected error, the 95 % bound, and what they rest on."""
    name = curve[0][1].mechanism
    heading = f"Rank error of {name}: {_quantiles(plan)} of {plan.size:,} records"
    amounts = [stated.amount for stated, _ in curve]
    means = [max(estimate.mean, LEAST_DRAWN) for _, estimate in curve]
    bounds = [max(estimate.worst, LEAST_DRAWN) for _, estimate in curve]
    assumed = textwrap.wrap(f"Assumed: {plan.assumption}.", int(svg.WIDTH / svg.CHARACTER))
    root = svg.canvas(heading, svg.WIDTH, svg.HEIGHT + 26 + LINE_HEIGHT * len(assumed))
    across = _Scale(amounts, 60, svg.WIDTH - svg.RIGHT)
    up = _Scale([*means, *bounds], svg.HEIGHT - svg.BOTTOM + 10, 34)
    _axes(root, across, up, plan.budget.measure)
    svg.text(root, (10, 16), heading, anchor="start")
    for k, line in enumerate(assumed):
        svg.text(root, (10, svg.HEIGHT + 34 + LINE_HEIGHT * k), line, anchor="start")
    for errors, dash, label, below in (
        (means, "none", "expected", 14),
        (bounds, "5 3", "95 %", -2),
    ):
        points = [(across(a), up(e)) for a, e in zip(amounts, errors, strict=True)]
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        stroke = {"fill": "none", "stroke": svg.CURVE, "stroke-width": "1.8"}
        SubElement(root, "polyline", {"points": path, "stroke-dasharray": dash, **stroke})
        svg.text(
            root,
            (points[1][0] + (4 if below < 0 else -4), min(points[1][1] + below, up.start - 4)),
            label,
            anchor="start" if below < 0 else "end",
        )
    return tostring(root, encoding="unicode")


def _axes(root: Element, across: _Scale, up: _Scale, name: str) -> None:
    for error in up.ticks():
        svg.line(root, (across.start, up(error)), (across.stop, up(error)), opacity=0.16)
        label = f"≤ {error:g}" if error <= LEAST_DRAWN else f"{error:g}"
        svg.text(root, (across.start - 8, up(error) + 4), label, anchor="end")
    for amount in across.ticks():
        svg.line(root, (across(amount), up.start), (across(amount), up.start + 4), opacity=0.5)
        svg.text(root, (across(amount), up.start + 17), f"{amount:g}", anchor="middle")
    svg.line(root, (across.start, up.start), (across.stop, up.start), opacity=0.5)
    middle = (across.start + across.stop) / 2
    svg.text(root, (middle, svg.HEIGHT + 14), name, anchor="middle")


def html(plan: Plan) -> str:
    """A plan for a notebook: both tables, and what they rest on."""
    root = Element("div", style="max-width:860px;line-height:1.4")
    SubElement(root, "p").text = f"{title(plan)}."
    tables = SubElement(root, "div", style="display:flex;flex-wrap:wrap;gap:8px 28px")
    for columns in (_mechanisms(plan), _by_quantile(plan, plan[AUTO])):
        tables.append(cells(columns, height=320))
    words = f"Assumed: {plan.assumption}. auto takes {plan.chosen.mechanism}: {plan.chosen.why}."
    SubElement(root, "p", style=PRIVATE).text = words
    return tostring(root, encoding="unicode", short_empty_elements=False)
