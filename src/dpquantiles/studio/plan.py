"""The page that shows what an epsilon buys, before anything is spent."""

import time
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from dpquantiles import cautions
from dpquantiles.errors import PublicError
from dpquantiles.forecast import Forecast
from dpquantiles.ledger import Ledger
from dpquantiles.planner import AUTO
from dpquantiles.planner.estimates import Estimate, is_quick
from dpquantiles.present import forecasts, plans, words
from dpquantiles.present.forecasts import Errors, Point
from dpquantiles.present.report import bar, in_numbers
from dpquantiles.present.spending import fits, left
from dpquantiles.privacy import Neighbors
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.estimates import Answer, Failure, Running
from dpquantiles.studio.expected import (
    PATIENCE,
    Curve,
    estimated,
    exact_curve,
    given,
    name_of,
    progress,
)
from dpquantiles.studio.form import CURVE, plan_form
from dpquantiles.studio.html import Content, alert, card, page, table, tag, unstyled
from dpquantiles.studio.releases import explained
from dpquantiles.studio.studio import Studio

MOST_ROWS = 25
"""More quantiles than this are folded away."""


class Wanted(NamedTuple):
    """What is wanted beside the plan: all mechanisms, and an estimate that goes on."""

    compare: bool = False
    stopped: bool = False


def plan_page(studio: Studio, asked: Asked, wanted: Wanted) -> str:
    """The form, and beside it the picture."""
    try:
        item, ledger = studio.item(asked), studio.ledger()
        form = plan_form(asked, item, ledger)
    except Exception as error:  # a file may change or vanish at any time
        content: list[Content] = [tag("h1", "Plan"), alert(explained(error)), _choose_again()]
        return page("Plan", "plan", content, links=studio.links(Asked()))
    picture = tag("div", answer(studio, asked, wanted), id="answer")
    content = [
        tag("h1", "What does an epsilon buy?"),
        tag("p", "Nothing is read and nothing is spent on this page.", class_="lead"),
        tag("div", form, picture, class_="beside"),
        tag("p", id="said", class_="hidden", role="status"),
    ]
    return page("Plan", "plan", content, links=studio.links(asked))


def _choose_again() -> Element:
    return tag("p", tag("a", "Choose data", href="/", class_="button"))


def answer(studio: Studio, asked: Asked, wanted: Wanted) -> Element:
    """The part of the page that answers the form."""
    try:
        ledger = studio.ledger()
        forecast = asked.forecast(studio.item(asked), ledger)
        return tag("div", _answered(studio, asked, forecast, ledger, wanted))
    except (PublicError, OSError) as error:
        return tag("div", alert(explained(error)))


def _answered(
    studio: Studio, asked: Asked, forecast: Forecast, ledger: Ledger | None, wanted: Wanted
) -> Iterable[Content]:
    begun = time.monotonic()
    if not wanted.stopped:
        estimated(studio, forecast, 0)  # it runs while the rest is made
    others = [forecast.at(epsilon) for epsilon in CURVE]
    drawn = Curve(forecasts.table_curve(others))
    patience = max(0.0, PATIENCE - (time.monotonic() - begun))
    found: Answer = Running(0) if wanted.stopped else estimated(studio, forecast, patience)
    known = found if isinstance(found, Estimate) else None
    errors = Errors.of(forecast, known)
    if known is not None and not wanted.stopped:
        drawn = exact_curve(studio, Point.of(forecast.job.budget.amount, known), others, drawn)
    yield card(
        "How far off",
        tag("p", forecasts.in_short(forecast, errors), class_="headline"),
        _state(found, wanted, name_of(forecast, forecast.request)),
        _drawing(drawn),
        _warned(forecast, known),
        tag("div", _pictures(asked, forecast, errors, drawn), class_="pictures"),
        tag("p", forecasts.assumed(forecast), class_="small"),
    )
    yield _table(forecast, errors)
    yield tag("div", _cost(asked, forecast, ledger), _meaning(forecast), class_="pair")
    yield _auto(studio, forecast, wanted)
    yield _onward(asked, forecast)


def _drawing(drawn: Curve) -> Element | None:
    """How many points of a curve are estimated, as long as some are not."""
    if not drawn.missing:
        return None
    total = len(CURVE)
    done = total - len(drawn.missing)
    return progress(done, total, "epsilons are estimated", " ".join(drawn.missing))


def _state(found: Answer, wanted: Wanted, name: str) -> Element | None:
    """What becomes of an estimate that is not there yet."""
    if isinstance(found, Failure):
        return alert(f"There is no estimate: {found.why}.")
    if wanted.stopped:
        return tag("p", "Stopped. This is the first estimate, from a table.", class_="small")
    if not isinstance(found, Running):
        return None
    return tag(
        "div",
        tag("progress", aria_label="The estimate is being made"),
        tag(
            "span",
            f"First estimate, from a table; the exact one is being made ({found.seconds:.0f} s).",
        ),
        tag("button", "Stop", type="button", class_="quiet", data_cancel=name),
        class_="progress",
        data_again=True,
    )


