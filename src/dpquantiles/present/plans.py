"""A plan for people: tables of errors as text or HTML, and pictures of error against budget."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from dpquantiles.planner.choice import AUTO
from dpquantiles.planner.estimates import Estimate
from dpquantiles.planner.plans import Plan
from dpquantiles.present import chart, tables
from dpquantiles.present.chart import COLORS, Axis, Chart
from dpquantiles.present.words import quantile
from dpquantiles.privacy import ApproxDP, Guarantee

MOST_ROWS = 19
"""More quantiles than this are shown as an even selection."""

LEAST_DRAWN = 0.1
"""Smaller rank errors, and zero, are drawn as this one, because the axis is logarithmic."""

LEAST_SHARE = 0.0001
"""A smaller share of the records is written as less than this one."""

Curve = Sequence[tuple[Guarantee, Estimate]]


def title(plan: Plan) -> str:
    """A line that says what the plan is for."""
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


def text(plan: Plan, width: int = tables.WIDTH, mechanism: str = AUTO) -> str:
    """A plan as plain text, with the errors of one mechanism by quantile."""
    detailed = plan[mechanism]
    lines = [
        *textwrap.wrap(f"{title(plan)}.", width),
        *textwrap.wrap(f"Assumed: {plan.assumption}.", width),
        "",
        *tables.lines(_mechanisms(plan)),
        "",
        f"By quantile, {detailed.mechanism}:",
        "",
        *tables.lines(_by_quantile(plan, detailed)),
        "",
        *textwrap.wrap(f"auto chooses {plan.chosen.mechanism}: {plan.chosen.why}.", width),
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
        "expected": [ranks(e.mean) for e in plan.table],
        "95%": [ranks(e.worst) for e in plan.table],
        "of size": [_share(e.worst, plan.size) for e in plan.table],
    }


def _by_quantile(plan: Plan, detailed: Estimate) -> dict[str, list[str]]:
    """Expected and 95% errors of a mechanism, in ranks and where possible in values."""
    m = len(plan.q)
    shown = (
        range(m) if m <= MOST_ROWS else [k * (m - 1) // (MOST_ROWS - 1) for k in range(MOST_ROWS)]
    )
    columns = {
        "q": [quantile(plan.q[k]) for k in shown],
        "expected": [ranks(detailed.expected[k]) for k in shown],
        "95%": [ranks(detailed.bound[k]) for k in shown],
    }
    values = [_value(plan, detailed.bound[k]) for k in shown]
    return columns if None in values else {**columns, "in values": [str(v) for v in values]}


def _value(plan: Plan, ranks: float) -> str | None:
    try:
        distance: Any = plan.in_values(ranks)
    except ValueError:
        return None
    return f"{distance:.3g}" if isinstance(distance, float) else str(distance)


def ranks(error: float) -> str:
    """A rank error in short."""
    return f"{error:,.0f}" if error >= 100 else f"{error:.1f}"


def _share(error: float, size: int) -> str:
    """A rank error as a share of the records; one that is not zero never looks like it."""
    return "<0.01%" if 0 < error / size < LEAST_SHARE else f"{error / size:.2%}"


def bars(curve: Curve, size: int, width: int = tables.TRACK) -> list[str]:
    """Error against budget for a terminal; each line is as long as the logarithm of the error."""
    errors = [math.log(max(estimate.worst, LEAST_DRAWN)) for _, estimate in curve]
    span = max(max(errors) - min(errors), 1e-9)
    columns = {
        "budget": [budget(stated) for stated, _ in curve],
        "expected": [ranks(estimate.mean) for _, estimate in curve],
        "95%": [ranks(estimate.worst) for _, estimate in curve],
        "of size": [_share(estimate.worst, size) for _, estimate in curve],
    }
    shares = [(error - min(errors)) / span for error in errors]
    return tables.lines(columns, tables.dots(shares, width))


def svg(plan: Plan, curve: Curve) -> str:
    """Error against budget as a picture: expected errors, 95% bounds, and the assumption."""
    heading = f"Rank error of {curve[0][1].mechanism}: {_quantiles(plan)} of {plan.size:,} records"
    amounts = [stated.amount for stated, _ in curve]
    means = [max(estimate.mean, LEAST_DRAWN) for _, estimate in curve]
    bounds = [max(estimate.worst, LEAST_DRAWN) for _, estimate in curve]
    across = Axis.logarithmic(amounts, plan.budget.measure)
    assumed = textwrap.wrap(f"Assumed: {plan.assumption}.", chart.line_length())
    drawn = Chart(heading, across, error_axis([*means, *bounds]), heading=heading, caption=assumed)
    for errors, label, dash, (right, down), anchor in (
        (means, "expected", "none", (-4, 14), "end"),
        (bounds, "95%", "5 3", (4, -4), "start"),
    ):
        points = [(drawn.x(a), drawn.y(e)) for a, e in zip(amounts, errors, strict=True)]
        drawn.curve(points, COLORS[0], **{"stroke-dasharray": dash})
        x, y = points[1]
        drawn.text((x + right, min(y + down, drawn.bottom - 4)), label, anchor=anchor)
    return drawn.svg()


def error_axis(errors: Sequence[float]) -> Axis:
    """The axis of errors; its lowest label says that smaller errors are drawn there too."""
    axis = Axis.logarithmic(errors)
    least = math.log10(LEAST_DRAWN)
    ticks = [
        tick._replace(label=f"≤ {tick.label}") if tick.position <= least else tick
        for tick in axis.ticks
        if tick.position > least - 1e-9
    ]
    return axis._replace(ticks=ticks)


def html(plan: Plan) -> str:
    """A plan for a notebook: both tables, the assumption, and the choice of auto."""
    shown = (_mechanisms(plan), _by_quantile(plan, plan[AUTO]))
    words = f"Assumed: {plan.assumption}. auto chooses {plan.chosen.mechanism}: {plan.chosen.why}."
    parts = [tables.cells(columns, height=320) for columns in shown]
    return tables.html(parts, [words], good=True, above=f"{title(plan)}.")
