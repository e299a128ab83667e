"""Plans: what they say holds, they repeat themselves, and they refuse what contradicts itself."""

import json
import math
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpquantiles as dpq
from dpquantiles.cli import main
from dpquantiles.job import USUAL_GROUP
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner.estimates import rank_errors, upper_points
from dpquantiles.planner.reference import Shape

RUNS = 1000


def even_quantiles(m: int) -> list[float]:
    return [k / (m + 1) for k in range(1, m + 1)]


@pytest.mark.parametrize("data", ["even", "smooth", "clustered", "tied"])
@pytest.mark.parametrize(("m", "epsilon"), [(1, 0.1), (1, 1.0), (5, 1.0), (9, 5.0)])
def test_the_bound_holds_and_is_not_loose(data: Shape, m: int, epsilon: float) -> None:
    """In 93% of seeded runs of the real mechanism, and at most 1.5 times the measured point."""
    n, q = 2000, even_quantiles(m)
    plan = dpq.plan(size=n, q=q, epsilon=epsilon, bounds=(0, 2**32 - 1), resolution=1, data=data)
    estimate, grid = plan["joint_exp"], plan.view.grid
    records = np.array(grid.decode(plan.view.order_statistics(np.arange(n))))
    mechanism = dpq.JointExp(q=tuple(q), budget=plan.budget)
    law, bits = mechanism.law(dpq.ArrayView(records, grid)), random.Random(5)
    steps = np.array([grid.encode(np.array(law.draw(bits))) for _ in range(RUNS)])
    errors = rank_errors(plan.view, np.array(q), steps)
    assert (errors <= estimate.bound).mean(axis=0).min() >= 0.93
    measured = np.quantile(errors, 0.95, axis=0, method="higher")
    assert (np.array(estimate.bound) <= 1.5 * measured + 1).all()
    assert estimate.mean == pytest.approx(errors.mean(), rel=0.25, abs=0.1)


def test_a_plan_is_a_frozen_value_that_repeats_itself() -> None:
    options: dict[str, Any] = {"size": 1000, "q": "quartiles", "epsilon": 1.0, "bounds": (0, 120)}
    one, two = dpq.plan(**options), dpq.plan(**options)
    assert one == two
    assert one.to_json() == two.to_json()
    with pytest.raises(AttributeError):
        one.size = 3  # type: ignore[misc]


def test_the_table_has_what_was_asked_for() -> None:
    plan = dpq.plan(size=5000, q=[0.9, 0.1, 0.9], epsilon=1.0, bounds=(0.0, 1.0))
    assert plan.q == (0.9, 0.1, 0.9)
    for estimate in plan.table:
        assert len(estimate.expected) == len(estimate.bound) == 3
        assert estimate.expected[0] == estimate.expected[2]
        assert all(e <= b for e, b in zip(estimate.expected, estimate.bound, strict=True))
    assert plan.best.mean == min(estimate.mean for estimate in plan.table)
    assert plan["auto"].mechanism == plan.chosen.mechanism
    known = {estimate.mechanism for estimate in plan.table} | set(plan.left_out)
    assert known == {n for n, m in MECHANISMS.items() if not m.profile.research_only}
    assert "budget of epsilon alone" in plan.left_out["app_ind_exp"]
    plain = json.loads(plan.to_json())
    assert plain["table"][0]["mechanism"] == plain["best"] == plan.best.mechanism
    assert "evenly spread over 0.473 of the bounds" in plain["assumption"]


@pytest.mark.usefixtures("rough_plans")
@pytest.mark.parametrize(("size", "epsilon"), [(1000, 0.01), (1000, 1.0), (10**6, 1.0)])
def test_no_plan_waits_for_a_mechanism_that_nobody_would_take(size: int, epsilon: float) -> None:
    """On a family, a draw of so many quantiles takes seconds to minutes."""
    open_plan = dpq.plan(size=size, q="percentiles", epsilon=epsilon)
    assert "too slow for 99 answers" in open_plan.left_out["joint_exp"]
    assert open_plan.chosen.mechanism in {estimate.mechanism for estimate in open_plan.table}
    few = dpq.plan(size=size, q="deciles", epsilon=epsilon)
    assert "joint_exp" not in few.left_out


