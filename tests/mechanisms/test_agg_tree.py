"""AggTree: sensitivity over all neighbors, the price of its noise, merging and later queries."""

import dataclasses
import itertools
import json
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import entropy, privacy
from dpquantiles.entropy import SEEDED_NOTE
from dpquantiles.grid import FloatGrid, UniformGrid, default_grid
from dpquantiles.kernels import draws, tree
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.results import ReleasedTree
from dpquantiles.views import WindowView
from tests.mechanisms.building import built
from tests.mechanisms.joint_exp_checks import neighbor_pairs, view_of
from tests.mechanisms.mutation import mutate
from tests.views.recording import RecordingView

Patch = pytest.MonkeyPatch
RELATIONS = ("swap", "add-remove")
POINTS = 5
DECILES = tuple(k / 10 for k in range(1, 10))


def small(neighbors: str, **budget: Any) -> AggTree:
    spent = privacy.budget(**(budget or {"epsilon": 1.0}), neighbors=neighbors)
    return AggTree(q=(0.5,), budget=spent, height=2, branching=2)


def noiseless(mechanism: AggTree, records: Sequence[int], points: int = POINTS) -> ReleasedTree:
    """The tree that the mechanism would release if all its noise were zero."""
    with Patch.context() as patch:
        patch.setattr(draws, "discrete_laplaces", lambda _b, _r, n: np.zeros(n, dtype=np.int64))
        return mechanism.tree(view_of(records, points), random.Random(0))


def rates(mechanism: AggTree) -> list[Fraction]:
    """The rate of the noise of every node, as it is drawn."""
    drawn: list[Fraction] = []

    def record(_bits: object, rate: Fraction, count: int) -> np.ndarray:
        drawn.extend([rate] * count)
        return np.zeros(count, dtype=np.int64)

    with Patch.context() as patch:
        patch.setattr(draws, "discrete_laplaces", record)
        mechanism.tree(view_of([0, 1], POINTS), random.Random(0))
    return drawn


def flat(released: ReleasedTree) -> np.ndarray:
    """All counts that get noise, in the order in which they get it."""
    present = [] if released.total is None else [released.total]
    return np.concatenate([*released.levels, present])


def changes(mechanism: AggTree) -> list[np.ndarray]:
    """By how much every count differs, for all neighbors of up to three records, some missing."""
    pairs = neighbor_pairs(str(mechanism.neighbors), [0, 1, 2, 3], POINTS + 1)
    return [flat(noiseless(mechanism, a)) - flat(noiseless(mechanism, b)) for a, b in pairs]


def renyi(rate: float, shift: int, order: float) -> float:
    """The Renyi divergence between discrete Laplace noise and itself, shifted."""
    z = np.arange(-400, 401)
    p, q = -rate * np.abs(z), -rate * np.abs(z - shift)
    logs = order * p + (1 - order) * q
    scale = math.log(np.exp(p).sum())
    return (math.log(np.exp(logs).sum()) - scale) / (order - 1)


def check_pure(mechanism: AggTree) -> None:
    """The largest loss is the rate-weighted L1 distance: epsilon, neither more nor less."""
    price = [
        sum(r * abs(int(d)) for r, d in zip(rates(mechanism), change, strict=True))
        for change in changes(mechanism)
    ]
    assert isinstance(mechanism.budget, PureDP)
    assert max(price) == Fraction(mechanism.budget.epsilon)
    if mechanism.neighbors is Neighbors.SWAP:
        lost = [p for p, change in zip(price, changes(mechanism), strict=True) if change[-1]]
        assert set(lost) == {Fraction(mechanism.budget.epsilon)}


def check_concentrated(mechanism: AggTree) -> None:
    """Renyi divergences of all nodes together are within rho times the order."""
    assert isinstance(mechanism.budget, ZCDP)
    rho = mechanism.budget.rho
    each, worst = [float(rate) for rate in rates(mechanism)], 0.0
    for change in {tuple(np.abs(c)) for c in changes(mechanism)}:
        for order in (1.01, 2.0, 8.0, 40.0):
            moved = zip(each, change, strict=True)
            divergence = sum(renyi(rate, int(d), order) for rate, d in moved if d)
            assert divergence <= rho * order * (1 + 1e-9)
            worst = max(worst, divergence / (rho * order))
    assert worst > 0.5


