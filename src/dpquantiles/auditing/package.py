"""The audit of the installed package, quick or full, or of any function."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dpquantiles import require
from dpquantiles.auditing import exact, releases, spending
from dpquantiles.auditing.checks import Audit, Check, Worst, in_short
from dpquantiles.auditing.events import Failed, caught
from dpquantiles.auditing.laws import LAWS
from dpquantiles.auditing.statistical import LEAST_DRAWS, evidence
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.privacy import budget

Progress = Callable[[int, int, str], None]
"""A function that is called with how many checks are done, of how many, and what comes next."""


class Effort(NamedTuple):
    """The number of cases that an audit tries."""

    sizes: tuple[int, ...]
    """The sizes of the data sets that are enumerated."""
    epsilons: tuple[float, ...]
    budgets: int
    draws: int
    """Draws of each neighbor, over all single releases together."""
    group_draws: int
    """Draws of each neighbor, for each kind of release by group."""
    draws_of_all: bool
    """Whether to draw also from mechanisms whose laws are checked exactly."""


QUICK = Effort((0, 1, 2), (1.0,), 20, 16_000, 50_000, False)
FULL = Effort((0, 1, 2, 3), (1.0, 8.0), 60, 60_000, 1_000_000, True)
"""About a minute, and about ten."""


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
    progress: Progress | None = None,
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
        epsilon: With a function, the epsilon that it claims.
        delta: With a function, the delta that it claims with epsilon.
        draws: With a function, how many results of each data set are drawn.
        confidence: The least chance that true claims pass the statistical checks, all of them
            together.
        mechanisms: Without a function, which mechanisms to audit, by name; all by default.
        full: Without a function, about ten minutes of checks instead of one.
        progress: Without a function, called before each check with how many are done, of how
            many, and what comes next.

    Returns:
        An `Audit`: `passed`, one `Finding` per claim, `print(audit)` for a table, `to_json()`.
    """
    sure = require.fraction(confidence=confidence)
    if release is not None:
        check = function_check(release, neighbors, epsilon, delta, draws, 1.0 - sure)
        return Audit(findings=(check.finding(),), confidence=sure)
    if neighbors is not None or epsilon is not None:
        raise InvalidType("release must be given with neighbors and epsilon: the function")
    names = (mechanisms,) if isinstance(mechanisms, str) else mechanisms
    return audit_package(names, FULL if full else QUICK, sure, progress)


def function_check(
    release: Callable[[Any], Any],
    neighbors: tuple[Any, Any] | None,
    epsilon: float | None,
    delta: float,
    draws: int,
    risk: float,
) -> Check:
    """The statistical check of a function; arguments as in `audit`."""
    if not callable(release):
        raise InvalidType(
            f"release must be a function of one data set, got {require.shown(release)}; "
            "name mechanisms of this package as mechanisms=[...]"
        )
    if neighbors is None or epsilon is None:
        raise InvalidType("neighbors and epsilon must be given with a function, such as ([0], [1])")
    pair = require.pair(neighbors=neighbors)
    count = require.count(minimum=LEAST_DRAWS, draws=draws)
    promise = budget(epsilon=epsilon, delta=delta or None)

    def run() -> Worst:
        one, other = ([caught(release, data) for _ in range(count)] for data in pair)
        if all(isinstance(output, Failed) for output in (*one, *other)):
            release(pair[0])  # A function that never works raises its own error here.
        best = evidence(one, other, delta, risk)
        return Worst(best.epsilon, 2 * count, str(best))

    name = getattr(release, "__name__", type(release).__name__)
    return Check(name, "as given", "statistical", in_short(promise), promise.amount, run)


def audit_package(
    names: Sequence[str] | None, effort: Effort, confidence: float, progress: Progress | None
) -> Audit:
    """Run all checks of these mechanisms, or of the whole package."""
    planned, findings = package_checks(names, effort, 1.0 - confidence), []
    for done, check in enumerate(planned):
        if progress is not None:
            progress(done, len(planned), f"{check.method}: {check.subject}")
        findings.append(check.finding())
    return Audit(findings=tuple(findings), confidence=confidence)


def package_checks(names: Sequence[str] | None, effort: Effort, risk: float) -> list[Check]:
    """All checks of these mechanisms, or of the whole package, the strongest first."""
    whole, listed = names is None, MECHANISMS if names is None else names
    chosen = [require.choice(MECHANISMS, mechanism=name) for name in listed]
    if not chosen:
        raise InvalidValue("mechanisms must name at least one mechanism, got none")
    drawn = [n for n in chosen if effort.draws_of_all or not whole or n not in LAWS]
    return [
        *exact.checks(chosen, effort.sizes, effort.epsilons),
        *(exact.keys_checks() if whole else ()),
        *spending.checks(chosen, effort.budgets),
        *(spending.extra_checks(effort.budgets) if whole else ()),
        *releases.checks(drawn, whole, effort.draws, effort.group_draws, risk),
        *releases.hostile_checks(chosen),
    ]
