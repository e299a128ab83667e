"""What must hold of a call on two data sets: findings are the sentences that say what did not."""

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

import dpquantiles as dpq
from experiments.fuzz.calls import Outcome, raised_here
from experiments.fuzz.cases import Case

REFUSALS = {
    *("ValueError", "TypeError", "InvalidValue", "InvalidType"),
    *("LedgerError", "BudgetExceeded", "DemandTooLarge", "MissingBackend"),
}
"""Errors that wrong parameters may meet, these classes exactly; no others, whatever data are."""

NOT_OURS = ("fetch_arrow_table() is deprecated",)
"""Warnings of libraries about each other: Ibis calls DuckDB so, whatever is asked of it."""

PYTHON_TYPES = {
    "float": float,
    "int": int,
    "bool": bool,
    "decimal": Decimal,
    "date": dt.date,
    "datetime": dt.datetime,
    "timedelta": dt.timedelta,
}
MOST_SECONDS = 20.0
"""Of computing, for one call on so few records."""


def findings(case: Case, harmless: Outcome, hostile: Outcome) -> list[str]:
    """What is wrong, in words; nothing where all is well."""
    both = (("harmless", harmless), ("hostile", hostile))
    found = list(_told_apart(case, harmless, hostile))
    for side, outcome in both:
        alone = [*_said(case, outcome), *_raised(outcome), *_accounted(case, outcome)]
        if outcome.made is not None:
            alone += _made(case, outcome.made)
        found += [f"{side}: {words}" for words in alone]
    return found


def _told_apart(case: Case, harmless: Outcome, hostile: Outcome) -> Iterator[str]:
    """Data must not decide what is seen, but for the answers."""
    if harmless.words != hostile.words:
        yield f"outcomes differ: {harmless.words or 'released'!r}, {hostile.words or 'released'!r}"
    elif harmless.made is not None:
        first, second = (shape(outcome.made, case) for outcome in (harmless, hostile))
        if first != second:
            yield f"shapes differ: {first}, {second}"


def shape(made: Any, case: Case) -> Any:
    """All of a result that data must not change."""
    if isinstance(made, dpq.Plan):
        return made.to_json()
    if isinstance(made, dpq.Description):
        parts = {name: shape(release, case) for name, release in made.releases.items()}
        return parts, str(made.guarantee), made.note
    grouped = isinstance(made, dpq.GroupedRelease)
    found = case.options.get("keys") == "private"
    rows = made.values if grouped else (made.values,)
    told = made.provenance
    public = {name: told.get(name) for name in ("budget", "choice", "size_share")}
    # A grid that is drawn with the answers is part of them.
    public["grid"] = {k: v for k, v in (told.get("grid") or {}).items() if k != "member"}
    if case.neighbors == "swap":
        public |= {name: told.get(name) for name in ("size", "sizes")}
    # What a privately chosen mechanism tells of itself is private already.
    kept = ["taken"] if "taken" in told else sorted(told)
    return (
        type(made).__name__,
        made.type,
        () if found or not grouped else made.keys,
        sorted({len(row) for row in rows}) if not found else (),
        made.q,
        made.mechanism,
        made.note,
        str(made.guarantee),
        kept,
        public,
    )


def _said(case: Case, outcome: Outcome) -> Iterator[str]:
    """No warning, no output, and nothing of the data anywhere."""
    for line in outcome.said.splitlines():
        if line.startswith(("warning:", "output:")) and not any(w in line for w in NOT_OURS):
            yield line
    text = outcome.everything
    for data in case.data:
        for canary in data.canaries:
            if canary in text:
                yield f"a record is quoted: {text}"
        n = len(data.rows)
        stated = re.search(rf"\b{n}\b", repr(case.options))
        if case.neighbors != "swap" and n >= 40 and not stated and re.search(rf"\b{n}\b", text):
            yield f"the number of records is quoted: {text}"