@pytest.mark.parametrize(
    "budget",
    [
        {"rho": 0.5},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "neighbors": "add-remove"},
        {"rho": 0.5, "neighbors": "add-remove"},
    ],
)
def test_every_budget_can_be_planned(budget: dict[str, Any]) -> None:
    plan = dpq.plan(size=3000, q=[0.2, 0.7], bounds=(-100.0, 100.0), **budget)
    assert {"joint_exp", "agg_tree"} <= {estimate.mechanism for estimate in plan.table}
    assert ("app_ind_exp" in plan.left_out) == ("delta" not in budget)


def test_errors_in_values_follow_the_spread() -> None:
    plan = dpq.plan(size=1000, q="median", epsilon=1.0, bounds=(0.0, 100.0), spread=(20.0, 70.0))
    assert plan.in_values(10.0) == pytest.approx(0.5, rel=1e-3)
    days = dpq.plan(size=100, q="median", epsilon=1, bounds=(date(2020, 1, 1), date(2023, 1, 1)))
    assert days.in_values(10) == timedelta(days=52)
    tied = dpq.plan(size=100, q="median", epsilon=1, bounds=(0, 100), data="tied")
    with pytest.raises(ValueError, match=r"^data must be 'even'"):
        tied.in_values(1.0)


def test_a_plan_without_bounds_assumes_real_numbers() -> None:
    plan = dpq.plan(size=1000, q="median", epsilon=1.0)
    assert plan.grid["name"] == "float"
    assert "floating-point numbers" in plan.assumption


