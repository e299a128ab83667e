"""What the estimates of a plan say so far: of this request, and of others beside it."""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from dpquantiles.forecast import Forecast, Request
from dpquantiles.planner.estimates import Estimate
from dpquantiles.present.forecasts import Point
from dpquantiles.studio.estimates import Answer, Running
from dpquantiles.studio.html import tag
from dpquantiles.studio.studio import Studio

PATIENCE = 0.1
"""How many seconds a picture waits for its estimate; later the page asks again."""


def name_of(forecast: Forecast, request: Request) -> str:
    """A name that equal requests share."""
    told = (request.mechanism, request.budget, request.q, request.intervals, request.sized)
    numbers = (forecast.draw.size, str(forecast.grid.describe()), request.draws)
    return hashlib.sha256(repr((told, numbers)).encode()).hexdigest()[:32]


def estimated(studio: Studio, forecast: Forecast, patience: float = PATIENCE) -> Answer:
    """The errors of this very request, as far as they are known."""
    request = forecast.request
    return studio.estimates.ask(name_of(forecast, request), lambda: request, patience)


def given(request: Request) -> Callable[[], Request]:
    """A function that returns the request."""
    return lambda: request


class Curve(NamedTuple):
    """Error against epsilon: by the table or, once all points are estimated, of this request."""

    points: Sequence[Point]
    exact: bool = False
    missing: Sequence[str] = ()
    """The names of the estimates that are still made."""


def exact_curve(studio: Studio, chosen: Point, others: Sequence[Forecast], table: Curve) -> Curve:
    """The curve of this request, if all of its points are known; otherwise that of the table."""
    points, missing = [chosen], []
    for at in others:
        request = at.request
        name = name_of(at, request)
        found = studio.estimates.ask(name, given(request))
        if isinstance(found, Estimate):
            points.append(Point.of(at.job.budget.amount, found))
        elif isinstance(found, Running):
            missing.append(name)
    if len(points) > len(others):
        return Curve(sorted(points), True)
    return table._replace(missing=missing)


def progress(done: int, total: int, what: str, names: str) -> Element:
    """How many estimates are done, and a button that ends the others."""
    return tag(
        "div",
        tag("progress", max=str(total), value=str(done), aria_label=what.capitalize()),
        tag("span", f"{done} of {total} {what}."),
        tag("button", "Stop", type="button", class_="quiet", data_cancel=names),
        class_="progress",
        data_again=True,
    )
