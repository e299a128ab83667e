"""Bracketed: the budget is split honestly, and intervals hold whatever the data is."""

import itertools
import math
import os
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.data import flight_delays
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import family_of
from dpquantiles.intervals import SUBJECTS, Subject
from dpquantiles.kernels import draws
from dpquantiles.kinds import INTEGER
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.bracketed import RANK_SHARE, Bracketed
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.mechanisms.registry import MechanismName
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, NeighborsName, PureDP
from dpquantiles.views import ArrayView
from tests.mechanisms.joint_exp_checks import view_of

pytestmark = pytest.mark.usefixtures("rough_plans")

FOLDER = os.environ.get("DPQUANTILES_DATA", "")
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "concentrated": {"rho": 0.5},
}


def bracketed(budget: Guarantee, **changes: Any) -> Bracketed:
    options: dict[str, Any] = {
        "mechanism": "joint_exp",
        "budget": budget,
        "q": (0.5,),
        "intervals": dpq.Intervals(),
    }
    return Bracketed(**(options | changes))


# Privacy


@pytest.mark.parametrize("amount", [1e-9, 0.1, 1.0, 1 / 3, 7.7, 1e6])
def test_the_parts_of_a_budget_are_no_more_than_the_whole(amount: float) -> None:
    for neighbors in Neighbors:
        for budget in (PureDP(epsilon=amount), ZCDP(rho=amount)):
            part = bracketed(replace(budget, neighbors=neighbors))
            each = Fraction(part.rank_rate)
            price = each if isinstance(budget, PureDP) else each**2 / 2
            assert price * neighbors.records <= Fraction(budget.split(RANK_SHARE)[0].amount)
            spent = price * neighbors.records + Fraction(part.inner.budget.amount)
            assert spent <= Fraction(amount)
            # Rates beyond 2**9 are not used.
            assert spent >= Fraction(amount) * Fraction("0.999999999999") or each == draws.MOST_RATE
        approximate = privacy.ApproxDP(epsilon=amount, delta=1e-6, neighbors=neighbors)
        pure, ranks = bracketed(approximate), bracketed(PureDP(epsilon=amount, neighbors=neighbors))
        assert (pure.rank_rate, pure.inner) == (ranks.rank_rate, ranks.inner)


