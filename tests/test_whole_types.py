"""Data at both ends of their type: one member of every family reaches them."""

import datetime as dt
import itertools
import random
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import Singles, family_of
from dpquantiles.kinds import INTEGER, REAL, Kind

ENDS: list[tuple[Any, Any, Any]] = [
    (-(2**63), 7, 2**63 - 1024),
    (-1e30, 1.5, 1e30),
    (dt.date(1, 1, 1), dt.date(2020, 1, 1), dt.date(9999, 12, 31)),
    (dt.datetime(2, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(9998, 1, 1)),
]


@pytest.mark.parametrize("values", ENDS, ids=lambda values: type(values[1]).__name__)
def test_values_at_both_ends_of_a_type_are_answered(values: Any) -> None:
    low, middle, high = values
    records = [low] * 300 + [middle] * 450 + [high] * 300
    release = dpq.quantiles(
        records, [0.1, 0.5, 0.9], epsilon=5, mechanism="joint_exp", rng=random.Random(3)
    )
    near = [np.float32(value) if isinstance(value, float) else value for value in values]
    assert list(release.values) == near


@pytest.mark.parametrize("kind", [INTEGER, REAL], ids=lambda kind: kind.name)
def test_numbers_of_float32_are_found_again(kind: Kind) -> None:
    member, rng = Singles(kind), np.random.default_rng(1)
    steps = np.unique(
        np.concatenate(
            [[0, 1, member.size // 2, member.size - 1], rng.integers(0, member.size, 500)]
        )
    )
    numbers = [member.number(int(step)) for step in steps]
    assert all(a < b for a, b in itertools.pairwise(numbers))
    assert member.encode(np.array(numbers)).tolist() == steps.tolist()
    assert all(np.float32(number) == number for number in numbers[1:-1])


def test_what_float32_cannot_hold_lies_between_its_numbers() -> None:
    """If it were rounded, ties on a long number would be answered by another number."""
    family = family_of(INTEGER, None, None)
    member = family.members[0]
    assert isinstance(member, Singles)
    numbers = np.array([2**24, 2**24 + 1, 2**24 + 2, 3 * 2**40, 3 * 2**40 + 1, 2**63 - 1024])
    halves = family.member_halves(member, family.encode(numbers))
    assert (halves % 2).tolist() == [1, 0, 1, 1, 0, 1]
    assert (np.diff(halves) > 0).all()
