"""What an audit found: one row per claim, and all of them as one value."""

import json
import math
from dataclasses import asdict, dataclass

from dpquantiles.version import __version__

FORMAT = 1
"""Version of the JSON layout."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim, and the worst that was found against it."""

    subject: str
    """What was audited."""
    neighbors: str
    """The relation of the neighbors, or nothing where it does not matter."""
    method: str
    """"exact" evaluates probabilities, "spending" adds up fractions of a budget, "statistical"
    bounds epsilon from draws, "hostile" feeds bad records."""
    claim: str
    limit: float
    """The largest loss that the claim allows."""
    worst: float
    """The largest that was found; where it is statistical, a bound that the true one exceeds."""
    passed: bool
    cases: int
    """Pairs of neighbors, budgets, draws or inputs."""
    seconds: float
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All findings; `print(audit)` shows them as a table."""

    findings: tuple[Finding, ...]
    confidence: float
    """The chance that no statistical bound of these is above the true loss, at least."""
    version: str = __version__

    @property
    def passed(self) -> bool:
        """Whether every claim held."""
        return all(finding.passed for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings against a claim."""
        return tuple(finding for finding in self.findings if not finding.passed)

    def __str__(self) -> str:
        # Drawing is loaded only when a person looks.
        from dpquantiles.present.audits import text

        return text(self)

    def _repr_html_(self) -> str:
        from dpquantiles.present.audits import html

        return html(self)

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary; a loss without bound is None."""
        findings = [asdict(finding) for finding in self.findings]
        for plain in findings:
            plain["worst"] = plain["worst"] if math.isfinite(plain["worst"]) else None
        return {
            "format": FORMAT,
            "version": self.version,
            "passed": self.passed,
            "confidence": self.confidence,
            "findings": findings,
        }

    def to_json(self) -> str:
        """The audit as JSON text."""
        return json.dumps(self.to_dict(), indent=2)
