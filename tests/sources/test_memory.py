"""Columns in memory: every library, every type, with nulls, far values and odd shapes."""

import array
import datetime as dt
import math
import sys
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpquantiles.errors import MissingBackend
from dpquantiles.kinds import (
    BOOLEAN,
    DATE,
    DURATION,
    INT64,
    INTEGER,
    REAL,
    Datetime,
    DecimalUnits,
    Kind,
    column,
)
from dpquantiles.sources.memory import TypedColumn, read

BERLIN = ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2024, 5, 31, 12, 30)
AWARE = NOON.replace(tzinfo=BERLIN)
EAST = dt.timezone(dt.timedelta(hours=2))
SPAN = dt.timedelta(days=-3, microseconds=7)
LARGE = 2**60 + 1


def nullable(values: list[Any], dtype: str) -> pd.Series:
    return pd.Series(values, dtype=dtype, index=["x"] * len(values))


def arrow(values: list[Any], type: pa.DataType) -> pa.ChunkedArray:
    """Two chunks, one of them cut out of a longer array."""
    half = len(values) // 2
    longer = pa.array([values[0], *values[half:], values[0]], type=type)
    return pa.chunked_array([pa.array(values[:half], type=type), longer[1:-1]], type=type)


COLUMNS: dict[str, tuple[Any, list[Any], Kind]] = {
    "pandas float": (pd.Series([1.5, None, -math.inf]), [1.5, None, -math.inf], REAL),
    "pandas float32": (pd.Series([1.5, None], dtype="float32"), [1.5, None], REAL),
    "pandas Float64": (nullable([1.5, None, 2.5], "Float64"), [1.5, None, 2.5], REAL),
    "pandas Float32": (nullable([1.5, None], "Float32"), [1.5, None], REAL),
    "pandas Int64": (nullable([LARGE, None, -LARGE], "Int64"), [LARGE, None, -LARGE], INTEGER),
    "pandas Int8": (nullable([1, None], "Int8"), [1, None], INTEGER),
    "pandas UInt64": (nullable([2**64 - 1, None], "UInt64"), [2**64 - 1, None], INTEGER),
    "pandas boolean": (nullable([True, None, False], "boolean"), [True, None, False], BOOLEAN),
    "pandas bool": (pd.Series([True, False]), [True, False], BOOLEAN),
    "pandas int": (pd.Series([3, 1], index=[7, 7]), [3, 1], INTEGER),
    "pandas arrow int": (nullable([LARGE, None], "int64[pyarrow]"), [LARGE, None], INTEGER),
    "pandas arrow float": (nullable([1.5, None], "double[pyarrow]"), [1.5, None], REAL),
    "pandas arrow bool": (nullable([True, None], "bool[pyarrow]"), [True, None], BOOLEAN),
    "pandas arrow date": (
        nullable([NOON.date(), None], "date32[pyarrow]"),
        [NOON.date(), None],
        DATE,
    ),
    "pandas arrow time": (
        nullable([NOON, None], "timestamp[us][pyarrow]"),
        [NOON, None],
        Datetime(),
    ),
    "pandas arrow zone": (
        nullable([AWARE, None], "timestamp[us, tz=Europe/Berlin][pyarrow]"),
        [AWARE, None],
        Datetime(BERLIN),
    ),
    "pandas arrow span": (nullable([SPAN, None], "duration[us][pyarrow]"), [SPAN, None], DURATION),
    "pandas arrow decimal": (
        pd.Series([Decimal("1.25"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
        [Decimal("1.25"), None],
        DecimalUnits(2),
    ),
    "pandas datetime": (pd.Series([NOON, pd.NaT]), [NOON, None], Datetime()),
    "pandas zone": (pd.Series([AWARE, pd.NaT]), [AWARE, None], Datetime(BERLIN)),
    "pandas offset": (
        pd.Series([NOON.replace(tzinfo=EAST)]),
        [NOON.replace(tzinfo=EAST)],
        Datetime(EAST),
    ),
    "pandas timedelta": (pd.Series([SPAN, pd.NaT]), [SPAN, None], DURATION),
    "pandas objects": (pd.Series([1, None, "x", 2.5], dtype=object), [1, None, None, 2.5], REAL),
    "pandas dates": (pd.Series([NOON.date(), math.nan], dtype=object), [NOON.date(), None], DATE),
    "pandas nothing": (pd.Series([], dtype=object), [], REAL),
    "pandas index": (pd.Index([2, 1]), [2, 1], INTEGER),
    "pandas array": (pd.array([LARGE, None], dtype="Int64"), [LARGE, None], INTEGER),
    "polars float": (pl.Series([1.5, None, math.nan]), [1.5, None, None], REAL),
    "polars float32": (pl.Series([1.5, None], dtype=pl.Float32), [1.5, None], REAL),
    "polars int": (pl.Series([LARGE, None]), [LARGE, None], INTEGER),
    "polars uint64": (pl.Series([2**64 - 1, None], dtype=pl.UInt64), [2**64 - 1, None], INTEGER),
    "polars bool": (pl.Series([True, None]), [True, None], BOOLEAN),
    "polars decimal": (
        pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(38, 2)),
        [Decimal("1.25"), None],
        DecimalUnits(2),
    ),
    "polars date": (pl.Series([NOON.date(), None]), [NOON.date(), None], DATE),
    "polars datetime": (pl.Series([NOON, None]), [NOON, None], Datetime()),
    "polars ns": (pl.Series([NOON, None], dtype=pl.Datetime("ns")), [NOON, None], Datetime()),
    "polars zone": (
        pl.Series([AWARE, None], dtype=pl.Datetime("us", "Europe/Berlin")),
        [AWARE, None],
        Datetime(BERLIN),
    ),
    "polars span": (pl.Series([SPAN, None]), [SPAN, None], DURATION),
    "polars nothing": (pl.Series([None, None]), [None, None], REAL),
    "polars empty": (pl.Series([], dtype=pl.Int64), [], INTEGER),
    "arrow float": (arrow([1.5, None, 2.5], pa.float64()), [1.5, None, 2.5], REAL),
    "arrow half": (arrow([np.float16(1.5), None], pa.float16()), [1.5, None], REAL),
    "arrow int": (arrow([LARGE, None, 3], pa.int64()), [LARGE, None, 3], INTEGER),
    "arrow uint8": (arrow([200, None], pa.uint8()), [200, None], INTEGER),
    "arrow bool": (arrow([True, None, False], pa.bool_()), [True, None, False], BOOLEAN),
    "arrow decimal": (
        arrow([Decimal("1.25"), None], pa.decimal128(18, 2)),
        [Decimal("1.25"), None],
        DecimalUnits(2),
    ),
    "arrow wide decimal": (
        arrow([Decimal("1.25"), None], pa.decimal256(60, 30)),
        [Decimal("1.25"), None],
        DecimalUnits(6),
    ),
    "arrow date": (arrow([NOON.date(), None], pa.date32()), [NOON.date(), None], DATE),
    "arrow time": (arrow([NOON, None], pa.timestamp("s")), [NOON, None], Datetime()),
    "arrow zone": (
        arrow([AWARE, None], pa.timestamp("ms", "Europe/Berlin")),
        [AWARE, None],
        Datetime(BERLIN),
    ),
    "arrow offset": (
        arrow([AWARE, None], pa.timestamp("ms", "+02:00")),
        [AWARE, None],
        Datetime(EAST),
    ),
    "arrow span": (arrow([SPAN, None], pa.duration("us")), [SPAN, None], DURATION),
    "arrow null": (pa.nulls(2), [None, None], REAL),
    "arrow array": (pa.array([3, None, 1]), [3, None, 1], INTEGER),
    "arrow slice": (pa.array([9, 3, None, 1, 9])[1:4], [3, None, 1], INTEGER),
    "arrow empty": (pa.array([], pa.float64()), [], REAL),
    "arrow no chunks": (pa.chunked_array([], pa.int32()), [], INTEGER),
    "numpy": (np.array([3, 1]), [3, 1], INTEGER),
    "masked": (np.ma.masked_array([3.0, 1.0], [False, True]), [3.0, None], REAL),
    "list": ([3, None, 1], [3, None, 1], INTEGER),
    "tuple": ((NOON.date(),), [NOON.date()], DATE),
    "range": (range(3), [0, 1, 2], INTEGER),
    "generator": ((x for x in [1.5]), [1.5], REAL),
    "buffer": (array.array("f", [1.5]), [1.5], REAL),
    "memoryview": (memoryview(array.array("d", [1.5])), [1.5], REAL),
    "set": ({4}, [4], INTEGER),
    "empty list": ([], [], REAL),
}


if hasattr(pl, "Int128"):
    COLUMNS["polars int128"] = (
        pl.Series([2**100, None, 3], dtype=pl.Int128),
        [2**100, None, 3],
        INTEGER,
    )


@pytest.mark.parametrize("name", COLUMNS)
def test_records_types_and_nulls(name: str) -> None:
    data, records, kind = COLUMNS[name]
    values, found, _ = read(data)
    assert found == kind
    numbers, missing = column(kind, values)
    absent = [record is None for record in records]
    assert (missing.tolist() if missing is not None else [False] * len(records)) == absent
    expected, _ = column(kind, records)
    present = ~np.array(absent, dtype=bool)
    clamped = [min(number, INT64.max) for number in numbers[present].tolist()]
    assert clamped == expected[present].tolist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_far_times_clamp_in_every_library(unit: Any) -> None:
    far = [2**62, -(2**62), 0, None]
    series: list[Any] = [
        pa.array(far, pa.timestamp(unit)),
        pa.array(far, pa.timestamp(unit, "UTC")),
    ]
    spans: list[Any] = [pa.array(far, pa.duration(unit))]
    if unit != "s":
        series += [pl.Series(far).cast(pl.Datetime(unit, zone)) for zone in (None, "Europe/Berlin")]
        spans += [pl.Series(far).cast(pl.Duration(unit))]
    raw = np.array([*far[:3], INT64.min])
    series += [
        pd.Series(raw.view(f"M8[{unit}]")),
        pd.Series(raw.view(f"M8[{unit}]")).dt.tz_localize("UTC"),
    ]
    spans += [pd.Series(raw.view(f"m8[{unit}]"))]
    for data in (*series, *spans):
        values, kind, _ = read(data)
        numbers, missing = column(kind, values)
        assert missing is not None
        assert missing.tolist() == [False, False, False, True]
        assert numbers[0] >= 2**62 // 1000
        assert numbers[1] <= -(2**62 // 1000)
        assert numbers[2] == 0


@pytest.mark.parametrize(
    "data",
    [
        pa.array([2**31 - 1, -(2**31), None], pa.date32()),
        pl.Series([2**31 - 1, -(2**31), None], dtype=pl.Int32).cast(pl.Date),
        pd.Series(
            pd.arrays.ArrowExtensionArray(pa.array([2**31 - 1, -(2**31), None], pa.date32()))
        ),
    ],
    ids=["pyarrow", "polars", "pandas"],
)
def test_far_dates_clamp_in_every_library(data: Any) -> None:
    values, kind, _ = read(data)
    numbers, missing = column(kind, values)
    assert kind == DATE
    assert numbers[0] > DATE.number(dt.date.max, "bounds")
    assert numbers[1] < DATE.number(dt.date.min, "bounds")
    assert missing is not None
    assert missing.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("declared", "places"),
    [((9, 2), 2), ((18, 12), 12), ((38, 2), 2), ((38, 18), 6), ((38, 0), 0)],
)
def test_wide_decimals_leave_room_for_large_numbers(declared: tuple[int, int], places: int) -> None:
    assert read(pa.array([], pa.decimal128(*declared))).kind == DecimalUnits(places)
    assert read(pl.Series([], dtype=pl.Decimal(*declared))).kind == DecimalUnits(places)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1]}),
        pl.DataFrame({"a": [1]}),
        pl.LazyFrame({"a": [1]}),
        pa.table({"a": [1]}),
    ],
    ids=["pandas", "polars", "polars lazy", "pyarrow"],
)
def test_tables_are_refused(data: Any) -> None:
    with pytest.raises(TypeError, match=r"^data must be one column, got a table; name it: column="):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        pd.Series(["a", "b"]),
        pd.Series(["a"], dtype="string"),
        pd.Series(["a"] * 3, dtype=object),
        pl.Series(["a"]),
        pa.array(["a"]),
        pa.array(["a"], pa.large_string()),
        np.array(["a"]),
        ["a", "b"],
        ["a", None],
    ],
    ids=str,
)
def test_text_is_refused(data: Any) -> None:
    with pytest.raises(TypeError, match=r"^data must be numbers, .* or durations, got .*text"):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        pd.Series([1, 2], dtype="category"),
        pd.Categorical([1, 2]),
        pl.Series(["a"], dtype=pl.Categorical),
        pl.Series(["a"], dtype=pl.Enum(["a"])),
        pa.array([1, 2, 1]).dictionary_encode(),
    ],
    ids=["pandas", "pandas array", "polars", "polars enum", "pyarrow"],
)
def test_categories_are_refused(data: Any) -> None:
    with pytest.raises(TypeError, match=r"got categories; cast them to the type of their values"):
        read(data)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (pl.Series([[1]]), r"List\(Int64\)"),
        (pl.Series([dt.time(1)]), "Time"),
        (pa.array([1], pa.time32("s")), r"time32\[s\]"),
        (pa.array([0], pa.date64()), r"date64\[ms\]"),
        (pa.array([{"a": 1}]), "struct<a: int64>"),
        (pa.record_batch({"a": [1]}), "struct<a: int64>"),
        (pd.Series(pd.period_range("2024-01", periods=2, freq="M")), r"period\[M\]"),
        (pd.Series([1 + 2j]), "complex128"),
    ],
)
def test_other_types_are_refused_by_their_own_name(data: Any, found: str) -> None:
    with pytest.raises(TypeError, match=rf"^data must be numbers, .*, got a column of {found}$"):
        read(data)