class Fixed:
    """A mechanism that always gives the same answers."""

    def __init__(self, q: tuple[float, ...], values: tuple[int, ...]) -> None:
        self.q, self.values = q, values

    def release(self, *_: Any) -> dpq.Release:
        return dpq.Release(
            values=self.values, q=self.q, guarantee=None, mechanism="fixed", type="int"
        )


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_one_record_changes_few_counts(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all small data sets and neighbors: noise at the stated rate hides what changes."""
    budget = privacy.budget(epsilon=600.0, neighbors=neighbors)
    size = None if neighbors == "swap" else 5
    mechanism = bracketed(budget, q=(0.4, 0.6), size=size)

    def release(joint: dpq.JointExp, *_: Any) -> dpq.Release:
        return Fixed(joint.q, tuple(range(1, len(joint.q) + 1))).release()

    monkeypatch.setattr(dpq.JointExp, "release", release)
    monkeypatch.setattr(
        draws, "discrete_laplaces", lambda *public: np.zeros(public[-1], dtype=np.int64)
    )
    grid = dpq.UniformGrid(0, 5, 1)

    @cache
    def counts(data: tuple[int, ...]) -> NDArray[np.int64]:
        view = view_of(data, grid.size)
        ranks = mechanism.release(view, random.Random(1)).ranks
        assert ranks is not None
        assert (ranks.missing is None) == (neighbors == "add-remove")
        hidden = [] if ranks.missing is None else [ranks.missing]
        assert sum([*ranks.counts, *hidden]) == view.n + sum(hidden)
        assert (ranks.size or len(data)) == len(data)
        return np.array([*ranks.counts, *hidden])

    most = 0
    values = range(6 + (neighbors == "swap"))  # the last is missing
    for data in itertools.combinations_with_replacement(values, 5):
        removed = [data[:k] + data[k + 1 :] for k in range(5)]
        swapped = [tuple(sorted((*rest, new))) for rest in removed for new in values]
        near = removed if neighbors == "add-remove" else swapped
        most = max(most, *(int(np.abs(counts(data) - counts(other)).sum()) for other in near))
    assert len(counts((1, 2, 3, 4, 5))) == 3 + (neighbors == "swap")
    assert most * mechanism.rank_rate == Fraction(budget.split(RANK_SHARE)[0].amount)


def test_quantiles_too_close_for_a_mechanism_are_refused_by_public_numbers() -> None:
    for data in (np.linspace(-50, 50, 4000), np.zeros(4000)):
        with pytest.raises(ValueError, match=r"^the number of records must be at least"):
            dpq.median(data, epsilon=1.0, mechanism="slice_quantiles", intervals=True)


@pytest.mark.parametrize(("m", "epsilon", "size"), [(1, 4.4e-5, 10**6), (9, 3e-4, 10**8)])
def test_a_bought_size_does_not_decide_about_an_error(
    m: int, epsilon: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More records mean more answers beside the quantiles, and so larger windows."""
    budget = PureDP(epsilon=epsilon, neighbors=Neighbors.ADD_REMOVE)
    mechanism = bracketed(budget, q=tuple(k / (m + 1) for k in range(1, m + 1)))
    grid = family_of(INTEGER, None, None)
    answering = mechanism._answering(size, mechanism._count()[1])[1]
    with pytest.raises(DemandTooLarge):
        answering.demand(0, grid)
    monkeypatch.setattr(PrivateCount, "draw", lambda *_: size)
    release = mechanism.release(ArrayView(np.arange(3), grid), random.Random(1))
    assert len(release.values) == m
    assert release.ranks is not None
    assert len(release.ranks.counts) == 1


def test_what_no_size_allows_is_refused_before_bits_are_drawn() -> None:
    budget = PureDP(epsilon=1e-6, neighbors=Neighbors.ADD_REMOVE)
    bits = random.Random(1)
    with pytest.raises(DemandTooLarge):
        bracketed(budget).release(ArrayView(np.arange(3), family_of(INTEGER, None, None)), bits)
    assert bits.getstate() == random.Random(1).getstate()


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"slice_quantiles"}))
def test_mechanisms_can_be_bracketed(name: MechanismName) -> None:
    profile = MECHANISMS[name].profile
    values = np.linspace(-50, 50, 4000)
    for kind, neighbors in itertools.product(profile.kinds, profile.neighbors):
        release = dpq.quantiles(
            values,
            [0.75, 0.25, 0.25],
            bounds=(-100.0, 100.0),
            mechanism=name,
            neighbors=neighbors,
            intervals=True,
            **BUDGETS[kind],
        )
        assert release.guarantee is not None
        assert release.guarantee.neighbors == neighbors
        assert release.guarantee.research_only == profile.research_only
        budget = vars(privacy.budget(**BUDGETS[kind], neighbors=neighbors))
        pure = kind == "approximate" and "pure" in profile.kinds
        assert release.guarantee.kind == ("pure" if pure else kind)
        assert (
            vars(release.guarantee).items()
            <= (budget | {"research_only": profile.research_only}).items()
        )
        assert release.mechanism == name
        assert release.q == (0.75, 0.25, 0.25)
        for value, interval in zip(release.values, release.interval(), strict=True):
            assert interval.holds(value)
            assert all(end is None or -100 <= end <= 100 for end in interval)
        assert dpq.Release.from_json(release.to_json()) == release


def test_a_seeded_release_repeats_and_has_no_guarantee() -> None:
    one, two = (
        dpq.median(range(500), epsilon=1, intervals=True, rng=random.Random(3)) for _ in range(2)
    )
    assert one == two
    assert one.guarantee is None
    assert one.provenance["budget"] == PureDP(epsilon=1.0).to_dict()


def test_a_protected_number_of_records_stays_protected() -> None:
    sizes, totals = set(), set()
    for seed in range(20):
        release = dpq.median(
            [1.0] * 7919,
            epsilon=1,
            neighbors="add-remove",
            intervals="population",
            rng=random.Random(seed),
        )
        assert release.ranks is not None
        assert release.ranks.size is None
        assert release.provenance["size_share"] == pytest.approx(2 / 15)
        sizes.add(release.provenance["size"])
        totals.add(sum(release.ranks.counts))
    assert len(sizes) > 5
    assert len(totals) > 5


def test_what_a_mechanism_cannot_meet_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"^mechanism must work with a budget of epsilon alone"):
        bracketed(PureDP(epsilon=1.0), mechanism="csmooth")
    with pytest.raises(ValueError, match=r"^size must be left out under swap neighbors"):
        bracketed(PureDP(epsilon=1.0), size=10)