def _raised(outcome: Outcome) -> Iterator[str]:
    if outcome.error is not None:
        if type(outcome.error).__name__ not in REFUSALS:
            yield f"no refusal but an accident: {outcome.words}"
        elif not raised_here(outcome.error):
            yield f"raised by accident: {outcome.words}"
    if outcome.seconds > MOST_SECONDS:
        yield f"took more than {MOST_SECONDS:g} s of computing"


def _accounted(case: Case, outcome: Outcome) -> Iterator[str]:
    """What was released was charged, once; what was refused was not."""
    if case.ledger is None:
        return
    actions = [entry["action"] for entry in outcome.entries]
    if outcome.made is not None:
        if actions != ["charge", "release"]:
            yield f"released, and the ledger holds {actions}"
        else:
            cost = outcome.entries[0]["cost"]
            asked = {name: float(amount) for name, amount in case.budget.items()}
            if {name: cost.get(name) for name in asked} != asked:
                yield f"charged {cost}, asked for {asked}"
        if "request_id" in case.options and outcome.again != outcome.made:
            yield "another release under the same request id"
    elif actions and not (case.known_late and actions == ["charge"]):
        yield f"refused, and the ledger holds {actions}: {outcome.words}"


def _made(case: Case, made: Any) -> Iterator[str]:
    if isinstance(made, dpq.Plan):
        return
    if type(made).from_json(made.to_json()) != made:
        yield "JSON gives back something else"
    if (made.guarantee is not None) != case.private or not (made.note or case.private):
        yield f"guarantee {made.guarantee}, note {made.note!r}, private bits: {case.private}"
    if made.guarantee is not None:
        yield from _promised(case, made.guarantee)
    if isinstance(made, dpq.Description):
        for release in made.releases.values():
            yield from _answers(case, release.values, release)
    else:
        grouped = isinstance(made, dpq.GroupedRelease)
        for row in made.values if grouped else (made.values,):
            yield from _answers(case, row, made)


def _promised(case: Case, guarantee: Any) -> Iterator[str]:
    """No more is spent than was asked for, for the neighbors and the units that were asked for."""
    asked = {name: float(amount) for name, amount in case.budget.items()}
    for name in ("epsilon", "delta", "rho"):
        spent = getattr(guarantee, name, 0.0)
        if name in asked and spent > asked[name]:
            yield f"{name} {spent!r} is promised, {asked[name]!r} was asked for"
    if str(guarantee.neighbors) != case.neighbors or guarantee.unit != case.options.get("unit"):
        yield f"the guarantee is for others: {guarantee}"


def _answers(case: Case, values: Any, made: Any) -> Iterator[str]:
    """Answers are of the type, on the grid, within bounds and in order."""
    if len(values) != len(made.q):
        yield f"{len(values)} answers to {len(made.q)} quantiles"
    kind = PYTHON_TYPES[made.type]
    if any(type(value) is not kind for value in values):
        yield f"answers of type {sorted({type(value).__name__ for value in values})}"
        return
    ordered = sorted(zip(made.q, values, strict=True), key=lambda pair: pair[0])
    if any(later < earlier for (_, earlier), (_, later) in pairwise(ordered)):
        yield "answers are not in the order of their quantiles"
    grid, ends = case.options.get("grid"), case.options.get("bounds")
    if (
        grid is not None
        and made.type != "datetime"
        and grid.decode(_steps(grid, values)) != list(values)
    ):
        yield f"answers off the grid: {values}"
    if isinstance(ends, tuple) and not all(_between(ends, value) for value in values):
        yield f"answers out of bounds: {values}"
    doubles = made.type == "float" and made.provenance["grid"]["name"] == "float"
    every = dpq.FloatGrid()
    if doubles and every.decode(every.encode(np.array(values))) != list(values):
        yield f"answers off the grid: {values}"


def _between(ends: tuple[Any, Any], value: Any) -> bool:
    """Whether an answer is within the bounds; if it is a double, as doubles."""
    low, high = map(float, ends) if isinstance(value, float) else ends
    return bool(low <= value <= high)


def _steps(grid: Any, values: Any) -> Any:
    return grid.encode(np.array([grid.kind.number(value, "values") for value in values]))
