"""The page as Markdown, with the figures beside it."""

from collections.abc import Iterator

from experiments.paper.page import TITLE
from experiments.paper.results import Results
from experiments.paper.sections import SECTIONS
from experiments.paper.words import (
    SHAPE_HEADER,
    SHAPE_TITLES,
    Report,
    count_words,
    interval,
    number,
    shape_rows,
)

CLAIM_HEADER = (
    *("claim", "of", "data", "the paper", "measured", "95% interval", "accepted", "verdict"),
    "command",
)


def render(report: Report) -> str:
    """The summary."""
    lines = [
        f"# {TITLE}",
        "",
        "All runs are seeded: none of these releases carries a guarantee.",
        "",
        *(f"- {note}" for note in report.notes),
        "",
        f"Claims: {count_words(report.findings)}.",
    ]
    for section in SECTIONS:
        picture = f"![{section.heading}]({report.figures.name}/{section.figure}.png)"
        lines += ["", f"## {section.heading}", "", section.words, "", picture]
        if section.figure == "shapes":
            for error, title in SHAPE_TITLES.items():
                lines += ["", f"### {title}", "", *_shapes(report.results, error)]
    lines += ["", "## The claims", "", *_header(CLAIM_HEADER)]
    for f in report.findings:
        cells = (f.claim, f.of, f.data, f.paper, number(f.measured), interval(f), f.accepted)
        lines.append(_row(*cells, f.verdict, f"`{f.command}`"))
    return "\n".join(lines) + "\n"


def _shapes(results: Results, error: str) -> Iterator[str]:
    yield from _header(SHAPE_HEADER)
    for row in shape_rows(results, error):
        yield _row(*row)


def _header(names: tuple[str, ...]) -> Iterator[str]:
    yield _row(*names)
    yield "|---" * len(names) + "|"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
