"""Tables of labels, with paragraphs below them, as plain text, Markdown, HTML and CSV.

HTML is built as a tree of elements, so that all text is escaped and all tags are closed. It has no
scripts and no style sheets, and loads nothing from outside.
"""

import csv as csv_format
import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.present.words import exact

WIDTH = 80
TRACK = 36
"""The width of a picture beside a table: each row has a line with a dot at its end."""

DOT, LINE = "●", "─"
GAP = "…"
"""What stands for rows and columns that are not shown."""

RULE = "1px solid rgba(128,128,128,0.35)"
CELL = "padding:2px 14px 2px 4px;background:transparent;border:none;text-align:"
BESIDE = "display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start"
GOOD = "border-left:3px solid #2f9e6b;padding:2px 10px;margin:6px 0 2px"
BAD = "border-left:3px solid #e0872b;padding:2px 10px;margin:6px 0 2px;font-weight:600"
PARAGRAPH = "padding:2px 13px;margin:2px 0"

Columns = Mapping[str, Sequence[str]]
"""Labels by the title of their column; all columns have the same length."""


def lines(columns: Columns, pictures: Sequence[str] = (), keys: int = 1) -> list[str]:
    """Columns under their titles, the first ones to the left, and a picture of each row."""
    widths = [max(map(len, [title, *labels])) for title, labels in columns.items()]
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    sides = [str.ljust] * keys + [str.rjust] * (len(columns) - keys)
    aligned = [
        "  ".join(to(label, size) for to, label, size in zip(sides, row, widths, strict=True))
        for row in rows
    ]
    beside = ["", *pictures] if pictures else [""] * len(rows)
    return [f"  {row}  {picture}".rstrip() for row, picture in zip(aligned, beside, strict=True)]


def shortened(columns: Columns, most: int) -> Columns:
    """The first and the last rows of a table that has more rows, with dots between."""
    half = most // 2
    if len(next(iter(columns.values()), ())) <= most:
        return columns
    return {title: [*some[:half], GAP, *some[-half:]] for title, some in columns.items()}


def narrowed(columns: Columns, width: int, keys: int) -> Columns:
    """The columns that fit from both sides, with dots between; the first ones, the keys, stay.

    Long keys are cut off, so that they take at most half of the width.
    """
    most = width // 2 // keys
    cut = {title: [_cut(key, most) for key in columns[title]] for title in list(columns)[:keys]}
    columns = {**columns, **cut}
    titles, rows = list(columns), len(next(iter(columns.values()), ()))
    sizes = [2 + max(map(len, [title, *labels])) for title, labels in columns.items()]
    if sum(sizes) <= width:
        return columns
    first, last = keys, len(titles)
    room = width - sum(sizes[:keys]) - 2 - len(GAP)
    while first < last and sizes[first] <= room:
        room -= sizes[first]
        first += 1
        if first < last and sizes[last - 1] <= room:
            last -= 1
            room -= sizes[last]
    kept = {title: columns[title] for title in titles[:first]}
    return kept | {GAP: [GAP] * rows} | {title: columns[title] for title in titles[last:]}


def _cut(label: str, most: int) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}{GAP}"


def dots(shares: Sequence[float], width: int = TRACK) -> list[str]:
    """A line for each row of a table; its length is the row's share, from 0 to 1."""
    return [f" {LINE * round(share * (width - 1))}{DOT}" for share in shares]


def wrapped(paragraphs: Sequence[str], width: int) -> list[str]:
    """The lines of paragraphs, with an empty line before each."""
    parts = [textwrap.wrap(text, width, break_on_hyphens=False) for text in paragraphs]
    return [line for part in parts for line in ["", *part]]


def csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns of values as CSV, with all digits; None is an empty cell."""
    written = io.StringIO()
    writer = csv_format.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if value is None else exact(value) for value in row)
    return written.getvalue()


def markdown(columns: Columns, keys: int = 1) -> str:
    """A table in Markdown; all but its first columns are right-aligned."""
    sides = [":--"] * keys + ["--:"] * (len(columns) - keys)
    rows = [tuple(columns), tuple(sides), *zip(*columns.values(), strict=True)]
    escaped = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def cells(columns: Columns, height: int, keys: int = 1) -> Element:
    """An HTML table that scrolls if it is too high; all but its first columns are right-aligned."""
    box = Element("div", style=f"max-height:{height}px;overflow:auto")
    table = SubElement(box, "table", style="border-collapse:collapse;margin:0")
    head = SubElement(SubElement(table, "thead"), "tr")
    for place, title in enumerate(columns):
        side = "left" if place < keys else "right"
        SubElement(head, "th", style=f"{CELL}{side};border-bottom:{RULE}").text = title
    body = SubElement(table, "tbody")
    style = f"{CELL}right;font-variant-numeric:tabular-nums;white-space:nowrap"
    for labels in zip(*columns.values(), strict=True):
        row = SubElement(body, "tr", style="background:transparent")
        for place, label in enumerate(labels):
            key = f"{CELL}left;opacity:0.75"
            SubElement(row, "td", style=key if place < keys else style).text = label
    return box


def html(
    parts: Sequence[Element], paragraphs: Sequence[str], *, good: bool, above: str = ""
) -> str:
    """Tables and pictures beside each other, and paragraphs below; the first one stands out."""
    root = Element("div", style="max-width:860px;line-height:1.4")
    if above:
        SubElement(root, "p").text = above
    SubElement(root, "div", style=BESIDE).extend(parts)
    for k, text in enumerate(paragraphs):
        style = PARAGRAPH if k else GOOD if good else BAD
        SubElement(root, "p", style=style).text = text
    return tostring(root, encoding="unicode", short_empty_elements=False)
