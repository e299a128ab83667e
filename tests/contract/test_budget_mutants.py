"""Broken copies of the mechanisms that spend or tell too much are caught by what they draw."""

from typing import Any

import pytest

from dpquantiles.mechanisms import above_threshold as above
from dpquantiles.mechanisms import adaptive_tree, agg_tree, count, fitted, joint_exp
from dpquantiles.mechanisms import recursive_joint_exp as recursive
from dpquantiles.mechanisms.baselines.ind_exp import AppIndExp
from dpquantiles.mechanisms.bracketed import Bracketed, shares
from dpquantiles.mechanisms.shares import EvenShares, Shares
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from tests.contract.test_budgets import CASES, Case, check_public_numbers, check_spending
from tests.mechanisms.mutation import mutate

Patch = pytest.MonkeyPatch


def spending(case: Case, _: Patch) -> None:
    check_spending(case)


INTERVALS = "joint_exp-{}-intervals"
MUTANTS: list[tuple[Any, str, str, str, Any]] = [
    # Intervals: answers, the size and the ranks share one budget.
    (
        Bracketed._answering,
        "self.mechanism, rest,",
        "self.mechanism, self.budget,",
        "pure-swap",
        None,
    ),
    (
        Bracketed._sized,
        "bought(rest, n, bits)",
        "bought(rest, n, bits)[0], rest",
        "pure-add-remove",
        None,
    ),
    (Bracketed.rank_rate, "(2 if self._swap else 1)", "1", "pure-swap", None),
    (Bracketed.rank_rate, "(2 if self._swap else 1)", "Fraction(1, 2)", "pure-add-remove", None),
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
    (shares, "2 * float(RANK_SHARE)", "4 * float(RANK_SHARE)", "concentrated-add-remove", None),
    (shares, "float(1 - RANK_SHARE)", "1.0", "concentrated-swap", None),
]
OTHERS: list[tuple[Any, str, str, str, Any]] = [
    # A bought size, and what is left.
    (
        count.counting_share,
        "2 * COUNT_SHARE",
        "4 * COUNT_SHARE",
        "joint_exp-concentrated-add-remove",
        None,
    ),
    (count.counting_share, "(1 - COUNT_SHARE)", "1.0", "joint_exp-concentrated-add-remove", None),
    (
        count.counting_share,
        "budget.epsilon - count.epsilon",
        "budget.epsilon",
        "ind_exp-pure-add-remove",
        None,
    ),
    (count.noise_rate, "2 * budget.rho", "4 * budget.rho", "fitted-concentrated-swap", None),
    (count.budget_share, "epsilon * share", "epsilon", "fitted-pure-swap", None),
    (
        count.PrivateCount.draw,
        "Fraction(self.epsilon)",
        "2 * Fraction(self.epsilon)",
        "joint_exp-pure-add-remove",
        None,
    ),
    (
        Shares.sized,
        "self.within(rest",
        "self.within(self.guarantee",
        "ind_exp-pure-add-remove",
        None,
    ),
    (Shares.sized, "size=size", "size=n", "ind_exp-pure-add-remove", check_public_numbers),
    (
        joint_exp.JointExp.sized,
        "self.within(rest",
        "self.within(self.guarantee",
        "joint_exp-pure-add-remove",
        None,
    ),
    (
        joint_exp.JointExp.sized,
        "count.draw(view.n, bits)",
        "count.draw(view.n, bits) and view.n",
        "joint_exp-pure-add-remove",
        check_public_numbers,
    ),
    # Public numbers that must not follow the records.
    (
        fitted.Fitted.release,
        "self.part_length(points, size)",
        "self.part_length(points, view.n)",
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
        adaptive_tree.AdaptiveTree._public_size,
        "return noisy_count(n, paid, bits)",
        "return noisy_count(n, paid, bits) and n",
        "adaptive_tree-pure-add-remove",
        check_public_numbers,
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
        recursive.RecursiveJointExp.node_epsilon,
        "self.each / 2",
        "self.each",
        "recursive_joint_exp-pure-swap",
        None,
    ),
    (
        EvenShares.each,
        "/ self.parts(len(self.q))",
        "",
        "recursive_joint_exp-concentrated-add-remove",
        None,
    ),
    (EvenShares.each, "/ self.parts(len(self.q))", "", "ind_exp-pure-swap", None),
    (
        AppIndExp.each,
        "self.delta, len(self.q)",
        "self.delta, 1",
        "app_ind_exp-approximate-swap",
        None,
    ),
    (agg_tree.AggTree.rate, "height * (2", "(2", "agg_tree-pure-swap", None),
    (
        agg_tree.AggTree.rate,
        "(2 if self.neighbors is Neighbors.SWAP else 1)",
        "1",
        "agg_tree-concentrated-swap",
        None,
    ),
    (
        adaptive_tree.AdaptiveTree.stages,
        "1.0 - cut - size",
        "1.0 - size",
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
    (fitted.Fitted.stages, "1.0 - LUMP_SHARE - size", "1.0 - size", "fitted-pure-swap", None),
    (above.AboveThreshold.rate, "1 + walked", "walked", "above_threshold-pure-add-remove", None),
    (above.AboveThreshold.rate, "/ len(self.q)", "", "above_threshold-pure-swap", None),
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