# Shape


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("data", [[], [3.0], [7.0] * 50, [math.nan, 1e300] * 9], ids=str)
@pytest.mark.parametrize("of", ["data", "population"])
def test_any_data_give_valid_intervals(
    data: list[float], neighbors: NeighborsName, of: Subject
) -> None:
    for epsilon, q in itertools.product((1e-4, 1.0, 1e5), ([0.0, 1.0], [0.5, 0.5, 0.500001])):
        release = dpq.quantiles(
            np.array(data, dtype=np.float64),
            q,
            epsilon=epsilon,
            neighbors=neighbors,
            intervals=dpq.Intervals(of=of),
        )
        assert len(release.interval()) == len(q)
        for value, interval in zip(release.values, release.interval(), strict=True):
            assert interval.holds(value)


def test_real_numbers_are_held_although_they_are_rounded_to_the_grid() -> None:
    grid = dpq.UniformGrid(0.0, 1.0, 0.25)
    release = dpq.median([0.3] * 1000, grid=grid, epsilon=1000, intervals=True)
    assert release.value == 0.25
    assert release.interval()[0] == (0.0, 0.5)
    whole = dpq.median([3] * 1000, bounds=(0, 9), epsilon=1000, intervals=True)
    assert whole.interval()[0] == (3, 3)


def test_clamped_ends_are_open_and_coarse_ones_lie_further_out() -> None:
    """Before the grid rounds and clamps: 2.6 is no 3, and 500 is no 100."""
    ask: dict[str, Any] = {"epsilon": 1000, "intervals": True, "rng": random.Random(1)}
    beyond = dpq.median(np.full(1000, 500), bounds=(0, 100), **ask)
    assert beyond.interval() == ((100, None),)
    below = dpq.median(np.full(1000, -500), bounds=(0, 100), **ask)
    assert below.interval() == ((None, 0),)
    coarse = dpq.median(np.full(1000, 1499), bounds=(0, 9000), resolution=1000, **ask)
    assert coarse.interval() == ((0, 2000),)
    whole = dpq.median(np.full(1000, 2.6), grid=dpq.UniformGrid(0, 9), **ask)
    assert whole.interval() == ((2, 4),)
    stamps = dpq.median(np.full(1000, 2**60 + 1), **ask)
    assert stamps.interval() == ((2**60 - 128, 2**60 + 256),)
    for release in (beyond, below, stamps):
        assert dpq.Release.from_json(release.to_json()) == release


def test_an_interval_for_the_data_is_never_wider_than_for_the_population() -> None:
    narrower = 0
    for trial, of in itertools.product(range(10), SUBJECTS):
        release = dpq.quartiles(
            np.random.default_rng(trial).normal(0, 5, 2000),
            epsilon=1.0,
            bounds=(-100.0, 100.0),
            intervals=of,
            rng=random.Random(trial),
        )
        pairs = zip(release.interval(of="data"), release.interval(of="population"), strict=True)
        for data, population in pairs:
            assert all(end is None or population.holds(end) for end in data)
            narrower += of == "data" and data != population
    assert narrower > 20


def test_without_measured_ranks_the_way_is_told() -> None:
    with pytest.raises(ValueError, match=r"^interval needs .*intervals=True"):
        dpq.median([1, 2], epsilon=1).interval()


# Coverage


