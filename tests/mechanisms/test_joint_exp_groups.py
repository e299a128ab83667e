"""JointExp on many groups: each group has the law that it has by itself."""

import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.auditing.laws import Explorer
from dpquantiles.grid import family_of
from dpquantiles.kernels import draws, many_backward, many_draws, many_forward
from dpquantiles.kernels.algebra import Logarithms
from dpquantiles.kinds import INTEGER
from dpquantiles.mechanisms import joint_exp, joint_exp_groups
from dpquantiles.mechanisms.joint_exp_groups import Batch, draw_groups
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.privacy import PureDP
from dpquantiles.views import Groups
from tests.mechanisms.joint_exp_checks import Answer, all_answers, fit
from tests.mechanisms.mutation import mutate

Ints = np.ndarray[Any, np.dtype[np.int64]]


def grouped(data: Sequence[Sequence[int]], points: int) -> Groups:
    codes = np.repeat(np.arange(len(data)), [len(records) for records in data])
    steps = np.array([step for records in data for step in records], dtype=np.int64)
    shuffled = np.random.default_rng(0).permutation(len(steps))
    grid = dpq.UniformGrid(0, points - 1, 1)
    return Groups.of(grid, codes[shuffled], steps[shuffled], len(data))


def sized(mechanism: dpq.JointExp, size: int) -> dpq.JointExp:
    return mechanism if mechanism.neighbors == "swap" else replace(mechanism, size=size)


def batch_of(mechanism: dpq.JointExp, groups: Groups, sizes: Ints) -> Batch:
    setting = joint_exp_groups._shared(mechanism, groups.grid)
    grid = joint_exp_groups._answered(mechanism, groups.grid)
    places = joint_exp_groups._places(groups, np.arange(len(groups)), grid)
    ascending = np.asarray(sorted(mechanism.q))
    return Batch.of(setting, ascending, places, grid.size, groups.n, sizes)


def small_cases() -> Iterator[tuple[dpq.JointExp, Groups, Ints]]:
    rng = np.random.default_rng(3)
    for case in range(120):
        points, m, count = (int(rng.integers(*ends)) for ends in ((2, 9), (1, 5), (1, 6)))
        q = tuple(sorted(rng.choice([0, 0.1, 0.25, 0.3, 0.5, 0.6, 0.9, 1.0], m).tolist()))
        swap = case % 2 == 0
        mechanism = dpq.JointExp(
            q=q,
            budget=privacy.budget(
                epsilon=float(rng.uniform(0.5, 4)), neighbors="swap" if swap else "add-remove"
            ),
            reach=int(rng.integers(1, 9)),
            size=None if swap else 0,
        )
        data = [rng.integers(0, points, rng.integers(0, 10)).tolist() for _ in range(count)]
        groups = grouped(data, points)
        off = rng.integers(-9, 60, count) if case % 4 == 1 else rng.integers(-4, 5, count)
        sizes = groups.n if swap else np.maximum(0, groups.n + off)
        yield mechanism, groups, sizes


@np.errstate(divide="ignore")
def check_masses(
    mechanism: dpq.JointExp, groups: Groups, sizes: Ints, tolerance: float = 1e-7
) -> None:
    found = batch_of(mechanism, groups, sizes).log_window()
    for group, size in enumerate(sizes.tolist()):
        alone = sized(mechanism, size).law(groups.view(group))
        assert math.isclose(found[group], alone.log_window, abs_tol=tolerance)


