"""What all mechanisms owe that are made of several JointExps, each with its share of a budget."""

from typing import Any

import pytest

from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.ind_exp import IndExp
from dpquantiles.privacy import ZCDP, Neighbors
from tests.mechanisms import joint_exp_checks as checks
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
    mechanism = cls.within(ZCDP(rho=rho, neighbors=neighbors), q=q, size=size)
    assert isinstance(mechanism.guarantee, ZCDP)
    assert rho * (1 - 1e-6) < mechanism.guarantee.rho <= rho
    law_of = checks.law_of if cls is IndExp else cut_law
    shares_checks.check_concentrated(mechanism, sizes, points, law_of=law_of)