def cliff(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Two narrow clusters with a wide gap at the median."""
    return np.where(np.arange(n) < n // 2, -50, 50) + rng.normal(0, 0.1, n)


def clusters(rng: np.random.Generator, n: int) -> NDArray[Any]:
    centers = rng.uniform(-90, 90, 20)
    return rng.choice(centers, n) + rng.normal(0, 1e-4, n)


Sample = Callable[[np.random.Generator, int], NDArray[Any]]
SHAPES: dict[str, Sample] = {
    "smooth": lambda rng, n: rng.normal(0, 5, n),
    "clustered": clusters,
    "cliff": cliff,
    "tied": lambda rng, n: np.rint(rng.normal(0, 5, n)),
    "constant": lambda _, n: np.full(n, 2.5),
    "half missing": lambda rng, n: np.where(rng.random(n) < 0.5, math.nan, rng.normal(0, 5, n)),
}


def ends(release: dpq.Release) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lower and upper ends of real numbers, open ones infinite."""
    lower, upper = zip(*release.interval(), strict=True)
    return (
        np.array([-math.inf if end is None else end for end in lower]),
        np.array([math.inf if end is None else end for end in upper]),
    )


def coverage(sample: Sample, n: int, m: int, trials: int, **options: Any) -> float:
    """The share of trials in which the quantile that is covered least is covered."""
    q, covered = np.arange(1, m + 1) / (m + 1), np.zeros(m)
    for trial in range(trials):
        values = np.sort(sample(np.random.default_rng(trial), n))
        release = dpq.quantiles(values, q, rng=random.Random(trial), intervals=True, **options)
        lower, upper = ends(release)
        present = values[~np.isnan(values)]
        below = np.searchsorted(present, lower, side="left")
        through = np.searchsorted(present, upper, side="right")
        covered += (below < q * len(present)) & (through > q * len(present))
    return float(covered.min() / trials)


def fewest(trials: int, level: float = 0.95) -> float:
    """What a true coverage of `level` falls below once in 10,000 runs."""
    return float(stats.binom.ppf(1e-4, trials, level)) / trials


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_the_quantiles_of_the_data(shape: str, neighbors: str) -> None:
    options = {"epsilon": 1.0, "bounds": (-100.0, 100.0), "neighbors": neighbors}
    assert coverage(SHAPES[shape], 600, 3, 80, resolution=2.0**-20, **options) >= fewest(80)


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_on_a_family_hold_the_quantiles_of_the_data(shape: str) -> None:
    """Draws are slow there, so there are fewer; at length they are 400."""
    neighbors = ("swap", "add-remove")[list(SHAPES).index(shape) % 2]
    options = {"epsilon": 1.0, "bounds": (-100.0, 100.0), "neighbors": neighbors}
    assert coverage(SHAPES[shape], 600, 3, 24, **options) >= fewest(24)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_intervals_hold_the_quantiles_of_the_population(neighbors: NeighborsName) -> None:
    q, covered, trials = np.array([0.1, 0.5, 0.9]), np.zeros(3), 120
    truth = stats.norm.ppf(q, 0, 5)
    for trial in range(trials):
        release = dpq.quantiles(
            np.random.default_rng(trial).normal(0, 5, 3000),
            q,
            epsilon=2.0,
            bounds=(-100.0, 100.0),
            neighbors=neighbors,
            intervals=dpq.Intervals(0.8, of="population"),
            rng=random.Random(trial),
        )
        lower, upper = ends(release)
        covered += (lower <= truth) & (truth <= upper)
    assert covered.min() / trials >= fewest(trials, 0.8)


def test_intervals_are_of_some_use() -> None:
    """Not only right: within 60 of 1000 ranks around a median at epsilon 1."""
    widths = []
    for trial in range(40):
        values = np.sort(np.random.default_rng(trial).normal(0, 5, 1000))
        release = dpq.median(
            values, epsilon=1.0, bounds=(-100.0, 100.0), intervals=True, rng=random.Random(trial)
        )
        (lower,), (upper,) = ends(release)
        widths.append(np.diff(np.searchsorted(values, [lower, upper]))[0])
    assert np.median(widths) <= 2 * 60
    assert np.mean(np.array(widths) > 400) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("m", [1, 9])
@pytest.mark.parametrize("shape", SHAPES)
def test_coverage_at_length(shape: str, m: int, epsilon: float, neighbors: str) -> None:
    options = {"epsilon": epsilon, "bounds": (-100.0, 100.0), "neighbors": neighbors}
    assert coverage(SHAPES[shape], 1000, m, 400, **options) >= fewest(400)


REAL_COLUMNS: dict[str, tuple[type, tuple[float, float]]] = {
    "goodreads_ratings": (float, (0, 5)),
    "goodreads_pages": (int, (0, 10_000)),
    "acs_income": (int, (-20_000, 1_000_000)),
    "adult_age": (int, (0, 120)),
    "adult_hours": (int, (0, 168)),
    "flights_arr_delay": (int, (-180, 1440)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL_COLUMNS)
def test_coverage_on_real_columns(name: str) -> None:
    kind, bounds = REAL_COLUMNS[name]
    path = Path(FOLDER) / f"{name}.csv"
    if name == "flights_arr_delay":
        column: NDArray[Any] = flight_delays()
    elif FOLDER and path.exists():
        column = np.loadtxt(path, skiprows=1).astype(kind)
    else:
        pytest.skip(f"{name} is not shipped; name a folder that has it with DPQUANTILES_DATA")

    def sample(rng: np.random.Generator, n: int) -> NDArray[Any]:
        return rng.choice(column, n, replace=False)

    for m, epsilon in itertools.product((3, 9), (0.3, 1.0)):
        assert coverage(sample, 1000, m, 300, epsilon=epsilon, bounds=bounds) >= fewest(300)
