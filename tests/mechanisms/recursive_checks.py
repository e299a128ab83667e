"""Checks of trees of JointExps that can be run on the mechanisms as they are and on broken copies.

The oracle follows the definition in the dumbest way: labels by writing bits backwards, parts by
comparing every record with the cuts, node laws by brute force over all answers and all ranks.
"""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.recursive_joint_exp import (
    Node,
    RecursiveJointExp,
    RecursiveLaw,
)
from dpquantiles.mechanisms.told_apart import ToldApart
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.views import PartView
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms import shares_checks

Answer = tuple[int, ...]
Patch = pytest.MonkeyPatch


@dataclass(frozen=True, kw_only=True)
class TwoLevels(RecursiveJointExp):
    """A tree of two levels for a number of quantiles that needs none."""

    @staticmethod
    def parts(m: int) -> int:  # noqa: ARG004
        return 2


def cut_law(
    mechanism: RecursiveJointExp, records: Sequence[int], points: int
) -> dict[Answer, float]:
    """The log probability of all cuts, labels included, as the mechanism says."""
    law = mechanism.law(checks.view_of(records, points))
    cuts = checks.all_answers(law.records.grid.size, len(mechanism.q))
    return {c: law.log_probability_of_cuts(c) for c in cuts}


def told_apart(records: Sequence[int], bits: int) -> list[int]:
    """Every record as a finer step: the j-th of its kind has the bits of j written backwards."""
    seen: dict[int, int] = {}
    found = []
    for x in records:
        j = seen.get(x, 0)
        seen[x] = j + 1
        found.append((x << bits) + int(f"{j % 2**bits:0{bits}b}"[::-1], 2))
    return sorted(found)


@cache
def node_chances(
    records: Answer, low: int, high: int, targets: Answer, nominal: int, rate: float
) -> dict[Answer, float]:
    """One node by brute force; the floor is too low to be seen."""
    points, most_end = [*range(low, high + 1), checks.BEYOND], math.ceil(32 / rate)
    weights: dict[Answer, float] = {}
    for cuts in itertools.combinations_with_replacement(points, len(targets)):
        weight = math.exp(rate * checks.utility(records, cuts, targets, nominal, most_end))
        released = tuple(min(cut, high) for cut in cuts)
        weights[released] = weights.get(released, 0.0) + weight
    total = sum(weights.values())
    return {cuts: weight / total for cuts, weight in weights.items()}


def oracle(
    mechanism: RecursiveJointExp, records: Sequence[int], points: int, levels: int
) -> dict[Answer, float]:
    """The probability of all cuts."""
    nu = len(records) if mechanism.size is None else mechanism.size
    bits, m = max(1, nu.bit_length()), len(mechanism.q)
    targets = [0, *(round(q * nu) for q in sorted(mechanism.q)), nu]
    fine, top = told_apart(records, bits), (points << bits) - 1
    rate = mechanism.budget.amount / levels / (4 if mechanism.neighbors == "swap" else 2)

    def chance(node: Node, known: Answer) -> float:
        low, *inner, high = (known[k] for k in node.cuts)
        last = node.cuts[-1] == m + 1
        part = tuple(x for x in fine if low <= x and (x < high or last))
        first, *aims, end = (targets[k] for k in node.cuts)
        nominal = tuple(aim - first for aim in aims)
        found = node_chances(part, low, high, nominal, end - first, rate)[tuple(inner)]
        return found * math.prod(chance(child, known) for child in node.children if child)

    cuts = checks.all_answers(top + 1, m)
    return {c: chance(mechanism.tree, (0, *c, top)) for c in cuts}


def check_equation(
    mechanism: RecursiveJointExp, records: Sequence[int], points: int, levels: int
) -> None:
    """The law of the cuts is the oracle's, and that of the answers adds up over labels."""
    said = cut_law(mechanism, records, points)
    expected = oracle(mechanism, records, points, levels)
    assert math.isclose(math.fsum(expected.values()), 1.0, rel_tol=1e-9)
    for cuts, chance in expected.items():
        assert math.exp(said[cuts]) == pytest.approx(chance, rel=1e-6)
    law = mechanism.law(checks.view_of(records, points))
    answers = dict.fromkeys(checks.all_answers(points, len(mechanism.q)), 0.0)
    for cuts, chance in expected.items():
        answers[tuple(cut >> law.records.shift for cut in cuts)] += chance
    places = np.argsort(np.argsort(mechanism.q, kind="stable"), kind="stable")
    for answer, chance in answers.items():
        values = [answer[place] for place in places]
        assert math.exp(law.log_probability(values)) == pytest.approx(chance, rel=1e-6)


