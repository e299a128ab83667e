"""Data never raise, never warn, and never change the shape of what comes back."""

import array
import copy
import datetime as dt
import decimal
import io
import math
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpquantiles as dpq
from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind
from tests.kinds.strategies import HOSTILE_RECORDS, KINDS, Hostile, values

pytestmark = pytest.mark.usefixtures("rough_plans")

Q = (0.0, 0.5, 0.5, 0.9, 1.0)
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
RAW = np.array([2**62, -(2**62), 0, 1, -1, -(2**63)])
"""Ticks of time; the last stands for NaT."""


@contextmanager
def strict_surroundings() -> Iterator[None]:
    """A caller who turned every setting toward raising, and prints nothing."""
    traps = list(decimal.getcontext().traps)
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        np.errstate(all="raise"),
        decimal.localcontext(decimal.Context(prec=3, traps=traps)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("error")
        yield
    assert (out.getvalue(), err.getvalue()) == ("", "")


def check(data: Any, **options: Any) -> dpq.Release:
    asked = {"rng": random.Random(1), "epsilon": 1, **options}
    with strict_surroundings():
        release: dpq.Release = dpq.quantiles(data, Q, **asked)
    assert release.q == Q
    assert len(release.values) == len(Q)
    assert len({type(value) for value in release.values}) == 1
    ordered = [value for _, value in sorted(zip(Q, release.values, strict=True))]
    assert ordered == sorted(ordered)
    assert dpq.Release.from_json(release.to_json()) == release
    return release


DATA: dict[str, Callable[[], Any]] = {
    "empty": lambda: [],
    "one": lambda: [3.5],
    "equal": lambda: [7] * 100,
    "nan": lambda: [math.nan] * 3,
    "none": lambda: [None, None],
    "pandas nothing": lambda: [pd.NA, pd.NaT, None],
    "infinite": lambda: [math.inf, -math.inf, 1.0],
    "huge integers": lambda: [10**400, -(10**400), 2**63, -(2**63) - 1, 0],
    "decimals": lambda: [
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1E+999999"),
        Decimal("1.5"),
    ],
    "decimal zeros": lambda: [Decimal("0E+999999"), Decimal("0E-999999"), Decimal("-0")],
    "fractions": lambda: [Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400)],
    "mixed": lambda: [1, "a", None, 2.5, True, Decimal(1), object(), dt.date(2024, 1, 1), [1], {}],
    "hostile": lambda: [1.0, *HOSTILE_RECORDS],
    "hostile dates": lambda: [dt.date(2024, 1, 1), Hostile(), *HOSTILE_RECORDS[:3]],
    "nested": lambda: [1.0, [2, 3], np.zeros(3), np.zeros((2, 2))],
    "far dates": lambda: [dt.date.min, dt.date.max],
    "far datetimes": lambda: [dt.datetime.min, dt.datetime.max],
    "far aware": lambda: [
        d.replace(tzinfo=dt.timezone(dt.timedelta(hours=h)))
        for d, h in [(dt.datetime.min, 14), (dt.datetime.max, -12)]
    ],
    "far durations": lambda: [dt.timedelta.min, dt.timedelta.max],
    "mixed zones": lambda: [
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2024, 1, 1),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ],
    "generator": lambda: (x for x in [1.0, math.nan]),
    "range": lambda: range(5),
    "masked": lambda: np.ma.masked_array([1.0, np.nan, 3.0], [True, False, False]),
    "all masked": lambda: np.ma.masked_array(np.zeros(3), True),
    "buffer": lambda: array.array("d", [math.inf, math.nan]),
    "memoryview": lambda: memoryview(array.array("f", [1, 2])),
    "subnormal": lambda: np.array([5e-324, -5e-324, 0.0, -0.0]),
    "largest": lambda: np.array([1.7e308, -1.7e308]),
    "signaling": lambda: np.array([0x7FF0000000000001], dtype=np.int64).view(np.float64),
    "signaling single": lambda: np.array([0x7F800001], dtype=np.int32).view(np.float32),
    "long double": lambda: np.array(["1e4000", "-1e4000", "nan", "1e-4000"], dtype="g"),
    "half": lambda: np.array([65504, np.inf, np.nan], dtype="f2"),
    "single": lambda: np.array([3e38, -np.inf, np.nan, 1e-45], dtype="f4"),
    "uint64": lambda: np.array([2**64 - 1, 0], dtype="u8"),
    "big endian uint64": lambda: np.array([2**64 - 1, 0], dtype=">u8"),
    "big endian": lambda: np.array([1.5, np.nan], dtype=">f8"),
    "int8": lambda: np.array([-128, 127], dtype="i1"),
    "odd booleans": lambda: np.array([0, 7, 255], dtype="u1").view(bool),
    "strided": lambda: np.arange(20.0)[::-3],
    "objects": lambda: np.array([1, None, "x", 2**70], dtype=object),
    "pandas Int64": lambda: pd.Series([1, None], dtype="Int64", index=["a", "a"]),
    "pandas objects": lambda: pd.Series(["x"] * 150 + [1.5], dtype=object),
    "pandas no rows": lambda: pd.Series([], dtype="datetime64[ns, UTC]"),
    "polars nulls": lambda: pl.Series([None, None], dtype=pl.Float64),
    "polars far": lambda: pl.Series([2**62, None]).cast(pl.Datetime("ms", "Europe/Berlin")),
    "pyarrow far": lambda: pa.array([2**62, None], pa.timestamp("s", "+02:00")),
    "pyarrow no chunks": lambda: pa.chunked_array([], pa.decimal128(38, 18)),
    **{f"datetime64[{u}]": lambda u=u: RAW.view(f"M8[{u}]") for u in UNITS},  # type: ignore[misc]
    **{f"timedelta64[{u}]": lambda u=u: RAW.view(f"m8[{u}]") for u in UNITS},  # type: ignore[misc]
    "NaT": lambda: np.array(["NaT"] * 3, dtype="M8"),
}


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("name", DATA)
def test_data_never_raise(name: str, neighbors: str) -> None:
    check(DATA[name](), neighbors=neighbors)


