"""Tests that can fail: each broken copy of JointExp is caught by the check meant for it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.kernels import draws, joint
from dpquantiles.kernels.gaps import OpenGaps
from dpquantiles.kernels.places import End
from dpquantiles.mechanisms import joint_exp, joint_exp_law
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_law import Geometry, JointExpLaw, Setting, runs
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import Demand
from tests.mechanisms import joint_exp_checks as checks

Patch = pytest.MonkeyPatch


def drop_the_factor_two(patch: Patch) -> None:
    original = JointExp._rate
    patch.setattr(JointExp, "_rate", lambda self, rounding: 2 * original(self, rounding))


def halve_the_sensitivity(patch: Patch) -> None:
    halved = property(lambda self: 1 if self.neighbors == "swap" else 0.5)
    patch.setattr(JointExp, "sensitivity", halved)


def floor_of_a_wider_window(patch: Patch) -> None:
    original = joint_exp_law.log_floor
    patch.setattr(joint_exp, "log_floor", lambda rate, cost, d: original(rate, cost + 4, d))


def floor_of_a_way_back(patch: Patch) -> None:
    """Leaving the window costs twice its reach, as if the end of the data always cost its way."""
    original = joint_exp_law.log_floor
    patch.setattr(joint_exp, "log_floor", lambda rate, cost, d: original(rate, 2 * cost, d))


def endless_way_in_the_pass(patch: Patch) -> None:
    """The masses of the pass do not know that the end of the data costs at most S."""
    original = joint.ends

    def ends(axes: Any, decay: Any, count: int) -> Any:
        endless = replace(axes, end=replace(axes.end, most=10**6))
        return original(endless, decay, count)

    patch.setattr(joint_exp_law, "ends", ends)


def cut_the_surplus(patch: Patch) -> None:
    """E is at most S, instead of what it costs."""
    original = Setting.end

    def end(setting: Setting, n: int, surplus: int, targets: Any) -> Any:
        most = setting.most_end
        return original(setting, n, min(max(surplus, -most), most), targets)

    patch.setattr(Setting, "end", end)


def beyond_outside_the_window(patch: Patch) -> None:
    """Answers beyond all records count however far from the window that is."""
    original = Setting.end
    patch.setattr(Setting, "end", lambda s, *rest: original(s._replace(reach=10**6), *rest))


def beyond_for_nothing(patch: Patch) -> None:
    """The way up to the end of the data is free for answers beyond it."""
    original = End.cost

    def cost(end: End, errors: Any, count: int) -> Any:
        rises = count < len(end.tops) and np.isfinite(end.tops[count])
        last = np.maximum(errors, end.tops[count]) if rises else errors
        return original(end, errors, count) - (last - errors)

    patch.setattr(End, "cost", cost)


def never_beyond_from_the_floor(patch: Patch) -> None:
    """The floor has no answers beyond the grid, though their number is counted."""
    original = draws.sorted_with_repeats
    patch.setattr(
        draws, "sorted_with_repeats", lambda bits, points, m: original(bits, points - 1, m)
    )


def shorten_the_window(patch: Patch) -> None:
    original = JointExp._geometry

    def geometry(mechanism: JointExp, n: int, setting: Any, missing: int = 0) -> Geometry:
        found = original(mechanism, n, setting, missing)
        return found._replace(start=found.start + 1, length=found.length - 2)

    patch.setattr(JointExp, "_geometry", geometry)


def shorten_the_demand(patch: Patch) -> None:
    def demand(mechanism: JointExp, n: int, grid: Any, missing: int = 0) -> Demand:
        setting = mechanism._common_setting(n + missing, grid)
        whole = runs(mechanism._geometry(n, setting, missing), n)
        return Demand(runs=tuple(run[:-1] for run in whole))

    patch.setattr(JointExp, "demand", demand)


def bias_the_coin(patch: Patch) -> None:
    original = draws.coin
    patch.setattr(draws, "coin", lambda bits, p: original(bits, min(1.0, 1.1 * p)))


def forget_the_tie(patch: Patch) -> None:
    """The predecessor at equal rank is drawn with any standing instead of H."""
    original = joint.WalkBack._predecessor

    def predecessor(walk: Any, k: int, cell: int, standing: str) -> tuple[int, str]:
        source, found = original(walk, k, cell, standing)
        return source, walk._standing(k - 1, source) if found == "upper" else found

    patch.setattr(joint.WalkBack, "_predecessor", predecessor)


def half_open_the_wrong_way(patch: Patch) -> None:
    """An answer that equals a record counts as lying before all of its ties."""

    def costs(law: JointExpLaw, answers: Any) -> Iterator[Any]:
        geometry, end = law.geometry, law.axes.end
        path, cost = np.zeros(len(answers), dtype=np.int64), np.zeros(len(answers))
        yield cost + end.cost(path, 0)
        for k, steps in enumerate(answers.T):
            low = geometry.start - 1 + law.strip.row(k, geometry.length).searchsorted(steps)
            cost += np.abs(low - path)
            cost[(low < geometry.start) | (low >= geometry.start + geometry.length)] = math.inf
            path = low
            yield cost + end.cost(path, k + 1)

    patch.setattr(JointExpLaw, "_costs", costs)


def powers_in_place_of_multisets(patch: Patch) -> None:
    """w**k / k!: the numerators stay w."""

    def one_more(gaps: Any, free: Any, most: int) -> Any:
        return free / (gaps._answers[:most] + 1.0)

    patch.setattr(OpenGaps, "_one_more", one_more)


SWAP = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=2.0), reach=50)
NARROW = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=2.0), reach=1)
TWO = dpq.JointExp(q=(0.3, 0.6), budget=PureDP(epsilon=2.0), reach=4)
TIES = [1, 1, 1, 4, 4, 5]
ADD_REMOVE = PureDP(epsilon=2.0, neighbors=Neighbors.ADD_REMOVE)
SHORT = dpq.JointExp(q=(0.5,), budget=ADD_REMOVE, reach=4, size=1)
WRONG = dpq.JointExp(q=(0.3, 0.6), budget=ADD_REMOVE, reach=4, size=12)
FLOOR = dpq.JointExp(q=(0.3, 0.6), budget=ADD_REMOVE, reach=1, size=2)


def privacy(_: Patch) -> None:
    checks.check_private(SWAP, [4], 8)


def narrow_privacy(_: Patch) -> None:
    checks.check_private(NARROW, [3, 4], 4)


def equation(_: Patch) -> None:
    checks.check_is_the_equation(TWO, TIES, 7)


def narrow_equation(_: Patch) -> None:
    checks.check_is_the_equation(NARROW, [0, 2, 4, 6], 7)


def short_privacy(_: Patch) -> None:
    checks.check_private(SHORT, [3, 4, 5], 3)


def wrong_size_equation(patch: Patch) -> None:
    patch.setattr(joint_exp, "LOG_WRONG_SIZE", -3.0)
    checks.check_is_the_equation(WRONG, TIES, 7)


def narrow_size_equation(_: Patch) -> None:
    checks.check_is_the_equation(SHORT, TIES, 7)


def floor_draws(_: Patch) -> None:
    checks.check_draws(FLOOR, [0, 0, 6, 6, 6, 6, 6, 6], 7)


def window(_: Patch) -> None:
    checks.check_window(NARROW, list(range(20)), 20)


def sampling(_: Patch) -> None:
    checks.check_draws(TWO, TIES, 7)


def walk(patch: Patch) -> None:
    repeated = dpq.JointExp(q=(1 / 3, 1 / 3, 0.8), budget=PureDP(epsilon=2.0), reach=4)
    checks.check_walk(repeated, [1, 1, 4, 4, 5, 5], 7, patch.setattr)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[Patch], None]]] = [
    (drop_the_factor_two, privacy),
    (halve_the_sensitivity, privacy),
    (floor_of_a_wider_window, narrow_privacy),
    (floor_of_a_way_back, short_privacy),
    (endless_way_in_the_pass, wrong_size_equation),
    (cut_the_surplus, wrong_size_equation),
    (beyond_outside_the_window, narrow_size_equation),
    (beyond_for_nothing, wrong_size_equation),
    (never_beyond_from_the_floor, floor_draws),
    (shorten_the_window, narrow_equation),
    (shorten_the_demand, window),
    (bias_the_coin, sampling),
    (forget_the_tie, walk),
    (half_open_the_wrong_way, equation),
    (powers_in_place_of_multisets, equation),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    with pytest.MonkeyPatch.context() as untouched:
        check(untouched)
    mutate(monkeypatch)
    with pytest.raises((AssertionError, LookupError)):
        check(monkeypatch)
