"""Checks of public parameters: each takes one keyword and returns it, or says what is wrong.

Only public parameters pass through here. Data never do, because an error is an observable event.
"""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, TypeVar

from dpquantiles.errors import InvalidType, InvalidValue

QuantilesName = Literal["median", "quartiles", "deciles", "percentiles"]
"""Quantiles that have a name; for type checkers."""

AskedQuantiles: TypeAlias = float | QuantilesName | Iterable[float]
"""Quantiles as a caller may write them."""

NAMED_QUANTILES: dict[QuantilesName, tuple[float, ...]] = {
    "median": (0.5,),
    "quartiles": (0.25, 0.5, 0.75),
    "deciles": tuple(k / 10 for k in range(1, 10)),
    "percentiles": tuple(k / 100 for k in range(1, 100)),
}


LARGEST_COUNT = 2**53
"""Counts beyond this are no counts of records, and doubles no longer tell them apart."""


def shown(value: object) -> str:
    """A value of a wrong type, for a message; of containers, which may be data, only the type."""
    kind = type(value).__name__
    if hasattr(value, "__iter__") and not isinstance(value, (str, tuple)):
        return f"an object of type {kind}"
    return f"{value!r} of type {kind}"


def _single(parameters: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = parameters.items()
    return name, value


def _real(name: str, value: object, must: str) -> float:
    if type(value) is float:  # by far the most common case
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value == abs(value) else -math.inf
        except TypeError:  # NumPy derives its lengths of time from its integers
            pass
    raise InvalidType(f"{name} must be {must}, got {shown(value)}")


def positive(hint: str = "", **parameter: object) -> float:
    """A positive, finite number."""
    name, value = _single(parameter)
    number = _real(name, value, "a positive, finite number")
    if not 0 < number < math.inf:
        raise InvalidValue(f"{name} must be positive and finite, got {number!r}{hint}")
    return number


def count(minimum: int = 0, **parameter: object) -> int:
    """A whole number of at least `minimum`."""
    name, value = _single(parameter)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidType(f"{name} must be a whole number, got {shown(value)}")
    number = int(value)
    if number < minimum:
        raise InvalidValue(f"{name} must be at least {minimum}, got {number!r}")
    if number > LARGEST_COUNT:
        raise InvalidValue(f"{name} must be at most 2**53, got {number!r}")
    return number


Option = TypeVar("Option", bound=str)


def choice(options: Iterable[Option], **parameter: object) -> Option:
    """One of the named options; a near miss gets a suggestion."""
    name, value = _single(parameter)
    listed = tuple(options)
    if isinstance(value, str) and value in listed:
        return listed[listed.index(value)]
    by_text = {str(option): option for option in listed}
    listing = ", ".join(map(repr, by_text))
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be one of {listing}, got {shown(value)}")
    by_letters = {_letters(text): text for text in by_text}
    near = difflib.get_close_matches(_letters(value), by_letters, n=1, cutoff=0.5)
    hint = f"; did you mean {by_letters[near[0]]!r}?" if near else ""
    raise InvalidValue(f"{name} must be one of {listing}, got {value!r}{hint}")


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _numbers(name: str, value: object, top: int) -> tuple[float, ...]:
    """One or more numbers between 0 and `top`, in the order given."""
    must = f"numbers between 0 and {top}"
    if isinstance(value, Real):
        return _numbers(name, (value,), top)
    scalar = isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 1) == 0
    if scalar or not isinstance(value, Iterable):
        raise InvalidType(f"{name} must be {must}, got {shown(value)}")
    numbers = tuple(_real(name, item, must) for item in value)
    if not numbers:
        raise InvalidValue(f"{name} must name at least one quantile, got none")
    for number in numbers:
        if not 0 <= number <= top:
            hint = "; for percentages use percentiles" if top < number <= 100 else ""
            raise InvalidValue(f"{name} must lie between 0 and {top}, got {number!r}{hint}")
    return numbers


def quantiles(**parameter: object) -> tuple[float, ...]:
    """Numbers in [0, 1] in the order given, or a name such as "deciles"."""
    name, value = _single(parameter)
    if isinstance(value, str):
        return NAMED_QUANTILES[choice(NAMED_QUANTILES, **{name: value})]
    return _numbers(name, value, 1)


def percentages(**parameter: object) -> tuple[float, ...]:
    """Numbers in [0, 100] as quantiles.

    Fractions of one percent alone are refused, because most people who write 0.5 want the median,
    and a release of something else is paid for too.
    """
    name, value = _single(parameter)
    numbers = _numbers(name, value, 100)
    fraction = next((number for number in numbers if not number.is_integer()), None)
    if fraction is not None and max(numbers) <= 1:
        raise InvalidValue(
            f"{name} must be percentages, got {fraction:g}, which is less than one percent; for "
            f"the percentile {100 * fraction:g} write {100 * fraction:g}, and if {fraction:g} "
            f"percent is meant, use quantiles(data, [{fraction / 100:g}])"
        )
    return tuple(number / 100 for number in numbers)


def column_name(**parameter: object) -> str:
    """The name of a column."""
    name, value = _single(parameter)
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be the name of a column, got {shown(value)}")
    return value


def fraction(**parameter: object) -> float:
    """A number strictly between 0 and 1."""
    name, value = _single(parameter)
    number = _real(name, value, "a number between 0 and 1")
    if not 0 < number < 1:
        raise InvalidValue(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number


def pair(**parameter: Any) -> tuple[Any, Any]:
    """Two values, lower and upper."""
    ((name, value),) = parameter.items()
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise InvalidType(f"{name} must be a pair (lower, upper), got {shown(value)}") from None
    return lower, upper
