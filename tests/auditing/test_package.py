"""The audit of the package: spending, draws and hostile records, and that flaws are found."""

import json
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import api, entropy
from dpquantiles.auditing import package, releases, spending
from dpquantiles.auditing.package import Effort
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree, Stages
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.privacy import Guarantee, Neighbors, PureDP
from dpquantiles.privacy.guarantees import from_dict

pytestmark = pytest.mark.usefixtures("rough_plans")

Patch = pytest.MonkeyPatch

TINY = Effort((0, 1), (1.0,), 2, 400, 200, False)


def test_the_package_passes() -> None:
    told: list[tuple[int, int, str]] = []
    found = package.audit_package(None, TINY, 0.999, lambda *now: told.append(now))
    assert found.passed, found.failures
    assert {f.method for f in found.findings} == {"exact", "spending", "statistical", "hostile"}
    assert {f.subject for f in found.findings if f.method == "spending"} > set(MECHANISMS)
    assert [done for done, _, _ in told] == list(range(len(found.findings)))
    plain = json.loads(found.to_json())
    assert plain["passed"] is True
    assert len(plain["findings"]) == len(found.findings)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert "No loss above its claim was found" in str(found)


def test_named_mechanisms_are_audited_alone() -> None:
    found = package.audit_package(["agg_tree"], TINY, 0.999, None)
    assert {finding.subject for finding in found.findings} == {"agg_tree"}
    for wrong, message in (("joint", "must be one of"), ([], "at least one")):
        with pytest.raises(ValueError, match=message):
            dpq.audit(mechanisms=wrong)


def test_auditing_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys, dpquantiles as d; d.median([1], epsilon=1); print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "dpquantiles.api" in done.stdout
    assert "dpquantiles.auditing" not in done.stdout


def test_all_but_research_say_how_they_divide_a_budget() -> None:
    research = {name for name in MECHANISMS if MECHANISMS[name].profile.research_only}
    assert set(spending.PARTS) == set(MECHANISMS) - research


@pytest.mark.parametrize("name", MECHANISMS)
def test_budgets_are_not_exceeded(name: str) -> None:
    for check in spending.checks([name], 6):
        found = check.finding()
        assert found.passed
        assert 0.99 < found.worst <= 1.0
        assert found.cases >= 6


def test_a_share_too_much_is_found(monkeypatch: Patch) -> None:
    original = AdaptiveTree.stages

    def stages(self: AdaptiveTree, points: int) -> Stages:
        found = original(self, points)
        return found._replace(tree=grown(found.tree, found.tree.amount * (1 + 1e-12)))

    monkeypatch.setattr(AdaptiveTree, "stages", stages)
    assert not any(check.finding().passed for check in spending.checks(["adaptive_tree"], 2))


def grown(budget: Guarantee, amount: float) -> Guarantee:
    """The same budget, but so much of it."""
    return from_dict({**budget.to_dict(), budget.measure: amount})


def test_rounding_up_is_found(monkeypatch: Patch) -> None:
    """One unit in the last place more than the budget, for some of many budgets."""
    original = PureDP.split

    def generous(budget: Any, *shares: float) -> Any:
        *parts, rest = original(budget, *shares)
        amount = np.nextafter(np.nextafter(rest.amount, np.inf), np.inf)
        return (*parts, grown(rest, float(amount)))

    monkeypatch.setattr(PureDP, "split", generous)
    swap, add_remove = spending.checks(["joint_exp"], 60)
    assert swap.finding().passed
    assert not add_remove.finding().passed


def test_a_mechanism_that_refuses_all_has_shown_nothing(monkeypatch: Patch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(api, "quantiles", refuse)
    assert not any(check.finding().passed for check in spending.checks(["joint_exp"], 2))


def statistical(names: list[str], draws: int, group_draws: int, extras: bool) -> dict[str, Any]:
    checks = releases.checks(names, extras, draws, group_draws, 1e-3)
    return {f"{c.subject}, {c.neighbors}": c.finding() for c in checks}


def test_groups_side_by_side_show_a_loss() -> None:
    found = statistical(["joint_exp"], 80, 4000, True)
    for relation in Neighbors:
        finding = found[f"groups, {relation}"]
        assert finding.passed
        assert finding.worst > 0.4
    assert found["private keys, add-remove"].worst > 0.5


def test_double_the_budget_is_found_by_draws(monkeypatch: Patch) -> None:
    """A JointExp whose draws spend four times what it states."""
    spent = property(lambda self: 4 * self.budget.bounded_range())
    monkeypatch.setattr(JointExp, "epsilon", spent)
    found = statistical(["joint_exp"], 80, 4000, True)
    for relation in Neighbors:
        assert not found[f"groups, {relation}"].passed


def test_an_error_on_data_is_found(monkeypatch: Patch) -> None:
    original = api.quantiles

    def raising(data: Any, *positional: Any, **options: Any) -> Any:
        if 4 in list(data):
            raise RuntimeError
        return original(data, *positional, **options)

    monkeypatch.setattr(api, "quantiles", raising)
    found = statistical(["agg_tree"], 40, 0, False)
    assert not any(finding.passed for finding in found.values())
    assert {finding.evidence for finding in found.values()} == {"a release raised RuntimeError"}


def test_hostile_records_are_harmless_and_flaws_are_counted(monkeypatch: Patch) -> None:
    for check in releases.hostile_checks(["joint_exp", "csmooth"]):
        assert check.finding().passed
    original = api.quantiles

    def raising(data: Any, **options: Any) -> Any:
        if len(data) == 0:
            raise RuntimeError
        return original(data, **options)

    monkeypatch.setattr(api, "quantiles", raising)
    for check in releases.hostile_checks(["joint_exp"]):
        found = check.finding()
        assert (found.passed, found.worst) == (False, 2.0)
        assert "joint_exp on nothing: RuntimeError" in found.evidence


def test_a_seeded_release_is_no_harmless_one(monkeypatch: Patch) -> None:
    """The audit draws from the operating system: predictable bits would be found."""
    monkeypatch.setattr(entropy, "system", lambda: random.Random(0))
    assert not any(check.finding().passed for check in releases.hostile_checks(["joint_exp"]))
