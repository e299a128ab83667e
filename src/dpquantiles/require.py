"""Checks of public parameters: each takes one keyword, returns it normalized, or says what is wrong.

Only public parameters pass through here. Data never do, because an error is an observable event.
"""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real

NAMED_QUANTILES: dict[str, tuple[float, ...]] = {
    "median": (0.5,),
    "quartiles": (0.25, 0.5, 0.75),
    "deciles": tuple(k / 10 for k in range(1, 10)),
    "percentiles": tuple(k / 100 for k in range(1, 100)),
}


def _single(parameters: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = parameters.items()
    return name, value


def _real(name: str, value: object, must: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {must}, got {value!r} of type {type(value).__name__}")
    return float(value)


def positive(hint: str = "", **parameter: object) -> float:
    """A positive, finite number."""
    name, value = _single(parameter)
    number = _real(name, value, "a positive, finite number")
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}{hint}")
    return number


def count(minimum: int = 0, **parameter: object) -> int:
    """A whole number of at least `minimum`."""
    name, value = _single(parameter)
    if isinstance(value, bool) or not isinstance(value, Integral):
        kind = type(value).__name__
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {kind}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def choice(options: Iterable[str], **parameter: object) -> str:
    """One of the named options; a near miss gets a suggestion."""
    name, value = _single(parameter)
    known = tuple(str(option) for option in options)
    if isinstance(value, str) and value in known:
        return str(value)
    listing = ", ".join(repr(option) for option in known)
    near = difflib.get_close_matches(str(value).lower().replace("_", "-"), known, n=1, cutoff=0.5)
    near = near or difflib.get_close_matches(str(value).lower(), known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} must be one of {listing}, got {value!r}{hint}")


def _numbers(name: str, value: object, top: int) -> tuple[float, ...]:
    """One or more numbers between 0 and `top`, in the order given."""
    must = f"numbers between 0 and {top}"
    listed = [value] if isinstance(value, Real) else value
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise TypeError(f"{name} must be {must}, got {value!r} of type {type(value).__name__}")
    numbers = tuple(_real(name, item, must) for item in listed)
    if not numbers:
        raise ValueError(f"{name} must name at least one quantile, got none")
    for number in numbers:
        if not 0 <= number <= top:
            hint = "; for percentages use percentiles" if top < number <= 100 else ""
            raise ValueError(f"{name} must lie between 0 and {top}, got {number!r}{hint}")
    return numbers


def quantiles(**parameter: object) -> tuple[float, ...]:
    """Numbers in [0, 1] in the order given, or a name such as "deciles"."""
    name, value = _single(parameter)
    if isinstance(value, str):
        return NAMED_QUANTILES[choice(NAMED_QUANTILES, **{name: value})]
    return _numbers(name, value, 1)


def percentages(**parameter: object) -> tuple[float, ...]:
    """Numbers in [0, 100] as quantiles."""
    return tuple(number / 100 for number in _numbers(*_single(parameter), 100))
