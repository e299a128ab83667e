"""Exact checks: laws are laws, claims hold, and broken mechanisms do not pass."""

import math
from typing import Any

import numpy as np
import pytest

from dpquantiles.auditing import exact, laws
from dpquantiles.auditing.exact import pairs
from dpquantiles.auditing.laws import small
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.baselines.ind_exp import IndExp
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.privacy import ApproxDP, Neighbors
from tests.mechanisms import joint_exp_checks

Patch = pytest.MonkeyPatch


def test_neighbors_are_those_of_the_other_tests() -> None:
    for relation in Neighbors:
        found = set(pairs(relation, (0, 1, 2, 3), 3))
        # A missing record counts as one more value that a record may have.
        assert found == set(joint_exp_checks.neighbor_pairs(relation, (0, 1, 2, 3), 4))
    assert list(small(2, 2)) == [(0, 0), (0, 1), (1, 1)]


def test_only_research_has_no_exact_law() -> None:
    without = {name: MECHANISMS[name] for name in MECHANISMS if name not in laws.LAWS}
    assert without
    assert all(mechanism.profile.research_only for mechanism in without.values())


@pytest.mark.parametrize("name", laws.LAWS)
def test_claims_hold_and_laws_add_up(name: str) -> None:
    sizes = (2,) if name == "approx_quantiles" else (0, 1, 2)
    checks = list(exact.checks([name], sizes, (1.0,)))
    assert {check.neighbors for check in checks} == set(MECHANISMS[name].profile.neighbors)
    for check in checks:
        found = check.finding()
        assert found.passed, found
        # Far below its claim a check would say little; noisy ranks of so few records hide much.
        assert found.worst > check.limit * 0.05
        assert found.cases > 10
    mechanism = checks[0].run.args[0]  # type: ignore[attr-defined]
    for records in ((), (0, 4), (2, 2, 3)):
        law = laws.LAWS[name](mechanism, records, 5)
        assert math.isclose(np.exp(law.logs).sum(), 1.0, rel_tol=1e-9)


def test_the_selection_of_groups_holds() -> None:
    for check in exact.keys_checks():
        found = check.finding()
        assert check.limit * 0.9 < found.worst <= check.limit
    keys = PrivateKeys(budget=ApproxDP(epsilon=1.0, delta=0.001, neighbors=Neighbors.ADD_REMOVE))
    for n in range(6):
        assert math.isclose(np.exp(laws.of_keys(keys, n, 8).logs).sum(), 1.0, rel_tol=1e-9)


def forget_that_a_swap_moves_two_records(patch: Patch) -> None:
    patch.setattr(JointExp, "sensitivity", property(lambda _: 1))


def spend_all_in_every_round(patch: Patch) -> None:
    patch.setattr(IndExp, "each", property(lambda self: self.budget.bounded_range()))


def halve_the_noise(patch: Patch) -> None:
    original = AggTree.rate
    patch.setattr(AggTree, "rate", lambda self, height: 2 * original(self, height))


def count_cells_for_all_of_the_budget(patch: Patch) -> None:
    original = AdaptiveTree.counting

    def counting(self: AdaptiveTree, stages: Any, height: int, branching: int) -> AggTree:
        return original(self, stages._replace(tree=self.budget), height, branching)

    patch.setattr(AdaptiveTree, "counting", counting)


def fall_off_eightfold(patch: Patch) -> None:
    original = SliceQuantiles.plan

    def plan(self: SliceQuantiles, n: int, grid: Any) -> Any:
        found = original(self, n, grid)
        return found._replace(noise=8 * found.noise, decay=8 * found.decay)

    patch.setattr(SliceQuantiles, "plan", plan)


MUTANTS = [
    (forget_that_a_swap_moves_two_records, "joint_exp"),
    (spend_all_in_every_round, "ind_exp"),
    (halve_the_noise, "agg_tree"),
    (count_cells_for_all_of_the_budget, "adaptive_tree"),
    (count_cells_for_all_of_the_budget, "fitted"),
    (fall_off_eightfold, "slice_quantiles"),
]


@pytest.mark.parametrize(
    ("mutate", "name"), MUTANTS, ids=lambda part: getattr(part, "__name__", part)
)
def test_broken_mechanisms_fail(mutate: Any, name: str, monkeypatch: Patch) -> None:
    mutate(monkeypatch)
    found = [check.finding() for check in exact.checks([name], (0, 1, 2), (8.0,))]
    failed = [finding for finding in found if not finding.passed]
    assert failed
    assert "records" in failed[0].evidence


def test_a_low_threshold_of_groups_fails(monkeypatch: Patch) -> None:
    original = PrivateKeys.threshold.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(PrivateKeys, "threshold", property(lambda self: original(self) - 1))
    assert not any(check.finding().passed for check in exact.keys_checks())