@pytest.mark.parametrize("wrong_size", [-32.0, -2.0])
def test_masses_are_those_of_one_group(wrong_size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", wrong_size)
    for mechanism, groups, sizes in small_cases():
        check_masses(mechanism, groups, sizes)


def test_masses_of_real_sizes_are_those_of_one_group() -> None:
    rng = np.random.default_rng(4)
    grid = dpq.UniformGrid(0.0, 100.0)
    sizes = np.array([0, 1, 90, 100, 101, 500, 1000, 1300, 3000])
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.normal(50, 10, len(codes))
    values[::3] = values[::3].round()
    groups = Groups.of(grid, codes, grid.encode(values), len(sizes))
    q = tuple(k / 10 for k in range(1, 10))
    for mechanism in (
        dpq.JointExp(q=q, budget=PureDP(epsilon=1.0)),
        dpq.JointExp(q=q, budget=privacy.budget(epsilon=1.0, neighbors="add-remove"), size=0),
        dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=0.1)),
    ):
        stated = sizes if mechanism.neighbors == "swap" else sizes + [7, -1, 500] * 3
        # One setting for all sizes has a rate that is lower by some 1e-8.
        check_masses(mechanism, groups, stated, tolerance=1e-5)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_masses_on_a_member_of_a_family_are_those_of_one_group(neighbors: str) -> None:
    """Also if records lie between the points of the member, or beyond them."""
    family = family_of(INTEGER, (-100, 100), None)
    rng, sizes = np.random.default_rng(7), np.array([0, 1, 5, 40, 60])
    codes = np.repeat(np.arange(len(sizes)), sizes)
    numbers = rng.integers(-100, 101, len(codes))
    groups = Groups.of(family, codes, family.encode(numbers), len(sizes))
    budget = privacy.budget(epsilon=1.0, neighbors=neighbors)
    stated = sizes if neighbors == "swap" else sizes + 7
    assert {member.step for member in family.members} >= {1, 5, 10}
    for member in range(len(family.members)):
        mechanism = dpq.JointExp(
            q=(0.2, 0.5, 0.9),
            budget=budget,
            size=None if neighbors == "swap" else 0,
            reach=20,
            member=member,
        )
        check_masses(mechanism, groups, stated)


def explored(batch: Batch, patch: Callable[..., None]) -> dict[Answer, float]:
    """What the walks of a batch of one group really draw, by exploring every choice."""
    explorer = Explorer()

    def first(_: object, one: Any, two: Any) -> Any:
        if not len(one):
            return np.zeros(0, dtype=bool)
        pair = [float(one[0]), float(two[0])]
        return np.array([explorer.choose(pair if sum(pair) else [1.0, 0.0]) == 0])

    def first_of_logs(_: object, one: Any, two: Any) -> Any:
        return first(None, np.exp(one - np.maximum(one, two)), np.exp(two - np.maximum(one, two)))

    def weighted(_: object, weights: Any) -> Any:
        if not weights.shape[1]:
            return np.zeros(0, dtype=np.int64)
        top = weights.max() or 1.0
        return np.array([explorer.choose((weights[:, 0] / top).tolist())])

    def below(_: object, bounds: Any) -> Any:
        return np.array([explorer.choose([1.0] * int(bound)) for bound in bounds], dtype=np.int64)

    for name, function in (
        ("choose_first", first),
        ("choose_first_of_logs", first_of_logs),
        ("weighted", weighted),
        ("below", below),
    ):
        patch(many_draws, name, function)
    found: Counter[Answer] = Counter()
    while True:
        answer = tuple(batch.draw(random.Random(0))[:, 0].tolist())
        found[answer] += explorer.probability  # type: ignore[assignment]
        if not explorer.advance():
            return dict(found)


WALKS = [
    ((0.25, 0.5, 0.75), "swap", (1, 1, 1, 3, 4), 3),
    ((0.0, 1.0), "swap", (), 2),
    ((0.5, 0.5), "swap", (0, 2, 2), 4),
    ((0.3, 0.9), "add-remove", (0, 3, 3, 4), 3),
    ((0.3, 0.9), "add-remove", (0, 3, 3, 4), 7),
    ((0.3, 0.6), "add-remove", (0, 3), 90),
    ((0.5, 0.9), "add-remove", (1, 1, 2, 3, 4, 4), 0),
    ((0.25, 0.5, 0.75), "swap", (0, 0, 0, 0, 1), 3),
]


