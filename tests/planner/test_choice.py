"""auto: public numbers only, never for research only, near the best and never far from it."""

import copy
import itertools
import math
import random
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import Grid, default_grid
from dpquantiles.kinds import BY_NAME, INTEGER, REAL, Kind
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.planner import choice, costs, tables
from dpquantiles.planner.estimates import simulated_errors
from dpquantiles.planner.reference import reference
from dpquantiles.privacy import PureDP
from experiments.choice_table import measured

CANDIDATES = [registry.REGISTERED[name] for name in tables.CANDIDATES]
FINE = dpq.UniformGrid(0, 2**38 - 1)
CASES = [(grid, data) for grid in tables.GRIDS for data in tables.measured_on(grid)]
COUNTS = (1, 2, 3, 5, 9, 12, 15, 19, 23, 24, 29, 40, 50, 64, 80, 99, 120, 143, 144, 200, 255, 1000)


@pytest.mark.parametrize(
    ("name", "grid", "data", "n", "m"),
    [
        ("joint_exp", "fine", "smooth", 1000, 29),
        ("joint_exp", "coarse", "tied", 300, 9),
        ("joint_exp", "float", "clustered", 1000, 9),
        ("recursive_joint_exp", "fine", "smooth", 3000, 64),
        ("recursive_joint_exp", "fine", "clustered", 1000, 29),
        ("recursive_joint_exp", "middle", "tied", 1000, 99),
        ("agg_tree", "fine", "smooth", 1000, 9),
        ("adaptive_tree", "fine", "clustered", 10_000, 15),
        ("fitted", "fine", "tied", 30_000, 99),
        ("fitted", "float", "smooth", 3000, 29),
        ("fitted", "integers", "smooth", 1000, 15),
        ("fitted", "float", "rounded", 1000, 15),
        ("joint_exp", "integers", "rounded", 1000, 9),
        ("adaptive_tree", "float", "rounded", 3000, 29),
        ("agg_tree", "middle", "tied", 3000, 99),
    ],
)
def test_the_table_is_what_draws_give(name: str, grid: str, data: str, n: int, m: int) -> None:
    row = tables.table()[grid][data][name][tables.SIZES.index(n)]
    again = measured(name, grid, data, n, m, 8)
    assert row[tables.COUNTS.index(m)] == pytest.approx(again, rel=0.15, abs=0.2)


def check_complete(table: dict[str, Any]) -> None:
    """Every grid, kind of records and candidate has its row, and nothing else has one."""
    assert list(table) == list(tables.GRIDS)
    for grid, data in CASES:
        assert set(table[grid]) == set(tables.measured_on(grid))
        assert set(table[grid][data]) == set(tables.CANDIDATES)
        for name in tables.CANDIDATES:
            rows = table[grid][data][name]
            assert len(rows) == len(tables.SIZES)
            for row in rows:
                assert len(row) == len(tables.COUNTS)
                # What joint_exp would take too long for was not measured.
                known = row if name != "joint_exp" else [x for x in row if x is not None]
                assert known
                assert all(x is not None and x >= 0 for x in known)


def test_the_table_is_complete() -> None:
    check_complete(tables.table())


@pytest.mark.parametrize(("grid", "data"), CASES)
def test_a_gap_in_the_table_is_noticed(grid: str, data: str) -> None:
    for name in tables.CANDIDATES:
        table = copy.deepcopy(tables.table())
        table[grid][data][name][3] = [None] * len(tables.COUNTS)
        with pytest.raises(AssertionError):
            check_complete(table)
        del table[grid][data]
        with pytest.raises(AssertionError):
            check_complete(table)