def _warned(forecast: Forecast, known: Estimate | None) -> Element | None:
    """What public numbers say against the job, as a release would say it."""
    job, draw = forecast.job, forecast.draw
    if job.by or (forecast.rows is None and forecast.guess is None and job.typical_size is None):
        return None
    stated = known if is_quick(forecast.mechanism, job.q) else None
    told = cautions.for_errors(job, forecast.mechanism, draw.size, forecast.grid, stated)
    return alert(" ".join(told["warnings"])) if "warnings" in told else None


def _pictures(
    asked: Asked, forecast: Forecast, errors: Errors | None, drawn: Curve
) -> Iterable[Content]:
    both = errors is not None and errors.bound is not None
    bands = "Dark band: on average. Light: 95 of 100 releases." if both else "Band: on average."
    thin = " Here they are thinner than the line." if forecasts.is_thin(forecast, errors) else ""
    even = forecasts.has_values(forecast)
    scale = "An even sketch, to scale." if even else "A sketch, not your data."
    yield _figure(forecasts.sketch(forecast, errors), f"{bands}{thin} {scale}")
    epsilon = forecast.job.budget.amount
    picture = forecasts.against_epsilon(forecast, drawn.points, epsilon, errors)
    if picture is not None:
        up = "; the bar reaches to 95 of 100" if both else ""
        lines = "Line: smooth data. Dashed: the least suitable, by a table."
        if drawn.exact:
            lines = "Line: on average. Dashed: 95 of 100 releases."
        yield _figure(picture, f"Dot: epsilon = {asked.epsilon}{up}. {lines}")


def _figure(picture: Element, caption: str) -> Element:
    return tag("figure", unstyled(picture), tag("figcaption", caption))


def _table(forecast: Forecast, errors: Errors | None) -> Element | None:
    if errors is None:
        return None
    shown = forecasts.by_quantile(forecast, errors)
    listed = table(
        {name: list(some) for name, some in shown.items()}, "Errors by quantile, in ranks"
    )
    few = len(forecast.job.q) <= MOST_ROWS
    return tag(
        "details",
        tag("summary", tag("h2", "Errors by quantile")),
        listed,
        open=few,
        class_="card",
        data_keep="table",
    )


def _cost(asked: Asked, forecast: Forecast, ledger: Ledger | None) -> Element:
    job = forecast.job
    spent = f"{job.budget.measure} = {job.budget.amount:g}"
    first = tag("p", "It costs ", tag("strong", spent), " once it is released.")
    if job.account is None or ledger is None:
        why = (
            "There is no data, so nothing can be charged."
            if not asked.data
            else "No ledger is open, so nothing adds up what is spent."
        )
        return card("What it costs", first, tag("p", why, class_="small"))
    rest = left(job)
    refused = None if fits(job) else alert("That does not fit: the release would be refused.")
    return card(
        "What it costs",
        first,
        refused,
        bar(min(max(1 - rest.share, 0.0), 1.0)),
        tag("p", f"For the data set “{rest.dataset}”, {rest.words}.", class_="small"),
    )


def _meaning(forecast: Forecast) -> Element:
    promise = forecast.job.promise()
    told = in_numbers(promise, "from the release")
    return card(
        "What it means",
        tag("p", words.guarantee(promise), class_="promise"),
        tag("p", told, class_="small") if told else None,
    )


def _auto(studio: Studio, forecast: Forecast, wanted: Wanted) -> Element:
    choice = forecast.choice
    taken = tag("p", tag("strong", "auto"), " chooses ", tag("code", choice.mechanism), ".")
    asked_for = None
    if forecast.job.mechanism != AUTO:
        asked_for = tag("p", "You asked for ", tag("code", forecast.job.mechanism), ".")
    why = tag("p", f"Why: {choice.why}.", class_="small")
    if wanted.compare:
        compared: Content = _compared(studio, forecast)
    else:
        compared = tag(
            "p",
            tag(
                "button", "Compare all mechanisms", type="button", class_="quiet", data_compare=True
            ),
        )
    return card("How it would be made", asked_for, taken, why, compared)


def _compared(studio: Studio, forecast: Forecast) -> Content:
    """All mechanisms, the most accurate one first, as far as they are known."""
    requests = forecast.others
    answers = {
        name: studio.estimates.ask(name_of(forecast, request), given(request))
        for name, request in requests.items()
    }
    known = [found for found in answers.values() if isinstance(found, Estimate)]
    known.sort(key=lambda estimate: estimate.mean)
    columns = {
        "Mechanism": [found.mechanism for found in known],
        "On average": [plans.ranks(found.mean) for found in known],
        "95 of 100": [plans.ranks(found.worst) for found in known],
    }
    listed = table({name: list(some) for name, some in columns.items()}, "Rank errors by mechanism")
    missing = [name_of(forecast, requests[n]) for n, a in answers.items() if isinstance(a, Running)]
    if not missing:
        return listed
    done = len(requests) - len(missing)
    return [listed, progress(done, len(requests), "mechanisms", " ".join(missing))]


def _onward(asked: Asked, forecast: Forecast) -> Element:
    if not asked.data:
        return tag(
            "p", tag("a", "Choose data to release", href="/", class_="button"), class_="onward"
        )
    release = tag("a", "Continue to the release", href=f"/release?{asked.query}", class_="button")
    public = (
        ""
        if forecast.job.budget.neighbors is Neighbors.ADD_REMOVE
        else ("The number of records will be public.")
    )
    return tag("p", release, tag("span", public, class_="small"), class_="onward")