@pytest.mark.parametrize(("q", "neighbors", "records", "size"), WALKS)
@pytest.mark.parametrize("reach", [1, 2, 6])
def test_the_walks_draw_the_law(
    q: tuple[float, ...],
    neighbors: str,
    records: tuple[int, ...],
    size: int,
    reach: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = 5
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", -2.0)
    mechanism = dpq.JointExp(
        q=q,
        budget=privacy.budget(epsilon=1.5, neighbors=neighbors),
        reach=reach,
        size=None if neighbors == "swap" else size,
    )
    groups = grouped([records], points)
    sizes = groups.n if neighbors == "swap" else np.array([size])
    law = sized(mechanism, size).law(groups.view(0))
    drawn = explored(batch_of(mechanism, groups, sizes), monkeypatch.setattr)
    for answer in all_answers(points, len(q)):
        expected = math.exp(law.log_probability(answer))
        assert math.isclose(drawn.get(answer, 0.0), expected, rel_tol=1e-7), answer


@pytest.mark.parametrize("size", [0, 2, 6])
@pytest.mark.parametrize("reach", [1, 2, 9])
def test_a_size_far_from_the_truth_stays_private(
    size: int, reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is really drawn for every group of at most four records, and for all its neighbors."""
    epsilon, points, most = 1.5, 3, 4
    monkeypatch.setattr(joint_exp, "LOG_WRONG_SIZE", -epsilon)
    mechanism = dpq.JointExp(
        q=(0.3, 0.8),
        budget=privacy.budget(epsilon=epsilon, neighbors="add-remove"),
        reach=reach,
        size=size,
    )
    drawn = {}
    for records in (x for n in range(most + 1) for x in all_answers(points, n)):
        groups = grouped([records], points)
        batch = batch_of(mechanism, groups, np.array([size]))
        with monkeypatch.context() as patch:
            drawn[records] = explored(batch, patch.setattr)
    for records, law in drawn.items():
        for more in range(points if len(records) < most else 0):
            other = drawn[tuple(sorted((*records, more)))]
            losses = [abs(math.log(law[o] / other[o])) for o in all_answers(points, 2)]
            assert max(losses) <= epsilon


DATA: list[list[int]] = [[0, 0, 3, 3, 5], [1, 2, 2, 2], [], [4], [0, 1, 2, 3, 4, 5, 5]]


def test_draws_of_every_group_fit_its_law_and_no_other() -> None:
    """Many copies of small groups side by side: what one column draws cannot leak into another."""
    points, copies = 6, 4000
    mechanism = dpq.JointExp(q=(0.25, 0.5, 0.9), budget=PureDP(epsilon=2.0), reach=6)
    groups = grouped([records for records in DATA for _ in range(copies)], points)
    answers = draw_groups(mechanism, groups, groups.n, random.Random(8))
    for place, records in enumerate(DATA):
        drawn = Counter(map(tuple, answers[place * copies : (place + 1) * copies].tolist()))
        view = groups.view(place * copies)
        assert view.n == len(records)
        assert fit(drawn, mechanism.law(view), points) > 1e-3
        if len(records) > 3:
            for wrong in (0.6, 1.6):
                other = replace(mechanism, budget=PureDP(epsilon=mechanism.epsilon * wrong)).law(
                    view
                )
                assert fit(drawn, other, points) < 1e-6


def test_copies_in_a_gap_stay_in_the_windows_of_all_their_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also beside columns that are still in theirs."""
    mechanism = dpq.JointExp(q=(0.25, 0.5, 0.9), budget=PureDP(epsilon=2.0), reach=1)
    groups = grouped([[0] * 7, [0, 1, 4, 5], [2]] * 300, 9)
    seen, weighted, count = [], many_draws.weighted, many_backward.Walks._copies

    def copies(self: Any, k: int, who: Any, rank: Any, points: Any) -> Any:
        def checked(bits: Any, terms: Any) -> Any:
            targets = self.columns.targets[:k, self.column[who]][::-1]
            outside = rank > targets + 1
            assert not terms[outside].any()
            seen.append((outside & (points > 0)).any(axis=1).any() and not outside.all())
            return weighted(bits, terms)

        monkeypatch.setattr(many_draws, "weighted", checked)
        drawn = count(self, k, who, rank, points)
        monkeypatch.setattr(many_draws, "weighted", weighted)
        return drawn

    monkeypatch.setattr(many_backward.Walks, "_copies", copies)
    batch_of(mechanism, groups, groups.n).draw(random.Random(1))
    assert any(seen)


def test_draws_fit_the_law_where_sizes_are_stated() -> None:
    points, copies = 6, 4000
    mechanism = dpq.JointExp(
        q=(0.9, 0.3), budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), reach=5, size=0
    )
    groups = grouped([records for records in DATA for _ in range(copies)], points)
    stated = np.repeat([6, 3, 2, 80, 7], copies)
    answers = draw_groups(mechanism, groups, stated, random.Random(8))
    for place in range(len(DATA)):
        drawn = Counter(map(tuple, answers[place * copies : (place + 1) * copies].tolist()))
        one = replace(mechanism, size=int(stated[place * copies]))
        turned = Counter({answer[::-1]: count for answer, count in drawn.items()})
        law = replace(one, q=(0.3, 0.9)).law(groups.view(place * copies))
        assert fit(turned, law, points) > 1e-3


def test_groups_that_do_not_pass_together_are_drawn_one_by_one() -> None:
    rng = np.random.default_rng(5)
    grid = dpq.UniformGrid(0, 10**6, 1)
    codes = np.repeat([0, 1, 2], [20_000, 3, 0])
    groups = Groups.of(grid, codes, rng.integers(0, 10**6, len(codes)), 3)
    mechanism = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=1.0))
    setting = joint_exp_groups._shared(mechanism, grid)
    assert joint_exp_groups._pass_together(setting, groups.n).tolist() == [False, True, True]
    large, _, _ = draw_groups(mechanism, groups, groups.n, random.Random(1))
    assert abs(int(large[0]) - 500_000) < 20_000
    many = dpq.JointExp(q=tuple(k / 100 for k in range(1, 100)), budget=PureDP(epsilon=1.0))
    logarithms = joint_exp_groups._shared(many, grid)
    assert isinstance(logarithms.algebra, Logarithms)
    assert not joint_exp_groups._pass_together(logarithms, groups.n).any()
    assert draw_groups(many, groups, groups.n, random.Random(1)).shape == (3, 99)