def test_grids_are_taken_for_those_of_the_table() -> None:
    grids: dict[str, list[Grid]] = {
        "coarse": [dpq.UniformGrid(0, 1, 1), dpq.UniformGrid(0, 120, 1)],
        "middle": [dpq.UniformGrid(-180, 1440, 1)],
        "fine": [dpq.UniformGrid(0.0, 120.0), dpq.UniformGrid(0, 2**32 - 1), dpq.FloatGrid(0, 1)],
        "float": [dpq.FloatGrid(), dpq.FloatGrid(lower=0)],
        "integers": [dpq.FloatGrid(integral=True), dpq.FloatGrid(lower=0, integral=True)],
    }
    assert list(grids) == list(tables.GRIDS)
    for name, members in grids.items():
        assert [tables.grid_name(grid) for grid in members] == [name] * len(members)


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=lambda kind: kind.name)
def test_a_default_grid_is_taken_for_what_it_is(kind: Kind) -> None:
    """The default grid of whole numbers ends where 64 bits do, which nobody stated."""
    grid = default_grid(kind)
    if kind.limits is not None:
        assert tables.grid_name(grid) in ("coarse", "middle", "fine")
        return
    assert tables.grid_name(grid) == ("integers" if kind.integral else "float")
    where = reference("smooth", 100, grid).words
    assert ("whole numbers from 0 to" if kind.integral else "all floating-point numbers") in where


def test_families_with_one_stated_fact_are_taken_for_those_without_any() -> None:
    """A mechanism finds the rest there, and does not on a single grid."""
    names = {
        "float": [default_grid(REAL, (0.0, 5.0)), default_grid(REAL, None, 0.01)],
        "integers": [default_grid(INTEGER, (0, 10**6)), default_grid(INTEGER, None, 10)],
        "coarse": [default_grid(INTEGER, (0, 100))],  # trees reach every point there
        "fine": [default_grid(REAL, (0.0, 5000.0), 0.01)],
    }
    for name, grids in names.items():
        assert [tables.grid_name(grid) for grid in grids] == [name] * len(grids)


def test_bounds_of_whole_numbers_are_not_taken_for_those_of_the_type() -> None:
    assert tables.grid_name(dpq.FloatGrid(0, 2**40, kind=INTEGER)) == "fine"
    assert not dpq.FloatGrid(-(2**62), 2**62, kind=INTEGER).unbounded


def test_a_stated_error_of_few_whole_numbers_is_a_true_one() -> None:
    """Without bounds, deciles of 300 whole numbers are hopeless, and the release must say so."""
    n, q = 300, np.arange(1, 10) / 10
    answers = [
        dpq.deciles(np.arange(n), epsilon=1.0, rng=random.Random(seed)) for seed in range(20)
    ]
    ranks = np.clip(np.array([release.values for release in answers], dtype=float), 0, n)
    measured = np.abs(ranks - q * n).mean()
    stated = re.search(
        r"expected rank error .*: (\S+) if smooth", str(answers[0].provenance["choice"])
    )
    assert stated is not None
    assert measured == pytest.approx(float(stated[1]), rel=0.25)


def test_between_entries_errors_lie_between() -> None:
    low, high = (tables.error("agg_tree", "fine", "clustered", n, 99) for n in (3000, 10_000))
    assert low < tables.error("agg_tree", "fine", "clustered", 5000, 99) < high
    assert tables.error("agg_tree", "fine", "smooth", 1, 5000) > 0


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize(
    "amount", [{"epsilon": 1.0}, {"epsilon": 0.1, "delta": 1e-6}, {"rho": 0.5}]
)
def test_every_choice_can_be_built(amount: dict[str, float], neighbors: str) -> None:
    budget = privacy.budget(**amount, neighbors=neighbors)
    for m in (1, 2, 9, 23, 24, 50, 143, 144, 300, 1000, 5000):
        for n in (0, 1, 50, 1000, 10**5, 10**9):
            for grid in (FINE, dpq.UniformGrid(0, 1, 1), dpq.FloatGrid()):
                chosen = choice.choose(budget, m, n, grid)
                assert not MECHANISMS[chosen.mechanism].profile.research_only
                size = n if neighbors == "add-remove" else None
                q = tuple(k / (m + 1) for k in range(1, m + 1))
                assert registry.build(chosen.mechanism, budget, q=q, size=size)
                assert f"{n:,} records" in chosen.why


