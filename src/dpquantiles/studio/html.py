"""HTML as trees of elements, so that all text is escaped and nothing is styled inside."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element, tostring

Content: TypeAlias = "Element | str | Iterable[Content] | None"

STEPS = {"choose": "Choose", "plan": "Plan", "release": "Release", "books": "Books"}
"""The pages, in the order in which people walk through them."""


UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Control characters, and those that change the direction of the text around them."""

REPLACED = "\ufffd"


def tag(name: str, /, *content: Content, **attributes: Any) -> Element:
    """An element. A name such as `class_` or `aria_label` stands for `class` or `aria-label`."""
    element = Element(name)
    for key, value in attributes.items():
        if value is True:
            element.set(key.rstrip("_").replace("_", "-"), "")
        elif value is not None and value is not False:
            element.set(key.rstrip("_").replace("_", "-"), str(value))
    for child in _flat(content):
        if isinstance(child, Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + child
        else:
            element.text = (element.text or "") + child
    return element


def _flat(content: Iterable[Content]) -> Iterator[Element | str]:
    for one in content:
        if one is None:
            continue
        if isinstance(one, (str, Element)):
            yield one
        else:
            yield from _flat(one)


def unstyled(element: Element) -> Element:
    """The same element without styles inside, which the policy of the pages forbids."""
    for part in element.iter():
        part.attrib.pop("style", None)
    return element


def written(element: Element) -> str:
    """An element as text, in which names of columns or tables cannot hide or turn other words."""
    for part in element.iter():
        part.text = UNSEEN.sub(REPLACED, part.text) if part.text else part.text
        part.tail = UNSEEN.sub(REPLACED, part.tail) if part.tail else part.tail
    return tostring(element, encoding="unicode", method="html")


def page(
    title: str, step: str, *content: Content, links: Mapping[str, str], refresh: int | None = None
) -> str:
    """A whole page: the steps above, the content, and what the studio is below."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="refresh", content=str(refresh)) if refresh else None,
        tag("title", f"{title} · dpquantiles studio"),
        tag("link", rel="stylesheet", href="/static/studio.css"),
        tag("link", rel="icon", href="/static/favicon.svg", type="image/svg+xml"),
        tag("script", src="/static/studio.js", defer=True),
    )
    steps = [
        tag(
            "li",
            tag(
                "a",
                tag("span", str(k), class_="number", aria_hidden="true"),
                name,
                href=links[key],
                aria_current="page" if key == step else None,
            ),
        )
        for k, (key, name) in enumerate(STEPS.items(), 1)
    ]
    header = tag(
        "header",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "div",
            tag("p", tag("strong", "dpquantiles"), " studio", class_="brand"),
            tag("nav", tag("ol", steps), aria_label="Steps"),
            class_="bar-inside",
        ),
        class_="top",
    )
    footer = tag(
        "footer",
        tag("p", "Everything stays on this computer. Pages show public things only."),
        tag("p", tag("a", "Open in another browser", href="/invite")),
    )
    body = tag("body", header, tag("main", content, id="main", tabindex="-1"), footer)
    return f"<!DOCTYPE html>\n{written(tag('html', head, body, lang='en'))}"


def bare(title: str, words: str) -> str:
    """A page with a few words, for those who may see nothing else."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · dpquantiles studio"),
    )
    main = tag("main", tag("h1", title), tag("p", words))
    return f"<!DOCTYPE html>\n{written(tag('html', head, tag('body', main), lang='en'))}"


def card(heading: str, *content: Content, level: str = "h2", **attributes: Any) -> Element:
    """A section with a heading."""
    return tag("section", tag(level, heading), *content, **{"class_": "card", **attributes})


def alert(words: str, kind: str = "warning") -> Element:
    """A sentence that people must not miss, which screen readers read out."""
    return tag("p", words, class_=kind, role="alert")


def table(
    columns: Mapping[str, Iterable[Content]], caption: str, *, blank: str = "", left: bool = False
) -> Element:
    """A table; the first cell of every row is its heading. `blank` names a column for readers."""
    hidden = tag("span", blank, class_="hidden")
    head = tag("tr", [tag("th", title or hidden, scope="col") for title in columns])
    lines = [tag("tr", _cells(row)) for row in zip(*columns.values(), strict=True)]
    whole = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", head),
        tag("tbody", lines),
        class_="left" if left else None,
    )
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cells(row: Iterable[Content]) -> Iterator[Element]:
    for place, cell in enumerate(row):
        yield tag("td", cell) if place else tag("th", cell, scope="row")
