"""A check: one claim, and how to look for the worst case against it; run, it is a finding."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dpquantiles.auditing.findings import Finding
from dpquantiles.privacy import ApproxDP, Guarantee


class Found(NamedTuple):
    """The worst case that a check found, and among how many."""

    worst: float | Fraction
    cases: int
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One claim; nothing has been run yet."""

    subject: str
    neighbors: str
    method: str
    claim: str
    limit: float
    run: Callable[[], Found]
    slack: float = 0.0
    """By which share of the limit doubles may be off."""

    def finding(self) -> Finding:
        """What comes of it."""
        start = time.perf_counter()
        found = self.run()
        return Finding(
            subject=self.subject,
            neighbors=self.neighbors,
            method=self.method,
            claim=self.claim,
            limit=self.limit,
            worst=float(found.worst),
            passed=found.worst <= Fraction(self.limit) * (1 + Fraction(self.slack)),
            cases=found.cases,
            seconds=time.perf_counter() - start,
            evidence=found.evidence,
        )


def in_short(budget: Guarantee) -> str:
    """A budget for a column of a table."""
    delta = f", delta {budget.delta:g}" if isinstance(budget, ApproxDP) else ""
    return f"{budget.measure} {budget.amount:.3g}{delta}"