def check_every_level_counts_every_record(mechanism: AggTree) -> None:
    counts = noiseless(mechanism, [0, 0, 1, 3, 4])
    assert [int(level.sum()) for level in counts.levels] == [5, 5]
    assert counts.levels[-1].tolist() == [2, 1, 0, 2]


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_all_neighbors_are_within_epsilon(neighbors: str) -> None:
    check_pure(small(neighbors, epsilon=0.7))


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_all_neighbors_are_within_rho(neighbors: str) -> None:
    check_concentrated(small(neighbors, rho=0.3))


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_loss_of_released_counts_is_epsilon(neighbors: str) -> None:
    """All neighbors, and all counts of a box around the truth: the exact loss, written out."""
    mechanism = AggTree(
        q=(0.5,), budget=privacy.budget(epsilon=0.9, neighbors=neighbors), height=2, branching=2
    )
    rate, worst = float(mechanism.rate(2)), 0.0
    box = np.array(list(itertools.product(range(-1, 4), repeat=4)))
    for a, b in neighbor_pairs(neighbors, [1, 2], 4):
        one, other = (flat(noiseless(mechanism, x, 4)) for x in (a, b))
        total = 0.0
        for level in (slice(0, 2), slice(2, 6)):
            cut = box[:, : len(one[level])]
            moved = (np.abs(cut - other[level]) - np.abs(cut - one[level])).sum(axis=1)
            total += rate * float(moved.max())
        worst = max(worst, total)
    assert 0.5 * 0.9 < worst <= 0.9 * (1 + 1e-12)


def test_every_record_is_counted_on_every_level() -> None:
    check_every_level_counts_every_record(small("swap"))


def test_concentrated_rates_round_down() -> None:
    mechanism = small("add-remove", rho=0.3)
    rate = mechanism.rate(2)
    assert rate**2 * 2 / 2 <= Fraction(0.3)
    assert math.isclose(float(rate), math.sqrt(0.3))


def test_counts_carry_fresh_noise() -> None:
    """Deviations of many trees have the variance of discrete Laplace noise, node by node."""
    mechanism, bits = small("swap", epsilon=2.0), random.Random(3)
    truth = flat(noiseless(mechanism, [0, 1, 4]))
    view = view_of([0, 1, 4], POINTS)
    noise = np.array([flat(mechanism.tree(view, bits)) - truth for _ in range(3000)])
    ratio = np.exp([-0.5] * 6 + [-1.0])  # the last is that of the records that are present
    np.testing.assert_allclose(noise.var(axis=0), 2 * ratio / (1 - ratio) ** 2, rtol=0.2)
    assert np.abs(np.corrcoef(noise.T) - np.eye(7)).max() < 0.1


@pytest.mark.parametrize(
    "mechanism", [small("swap"), AggTree(q=DECILES, budget=PureDP(epsilon=1.0))]
)
def test_only_public_edges_are_asked_for(mechanism: AggTree) -> None:
    view = dpq.ArrayView(np.arange(50.0), default_grid(REAL, (0, 100)))
    demand = mechanism.demand(view.n, view.grid)
    recording = RecordingView(view)
    released = mechanism.release(recording, random.Random(1))
    assert not recording.asked_index
    assert recording.asked_steps <= set(demand.steps.tolist())
    window = WindowView.of(view, demand)
    assert mechanism.release(window, random.Random(1)) == released


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("points", [1, 2, 3, 300])
@pytest.mark.parametrize("records", [[], [0], [0, 0, 0, 0]])
def test_degenerate_data(records: list[int], points: int, neighbors: str) -> None:
    grid = UniformGrid(0, max(1, points - 1), 1) if points > 1 else UniformGrid(0, 0.5, 1)
    view = dpq.ArrayView(np.array(records, dtype=float), grid)
    for mechanism in (
        AggTree(q=DECILES, budget=privacy.budget(epsilon=0.1, neighbors=neighbors)),
        AggTree.quantile_tree(q=DECILES, budget=privacy.budget(epsilon=0.1, neighbors=neighbors)),
    ):
        values = mechanism.release(view, random.Random(1)).values
        assert len(values) == 9
        assert list(values) == sorted(values)
        assert set(values) <= set(grid.decode(np.arange(grid.size)))


