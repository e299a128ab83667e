"""Broken copies of the mechanisms that spend or tell too much are caught by what they draw."""

from typing import Any

import pytest

from dpquantiles.mechanisms import above_threshold as above
from dpquantiles.mechanisms import adaptive_tree, agg_tree, count, fitted, joint_exp
from dpquantiles.mechanisms import recursive_joint_exp as recursive
from dpquantiles.mechanisms.baselines.ind_exp import IndExp
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.mechanism import WithLaw
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.privacy import ZCDP, PureDP
from tests.contract.test_budgets import CASES, Case, check_public_numbers, check_spending
from tests.mechanisms.mutation import mutate

Patch = pytest.MonkeyPatch


def spending(case: Case, _: Patch) -> None:
    check_spending(case)


INTERVALS = "joint_exp-{}-intervals"
MUTANTS: list[tuple[Any, str, str, str, Any]] = [
    # Intervals: answers, the size and the ranks share one budget.
    (Bracketed._answering, "budget=rest", "budget=self.budget", "pure-swap", None),
    (
        Bracketed._sized,
        "count.draw(view.n, bits), rest",
        "count.draw(view.n, bits), self.inner.budget",
        "pure-add-remove",
        None,
    ),
    (Bracketed.rank_rate, "ranks.counting_rate()", "ranks.noise_rate", "pure-swap", None),
    (Bracketed.rank_rate, "ranks.counting_rate()", "ranks.noise_rate", "concentrated-swap", None),
    (Bracketed.rank_rate, "Fraction(ranks", "2 * Fraction(ranks", "pure-add-remove", None),
    (Bracketed._measure, "len(counts))", "1)", "pure-swap", None),
    (
        Bracketed._measure,
        "(counts + noise)",
        "(counts + noise * (np.arange(len(noise)) < len(noise) - 1))",
        "pure-swap",
        None,
    ),
    (
        Bracketed.release,
        "self._answering(size, rest)",
        "self._answering(view.n, rest)",
        "pure-add-remove",
        check_public_numbers,
    ),
    (ZCDP.noise_rate, "2 * Fraction", "4 * Fraction", "concentrated-add-remove", None),
    (PureDP.split, "whole - sum(map(Fraction, parts))", "whole", "concentrated-swap", None),
]
OTHERS: list[tuple[Any, str, str, str, Any]] = [
    # A bought size, and what is left.
    (ZCDP.noise_rate, "2 * Fraction", "4 * Fraction", "joint_exp-concentrated-add-remove", None),
    (ZCDP.noise_rate, "2 * Fraction", "4 * Fraction", "fitted-concentrated-swap", None),
    (
        PureDP.split,
        "whole - sum(map(Fraction, parts))",
        "whole",
        "joint_exp-concentrated-add-remove",
        None,
    ),
    (PureDP.split, "whole - sum(map(Fraction, parts))", "whole", "ind_exp-pure-add-remove", None),
    (PureDP.split, ".at(part)", ".at(2 * part)", "fitted-pure-swap", None),
    (
        count.PrivateCount.rate,
        "Fraction(self.budget",
        "2 * Fraction(self.budget",
        "joint_exp-pure-add-remove",
        None,
    ),
    (WithLaw.priced, "budget=rest", "budget=self.budget", "ind_exp-pure-add-remove", None),
    (WithLaw.priced, "budget=rest", "budget=self.budget", "joint_exp-pure-add-remove", None),
    (
        WithLaw.bought,
        "count.draw(view.n, bits)",
        "count.draw(view.n, bits) and view.n",
        "ind_exp-pure-add-remove",
        check_public_numbers,
    ),
    (
        WithLaw.bought,
        "count.draw(view.n, bits)",
        "count.draw(view.n, bits) and view.n",
        "joint_exp-pure-add-remove",
        check_public_numbers,
    ),
    # Public numbers that must not follow the records.
    (
        fitted.Fitted.release,
        "self.part_of(view.grid, size)",
        "self.part_of(view.grid, view.n)",
        "fitted-pure-add-remove",
        check_public_numbers,
    ),
    (
        fitted.Fitted.release,
        "lumpy=lumpy, size=size",
        "lumpy=lumpy, size=view.n",
        "fitted-pure-add-remove",
        check_public_numbers,
    ),
    (
        adaptive_tree.AdaptiveTree._size,
        "PrivateCount(budget=paid).draw(view.n, bits)",
        "(PrivateCount(budget=paid).draw(view.n, bits) and view.n)",
        "adaptive_tree-pure-add-remove",
        check_public_numbers,
    ),
    # The number of missing records.
    (agg_tree.AggTree._total, "self.rate(1)", "2 * self.rate(1)", "agg_tree-pure-swap", None),
    (agg_tree.AggTree._total, "return view.n +", "return view.n + 0 *", "agg_tree-pure-swap", None),
    (
        agg_tree.AggTree._total,
        "self.rate(1)",
        "2 * self.rate(1)",
        "adaptive_tree-concentrated-swap",
        None,
    ),
    # Every mechanism by itself.
    (
        joint_exp.JointExp._rate,
        "(2 * self.sensitivity)",
        "self.sensitivity",
        "joint_exp-pure-swap",
        None,
    ),
    (
        joint_exp.JointExp._rate,
        "(2 * self.sensitivity)",
        "(4 * self.sensitivity)",
        "joint_exp-pure-swap",
        None,
    ),
    (
        recursive.RecursiveJointExp.node_budget,
        "self.each / self.neighbors.records",
        "self.each",
        "recursive_joint_exp-pure-swap",
        None,
    ),
    (
        recursive.RecursiveJointExp.each,
        "self.parts(len(self.q))",
        "1",
        "recursive_joint_exp-concentrated-add-remove",
        None,
    ),
    (IndExp.each, "self.parts(len(self.q))", "1", "ind_exp-pure-swap", None),
    (IndExp.each, "self.parts(len(self.q))", "1", "app_ind_exp-approximate-swap", None),
    (
        agg_tree.AggTree.rate,
        "counting_rate(height)",
        "counting_rate(1)",
        "agg_tree-pure-swap",
        None,
    ),
    (
        ZCDP.counting_rate,
        "times * self.neighbors.records",
        "times",
        "agg_tree-concentrated-swap",
        None,
    ),
    (
        adaptive_tree.AdaptiveTree.stages,
        "Stages(None, *self.budget.split(cut))",
        "Stages(None, self.budget.split(cut)[0], self.budget)",
        "adaptive_tree-pure-swap",
        None,
    ),
    (
        adaptive_tree.toll,
        "math.log(cells.BRANCHING)",
        "0 * math.log(cells.BRANCHING)",
        "adaptive_tree-pure-swap",
        None,
    ),
    (
        fitted.Fitted.stages,
        "FittedStages(None, *self.budget.split(LUMP_SHARE))",
        "FittedStages(None, self.budget.split(LUMP_SHARE)[0], self.budget)",
        "fitted-pure-swap",
        None,
    ),
    (above.AboveThreshold.rate, "1 + walked", "walked", "above_threshold-pure-add-remove", None),
    (above.AboveThreshold.each, "len(self.q)", "1", "above_threshold-pure-swap", None),
    (SliceQuantiles._noise, "/ nodes", "", "slice_quantiles-pure-swap", None),
    (SliceQuantiles.plan, "(3, 2)", "(2, 1)", "slice_quantiles-pure-swap", None),
]
BY_NAME = {str(case): case for case in CASES}


def called(mutant: tuple[Any, str, str, str, Any]) -> str:
    return f"{mutant[3]}: {mutant[1]} -> {mutant[2]}"


@pytest.mark.parametrize(
    "mutant",
    [(*mutant[:3], INTERVALS.format(mutant[3]), mutant[4]) for mutant in MUTANTS] + OTHERS,
    ids=called,
)
def test_mutants_are_caught(mutant: tuple[Any, str, str, str, Any], monkeypatch: Patch) -> None:
    function, old, new, name, check = mutant
    check = check or spending
    check(BY_NAME[name], monkeypatch)
    mutate(monkeypatch, function, old, new)
    with pytest.raises(AssertionError):
        check(BY_NAME[name], monkeypatch)
