"""The pages of a release: what will happen, one confirmation, progress, and the result."""

from collections.abc import Iterable
from dataclasses import asdict
from urllib.parse import quote
from xml.etree.ElementTree import Element

from dpquantiles.errors import PublicError
from dpquantiles.forecast import Forecast
from dpquantiles.kinds import named
from dpquantiles.ledger import Ledger, entries
from dpquantiles.planner.estimates import Estimate
from dpquantiles.present import forecasts, report, words
from dpquantiles.present.report import Remains, in_numbers
from dpquantiles.present.spending import fits, left, remains
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.expected import estimated
from dpquantiles.studio.html import Content, alert, card, page, tag, unstyled
from dpquantiles.studio.releases import Kept, Made, Running, explained, kept
from dpquantiles.studio.shelf import Item
from dpquantiles.studio.studio import Studio

FORMATS = {
    "html": "Report (HTML)",
    "csv": "Table (CSV)",
    "json": "All of it (JSON)",
    "svg": "Picture (SVG)",
}
NAMES = {
    "median": "The median",
    "quartiles": "The three quartiles",
    "deciles": "The nine deciles",
    "percentiles": "The 99 percentiles",
}
ONCE = (
    "This happens once. If you reload the page, click twice or come back, it is not charged "
    "again, and the answers stay the same."
)
CHARGED = "It was charged, but the studio was ended before it was released. Nothing is lost:"
AGAIN = "make it now, without another charge."
ELSEWHERE = (
    "the same question with the same request id is answered without another charge. The page where "
    "you asked has both in its address; find it in your browser's history. Or use the command, "
    "with the id that is in the address of this page."
)
REPEAT = "With this request id the command gives this very release, without another charge."


def review_page(studio: Studio, asked: Asked, request: str) -> str:
    """What will be released, what it means and costs, and the button that does it."""
    title = tag("h1", "Release")
    try:
        if not asked.data:
            why = "Choose data and a column first; without them there is nothing to release."
            return _shown(studio, asked, [title, tag("p", why), _button("Choose data", "/")])
        return _shown(studio, asked, _review(studio, asked, request))
    except (PublicError, OSError) as error:
        back = _button("Back to the plan", f"/plan?{asked.query}")
        return _shown(studio, asked, [title, alert(explained(error)), back])


def _review(studio: Studio, asked: Asked, request: str) -> list[Content]:
    item = studio.shelf.item(asked.data)
    forecast = Forecast.of(studio.job(asked), asked.guess)
    granted = forecast.job.account is None or fits(forecast.job)
    return [
        tag("h1", "Ready to release?"),
        tag("p", "Read what will happen. Nothing has been read or spent so far.", class_="lead"),
        card("In words", _summary(studio, asked, item, forecast)),
        _confirmation(asked, forecast, request) if granted else _refusal(asked, forecast),
        _copies(studio, asked, item, request, forecast.grid.kind.name),
    ]


def _shown(studio: Studio, asked: Asked, content: Content, refresh: int | None = None) -> str:
    links = studio.links(asked)
    return page("Release", "release", content, links=links, refresh=refresh)


def _button(text: str, href: str) -> Element:
    return tag("p", tag("a", text, href=href, class_="button"))


def _summary(studio: Studio, asked: Asked, item: Item, forecast: Forecast) -> Element:
    job = forecast.job
    found = estimated(studio, forecast)
    errors = forecasts.Errors.of(forecast, found if isinstance(found, Estimate) else None)
    of = (
        f", for each of {len(asked.key_rows)} groups"
        if job.by and not asked.is_private_keys
        else ""
    )
    what = NAMES.get(asked.q, f"{len(job.q)} quantiles ({asked.q})")
    rest = "No ledger is open, so nothing adds up what is spent."
    if job.account is not None:
        left_now = left(job)
        rest = f"Before this release, for the data set “{left_now.dataset}”, {left_now.words}."
    facts = {
        "Released": f"{what} of “{asked.column}” in {item.name}{of}.",
        "Protected": _protected(forecast),
        "Accuracy": f"{forecasts.in_short(forecast, errors)} {forecasts.assumed(forecast)}",
        "Missing": words.missing(job.missing),
        "Cost": f"{job.budget.measure} = {entries.words(job.budget).split(' = ', 1)[1]}. {rest}",
    }
    pairs = [(tag("dt", name), tag("dd", text)) for name, text in facts.items()]
    return tag("dl", [one for pair in pairs for one in pair])


def _protected(forecast: Forecast) -> str:
    promise = forecast.job.promise()
    whom = "record" if promise.unit is None else promise.unit
    first = f"Whatever any one {whom} holds, it can change the answers only a little."
    told = in_numbers(promise, "from the release")
    return " ".join(filter(None, [first, words.guarantee(promise), told]))


def _confirmation(asked: Asked, forecast: Forecast, request: str) -> Element:
    spend = f"Release, and spend {entries.words(forecast.job.budget)}"
    return tag(
        "form",
        _hidden(asked, request),
        tag("p", ONCE),
        tag("p", tag("button", spend, class_="button", data_once=True)),
        method="post",
        action="/release",
        class_="card confirm",
        aria_label="Confirmation",
    )


def _hidden(asked: Asked, request: str) -> list[Element]:
    named_fields = {**asdict(asked), "request": request}
    return [tag("input", type="hidden", name=k, value=v) for k, v in named_fields.items()]


def _refusal(asked: Asked, forecast: Forecast) -> Element:
    rest = left(forecast.job)
    return card(
        "The budget does not allow it",
        alert(f"For the data set “{rest.dataset}”, {rest.words}. Nothing was charged."),
        _button("Change the plan", f"/plan?{asked.query}"),
    )


