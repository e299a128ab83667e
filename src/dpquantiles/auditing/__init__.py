"""Audits: what a skeptic can check about this package, or about any function, on any machine."""

from collections.abc import Callable, Sequence
from typing import Any

from dpquantiles import require
from dpquantiles.auditing.findings import Audit, Finding
from dpquantiles.errors import InvalidType

__all__ = ["Audit", "Finding", "audit"]


def audit(
    release: Callable[[Any], Any] | None = None,
    *,
    neighbors: tuple[Any, Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    draws: int = 20_000,
    confidence: float = 0.999,
    mechanisms: str | Sequence[str] | None = None,
    full: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> Audit:
    """Look for the worst case against a privacy claim: of any function, or of this package.

    With a function, its results on two neighboring data sets are drawn many times, and compared.
    An audit that fails has found an event that refutes the claim. One that passes has found none:
    that is no proof.

    Args:
        release: A function of one data set that returns anything: a number, several, text, a
            `Release`. An error that it raises counts as a result. Without it the installed package
            is audited: exact laws over all neighbors of small data sets, sums of budgets, draws of
            real releases, hostile records.
        neighbors: With a function, two data sets that differ in one record.
        epsilon: With a function, what it claims.
        delta: With a function, what it claims beside epsilon.
        draws: With a function, how many results of each data set are drawn.
        confidence: The chance, at least, that a true claim passes the statistical checks, all of
            them together.
        mechanisms: Without a function, which mechanisms to audit, by name; all by default.
        full: Without a function, about ten minutes of checks in place of one.
        progress: Without a function, is told before each check how many are done, of how many,
            and what comes next.

    Returns:
        An `Audit`: `passed`, one `Finding` per claim, `print(audit)` for a table, `to_json()`.
    """
    sure = require.fraction(confidence=confidence)
    if release is None:
        if neighbors is not None or epsilon is not None:
            raise InvalidType("release must be given with neighbors and epsilon: the function")
        # What audits the package imports all of it, which a program that audits nothing spares.
        from dpquantiles.auditing.package import FULL, QUICK
        from dpquantiles.auditing.package import audit as audit_package

        names = (mechanisms,) if isinstance(mechanisms, str) else mechanisms
        return audit_package(names, FULL if full else QUICK, sure, progress)
    from dpquantiles.auditing.function import audit as audit_function

    return audit_function(release, neighbors, epsilon, delta, draws, sure)
