"""Public parameters: what is right comes back, what is wrong is named, with what it must be."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpquantiles import Neighbors, require

FLOAT_TYPES = [1.5, np.float64(1.5), np.float32(1.5), np.float16(1.5), Fraction(3, 2)]


@pytest.mark.parametrize("value", FLOAT_TYPES)
def test_positive_takes_every_number_type(value: object) -> None:
    number = require.positive(epsilon=value)
    assert (number, type(number)) == (1.5, float)


@pytest.mark.parametrize(
    "value",
    [
        *(0, 0.0, -0.0, -1, -1e-300, math.nan, math.inf, -math.inf),
        *(10**400, -(10**400), Fraction(10**400), Fraction(1, 10**400)),
        *(np.float64("nan"), np.float32("inf"), np.int64(-1)),
    ],
)
def test_positive_refuses_values(value: object) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got [-a-z0-9.]+$"):
        require.positive(epsilon=value)


@pytest.mark.parametrize(
    "value",
    [
        *("1", b"1", None, True, False, np.True_, 1j, Decimal(1), [1.0], (1.0,), {1.0}),
        *(np.array([1.0]), np.array(1.0), np.timedelta64(5, "s"), object(), float),
    ],
)
def test_positive_refuses_types(value: object) -> None:
    with pytest.raises(TypeError, match=r"^epsilon must be a positive, finite number, got "):
        require.positive(epsilon=value)


def test_positive_gives_the_hint() -> None:
    with pytest.raises(ValueError, match=r"got 0\.0; try 1$"):
        require.positive(hint="; try 1", epsilon=0)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_count_takes_whole_numbers(value: object) -> None:
    number = require.count(size=value)
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [1.0, "3", None, True, Decimal(3), [3], np.float64(3), math.nan])
def test_count_refuses_types(value: object) -> None:
    with pytest.raises(TypeError, match=r"^size must be a whole number, got "):
        require.count(size=value)


def test_count_has_ends() -> None:
    assert require.count(size=0) == 0
    assert require.count(size=2**53) == 2**53
    with pytest.raises(ValueError, match=r"^size must be at least 0, got -1$"):
        require.count(size=-1)
    with pytest.raises(ValueError, match=r"^reach must be at least 1, got 0$"):
        require.count(minimum=1, reach=0)
    with pytest.raises(ValueError, match=r"^size must be at most 2\*\*53, got 9007199254740993$"):
        require.count(size=2**53 + 1)


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        ("add_remove", "add-remove"),
        ("addremove", "add-remove"),
        ("Add-Remove", "add-remove"),
        ("SWAP", "swap"),
        ("swop", "swap"),
        ("remove", "add-remove"),
    ],
)
def test_choice_suggests_what_is_near(value: str, suggestion: str) -> None:
    message = rf"^neighbors must be one of 'swap', 'add-remove', got '{value}'; did you mean "
    with pytest.raises(ValueError, match=message + rf"'{suggestion}'\?$"):
        require.choice(["swap", "add-remove"], neighbors=value)


def test_choice_suggests_nothing_far() -> None:
    with pytest.raises(ValueError, match=r"got 'qqqqqqqq'$"):
        require.choice(["swap", "add-remove"], neighbors="qqqqqqqq")


@pytest.mark.parametrize("value", ["swap", np.str_("swap"), Neighbors.SWAP])
def test_choice_gives_the_option_itself(value: object) -> None:
    assert require.choice(Neighbors, neighbors=value) is Neighbors.SWAP
    assert type(require.choice(["swap", "add-remove"], neighbors=value)) is str


@pytest.mark.parametrize("value", [None, 1, b"swap", ["swap"], object()])
def test_choice_refuses_types(value: object) -> None:
    with pytest.raises(TypeError, match=r"^neighbors must be one of 'swap', got "):
        require.choice(["swap"], neighbors=value)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (0.5, (0.5,)),
        (0, (0.0,)),
        (np.float32(0.5), (0.5,)),
        ((0.9, 0.1, 0.9), (0.9, 0.1, 0.9)),
        ([1, 0], (1.0, 0.0)),
        (np.array([0.25, 0.75]), (0.25, 0.75)),
        ((k / 4 for k in range(3)), (0.0, 0.25, 0.5)),
        ("median", (0.5,)),
        ("quartiles", (0.25, 0.5, 0.75)),
        ("deciles", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
    ],
)
def test_quantiles_keep_their_order(value: object, numbers: tuple[float, ...]) -> None:
    found = require.quantiles(q=value)
    assert found == numbers
    assert {type(q) for q in found} == {float}


def test_percentiles_by_name() -> None:
    assert require.quantiles(q="percentiles") == tuple(k / 100 for k in range(1, 100))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, r"^q must lie between 0 and 1, got 1\.5; for percentages use percentiles$"),
        (-0.1, r"^q must lie between 0 and 1, got -0\.1$"),
        (101, r"^q must lie between 0 and 1, got 101\.0$"),
        ([0.5, math.nan], r"^q must lie between 0 and 1, got nan$"),
        ([math.inf], r"^q must lie between 0 and 1, got inf$"),
        (10**400, r"^q must lie between 0 and 1, got inf$"),
        ([], r"^q must name at least one quantile, got none$"),
        (np.array([]), r"^q must name at least one quantile, got none$"),
        ("medain", r"^q must be one of .*'median'.*, got 'medain'; did you mean 'median'\?$"),
        ("0.5", r"^q must be one of 'median', .*, got '0\.5'$"),
    ],
)
def test_quantiles_refuse_values(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        require.quantiles(q=value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        [True],
        ["0.5"],
        [0.5, None],
        b"0",
        [[0.5]],
        np.eye(2),
        np.array(0.5),
        0.5j,
        [Decimal("0.5")],
    ],
)
def test_quantiles_refuse_types(value: object) -> None:
    with pytest.raises(TypeError, match=r"^q must be numbers between 0 and 1, got "):
        require.quantiles(q=value)


def test_percentages_are_hundredths() -> None:
    assert require.percentages(p=[99, 0, 12.5]) == (0.99, 0.0, 0.125)
    assert require.percentages(p=50) == (0.5,)
    with pytest.raises(ValueError, match=r"^p must lie between 0 and 100, got 100\.5$"):
        require.percentages(p=100.5)
    for few in ([0.5, 0.9], 0.5, [0, 0.5, 1], np.array([0.25])):
        with pytest.raises(
            ValueError, match=r"^p must be percentages, got 0\.[259]+, which is less"
        ):
            require.percentages(p=few)
    with pytest.raises(
        ValueError, match=r"write 50, and if 0.5 percent is meant, use quantiles\(d"
    ):
        require.percentages(p=0.5)
    for meant in ([0.1, 99.9], [0, 1], 1, [0.5, 50]):
        require.percentages(p=meant)
    with pytest.raises(TypeError, match=r"^p must be numbers between 0 and 100, got 'deciles'"):
        require.percentages(p="deciles")


@pytest.mark.parametrize("value", [[12345.678], np.array([12345.678]), {12345.678}])
def test_containers_that_may_be_data_are_not_quoted(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        require.positive(epsilon=value)
    assert "12345" not in str(caught.value)
    assert type(value).__name__ in str(caught.value)