def unseen(data: str, n: int, m: int, epsilon: float, draws: int) -> tuple[float, float]:
    """The errors of auto and of the best, on data sets that are not behind the table."""
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    budget = PureDP(epsilon=epsilon)
    views = [reference(data, n, FINE, 0.1, seed) for seed in range(100, 112)]
    errors = {}
    for name in tables.CANDIDATES:
        mechanism = registry.build(name, budget, q=q)
        errors[name] = float(
            np.mean([simulated_errors(mechanism, view, draws).mean() for view in views])
        )
    return errors[choice.choose(budget, m, n, FINE).mechanism], min(errors.values())


# What is best depends on n times epsilon, so that several sizes are enough to begin with.
MORE_EPSILONS = [pytest.param(epsilon, marks=pytest.mark.slow) for epsilon in (0.1, 5.0)]


@pytest.mark.parametrize("epsilon", [1.0, *MORE_EPSILONS])
@pytest.mark.parametrize(("n", "m"), [(1000, 1), (1000, 12), (1000, 60), (20_000, 40), (10**6, 25)])
def test_auto_is_near_the_best_on_smooth_records(n: int, m: int, epsilon: float) -> None:
    taken, best = unseen("smooth", n, m, epsilon, 32)
    # 10%, and the noise of 384 draws on 12 samples.
    assert taken <= 1.1 * best * 1.06 + 0.1


@pytest.mark.parametrize("data", ["clustered", "tied"])
@pytest.mark.parametrize(("n", "m"), [(1000, 12), (3000, 40), (20_000, 29), (100_000, 15)])
def test_auto_is_never_far_from_the_best_on_lumps(n: int, m: int, data: str) -> None:
    taken, best = unseen(data, n, m, 1.0, 8)
    # Twice, and the noise of 96 draws on 12 data sets.
    assert taken <= choice.ALLOWED[data].limit(best, 1.0) * 1.2


@pytest.mark.parametrize(
    "amount", [{"epsilon": 5e-324}, {"epsilon": 1e308}, {"rho": 1e-300}, {"rho": 1e300}]
)
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_extreme_budgets_have_a_choice(amount: dict[str, float], neighbors: str) -> None:
    budget = privacy.budget(**amount, neighbors=neighbors)
    for n, m, grid in itertools.product(
        (0, 10**9), (1, 30, 1000), map(tables.grid_of, tables.GRIDS)
    ):
        assert choice.choose(budget, m, n, grid).mechanism in MECHANISMS


def test_clusters_are_never_met_with_a_coarse_tree() -> None:
    """A tree is ten times worse than the best on clusters once records are many."""
    for m in (30, 100, 255, 1000):
        for n in (20_000, 10**6):
            assert choice.choose(PureDP(epsilon=1.0), m, n, FINE).mechanism != "agg_tree"


def test_few_records_and_many_quantiles_get_a_tree() -> None:
    """Whatever the records are like: what fits is a tree for each answer to the question."""
    q = tuple(k / 101 for k in range(1, 101))
    assert choice.choose(PureDP(epsilon=1.0), 100, 1000, FINE).mechanism == "fitted"
    fitted = Fitted(q=q, budget=PureDP(epsilon=1.0))
    for lumpy in (False, True):
        assert fitted.chosen(FINE, lumpy=lumpy, size=1000).name == "adaptive_tree"


