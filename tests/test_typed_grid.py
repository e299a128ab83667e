"""What grids hold of types: ends that hold every record, and sentences that say what is lost."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import Grid, TypedGrid, default_grid
from dpquantiles.kinds import ANYTHING, BOOLEAN, DATE, INTEGER, REAL, Datetime, DecimalUnits, column
from dpquantiles.kinds.domain import TRUTHS, days, decimals, floats, integers, of_dtype, of_kind
from dpquantiles.kinds.times import MICROSECONDS
from dpquantiles.sources import memory
from experiments.hostile_data import plain

TOP = [2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 1025, 2**63 - 1]
HUGE = [2**63, 2**63 + 1, 2**64 - 1]
REALS = [5e-324, 1e-45, 0.1, 0.125, 1.0, 2.6, 1e6, 16_777_217.0, 3.4e38, 1e39, 1e300, math.inf]
EIGHT = [Decimal("0.12345678"), Decimal("0.0000005"), Decimal("9007199254.7409925")]
FAR = [Decimal("9223372036854.775807"), Decimal("1e13"), Decimal("1e30")]
STAMPS = [0, 1, 999, 1000, 1001, 1_700_000_000_123_456_789, 2**62]
WIDE = dpq.FloatGrid(integral=True)

CASES: dict[str, tuple[Any, Grid | None]] = {
    "int64": (np.array([*TOP, 7, *(-x for x in TOP), -(2**63)]), None),
    "int8": (np.array([-128, 0, 127], dtype=np.int8), None),
    "uint64": (np.array([0, 7, *TOP, *HUGE], dtype=np.uint64), None),
    "uint64, wide": (np.array([0, 7, *TOP, *HUGE], dtype=np.uint64), WIDE),
    "integers": ([*TOP, *HUGE, 10**30, -(10**30), 7], None),
    "integers, wide": ([*TOP, *HUGE, 10**30, -(10**30), 7], WIDE),
    "integers, bounds": (np.array([-9, 0, 5, 50, 99]), dpq.UniformGrid(0, 50)),
    "integers, steps": (
        np.array([-9, 0, 499, 500, 1499, 1500, 9999]),
        dpq.UniformGrid(0, 9000, 1000),
    ),
    "float64": (np.array([*REALS, 0.0, *(-x for x in REALS)]), None),
    "float64, bounds": (np.array([*REALS, *(-x for x in REALS)]), dpq.UniformGrid(-2.0, 3.0)),
    "float64, steps": (np.array([*REALS, *(-x for x in REALS)]), dpq.UniformGrid(-1.0, 3.0, 0.25)),
    "float64, whole": (np.array([-0.6, 0.4, 0.5, 2.5, 2.6, 99.5]), dpq.UniformGrid(0, 9)),
    "float32": (np.array([1e-45, 0.1, 3.4e38, math.inf], dtype=np.float32), None),
    "decimals": ([*EIGHT, *FAR, *(-x for x in EIGHT), *(-x for x in FAR)], None),
    "decimals, bounds": (EIGHT, dpq.UniformGrid(Decimal("0.00"), Decimal("1.00"))),
    "datetimes of ns": (np.array(STAMPS).view("M8[ns]"), None),
    "durations of ns": (np.array([*STAMPS, *(-x for x in STAMPS)]).view("m8[ns]"), None),
    "durations of ms": (np.array([*STAMPS, *(-x for x in STAMPS)]).view("m8[ms]"), None),
    "durations of s": (np.array([*STAMPS, *(-x for x in STAMPS)]).view("m8[s]"), None),
    "durations of days": (np.array([*STAMPS, *(-x for x in STAMPS)]).view("m8[D]"), None),
    "truths": (np.array([False, True]), None),
}
"""Records at the places where grids and types part, and a grid, or the default one."""


def exact(records: Any) -> list[Any]:
    """Records as exact numbers; those of times in nanoseconds."""
    if isinstance(records, np.ndarray) and records.dtype.kind in "mM":
        unit = int(1000 * MICROSECONDS[np.datetime_data(records.dtype)[0]])
        return [unit * ticks for ticks in records.view(np.int64).tolist()]
    return [
        plain(record) for record in (records.tolist() if hasattr(records, "tolist") else records)
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_ends_of_a_cut_hold_the_records_on_its_sides(name: str) -> None:
    """For all records and all cuts near them, by brute force, exactly."""
    records, grid = CASES[name]
    typed = memory.read(records, None if grid is None else grid.kind)
    grid = grid or default_grid(typed.kind)
    steps = grid.encode(column(grid.kind, typed.values).numbers)
    near = np.unique(np.concatenate([steps + shift for shift in (-1, 0, 1, 2)]))
    cuts = near[(near > 0) & (near < grid.size)]
    held = TypedGrid(grid, typed.domain)
    for cut, lower, upper in zip(cuts, held.lower(cuts), held.upper(cuts), strict=True):
        for step, number in zip(steps, exact(records), strict=True):
            if step >= cut:
                assert lower is None or plain(lower) <= number
            else:
                assert upper is None or number <= plain(upper)
    first, last = held.ends
    assert first is None or plain(first) <= min(exact(records))
    assert last is None or max(exact(records)) <= plain(last)


def test_what_is_held_exactly_is_not_widened() -> None:
    cuts = np.array([1, 5])
    for domain in (integers(64, signed=True), of_kind(INTEGER), integers(8, signed=False)):
        held = TypedGrid(dpq.UniformGrid(0, 9), domain)
        assert (held.lower(cuts), held.upper(cuts)) == ((1, 5), (0, 4))
    for domain in (floats(64), ANYTHING, decimals(18, 2)):
        held = TypedGrid(dpq.UniformGrid(0, 9), domain)
        assert (held.lower(cuts), held.upper(cuts)) == ((0, 4), (1, 5))
    coarse = TypedGrid(dpq.UniformGrid(0, 90, 10), integers(64, signed=True))
    assert (coarse.lower(cuts), coarse.upper(cuts)) == ((0, 40), (10, 50))
    cents = TypedGrid(dpq.UniformGrid(Decimal("0.00"), Decimal("1.00")), decimals(9, 2))
    assert cents.lower(cuts) == (Decimal("0.01"), Decimal("0.05"))
    finer = TypedGrid(dpq.UniformGrid(Decimal("0.00"), Decimal("1.00")), decimals(9, 3))
    assert finer.lower(cuts) == (Decimal("0.00"), Decimal("0.04"))


def test_ends_are_open_only_where_the_type_goes_on() -> None:
    def ends(grid: Grid, dtype: str) -> tuple[Any, Any]:
        return TypedGrid(grid, of_dtype(np.dtype(dtype))).ends

    assert ends(dpq.UniformGrid(-128, 127), "i1") == (-128, 127)
    assert ends(dpq.UniformGrid(-127, 126), "i1") == (None, None)
    assert ends(dpq.UniformGrid(0, 300), "u1") == (0, 300)
    assert ends(default_grid(INTEGER), "i4") == (-(2**63), 2**63 - 1024)
    assert ends(default_grid(INTEGER), "i8") == (-(2**63), None)
    assert ends(default_grid(INTEGER), "u8") == (-(2**63), None)
    assert ends(WIDE, "u8")[1] is not None
    assert ends(default_grid(REAL), "f4") == (None, None)
    assert TypedGrid(default_grid(BOOLEAN)).ends == (False, True)
    stamps = ends(default_grid(Datetime()), "M8[ns]")
    assert stamps == (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
    assert ends(default_grid(Datetime()), "M8[us]") == (None, None)
    assert TypedGrid(default_grid(DecimalUnits(2)), decimals(9, 2)).ends[1] is not None


def notes(grid: Grid, domain: Any) -> str:
    return " ".join(TypedGrid(grid, domain).notes)


@pytest.mark.parametrize(
    ("kind", "domain", "said"),
    [
        (BOOLEAN, TRUTHS, ""),
        (INTEGER, integers(32, signed=True), ""),
        (INTEGER, integers(64, signed=False), "Values above 9,223,372,036,854,774,784 count as"),
        (INTEGER, integers(64, signed=False), "(the column's type, uint64, goes further)"),
        (
            INTEGER,
            integers(64, signed=True),
            "outside -9,007,199,254,740,992 to 9,007,199,254,740,992 are rounded",
        ),
        (INTEGER, integers(128, signed=True), "outside -9,223,372,036,854,775,808 to 9,223,"),
        (INTEGER, of_kind(INTEGER), "outside -9,223,372,036,854,775,808 to 9,223,"),
        (INTEGER, floats(64), "rounded to whole numbers (the column's type, float64, is finer)"),
        (REAL, floats(64), ""),
        (DecimalUnits(2), decimals(15, 2), ""),
        (
            DecimalUnits(2),
            decimals(18, 2),
            "outside -90,071,992,547,409.92 to 90,071,992,547,409.92 are rounded",
        ),
        (DecimalUnits(6), decimals(38, 8), "rounded to 6 decimal places (the column's type, dec"),
        (DecimalUnits(6), decimals(38, 8), "outside -9,223,372,036,854.775808 to 9,223,372,036,8"),
        (DecimalUnits(), of_kind(DecimalUnits()), "Values are rounded to 6 decimal places."),
        (DATE, days(32), "Dates outside 0001-01-01 to 9999-12-31 count as the nearer of the two"),
        (Datetime(), of_dtype(np.dtype("M8[ns]")), "Times are rounded down to microseconds (the c"),
        (Datetime(), of_dtype(np.dtype("M8[us]")), "outside 0001-01-02 00:00:00 to 9999-12-30 00"),
    ],
    ids=str,
)
def test_what_is_lost_is_said(kind: Any, domain: Any, said: str) -> None:
    found = notes(default_grid(kind), domain)
    assert (said in found) if said else not found


@pytest.mark.parametrize(
    ("grid", "domain"),
    [
        (dpq.UniformGrid(0, 1000), integers(64, signed=False)),
        (dpq.UniformGrid(0, 10**18), integers(64, signed=True)),
        (dpq.UniformGrid(0, 10**18, 1000), of_kind(INTEGER)),
        (dpq.FloatGrid(-5, 10**15, kind=INTEGER), integers(64, signed=True)),
        (dpq.UniformGrid(0.0, 1.0, 0.25), floats(64)),
        (dpq.UniformGrid(Decimal(0), Decimal(1), Decimal("0.01")), decimals(38, 8)),
        (
            dpq.UniformGrid(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), dt.timedelta(1)),
            of_dtype(np.dtype("M8[ns]")),
        ),
        (dpq.UniformGrid(dt.date(2020, 1, 1), dt.date(2021, 1, 1)), days(32)),
    ],
    ids=str,
)
def test_what_was_asked_for_needs_no_note(grid: Grid, domain: Any) -> None:
    assert notes(grid, domain) == ""


def test_a_bound_on_one_side_leaves_the_other_to_be_told() -> None:
    assert notes(dpq.FloatGrid(lower=0.0), floats(64)) == ""
    found = notes(dpq.FloatGrid(lower=0, kind=INTEGER), of_kind(INTEGER))
    assert "above" in found
    assert "below" not in found
    assert notes(dpq.UniformGrid(0.0, 1.0), floats(64)) == (
        "Values are rounded to multiples of 3.64e-12."
    )


def test_a_domain_is_that_of_the_type_by_brute_force() -> None:
    for dtype in ("i1", "u1", "i2", "u2", "i8", "u8"):
        info, domain = np.iinfo(dtype), of_dtype(np.dtype(dtype))
        assert domain == integers(info.bits, signed=info.min < 0)
        assert [domain.low, domain.high, domain.unit] == list(
            map(Fraction, (info.min, info.max, 1))
        )
    for dtype in ("f2", "f4", "f8"):
        assert of_dtype(np.dtype(dtype)).bits == np.finfo(dtype).nmant + 1
    assert decimals(4, 2).high == Fraction(9999, 100)
    assert of_dtype(np.dtype("m8[ns]")).unit == Fraction(1, 1000)
    assert of_dtype(np.dtype("M8[25s]")).unit == 25_000_000
    assert of_dtype(np.dtype("M8[D]")).unit == 86_400_000_000


def test_types_of_libraries_have_the_domains_of_arrays() -> None:
    nw = pytest.importorskip("narwhals.stable.v2")
    from dpquantiles.sources.tables import domain_of

    same: Sequence[tuple[Any, str]] = [
        (nw.Int8(), "i1"),
        (nw.UInt64(), "u8"),
        (nw.Float32(), "f4"),
        (nw.Float64(), "f8"),
        (nw.Boolean(), "?"),
        (nw.Datetime("ns", "UTC"), "M8[ns]"),
        (nw.Duration("ms"), "m8[ms]"),
    ]
    for dtype, name in same:
        assert domain_of(dtype) == of_dtype(np.dtype(name))
    assert domain_of(nw.Int128()) == integers(128, signed=True)
    assert domain_of(nw.Decimal(20, 4)) == decimals(20, 4)
    assert domain_of(nw.Date()) == days(32)
    assert domain_of(nw.Unknown()) == ANYTHING
