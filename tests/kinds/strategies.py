"""Values of every type, for property tests."""

import datetime as dt
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from dpquantiles.kinds import BOOLEAN, DATE, DURATION, INTEGER, REAL, Datetime, DecimalUnits, Kind

ZONES = [
    dt.UTC,
    dt.timezone(dt.timedelta(hours=-3, minutes=-30)),
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/New_York"),
    ZoneInfo("Pacific/Kiritimati"),
]

KINDS: list[Kind] = [
    REAL,
    INTEGER,
    BOOLEAN,
    DecimalUnits(),
    DecimalUnits(0),
    DecimalUnits(-2),
    DecimalUnits(18),
    DATE,
    DURATION,
    Datetime(),
    *(Datetime(zone) for zone in ZONES),
]

INT64 = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.integers(-62_135_510_400_000_000, 253_402_128_000_000_000)
"""Microseconds since 1970, from 0001-01-02 to 9999-12-30."""


def numbers(kind: Kind) -> st.SearchStrategy[int | float]:
    """Numbers that values of this type have."""
    if kind == REAL:
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind == BOOLEAN:
        return st.integers(0, 1)
    if kind == DATE:
        return st.integers(dt.date.min.toordinal() - 719_163, dt.date.max.toordinal() - 719_163)
    return MOMENTS if isinstance(kind, Datetime) else INT64


def values(kind: Kind) -> st.SearchStrategy[Any]:
    """Values of this type."""
    return numbers(kind).map(kind.value)


ODD_RECORDS: list[object] = [None, float("nan"), "text", b"bytes", object(), [1], (), {}, 1j]
"""Records that no column should hold, and any list may."""


def _refuse(*_: object) -> Any:
    raise RuntimeError("do not touch")


class Hostile:
    """An object that raises however it is looked at."""

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = _refuse
    __len__ = __iter__ = __float__ = __int__ = __index__ = __hash__ = _refuse
    __class__ = property(_refuse)


class HostileInt(int):
    """A number that raises when it is used."""

    __index__ = __int__ = __float__ = __eq__ = __ne__ = __lt__ = __gt__ = _refuse
    __hash__ = int.__hash__


class HostileFloat(float):
    """Another one."""

    __float__ = __eq__ = __ne__ = __lt__ = __gt__ = __bool__ = _refuse
    __hash__ = float.__hash__


class HostileZone(dt.tzinfo):
    """A time zone that raises."""

    utcoffset = dst = tzname = _refuse


HOSTILE_RECORDS: list[object] = [
    *ODD_RECORDS,
    Hostile(),
    HostileInt(3),
    HostileFloat(2.5),
    HostileFloat("nan"),
    dt.datetime(2020, 1, 1, tzinfo=HostileZone()),
    Decimal("sNaN"),
    Decimal("NaN"),
    Decimal("Infinity"),
    Decimal("-1E+999999"),
    Decimal("1E-999999"),
    Decimal("0E+999999"),
    10**400,
    -(10**400),
]