def ratios(grids: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Errors of auto by what is allowed, for many public numbers, by the table itself.

    Errors that are all below a ten-thousandth of the records are allowed.
    """
    over: dict[str, list[float]] = {data: [] for data in tables.DATA}
    sizes, epsilons = (1000, 3000, 10_000, 50_000, 10**6), (0.1, 1.0, 5.0)
    for grid, n, m, epsilon in itertools.product(grids, sizes, COUNTS, epsilons):
        budget = PureDP(epsilon=epsilon)
        taken = choice.choose(budget, m, n, tables.grid_of(grid)).mechanism
        able = [entry.name for entry in CANDIDATES if entry.fewest <= m <= entry.most]
        worst = max(choice._errors(taken, budget, m, n, grid).values())
        most = 1.0 if worst <= n / 10_000 else math.inf
        for data, allowed in choice.ALLOWED.items():
            errors = {x: choice._errors(x, budget, m, n, grid)[data] for x in able}
            ratio = errors[taken] / allowed.limit(min(errors.values()), 1 / epsilon)
            over[data].append(min(ratio, most))
    return {data: np.array(found) for data, found in over.items()}


def test_auto_is_good_for_all_kinds_of_records() -> None:
    """Within 10% of the best on smooth records, within twice on others."""
    over = ratios(set(tables.GRIDS) - {"integers", "float"})
    # A hundredth is less than the noise of an entry.
    assert over["smooth"].max() <= 1.01
    assert over["clustered"].max() <= 1
    assert over["tied"].max() <= 1


def test_auto_is_nearly_always_good_without_bounds() -> None:
    """For some dozens of quantiles of few records, no mechanism is good for all kinds.

    The worst case are 40 quantiles of 3,000 records. Only joint_exp meets clusters and rounded
    records, and it is a third worse than a tree on smooth ones.
    """
    for found in ratios(["float"]).values():
        assert found.max() < 1.25
        assert (found > 1).mean() < 0.01


def test_auto_is_mostly_good_for_whole_numbers_without_bounds() -> None:
    """Next to no points are near the records: what is best for one kind may fail for another."""
    for found in ratios(["integers"]).values():
        assert found.max() < 1.4
        assert (found > 1).mean() < 0.12


def good(name: str, m: int, n: int, grid: str) -> bool:
    """Whether a mechanism is within the rule, or off by less than a ten-thousandth."""
    able = [entry.name for entry in CANDIDATES if entry.fewest <= m <= entry.most]
    errors = {x: choice._errors(x, PureDP(epsilon=1.0), m, n, grid) for x in able}
    negligible = max(errors[name].values()) <= n / 10_000
    limits = {
        data: allowed.limit(min(errors[x][data] for x in able), 1.0)
        for data, allowed in choice.ALLOWED.items()
    }
    return negligible or all(errors[name][data] <= limits[data] for data in limits)


@pytest.mark.parametrize("source", costs.READING)
@pytest.mark.parametrize("grid", tables.GRIDS)
def test_of_good_mechanisms_a_cheap_one_is_taken(source: costs.SourceKind, grid: str) -> None:
    budget, dearer = PureDP(epsilon=1.0), 0
    for n, m in itertools.product((1000, 30_000, 10**6, 10**7, 10**9), (1, 9, 19, 30, 99, 255)):
        taken, why = choice.choose(budget, m, n, tables.grid_of(grid), source)
        without = choice.choose(budget, m, n, tables.grid_of(grid)).mechanism
        asked = costs.Asked(budget, m, n, 1.0, grid in tables.FAMILIES)
        spent, others = costs.cost(taken, asked, source), costs.cost(without, asked, source)
        assert spent <= others
        assert good(taken, m, n, grid) or taken == without
        assert ("is also good, but slower here" in why) == (taken != without)
        dearer += others > 5 * spent
    assert dearer > 0 or grid == "integers"


def test_what_is_accurate_is_kept_where_the_rest_costs_about_the_same() -> None:
    for n in (1000, 10**6, 10**9):
        for source in costs.READING:
            assert choice.choose(PureDP(epsilon=1.0), 9, n, FINE, source).mechanism == "joint_exp"


def test_many_quantiles_of_many_records_are_not_worth_long_windows() -> None:
    for source in costs.READING:
        chosen = choice.choose(PureDP(epsilon=1.0), 255, 10**7, FINE, source)
        assert chosen.mechanism == "adaptive_tree"


@pytest.mark.parametrize("source", costs.READING)
def test_errors_that_are_small_for_a_median_are_not_for_a_tail(source: costs.SourceKind) -> None:
    """A tree is off by 20 of a million: nothing for percentiles, much for the last 100 records."""
    even = choice.negligible(tuple(k / 100 for k in range(1, 100)))
    tail = choice.negligible((0.5, 0.9999))
    assert even == choice.NEGLIGIBLE
    assert tail == pytest.approx(1e-6)
    for small, name in ((even, "adaptive_tree"), (tail, "fitted")):
        chosen = choice.choose(PureDP(epsilon=1.0), 99, 10**6, FINE, source, small)
        assert chosen.mechanism == name


@pytest.mark.parametrize("source", costs.READING)
def test_plan_and_release_take_the_same(source: costs.SourceKind) -> None:
    n, q = 600_000, [k / 31 for k in range(1, 31)]
    values = np.random.default_rng(4).normal(50, 10, n)
    data = values if source == "memory" else pl.LazyFrame({"v": values})
    column = None if source == "memory" else "v"
    planned = dpq.plan(size=n, q=q, epsilon=1.0, bounds=(0.0, 100.0), source=source)
    release = dpq.quantiles(data, q, epsilon=1.0, bounds=(0.0, 100.0), column=column)
    assert release.mechanism == planned.chosen.mechanism
    assert release.provenance["choice"] == planned.chosen.why


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(ValueError, match="source must be one of 'memory', 'engine', got 'disk'"):
        dpq.plan(size=100, q="median", epsilon=1.0, source="disk")  # type: ignore[arg-type]


def test_a_protected_number_of_records_is_not_used() -> None:
    options: dict[str, Any] = {
        "q": [k / 101 for k in range(1, 101)],
        "epsilon": 1.0,
        "bounds": (0, 2**38),
        "neighbors": "add-remove",
    }
    releases = [dpq.quantiles(np.arange(n), rng=random.Random(1), **options) for n in (10, 3000)]
    assert releases[0].mechanism == releases[1].mechanism
    assert releases[0].provenance["choice"] == releases[1].provenance["choice"]
    assert "protected number" in str(releases[0].provenance["choice"])
    stated = dpq.quantiles(np.arange(3000), size=1000, rng=random.Random(1), **options)
    assert "1,000 records" in str(stated.provenance["choice"])


def test_the_choice_does_not_depend_on_the_records() -> None:
    q = [k / 61 for k in range(1, 61)]
    columns = [np.arange(1000), np.zeros(1000, dtype=np.int64), np.arange(1000) ** 3]
    options: dict[str, Any] = {"epsilon": 1.0, "bounds": (0, 2**38), "rng": random.Random(3)}
    releases = [dpq.quantiles(column, q, **options) for column in columns]
    assert len({(r.mechanism, r.provenance["choice"]) for r in releases}) == 1


def test_a_mechanism_that_was_asked_for_is_taken() -> None:
    release = dpq.quantiles([1, 2, 3], 0.5, epsilon=1.0, mechanism="agg_tree")
    assert (release.mechanism, release.provenance["choice"]) == ("agg_tree", "asked for")
    assert dpq.quantiles([1, 2, 3], 0.5, epsilon=1.0).mechanism in MECHANISMS


def test_more_quantiles_than_joint_exp_answers_go_elsewhere() -> None:
    budget, grid = dpq.PureDP(epsilon=1.0), dpq.UniformGrid(0, 120)
    assert choice.choose(budget, 1500, 10**6, grid).mechanism == "joint_exp"
    assert choice.choose(budget, 1501, 10**6, grid).mechanism != "joint_exp"


def test_the_recursive_form_is_not_taken_where_it_has_one_part() -> None:
    """It would be joint_exp, only slower."""
    budget, grid = dpq.PureDP(epsilon=1.0), dpq.FloatGrid()
    for n in (1000, 100_000, 10**7):
        for m in range(1, 30):
            chosen = choice.choose(budget, m, n, grid).mechanism
            assert chosen != "recursive_joint_exp" or RecursiveJointExp.parts(m) > 1
    assert choice.choose(budget, 9, 10**7, grid).mechanism == "joint_exp"
