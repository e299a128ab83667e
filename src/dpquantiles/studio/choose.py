"""The page on which data and a column are chosen: names and declared types, never a record."""

from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from dpquantiles.kinds import BY_NAME
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.html import alert, card, page, tag
from dpquantiles.studio.releases import explained
from dpquantiles.studio.shelf import MOST_ITEMS, Item
from dpquantiles.studio.studio import Studio

NOTHING_READ = (
    "Only names and declared types are shown here. No record is read before you confirm a release."
)

OF_TEXT = "A CSV file declares no types. State the type on the next page, or let it be found."
OF_VIEWS = (
    "In a view, its rows are what is protected. If it makes several rows from one record, or one "
    "row from many, say on the next page whom a row belongs to, or choose the table."
)


def choose_page(studio: Studio, asked: Asked, problem: str = "") -> str:
    """The page that lists the data and, of those that are chosen, the columns."""
    content = [
        tag("h1", "What is it about?"),
        tag("p", NOTHING_READ, class_="lead"),
        alert(problem) if problem else None,
        tag("div", _data(studio, asked), _columns(studio, asked), class_="pair"),
        card(
            "Or plan without data",
            tag(
                "p",
                "See what an epsilon buys for a number of records that you state. "
                "Nothing is opened, and nothing can be spent.",
            ),
            tag("p", tag("a", "Plan without data", href="/plan", class_="button quiet")),
        ),
    ]
    return page("Choose", "choose", content, links=studio.links(asked))


def _data(studio: Studio, asked: Asked) -> Element:
    if studio.shelf.root is None:
        return card(
            "Data",
            tag("p", "No folder was named. Start the studio with one to release something:"),
            tag("pre", "dpquantiles studio FOLDER --ledger budget.db", tabindex="0"),
        )
    items = studio.shelf.items()
    listed = [
        tag(
            "li",
            tag(
                "a",
                tag("span", item.name),
                tag("small", _form(item)),
                href=f"/?{replace(Asked(), data=item.name).query}",
                aria_current="true" if item.name == asked.data else None,
            ),
        )
        for item in items
    ]
    more = f"Only the first {MOST_ITEMS} are listed." if len(items) == MOST_ITEMS else ""
    where = "There are no CSV, Parquet or DuckDB files in this folder." if not items else more
    return card("Data", tag("ul", listed, class_="items") if items else None, _small(where))


def _form(item: Item) -> str:
    if item.table is not None:
        return "view" if item.is_view else "table"
    return "CSV" if item.is_text else "Parquet"


def _small(words: str) -> Element | None:
    return tag("p", words, class_="small") if words else None


def _columns(studio: Studio, asked: Asked) -> Element:
    if not asked.data:
        return card("Column", tag("p", "Choose data first.", class_="small"))
    try:
        item = studio.shelf.item(asked.data)
        columns = dict(item.columns())
    except Exception as error:  # a file may change or vanish at any time
        return card("Column", alert(explained(error)))
    rows = [tag("li", _column(asked, name, type_)) for name, type_ in columns.items()]
    note = OF_VIEWS if item.is_view else OF_TEXT if item.is_text else ""
    return card(
        "Column",
        tag("p", "Quantiles of which column?"),
        tag("ul", rows, class_="items"),
        _small(note),
    )


def _column(asked: Asked, name: str, type_: str | None) -> Element:
    shown = [tag("span", name), tag("small", type_ or "type not declared")]
    if type_ is not None and type_ not in BY_NAME:
        return tag("span", shown, class_="other", title="Quantiles need numbers or times.")
    return tag("a", shown, href=f"/plan?{replace(asked, column=name).query}")


def choosable(item: Item) -> Iterator[str]:
    """The columns that may have quantiles."""
    for name, type_ in item.columns().items():
        if type_ is None or type_ in BY_NAME:
            yield name
