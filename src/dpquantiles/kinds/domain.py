"""Domains: the values that a column's declared type can have."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpquantiles.kinds.numbers import BOOLEAN, INTEGER, DecimalUnits
from dpquantiles.kinds.protocol import Kind
from dpquantiles.kinds.times import DATE, MICROSECONDS

DAY = MICROSECONDS["D"]


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The values of a type, as plain numbers, or as microseconds for times.

    They are multiples of `unit` from `low` to `high`. None means no limit: for `unit`, that values
    can be arbitrarily fine. All of it is public, like a schema.
    """

    name: str = ""
    """The name of the type in messages; empty where no type is declared."""
    low: Fraction | None = None
    high: Fraction | None = None
    unit: Fraction | None = None
    bits: int | None = None
    """The significant bits of floating-point numbers."""
    native: bool = False
    """Whether NumPy arrays can store these numbers without conversion."""


ANYTHING = Domain()
"""The domain of records without a declared type."""

TRUTHS = Domain(name="bool", low=Fraction(0), high=Fraction(1), unit=Fraction(1), native=True)


def integers(bits: int, *, signed: bool) -> Domain:
    """Whole numbers with this many bits."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    name = f"{'int' if signed else 'uint'}{bits}"
    return Domain(
        name=name, low=Fraction(low), high=Fraction(high), unit=Fraction(1), native=bits <= 64
    )


def floats(size: int) -> Domain:
    """Floating-point numbers with this many bits in total, including infinities."""
    significant = {16: 11, 32: 24, 64: 53}.get(size)
    return Domain(name=f"float{size}", bits=significant, native=True)


def decimals(precision: int, scale: int) -> Domain:
    """Decimal numbers with `precision` digits, `scale` of them after the point."""
    unit = Fraction(1, 10) ** scale
    most = (10**precision - 1) * unit
    return Domain(name=f"decimal({precision}, {scale})", low=-most, high=most, unit=unit)


def times(name: str, unit: str, count: int = 1) -> Domain:
    """Times that are stored as 64-bit numbers of a unit such as "ns"."""
    length = MICROSECONDS.get(unit, Fraction(1)) * count
    named = f"{name}[{count if count > 1 else ''}{unit}]"
    return Domain(name=named, low=-(2**63) * length, high=(2**63 - 1) * length, unit=length)


def days(bits: int = 64) -> Domain:
    """Calendar days that are stored as numbers with this many bits."""
    low, high = -(2 ** (bits - 1)) * DAY, (2 ** (bits - 1) - 1) * DAY
    return Domain(name="date", low=low, high=high, unit=DAY)


def of_dtype(dtype: np.dtype[Any]) -> Domain:
    """The domain of an array's dtype."""
    if dtype.kind == "b":
        return TRUTHS
    if dtype.kind in "iu":
        return integers(8 * dtype.itemsize, signed=dtype.kind == "i")
    if dtype.kind == "f":
        return floats(8 * dtype.itemsize)
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        if (dtype.kind, unit, count) == ("M", "D", 1):
            return days()
        return times("datetime" if dtype.kind == "M" else "duration", unit, count)
    return ANYTHING


def of_kind(kind: Kind) -> Domain:
    """The domain of records without a declared type, such as those in lists or text files."""
    if kind == BOOLEAN:
        return TRUTHS
    return Domain(unit=Fraction(1)) if kind == INTEGER else ANYTHING


def measure(kind: Kind) -> Fraction:
    """The size of a type's unit, as a plain number or in microseconds."""
    if isinstance(kind, DecimalUnits):
        return Fraction(1, 10**kind.places)
    return DAY if kind == DATE else Fraction(1)