def test_seeds_repeat_and_chunks_do_not_change_the_answers_of_masses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(6)
    data = [rng.integers(0, 50, n).tolist() for n in rng.integers(0, 60, 40)]
    groups = grouped(data, 50)
    mechanism = dpq.JointExp(q=(0.2, 0.5), budget=PureDP(epsilon=1.0))
    once = draw_groups(mechanism, groups, groups.n, random.Random(2))
    assert np.array_equal(draw_groups(mechanism, groups, groups.n, random.Random(2)), once)
    monkeypatch.setattr(joint_exp_groups, "CELLS", 200)
    chunks = list(joint_exp_groups._chunks(np.arange(40), groups.n))
    assert len(chunks) > 10
    assert sorted(np.concatenate(chunks).tolist()) == list(range(40))
    again = draw_groups(mechanism, groups, groups.n, random.Random(2))
    assert again.shape == (40, 2)


def test_answers_become_values_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the quantiles, without their anchors, however many are decoded at once."""
    monkeypatch.setattr(joint_exp_groups, "DECODED", 3)
    records = np.arange(8000).reshape(8, 1000)
    grids = family_of(INTEGER, (0, 9999), None)
    groups = Groups.of(grids, np.repeat(np.arange(8), 1000), grids.encode(records.ravel()), 8)
    mechanism = dpq.JointExp(q=(0.97, 0.95), budget=PureDP(epsilon=1.0))
    assert len(mechanism.anchored(joint_exp_groups.USUAL, grids).q) > 2
    made = joint_exp_groups.draw_side_by_side(mechanism, groups, None, random.Random(3))
    expected = records[:, [970, 950]]
    assert np.array(made.answers).shape == expected.shape
    assert (np.median(abs(np.array(made.answers) - expected), axis=0) < 60).all()


def test_one_setting_serves_all_sizes() -> None:
    mechanism = dpq.JointExp(q=(0.1, 0.5), budget=PureDP(epsilon=0.7))
    setting = joint_exp_groups._shared(mechanism, grouped([[0]], 1000).grid)
    for n in (0, 1, 10, 10**6):
        alone = mechanism.setting(n, 1000)
        assert setting.reach == alone.reach
        assert setting.rate <= alone.rate
        assert math.isclose(setting.rate, alone.rate, rel_tol=1e-6)


# Mutants: broken copies are caught by the checks above.


def without_tie(*arguments: Any) -> Any:
    weights = _sources(*arguments)
    _, before, _, rank, _, standing = arguments
    same = rank - before.first
    held = (same < len(weights)) & (standing != many_backward.LOWER)
    weights[same[held], np.flatnonzero(held)] = 0.0
    return weights


_sources = many_backward.Walks._sources
_window = many_forward._window
_lag = many_forward._lag


def test_mutants_of_the_walks_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_backward.Walks, "_sources", without_tie)
    with pytest.raises((AssertionError, IndexError)):
        test_the_walks_draw_the_law((0.5, 0.5), "swap", (0, 2, 2), 4, 6, monkeypatch)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("_window", lambda mass, advance, fall: _window(mass, advance + 1, fall)),
        ("_window", lambda mass, advance, fall: _window(mass, advance, fall) * fall[1]),
        ("_lag", lambda mass, advance, first: _lag(mass, np.maximum(advance - 1, 0), first)),
        ("_cut", lambda *_: None),
    ],
)
def test_mutants_of_the_masses_are_caught(
    name: str, mutant: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_forward, name, mutant)
    with pytest.raises(AssertionError):
        test_masses_are_those_of_one_group(-2.0, monkeypatch)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (Batch.of, "n + setting.reach + 1", "n"),
        (Batch._ends, "self.end.cost(errors, count)", "self.end.cost(errors, self.columns.steps)"),
        (Batch.draw, "log_window)), self.points)", "log_window)), 0)"),
        (Batch.draw, "self.points + self.setting.beyond", "self.points"),
    ],
)
def test_mutants_of_the_ends_are_caught(
    function: Any, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Targets end with the records; or answers beyond are weighed, released or drawn wrongly."""
    mutate(monkeypatch, function, old, new)
    with pytest.raises(AssertionError):
        test_the_walks_draw_the_law((0.3, 0.9), "add-remove", (0, 3, 3, 4), 7, 2, monkeypatch)


