"""Times: every unit of NumPy, far years, NaT of every make, zones and repeated hours."""

import datetime as dt
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.kinds import DATE, DURATION, INT64, Datetime, Kind, column, zone_by_name, zone_name

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
SECOND: dict[str, int | Fraction] = dict(
    zip(
        UNITS[2:],
        [604_800, 86_400, 3_600, 60, 1, *(Fraction(1, 1000**k) for k in range(1, 7))],
        strict=True,
    )
)
BERLIN = ZoneInfo("Europe/Berlin")
AWARE = Datetime(BERLIN)
FAR = [2**62, -(2**62), 2**63 - 1, 1 - 2**63]

ticks = st.integers(1 - 2**63, 2**63 - 1) | st.integers(-(10**6), 10**6)


@pytest.mark.parametrize("unit", UNITS[2:])
@settings(max_examples=50, deadline=None)
@given(records=st.lists(ticks, min_size=1))
def test_durations_of_every_unit(unit: str, records: list[int]) -> None:
    found, missing = column(DURATION, np.array(records, dtype=f"m8[{unit}]"))
    assert missing is None
    for number, record in zip(found.tolist(), records, strict=True):
        exact = record * SECOND[unit] * 10**6 // 1
        assert number == exact or (abs(exact) > abs(number) > 2**62 and number * exact > 0)


@pytest.mark.parametrize("kind", [DATE, Datetime(), AWARE], ids=repr)
@pytest.mark.parametrize("unit", UNITS)
def test_moments_of_every_unit_are_monotone(kind: Datetime, unit: str) -> None:
    records = sorted(
        [*FAR, *range(-3, 4), *(3**k for k in range(40)), *(-(3**k) for k in range(40))]
    )
    found, missing = column(kind, np.array(records, dtype=f"M8[{unit}]"))
    assert missing is None
    assert (np.diff(found) >= 0).all()
    assert found[records.index(0)] == 0


@pytest.mark.parametrize("unit", UNITS[:8])
def test_far_years_lie_outside_all_limits(unit: str) -> None:
    far, near = np.array(FAR, dtype=f"M8[{unit}]"), np.array(FAR, dtype=f"m8[{unit}]")
    for kind in (DATE, Datetime()):
        low, high = (kind.number(limit, "bounds") for limit in kind.limits)
        above, below, highest, lowest = column(kind, far)[0].tolist()
        assert min(above, highest) > high
        assert max(below, lowest) < low
    above, below, *_ = column(DURATION, near)[0].tolist()
    assert above > 10**18
    assert below < -(10**18)


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
@settings(max_examples=50, deadline=None)
@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)))
def test_moments_agree_with_python(unit: str, moment: dt.datetime) -> None:
    values = np.array([moment], dtype="M8[us]").astype(f"M8[{unit}]")
    again = values.astype("M8[us]").item()
    assert column(Datetime(), values)[0][0] == Datetime().number(again, "bounds")
    assert column(DATE, values)[0][0] == DATE.number(again.date(), "bounds")
    assert column(Datetime(), [again])[0][0] == Datetime().number(again, "bounds")


@pytest.mark.parametrize("dtype", ["M8", "m8", *(f"M8[{u}]" for u in UNITS), ">M8[s]", "m8[7s]"])
def test_not_a_time_is_missing(dtype: str) -> None:
    values = np.array(["NaT", "NaT"], dtype=dtype)
    found, missing = column(DURATION if "m" in dtype[:2] else Datetime(), values)
    assert len(found) == 2
    assert missing is not None
    assert missing.all()


