"""Types of numbers: real, integer, boolean and decimal."""

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.kinds.protocol import (
    INT64,
    Column,
    Kind,
    each,
    with_missing,
    wrong_column,
    wrong_type,
)

DEFAULT_PLACES = 6
"""Decimals without a declared scale are rounded to this many places."""

NUMBER_TYPES = (int, float, np.integer, np.floating, np.bool_, Decimal, Fraction)

EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[]
)
"""Decimal arithmetic that never rounds or raises, whatever the caller's own context is."""


def is_number(value: object) -> bool:
    """Whether a value is a number; NumPy's timedelta64 is not, although it is an integer type."""
    return isinstance(value, NUMBER_TYPES) and not isinstance(value, np.timedelta64)


def _python(number: Any) -> Any:
    """Convert a NumPy number to a Python number."""
    if isinstance(number, np.floating):
        return float(number)
    return int(number) if isinstance(number, (np.integer, np.bool_)) else number


def _public(value: Any, parameter: str, kind: str = "number") -> Any:
    """Check that a public parameter is a finite number."""
    if isinstance(value, (bool, np.bool_)) or not is_number(value):
        raise wrong_type(parameter, kind, value)
    try:
        finite = math.isfinite(value)
    except (OverflowError, ValueError):  # too large for a double, or a signaling NaN
        finite = False
    if not finite:
        raise InvalidValue(f"{parameter} must be finite, got {value!r}")
    return _python(value)


def _whole_or_float(exact: Any) -> int | float:
    return int(exact) if exact == int(exact) else float(exact)


def _units(record: Any, places: int = 0) -> int | None:
    """A record as an integer multiple of 10**-places; None if it is not a number."""
    if type(record) in (int, bool) and not places:
        return int(record)
    if not is_number(record):
        return None
    number = _python(record)
    if isinstance(number, Fraction):
        return round(number * Fraction(10) ** places)
    scaled = EXACT.scaleb(EXACT.create_decimal(number), places)
    if scaled.is_nan():
        return None
    if scaled and (scaled.is_infinite() or scaled.adjusted() > 18):
        return INT64.min if scaled.is_signed() else INT64.max
    return round(scaled)


def _double(record: Any) -> float:
    """A record as a double; NaN if it is not a number or raises."""
    try:
        return _nearest_double(record) if is_number(record) else math.nan
    except Exception:
        return math.nan


def _nearest_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@np.errstate(all="ignore")
def _typed(values: NDArray[Any]) -> Column:
    """The numbers of an array with a numeric dtype, without a copy where possible."""
    if values.dtype.kind == "b":
        return Column(values.astype(np.int8), None)
    if values.dtype.kind in "iu":
        return Column(values, None)
    if values.dtype.kind == "f":
        numbers = values.astype(np.float64, copy=False)
        return with_missing(numbers, np.isnan(numbers))
    raise wrong_column("number", values)


@dataclass(frozen=True)
class Real(Kind):
    """Floating-point numbers."""

    name = "float"
    integral = False
    unit = None

    def number(self, value: object, parameter: str) -> float:
        return float(_public(value, parameter))

    def value(self, number: int | float) -> float:
        return float(number)

    def values(self, numbers: NDArray[Any]) -> list[float]:
        """Without a call for each number, because groups may have millions of answers."""
        doubles: list[float] = numbers.astype(np.float64, copy=False).tolist()
        return doubles

    @np.errstate(all="ignore")
    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype == object:
            values = np.fromiter(map(_double, values), dtype=np.float64, count=len(values))
        return _typed(values)


@dataclass(frozen=True)
class Integer(Kind):
    """Whole numbers."""

    name = "int"
    unit = 1

    def number(self, value: object, parameter: str) -> int | float:
        return _whole_or_float(_public(value, parameter))

    def value(self, number: int | float) -> int:
        return int(number)

    def numbers(self, values: NDArray[Any]) -> Column:
        return each(values, _units) if values.dtype == object else _typed(values)


@dataclass(frozen=True)
class Boolean(Integer):
    """False and True, as 0 and 1."""

    name = "bool"
    limits = (False, True)

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, (bool, np.bool_)):
            return int(value)
        if _public(value, parameter, self.name) not in (0, 1):
            raise InvalidValue(f"{parameter} must be False or True, got {value!r}")
        return int(value)  # type: ignore[call-overload, no-any-return]

    def step(self, value: object, parameter: str) -> int | float:
        return INTEGER.step(value, parameter)

    def value(self, number: int | float) -> bool:
        return bool(number)


@dataclass(frozen=True)
class DecimalUnits(Kind):
    """Decimal numbers with a fixed number of places, as integers in units of the last place."""

    places: int = DEFAULT_PLACES
    name = "decimal"

    @property
    def unit(self) -> Decimal:
        return self.value(1)

    def number(self, value: object, parameter: str) -> int | float:
        public = _public(value, parameter, "decimal number")
        # A double means its shortest decimal: 0.1 is one tenth.
        exact = Fraction(repr(public) if isinstance(public, float) else public)
        return _whole_or_float(exact * Fraction(10) ** self.places)

    def value(self, number: int | float) -> Decimal:
        return Decimal(f"{int(number)}E{-self.places}")

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype.kind not in "biufO":
            raise wrong_column("decimal number", values)
        return each(values.astype(object), lambda record: _units(record, self.places))

    def to_json(self, value: Decimal) -> object:
        return str(value)

    def from_json(self, plain: Any) -> Decimal:
        return Decimal(plain)


REAL, INTEGER, BOOLEAN = Real(), Integer(), Boolean()