class Scanned:
    """Groups that are never fetched together: each is a view, and a portion, of its own."""

    missing = None

    def __init__(self, groups: Groups) -> None:
        self.grid, self.n, self._groups = groups.grid, groups.n, groups

    def __len__(self) -> int:
        return len(self._groups)

    def views(self, which: Ints) -> Iterator[Any]:
        return self._groups.views(which)

    def portions(self) -> Iterator[tuple[Ints, Groups]]:
        nothing, no_end = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for place in range(len(self._groups)):
            apart = {0: self._groups.view(place)}
            yield np.array([place]), Groups(self.grid, nothing, no_end, apart=apart)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
@pytest.mark.parametrize("stated", [True, False])
def test_the_law_does_not_depend_on_how_groups_are_read(neighbors: str, stated: bool) -> None:
    """Sizes and the member are drawn for all groups, and anchors follow a public number."""
    rng = np.random.default_rng(8)
    grids = family_of(INTEGER, None, None)
    records = grids.encode(rng.integers(0, 900, 6000))
    groups = Groups.of(grids, np.repeat(np.arange(40), 150), records, 40)
    sizes = np.full(40, 140) if stated and neighbors == "add-remove" else None
    budget = PureDP(epsilon=1.0, neighbors=privacy.Neighbors(neighbors))
    mechanism = dpq.JointExp(q=(0.98,), budget=budget)
    members, weights = [], []
    laws: list[list[Any]] = []

    def draw_law(_law: Any, _bits: Any) -> tuple[int, ...]:
        laws[-1].append((_law.setting, _law.geometry.targets.tolist(), _law.grid))
        return (0,) * len(_law.order)

    def draw_weighted(_bits: Any, logs: Any, _algebra: Any, _exact: Any) -> int:
        weights.append(logs)
        return 7

    for read in (groups, Scanned(groups)):
        laws.append([])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(draws, "weighted", draw_weighted)
            patch.setattr(joint_exp_groups, "_pass_together", lambda _, n: np.zeros(len(n), bool))
            patch.setattr(JointExpLaw, "draw_steps", draw_law)
            made = joint_exp_groups.draw_side_by_side(mechanism, read, sizes, random.Random(1))
        members.append((made.member, made.sizes))
    assert members[0] == members[1]
    assert members[0][0] == 7
    assert np.array_equal(*weights)
    assert len(laws[0]) == 40
    assert laws[0] == laws[1]


