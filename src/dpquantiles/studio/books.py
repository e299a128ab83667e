"""The page of the books: every data set with its budget over time, entries, checks and exports."""

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from dpquantiles import privacy
from dpquantiles.errors import PublicError
from dpquantiles.ledger import Ledger, entries, inspection
from dpquantiles.present import spending
from dpquantiles.present.report import bar
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.html import Content, alert, card, page, table, tag, unstyled
from dpquantiles.studio.releases import explained, page_of
from dpquantiles.studio.studio import Studio

MOST_ENTRIES = 200
"""The most entries that are listed; exports have all of them."""

ACTIONS = {"budget": "budget set", "charge": "charged", "release": "released", "retry": "run again"}


def books_page(studio: Studio, verdict: str = "", good: bool = True) -> str:
    """What was spent on which data set."""
    try:
        content = _content(studio, verdict, good)
    except (PublicError, OSError) as error:
        content = [tag("h1", "Books"), alert(explained(error))]
    return page("Books", "books", content, links=studio.links(Asked()))


def _content(studio: Studio, verdict: str, good: bool) -> list[Content]:
    ledger = studio.ledger()
    if ledger is None:
        return [
            tag("h1", "Books"),
            card(
                "No ledger is open",
                tag(
                    "p",
                    "A ledger keeps a budget for each data set. Create one, and start with it:",
                ),
                tag(
                    "pre",
                    "dpquantiles ledger create budget.db --epsilon 3\n"
                    "dpquantiles studio FOLDER --ledger budget.db",
                    tabindex="0",
                ),
            ),
        ]
    budget = f"{entries.words(ledger.budget)}, {ledger.budget.neighbors} neighbors"
    return [
        tag("h1", "Books"),
        tag("p", f"Every data set has a budget of {budget}.", class_="lead"),
        alert(verdict, "promise" if good else "warning") if verdict else None,
        _accounts(ledger),
        _over_time(ledger),
        _entries(ledger),
        _check(ledger),
    ]


def _accounts(ledger: Ledger) -> Element:
    accounts, whole = ledger.accounts(), ledger.budget.amount
    if not accounts:
        return card("Data sets", tag("p", "Nothing has been charged yet."))
    rests = [standing.remaining for standing in accounts.values()]
    shown: dict[str, list[Content]] = {
        "Data set": [owner.dataset for owner in accounts],
        "Protects": [owner.unit for owner in accounts],
        "Charges": [str(standing.charges) for standing in accounts.values()],
        "Spent": [f"{ledger.spent(owner.dataset, unit=owner.unit):.6g}" for owner in accounts],
        "Left": [f"{rest:.6g}" for rest in rests],
        "": [bar(min(max(1 - rest / whole, 0.0), 1.0)) for rest in rests],
    }
    return card("Data sets", table(shown, "Budgets by data set", blank="Share spent"))


def _over_time(ledger: Ledger) -> Element | None:
    if not ledger.accounts():
        return None
    chart, colors = spending.narrow_picture(ledger)
    caption = "What was spent, by data set. The line above is the budget."
    figure = tag("figure", unstyled(chart.root), _legend(colors), tag("figcaption", caption))
    return card("Over time", tag("div", figure, class_="pictures"))


def _legend(colors: Mapping[str, str]) -> Element:
    marks = {
        name: tag("svg", tag("rect", width="100%", height="100%", fill=color), aria_hidden="true")
        for name, color in colors.items()
    }
    return tag("ul", [tag("li", mark, name) for name, mark in marks.items()], class_="legend")


def _entries(ledger: Ledger) -> Element:
    listed = ledger.entries()
    contents = [(entry, entry.content) for entry in reversed(listed[-MOST_ENTRIES:])]
    shown: dict[str, list[Content]] = {
        "Entry": [str(entry.number) for entry, _ in contents],
        "Time (UTC)": [str(content["time"])[:19].replace("T", " ") for _, content in contents],
        "What": [_action(content) for _, content in contents],
        "Data set": [str(content.get("dataset", "")) for _, content in contents],
        "Cost": [_amount(content) for _, content in contents],
        "Hash": [tag("code", entry.hash[:12], title=entry.hash) for entry, _ in contents],
    }
    more = len(listed) - MOST_ENTRIES
    note = tag("p", f"{more:,} earlier entries are in the exports.", class_="small")
    return card(
        "Entries", table(shown, "Entries of the ledger", left=True), note if more > 0 else None
    )


def _action(content: Mapping[str, Any]) -> Content:
    words = ACTIONS[content["action"]]
    if content["action"] == "budget":
        return words
    return tag("a", words, href=page_of(content["request"]))


def _amount(content: Mapping[str, Any]) -> str:
    stated = content.get("cost") or content.get("budget")
    return "" if stated is None else entries.words(privacy.from_dict(stated))


def _check(ledger: Ledger) -> Element:
    verify = tag(
        "form",
        tag(
            "div",
            tag("label", "A hash that you wrote down earlier (optional)", for_="head"),
            tag("input", type="text", id="head", name="head", maxlength="64", spellcheck="false"),
            class_="field",
        ),
        tag("p", tag("button", "Verify every byte", class_="button quiet")),
        method="post",
        action="/books/verify",
        aria_label="Verify",
    )
    exports = [
        tag(
            "li", tag("a", name, href=f"/books/export/{form}", download=True, class_="button quiet")
        )
        for form, name in (("json", "Export (JSON)"), ("csv", "Export (CSV)"))
    ]
    return card(
        "Verify and export",
        verify,
        tag("ul", exports, class_="downloads"),
        tag("p", "Head: ", tag("code", ledger.head), class_="small"),
    )


def verified(studio: Studio, head: str) -> tuple[str, bool]:
    """The verdict on every entry and every byte, and whether it is good."""
    if studio.books is None:
        return "No ledger is open.", False
    try:
        books = inspection.verify(studio.books, head or None)
    except (PublicError, OSError) as error:
        return explained(error), False
    counted = "1 entry" if books.count == 1 else f"{books.count} entries"
    return f"{counted} checked, none changed; head {books.head}", True
