"""AdaptiveTree: broken copies of it that the checks of its privacy must catch."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpquantiles.grid import Ruler
from dpquantiles.kernels import cells
from dpquantiles.mechanisms import adaptive_tree
from dpquantiles.mechanisms.adaptive_tree import (
    LUMPY_CUT_SHARE,
    AdaptiveTree,
    Stages,
    cutting_rate,
)
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors
from tests.mechanisms.adaptive_tree_checks import (
    add_remove,
    check_spent,
    check_stages,
    concentrated,
    cutting_divergence,
    cutting_loss,
    pure_loss,
    swap,
)
from tests.mechanisms.mutation import check_caught

Patch = pytest.MonkeyPatch


def no_toll(patch: Patch) -> None:
    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:  # noqa: ARG001
        return np.maximum(1 - rule.toll, counts - rule.least)

    patch.setattr(cells.Rule, "margin", margin)


def toll_halved(patch: Patch) -> None:
    original = adaptive_tree.rule

    def rule(size: int, number: int, rate: Fraction, ruler: Ruler) -> cells.Rule:
        asked = original(size, number, rate, ruler)
        return asked._replace(toll=asked.toll // 2)

    patch.setattr(adaptive_tree, "rule", rule)


def not_cut_off_below(patch: Patch) -> None:
    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:
        return counts - rule.least - (depth - 1) * rule.toll

    patch.setattr(cells.Rule, "margin", margin)


def cells_counted_twice(patch: Patch) -> None:
    original = cells.Rule.margin
    patch.setattr(cells.Rule, "margin", lambda rule, counts, d: original(rule, 2 * counts, d))


def priced_as(change: Callable[[Guarantee], Guarantee]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        original = cutting_rate
        patch.setattr(adaptive_tree, "cutting_rate", lambda budget: original(change(budget)))

    return mutate


def doubled(budget: Guarantee) -> Guarantee:
    if isinstance(budget, ZCDP):
        return replace(budget, rho=4 * budget.rho)
    return replace(budget, epsilon=2 * budget.epsilon)


def one_sided(budget: Guarantee) -> Guarantee:
    return replace(budget, neighbors=Neighbors.ADD_REMOVE)


def sure_cuts_for_nothing(patch: Patch) -> None:
    """Cells that are nearly sure to be cut have a loss, too, however small."""
    patch.setattr(adaptive_tree, "cutting_rate", cutting_rate.__wrapped__)
    patch.setattr(adaptive_tree, "most_loss", float)


def stages_where(change: Callable[[AdaptiveTree, Stages], Stages]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        original = AdaptiveTree.stages
        patch.setattr(
            AdaptiveTree, "stages", lambda self, points: change(self, original(self, points))
        )

    return mutate


def counted_at_the_full_budget(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    return stages._replace(tree=mechanism.budget)


def size_for_nothing(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    _, rest = mechanism.budget.split(mechanism.cut_share or LUMPY_CUT_SHARE)
    return stages._replace(tree=rest)


# Without a least loss: what is caught costs too much, not too little.
def cuts_of(mechanism: AdaptiveTree) -> Callable[[], None]:
    return lambda: check_spent(cutting_loss(mechanism, range(7)), least=0.0)


def concentrated_cuts_of(mechanism: AdaptiveTree) -> Callable[[], None]:
    return lambda: check_spent(cutting_divergence(mechanism, [1]), least=0.0)


def all_of(mechanism: AdaptiveTree, sizes: list[int]) -> Callable[[], None]:
    return lambda: check_spent(pure_loss(mechanism, sizes), least=0.0)


SWAP, ADD_REMOVE = swap(5.6), add_remove(9.8 / 3, 0)
"""At the share of cuts that small grids have."""

MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (no_toll, cuts_of(SWAP)),
    (no_toll, cuts_of(ADD_REMOVE)),
    (toll_halved, cuts_of(SWAP)),
    (toll_halved, cuts_of(ADD_REMOVE)),
    (not_cut_off_below, cuts_of(SWAP)),
    (not_cut_off_below, cuts_of(ADD_REMOVE)),
    (cells_counted_twice, cuts_of(SWAP)),
    (priced_as(doubled), cuts_of(SWAP)),
    (priced_as(doubled), all_of(SWAP, [2])),
    (priced_as(one_sided), cuts_of(SWAP)),
    (priced_as(one_sided), concentrated_cuts_of(concentrated(10.0, "swap"))),
    (priced_as(doubled), concentrated_cuts_of(concentrated(10.0, "add-remove"))),
    (sure_cuts_for_nothing, cuts_of(SWAP)),
    (stages_where(counted_at_the_full_budget), all_of(SWAP, [2])),
    (stages_where(counted_at_the_full_budget), check_stages),
    (stages_where(size_for_nothing), all_of(add_remove(9.8 / 3), [0, 1])),
    (stages_where(size_for_nothing), check_stages),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    check_caught(mutate, check, monkeypatch)