def test_multiples_of_units_and_foreign_byte_orders() -> None:
    assert column(DURATION, np.array([2, -1], dtype="m8[7s]"))[0].tolist() == [
        14 * 10**6,
        -7 * 10**6,
    ]
    assert column(DURATION, np.array([3], dtype="m8"))[0].tolist() == [3]
    assert column(DURATION, np.array([2**62], dtype="m8[100ns]"))[0].tolist() == [2**62 // 10]
    assert column(Datetime(), np.array([5], dtype=">M8[s]"))[0].tolist() == [5 * 10**6]
    assert column(DATE, np.array([5, -(2**62)], dtype=">M8[D]"))[0][0] == 5


def test_records_of_every_make() -> None:
    noon = dt.datetime(2024, 5, 31, 12)
    number = Datetime().number(noon, "bounds")
    records = [noon, np.datetime64(noon, "s"), np.datetime64(noon, "ns"), pd.Timestamp(noon)]
    assert column(Datetime(), records)[0].tolist() == [number] * 4
    days = [noon.date(), noon, np.datetime64("2024-05-31"), pd.Timestamp(noon)]
    assert column(DATE, days)[0].tolist() == [19874] * 4
    spans = [dt.timedelta(seconds=1), np.timedelta64(1, "s"), pd.Timedelta(seconds=1)]
    assert column(DURATION, spans)[0].tolist() == [10**6] * 3


def test_records_that_are_no_times_are_missing() -> None:
    naive, aware = dt.datetime(2024, 5, 31), dt.datetime(2024, 5, 31, tzinfo=BERLIN)
    nothing = [pd.NaT, np.datetime64("NaT", "s"), np.timedelta64("NaT", "ns"), None, 3, dt.time(1)]
    cases: list[tuple[Kind, object]] = [
        (Datetime(), aware),
        (AWARE, naive),
        (AWARE, np.datetime64(naive)),
        (DATE, 3),
    ]
    for kind, odd in cases:
        found, missing = column(kind, [*nothing, odd])
        assert missing is not None
        assert missing.all()
        assert found.tolist() == [0] * 7
    assert column(DURATION, nothing).missing is not None


def test_durations_beyond_64_bits_clamp() -> None:
    spans = [dt.timedelta.max, dt.timedelta.min]
    assert column(DURATION, spans)[0].tolist() == [INT64.max, INT64.min]


def test_repeated_hours_are_told_apart() -> None:
    once = dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    again = once.replace(fold=1)
    first, second = column(AWARE, [once, again])[0].tolist()
    assert second - first == 3_600 * 10**6
    assert [AWARE.value(first).fold, AWARE.value(second).fold] == [0, 1]


def test_parameters() -> None:
    day, moment = dt.date(2024, 5, 31), dt.datetime(2024, 5, 31)
    assert DATE.number(np.datetime64("2024-05-31"), "bounds") == DATE.number(day, "bounds")
    assert Datetime().number(day, "bounds") == Datetime().number(moment, "bounds")
    assert Datetime().number(pd.Timestamp(moment), "bounds") == Datetime().number(day, "bounds")
    assert AWARE.number(day, "bounds") == Datetime().number(day, "bounds") - 7_200 * 10**6
    assert DATE.step(dt.timedelta(days=7), "resolution") == 7
    assert DATE.step(np.timedelta64(2, "W"), "resolution") == 14
    assert Datetime().step(dt.timedelta(hours=1), "resolution") == 3_600 * 10**6
    with pytest.raises(ValueError, match=r"^resolution must be a whole number of days, got "):
        DATE.step(dt.timedelta(hours=1), "resolution")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (DATE, dt.datetime(2024, 5, 31)),
        (DATE, pd.NaT),
        (DATE, np.datetime64("NaT", "s")),
        (DATE, 5),
        (Datetime(), dt.datetime(2024, 5, 31, tzinfo=BERLIN)),
        (Datetime(), pd.NaT),
        (Datetime(), np.datetime64("NaT", "s")),
        (AWARE, dt.datetime(2024, 5, 31)),
        (AWARE, np.datetime64("2024-05-31")),
        (DURATION, pd.NaT),
        (DURATION, np.timedelta64("NaT", "ns")),
        (DURATION, 5),
    ],
)
def test_parameters_of_other_times_are_refused(kind: Datetime, value: object) -> None:
    with pytest.raises(
        TypeError, match=r"^bounds must be of type .*(date|datetime|timedelta) like"
    ):
        kind.number(value, "bounds")


def test_zones_by_name() -> None:
    assert zone_by_name("Europe/Berlin") is BERLIN
    assert zone_by_name("+02:00") == zone_by_name("UTC+02:00") == dt.timezone(dt.timedelta(hours=2))
    assert zone_by_name("UTC").utcoffset(None) in (None, dt.timedelta(0))
    for name in ("Nowhere/Land", "", "../etc/passwd", "+99:99"):
        with pytest.raises(
            ValueError, match=r"^a time zone must be known on this system or be an offset"
        ):
            zone_by_name(name)
    assert zone_name(dt.datetime(2024, 1, 1, tzinfo=BERLIN)) == "Europe/Berlin"
    assert zone_name(dt.datetime(2024, 1, 1, tzinfo=dt.UTC)) is None
    assert zone_name(dt.date(2024, 1, 1)) is zone_name(3) is None
