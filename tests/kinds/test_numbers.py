"""Numbers: every type of number, exactly, whatever the caller's decimal context or NumPy says."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.kinds import BOOLEAN, INT64, INTEGER, REAL, DecimalUnits, column

CENTS = DecimalUnits(2)


def test_real_numbers_of_every_python_type() -> None:
    records = [
        *(1, 1.5, True, np.int8(-3), np.uint64(2**63), np.float16(0.5), np.float32(0.1), np.True_),
        *(Decimal("0.1"), Fraction(1, 3), np.longdouble("1e4000"), 10**400, -(10**400)),
        *(math.inf, -math.inf, Decimal("-Infinity"), Decimal("1E+400"), Fraction(-(10**400))),
    ]
    found, missing = column(REAL, records)
    assert missing is None
    assert found.tolist() == [
        *(1.0, 1.5, 1.0, -3.0, 2.0**63, 0.5, float(np.float32(0.1)), 1.0),
        *(0.1, 1 / 3, math.inf, math.inf, -math.inf),
        *(math.inf, -math.inf, -math.inf, math.inf, -math.inf),
    ]


def test_whole_numbers_of_every_python_type() -> None:
    records = [
        *(1, True, np.int8(-3), np.uint64(2**64 - 1), np.True_, 2**63, -(2**63), 2**63 - 1),
        *(0.5, 1.5, -2.5, 2.4, np.float32(7.6), 1e300, -math.inf, np.longdouble("-1e4000")),
        *(Decimal("2.5"), Decimal("-1E+999999"), Fraction(7, 2), Fraction(10**400)),
        *(Decimal("0E+999999"), Decimal("-1E-999999"), Decimal("9.3E+18"), 10**400),
    ]
    found, missing = column(INTEGER, records)
    assert missing is None
    assert found.tolist() == [
        *(1, 1, -3, INT64.max, 1, INT64.max, INT64.min, INT64.max),
        *(0, 2, -2, 2, 8, INT64.max, INT64.min, INT64.min),
        *(2, INT64.min, 4, INT64.max),
        *(0, 0, INT64.max, INT64.max),
    ]


def test_lengths_of_time_are_no_numbers() -> None:
    for kind in (REAL, INTEGER, CENTS):
        _, missing = column(kind, [np.timedelta64(5, "s"), np.timedelta64(5), 1])
        assert missing is not None
        assert missing.tolist() == [True, True, False]


@settings(max_examples=200, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(-3, 18))
def test_decimals_are_rounded_exactly(record: Decimal, places: int) -> None:
    exact = round(Fraction(record) * Fraction(10) ** places)
    (found,), missing = column(DecimalUnits(places), [record])
    assert missing is None
    assert found == min(max(exact, INT64.min), INT64.max)


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-3, 6))
def test_floats_among_decimals_are_rounded_exactly(record: float, places: int) -> None:
    exact = round(Fraction(record) * Fraction(10) ** places)
    (listed,), _ = column(DecimalUnits(places), [Decimal(1), record][1:])
    (typed,), _ = column(DecimalUnits(places), np.array([record]))
    assert listed == typed == min(max(exact, INT64.min), INT64.max)


def test_decimals_of_any_length_are_rounded_once() -> None:
    records = [
        Decimal("1.4" + 60 * "9"),
        Decimal("1." + 60 * "0" + "1"),
        Decimal("0.5" + 60 * "0" + "1"),
    ]
    assert column(DecimalUnits(0), records)[0].tolist() == [1, 1, 1]
    far = [Decimal("1E+999999999999999999"), Decimal("-1E+999999999999999999")]
    assert column(DecimalUnits(18), far)[0].tolist() == [INT64.max, INT64.min]


def test_the_decimal_context_of_the_caller_does_not_matter() -> None:
    records = [Decimal("123456789.12"), 0.25, Decimal("1E+30"), Decimal("sNaN"), 3]
    everything = list(decimal.getcontext().traps)
    with decimal.localcontext(decimal.Context(prec=2, Emax=5, Emin=-5, traps=everything)):
        found, missing = column(CENTS, records)
        whole, _ = column(INTEGER, records)
        reals, _ = column(REAL, records)
    assert missing is not None
    assert missing.tolist() == [False, False, False, True, False]
    assert found[~missing].tolist() == [12345678912, 25, INT64.max, 300]
    assert whole[~missing].tolist() == [123456789, 0, INT64.max, 3]
    assert reals[~missing].tolist() == [123456789.12, 0.25, 1e30, 3.0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", ">f8", ">f4", "i1", ">i8", "u8", "?"])
@pytest.mark.parametrize("kind", [REAL, INTEGER, BOOLEAN])
def test_typed_arrays_are_taken_as_they_are(kind: object, dtype: str) -> None:
    values = np.array([0, 1, 1, 0], dtype=dtype)
    found, missing = column(kind, values)  # type: ignore[arg-type]
    assert missing is None
    assert found.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("raw", [0x7FF0000000000001, 0x7FF8000000000000, -1])
def test_every_nan_is_missing(raw: int) -> None:
    """Among them signaling ones, which raise flags when they are converted."""
    doubles = np.array([raw, 0], dtype=np.int64).view(np.float64)
    singles = np.array([0x7F800001, 0], dtype=np.int32).view(np.float32)
    for values in (doubles, singles, singles.view(singles.dtype.newbyteorder()).byteswap()):
        for kind in (REAL, INTEGER):
            with np.errstate(all="raise"):
                _, missing = column(kind, values)
            assert missing is not None
            assert missing.tolist() == [True, False]


def test_long_doubles_beyond_doubles_clamp_silently() -> None:
    values = np.array(["1e4000", "-1e4000", "1e-4000"], dtype="g")
    for kind in (REAL, INTEGER):
        with np.errstate(all="raise"):
            found, missing = column(kind, values)
            (listed, *_), _ = column(kind, list(values))
        assert missing is None
        assert found.tolist() == [math.inf, -math.inf, 0.0]
        assert listed in (math.inf, INT64.max)


def test_booleans_of_odd_bytes_are_true() -> None:
    found, _ = column(BOOLEAN, np.array([0, 1, 2, 255], dtype=np.uint8).view(bool))
    assert found.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("value", [True, np.False_])
def test_truth_is_no_number(value: object) -> None:
    for kind in (REAL, INTEGER, CENTS):
        with pytest.raises(TypeError, match=r"^bounds must be of type (decimal )?number"):
            kind.number(value, "bounds")


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, 10**400, np.float32("nan"), Fraction(10**400)),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1E+400")),
    ],
)
def test_parameters_must_be_finite(value: object) -> None:
    for kind in (REAL, INTEGER, BOOLEAN, CENTS):
        with pytest.raises(ValueError, match=r"^bounds must be finite, got "):
            kind.number(value, "bounds")


def test_parameters_are_exact() -> None:
    assert INTEGER.number(np.int64(2**62 + 1), "bounds") == 2**62 + 1
    assert INTEGER.number(Decimal(2**62 + 1), "bounds") == 2**62 + 1
    assert INTEGER.number(0.5, "bounds") == 0.5
    assert CENTS.number(0.1, "bounds") == 10
    assert CENTS.number(np.int64(2**60), "bounds") == 100 * 2**60
    assert CENTS.number(Decimal("0.125"), "bounds") == 12.5
    assert REAL.number(np.float32(0.1), "bounds") == float(np.float32(0.1))
    assert BOOLEAN.number(np.True_, "bounds") == BOOLEAN.number(1.0, "bounds") == 1
    with pytest.raises(ValueError, match=r"^missing must be False or True, got 2$"):
        BOOLEAN.number(2, "missing")


def test_decimal_values_show_their_places() -> None:
    assert str(CENTS.value(12345)) == "123.45"
    assert str(DecimalUnits(0).value(7)) == "7"
    assert DecimalUnits(-2).value(7) == 700
    assert CENTS.unit == Decimal("0.01")
