"""Fitted: broken copies of it that the checks of its privacy, and of its use, must catch."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from dpquantiles import views
from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.mechanisms import fitted
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.fitted import Fitted, FittedStages
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.privacy import Guarantee
from tests.mechanisms.fitted_checks import (
    amount,
    ask_on_small_grids,
    check_private,
    check_rest,
    check_sensitivity,
    check_stages,
    check_told_apart,
    pure,
)
from tests.mechanisms.mutation import check_caught

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], None]


def stages_where(change: Callable[[Guarantee, FittedStages], FittedStages]) -> Mutation:
    def mutate(patch: Patch) -> None:
        original = Fitted.stages
        patch.setattr(
            Fitted, "stages", lambda self, points: change(self.budget, original(self, points))
        )

    return mutate


def left(budget: Guarantee, share: float) -> Guarantee:
    return budget.split(share)[-1] if share else budget


def question_for_nothing(budget: Guarantee, stages: FittedStages) -> FittedStages:
    size = 0.0 if stages.size is None else fitted.SIZE_SHARE
    return stages._replace(answers=left(budget, size))


def size_for_nothing(budget: Guarantee, stages: FittedStages) -> FittedStages:
    lumps = 0.0 if stages.lumps is None else fitted.LUMP_SHARE
    return stages._replace(answers=left(budget, lumps))


def answers_at_the_full_budget(budget: Guarantee, stages: FittedStages) -> FittedStages:
    return stages._replace(answers=budget)


def parts_counted_twice(patch: Patch) -> None:
    original = views.occupied
    patch.setattr(fitted, "occupied", lambda *asked: 2 * original(*asked))


def records_counted(patch: Patch) -> None:
    patch.setattr(fitted, "occupied", lambda view, *_: view.n)


def joint_at_the_full_budget(patch: Patch) -> None:
    original = Fitted.chosen

    def chosen(mechanism: Fitted, grid: Grid, *, lumpy: bool, size: int) -> Mechanism:
        found = original(mechanism, grid, lumpy=lumpy, size=size)
        if isinstance(found, JointExp):
            return replace(found, budget=mechanism.budget)
        return found

    patch.setattr(Fitted, "chosen", chosen)


def without_noise(which: Callable[[Guarantee], bool]) -> Mutation:
    """Of a budget of one, 0.2 are for the number of records, 0.3 for the question."""

    class Counted(PrivateCount):
        def draw(self, n: int, bits: Bits) -> int:
            return n if which(self.budget) else super().draw(n, bits)

    return lambda patch: patch.setattr(fitted, "PrivateCount", Counted)


@cache
def private(neighbors: str, size: int | None = None) -> Callable[[], None]:
    sizes = [2, 3] if neighbors == "swap" else [1]
    return lambda: check_private(pure(1.0, neighbors, size), sizes)


@cache
def sensitivity(neighbors: str) -> Callable[[], None]:
    return lambda: check_sensitivity(neighbors)


MUTANTS: list[tuple[Mutation, Callable[[], None]]] = [
    (stages_where(question_for_nothing), private("swap")),
    (stages_where(question_for_nothing), private("add-remove")),
    (stages_where(question_for_nothing), check_stages),
    (stages_where(size_for_nothing), private("add-remove")),
    (stages_where(size_for_nothing), check_stages),
    (stages_where(answers_at_the_full_budget), private("swap")),
    (stages_where(answers_at_the_full_budget), private("add-remove", 2)),
    (stages_where(answers_at_the_full_budget), check_stages),
    (joint_at_the_full_budget, private("add-remove", 2)),
    (joint_at_the_full_budget, check_rest),
    (parts_counted_twice, private("swap")),
    (parts_counted_twice, private("add-remove", 2)),
    (parts_counted_twice, sensitivity("swap")),
    (parts_counted_twice, sensitivity("add-remove")),
    (without_noise(lambda budget: amount(budget) > 0.25), private("swap")),
    (without_noise(lambda budget: amount(budget) < 0.25), private("add-remove")),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    ask_on_small_grids(monkeypatch)
    check_caught(mutate, check, monkeypatch)


def test_counting_records_tells_nothing_apart(monkeypatch: Patch) -> None:
    records_counted(monkeypatch)
    with pytest.raises(AssertionError):
        check_told_apart()