class Portions:
    """Groups in portions of two; `reading` is called before each portion is read."""

    missing = None

    def __init__(self, groups: Groups, apart: bool, reading: Callable[[int], None]) -> None:
        self.grid, self.n, self._groups = groups.grid, groups.n, groups
        self._apart, self._reading = apart, reading

    def __len__(self) -> int:
        return len(self._groups)

    def portions(self) -> Iterator[tuple[Ints, Groups]]:
        for start in range(0, len(self), 2):
            self._reading(start)
            views: list[Any] = [self._groups.view(place) for place in (start, start + 1)]
            steps = np.concatenate([view.steps for view in views[self._apart :]])
            ends = np.cumsum([0 if self._apart else views[0].n, views[1].n])
            apart = {0: views[0]} if self._apart else {}
            yield np.array([start, start + 1]), Groups(self.grid, steps, ends, apart=apart)


@pytest.mark.parametrize("apart", [False, True])
def test_a_portion_is_drawn_while_the_next_one_is_read(
    apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a large group reads while it is drawn. The answers are the same either way."""
    mechanism = dpq.JointExp(q=(0.3, 0.8), budget=PureDP(epsilon=1.0))
    groups, reads = grouped([[1, 2, 3]] * 6, 9), [threading.Event() for _ in range(3)]
    drawn: list[bool] = []
    before = []

    def read(start: int) -> None:
        reads[start // 2].set()
        before.append(len(drawn))

    def draw(*asked: Any) -> Any:
        following = reads[len(drawn) + 1 :][:1]
        together = [read.wait(0.2 if apart else 10) for read in following]
        answers = draw_groups(*asked)
        drawn.append(all(together))
        return answers

    monkeypatch.setattr(joint_exp_groups, "draw_groups", draw)
    portions: Any = Portions(groups, apart, read)
    made = joint_exp_groups.draw_side_by_side(mechanism, portions, None, random.Random(1))
    assert drawn == [not apart, not apart, True]  # nothing is left to read beside the last one
    assert before == ([0, 1, 2] if apart else [0, 0, 1])
    bits, sizes = random.Random(1), groups.n[:2]
    quiet: Any = Portions(groups, apart, lambda _: None)
    expected = [draw_groups(mechanism, some, sizes, bits) for _, some in quiet.portions()]
    assert made.answers == [tuple(answer) for answer in np.concatenate(expected).tolist()]


def test_an_error_of_a_draw_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("broken")

    monkeypatch.setattr(joint_exp_groups, "draw_groups", broken)
    groups: Any = Portions(grouped([[1]] * 6, 9), False, lambda _: None)
    mechanism = dpq.JointExp(q=(0.5,), budget=PureDP(epsilon=1.0))
    with pytest.raises(KeyError, match="broken"):
        joint_exp_groups.draw_side_by_side(mechanism, groups, None, random.Random(1))


@pytest.mark.parametrize(("count", "found"), [(0, 0), (1, 1), (5, 5), (32, 32), (5000, 32)])
def test_the_groups_that_choose_a_member_are_spread_over_all_keys(count: int, found: int) -> None:
    which = joint_exp_groups.evidence(count)
    assert len(which) == found
    if count > 1:
        assert which[[0, -1]].tolist() == [0, count - 1]
        assert np.diff(which).max() <= -(-count // 31)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_the_member_is_drawn_by_the_brackets_of_the_groups(
    neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """w(s) times the product of (Z_g / V + B), each with the public size of its own group."""
    monkeypatch.setattr(joint_exp_groups, "EVIDENCE", 3)
    grids = family_of(INTEGER, (0, 63), None)
    data = [[5, 9], [60] * 7, [1, 2, 3, 4], [], [30, 31, 62]]
    codes = np.repeat(np.arange(5), [len(records) for records in data])
    groups = Groups.of(grids, codes, np.array([x for records in data for x in records]), 5)
    mechanism = dpq.JointExp(
        q=(0.3, 0.8), budget=PureDP(epsilon=2.0, neighbors=privacy.Neighbors(neighbors)), reach=9
    )
    sizes = groups.n if neighbors == "swap" else np.array([3, 1, 8, 2, 4])
    drawn = []

    def first(_bits: Any, logs: Any, _algebra: Any, _exact: Any) -> int:
        drawn.append(logs)
        return 0

    monkeypatch.setattr(draws, "weighted", first)
    joint_exp_groups.draw_member(sized(mechanism, 9), groups, sizes, random.Random(1))
    wanted = grids.log_weights(2).copy()
    for group in (0, 2, 4):
        law = sized(mechanism, int(sizes[group])).law(groups.view(group))
        for index in range(len(grids.members)):
            alone = law.member_law(index)
            share = alone.log_window - alone.setting.log_volume
            wanted[index] += np.logaddexp(share, alone.setting.log_floor)
    assert drawn[0] == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("family", [False, True])
@pytest.mark.parametrize(("stated", "share"), [(True, 1.0), (False, 0.8)])
def test_the_sizes_of_groups_are_paid_from_their_epsilon(
    family: bool, stated: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member and the answers are drawn with what the sizes leave."""
    grid = family_of(INTEGER, (0, 63), None) if family else dpq.UniformGrid(0, 63, 1)
    groups = Groups.of(grid, np.arange(6) % 2, np.arange(6), 2)
    budget = PureDP(epsilon=1.0, neighbors=privacy.Neighbors.ADD_REMOVE)
    mechanism = dpq.JointExp(q=(0.5,), budget=budget)
    seen: list[tuple[str, float]] = []
    for name in ("draw_member", "draw_groups"):
        original = getattr(joint_exp_groups, name)

        def spy(drawing: dpq.JointExp, *rest: Any, name: str = name, call: Any = original) -> Any:
            seen.append((name, drawing.epsilon))
            return call(drawing, *rest)

        monkeypatch.setattr(joint_exp_groups, name, spy)
    sizes = np.array([3, 3]) if stated else None
    joint_exp_groups.draw_side_by_side(mechanism, groups, sizes, random.Random(1))
    assert [name for name, _ in seen] == ["draw_member"] * family + ["draw_groups"]
    assert all(share * (1 - 1e-12) <= epsilon <= share for _, epsilon in seen)
