"""An audit for people: a table of its findings as text or HTML, and a verdict."""

import textwrap

from dpquantiles.auditing.checks import Audit, Finding
from dpquantiles.present import tables

TITLES = {
    "exact": "Exact: the largest loss between neighbors, over all small data sets",
    "spending": "Spending: the parts of a budget, added up as fractions, by the budget",
    "statistical": "Statistical: a lower bound on epsilon, from draws of two neighbors",
    "hostile": "Hostile: records that made a release raise, warn or change its shape",
}
"""The titles of the tables, by the method of the findings."""


def text(audit: Audit, width: int = tables.WIDTH) -> str:
    """An audit as plain text: a table for each method, then the failures, then the verdict."""
    head, *rows = tables.lines(_columns(audit))
    lines: list[str] = []
    for method, title in TITLES.items():
        both = zip(audit.findings, rows, strict=True)
        part = [row for finding, row in both if finding.method == method]
        lines += [title, "", head, *part, ""] if part else []
    for finding in audit.failures:
        lines += [*textwrap.wrap(_against(finding), width), ""]
    return "\n".join([*lines, *textwrap.wrap(verdict(audit), width)])


def html(audit: Audit) -> str:
    """An audit as HTML."""
    said = [verdict(audit), *map(_against, audit.failures)]
    methods = {"method": [finding.method for finding in audit.findings]}
    return tables.html([tables.cells(_columns(audit) | methods, 420)], said, good=audit.passed)


def _columns(audit: Audit) -> dict[str, list[str]]:
    findings = audit.findings
    return {
        "audited": [f.subject for f in findings],
        "neighbors": [f.neighbors for f in findings],
        "claim": [f.claim.replace("epsilon", "eps") for f in findings],
        "found": [f"{f.worst:.4g}{'' if f.passed else ' !'}" for f in findings],
        "cases": [_number(f.cases) for f in findings],
        "time": [
            f"{f.seconds:.0f} s" if f.seconds >= 10 else f"{f.seconds:.1f} s" for f in findings
        ],
    }


def _number(cases: int) -> str:
    return f"{cases / 1e6:.3g}M" if cases >= 1_000_000 else f"{cases:,}"


def _against(finding: Finding) -> str:
    where = f" ({finding.evidence})" if finding.evidence else ""
    return (
        f"! {finding.subject}, neighbors {finding.neighbors}: the claim of {finding.claim} does "
        f"not hold. The {finding.method} check found {finding.worst:.4g}{where}."
    )


def verdict(audit: Audit) -> str:
    """All findings in a sentence or two."""
    count, failed = len(audit.findings), len(audit.failures)
    statistical = any(finding.method == "statistical" for finding in audit.findings)
    chance = f"{1 - audit.confidence:.2g}"
    risk = (
        f" Statistical losses are lower bounds; a true claim fails with a chance below {chance}."
        if statistical
        else ""
    )
    if failed:
        return f"{failed} of {count} claims failed.{risk}"
    checks = "one check" if count == 1 else f"{count} checks"
    return f"No loss above its claim was found, in {checks}.{risk}"
