"""Grids: exact both ways, monotone, one record at a time, never a raise nor a warning."""

import datetime as dt
import itertools
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpquantiles.grid import (
    FINEST,
    MOST_STEPS,
    FloatGrid,
    Grid,
    GridFamily,
    UniformGrid,
    default_grid,
)
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
from tests.kinds.strategies import KINDS, ZONES, numbers

BERLIN = ZoneInfo("Europe/Berlin")
LARGEST = float(np.finfo(np.float64).max)
LARGEST_SINGLE = float(np.finfo(np.float32).max)

FIXED_GRIDS: list[Grid] = [
    UniformGrid(0, 10),
    UniformGrid(-7, 8, 3),
    UniformGrid(0, 1, 0.1),
    UniformGrid(-1.0, 1.0, 0.1),
    UniformGrid(0.1, 0.9, Fraction(1, 7)),
    UniformGrid(0, 100, Decimal("0.25")),
    UniformGrid(Decimal("-1.5"), Decimal("1.5")),
    UniformGrid(False, True),
    UniformGrid(dt.date(2024, 1, 1), dt.date(2024, 12, 31), dt.timedelta(days=7)),
    UniformGrid(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), dt.timedelta(hours=1)),
    UniformGrid(
        dt.datetime(2024, 10, 27, tzinfo=BERLIN),
        dt.datetime(2024, 10, 28, tzinfo=BERLIN),
        dt.timedelta(minutes=30),
    ),
    UniformGrid(dt.timedelta(0), dt.timedelta(seconds=1), dt.timedelta(milliseconds=7)),
    FloatGrid(1.0, 1.0 + 2.0**-49),
    FloatGrid(-(2.0**-1060), 2.0**-1060),
    FloatGrid(2**53 - 3, 2**53 + 8, integral=True),
    FloatGrid(Decimal("-0.05"), Decimal("0.05"), kind=DecimalUnits(3)),
]

HUGE_GRIDS: list[Grid] = [
    *(UniformGrid(-(2**61), 2**61 - 1), UniformGrid(-(2**63), 2**63 - 1, 4)),
    *(UniformGrid(-(2**63), 2**63 - 1, 1000), UniformGrid(-(2**63), 2**63 - 1, 2**63 + 5)),
    *(UniformGrid(-(2**63), 2**63 - 1, 2**70), UniformGrid(0, FINEST, 1.0)),
    *(UniformGrid(-1e15, 1e15, 2.0), UniformGrid(0, 1e14, 0.3), UniformGrid(0.0, 1e-300, 1e-307)),
    *(FloatGrid(), FloatGrid(integral=True), FloatGrid(0, 1), FloatGrid(upper=-1e-40)),
    *(FloatGrid(kind=DecimalUnits()), FloatGrid(-5, integral=True)),
    *(default_grid(kind) for kind in KINDS),
    *(default_grid(REAL, bounds) for bounds in [(0, 1), (-1e6, 1e-3), (-LARGEST, LARGEST)]),
]

every_grid = pytest.mark.parametrize("grid", [*FIXED_GRIDS, *HUGE_GRIDS], ids=repr)


def numbers_of(grid: Grid, steps: NDArray[np.int64]) -> NDArray[Any]:
    """What a column of the grid's own values holds; doubles where they are beyond 64 bits."""
    values = grid.decode(steps)
    wanted = [grid.kind.number(value, "values") for value in values]
    if grid.kind.integral and max(map(abs, wanted)) > 2**63:
        return np.array(wanted, dtype=np.float64)
    found, missing = column(grid.kind, values)
    assert missing is None
    assert found.tolist() == wanted
    return found


def check_inverse(grid: Grid, steps: NDArray[np.int64]) -> None:
    with np.errstate(all="raise"):
        assert grid.encode(numbers_of(grid, steps)).tolist() == steps.tolist()


