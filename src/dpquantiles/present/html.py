"""What a notebook shows of a release: a table, a picture, and what it promises.

Built as a tree of elements, so that all text is escaped and all tags are closed by construction.
No scripts, no style sheets, nothing from outside.
"""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.present.svg import picture
from dpquantiles.present.words import columns, statements
from dpquantiles.results import Release

RULE = "1px solid rgba(128,128,128,0.35)"
CELL = "padding:2px 14px 2px 4px;background:transparent;border:none;text-align:"
PRIVATE = "border-left:3px solid #2f9e6b;padding:2px 10px;margin:6px 0 2px"
NOT_PRIVATE = "border-left:3px solid #e0872b;padding:2px 10px;margin:6px 0 2px;font-weight:600"
STATEMENT = "padding:2px 13px;margin:2px 0"


def render(release: Release) -> str:
    """A release as HTML."""
    root = Element("div", style="max-width:860px;line-height:1.4")
    beside = SubElement(
        root, "div", style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start"
    )
    beside.append(_table(release))
    if len(set(release.q)) > 1:
        beside.append(picture(release))
    _say(root, statements(release), private=release.guarantee is not None)
    return tostring(root, encoding="unicode", short_empty_elements=False)


def render_table(titled: Mapping[str, Sequence[str]], said: Sequence[str], *, private: bool) -> str:
    """Columns of text as HTML, with their promise first of what is said of them.

    All columns but the first stand to the right.
    """
    root = Element("div", style="max-width:860px;line-height:1.4")
    root.append(cells(titled, height=420))
    _say(root, said, private=private)
    return tostring(root, encoding="unicode", short_empty_elements=False)


def _say(root: Element, statements: Sequence[str], *, private: bool) -> None:
    """A promise, and what else is to be said."""
    promise, *more = statements
    SubElement(root, "p", style=PRIVATE if private else NOT_PRIVATE).text = promise
    for statement in more:
        SubElement(root, "p", style=STATEMENT).text = statement


def _table(release: Release) -> Element:
    """Quantiles, values and intervals; long ones scroll beside the picture."""
    return cells(columns(release), height=232)


def cells(titled: Mapping[str, Sequence[str]], height: int) -> Element:
    """A table that scrolls when it is too high; all but its first column stand to the right."""
    box = Element("div", style=f"max-height:{height}px;overflow:auto")
    table = SubElement(box, "table", style="border-collapse:collapse;margin:0")
    head = SubElement(SubElement(table, "thead"), "tr")
    for place, title in enumerate(titled):
        side = "right" if place else "left"
        SubElement(head, "th", style=f"{CELL}{side};border-bottom:{RULE}").text = title
    body = SubElement(table, "tbody")
    style = f"{CELL}right;font-variant-numeric:tabular-nums;white-space:nowrap"
    for first, *rest in zip(*titled.values(), strict=True):
        row = SubElement(body, "tr", style="background:transparent")
        SubElement(row, "td", style=f"{CELL}left;opacity:0.75").text = first
        for label in rest:
            SubElement(row, "td", style=style).text = label
    return box
