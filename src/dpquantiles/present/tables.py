"""Releases of many groups as text, CSV or HTML tables; descriptions as HTML tables."""

import csv as csv_format
import io
import textwrap
from collections.abc import Mapping, Sequence
from itertools import islice

from dpquantiles.present import html, text
from dpquantiles.present.words import Promising, exact, labels, precision, promise, quantile
from dpquantiles.results import Description, GroupedRelease

MOST_ROWS = 50
"""Rows that people are shown; frames, JSON and CSV have all of them."""


def groups_text(release: GroupedRelease, width: int = text.WIDTH) -> str:
    """The wide form of a release by group as plain text, with the guarantee in words."""
    columns = _groups(release)
    more = _more(columns, len(release))
    return "\n".join(
        [
            *text.table(columns),
            *([f"  {more}"] if more else []),
            "",
            *textwrap.wrap(promise(release), width, break_on_hyphens=False),
            *_wrapped(precision(release), width),
        ]
    )


def _wrapped(paragraphs: Sequence[str], width: int) -> list[str]:
    lines = [textwrap.wrap(text, width, break_on_hyphens=False) for text in paragraphs]
    return [line for part in lines for line in ["", *part]]


def groups_csv(release: GroupedRelease) -> str:
    """The long form of a release by group as CSV, complete to the last digit."""
    columns, written = release.long(), io.StringIO()
    writer = csv_format.writer(written, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(tuple(map(exact, row)) for row in zip(*columns.values(), strict=True))
    return written.getvalue()


def groups_html(release: GroupedRelease) -> str:
    """The wide form of a release by group as HTML."""
    return _html(_groups(release), len(release), release, precision(release))


def description_html(description: Description) -> str:
    """A description as HTML."""
    notes = [
        f"{name}: {note}"
        for name, release in description.releases.items()
        for note in precision(release)
    ]
    return _html(_described(description), len(description.q), description, notes)


def _groups(release: GroupedRelease) -> dict[str, list[str]]:
    shown = list(islice(zip(release.keys, release.values, strict=True), MOST_ROWS))
    keys = {name: [exact(key[i]) for key, _ in shown] for i, name in enumerate(release.by)}
    answers = {
        quantile(q): labels([values[i] for _, values in shown]) for i, q in enumerate(release.q)
    }
    return keys | answers


def _described(description: Description) -> dict[str, list[str]]:
    answers = {name: labels(release.values) for name, release in description.releases.items()}
    return {"q": [quantile(q) for q in description.q], **answers}


def _more(columns: Mapping[str, Sequence[str]], rows: int) -> str:
    left = rows - len(next(iter(columns.values())))
    return f"... and {left:,} more" if left > 0 else ""


def _html(
    columns: dict[str, list[str]], rows: int, release: Promising, notes: Sequence[str]
) -> str:
    words = " ".join(filter(None, [_more(columns, rows), promise(release)]))
    return html.render_table(columns, [words, *notes], private=release.guarantee is not None)
