"""Which type a column is of: public by its dtype, and stable where only its records tell."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.kinds import (
    BOOLEAN,
    BY_NAME,
    DATE,
    DURATION,
    INTEGER,
    REAL,
    Datetime,
    DecimalUnits,
    Kind,
    as_array,
    infer,
    named,
)
from tests.kinds.strategies import HOSTILE_RECORDS, KINDS, ODD_RECORDS, Hostile, HostileZone, values

BERLIN = ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2024, 5, 31, 12)
DAY = NOON.date()


def of(records: list[Any]) -> Kind:
    return infer(as_array(records))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *(("?", BOOLEAN), ("i1", INTEGER), ("u8", INTEGER), (">i4", INTEGER)),
        *(("f2", REAL), ("f4", REAL), (">f8", REAL), ("g", REAL)),
        *((f"M8[{unit}]", DATE) for unit in ("Y", "M", "W", "D", "3D")),
        *((f"M8[{unit}]", Datetime()) for unit in ("h", "m", "s", "ms", "us", "ns", "as")),
        *((f"m8[{unit}]", DURATION) for unit in ("Y", "D", "ns")),
    ],
)
def test_a_dtype_declares_the_type(dtype: str, kind: Kind) -> None:
    assert infer(np.zeros(0, dtype=dtype)) == kind
    assert infer(np.zeros(3, dtype=dtype)) == kind


@pytest.mark.parametrize(
    ("records", "kind"),
    [
        ([1.5], REAL),
        ([1], INTEGER),
        ([1, 2.5], REAL),
        ([True, False], BOOLEAN),
        ([True, 2], INTEGER),
        ([np.True_], BOOLEAN),
        ([2**63, -1], INTEGER),
        ([2**63], INTEGER),
        ([10**400, 1], INTEGER),
        ([10**400, 0.5], REAL),
        ([np.int8(1), np.uint64(2)], INTEGER),
        ([np.float32(1)], REAL),
        ([Fraction(1, 2)], REAL),
        ([Decimal("1.5")], DecimalUnits()),
        ([Decimal("1.5"), 2, 2.5], DecimalUnits()),
        ([DAY], DATE),
        ([NOON], Datetime()),
        ([pd.Timestamp(NOON)], Datetime()),
        ([NOON.replace(tzinfo=BERLIN)], Datetime(BERLIN)),
        ([NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=dt.UTC)], Datetime(dt.UTC)),
        ([np.datetime64("2024-05-31")], DATE),
        ([np.datetime64("2024-05")] * 2, DATE),
        ([np.datetime64(NOON, "s")], Datetime()),
        ([np.datetime64("2024-05-31"), np.datetime64(NOON, "s")], Datetime()),
        ([dt.timedelta(1)], DURATION),
        ([np.timedelta64(1, "s")], DURATION),
        ([pd.Timedelta(seconds=1)], DURATION),
        ([], REAL),
        ([None, None], REAL),
        ([math.nan], REAL),
        ([None, math.nan, pd.NA, pd.NaT], REAL),
        ([pd.NaT], REAL),
        ([pd.NA], REAL),
    ],
)
def test_records_stand_in_for_a_declared_type(records: list[Any], kind: Kind) -> None:
    assert of(records) == kind


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_values_tell_their_own_type(kind: Kind, data: st.DataObject) -> None:
    records = data.draw(st.lists(values(kind), min_size=1))
    expected = DecimalUnits() if isinstance(kind, DecimalUnits) else kind
    assert of(records) == expected


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT], ids=repr)
def test_missing_records_say_nothing(kind: Kind, missing: object) -> None:
    record = kind.value(1)
    expected = DecimalUnits() if isinstance(kind, DecimalUnits) else kind
    assert of([missing, record, missing, missing]) == expected


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_records_of_no_type_say_nothing(kind: Kind) -> None:
    records = [kind.value(k) for k in (0, 1)]
    expected = of(records)
    for odd in [*ODD_RECORDS, Hostile()]:
        assert of([odd, *records, odd, odd]) == expected


def test_masked_records_say_nothing() -> None:
    records = np.array([DAY, 1.5, "x"], dtype=object)
    assert infer(np.ma.masked_array(records, [False, True, True])) == DATE
    assert infer(np.ma.masked_array(records, [True, False, True])) == REAL
    assert infer(np.ma.masked_array(records, [True, True, True])) == REAL


def test_most_records_win() -> None:
    assert of([DAY, NOON, NOON]) == Datetime()
    assert of([DAY, DAY, 3]) == DATE
    assert of([NOON, NOON, NOON.replace(tzinfo=BERLIN)]) == Datetime()
    assert of([NOON, *[NOON.replace(tzinfo=BERLIN)] * 2]) == Datetime(BERLIN)


def test_hostile_records_do_not_raise() -> None:
    assert of([*HOSTILE_RECORDS, 1]) == DecimalUnits()
    hostile = NOON.replace(tzinfo=HostileZone())
    assert of([NOON.replace(tzinfo=dt.UTC), hostile]) == Datetime(dt.UTC)
    assert of([hostile]) == of([NOON, hostile]) == Datetime()


class UnhashableZone(dt.tzinfo):
    """A zone that cannot be put into a set."""

    __hash__ = None  # type: ignore[assignment]

    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=1)

    dst = utcoffset

    def tzname(self, _: dt.datetime | None) -> str:
        return "odd"


def test_odd_zones_do_not_raise() -> None:
    assert of([NOON.replace(tzinfo=UnhashableZone())]) == Datetime(dt.UTC)


@pytest.mark.parametrize(
    "records",
    [["a"], ["a", None], [object()], [[1, 2], [3, 4]], [{"x": 1}], [b"1"], [1j], [dt.time()]],
)
def test_columns_of_no_type_are_refused(records: list[Any]) -> None:
    message = (
        r"^data must be numbers, booleans, decimals, dates, datetimes or durations, got text or"
    )
    with pytest.raises(TypeError, match=message):
        of(records)


@pytest.mark.parametrize(
    ("dtype", "found"),
    [("U3", "text"), ("S3", "text"), ("c16", "an array of complex128"), ("i4,f4", "an array of")],
)
def test_dtypes_of_no_type_are_refused(dtype: str, found: str) -> None:
    with pytest.raises(TypeError, match=rf"^data must be numbers, .*, got .*{found}"):
        infer(np.zeros(2, dtype=dtype))


def test_types_by_name() -> None:
    assert list(BY_NAME) == ["float", "int", "bool", "decimal", "date", "datetime", "timedelta"]
    assert all(named(name) == kind for name, kind in BY_NAME.items())
    assert named("datetime", "Europe/Berlin") == Datetime(BERLIN)
    assert named("datetime", "Nowhere/Land") == Datetime()
    assert named("int", "Europe/Berlin") == INTEGER
    with pytest.raises(ValueError, match=r"^type must be one of .*; did you mean 'float'\?$"):
        named("floot")
