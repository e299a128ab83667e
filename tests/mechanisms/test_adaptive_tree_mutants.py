"""AdaptiveTree: broken copies of it that the checks of its privacy must catch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpquantiles.kernels import cells
from dpquantiles.mechanisms import adaptive_tree
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree, Stages, cutting_rate
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

Patch = pytest.MonkeyPatch


def no_toll(patch: Patch) -> None:
    def margin(rule: cells.Rule, counts: cells.Ints, depth: int) -> cells.Ints:  # noqa: ARG001
        return np.maximum(1 - rule.toll, counts - rule.least)

    patch.setattr(cells.Rule, "margin", margin)


def toll_halved(patch: Patch) -> None:
    original = AdaptiveTree.rule

    def rule(mechanism: AdaptiveTree, size: int) -> cells.Rule:
        least, asked = original(mechanism, size)
        return cells.Rule(least, asked // 2)

    patch.setattr(AdaptiveTree, "rule", rule)


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
        original = vars(AdaptiveTree)["stages"].fget
        patch.setattr(AdaptiveTree, "stages", property(lambda self: change(self, original(self))))

    return mutate


def counted_at_the_full_budget(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    return stages._replace(tree=mechanism.budget)


def size_for_nothing(mechanism: AdaptiveTree, stages: Stages) -> Stages:
    rest = 1 - adaptive_tree.CUT_SHARE
    return stages._replace(tree=adaptive_tree._share(mechanism.budget, rest))


# Without a least loss: what is caught costs too much, not too little.
def cuts_of(mechanism: AdaptiveTree) -> Callable[[], None]:
    return lambda: check_spent(cutting_loss(mechanism, range(7)), least=0.0)


def concentrated_cuts_of(mechanism: AdaptiveTree) -> Callable[[], None]:
    return lambda: check_spent(cutting_divergence(mechanism, [1]), least=0.0)


def all_of(mechanism: AdaptiveTree, sizes: list[int]) -> Callable[[], None]:
    return lambda: check_spent(pure_loss(mechanism, sizes), least=0.0)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (no_toll, cuts_of(swap(16.8))),
    (no_toll, cuts_of(add_remove(9.8, 0))),
    (toll_halved, cuts_of(swap(16.8))),
    (toll_halved, cuts_of(add_remove(9.8, 0))),
    (not_cut_off_below, cuts_of(swap(16.8))),
    (not_cut_off_below, cuts_of(add_remove(9.8, 0))),
    (cells_counted_twice, cuts_of(swap(16.8))),
    (priced_as(doubled), cuts_of(swap(16.8))),
    (priced_as(doubled), all_of(swap(16.8), [2])),
    (priced_as(one_sided), cuts_of(swap(16.8))),
    (priced_as(one_sided), concentrated_cuts_of(concentrated(30.0, "swap"))),
    (priced_as(doubled), concentrated_cuts_of(concentrated(30.0, "add-remove"))),
    (sure_cuts_for_nothing, cuts_of(swap(16.8))),
    (stages_where(counted_at_the_full_budget), all_of(swap(16.8), [2])),
    (stages_where(counted_at_the_full_budget), check_stages),
    (stages_where(size_for_nothing), all_of(add_remove(9.8), [0, 1])),
    (stages_where(size_for_nothing), check_stages),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    check()
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check()
