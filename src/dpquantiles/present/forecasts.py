"""A forecast for people: bands around a sketch of the data, and error against epsilon."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from dpquantiles.forecast import Forecast
from dpquantiles.grid import UniformGrid, finest
from dpquantiles.planner.estimates import Estimate
from dpquantiles.present.chart import COLORS, Axis, Chart
from dpquantiles.present.pictures import SHARES
from dpquantiles.present.plans import LEAST_DRAWN, error_axis, ranks
from dpquantiles.present.ticks import Tick, position
from dpquantiles.present.words import labels, quantile

HEIGHT, WIDTH = 210, 400
"""The size of both pictures; they stand beside each other, or below on a phone."""

STEEPNESS = 0.16
"""How steep the sketch is where nothing is known about the values."""

FIRST, LAST = 0.002, 0.998
"""The shares of records between which the sketch is drawn."""


THIN = 0.004
"""A band of less than this share of the records is thinner than a line."""


class Errors(NamedTuple):
    """Rank errors by quantile: on average, and in 95 of 100 releases where that is known."""

    expected: Sequence[float]
    bound: Sequence[float] | None

    @classmethod
    def of(cls, forecast: Forecast, estimate: Estimate | None) -> "Errors | None":
        """Those of an estimate or, as long as there is none, the one of the table."""
        if estimate is not None:
            return cls(estimate.expected, estimate.bound)
        table = forecast.table_errors
        return None if table is None else cls([table["smooth"]] * len(forecast.job.q), None)


def has_values(forecast: Forecast) -> bool:
    """Whether errors can be told in values, because bounds say where values may lie."""
    stated = forecast.job.bounds.get(forecast.job.columns[0]) is not None
    return stated and isinstance(finest(forecast.grid), UniformGrid)


def is_thin(forecast: Forecast, errors: Errors | None) -> bool:
    """Whether the bands are too thin to be seen."""
    if errors is None:
        return False
    return max(errors.bound or errors.expected) < THIN * forecast.draw.size


def sketch(forecast: Forecast, errors: Errors | None) -> Element:
    """The share of records up to each value, with a band for the answers to every quantile."""
    across, value = _sketched(forecast)
    chart = Chart(
        "A sketch of the data, with bands in which the answers will lie",
        across,
        SHARES,
        width=WIDTH,
        height=HEIGHT,
        inset=8,
        heading="Share of records up to each value",
    )
    size = forecast.draw.size
    shares = np.linspace(FIRST, LAST, 160)

    def place(share: float, height: float) -> tuple[float, float]:
        return chart.at((value(min(max(share, FIRST), LAST)), height))

    if errors is not None:
        for band, opacity in ((errors.bound, 0.18), (errors.expected, 0.38)):
            if band is None:
                continue
            off = np.interp(shares, *_ascending(forecast.job.q, band)) / size
            low = [place(s - e, s) for s, e in zip(shares, off, strict=True)]
            high = [place(s + e, s) for s, e in zip(shares, off, strict=True)]
            chart.area([*low, *reversed(high)], COLORS[0], opacity)
    chart.curve([place(s, s) for s in shares], "currentColor", **{"stroke-opacity": "0.45"})
    radius = 3.2 if len(forecast.job.q) <= 25 else 1.6
    for q in forecast.job.q:
        if FIRST <= q <= LAST:
            chart.dot(place(q, q), radius, COLORS[0])
    return chart.root


def _ascending(q: Sequence[float], errors: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = sorted(zip(q, errors, strict=True))
    return [one for one, _ in pairs], [error for _, error in pairs]


def _sketched(forecast: Forecast) -> tuple[Axis, Callable[[float], float]]:
    """The axis of values, and the value up to which a share of the records lies."""
    if not has_values(forecast):
        axis = Axis([Tick(0.0, "low"), Tick(1.0, "high")], 0, 1, "value", float)
        return axis, lambda share: 0.5 + STEEPNESS * math.log(share / (1 - share)) / 2
    grid, (piece,) = forecast.grid, forecast.view.pieces
    ends = grid.decode(np.array([0, grid.size - 1]))
    low, high = grid.decode(np.array([piece.first, piece.first + piece.steps - 1]))
    start, end = position(low), position(high)
    return Axis.fitting([*ends], SHARES, "value"), lambda share: start + share * (end - start)


class Point(NamedTuple):
    """An epsilon, and two rank errors there, a usual one and a larger one."""

    epsilon: float
    usual: float
    large: float

    @classmethod
    def of(cls, epsilon: float, estimate: Estimate) -> "Point":
        """The expected error of an estimate and its 95% bound."""
        return cls(epsilon, estimate.mean, estimate.worst)


def table_curve(forecasts: Sequence[Forecast]) -> list[Point]:
    """Mean errors of smooth and of the least suitable data; empty where the table has none."""
    known = [(one.job.budget.amount, one.table_errors) for one in forecasts]
    return [
        Point(epsilon, errors["smooth"], max(errors.values()))
        for epsilon, errors in known
        if errors is not None
    ]


def against_epsilon(
    forecast: Forecast, points: Sequence[Point], epsilon: float, errors: Errors | None
) -> Element | None:
    """Error against epsilon as a picture, with the chosen point."""
    if not points:
        return None
    size, least = forecast.draw.size, LEAST_DRAWN
    chosen = [] if errors is None else [max(_mean(errors.expected), least)]
    top = [] if errors is None or errors.bound is None else [max(*errors.bound, least)]
    drawn = [max(error, least) for point in points for error in point[1:]]
    chart = Chart(
        "Rank error against epsilon, with the chosen epsilon",
        Axis.logarithmic([epsilon, *(point.epsilon for point in points)], "epsilon"),
        error_axis([*drawn, *chosen, *top]),
        width=WIDTH,
        height=HEIGHT,
        heading=f"Error in ranks of {size:,}, against epsilon",
        inset=8,
    )
    lower = [(chart.x(p.epsilon), chart.y(max(p.usual, least))) for p in points]
    upper = [(chart.x(p.epsilon), chart.y(max(p.large, least))) for p in points]
    chart.area([*lower, *reversed(upper)], COLORS[5], 0.15)
    chart.curve(lower, COLORS[5])
    chart.curve(upper, COLORS[5], **{"stroke-dasharray": "5 3"})
    x = chart.x(epsilon)
    chart.line((x, chart.top), (x, chart.bottom), opacity=0.35, **{"stroke-dasharray": "2 3"})
    if chosen:
        if top:
            style = {"stroke": COLORS[0], "stroke-width": "7"}
            chart.line((x, chart.y(chosen[0])), (x, chart.y(top[0])), opacity=0.45, **style)
        chart.dot((x, chart.y(chosen[0])), 5, COLORS[0])
    return chart.root


def _mean(errors: Sequence[float]) -> float:
    return math.fsum(errors) / len(errors)


def by_quantile(forecast: Forecast, errors: Errors) -> dict[str, list[str]]:
    """The table of errors by quantile: in ranks, as a share of the records, and in values."""
    q, size = forecast.job.q, forecast.draw.size
    shown: dict[str, list[str]] = {
        "Quantile": [quantile(one) for one in q],
        "On average": [f"± {ranks(error)}" for error in errors.expected],
    }
    if errors.bound is None:
        return shown
    shown["95 of 100"] = [f"± {ranks(error)}" for error in errors.bound]
    shown["Of all records"] = [_percent(error / size) for error in errors.bound]
    if has_values(forecast):
        shown["In values"] = [f"± {_in_values(forecast, error)}" for error in errors.bound]
    return shown


def _about(error: float, how: str) -> str:
    return "less than 1" if error < 1 else f"{how} {ranks(error)}"


def assumed(forecast: Forecast) -> str:
    """What the errors rest on, in sentences."""
    notes = [f"{note[0].upper()}{note[1:]}." for note in forecast.draw.notes]
    return " ".join(
        [*notes, "Errors assume that records are evenly spread; real data differs a little."]
    )


def _percent(share: float) -> str:
    return "< 0.01%" if share < 1e-4 else f"± {100 * share:.2g}%"


def _in_values(forecast: Forecast, error: float) -> str:
    """A rank error as a distance between values, for even records."""
    grid, (piece,) = forecast.grid, forecast.view.pieces
    steps = min(piece.steps - 1, math.ceil(error * piece.steps / forecast.draw.size))
    low, high = grid.decode(np.array([piece.first, piece.first + steps]))
    distance: Any = high - low
    return labels([float(f"{distance:.3g}")])[0] if isinstance(distance, float) else str(distance)


def in_short(forecast: Forecast, errors: Errors | None) -> str:
    """The errors to expect, in one or two sentences."""
    if errors is None:
        return "How far off the answers will be is not known until the estimate is done."
    size = forecast.draw.size
    typical = _about(max(errors.expected), "about")
    first = f"On average, an answer misses its place by {typical} of {size:,} records"
    if errors.bound is None:
        worst = _about(max((forecast.table_errors or {}).values(), default=0.0), "about")
        return f"{first} if they are spread smoothly, and by {worst} in the least suitable case."
    most = max(errors.bound)
    part = _percent(most / size).replace("<", "less than").removeprefix("± ")
    return (
        f"{first}. In 95 of 100 releases it misses by {_about(most, 'at most')}, which is {part}."
    )