def check_pure(mechanism: RecursiveJointExp, sizes: Sequence[int], points: int) -> None:
    """No neighbor changes the chance of any cuts by more than epsilon, labels included."""
    shares_checks.check_pure(mechanism, sizes, points, law_of=cut_law)


def check_within(mechanism: RecursiveJointExp, sizes: Sequence[int], points: int) -> None:
    """The same, however far below epsilon it may be."""
    shares_checks.check_within(mechanism, sizes, points, law_of=cut_law)


def spend_all_on_every_level(patch: Patch) -> None:
    patch.setattr(RecursiveJointExp, "each", property(lambda self: self.budget.bounded_range()))


def forget_that_a_swap_is_two_changes(patch: Patch) -> None:
    patch.setattr(
        RecursiveJointExp,
        "node_budget",
        property(lambda self: PureDP(epsilon=self.each, neighbors=Neighbors.ADD_REMOVE)),
    )


def records_at_a_cut_on_both_sides(patch: Patch) -> None:
    def node_law(law: RecursiveLaw, node: Node, low: int, high: int) -> Any:
        below, through = law.records.ranks(np.array([low, high]))
        return law.nodes[node].law(PartView(law.records, int(below[0]), int(through[1]), low, high))

    patch.setattr(RecursiveLaw, "node_law", node_law)


def true_sizes_of_parts(patch: Patch) -> None:
    """Targets at fractions of the true size of a part, which is not public."""
    original = JointExp.law_on_grid
    patch.setattr(
        JointExp, "law_on_grid", lambda self, part: original(replace(self, size=part.n), part)
    )


def labels_spread_by_the_number_of_ties(patch: Patch) -> None:
    """Evenly spread labels move when a record comes to its like or goes, all of them."""

    def spread(records: ToldApart, shared: int) -> Any:
        return ((2 * np.arange(shared) + 1) << records.shift) // (2 * max(1, shared))

    patch.setattr(ToldApart, "_labels", spread)


def labels_spread_by_the_number_of_records(patch: Patch) -> None:
    """They move when a record comes or goes anywhere."""

    def spread(records: ToldApart, shared: int) -> Any:
        return ((2 * np.arange(shared) + 1) << records.shift) // (2 * max(1, records.n))

    patch.setattr(ToldApart, "_labels", spread)


def split_by_rank(patch: Patch) -> None:
    """A part is the nominal number of records, wherever the cuts are."""

    def node_law(law: RecursiveLaw, node: Node, low: int, high: int) -> Any:
        n, m = law.records.n, len(law.order)
        start, stop = (min(n, n * cut // (m + 1)) for cut in (node.cuts[0], node.cuts[-1]))
        return law.nodes[node].law(PartView(law.records, start, stop, low, high))

    patch.setattr(RecursiveLaw, "node_law", node_law)


def check_answers(mechanism: Any, records: Sequence[int], points: int) -> None:
    """Whatever the data: as many answers as quantiles, in order, on the grid, reproducible."""
    whole = checks.view_of([min(x, points - 1) for x in records], 5)
    view = PartView(whole, 0, whole.n, 0, points - 1)
    values = mechanism.release(view, random.Random(3)).values
    assert values == mechanism.release(view, random.Random(3)).values
    in_order = [values[place] for place in np.argsort(mechanism.q, kind="stable")]
    assert in_order == sorted(in_order)
    assert all(0 <= value < points for value in values)


def refusal(mechanism: RecursiveJointExp, view: Any) -> str:
    """What a release says when it refuses, or nothing; its draws are left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecursiveLaw, "draw", lambda law, _: (0,) * len(law.order))
        try:
            mechanism.release(view, random.Random(1))
        except ValueError as why:
            return str(why)
    return ""