@pytest.mark.parametrize("options", [{"missing": "lower"}, {"neighbors": "add-remove", "size": 9}])
@pytest.mark.parametrize("name", DATA)
def test_data_never_raise_whatever_is_asked(name: str, options: dict[str, Any]) -> None:
    check(DATA[name](), **options)


GRIDS: dict[str, Grid] = {
    "float": dpq.UniformGrid(0.0, 1.0, 0.1),
    "int": dpq.UniformGrid(-5, 5),
    "int far": dpq.FloatGrid(10**15, 10**16, integral=True),
    "decimal": dpq.UniformGrid(Decimal(0), Decimal(1), Decimal("0.01")),
}
TIMES = ("datetime64", "timedelta64", "NaT", "pandas no rows", "polars far", "pyarrow far")
NUMBERS = [name for name in DATA if not name.startswith(TIMES)]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_never_raise_on_a_stated_grid(name: str, grid: str) -> None:
    """Lists of anything too, because a grid states the type."""
    release = check(DATA[name](), grid=GRIDS[grid])
    assert release.type == GRIDS[grid].kind.name


@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 1, 1000])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_masses_that_underflow_do_so_silently(n: int, epsilon: float, neighbors: str) -> None:
    check(np.random.default_rng(1).normal(size=n), epsilon=epsilon, neighbors=neighbors)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_values_of_every_type_with_anything_among_them(kind: Kind, data: st.DataObject) -> None:
    records = data.draw(st.lists(values(kind), min_size=1, max_size=10))
    odd = data.draw(st.lists(st.integers(0, len(HOSTILE_RECORDS) - 1), max_size=5))
    check([*records, *(HOSTILE_RECORDS[k] for k in odd)])


@settings(max_examples=40, deadline=None)
@given(
    records=st.lists(st.floats(), max_size=20),
    bounds=st.tuples(st.floats(-1e6, 0), st.floats(1, 1e6)),
)
def test_answers_stay_in_bounds(records: list[float], bounds: tuple[float, float]) -> None:
    release = check(np.array(records), bounds=bounds)
    assert all(bounds[0] <= value <= bounds[1] for value in release)
    assert release.type == "float"


@pytest.mark.parametrize("name", DATA)
def test_data_are_never_modified(name: str) -> None:
    data = DATA[name]()
    if isinstance(data, np.ndarray) and data.dtype != object:
        before = copy.deepcopy(data)
        data.flags.writeable = False
        check(data)
        assert data.tobytes() == before.tobytes()
    elif isinstance(data, list):
        records = list(data)
        check(data)
        assert all(now is then for now, then in zip(data, records, strict=True))
