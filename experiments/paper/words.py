"""Numbers, verdicts and tables in words: what the page and the summary share."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.paper.claims import Finding
from experiments.paper.data import PAPER_BOUNDS, Floats
from experiments.paper.drawing import standard_error
from experiments.paper.intervals import BETTER, FAILS, HOLDS
from experiments.paper.results import Results
from experiments.paper.tuning import PAPER_SHAPES, Shape

MARKS = {HOLDS: "✓", BETTER: "▲", FAILS: "✗"}
SHAPE_TITLES = {"missed": "Tuned for missed points", "distance": "Tuned for distance"}
SHAPE_HEADER = ("m", "paper: h, b", "ours: h, b", "paper's error", "ours", "difference", "")


class Report(NamedTuple):
    """Everything that the page tells."""

    results: Results
    findings: Sequence[Finding]
    figures: Path
    notes: Sequence[str]


def number(value: float) -> str:
    """Three digits, without an exponent where that can be read."""
    size = abs(value)
    if math.isinf(size):
        return "∞"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if size >= 1e-4 or size == 0 else f"{value:.1e}"


def interval(finding: Finding) -> str:
    """The confidence interval, where there is one."""
    if finding.low == finding.high:
        return "exact" if finding.figure == "claims" else ""
    return f"{number(finding.low)} to {number(finding.high)}"


def sentences(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by sentence, in order."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.claim, []).append(finding)
    return found


def count_words(findings: Sequence[Finding]) -> str:
    """How many hold, are better, and do not hold."""
    counts = Counter(finding.verdict for finding in findings)
    words = {HOLDS: "hold", BETTER: "are better", FAILS: "do not hold"}
    parts = [f"{counts[verdict]} {words[verdict]}" for verdict in words if counts[verdict]]
    return ", ".join(parts) or "none measured"


def shape_rows(results: Results, error: str) -> Iterator[tuple[str, ...]]:
    """For every m the paper's shape, ours, both errors on fresh records, and what it means."""
    errors, ours = results.tree_checks.get(error), results.tuned.shapes[error]
    if not errors or not ours:
        return
    for index, (theirs, own) in enumerate(zip(PAPER_SHAPES[error], ours, strict=True)):
        first, second = errors[theirs][:, index], errors[own][:, index]
        change = first - second
        yield (
            str(index + 1),
            f"{theirs[0]}, {theirs[1]}",
            f"{own[0]}, {own[1]}",
            number(float(first.mean())),
            number(float(second.mean())),
            f"{change.mean():+.2g} ± {2 * standard_error(change):.2g}",
            _compared(theirs, own, change),
        )


def _compared(theirs: Shape, own: Shape, change: Floats) -> str:
    """Why the errors of two shapes differ, if they do by more than two standard errors."""
    if theirs == own:
        return "same shape"
    if abs(change.mean()) <= 2 * standard_error(change):
        return "within noise"
    if change.mean() < 0:
        return "ours was chosen by luck"
    widths = ((PAPER_BOUNDS[1] - PAPER_BOUNDS[0]) / b**h for h, b in (theirs, own))
    return "leaves {:.2g} wide, ours {:.2g}".format(*widths)
