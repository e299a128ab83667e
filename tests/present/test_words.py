"""Guarantees and values in words."""

import datetime as dt
from decimal import Decimal

import pytest

from dpquantiles.present import words
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from tests.present.releases import release


def test_the_promise_says_what_is_protected() -> None:
    swap = words.guarantee(PureDP(epsilon=1.0, neighbors=Neighbors.SWAP))
    assert swap == (
        "Replacing any one record by any other changes the odds of any result by at most a factor "
        "of 2.72 (pure differential privacy, epsilon = 1); the number of records is public."
    )
    add = words.guarantee(PureDP(epsilon=0.1, neighbors=Neighbors.ADD_REMOVE))
    assert add.startswith("Adding or removing any one record")
    assert add.endswith("epsilon = 0.1); the number of records is protected too.")


def test_large_odds_are_written_as_a_power() -> None:
    assert "a factor of exp(800)" in words.guarantee(PureDP(epsilon=800.0))


def test_without_a_guarantee_the_note_speaks() -> None:
    assert words.promise(release([1], guarantee=None, note="not private: x")) == "Not private: x."
    assert words.promise(release([1], guarantee=None)) == "No privacy guarantee."


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-0.5, 12.25], ["-0.50", "12.25"]),
        ([1.0, 2.0], ["1", "2"]),
        ([0.0, 0.0], ["0", "0"]),
        ([-0.617921493, -3.8e-39], ["-0.617921", "0.000000"]),
        ([100000.0, 300.0], ["100000", "300"]),
        ([1e-30, 1e30], ["1e-30", "1e+30"]),
        ([0.001, 54321.5], ["0.001", "54321.5"]),
        ([3.4e38], ["3.4e+38"]),
        ([], []),
    ],
)
def test_real_numbers_share_their_places(values: list[float], expected: list[str]) -> None:
    assert words.labels(values) == expected


def test_other_values_are_complete() -> None:
    assert words.labels([10**18, -1]) == ["1000000000000000000", "-1"]
    assert words.labels([True, False]) == ["true", "false"]
    assert words.labels([Decimal("1E+3"), Decimal("0.10")]) == ["1000", "0.10"]
    assert words.labels([dt.date(2024, 1, 2)]) == ["2024-01-02"]
    assert words.labels([dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC)]) == [
        "2024-01-02 03:00:00+00:00"
    ]


def test_quantiles_are_written_without_noise() -> None:
    assert words.quantile(0.1 + 0.2) == "0.3"
    assert words.quantile(0.999999999) == "0.999999999"


def test_a_promise_is_never_rounded_down() -> None:
    shown = words.guarantee(PureDP(epsilon=1.1000004))
    assert "a factor of 3.01 " in shown  # exp(1.1) is 3.004
    assert "epsilon = 1.10001)" in shown
    assert str(ZCDP(rho=1 / 3)).startswith("0.333334-zero-concentrated")
    assert str(ApproxDP(epsilon=1 / 3, delta=1e-7 / 3)).startswith("(0.333334, 3.33334e-08)-")


def test_units_are_counted_by_the_values_of_their_column() -> None:
    shown = words.guarantee(PureDP(epsilon=1.0, neighbors=Neighbors.SWAP, unit="person"))
    assert shown.endswith("; the number of distinct values of person is public.")