@st.composite
def uniform_grids(draw: st.DrawFn) -> UniformGrid:
    kind = draw(st.sampled_from(KINDS))
    low, high = sorted(draw(st.lists(numbers(kind), min_size=2, max_size=2, unique=True)))
    if kind == REAL and draw(st.booleans()):
        # Bounds that are closer together than a step of the smallest doubles are refused.
        assume(high - low > max(max(abs(low), abs(high)) * 2.0**-40, 1e-300))
        return UniformGrid(low, high)
    if kind == REAL:
        resolution = draw(st.floats(1e-300, 1e290))
        first = draw(st.integers(2 - FINEST, FINEST - 2))
        last = draw(st.integers(first + 1, FINEST - 1))
        return UniformGrid(first * resolution, last * resolution, resolution)
    least = -(-(high - low) // (MOST_STEPS - 2)) or 1
    width = draw(st.integers(int(least), int(max(least, high - low))))
    return UniformGrid(kind.value(low), kind.value(high), distance(kind, width), kind)


def distance(kind: Kind, width: int) -> Any:
    """A distance of `width` units between two values."""
    if kind == DATE or isinstance(kind, Datetime):
        return width * kind.unit
    return width if kind == BOOLEAN else kind.value(width)


UNLIMITED: list[Kind] = [REAL, INTEGER, DecimalUnits(2), DURATION]


@st.composite
def float_grids(draw: st.DrawFn) -> FloatGrid:
    kind = draw(st.sampled_from(UNLIMITED))
    low, high = sorted(draw(st.lists(numbers(kind), min_size=2, max_size=2, unique=True)))
    low, high = (max(-LARGEST_SINGLE, low), min(LARGEST_SINGLE, high))
    lower = draw(
        st.just(kind.value(low)) if kind == DURATION else st.none() | st.just(kind.value(low))
    )
    try:
        return FloatGrid(lower, kind.value(high), kind=kind)
    except ValueError:  # two doubles with no single between them
        return FloatGrid(kind.value(-1), kind.value(1), kind=kind)


grids = uniform_grids() | float_grids()


@pytest.mark.parametrize("grid", FIXED_GRIDS, ids=repr)
def test_encode_inverts_decode_at_every_step(grid: Grid) -> None:
    check_inverse(grid, np.arange(grid.size))


@every_grid
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_encode_inverts_decode_on_large_grids(grid: Grid, data: st.DataObject) -> None:
    edges = st.sampled_from([0, 1, grid.size // 2, grid.size - 2, grid.size - 1])
    steps = data.draw(st.lists(st.integers(0, grid.size - 1) | edges, min_size=1))
    check_inverse(grid, np.clip(np.array(steps), 0, grid.size - 1))


@settings(max_examples=300, deadline=None)
@given(grid=grids, data=st.data())
def test_encode_inverts_decode_on_random_grids(grid: Grid, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, grid.size - 1), max_size=10))
    check_inverse(grid, np.array([0, grid.size - 1, *steps]))


@settings(max_examples=200, deadline=None)
@given(grid=grids, data=st.data())
def test_decode_is_increasing_and_within_bounds(grid: Any, data: st.DataObject) -> None:
    steps = sorted({0, grid.size - 1, *data.draw(st.lists(st.integers(0, grid.size - 1)))})
    values = grid.decode(np.array(steps))
    assert all(low < high for low, high in itertools.pairwise(values))
    assert grid.lower is None or values[0] >= grid.lower
    assert grid.upper is None or values[-1] <= grid.upper
    assert {type(value) for value in values} == {type(grid.kind.value(1))}


RAW = [
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.floats(width=16).map(np.float16),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 255).map(np.uint8),
    st.integers(0, 2**32 - 1).map(np.uint32),
    st.booleans().map(np.int8),
]
"""Numbers of every dtype that a column can have."""