def test_answers_are_near_the_truth_with_little_noise() -> None:
    data = np.random.default_rng(1).normal(0, 5, 2000)
    view = dpq.ArrayView(data, default_grid(REAL, (-100, 100)))
    release = AggTree(q=DECILES, budget=PureDP(epsilon=1000.0)).release(view, random.Random(1))
    np.testing.assert_allclose(release.values, np.quantile(data, DECILES), atol=0.15)


def test_unbounded_grid() -> None:
    data = np.random.default_rng(1).normal(0, 5, 2000)
    view = dpq.ArrayView(data, FloatGrid())
    release = AggTree(q=(0.1, 0.9), budget=PureDP(epsilon=1.0)).release(view, random.Random(1))
    below = [float((data <= value).mean()) for value in release.values]
    np.testing.assert_allclose(below, [0.1, 0.9], atol=0.05)


def test_answers_follow_the_order_of_q() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    mixed = AggTree(q=(0.9, 0.1, 0.5, 0.9), budget=PureDP(epsilon=5.0)).release(
        view, random.Random(4)
    )
    plain = AggTree(q=(0.1, 0.5, 0.9), budget=PureDP(epsilon=5.0)).release(view, random.Random(4))
    low, middle, high = plain.values
    assert mixed.values == (high, low, middle, high)
    assert low <= middle <= high


def test_later_queries_are_free_and_consistent() -> None:
    view = dpq.ArrayView(np.arange(100.0), default_grid(REAL, (0, 100)))
    mechanism = AggTree(q=(0.5,), budget=PureDP(epsilon=1.0))
    released = mechanism.tree(view, random.SystemRandom())
    first, later = released.quantiles([0.5]), released.quantiles("percentiles")
    assert later.guarantee == mechanism.guarantee == first.guarantee
    assert first.value == later.values[49]
    assert list(later.values) == sorted(later.values)


def test_seeded_trees_carry_no_guarantee() -> None:
    view = view_of([1, 2], POINTS)
    release = small("swap").release(view, random.Random(1))
    assert release.guarantee is None
    assert release.note == SEEDED_NOTE
    assert release == small("swap").release(view, random.Random(1))
    assert release.provenance["size"] == 2


def test_size_is_hidden_under_add_remove() -> None:
    released = small("add-remove").tree(view_of([1, 2], POINTS), random.SystemRandom())
    assert released.total is None
    assert "size" not in released.quantiles(0.5).provenance
    assert "size" not in released.to_json()


def test_a_tree_of_earlier_versions_has_one_number() -> None:
    """Earlier trees counted all records, and wrote their number only once."""
    view = dpq.ArrayView(np.array([0, 1, 3]), dpq.UniformGrid(0, POINTS - 1, 1), missing="upper")
    released = small("swap").tree(view, random.Random(2))
    plain = json.loads(released.to_json())
    assert plain.pop("total") == plain["size"] == 3
    read = ReleasedTree.from_json(json.dumps(plain), view.grid)
    assert (read.size, read.total) == (3, 3)
    assert read.quantiles(0.5).values == released.quantiles(0.5).values


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_merged_counts_add_up(neighbors: str) -> None:
    mechanism = small(neighbors, epsilon=1.0)
    stronger = dataclasses.replace(mechanism, budget=mechanism.budget.at(0.25))
    bits = random.SystemRandom()
    one = mechanism.tree(view_of([0, 1], POINTS), bits)
    other = stronger.tree(view_of([3], POINTS), bits)
    both = one.merge(other)
    assert (flat(both) == flat(one) + flat(other)).all()
    assert both.guarantee == PureDP(epsilon=1.0, neighbors=Neighbors(neighbors))
    assert both.guarantee == other.merge(one).guarantee
    assert both.size == (3 if neighbors == "swap" else None)
    if one.total is not None and other.total is not None:
        assert both.total == one.total + other.total
    else:
        assert both.total is None
    exact = noiseless(mechanism, [0, 1]).merge(noiseless(mechanism, [3]))
    assert (flat(exact) == flat(noiseless(mechanism, [0, 1, 3]))).all()
    assert exact.guarantee is None


