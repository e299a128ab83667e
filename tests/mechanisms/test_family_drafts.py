"""Drafts of the weights of grids: they bound the weights, and draws cannot tell the difference."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.grid import GridFamily, family_of
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Logarithms
from dpquantiles.kinds import INTEGER, REAL
from dpquantiles.mechanisms import joint_exp, joint_exp_family
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_family import Draft, FamilyLaw
from dpquantiles.mechanisms.joint_exp_law import Geometry
from dpquantiles.privacy import PureDP
from tests.mechanisms.mutation import check_caught, mutate
from tests.mechanisms.test_joint_exp_family import SPAN, law_of, mechanism, random_family

Patch = pytest.MonkeyPatch


def lognormal(n: int = 200, m: int = 9) -> FamilyLaw:
    """The law of evenly spaced quantiles of smooth data without bounds."""
    records = np.random.default_rng(n).lognormal(3, 1, n)
    job = JointExp(q=tuple(k / (m + 1) for k in range(1, m + 1)), budget=PureDP(epsilon=1.0))
    law = job.law(dpq.ArrayView(records, family_of(REAL, None, None)))
    assert isinstance(law, FamilyLaw)
    return law


def check_bounds() -> None:
    """A draft is at most the bracket, and lacks at most what it says."""
    with pytest.MonkeyPatch.context() as patch:
        narrower = sum(_differing(seed, patch) for seed in range(36))
    assert narrower > 300


def _differing(seed: int, patch: Patch) -> int:
    """In how many of some drafts a bracket of random data lacks something."""
    rng = np.random.default_rng(3000 + seed)
    patch.setattr(joint_exp, "LOG_WRONG_SIZE", [-32.0, -2.0, -0.2][seed % 3])
    grids, n, m = random_family(rng, 9), int(rng.integers(0, 40)), int(rng.integers(1, 6))
    records = rng.integers(-SPAN, SPAN + 1, n).tolist()
    size = max(0, n + int(rng.integers(-30, 30)))
    law = law_of(mechanism(seed % 2 == 0, rng.random(m).tolist(), 1.0, 50, size), grids, records)
    whole, found = law.log_brackets, 0
    for nats in rng.uniform(0.1, 30, 15):
        draft = law.draft(nats)
        assert (draft.least <= whole + 1e-9).all()
        assert (draft.most >= whole - 1e-9).all()
        assert draft.least[draft.known] == pytest.approx(whole[draft.known], abs=1e-9)
        found += int(np.count_nonzero(draft.least < whole - 1e-6))
    return found


def check_draws() -> None:
    """The same bits draw the same members as from all weights, however drafts begin."""
    for law in (lognormal(100, 9), lognormal(60, 4), lognormal(5000, 5)):
        for spare in (0.0, 30.0, joint_exp_family.SPARE):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(joint_exp_family, "SPARE", spare)
                for seed in range(4):
                    drawn, bits = law.draw_index(random.Random(seed)), random.Random(seed)
                    assert drawn == draws.weighted(bits, law.log_weights, Logarithms())


def test_drafts_bound_all_brackets() -> None:
    check_bounds()


def test_drafts_draw_the_same_members() -> None:
    check_draws()


@pytest.mark.parametrize("faint", [0, 5])
def test_a_faint_weight_is_computed_where_the_draw_depends_on_it(
    faint: int, monkeypatch: Patch
) -> None:
    """Its extra place counts with the probability that its exact weight has."""
    logs = np.array([-60.0, -1.0, -2.0, -0.5, -3.0, -75.0])
    stated = logs.copy()
    stated[[0, 5]] = -math.inf
    tossed: list[tuple[float, int]] = []

    def place(_bits: Any, bound: int) -> int:
        return bound - len(logs) + faint if len(tossed) % 2 == 0 else 0

    def toss(_bits: Any, share: float, exponent: int) -> bool:
        tossed.append((share, exponent))
        return False

    monkeypatch.setattr(draws, "below", place)
    monkeypatch.setattr(draws, "fraction_coin", toss)
    draws.weighted(random.Random(0), logs, Logarithms())
    tossed.append((0.0, 0))
    draws.weighted(random.Random(0), stated, Logarithms(), logs.item)
    assert tossed[0] == tossed[2]
    assert tossed[0][0] == pytest.approx(math.exp(logs[faint] + 0.5), rel=1e-12)


def test_only_extra_places_need_faint_weights() -> None:
    """FAINT is enough: without the extra places, draws are those from all weights."""

    def never(_index: int) -> float:
        raise AssertionError

    rng = np.random.default_rng(2)
    for seed in range(50):
        logs = rng.uniform(-90, 0, 2000)
        logs[0] = 0.0
        stated = np.where(logs > -joint_exp_family.FAINT, logs, -math.inf)
        drawn = draws.weighted(random.Random(seed), stated, Logarithms(), never)
        assert drawn == draws.weighted(random.Random(seed), logs, Logarithms())


def test_first_drafts_usually_suffice(monkeypatch: Patch) -> None:
    """Then the axes of a pass are far shorter than the window."""
    drafts: list[Draft] = []
    original = FamilyLaw.draft

    def kept(law: FamilyLaw, nats: float) -> Draft:
        drafts.append(original(law, nats))
        return drafts[-1]

    monkeypatch.setattr(FamilyLaw, "draft", kept)
    law = lognormal(1000, 19)
    law.draw_index(random.Random(1))
    assert len(drafts) == 1
    assert 2.5 * law.geometry.enough(drafts[0].nats / law.setting.common.rate) < (
        law.setting.common.reach
    )
    assert "log_brackets" not in vars(law)


def test_groups_share_drafts() -> None:
    """The member of several data sets is drawn as from the sums of all brackets."""
    laws = [lognormal(n, 4) for n in (60, 90, 140)]
    public = laws[0].public
    weights = public + sum(law.log_brackets for law in laws)
    for seed in range(20):
        drawn = joint_exp_family.draw_member(public, laws, random.Random(seed))
        assert drawn == draws.weighted(random.Random(seed), weights, Logarithms())


def test_no_data_leave_the_public_weights() -> None:
    grids: GridFamily = family_of(INTEGER, (0, 63), None)
    public = grids.log_weights(3)
    expected = draws.weighted(random.Random(3), public, Logarithms())
    assert joint_exp_family.draw_member(public, [], random.Random(3)) == expected


def one_way(patch: Patch) -> None:
    """Paths are believed to pay for the way back where the end of the data costs at most S."""
    old = "max((cost + surplus) / 2, cost - most_end)"
    mutate(patch, Geometry.enough, old, "(cost + surplus) / 2")


def at_home(patch: Patch) -> None:
    """The end of the data is believed to be where it should be."""
    mutate(patch, Geometry.enough, "(cost + surplus) / 2", "cost / 2")


def twice(patch: Patch) -> None:
    """Paths are believed to go back twice."""
    mutate(patch, Geometry.enough, "(cost + surplus) / 2", "(cost + surplus) / 4")


def forgotten(patch: Patch) -> None:
    """A draft claims that it lacks nothing."""
    mutate(patch, FamilyLaw.draft, "strip, cost), nats)", "strip, cost), math.inf)")


def dropped(patch: Patch) -> None:
    """Answers count only if they cost far less than the draft says."""
    mutate(patch, FamilyLaw.draft, "strip, cost)", "strip, cost / 2)")


def first_draft(patch: Patch) -> None:
    """The first drafts are believed, whatever they know."""
    mutate(patch, joint_exp_family.draw_member, "if known[wanted].all()", "if True")


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (one_way, check_bounds),
        (at_home, check_bounds),
        (twice, check_bounds),
        (forgotten, check_bounds),
        (dropped, check_bounds),
        (first_draft, check_draws),
        (forgotten, check_draws),
    ],
)
def test_mutants_are_caught(
    mutant: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    check_caught(mutant, check, monkeypatch)
