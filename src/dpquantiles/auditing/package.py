"""The audit of the installed package: all checks of all mechanisms, quick or full."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dpquantiles import require
from dpquantiles.auditing import end_to_end, exact, hostile, spending
from dpquantiles.auditing.checks import Check
from dpquantiles.auditing.findings import Audit
from dpquantiles.auditing.laws import LAWS
from dpquantiles.errors import InvalidValue
from dpquantiles.mechanisms import registry

Progress = Callable[[int, int, str], None]
"""Told how many checks are done, of how many, and what comes next."""


class Effort(NamedTuple):
    """How much is tried."""

    sizes: tuple[int, ...]
    """Numbers of records of the data sets that are enumerated."""
    epsilons: tuple[float, ...]
    budgets: int
    draws: end_to_end.Counts
    draws_of_all: bool
    """Whether mechanisms whose laws are evaluated exactly are drawn from as well."""


QUICK = Effort((0, 1, 2), (1.0,), 20, end_to_end.Counts(16_000, 50_000), False)
FULL = Effort((0, 1, 2, 3), (1.0, 8.0), 60, end_to_end.Counts(60_000, 1_000_000), True)
"""About a minute, and about ten."""


def checks(names: Sequence[str] | None, effort: Effort, risk: float) -> list[Check]:
    """All that is checked of these mechanisms, or of the whole package, strongest first."""
    known, whole = tuple(registry.MECHANISMS), names is None
    wanted = known if names is None else tuple(require.choice(known, mechanism=n) for n in names)
    if not wanted:
        raise InvalidValue("mechanisms must name at least one mechanism, got none")
    drawn = [n for n in wanted if effort.draws_of_all or not whole or n not in LAWS]
    return [
        *exact.checks(wanted, effort.sizes, effort.epsilons),
        *(exact.keys_checks() if whole else ()),
        *spending.checks(wanted, effort.budgets),
        *(spending.extra_checks(effort.budgets) if whole else ()),
        *end_to_end.checks(drawn, whole, effort.draws, risk),
        *hostile.checks(wanted),
    ]


def audit(
    names: Sequence[str] | None, effort: Effort, confidence: float, progress: Progress | None
) -> Audit:
    """Run all checks of these mechanisms, of the whole package by default."""
    planned, findings = checks(names, effort, 1.0 - confidence), []
    for done, check in enumerate(planned):
        if progress is not None:
            progress(done, len(planned), f"{check.method}: {check.subject}")
        findings.append(check.finding())
    return Audit(findings=tuple(findings), confidence=confidence)