GOOD: dict[str, Any] = {"size": 1000, "q": "median", "epsilon": 1.0}
BAD = [
    ({"epsilon": 0}, r"^epsilon must be positive"),
    ({"epsilon": None}, r"^epsilon must be given"),
    ({"rho": 0.5}, r"^rho must be given alone"),
    ({"size": 0}, r"^size must be at least 1"),
    ({"size": 10.5}, r"^size must be a whole number"),
    ({"q": 2}, r"^q must lie between 0 and 1"),
    ({"bounds": (5, 1)}, r"^bounds must have lower < upper"),
    ({"bounds": 3}, r"^bounds must be a pair"),
    ({"resolution": 0}, r"^resolution must be positive"),
    (
        {"bounds": (0, 1), "resolution": 5},
        r"^bounds must leave at least two possible answers, got 0 and 1 with a resolution of 5$",
    ),
    ({"bounds": (0, 9), "grid": dpq.FloatGrid()}, r"^grid must be given alone"),
    ({"grid": 3}, r"^grid must be a grid"),
    ({"neighbors": "near"}, r"^neighbors must be one of"),
    ({"data": "evn"}, r"^data must be one of .*did you mean 'even'"),
    ({"spread": 0}, r"^spread must be positive"),
    ({"spread": 2}, r"^spread must be a fraction"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda x: str(x)[:30])
def test_contradictory_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        dpq.plan(**{**GOOD, **options})


@pytest.mark.parametrize("epsilon", [1e-300, 1e-18])
def test_a_budget_that_is_next_to_nothing_has_a_plan(epsilon: float) -> None:
    """Mechanisms that cannot work with it are left out, and say why."""
    plan = dpq.plan(size=1000, q="quartiles", epsilon=epsilon, bounds=(0.0, 120.0))
    assert "at least 2**-40 for the noise" in plan.left_out["above_threshold"]
    assert 500 < plan.best.worst <= 750


@pytest.mark.parametrize("ranks", [-1.0, math.nan, math.inf])
def test_ranks_that_are_none_have_no_values(ranks: float) -> None:
    plan = dpq.plan(size=1000, q="median", epsilon=1.0, bounds=(0, 120))
    with pytest.raises(
        ValueError, match=r"^ranks must be a rank error: 0 or more, and finite, got"
    ):
        plan.in_values(ranks)


def test_upper_points_are_on_the_safe_side() -> None:
    errors = np.arange(1, 401, dtype=np.float64)[:, None]
    # 380 is the 95% point of 400 draws, 4.4 the standard error of its rank.
    assert upper_points(errors).tolist() == [391.0]
    assert upper_points(np.ones((10, 2))).tolist() == [1.0, 1.0]


def test_a_plan_with_intervals_is_that_of_a_release_with_intervals() -> None:
    asked: dict[str, Any] = {"q": "quartiles", "epsilon": 1.0, "bounds": (0.0, 1.0)}
    plan = dpq.plan(size=1000, intervals=True, **asked)
    n, q = 1000, np.array([0.25, 0.5, 0.75])
    data = 0.25 + (np.arange(n) + 0.5) / (2 * n)
    options = {**asked, "intervals": True, "mechanism": plan.chosen.mechanism}
    options.pop("q")
    releases = [dpq.quantiles(data, q, rng=random.Random(seed), **options) for seed in range(60)]
    ranks = np.searchsorted(data, np.array([release.values for release in releases]))
    measured = np.abs(ranks - q * n).mean()
    assert plan["auto"].mean == pytest.approx(measured, rel=0.25)
    assert plan["auto"].mean > 1.5 * dpq.plan(size=1000, **asked)["auto"].mean


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbors": "add-remove", "size": 3000},
        {"intervals": 0.9},
        {"neighbors": "add-remove", "size": 3000, "intervals": 0.9},
    ],
    ids=str,
)
@pytest.mark.parametrize("budget", [{"epsilon": 0.7}, {"rho": 0.1}], ids=str)
def test_a_release_a_plan_and_a_dry_run_tell_the_same_numbers(
    options: dict[str, Any],
    budget: dict[str, float],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ages = np.random.default_rng(1).integers(18, 90, 3000)
    common: dict[str, Any] = {"q": "quartiles", "bounds": (0, 120), **budget, **options}
    release = dpq.quantiles(ages, **common)
    plan = dpq.plan(**{"size": 3000, **common})
    assert release.mechanism == plan.chosen.mechanism
    assert release.provenance["choice"] == plan.chosen.why
    assert plan.chosen.why in " ".join(str(plan).split())
    file = tmp_path / "ages.csv"
    file.write_text("\n".join(["age", *map(str, ages.tolist())]) + "\n", "utf-8")
    stated = [f"--{name}={value}" for name, value in {**budget, **options}.items()]
    command = ["release", str(file), "-c", "age", "-q", "quartiles", "--bounds", "0", "120"]
    if "neighbors" not in options:
        return  # the number of lines is not known before they are read
    assert main([*command, "--type", "int", *stated, "--dry-run"]) == 0
    assert plan.chosen.why in " ".join(capsys.readouterr().out.split())


def test_a_protected_size_that_is_not_stated_is_told_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("age\n" + "33\n" * 200, "utf-8")
    command = ["release", str(file), "-c", "age", "-q", "quartiles", "--bounds", "0", "120"]
    command += ["--type", "int", "--epsilon", "0.7", "--neighbors", "add-remove"]
    assert main([*command, "--dry-run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    release = dpq.quartiles([33] * 200, epsilon=0.7, bounds=(0, 120), neighbors="add-remove")
    assert str(release.provenance["choice"]) in told


def test_groups_tell_the_numbers_of_a_usual_group() -> None:
    table = {"age": [20, 30, 40, 50] * 50, "sex": ["f", "m"] * 100}
    frame = pd.DataFrame(table)
    release = dpq.quartiles(
        frame, column="age", by="sex", keys=["f", "m"], epsilon=1.0, bounds=(0, 120)
    )
    plan = dpq.plan(size=USUAL_GROUP, q="quartiles", epsilon=1.0, bounds=(0, 120))
    told = release.provenance["choice"]
    assert told == f"one choice for all groups: {plan.chosen.why}"