def _copies(studio: Studio, asked: Asked, item: Item, request: str | None, kind: str) -> Element:
    """The same as a command and as Python, to copy."""
    books = None if studio.books is None else str(studio.books)
    told = REPEAT if books is not None and request is not None else "It makes a new release."
    parts = {
        "As a command": (asked.command(item, books, request), told),
        "In Python": (
            asked.python(item, named(kind), books),
            "It makes a new release, with a charge of its own.",
        ),
    }
    blocks = [
        tag(
            "div",
            tag("h3", name),
            tag("pre", text, id=f"copy-{k}", tabindex="0", class_="wrap"),
            tag("button", "Copy", type="button", class_="quiet with-script", data_copy=f"copy-{k}"),
            tag("p", about, class_="small"),
            class_="copy",
        )
        for k, (name, (text, about)) in enumerate(parts.items())
    ]
    return tag(
        "details", tag("summary", tag("h2", "The same without the studio")), blocks, class_="card"
    )


def state_page(studio: Studio, asked: Asked, request: str, problem: str = "") -> str:
    """A request that was confirmed: its progress, its failure, or its result."""
    if problem:
        return _failed(studio, asked, problem)
    running = studio.releases.get(request)
    asked = asked if running is None else running.asked  # whatever the address says
    if running is not None and not running.is_over:
        return _waiting(studio, asked, running)
    try:
        ledger = studio.ledger()
        entry = None if ledger is None else kept(ledger, request)
    except (PublicError, OSError) as error:
        return _failed(studio, asked, explained(error))
    result = running.result if running is not None else None
    if result is None and entry is not None:
        result = entry.result
    if result is not None:
        return _result(studio, asked, request, result, _rest(ledger, entry))
    if running is not None:
        return _failed(studio, asked, running.failure, request if entry else None)
    if entry is not None:
        return _failed(studio, asked, f"{CHARGED} {AGAIN if asked.data else ELSEWHERE}", request)
    return _failed(
        studio, asked, "This studio knows no such release, and nothing was charged for it."
    )


def _rest(ledger: Ledger | None, entry: Kept | None) -> Remains | None:
    if ledger is None or entry is None:
        return None
    return remains(ledger, entry.dataset, entry.part, entry.unit)


def _waiting(studio: Studio, asked: Asked, running: Running) -> str:
    share = running.progress
    value = None if share is None else f"{share:.0f}"
    said = (
        "The records are being read." if share is None else f"{share:.0f}% of the records are read."
    )
    content = [
        tag("h1", "The release is being made"),
        card(
            "Please wait",
            tag("progress", max="100", value=value, aria_label="The release is being made"),
            tag("p", said, role="status"),
            tag(
                "p",
                "You may reload or close this page; the release goes on, and is charged once.",
                class_="small",
            ),
            data_reload=True,
        ),
    ]
    return _shown(studio, asked, content, refresh=1)


def _failed(studio: Studio, asked: Asked, why: str, again: str | None = None) -> str:
    """A sentence about what went wrong and, for a charged request, the way to run it again."""
    content: list[Content] = [tag("h1", "There is no release"), alert(why)]
    if again is not None and asked.data:
        content.append(
            tag(
                "form",
                _hidden(asked, again),
                tag(
                    "p",
                    tag(
                        "button",
                        "Make it now, without another charge",
                        class_="button",
                        data_once=True,
                    ),
                ),
                method="post",
                action="/release",
                class_="card confirm",
                aria_label="Make it now",
            )
        )
    content.append(_button("Back to the plan", f"/plan?{asked.query}"))
    return _shown(studio, asked, content)


def _result(studio: Studio, asked: Asked, request: str, result: Made, rest: Remains | None) -> str:
    downloads = [
        tag("li", tag("a", name, href=href, download=True, class_="button quiet"))
        for name, href in _downloads(request).items()
    ]
    content: list[Content] = [
        tag("h1", "Released"),
        tag("p", " ".join(report.in_short(result)), class_="lead"),
        tag(
            "section",
            tag("h2", "Hand it on", class_="hidden"),
            tag("ul", downloads, class_="downloads"),
        ),
        list(_sections(result, rest)),
    ]
    try:
        if asked.data:
            item = studio.shelf.item(asked.data)
            content.append(_copies(studio, asked, item, request, result.type))
    except (PublicError, OSError):  # the data may be gone; the release is not
        pass
    return _shown(studio, asked, content)


def _downloads(request: str) -> dict[str, str]:
    """The forms of a result by name, with their addresses."""
    return {name: f"/download/{form}/{quote(request, safe='')}" for form, name in FORMATS.items()}


def _sections(result: Made, rest: Remains | None) -> Iterable[Content]:
    for part in report.sections(result, rest):
        for section in part.iter("section"):
            section.set("class", "card")
            told = {"role": "region", "aria-label": f"Table: {section.findtext('h2')}"}
            for box in section.iterfind(".//div[@class='scroll']"):
                box.attrib |= {"tabindex": "0", **told}
        for block in part.iter("pre"):
            block.set("tabindex", "0")
        yield unstyled(part)


def finished(studio: Studio, request: str) -> tuple[Made, Remains | None] | None:
    """The result of a request, from this process or from the ledger, to be downloaded."""
    ledger = studio.ledger()
    entry = None if ledger is None else kept(ledger, request)
    running = studio.releases.get(request)
    result = running.result if running is not None else None
    if result is None and entry is not None:
        result = entry.result
    return None if result is None else (result, _rest(ledger, entry))