@pytest.mark.parametrize("data", ["abc", b"abc", bytearray(b"a"), {"a": 1}, None, 5, 2.5, object])
def test_what_is_no_column_is_refused(data: Any) -> None:
    with pytest.raises(TypeError, match=r"^data must be a column of values, got [A-Za-z]+$"):
        read(data)


def test_dimensions_other_than_one_are_refused() -> None:
    for data in (np.zeros((2, 2)), np.array(1.0), memoryview(b"abcd").cast("B", (2, 2))):
        with pytest.raises(ValueError, match=r"^data must be one column, got [02] dimensions$"):
            read(data)


@pytest.mark.parametrize("records", [[], [None], ["a"], [1, "a"], [math.nan], [NOON]])
@pytest.mark.parametrize("kind", [REAL, INTEGER, DATE, Datetime(BERLIN), DecimalUnits(2)], ids=repr)
def test_a_stated_type_leaves_nothing_to_the_records(records: list[Any], kind: Kind) -> None:
    untyped = [pl.Series(records), pa.nulls(1)] if records == [None] else []
    for data in (records, tuple(records), pd.Series(records, dtype=object), *untyped):
        values, found, _ = read(data, kind)
        assert found == kind
        assert len(column(found, values).numbers) == len(records)


def test_a_declared_type_stays() -> None:
    assert read(np.zeros(2), INTEGER).kind == REAL
    assert read(pl.Series([1]), REAL).kind == INTEGER
    typed = TypedColumn(np.zeros(2), REAL)
    assert read(typed) is typed


class Exported:
    """A column of a library that only speaks Arrow."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.column.__arrow_c_array__(requested_schema)


class Streamed(Exported):
    """The same, in chunks."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.column.__arrow_c_stream__(requested_schema)


def test_arrow_of_any_library(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = [Exported(pa.array([1, None])), Streamed(pa.chunked_array([[1], [None]]))]
    for data in exported:
        values, kind, _ = read(data)
        assert (kind, values.tolist()) == (INTEGER, [1, None])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingBackend, match=r"pip install 'dpquantiles\[pyarrow\]'$"):
        read(exported[0])


@pytest.mark.parametrize(
    "name", ["pandas float", "pandas Int64", "polars int", "arrow int", "numpy"]
)
def test_data_are_never_modified(name: str) -> None:
    data, _, _ = COLUMNS[name]
    before = list(map(str, data))
    values, kind, _ = read(data)
    column(kind, values)
    assert list(map(str, data)) == before
