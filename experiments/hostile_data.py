"""Records that are hard on intervals: ties, gaps, ends of types, values finer than any grid."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import dpquantiles as dpq

N = 400
STAMP = 1_700_000_000_123_456_789
"""Nanoseconds from 1970 to some moment in 2023."""

NANOSECOND, MICROSECOND, SECOND, DAY = 1, 1000, 10**9, 86_400 * 10**9
EPOCH = dt.datetime(1970, 1, 1)


def fresh() -> np.random.Generator:
    """The same random numbers again."""
    return np.random.default_rng(0)


def plain(value: Any) -> Any:
    """A value of any type as a number that compares exactly: nanoseconds where it is a time."""
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1) * MICROSECOND
    if isinstance(value, dt.date):
        return (value - EPOCH.date()).days * DAY
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1) * MICROSECOND
    if isinstance(value, float) and math.isinf(value):
        return value
    return Fraction(value)


@dataclass(frozen=True)
class Hostile:
    """Records, the same as exact numbers (infinity where one is missing), and how to ask."""

    records: Any
    truth: Sequence[Any]
    options: dict[str, Any] = field(default_factory=dict)

    def covered(self, interval: dpq.Interval, q: float, ends: tuple[Any, Any]) -> bool:
        """Whether #(x < lower) < q n < #(x <= upper), or the ends say nothing."""
        n = len(self.truth)
        lower, upper = (None if end is None else plain(end) for end in interval)
        below = lower is None or interval.lower == ends[0]
        above = upper is None or interval.upper == ends[1]
        q_n = Fraction(q) * n
        return (below or sum(x < lower for x in self.truth) < q_n) and (
            above or sum(x <= upper for x in self.truth) > q_n
        )


def numbers(values: Any, dtype: str, **options: Any) -> Hostile:
    """A typed array."""
    array = np.array(values, dtype=dtype)
    truth = [math.inf if x != x else plain(x) for x in array.tolist()]
    return Hostile(array, sorted(truth), options)


def objects(values: Sequence[Any], **options: Any) -> Hostile:
    """A list of Python objects."""
    return Hostile(list(values), sorted(map(plain, values)), options)


def times(counts: Any, dtype: str, length: int) -> Hostile:
    """A typed array of times, by its counts of a unit of so many nanoseconds."""
    array = np.array(counts, dtype=np.int64).view(dtype)
    return Hostile(array, sorted(count * length for count in counts))


def decimal_column(values: Sequence[Decimal]) -> Hostile:
    """A column of declared places, more of them than are kept."""
    column = pa.chunked_array([pa.array(values, type=pa.decimal128(38, 8))])
    return Hostile(column, sorted(map(plain, values)))


def tied(value: Any, n: int = N) -> list[Any]:
    return [value] * n


def halves(low: Any, high: Any) -> list[Any]:
    return [low] * (N // 2) + [high] * (N // 2)


EIGHT, THIRD = Decimal("0.12345678"), Decimal(1) / Decimal(3)
INT64, UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)
LARGEST = float(np.finfo(np.float32).max)

