"""The default family of every type: which ranges and steps it has, and how likely each is.

    ranges    [0, B] for powers of two B and seven values between, [-B, B] and [-B, 0] for powers of
              two; moments around 2000 and from 1970 on; the whole type
    steps     powers of ten and five times those; units of time
    weights   weight(range) times weight(step), formulas beside the code, tuned on real columns

Bounds and a resolution narrow a family: bounds to themselves and the ranges inside them, a
resolution to that step and usual steps that are multiples of it, because records are often rounded
more than anybody knows. The two together leave one grid. Everything is public.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from dpquantiles.errors import InvalidValue
from dpquantiles.grid.family import LARGEST, GridFamily
from dpquantiles.grid.floating import FloatGrid
from dpquantiles.grid.member import Member, Multiples, Singles
from dpquantiles.grid.protocol import exact, exact_bounds
from dpquantiles.grid.uniform import FINEST, UniformGrid
from dpquantiles.kinds import DATE, INT64, Date, Datetime, Duration, Kind
from dpquantiles.kinds.times import MICROSECONDS

FEWEST, MOST = 8, 2**22
"""How many steps long a range is; the finest step has no limit."""

FINE, SHARED = 32, 16
"""Real numbers that are not rounded get members of at least 2**FINE points. SHARED ranges in a row
share a step, because steps cost time and ranges hardly any."""

LARGEST_POWER = LARGEST.bit_length() - 1
"""Ranges end at two to this power."""

SMALLEST = -26
"""Ranges of real numbers begin at 2**SMALLEST, so that their fine steps are doubles."""

DECADES = range(-4, 7)
"""The powers of ten that are steps of real numbers."""

EIGHTHS = tuple(Fraction(eighths, 8) for eighths in range(8, 16))
"""Ranges above zero end at these multiples of powers of two, because data that go a little beyond a
range would be cut off. They cost no time. Ranges below zero would, so they have powers of two."""

SIGNED, NEGATIVE = 0.5, 0.05
"""How likely ranges on both sides of zero, and below zero, are, relative to ranges above zero."""

USUAL_POWER, POWERS = 5, 4
"""A range that ends at 2**k counts by the factor 1 / (1 + |k - USUAL_POWER| / POWERS)**2, so that
the many ranges of tiny numbers do not outweigh the few of usual ones."""

FINEST_HALVED = -2
"""Five times a power of ten is a step from 0.05 on."""

ROUND, RARE = 0.4, 0.06
"""How likely powers of ten, and other steps, are, relative to one unit of the type."""

UNROUNDED = 1.0
DECIMALS = {-3: 0.4, -2: 1.0, -1: 0.5, 0: 0.7}
"""The same for real numbers: how likely they are not rounded, or rounded to 3, 2, 1, 0 places."""


class Range(NamedTuple):
    """The ends of a range, and how likely it is, up to a factor."""

    low: Fraction
    high: Fraction
    weight: float = 1.0


class Step(NamedTuple):
    """The distance between points, and how likely it is, up to a factor."""

    width: Fraction
    weight: float = 1.0


@lru_cache(maxsize=128)
def family_of(kind: Kind, bounds: tuple[Any, Any] | None, resolution: Any) -> GridFamily:
    """The family of a type, narrowed by bounds or by a resolution, but not by both."""
    base = _base(kind, bounds, resolution)
    low, high = (Fraction(kind.number(end, "bounds")) for end in base.ends)
    ranges = [one for one in _ranges(kind) if low <= one.low and one.high <= high]
    if isinstance(base, UniformGrid):
        weight = 1.0 if bounds is None else sum(one.weight for one in ranges) or 1.0
        ranges = [Range(low, high, weight), *ranges]
    members: dict[Member, float] = {}
    if isinstance(base, FloatGrid):
        members[Singles(kind)] = RARE
    for one in ranges:
        for step in _steps(base, one):
            member = _member(kind, one, step.width)
            if member is not None:
                members[member] = members.get(member, 0.0) + one.weight * step.weight
    return GridFamily(base, tuple(members), tuple(members.values()))


def _base(kind: Kind, bounds: tuple[Any, Any] | None, resolution: Any) -> FloatGrid | UniformGrid:
    """The finest grid: all values that are told apart, or all multiples of a resolution."""
    if resolution is not None:
        width = exact(kind.step(resolution, "resolution"))
        if not 0 < width <= LARGEST:
            raise InvalidValue(
                "resolution must be positive and, without bounds, at most "
                f"2**{LARGEST_POWER} units of the type, got {resolution!r}"
            )
        most = (
            math.floor(Fraction(LARGEST // 2 if kind.integral else FINEST * width) / width) * width
        )
        low, high = (-most, most) if kind.limits is None else exact_bounds(kind, *kind.limits)
        ends = (math.ceil(low / width) * width, math.floor(high / width) * width)
        if ends[0] == ends[1]:
            raise InvalidValue(
                f"resolution must leave at least two possible answers, got {resolution!r}"
            )
        first, last = (_value(kind, end) for end in ends)
        return UniformGrid(first, last, resolution, kind, step_name="resolution")
    limits = bounds or kind.limits
    if limits is not None:
        return UniformGrid(*limits, None, kind, step_name="resolution")
    if kind.integral:
        return FloatGrid(kind.value(INT64.min), kind.value(INT64.max), kind=kind)
    return FloatGrid(kind=kind)


def _value(kind: Kind, number: Fraction) -> Any:
    return kind.value(int(number) if kind.integral else float(number))


def _ranges(kind: Kind) -> Iterator[Range]:
    if isinstance(kind, (Date, Datetime)):
        unit = 1 if kind == DATE else MICROSECONDS["s"]
        start = kind.number(kind.value(0).replace(2000, 1, 1), "ranges")
        for power in range(2, 40):
            size = 2**power * Fraction(unit)
            yield Range(Fraction(0), size)
            yield Range(start - size, start + size)
        return
    for power in range(2 if kind.integral else SMALLEST, LARGEST_POWER + 1):
        size = Fraction(2) ** power
        usual = (1 + abs(power - USUAL_POWER) / POWERS) ** -2.0
        for factor in EIGHTHS if power < LARGEST_POWER else EIGHTHS[:1]:
            yield Range(Fraction(0), size * factor, usual / len(EIGHTHS))
        yield Range(-size, size, usual * SIGNED)
        yield Range(-size, Fraction(0), usual * NEGATIVE)


def _steps(base: FloatGrid | UniformGrid, one: Range) -> Iterator[Step]:
    """The steps that suit a range."""
    kind, largest = base.kind, max(abs(one.low), abs(one.high))
    if isinstance(base, UniformGrid):
        least = base.width
    else:
        octave = 0 if kind.integral else math.ceil(math.log2(largest) / SHARED) * SHARED
        least = Fraction(1) if kind.integral else Fraction(2) ** (octave - SHARED - FINE)
    yield Step(least, 1.0 if kind.integral else UNROUNDED)
    stated = isinstance(base, UniformGrid) and base.step is not None
    span = one.high - one.low
    for step in _round_steps(kind, least, stated):
        if FEWEST <= _whole(span, step.width) <= MOST:
            yield step


@lru_cache(maxsize=64)
def _round_steps(kind: Kind, least: Fraction, multiples: bool) -> tuple[Step, ...]:
    """The usual steps that are at least two points of the finest grid apart, or its multiples."""
    usual = (step for step in _usual_steps(kind) if step.width >= 2 * least)
    return tuple(step for step in usual if not multiples or step.width % least == 0)


def _usual_steps(kind: Kind) -> Iterator[Step]:
    if isinstance(kind, Date):
        return
    if isinstance(kind, (Datetime, Duration)):
        for name in ("ms", "s", "m", "h", "D"):
            yield Step(MICROSECONDS[name], ROUND)
        for minutes in (5, 15):
            yield Step(minutes * MICROSECONDS["m"], RARE)
        return
    for power in range(1, 19) if kind.integral else DECADES:
        usual = ROUND if kind.integral else DECIMALS.get(power, RARE if power < 0 else ROUND)
        yield Step(Fraction(10) ** power, usual)
        if power > FINEST_HALVED:
            yield Step(5 * Fraction(10) ** (power - 1), RARE)


def _member(kind: Kind, one: Range, width: Fraction) -> Multiples | None:
    """The multiples of a step in a range; None if there are none, or too many to tell apart."""
    first, last = -_whole(-one.low, width), _whole(one.high, width)
    size = last - first + 1
    reach = max(abs(first), abs(last))
    if size < 1 or size > LARGEST + 1:
        return None
    # A multiple must be the quotient of two doubles, so that it is rounded only once.
    exact_parts = width.numerator & (width.numerator - 1) == 0
    if not kind.integral and reach * (1 if exact_parts else width.numerator) > 2**53:
        return None
    return Multiples(kind, width, first, size)


def _whole(length: Fraction, width: Fraction) -> int:
    """How many whole steps a length has: `length // width`, several times faster."""
    return length.numerator * width.denominator // (length.denominator * width.numerator)
