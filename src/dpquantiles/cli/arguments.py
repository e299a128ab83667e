"""Arguments as values: each function takes text and returns a value, or says what is wrong."""

import difflib
import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dpquantiles import privacy, require
from dpquantiles.charging import Account
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, default_grid
from dpquantiles.intervals import DATA, SUBJECTS, Intervals, require_level
from dpquantiles.kinds import Datetime, Kind
from dpquantiles.ledger import Ledger
from dpquantiles.privacy import Guarantee
from dpquantiles.sources.cells import parse
from dpquantiles.views.filled import MISSING_POLICIES

MOST_QUANTILES = 100_000
"""The most quantiles that one range may stand for."""

SPANS = frozenset({"date", "datetime", "timedelta"})
"""Types whose distances are lengths of time."""

EXAMPLES = {
    "int": "18",
    "float": "0.5",
    "bool": "true",
    "decimal": "9.99",
    "date": "2024-05-31",
    "datetime": "2024-05-31T12:30",
    "timedelta": "1h 30min",
}


def quantiles(text: str) -> tuple[float, ...]:
    """Numbers, names and ranges, separated by commas; each quantile once."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return require.quantiles(q=list(dict.fromkeys(q for item in items for q in _item(item))))


def _item(text: str) -> Iterator[float]:
    if ":" in text:
        yield from _range(text)
    elif text[0].isalpha() and parse(text, "float") is None:
        yield from require.quantiles(q=text)
    else:
        yield float(_decimal(text))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidValue(
            f"q must be numbers between 0 and 1, names or ranges, separated by commas, "
            f"got {text!r}; for example 0.25,0.5,0.75 or deciles or 0.1:0.9:0.1"
        ) from None


def _range(text: str) -> Iterator[float]:
    """start:stop:step, ends included, in exact decimals: 0.1:0.9:0.1 is the nine deciles."""
    parts = [_decimal(part.strip()) for part in text.split(":")]
    if len(parts) != 3 or not all(part.is_finite() for part in parts):
        raise InvalidValue(f"q must give ranges as start:stop:step, got {text!r}")
    start, stop, step = parts
    if step <= 0 or stop < start:
        raise InvalidValue(f"q must give ranges that ascend, start <= stop, step > 0, got {text!r}")
    if stop - start > step * MOST_QUANTILES:
        raise InvalidValue(f"q must be at most {MOST_QUANTILES} quantiles, got {text!r}")
    for k in range(int((stop - start) / step) + 1):
        yield float(start + k * step)


def epsilon(text: str) -> float:
    """The privacy budget as one number."""
    return require.positive(epsilon=number("epsilon", text, "1"))


def budget(epsilon: str | None, delta: str | None, rho: str | None, neighbors: str) -> Guarantee:
    """The privacy budget: epsilon, epsilon and delta, or rho."""
    if epsilon is None and rho is None:
        raise InvalidValue("epsilon must be given, for example --epsilon 1 (or --rho 0.5)")
    return privacy.budget(
        epsilon=None if epsilon is None else number("epsilon", epsilon, "1"),
        delta=None if delta is None else number("delta", delta, "1e-6"),
        rho=None if rho is None else number("rho", rho, "0.5"),
        neighbors=neighbors,
    )


def intervals(level: str | None, of: str) -> Intervals | None:
    """Intervals at a level, of the data or of the population."""
    subject = require.choice(SUBJECTS, intervals_of=of)
    if level is None:
        if subject != DATA:
            raise InvalidValue(f"intervals must be given with intervals-of, got {of!r} alone")
        return None
    return Intervals(require_level(intervals=number("intervals", level, "0.95")), subject)


def account(
    ledger: Path | None,
    dataset: str | None,
    part: str | None,
    request_id: str | None,
) -> Account | None:
    """Where a release is charged; None without a ledger."""
    if ledger is not None:
        if dataset is None:
            raise InvalidValue(
                "dataset must be given with --ledger, for example --dataset payroll-2026"
            )
        return Account(ledger=Ledger(ledger), dataset=dataset, part=part, request_id=request_id)
    for name, text in (("dataset", dataset), ("part", part), ("request-id", request_id)):
        if text is not None:
            raise InvalidValue(f"{name} must be given together with --ledger, got {text!r} alone")
    return None


def number(parameter: str, text: str, example: str) -> float:
    """One number."""
    found = parse(text, "float")
    if found is None:
        raise InvalidValue(
            f"{parameter} must be a positive, finite number, got {text!r}; try {example}"
        )
    return float(found)


def whole(parameter: str, text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidValue(f"{parameter} must be a whole number, got {text!r}") from None


def _parse(text: str, kind: Kind) -> Any:
    """A value of a column's type, a clock reading being one in the column's time zone; or None."""
    parsed = parse(text.strip(), kind.name)
    if isinstance(kind, Datetime) and parsed is not None and parsed.tzinfo is None:
        return parsed.replace(tzinfo=kind.zone)
    return parsed


def value(text: str, kind: Kind, parameter: str) -> Any:
    """A public parameter in the type of the column."""
    parsed = _parse(text, kind)
    if parsed is None:
        raise InvalidValue(
            f"{parameter} must be of type {kind.name} like the column, got {text!r}; "
            f"for example {EXAMPLES[kind.name]}"
        )
    return parsed


def grid(kind: Kind, bounds: tuple[str, str] | None, resolution: str | None) -> Grid:
    """The grid of a column, from bounds and resolution as text."""
    ends = None if bounds is None else tuple(value(text, kind, "bounds") for text in bounds)
    return default_grid(kind, ends, None if resolution is None else _step(resolution, kind))


def _step(text: str, kind: Kind) -> Any:
    if kind.name not in SPANS:
        return value(text, kind, "resolution")
    step = parse(text.strip(), "timedelta")
    if step is None:
        raise InvalidValue(
            f"resolution must be a length of time, got {text!r}; for example 7d or 1h"
        )
    return step


def missing(text: str | None, kind: Kind) -> Any:
    """A policy for missing values, or a value of the column's type that stands in for them."""
    if text is None or text in MISSING_POLICIES:
        return text
    stand_in = _parse(text, kind)
    if stand_in is None or (isinstance(stand_in, float) and not math.isfinite(stand_in)):
        near = difflib.get_close_matches(text, MISSING_POLICIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"for example {EXAMPLES[kind.name]}"
        raise InvalidValue(
            f"missing must be one of {', '.join(map(repr, MISSING_POLICIES))} or a value of "
            f"type {kind.name}, got {text!r}; {hint}"
        )
    return stand_in
