"""Checks: each looks for the worst case against one claim; an audit runs many of them.

This module also has the parts that all checks of mechanisms share: budgets, quantiles and sizes.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.version import __version__

FORMAT = 1
"""Version of the JSON layout."""

DELTA = 0.01
"""The delta of mechanisms that promise an epsilon only together with a delta."""

PAIR, SINGLE = (0.25, 0.75), (0.5,)


@dataclass(frozen=True)
class Claim:
    """A claim about one subject, and the largest loss that it allows."""

    subject: str
    """The name of the mechanism, function or feature that is audited."""
    neighbors: str
    """The relation of the neighbors, or nothing if it does not matter."""
    method: str
    """"exact" evaluates probabilities, "spending" adds up fractions of a budget, "statistical"
    bounds epsilon from draws, "hostile" feeds bad records."""
    claim: str
    limit: float
    """The largest loss that the claim allows."""


@dataclass(frozen=True, kw_only=True)
class Finding(Claim):
    """One claim, and the worst case against it."""

    worst: float
    """The largest loss; if it is statistical, a lower bound on the true one."""
    passed: bool
    cases: int
    """The number of pairs of neighbors, budgets, draws or inputs."""
    seconds: float
    evidence: str = ""


class Worst(NamedTuple):
    """The worst case of a check, and the number of cases."""

    loss: float | Fraction
    cases: int
    evidence: str = ""


@dataclass(frozen=True)
class Check(Claim):
    """One claim that has not been checked yet."""

    run: Callable[[], Worst]
    slack: float = 0.0
    """The share of the limit by which rounding in doubles may exceed it."""

    def finding(self) -> Finding:
        """Run the check."""
        start = time.perf_counter()
        worst = self.run()
        return Finding(
            **{field.name: getattr(self, field.name) for field in fields(Claim)},
            worst=float(worst.loss),
            passed=worst.loss <= Fraction(self.limit) * (1 + Fraction(self.slack)),
            cases=worst.cases,
            seconds=time.perf_counter() - start,
            evidence=worst.evidence,
        )


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All findings; `print(audit)` shows them as a table."""

    findings: tuple[Finding, ...]
    confidence: float
    """A lower bound on the chance that no statistical bound is above the true loss."""
    version: str = __version__

    @property
    def passed(self) -> bool:
        """Whether every claim held."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings against a claim."""
        return tuple(finding for finding in self.findings if not finding.passed)

    def __str__(self) -> str:
        # The presentation is loaded only if somebody prints an audit.
        from dpquantiles.present.audits import text

        return text(self)

    def _repr_html_(self) -> str:
        from dpquantiles.present.audits import html

        return html(self)

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary; an infinite loss is None."""
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


def in_short(budget: Guarantee) -> str:
    """A budget for a column of a table."""
    delta = f", delta {budget.delta:g}" if isinstance(budget, ApproxDP) else ""
    return f"{budget.measure} {budget.amount:.3g}{delta}"


def budgets(name: str, relation: str, epsilon: float) -> Iterator[Guarantee]:
    """One budget of each kind; an approximate one only if there is no pure one."""
    kinds, neighbors = MECHANISMS[name].profile.kinds, Neighbors(relation)
    if "pure" in kinds:
        yield PureDP(epsilon=epsilon, neighbors=neighbors)
    elif "approximate" in kinds:
        yield ApproxDP(epsilon=epsilon, delta=DELTA, neighbors=neighbors)
    if "concentrated" in kinds:
        yield ZCDP(rho=epsilon**2 / 2, neighbors=neighbors)


def quantiles_of(name: str) -> tuple[float, ...]:
    """The quantiles that a mechanism is audited with."""
    return SINGLE if name == "slice_quantiles" else PAIR


def size_of(name: str, relation: str, size: int) -> int | None:
    """The public number of records to state, if the mechanism uses one."""
    uses = MECHANISMS[name].profile.uses_size
    return size if uses and relation == Neighbors.ADD_REMOVE else None


def stated(budget: Guarantee) -> dict[str, Any]:
    """A budget as keyword arguments of public functions."""
    delta = {"delta": budget.delta} if isinstance(budget, ApproxDP) else {}
    return {budget.measure: budget.amount, **delta, "neighbors": str(budget.neighbors)}
