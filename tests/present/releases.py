"""Releases of every type, made by hand: presentation needs no data and no randomness."""

import datetime as dt
from decimal import Decimal
from typing import Any

from dpquantiles.intervals import Intervals, MeasuredRanks
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.results import Release


def release(values: list[Any], type_name: str = "int", **changes: Any) -> Release:
    n = len(values)
    options: dict[str, Any] = {
        "values": tuple(values),
        "q": tuple((k + 1) / (n + 1) for k in range(n)),
        "guarantee": PureDP(epsilon=1.0, neighbors=Neighbors.SWAP),
        "mechanism": "joint_exp",
        "type": type_name,
    }
    return Release(**(options | changes))


def with_intervals(values: list[Any], type_name: str = "int", **changes: Any) -> Release:
    """The same with a cut at each value, and counts that leave the first and last ones open."""
    requested = changes.pop("requested", Intervals())
    ranks = MeasuredRanks(
        requested=requested,
        lower=tuple(values),
        upper=tuple(values),
        counts=(1000,) * (len(values) + 1),
        rate=1.0,
        size=1000 * (len(values) + 1),
        ends=changes.pop("ends", (values[0], values[-1])),
    )
    return release(values, type_name, ranks=ranks, **changes)


ZONE = dt.timezone(dt.timedelta(hours=2))
EVERY_TYPE = [
    release([-26, -5, 52]),
    release([0, 10**18, 2 * 10**18]),
    release([-0.5, -3.8e-39, 0.25], "float"),
    release([1e-30, 1e30], "float"),
    release([False, False, True], "bool"),
    release([Decimal("0.10"), Decimal("1000000.00")], "decimal"),
    release([dt.date(2013, 2, 5), dt.date(2013, 11, 25)], "date"),
    release([dt.date.min, dt.date.max], "date"),
    release([dt.date(2013, 2, 5), dt.date(2013, 2, 6)], "date"),
    release([dt.datetime(2024, 1, 1, 6, 15), dt.datetime(2024, 1, 1, 18)], "datetime"),
    release(
        [dt.datetime(2024, 1, 1, tzinfo=ZONE), dt.datetime(2026, 1, 1, tzinfo=ZONE)], "datetime"
    ),
    release([dt.datetime(2024, 1, 1, 0, 0, 0, 5), dt.datetime(2024, 1, 1, 0, 0, 0, 6)], "datetime"),
    release([dt.timedelta(seconds=-3), dt.timedelta(hours=30)], "timedelta"),
    release([dt.timedelta(microseconds=1), dt.timedelta(microseconds=3)], "timedelta"),
    release([7, 7, 7]),
    release([7]),
    release(list(range(99))),
    release([]),
]
