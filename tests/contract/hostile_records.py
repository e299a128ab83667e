"""Columns of all types with records that were made to break a reader, and all ways to ask for them.

Every table has values v, groups g and units u. Hostile values take the places of single rows, and
at most one row of a unit is hostile.
"""

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import dpquantiles as dpq
from dpquantiles.sources.source import open_data

N = 48
GROUPS = ["a" if k % 2 else "b" for k in range(N)]
UNITS = [k // 4 for k in range(N)]

ALL = {"by": "g", "keys": ["a", "b"]}
EITHER = {"neighbors": "add-remove", "missing": "drop"}
SELECTED = {"by": "g", "keys": "private", "neighbors": "add-remove", "delta": 0.5}

MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain, drop": EITHER,
    "by": ALL,
    "by, private": {**SELECTED, "epsilon": 9.0, "mechanism": "auto"},
    "unit": {"unit": "u"},
    "unit, drop": {"unit": "u", **EITHER},
    "by and unit": {**ALL, "unit": "u", **EITHER},
    "describe": {},
    "describe, unit": {"unit": "u"},
}
FEW = ("plain", "by", "by and unit", "describe")
"""Modes that together take every path to a value."""


class Shown(NamedTuple):
    """What a release shows but its answers: public facts, and the types of the answers."""

    kind: str
    answers: list[type]
    facts: dict[str, object]


def outcome(data: Any, mode: str, **options: Any) -> Shown | tuple[type[Exception], str]:
    """What a call shows in one of the modes; or the error, and its words."""
    asked: dict[str, Any] = {"epsilon": 1.0, "mechanism": "ind_exp", "rng": random.Random(5)}
    asked |= {**MODES[mode], **options}
    try:
        if mode.startswith("describe"):
            made = dpq.describe(data, ["v"], q=[0.25, 0.5], **asked)["v"]
        else:
            made = dpq.quantiles(data, [0.25, 0.5], column="v", **asked)
    except Exception as error:
        return type(error), str(error)
    answers = made.values if "by" not in asked else [a for group in made.values for a in group]
    # Under add-remove neighbors the number of records is bought, and so it is random.
    facts = {name: fact for name, fact in made.provenance.items() if name not in ("size", "sizes")}
    return Shown(made.type, [type(answer) for answer in answers], facts)


def assert_indifferent(harmless: Any, hostile: Any, mode: str, **options: Any) -> None:
    """The hostile records change neither whether a call fails nor what it says or shows.

    A release of the type that the harmless table has by its schema will do without another.
    """
    found = outcome(hostile, mode, **options)
    if isinstance(found, Shown) and "grid" not in options:
        assert found.kind == open_data(harmless, "v").source("v").kind.name
        assert len(found.answers) == (4 if "by" in MODES[mode] else 2)
    else:
        assert found == outcome(harmless, mode, **options)


class Case(NamedTuple):
    """Values of one type: harmless ones, one for each row, and such as were made to break."""

    harmless: Sequence[Any]
    hostile: Sequence[Any]

    def records(self, *, hostile: bool) -> list[Any]:
        """The values of all rows, with or without the hostile ones."""
        found = list(self.harmless)
        if hostile:
            for place, record in enumerate(self.hostile):
                found[5 * place + 1] = record
        return found


def whole(bits: int, *, signed: bool) -> Case:
    """Whole numbers of so many bits."""
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    return Case([k % 100 for k in range(N)], [most, -most - 1 if signed else 0, None])


def _decimals(digits: int, places: int) -> Case:
    most, least = Decimal((0, (9,) * digits, -places)), Decimal((0, (1,), -places))
    harmless = [Decimal((0, (k % 9,), -places)) for k in range(N)]
    return Case(harmless, [most, most.copy_negate(), least, least.copy_negate(), None])


FLOATS = [math.nan, math.inf, -math.inf, -0.0, None, 5e-324, 1.7e308, -1.7e308]

FAR = 2**63 - 1
TICKS = [FAR, -FAR, -FAR - 1, FAR // 1000, -(FAR // 1000), 0, -1, None]
"""Times in 64 bits; the least number stands for a missing time in NumPy."""

DAYS = [2**31 - 1, -(2**31), 2_932_897, -719_163, 0, -1, None]
"""The greatest and the least, and those just outside the years 1 to 9999."""

SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _times(unit: str) -> Case:
    return Case([(1_600_000_000 + 86_400 * k) * SECOND[unit] for k in range(N)], TICKS)


WIDTHS = {
    **{pa.int8(): (8, True), pa.int16(): (16, True), pa.int32(): (32, True)},
    **{pa.int64(): (64, True), pa.uint8(): (8, False), pa.uint16(): (16, False)},
    **{pa.uint32(): (32, False), pa.uint64(): (64, False)},
}
DECIMALS = (
    *(pa.decimal128(*sizes) for sizes in [(5, 2), (18, 9), (19, 3), (38, 0), (38, 9), (38, 38)]),
    *(pa.decimal256(*sizes) for sizes in [(50, 2), (76, 0), (76, 76)]),
    *(pa.decimal128(4, -6), pa.decimal32(9, 2), pa.decimal64(18, 3)),
)

ARROW: dict[Any, Case] = {
    **{stated: whole(bits, signed=signed) for stated, (bits, signed) in WIDTHS.items()},
    pa.float16(): Case([np.float16(k) for k in range(N)], [*map(np.float16, FLOATS[:4]), None]),
    pa.float32(): Case([float(k) for k in range(N)], [*FLOATS[:5], 1e-44, 3e38]),
    pa.float64(): Case([k / 7 for k in range(N)], FLOATS),
    pa.bool_(): Case([k % 3 == 0 for k in range(N)], [True, None]),
    **{stated: _decimals(stated.precision, stated.scale) for stated in DECIMALS},
    pa.date32(): Case([18_000 + k for k in range(N)], DAYS),
    pa.date64(): Case([(18_000 + k) * 86_400_000 for k in range(N)], TICKS),
    **{pa.timestamp(unit): _times(unit) for unit in SECOND},
    **{pa.timestamp(unit, "UTC"): _times(unit) for unit in SECOND},
    pa.timestamp("us", "America/New_York"): _times("us"),
    pa.timestamp("s", "+05:30"): _times("s"),
    **{pa.duration(unit): _times(unit) for unit in SECOND},
    pa.time32("s"): Case(range(N), [86_399, 2**31 - 1, None]),
    pa.time64("us"): Case(range(N), [86_399, 2**63 - 1, None]),
    pa.month_day_nano_interval(): Case([(0, k, 0) for k in range(N)], [(2**31 - 1, -5, FAR), None]),
    pa.string(): Case(["a"] * N, ["", "1", None]),
    pa.dictionary(pa.int32(), pa.int64()): Case(range(N), [FAR, None]),
}
"""By the type of Arrow, which all libraries in memory and most lazy ones take."""


def arrow(stated: Any, *, hostile: bool) -> Any:
    """An Arrow table; times by their ticks, which need not be times that Python can hold."""
    records = ARROW[stated].records(hostile=hostile)
    if pa.types.is_temporal(stated) and not pa.types.is_interval(stated):
        ticks = pa.array(records, pa.int32() if stated.bit_width == 32 else pa.int64())
        values = pa.Array.from_buffers(stated, len(ticks), ticks.buffers())
    else:
        values = pa.array(records, stated)
    return pa.table({"v": values, "g": GROUPS, "u": UNITS})
