"""One self-contained HTML page from findings and figures."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from experiments.paper.claims import Finding
from experiments.paper.intervals import BETTER, FAILS, HOLDS
from experiments.paper.results import Results
from experiments.paper.sections import SECTIONS, Section
from experiments.paper.words import (
    MARKS,
    SHAPE_HEADER,
    SHAPE_TITLES,
    Report,
    count_words,
    interval,
    number,
    sentences,
    shape_rows,
)

TITLE = "Differentially Private Quantiles, reproduced"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff;
       max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; height: auto; display: block; margin: .5rem auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; width: 100%; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .5rem; text-align: left;
         vertical-align: top; }
th { background: #f2f2f2; } td.number { text-align: right; white-space: nowrap; }
table.narrow { font-size: 12px; } table.narrow td, table.narrow th { padding: .2rem .25rem; }
table.narrow td { white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: #00563f; } .better { color: #004a73; } .fails { color: #8f3b00; }
.note { color: #444; font-weight: 400; } code { background: #f2f2f2; padding: 0 .2rem; }
.pair { display: flex; gap: 1.5rem; } .pair table { flex: 1; }
caption { font-weight: 600; text-align: left; }
.sentence td { background: #fafafa; font-weight: 600; }
"""
CLASSES = {HOLDS: "holds", BETTER: "better", FAILS: "fails"}


def render(report: Report) -> str:
    """The page."""
    links = (f"<a href='#{s.figure}'>{_text(s.heading)}</a>" for s in SECTIONS)
    notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
    body = [
        f"<h1>{TITLE}</h1>",
        "<p>Every figure and table of the experiments of Gillenwater, Joseph and Kulesza, "
        "<em>Differentially Private Quantiles</em> (ICML 2021, arXiv 2102.08244), made again with "
        "dpquantiles, and the same questions asked further. All runs are seeded: none of these "
        "releases carries a guarantee.</p>",
        f"<ul class=note>{notes}</ul>",
        f"<p><strong>Claims: {_text(count_words(report.findings))}</strong> "
        "(<a href='#claims'>all of them</a>).</p>",
        f"<p class=note>{' · '.join(links)}</p>",
    ]
    for section in SECTIONS:
        body += _section(report, section)
    body += _all_claims(report.findings)
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>{TITLE}</title><style>{STYLE}</style></head>"
        f"<body>{chr(10).join(body)}</body></html>\n"
    )


def _section(report: Report, section: Section) -> list[str]:
    name = section.figure
    own = [finding for finding in report.findings if finding.figure == name]
    repeats = f" Repeats: {_text(section.paper)}." if section.paper else ""
    lines = [
        f"<h2 id={name}>{_text(section.heading)}</h2>",
        f"<p>{_text(section.words)}<span class=note>{repeats}</span></p>",
        f"<img alt='{_text(section.heading)}' src='{_address(report.figures, name)}'>",
    ]
    lines += [_verdicts(own)] if own else []
    if name == "shapes":
        tables = (_shapes(report.results, *item) for item in SHAPE_TITLES.items())
        lines += [f"<div class=pair>{''.join(tables)}</div>"]
    return lines


def _address(folder: Path, name: str) -> str:
    """The picture itself, as an address, so that the page needs no other file."""
    picture = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{picture}"


def _verdicts(findings: Sequence[Finding]) -> str:
    """Sentences down, data sets across: the number and whether it holds."""
    columns = list(dict.fromkeys(finding.data for finding in findings))
    heads = "".join(f"<th>{_text(column)}</th>" for column in columns)
    lines = [f"<table><tr><th>claim</th><th>of</th>{heads}</tr>"]
    for sentence, own in sentences(findings).items():
        rows = list(dict.fromkeys(finding.of for finding in own))
        words = f"{_text(sentence)} <span class=note>(the paper: {_text(own[0].paper)})</span>"
        first = f"<td rowspan={len(rows)}>{words}</td>"
        for of in rows:
            cells = {finding.data: finding for finding in own if finding.of == of}
            row = "".join(f"<td>{_cell(cells.get(column))}</td>" for column in columns)
            lines.append(f"<tr>{first}<td>{_text(of)}</td>{row}</tr>")
            first = ""
    return "".join([*lines, "</table>"])


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return ""
    title = f"{finding.verdict}; {interval(finding)}"
    style = CLASSES[finding.verdict]
    mark = MARKS[finding.verdict]
    return f"<span class='verdict {style}' title='{title}'>{number(finding.measured)} {mark}</span>"


def _all_claims(findings: Sequence[Finding]) -> list[str]:
    lines = [
        "<h2 id=claims>The claims</h2>",
        "<p>A claim holds (✓) if the 95% confidence interval (bootstrap over trials; of times, "
        "over rounds) meets the accepted range, is better (▲) beyond its good end, and does not "
        "hold (✗) otherwise. Sentences are the paper's, shortened; “roughly” and its kin are "
        "turned into the ranges that are shown.</p>",
        "<table><tr><th>of</th><th>data</th><th>the paper</th><th>measured</th>"
        "<th>95% interval</th><th>accepted</th><th>verdict</th></tr>",
    ]
    for sentence, own in sentences(findings).items():
        about = f"{_text(own[0].quantity)} · <code>{_text(own[0].command)}</code>"
        lines.append(
            f"<tr class=sentence><td colspan=7>{_text(sentence)}<br>"
            f"<span class=note>{about}</span></td></tr>"
        )
        lines += [_claim_row(finding) for finding in own]
    return [*lines, "</table>"]


def _claim_row(finding: Finding) -> str:
    words = f"{MARKS[finding.verdict]} {finding.verdict}"
    return (
        f"<tr><td>{_text(finding.of)}</td><td>{_text(finding.data)}</td>"
        f"<td>{_text(finding.paper)}</td><td class=number>{number(finding.measured)}</td>"
        f"<td class=number>{interval(finding)}</td><td>{_text(finding.accepted)}</td>"
        f"<td><span class='verdict {CLASSES[finding.verdict]}'>{words}</span></td></tr>"
    )


def _shapes(results: Results, error: str, title: str) -> str:
    header = "".join(f"<th>{_text(name)}</th>" for name in SHAPE_HEADER)
    rows = (
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
        for row in shape_rows(results, error)
    )
    caption = f"<caption>{_text(title)}</caption>"
    return f"<table class=narrow>{caption}<tr>{header}</tr>{''.join(rows)}</table>"


def _text(words: str) -> str:
    return html.escape(words, quote=True)