def check_seeded_merges() -> None:
    """One tree whose noise can be taken away is enough: what it is merged with is no help."""
    mechanism = small("swap", epsilon=1.0)
    private = mechanism.tree(view_of([0, 1], POINTS), random.SystemRandom())
    seeded = mechanism.tree(view_of([3], POINTS), random.Random(1))
    assert private.guarantee is not None
    for both in (private.merge(seeded), seeded.merge(private), seeded.merge(seeded)):
        assert both.guarantee is None
        assert both.quantiles(0.5).guarantee is None
        assert both.quantiles(0.5).note == both.note == entropy.SEEDED_NOTE


def test_a_seeded_tree_takes_the_guarantee_of_what_it_is_merged_with() -> None:
    check_seeded_merges()


@pytest.mark.parametrize("note", ["self.note and other.note", "self.note", "other.note", '""'])
def test_mutants_of_merging_are_caught(note: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch, ReleasedTree.merge, "self.note or other.note", note)
    with pytest.raises(AssertionError):
        check_seeded_merges()


def test_unlike_trees_are_not_merged() -> None:
    tree_of = noiseless(small("swap"), [1])
    for other in (
        noiseless(small("add-remove"), [1]),
        noiseless(small("swap"), [1], points=9),
        noiseless(small("swap", rho=1.0), [1]),
    ):
        with pytest.raises(ValueError, match="other must have the same grid"):
            tree_of.merge(other)
    for height, branching in ((1, 4), (2, 3)):
        shaped = AggTree(q=(0.5,), budget=PureDP(epsilon=1.0), height=height, branching=branching)
        told = rf"^other must have the same leaves, .* got {branching**height} leaves beside 4;"
        with pytest.raises(ValueError, match=told):
            tree_of.merge(noiseless(shaped, [1]))


def test_json_both_ways() -> None:
    view = dpq.ArrayView(np.arange(30.0), FloatGrid())
    released = AggTree(q=(0.5,), budget=ZCDP(rho=0.5), height=2, branching=8).tree(
        view, random.SystemRandom()
    )
    again = ReleasedTree.from_json(released.to_json(), view.grid)
    assert again.quantiles("deciles") == released.quantiles("deciles")
    assert again.guarantee == ZCDP(rho=0.5)
    with pytest.raises(ValueError, match="grid must be the tree's own"):
        ReleasedTree.from_json(released.to_json(), UniformGrid(0, 3, 1))
    with pytest.raises(ValueError, match="format must be 1"):
        ReleasedTree.from_json("{}", view.grid)


def test_within_budgets() -> None:
    assert AggTree(q=(0.5,), budget=PureDP(epsilon=2.0)).guarantee == PureDP(epsilon=2.0)
    assert AggTree(q=(0.5,), budget=ZCDP(rho=0.2)).guarantee == ZCDP(rho=0.2)
    approximate = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=Neighbors.ADD_REMOVE)
    pure = AggTree(q=(0.5,), budget=approximate, size=9).guarantee
    assert pure == PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)


