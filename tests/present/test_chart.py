"""Round values on axes of every type, and where values stand in a chart."""

import datetime as dt
import decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles.present.ticks import position, ticks


def labels(low: Any, high: Any) -> list[str]:
    return [tick.label for tick in ticks([low, high], 5)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-26, 52, ["-20", "0", "20", "40"]),
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0, 3 * 10**9, ["0", "1e9", "2e9", "3e9"]),
        (1_000_000, 1_000_040, [f"1,000,0{k}0" for k in range(5)]),
        (False, True, ["false", "true"]),
        (7, 7, ["7"]),
        (dt.date(2013, 1, 1), dt.date(2013, 6, 1), [f"2013-0{m}" for m in range(1, 7)]),
        (dt.date(2013, 2, 5), dt.date(2013, 2, 7), ["2013-02-05", "2013-02-06", "2013-02-07"]),
        (dt.date(1990, 5, 1), dt.date(2024, 5, 1), ["2000", "2010", "2020"]),
        (
            dt.datetime(2024, 1, 1, 5),
            dt.datetime(2024, 1, 1, 14, 30),
            [f"2024-01-01 {hour}:00" for hour in ("06", "08", "10", "12", "14")],
        ),
        (
            dt.datetime(2024, 1, 1, 5, 0, 1),
            dt.datetime(2024, 1, 1, 5, 0, 4),
            [f"2024-01-01 05:00:0{second}" for second in (1, 2, 3, 4)],
        ),
        (
            dt.timedelta(0),
            dt.timedelta(hours=2),
            ["0:00:00", "0:30:00", "1:00:00", "1:30:00", "2:00:00"],
        ),
        (
            dt.timedelta(days=1),
            dt.timedelta(days=9),
            [f"{days} days" for days in (2, 4, 6, 8)],
        ),
    ],
)
def test_round_values(low: Any, high: Any, expected: list[str]) -> None:
    assert labels(low, high) == expected


moments = st.datetimes(min_value=dt.datetime(1, 1, 2), max_value=dt.datetime(9999, 12, 30))


@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63), min_size=1),
        st.lists(st.floats(-3e38, 3e38), min_size=1),
        st.lists(st.dates(), min_size=1),
        st.lists(moments, min_size=1),
        st.lists(st.timedeltas(dt.timedelta(days=-99999), dt.timedelta(days=99999)), min_size=1),
        st.lists(st.booleans(), min_size=1),
    )
)
def test_ticks_are_few_ascending_and_in_range(values: list[Any]) -> None:
    found = ticks(values, 5)
    places = [tick.position for tick in found]
    low, high = min(map(position, values)), max(map(position, values))
    slack = 1e-6 * (high - low)
    assert 1 <= len(found) <= 12
    assert places == sorted(places)
    assert all(low - slack <= place <= high + slack for place in places)
    assert len({tick.label for tick in found}) == len(found)


def test_round_values_do_not_depend_on_the_callers_decimal_context() -> None:
    traps = list(decimal.getcontext().traps)
    with decimal.localcontext(decimal.Context(prec=3, traps=traps)):
        assert labels(1_000_000, 1_000_040)[1:3] == ["1,000,010", "1,000,020"]
