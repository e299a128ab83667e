"""What all mechanisms owe that are made of several JointExps, each with its share of a budget."""

from fractions import Fraction
from typing import Any

import pytest

from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.baselines.ind_exp import IndExp
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.privacy import ZCDP, Neighbors, PureDP, bounded_range_rho
from tests.mechanisms import shares_checks
from tests.mechanisms.recursive_checks import TwoLevels, cut_law

FOUR = (0.2, 0.4, 0.6, 0.8)

SMALL: list[tuple[Any, tuple[float, ...], float, int | None, list[int], int]] = [
    (ApproximateQuantiles, (0.25, 0.5, 0.75), 0.2, None, [3], 3),
    (ApproximateQuantiles, (0.25, 0.5, 0.75), 0.2, 3, [3], 3),
    (TwoLevels, FOUR, 0.2, None, [3], 3),
    (TwoLevels, FOUR, 0.2, 3, [2, 3], 2),
    (IndExp, (0.5, 0.5), 0.5, None, [4], 5),
    (IndExp, (0.5, 0.5), 0.5, 4, [3], 5),
]
"""Mechanism, quantiles, rho, public size under add-remove; numbers of records, grid points."""


@pytest.mark.parametrize(("cls", "q", "rho", "size", "sizes", "points"), SMALL)
def test_all_neighbors_are_within_rho(
    cls: Any, q: tuple[float, ...], rho: float, size: int | None, sizes: list[int], points: int
) -> None:
    neighbors = Neighbors.SWAP if size is None else Neighbors.ADD_REMOVE
    mechanism = cls(q=q, budget=ZCDP(rho=rho, neighbors=neighbors), size=size)
    assert isinstance(mechanism.guarantee, ZCDP)
    assert rho * (1 - 1e-6) < mechanism.guarantee.rho <= rho
    law_of = shares_checks.law_of if cls is IndExp else cut_law
    shares_checks.check_concentrated(mechanism, sizes, points, law_of=law_of)


@pytest.mark.parametrize("amount", [1e-6, 0.1, 1 / 3, 1.0, 7.7, 300.0])
@pytest.mark.parametrize("m", [1, 3, 7, 26])
@pytest.mark.parametrize("cls", [ApproximateQuantiles, IndExp, RecursiveJointExp])
def test_rounds_are_no_more_than_a_budget(cls: Any, m: int, amount: float) -> None:
    """Of an epsilon in exact numbers; of a rho by the price of all rounds."""
    q = tuple((k + 1) / (m + 1) for k in range(m))
    parts = {ApproximateQuantiles: m.bit_length(), IndExp: m, RecursiveJointExp: 1 + (m > 23)}[cls]
    pure = cls(q=q, budget=PureDP(epsilon=amount))
    spent = parts * Fraction(pure.each)
    assert Fraction(amount) * (1 - Fraction(1, 2**48)) <= spent <= Fraction(amount)
    concentrated = cls(q=q, budget=ZCDP(rho=amount))
    spent = parts * Fraction(bounded_range_rho(concentrated.each))
    assert Fraction(amount) * (1 - Fraction(1, 10**9)) <= spent <= Fraction(amount)
    assert concentrated.guarantee == ZCDP(rho=amount)
