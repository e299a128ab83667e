"""Arguments as values: each function turns text into a value, or raises an error that helps."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

from dpquantiles import privacy, require
from dpquantiles.errors import InvalidValue
from dpquantiles.intervals import DATA, SUBJECTS, Intervals, require_level
from dpquantiles.privacy import Guarantee
from dpquantiles.sources.cells import parse
from dpquantiles.sources.named import Dialect

MOST_DIGITS = 1000
"""Longer numbers would take long to become whole ones."""

MOST_QUANTILES = 100_000
"""The most quantiles that one range may stand for."""


def quantiles(text: str) -> tuple[float, ...]:
    """Numbers, percentiles, names and ranges, separated by commas; each quantile once."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return require.quantiles(q=list(dict.fromkeys(q for item in items for q in _item(item))))


def _item(text: str) -> Iterator[float]:
    if ":" in text:
        yield from _range(text)
    elif re.fullmatch(r"[pP][\d.]+", text):
        yield float(_decimal(text[1:]) / 100)
    elif text[0].isalpha() and parse(text, "float") is None:
        yield from require.quantiles(q=text)
    else:
        number = _decimal(text)
        if number.is_finite() and 1 < number <= 100:
            raise InvalidValue(
                f"q must lie between 0 and 1, got {text}; the percentile is p{text}, which is "
                f"{number / 100:f} as a quantile"
            )
        yield float(number)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidValue(
            f"q must be numbers between 0 and 1, percentiles, names or ranges, separated by "
            f"commas, got {text!r}; for example 0.25,0.5,0.75 or p99.9 or deciles or 0.1:0.9:0.1"
        ) from None


def _range(text: str) -> Iterator[float]:
    """start:stop:step with both ends, in exact decimals: 0.1:0.9:0.1 gives the nine deciles."""
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


def number(parameter: str, text: str, example: str) -> float:
    """One number."""
    parsed = parse(text, "float")
    if parsed is None:
        raise InvalidValue(
            f"{parameter} must be a positive, finite number, got {text!r}; try {example}"
        )
    return float(parsed)


def whole(parameter: str, text: str) -> int:
    """A whole number, which may be written as 1000000, 1_000_000 or 1e6."""
    try:
        number = Decimal(text)
        if number.is_finite() and number.adjusted() <= MOST_DIGITS and number == int(number):
            return int(number)
    except InvalidOperation:
        pass
    raise InvalidValue(f"{parameter} must be a whole number, got {text!r}")


def dialect(
    delimiter: str | None, decimal: str, thousands: str | None, na: Iterable[str] | None
) -> Dialect:
    """How CSV files are written; a tab may be typed by its name, or as in Python."""
    tab = delimiter is not None and delimiter.lower() in ("\\t", "tab")
    return Dialect("\t" if tab else delimiter, decimal, thousands, tuple(na or ()))