def test_shape_follows_public_numbers() -> None:
    mechanism = AggTree(q=(0.5,), budget=PureDP(epsilon=1.0))
    assert mechanism.shape(default_grid(REAL, (-100, 100))) == (3, 10)
    assert mechanism.shape(FloatGrid()) == (4, 12)
    assert mechanism.shape(UniformGrid(0, 120, 1)) == (3, 5)
    assert mechanism.shape(UniformGrid(0, 9, 1)) == (1, 10)
    assert mechanism.shape(UniformGrid(0, 1, 1)) == (1, 2)
    quantile_tree = AggTree.quantile_tree(q=(0.5,), budget=PureDP(epsilon=1.0))
    assert quantile_tree.shape(FloatGrid()) == (4, 16)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({}, TypeError, "epsilon must be given"),
        ({"epsilon": 1.0, "rho": 1.0}, ValueError, "rho must be given alone"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be positive"),
        ({"rho": -1.0}, ValueError, "rho must be positive"),
        ({"epsilon": 1e-15}, ValueError, "must leave at least"),
        ({"epsilon": 1.0, "q": (2.0,)}, ValueError, "q must lie between 0 and 1"),
        ({"epsilon": 1.0, "neighbors": "both"}, ValueError, "neighbors must be one of"),
        ({"epsilon": 1.0, "height": 3}, TypeError, "given together"),
        ({"epsilon": 1.0, "height": 0, "branching": 3}, ValueError, "height must be at least 1"),
        ({"epsilon": 1.0, "height": 2, "branching": 1}, ValueError, "branching must be at least 2"),
        ({"epsilon": 1.0, "height": 30, "branching": 9}, ValueError, "at most 4194304 leaves"),
        ({"epsilon": 1.0, "reading": "exact"}, ValueError, "reading must be one of"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        built(AggTree, **{"q": (0.5,), **parameters})


def test_accuracy_on_normal_data() -> None:
    """The paper's own code misses 16.7 ranks here."""
    errors = []
    for seed in range(30):
        data = np.random.default_rng(seed).normal(0, 5, 1000)
        view = dpq.ArrayView(data, default_grid(REAL, (-100, 100)))
        values = (
            AggTree(q=DECILES, budget=PureDP(epsilon=1.0)).release(view, random.Random(seed)).values
        )
        errors.append(np.abs((data[:, None] <= np.array(values)).mean(axis=0) - DECILES).mean())
    assert 1000 * np.mean(errors) < 14.5


def halve_the_sensitivity(patch: Patch) -> None:
    original = AggTree.rate
    patch.setattr(AggTree, "rate", lambda self, height: 2 * original(self, height))


def forget_the_levels(patch: Patch) -> None:
    original = AggTree.rate
    patch.setattr(AggTree, "rate", lambda self, _height: original(self, 1))


def count_only_the_leaves(patch: Patch) -> None:
    def sums(leaves: np.ndarray, branching: int, height: int) -> list[np.ndarray]:
        rest = [np.zeros(branching**level, dtype=np.int64) for level in range(1, height)]
        return [*rest, leaves]

    patch.setattr(tree, "sums", sums)


def count_edges_twice(patch: Patch) -> None:
    original = tree.sums

    def sums(leaves: np.ndarray, branching: int, height: int) -> list[np.ndarray]:
        return original(leaves + np.roll(leaves, 1), branching, height)

    patch.setattr(tree, "sums", sums)


def pure(_: Patch) -> None:
    for neighbors in RELATIONS:
        check_pure(small(neighbors))


def concentrated(_: Patch) -> None:
    check_concentrated(small("swap", rho=0.3))


def counts(_: Patch) -> None:
    check_every_level_counts_every_record(small("swap"))


def count_missing_records_twice(patch: Patch) -> None:
    original = AggTree._total

    def total(self: AggTree, view: Any, bits: Any) -> int | None:
        found = original(self, view, bits)
        return None if found is None else found - (view.missing or 0)

    patch.setattr(AggTree, "_total", total)


def count_missing_records_for_all_of_the_budget(patch: Patch) -> None:
    mutate(patch, AggTree._total, "self.rate(1)", "2 * self.rate(1)")


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[Patch], None]]] = [
    (count_missing_records_twice, pure),
    (count_missing_records_for_all_of_the_budget, pure),
    (count_missing_records_for_all_of_the_budget, concentrated),
    (halve_the_sensitivity, pure),
    (halve_the_sensitivity, concentrated),
    (forget_the_levels, pure),
    (forget_the_levels, concentrated),
    (count_only_the_leaves, counts),
    (count_edges_twice, pure),
]


@pytest.mark.parametrize(("mutate", "check"), MUTANTS)
def test_mutants_are_caught(mutate: Any, check: Any, monkeypatch: Patch) -> None:
    with Patch.context() as untouched:
        check(untouched)
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check(monkeypatch)