@pytest.mark.parametrize("raw", RAW, ids=repr)
@settings(max_examples=150, deadline=None)
@given(grid=grids, data=st.data())
def test_encode_is_monotone_and_never_raises(
    grid: Grid, raw: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    values = np.array(data.draw(st.lists(raw, min_size=1)))
    with np.errstate(all="raise"):
        steps = grid.encode(np.sort(values))
    assert steps.dtype == np.int64
    assert (np.diff(steps) >= 0).all()
    assert 0 <= steps[0] <= steps[-1] < grid.size


@pytest.mark.parametrize("raw", RAW, ids=repr)
@settings(max_examples=50, deadline=None)
@given(grid=grids, data=st.data())
def test_encode_takes_one_record_at_a_time(
    grid: Grid, raw: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    values = np.array(data.draw(st.lists(raw, min_size=1)))
    alone = [int(grid.encode(values[i : i + 1])[0]) for i in range(len(values))]
    swapped = values.astype(values.dtype.newbyteorder())
    assert grid.encode(values).tolist() == grid.encode(swapped).tolist() == alone


@settings(max_examples=200, deadline=None)
@given(grid=uniform_grids(), data=st.data())
def test_uniform_grids_take_the_nearest_point(grid: UniformGrid, data: st.DataObject) -> None:
    number = data.draw(numbers(grid.kind))
    first, last = (grid.kind.number(v, "x") for v in grid.decode(np.array([0, grid.size - 1])))
    clamped = Fraction(min(max(number, first), last))
    step = int(grid.encode(np.array([number]))[0])
    near = [s for s in (step - 1, step, step + 1) if 0 <= s < grid.size]
    points = [Fraction(n) for n in (grid.kind.number(v, "x") for v in grid.decode(np.array(near)))]
    distances = {s: abs(point - clamped) for s, point in zip(near, points, strict=True)}
    # Doubles may round to the other side near the middle between two points.
    slack = 0 if grid.kind.integral else Fraction(3, 8) * (max(points) - min(points))
    assert distances[step] <= min(distances.values()) + slack


@every_grid
def test_infinities_clamp(grid: Grid) -> None:
    top = grid.size - 1
    steps = grid.encode(np.array([-math.inf, math.inf, math.nan, -math.nan]))
    assert steps.tolist() == [0, top, top, top]
    assert grid.encode(np.array([])).tolist() == []


@settings(max_examples=200, deadline=None)
@given(st.floats(-LARGEST, LARGEST), st.floats(-LARGEST, LARGEST), st.data())
def test_default_real_grids_are_multiples_of_a_power_of_two(
    one: float, two: float, data: st.DataObject
) -> None:
    low, high = min(one, two), max(one, two)
    try:
        grid = UniformGrid(low, high, kind=REAL)
    except ValueError:
        assert high - low < max(abs(low), abs(high)) * 2.0**-48 or high - low < 1e-300
        return
    steps = data.draw(st.lists(st.integers(0, grid.size - 1), min_size=1))
    points = [Fraction(value) for value in grid.decode(np.array(steps))]
    first, second = (Fraction(v) for v in grid.decode(np.array([0, min(1, grid.size - 1)])))
    width = second - first
    assert grid.size == 1 or width.numerator == 1 or width.denominator == 1
    assert grid.size == 1 or all(
        part & (part - 1) == 0 for part in (width.numerator, width.denominator)
    )
    assert points == [first + step * width for step in steps]
    assert grid.size <= 2**38 + 1
    assert all(low <= point <= high for point in points)


def digits_of(number: float) -> int:
    """How many significant digits a number is written with."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits)


@settings(max_examples=200, deadline=None)
@given(st.floats(-LARGEST, LARGEST), st.floats(-LARGEST, LARGEST), st.data())
def test_points_of_real_families_are_short(one: float, two: float, data: st.DataObject) -> None:
    low, high = min(one, two), max(one, two)
    try:
        grid = default_grid(REAL, (low, high))
    except ValueError:
        return
    assert isinstance(grid, GridFamily)
    steps = np.array(data.draw(st.lists(st.integers(0, grid.size - 1), min_size=1)))
    short, points = grid.decode(steps), grid.base.decode(steps)
    assert grid.encode(np.array(short)).tolist() == steps.tolist()
    assert all(low <= number <= high for number in short)
    usual = ((s, p) for s, p in zip(short, points, strict=True) if 1e-4 < abs(p) < 1e15)
    assert all(digits_of(number) <= digits_of(point) for number, point in usual)


def test_numbers_of_a_grid_that_is_wider_than_any_double() -> None:
    grid = UniformGrid(-1.7e308, 1.7e308)
    steps = np.linspace(0, grid.size - 1, 1001).astype(np.int64)
    with np.errstate(all="raise"):
        numbers = grid.numbers(steps)
    np.testing.assert_allclose(numbers, grid.decode(steps), rtol=1e-12)
    assert (np.diff(numbers) > 0).all()


def test_numbers_that_people_write_come_back() -> None:
    numbers = [0.0, 0.05, 0.3, 1.1, 3.97, 4.999, 19.99, -0.07, 1e-6, 123.456789]
    grid = default_grid(REAL, (-0.1, 200.0))
    assert grid.decode(grid.encode(np.array(numbers))) == numbers
    assert str(grid.decode(grid.encode(np.array([-1e-14])))) == "[0.0]"
    wide = default_grid(REAL, (0.0, 1e9))
    assert wide.decode(wide.encode(np.array([3.97, 20.99, 32_900.0]))) == [3.97, 20.99, 32_900.0]
    assert default_grid(REAL, (0.1, 5.0)).decode(np.array([0])) == [0.1]


def test_default_real_grids_are_fine() -> None:
    assert default_grid(REAL, (0, 1)).size == 2**38 + 1
    assert default_grid(REAL, (-100, 100)).size > 2**37
    assert UniformGrid(0.0, 5e-324).size == 1
    assert UniformGrid(0.0, 1.0) == UniformGrid(0.0, 1.0, None, REAL)
    assert UniformGrid(0.0, 1.0).size == 2**38 + 1


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float_grid_is_the_order_of_doubles(number: float) -> None:
    grid = FloatGrid()
    (step,) = grid.encode(np.array([number]))
    (point,) = grid.decode(np.array([step]))
    if 2.0**-60 <= abs(number) < 2.0**62:
        assert point == number
        if abs(np.nextafter(number, np.inf)) >= 2.0**-60:
            assert grid.decode(np.array([step + 1])) == [float(np.nextafter(number, np.inf))]
    else:
        assert point == pytest.approx(number, rel=2.0**-40, abs=2.0**-1062)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=50))
def test_float_grid_keeps_the_order(numbers: list[float]) -> None:
    steps = FloatGrid().encode(np.sort(np.array(numbers)))
    assert (np.diff(steps) >= 0).all()


def test_float_grid_is_symmetric_around_one_zero() -> None:
    grid = FloatGrid()
    assert grid.size % 2 == 1
    assert grid.size < 2**60
    middle = grid.size // 2
    assert grid.encode(np.array([-0.0])) == grid.encode(np.array([0.0])) == middle
    first, last = grid.decode(np.array([0, grid.size - 1]))
    assert first == -last
    assert LARGEST * (1 - 2.0**-40) <= last <= LARGEST
    assert grid.decode(np.array([middle + 1, middle - 1])) == [2.0**-1062, -(2.0**-1062)]


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**53), 2**53) | st.integers(-(2**63), 2**63 - 1))
def test_integral_float_grid_is_exact_to_2_53_and_beyond_where_doubles_are(number: int) -> None:
    grid = FloatGrid(integral=True)
    (value,) = grid.decode(grid.encode(np.array([number])))
    assert type(value) is int
    assert value == (number if abs(number) <= 2**53 else int(float(number)))


def test_integral_float_grid_takes_every_integer_once() -> None:
    grid = FloatGrid(integral=True)
    start = int(grid.encode(np.array([2**53 - 2]))[0])
    values = grid.decode(np.arange(start, start + 6))
    assert values == [2**53 - 2, 2**53 - 1, 2**53, 2**53 + 2, 2**53 + 4, 2**53 + 6]
    assert grid.decode(np.array([0, grid.size - 1])) == [-int(LARGEST), int(LARGEST)]


def test_bounds_cut_float_grids() -> None:
    grid = FloatGrid(0.1, 0.9)
    first, last = grid.decode(np.array([0, grid.size - 1]))
    assert (first, last) == (0.1, 0.9)
    assert FloatGrid(-1e300, 1e300).size < FloatGrid().size
    assert FloatGrid(2**53 + 1, integral=True).decode(np.array([0])) == [2**53 + 2]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_default_grids_hold_all_of_their_type(kind: Kind) -> None:
    grid = default_grid(kind)
    first, last = grid.decode(np.array([0, grid.size - 1]))
    if kind.limits is not None:
        assert (first, last) == kind.limits
    elif kind.integral:
        assert (kind.number(first, "x"), kind.number(last, "x")) == (-(2**63), 2**63 - 1024)
    else:
        assert -first == last >= LARGEST * (1 - 2.0**-40)
    assert grid.kind == kind


def test_types_come_from_the_bounds() -> None:
    day, moment = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)
    aware = moment.replace(tzinfo=BERLIN)
    hour = dt.timedelta(hours=1)
    cases: list[tuple[tuple[Any, ...], Kind]] = [
        ((0, 10), INTEGER),
        ((0, 10.0), REAL),
        ((0, 10, 0.5), REAL),
        ((False, True), BOOLEAN),
        ((Decimal("0"), Decimal("1.25")), DecimalUnits(2)),
        ((0, 1, Decimal("0.001")), DecimalUnits(3)),
        ((Decimal("1"), 2.5), DecimalUnits(1)),
        ((day, day + dt.timedelta(days=9)), DATE),
        ((day, day + dt.timedelta(days=9), dt.timedelta(days=3)), DATE),
        ((moment, moment + hour), Datetime()),
        ((aware, aware + hour, hour), Datetime(BERLIN)),
        ((hour, 2 * hour), DURATION),
        ((np.float32(0), np.float32(1)), REAL),
        ((np.int16(0), np.int64(1)), INTEGER),
    ]
    for parameters, kind in cases:
        assert UniformGrid(*parameters).kind == kind


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((10, 0), r"^bounds must have lower < upper, got lower=10, upper=0$"),
        ((5, 5), r"^bounds must have lower < upper, got lower=5, upper=5$"),
        ((math.nan, 1), r"^bounds must be finite, got nan$"),
        ((0, math.inf), r"^bounds must be finite, got inf$"),
        ((-math.inf, math.inf), r"^bounds must be finite, got -inf$"),
        ((0, 10**400), r"^bounds must be finite, got 1000"),
        ((Decimal("NaN"), Decimal(1)), r"^bounds must be finite, got Decimal\('NaN'\)$"),
        ((Decimal("sNaN"), Decimal(1)), r"^bounds must be finite, got Decimal\('sNaN'\)$"),
        ((0.2, 0.8, 10, INTEGER), r"^bounds must contain a grid point, got lower=0.2, upper=0.8$"),
        ((0, 10, 0), r"^step must be a positive multiple of 1, got 0$"),
        ((0, 10, -1), r"^step must be a positive multiple of 1, got -1$"),
        ((0, 10, 0.5, INTEGER), r"^step must be a positive multiple of 1, got 0.5$"),
        ((0.0, 1.0, -0.1), r"^step must be positive, got -0.1$"),
        ((0.0, 1.0, 0.0), r"^step must be positive, got 0.0$"),
        ((0.0, 1.0, math.nan), r"^step must be finite, got nan$"),
        ((0.0, 1.0, 1e-16), r"^step must be at least 1.7763568394002505e-15, .*, got 1e-16$"),
        (
            (0.0, 1e-320, 1e-323),
            r"^step must be at least 2.2250738585072014e-308, .*, got 1e-323$",
        ),
        (
            (-(2**62), 2**62),
            r"^bounds must leave at most 2\*\*62 grid points if there is no step, "
            r"got -4611686018427387904 and 4611686018427387904$",
        ),
        ((-(2**63), 2**63 - 1, 2), r"^step must leave at most 2\*\*62 grid points, got 2$"),
        ((0, 2**63), r"^bounds must fit in 64-bit integers"),
        ((Decimal(0), Decimal("1E+15"), Decimal("1E-6")), r"^bounds must fit in 64-bit integers"),
        ((dt.timedelta(0), dt.timedelta.max), r"^bounds must fit in 64-bit integers"),
        (
            (dt.date(2024, 1, 1), dt.date(2025, 1, 1), dt.timedelta(hours=1)),
            r"^step must be a whole number of days, got datetime.timedelta\(seconds=3600\)$",
        ),
        (
            (dt.date(2024, 1, 1), dt.date(2025, 1, 1), dt.timedelta(0)),
            r"^step must be a positive multiple of 1 day, 0:00:00, got datetime.timedelta",
        ),
    ],
)
def test_uniform_grids_refuse_values(parameters: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UniformGrid(*parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (("a", "b"), r"^bounds must be numbers, .* or durations, got lower='a', upper='b'$"),
        ((None, None), r"^bounds must be of type number like the values, got None"),
        ((0, "b"), r"^bounds must be of type number like the values, got 'b' of type str$"),
        ((0, 10, "1"), r"^step must be of type number like the values, got '1' of type str$"),
        ((0, 10, None, DATE), r"^bounds must be of type date like the values, got 0 of type int$"),
        (
            (dt.date(2024, 1, 1), dt.date(2025, 1, 1), 7),
            r"^step must be of type timedelta like the values, got 7 of type int$",
        ),
        (
            (dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1, tzinfo=dt.UTC)),
            r"^bounds must be of type (naive|aware) datetime like the values, got datetime",
        ),
    ],
)
def test_uniform_grids_refuse_types(parameters: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        UniformGrid(*parameters)


def test_times_that_some_zone_cannot_write_are_refused_before_any_draw() -> None:
    low, high = (d.replace(tzinfo=dt.UTC) for d in (dt.datetime.min, dt.datetime.max))
    for zone in ZONES[1:]:
        with pytest.raises(ValueError, match=r"^bounds must leave every grid point writable as a"):
            UniformGrid(low, high, None, Datetime(zone))
    assert UniformGrid(low, high, None, Datetime(dt.UTC)).size > 2**57


@pytest.mark.parametrize("kind", [BOOLEAN, DATE, Datetime()], ids=repr)
def test_float_grids_are_for_types_without_limits(kind: Kind) -> None:
    with pytest.raises(ValueError, match=rf"^kind must be a type without limits, got {kind.name}$"):
        FloatGrid(kind=kind)


def test_float_grids_refuse_bounds() -> None:
    with pytest.raises(ValueError, match=r"^bounds must have lower < upper"):
        FloatGrid(1, 0)
    with pytest.raises(ValueError, match=r"^bounds must be finite, got nan$"):
        FloatGrid(math.nan)
    with pytest.raises(ValueError, match=r"^bounds must contain a grid point"):
        FloatGrid(2**60 + 1, 2**60 + 2, integral=True)
    with pytest.raises(TypeError, match=r"^bounds must be of type number like the values, got '0'"):
        FloatGrid("0")
    with pytest.raises(ValueError, match=r"^bounds must leave every grid point writable as a time"):
        FloatGrid(kind=DURATION)


def test_coarser_steps_of_a_resolution_are_those_of_nothing_stated() -> None:
    """Who states that incomes are whole numbers does not say that they are not in thousands."""
    for kind, resolution in ((REAL, 1.0), (INTEGER, 1)):
        stated, nothing = default_grid(kind, None, resolution), default_grid(kind)
        assert isinstance(stated, GridFamily)
        assert isinstance(nothing, GridFamily)
        steps = {member.step for member in stated.members}
        assert {1, 5, 10, 50, 100, 1000, 10_000} <= steps <= {one.step for one in nothing.members}


def test_a_resolution_needs_no_bounds() -> None:
    cases: list[tuple[Kind, Any, int | float]] = [
        (REAL, 0.5, 0.5),
        (INTEGER, 10, 10),
        (INTEGER, 1, 1),
        (DURATION, dt.timedelta(seconds=1), 1_000_000),
        (DecimalUnits(), Decimal("0.05"), 5),
        (DATE, dt.timedelta(days=7), 7),
    ]
    for kind, resolution, width in cases:
        grid = default_grid(kind, None, resolution)
        assert isinstance(grid, GridFamily)
        coarser = [member.step / width for member in grid.members if member.step]
        assert min(coarser) == 1
        assert all(times.denominator == 1 for times in map(Fraction, coarser))
        numbers = [grid.kind.number(v, "x") for v in grid.decode(np.arange(3))]
        assert [number % width for number in numbers] == [0, 0, 0]
    for kind, wrong in ((REAL, -0.5), (INTEGER, 0), (DecimalUnits(), Decimal("-0.01"))):
        with pytest.raises(ValueError, match=r"^resolution must be (a )?positive"):
            default_grid(kind, None, wrong)
    with pytest.raises(TypeError, match=r"^resolution must be of type decimal number"):
        default_grid(DecimalUnits(), None, "0.01")
    assert default_grid(DecimalUnits(), None, Decimal("0.01")).kind == DecimalUnits(2)


def test_resolution_of_decimals_sets_their_places() -> None:
    grid = default_grid(DecimalUnits(), (0, 10), Decimal("0.05"))
    assert [str(value) for value in grid.decode(np.arange(3))] == ["0.00", "0.05", "0.10"]
    assert default_grid(DecimalUnits(2), (0, 10), Decimal("0.001")).size == 10_001
    assert default_grid(DecimalUnits(2), (0.5, 1)).decode(np.array([0])) == [Decimal("0.50")]


def test_tenths_are_tenths() -> None:
    grid = UniformGrid(0, 1, 0.1)
    assert grid.decode(np.arange(11)) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert grid.encode(np.array([0.04, 0.06, 0.349, 2.0])).tolist() == [0, 1, 3, 10]


def test_halves_round_up_between_integers() -> None:
    grid = UniformGrid(-10, 10, 4)
    assert grid.decode(np.arange(grid.size)) == [-10, -6, -2, 2, 6, 10]
    assert grid.encode(np.array([-9, -8, -7, 0, 8, 9])).tolist() == [0, 1, 1, 3, 5, 5]


def test_doubles_beyond_64_bits_clamp() -> None:
    far = np.array([-1e300, -(2.0**63), 2.0**63 - 1024, 2.0**63, 1e300])
    assert UniformGrid(-10, 10).encode(far).tolist() == [0, 0, 20, 20, 20]
    edge = UniformGrid(2**63 - 2000, 2**63 - 1)
    assert edge.encode(far).tolist() == [0, 0, 976, 1999, 1999]


@pytest.mark.parametrize(
    ("kind", "bounds", "resolution"),
    [
        (INTEGER, (0.5, 1.5), None),
        (INTEGER, (0.2, 1.4), 1),
        (REAL, (1.0, math.nextafter(1.0, 2.0)), None),
        (REAL, (0, 5e-324), None),
        (DecimalUnits(2), (Decimal("0.5"), Decimal("1.5")), Decimal(1)),
        (DATE, (dt.date(2024, 1, 1), dt.date(2024, 1, 2)), dt.timedelta(days=2)),
    ],
)
def test_bounds_around_a_single_answer_are_refused(
    kind: Any, bounds: tuple[Any, Any], resolution: Any
) -> None:
    low, high = (re.escape(repr(bound)) for bound in bounds)
    step = "" if resolution is None else f" with a resolution of {re.escape(repr(resolution))}"
    message = f"^bounds must leave at least two possible answers, got {low} and {high}{step}$"
    with pytest.raises(ValueError, match=message):
        default_grid(kind, bounds, resolution)


@pytest.mark.parametrize(
    ("kind", "resolution"), [(INTEGER, 2**60 + 1), (DATE, dt.timedelta(days=3_000_000))]
)
def test_a_resolution_for_a_single_answer_is_refused(kind: Any, resolution: Any) -> None:
    with pytest.raises(ValueError, match=r"^resolution must leave at least two possible answers"):
        default_grid(kind, None, resolution)
    assert default_grid(kind, None, resolution // 3).size > 1


def test_bounds_too_far_apart_for_whole_numbers_are_refused_by_their_own_name() -> None:
    bounds = (-(2**62), 2**62)
    with pytest.raises(ValueError, match=r"^bounds must .* if there is no resolution, got -46"):
        default_grid(INTEGER, bounds)
    assert default_grid(INTEGER, bounds, 4).size == 2**61 + 1


@pytest.mark.parametrize(
    ("kind", "bounds", "resolution"),
    [
        (INTEGER, (0, 1), None),
        (INTEGER, (0.5, 2.5), 1),
        (REAL, (0.2, 0.3), 0.1),
        (BOOLEAN, (False, True), 1),
        (DecimalUnits(2), (Decimal("0.1"), Decimal("0.2")), Decimal("0.1")),
        (DATE, (dt.date(2024, 1, 1), dt.date(2024, 1, 8)), dt.timedelta(days=7)),
    ],
)
def test_bounds_one_step_apart_leave_two_answers(
    kind: Any, bounds: tuple[Any, Any], resolution: Any
) -> None:
    assert default_grid(kind, bounds, resolution).size == 2


def test_narrow_integers_meet_wide_bounds() -> None:
    small = np.array([-128, 0, 127], dtype=np.int8)
    assert UniformGrid(-1000, 1000).encode(small).tolist() == [872, 1000, 1127]
    assert UniformGrid(500, 1000).encode(small).tolist() == [0, 0, 0]
    large = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    for values in (large, large.astype(">u8")):
        assert UniformGrid(0, 10).encode(values).tolist() == [0, 10, 10]
        assert UniformGrid(-10, -1).encode(values).tolist() == [9, 9, 9]


def test_descriptions_are_plain_and_public() -> None:
    assert UniformGrid(0.5, 9.5, None, INTEGER).describe() == {
        "name": "uniform",
        "lower": 1,
        "upper": 9,
        "points": 9,
    }
    assert FloatGrid(0, None).describe()["upper"] is None
    assert UniformGrid(dt.date(2024, 1, 1), dt.date(2024, 1, 2)).describe()["lower"] == "2024-01-01"


def test_grids_are_values() -> None:
    assert UniformGrid(0, 10) == UniformGrid(0, 10, None, INTEGER)
    assert hash(UniformGrid(0, 10)) == hash(UniformGrid(0, 10))
    assert UniformGrid(0, 10) != UniformGrid(0, 10, 2)
    assert FloatGrid() == FloatGrid(kind=REAL)
    assert isinstance(FloatGrid(), Grid)
    assert not isinstance(UniformGrid, Grid)
    assert INT64.max == 2**63 - 1
