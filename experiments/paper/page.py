"""One self-contained HTML page and a Markdown summary from findings and figures."""

import base64
import html
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.paper import drawing
from experiments.paper.claims import Evidence, Finding
from experiments.paper.evidence import BETTER, FAILS, HOLDS
from experiments.paper.sections import SECTIONS
from experiments.paper.tuning import PAPER_SHAPES

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; height: auto; display: block; margin: .5rem auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; width: 100%; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .5rem; text-align: left;
         vertical-align: top; }
th { background: #f2f2f2; } td.number { text-align: right; white-space: nowrap; }
table.narrow { font-size: 12px; } table.narrow td, table.narrow th { padding: .2rem .25rem; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: #00563f; } .better { color: #004a73; } .fails { color: #8f3b00; }
.note { color: #444; } code { background: #f2f2f2; padding: 0 .2rem; }
.sentence td { background: #fafafa; font-weight: 600; }
"""
CLASSES = {HOLDS: "holds", BETTER: "better", FAILS: "fails"}
MARKS = {HOLDS: "✓", BETTER: "▲", FAILS: "✗"}
SHAPE_TITLES = {"missed": "Tuned for missed points", "distance": "Tuned for distance"}


class Report(NamedTuple):
    """Everything that the page tells."""

    evidence: Evidence
    findings: Sequence[Finding]
    figures: Path
    notes: Sequence[str]


def number(value: float) -> str:
    """Three digits, without an exponent where that can be read."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if size >= 1e-4 or size == 0 else f"{value:.1e}"


def interval(finding: Finding) -> str:
    """The confidence interval, where there is one."""
    if finding.low == finding.high:
        return "exact" if "formula" in finding.about or "CDP" in finding.claim else "one run"
    return f"{number(finding.low)} to {number(finding.high)}"


def count_words(findings: Sequence[Finding]) -> str:
    """How many hold, are better, and do not hold."""
    counts = Counter(finding.verdict for finding in findings)
    parts = [f"{counts[v]} {'hold' if v == HOLDS else v}" for v in (HOLDS, BETTER) if counts[v]]
    parts += [f"{counts[FAILS]} do not hold"] if counts[FAILS] else []
    return ", ".join(parts) or "none measured"


def shape_rows(evidence: Evidence, error: str) -> Iterator[tuple[str, ...]]:
    """For every m the paper's shape, ours, both errors on fresh records, and what it means."""
    errors, ours = evidence.tree_checks[error], evidence.results.tuned.shapes[error]
    if not errors or not ours:
        return
    for index, (theirs, own) in enumerate(zip(PAPER_SHAPES[error], ours, strict=True)):
        first, second = errors[theirs][:, index], errors[own][:, index]
        change = first - second
        noise = 2 * drawing.standard_error(change)
        if theirs == own:
            words = "same shape"
        elif abs(change.mean()) <= noise:
            words = "within noise"
        else:
            words = "the paper's is worse" if change.mean() > 0 else "the paper's is better"
        yield (
            str(index + 1),
            f"{theirs[0]}, {theirs[1]}",
            f"{own[0]}, {own[1]}",
            number(float(first.mean())),
            number(float(second.mean())),
            f"{change.mean():+.2g} ± {noise:.1g}",
            words,
        )


SHAPE_HEADER = ("m", "paper: h, b", "ours: h, b", "error of paper's", "error of ours", "difference", "")


def html_page(report: Report) -> str:
    """The page."""
    body = [
        "<h1>Differentially Private Quantiles, reproduced</h1>",
        "<p>Every figure and table of the experiments of Gillenwater, Joseph and Kulesza, "
        "<em>Differentially Private Quantiles</em> (ICML 2021, arXiv 2102.08244), made again with "
        "dpquantiles, and the same questions asked further. All runs are seeded: none of these "
        "releases carries a guarantee.</p>",
        "<ul class=note>" + "".join(f"<li>{_text(note)}</li>" for note in report.notes) + "</ul>",
        f"<p><strong>Claims: {_text(count_words(report.findings))}.</strong> "
        "<a href='#claims'>All of them</a> · "
        + " · ".join(f"<a href='#{s.figure}'>{_text(s.heading)}</a>" for s in SECTIONS)
        + "</p>",
    ]
    for section in SECTIONS:
        body += _html_section(report, section.figure)
    body += [
        "<h2 id=claims>The claims</h2>",
        "<p>A claim holds if the 95 % confidence interval (bootstrap over trials; of times over "
        "rounds) meets the accepted range. Sentences are the paper's, shortened; “roughly” and its "
        "kin are turned into the ranges that are shown.</p>",
        _claims_table(report.findings),
    ]
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>Differentially Private Quantiles, reproduced</title><style>{STYLE}</style></head>"
        f"<body>{chr(10).join(body)}</body></html>\n"
    )


def _html_section(report: Report, name: str) -> list[str]:
    section = next(section for section in SECTIONS if section.figure == name)
    own = [finding for finding in report.findings if finding.figure == name]
    repeats = f" Repeats: {_text(section.paper)}." if section.paper else ""
    lines = [
        f"<h2 id={name}>{_text(section.heading)}</h2>",
        f"<p>{_text(section.words)}<span class=note>{repeats}</span></p>",
        f"<img alt='{_text(section.heading)}' src='{_data_address(report.figures, name)}'>",
    ]
    lines += [_verdict_list(own)] if own else []
    if name == "shapes":
        for error, title in SHAPE_TITLES.items():
            lines += [f"<h3>{title}</h3>", _html_table(report.evidence, error)]
    return lines


def _data_address(folder: Path, name: str) -> str:
    picture = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{picture}"


def _verdict_list(findings: Sequence[Finding]) -> str:
    """One line per sentence: how often it holds."""
    sentences = dict.fromkeys(finding.claim for finding in findings)
    lines = []
    for sentence in sentences:
        own = [finding for finding in findings if finding.claim == sentence]
        marks = "; ".join(
            f"{_text(finding.about)}: {number(finding.measured)} {_verdict(finding)}"
            for finding in own
        )
        lines.append(f"<li><strong>{_text(sentence)}</strong> "
                     f"(the paper: {_text(own[0].paper)}). {marks}</li>")
    return f"<ul>{''.join(lines)}</ul>"


def _verdict(finding: Finding) -> str:
    words = f"{MARKS[finding.verdict]} {finding.verdict}"
    return f"<span class='verdict {CLASSES[finding.verdict]}'>{words}</span>"


def _claims_table(findings: Sequence[Finding]) -> str:
    lines = [
        "<table><tr><th>of</th><th>the paper</th><th>measured</th><th>95 % interval</th>"
        "<th>accepted</th><th>verdict</th></tr>"
    ]
    for sentence in dict.fromkeys(finding.claim for finding in findings):
        own = [finding for finding in findings if finding.claim == sentence]
        lines.append(
            f"<tr class=sentence><td colspan=6>{_text(sentence)}<br><span class=note>"
            f"{_text(own[0].quantity)} · <code>{_text(own[0].command)}</code></span></td></tr>"
        )
        for finding in own:
            lines.append(
                f"<tr><td>{_text(finding.about)}</td><td>{_text(finding.paper)}</td>"
                f"<td class=number>{number(finding.measured)}</td>"
                f"<td class=number>{interval(finding)}</td><td>{_text(finding.accepted)}</td>"
                f"<td>{_verdict(finding)}</td></tr>"
            )
    return "\n".join([*lines, "</table>"])


def _html_table(evidence: Evidence, error: str) -> str:
    header = "".join(f"<th>{_text(name)}</th>" for name in SHAPE_HEADER)
    rows = (
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
        for row in shape_rows(evidence, error)
    )
    return f"<table class=narrow><tr>{header}</tr>{''.join(rows)}</table>"


def _text(words: str) -> str:
    return html.escape(words, quote=True)


def markdown_summary(report: Report) -> str:
    """The same as Markdown, with the figures beside it."""
    lines = [
        "# Differentially Private Quantiles, reproduced",
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
                lines += ["", f"### {title}", "", *_markdown_table(report.evidence, error)]
    lines += ["", "## The claims", "", _row("claim", "of", "the paper", "measured", "95 % interval",
              "accepted", "verdict", "command"), "|---" * 8 + "|"]
    for f in report.findings:
        cells = (f.claim, f.about, f.paper, number(f.measured), interval(f), f.accepted)
        lines.append(_row(*cells, f.verdict, f"`{f.command}`"))
    return "\n".join(lines) + "\n"


def _markdown_table(evidence: Evidence, error: str) -> Iterator[str]:
    yield _row(*SHAPE_HEADER)
    yield "|---" * len(SHAPE_HEADER) + "|"
    for row in shape_rows(evidence, error):
        yield _row(*row)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