HOSTILE: dict[str, Callable[[], Hostile]] = {
    "no record": lambda: numbers([], "f8"),
    "one record": lambda: numbers([0.1], "f8"),
    "two records": lambda: numbers([-1e39, 1e39], "f8"),
    "all missing": lambda: numbers(tied(math.nan), "f8"),
    "half missing": lambda: numbers(halves(0.1, math.nan), "f8"),
    "one integer": lambda: numbers(tied(7), "i8"),
    "two integers": lambda: numbers(halves(0, 1), "i8"),
    "two far integers": lambda: numbers(halves(-(2**62), 2**62), "i8"),
    "two integers at 2^53": lambda: numbers(halves(2**53, 2**53 + 1), "i8"),
    "twenty clusters": lambda: numbers(
        fresh().integers(-(2**62), 2**62, 20).repeat(N // 20) + fresh().integers(0, 9, N), "i8"
    ),
    "one nanosecond stamp": lambda: numbers(tied(STAMP), "i8"),
    "two nanosecond stamps": lambda: numbers(halves(STAMP, STAMP + 1), "i8"),
    "stamps within a second": lambda: numbers(STAMP + fresh().integers(0, 10**9, N), "i8"),
    "least int64": lambda: numbers(tied(INT64.min), "i8"),
    "greatest int64": lambda: numbers(tied(INT64.max), "i8"),
    "greatest uint64": lambda: numbers(tied(UINT64.max), "u8"),
    "uint64 above 2^63": lambda: numbers(tied(2**63 + 12_345), "u8"),
    "ends of uint64": lambda: numbers(halves(0, UINT64.max), "u8"),
    "greatest int8": lambda: numbers(tied(127), "i1"),
    "integers of 100 bits": lambda: objects(tied(2**99 + 1)),
    "the same, no bounds": lambda: objects(tied(2**99 + 1), grid=dpq.FloatGrid(integral=True)),
    "uint64, no bounds": lambda: numbers(tied(2**64 - 1), "u8", grid=dpq.FloatGrid(integral=True)),
    "doubles of 1e39": lambda: numbers(tied(1e39), "f8"),
    "doubles of ±1e300": lambda: numbers(halves(-1e300, 1e300), "f8"),
    "infinities": lambda: numbers(halves(-math.inf, math.inf), "f8"),
    "the greatest float32": lambda: numbers(tied(LARGEST), "f4"),
    "one tenth": lambda: numbers(tied(0.1), "f8"),
    "the least denormal": lambda: numbers(tied(5e-324), "f8"),
    "denormals of float32": lambda: numbers(halves(1e-45, 2.1e-45), "f8"),
    "both zeros": lambda: numbers(halves(-0.0, 0.0), "f8"),
    "doubles near 1e6": lambda: numbers(1e6 + fresh().normal(0, 1e-6, N), "f8"),
    "eight-place decimals": lambda: objects(tied(EIGHT)),
    "a column of eight places": lambda: decimal_column(tied(EIGHT)),
    "thirds": lambda: objects(tied(THIRD)),
    "decimals of 1e13": lambda: objects(tied(Decimal("1e13"))),
    "far decimals": lambda: objects(halves(Decimal("1e-8"), Decimal("1e12") + EIGHT)),
    "one datetime of nanoseconds": lambda: times(tied(STAMP), "M8[ns]", NANOSECOND),
    "datetimes within a microsecond": lambda: times(
        STAMP // 1000 * 1000 + fresh().integers(0, 1000, N), "M8[ns]", NANOSECOND
    ),
    "the last microsecond of 9999": lambda: times(
        tied(253_402_300_799_999_999), "M8[us]", MICROSECOND
    ),
    "the year 20,000": lambda: times(tied(568_971_820_800), "M8[s]", SECOND),
    "days of the year 50,000": lambda: times(tied(17_542_000), "M8[D]", DAY),
    "durations of a nanosecond": lambda: times(tied(1), "m8[ns]", NANOSECOND),
    "durations of 290 years": lambda: times(tied(9_151_488_000_000_001), "m8[us]", MICROSECOND),
    "the greatest timedelta": lambda: objects(tied(dt.timedelta.max)),
    "only true": lambda: numbers(tied(True), "?"),
    "half true": lambda: numbers(halves(False, True), "?"),
    "beyond the bounds": lambda: numbers(tied(500), "i8", bounds=(0, 100)),
    "below the bounds": lambda: numbers(tied(-3.5), "f8", bounds=(0.0, 100.0)),
    "a coarse resolution": lambda: numbers(tied(1499), "i8", bounds=(0, 10_000), resolution=1000),
    "reals on a coarse grid": lambda: numbers(
        tied(0.3), "f8", grid=dpq.UniformGrid(0.0, 1.0, 0.25)
    ),
    "reals on whole numbers": lambda: numbers(tied(2.6), "f8", grid=dpq.UniformGrid(0, 10)),
    "the edge of a gap": lambda: numbers(
        np.where(np.arange(N) < N // 2, -50, 50) + fresh().normal(0, 0.1, N),
        "f8",
        bounds=(-100, 100),
    ),
}
