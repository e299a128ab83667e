"""Between: what is drawn, what lies between, and that it costs nothing."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.entropy import Bits
from dpquantiles.grid import GridFamily
from dpquantiles.mechanisms.between import Between, between, spread
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.privacy import ZCDP, Neighbors, PureDP
from dpquantiles.results import Release
from dpquantiles.sources.source import open_data
from dpquantiles.views import SortedView
from tests.mechanisms.joint_exp_checks import neighbor_pairs
from tests.mechanisms.test_joint_exp_family import MIXED, law_of, pairs
from tests.views.recording import RecordingView

Patch = pytest.MonkeyPatch
Values = tuple[Any, ...]

DECILES = tuple(k / 10 for k in range(1, 10))
EPSILON = 2.0
CASES = [("swap", None), ("add-remove", 2)]


def mechanism(neighbors: str = "swap", size: int | None = None) -> Between:
    budget = PureDP(epsilon=EPSILON, neighbors=Neighbors(neighbors))
    return Between(q=(0.9, 0.25, 0.4, 0.5, 0.4), budget=budget, size=size, number=2)


def view_of(records: Values, grid: GridFamily = MIXED) -> dpq.ArrayView:
    return dpq.ArrayView(np.array(records, dtype=np.int64), grid)


def law(mechanism: Between, records: Values) -> dict[Values, float]:
    """The probability of all answers, by brute force over all draws of the JointExp."""
    drawing = mechanism.joint.anchored(len(records), MIXED)
    places = [sorted(drawing.q).index(q) for q in mechanism.joint.q]
    found: dict[Values, float] = defaultdict(float)
    for (index, answer), log in pairs(law_of(drawing, MIXED, records)).items():
        drawn = tuple(answer[place] for place in places)
        found[mechanism.values(MIXED.members[index], drawn)] += math.exp(log)
    return found


def check_private(neighbors: str = "swap", size: int | None = None) -> None:
    one_law = cache(lambda records: law(mechanism(neighbors, size), records))
    values, worst = (-6, -2, 0, 1, 3), 0.0
    for pair in neighbor_pairs(neighbors, [0, 1, 2], len(values)):
        one, other = (one_law(tuple(values[place] for place in places)) for places in pair)
        assert one.keys() == other.keys()
        assert sum(one.values()) == pytest.approx(1.0)
        worst = max(worst, *(abs(np.log(one[found] / other[found])) for found in one))
    assert EPSILON / 2 < worst <= EPSILON


@pytest.mark.parametrize(("neighbors", "size"), CASES)
def test_all_neighbors_are_within_epsilon(neighbors: str, size: int | None) -> None:
    check_private(neighbors, size)


def check_draws() -> None:
    """Six deviations for every answer, and no others."""
    records = (0, 0, 2, 3)
    view, bits, count = view_of(records), random.Random(5), 700
    drawn = Counter(mechanism().release(view, bits).values for _ in range(count))
    wanted = law(mechanism(), records)
    assert drawn.keys() <= wanted.keys()
    for answer, chance in wanted.items():
        assert abs(drawn[answer] - count * chance) < 6 * np.sqrt(count * chance) + 1


def test_draws_follow_the_law() -> None:
    check_draws()


def twice_the_budget(patch: Patch) -> None:
    joint = JointExp(q=(0.25, 0.9), budget=PureDP(epsilon=2 * EPSILON))
    patch.setattr(Between, "joint", joint)


def records_between(patch: Patch) -> None:
    original = Between.release

    def release(self: Between, view: SortedView, bits: Bits) -> Release:
        made = original(self, view, bits)
        middle = view.grid.decode(view.order_statistics(np.array([view.n // 2])))
        return replace(made, values=(*made.values[:3], *middle, *made.values[4:]))

    patch.setattr(Between, "release", release)


@pytest.mark.parametrize(
    ("mutate", "check"), [(twice_the_budget, check_private), (records_between, check_draws)]
)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def test_drawn_answers_are_those_of_joint_exp() -> None:
    data = np.random.default_rng(1).normal(50, 10, 300)
    view = dpq.ArrayView(data, grid_of(data))
    for budget in (PureDP(epsilon=1.0), ZCDP(rho=0.5)):
        many = Between(q=tuple(k / 30 for k in range(1, 30)), budget=budget, number=9)
        made, drawn = (one.release(view, random.Random(3)) for one in (many, many.joint))
        assert many.joint.budget == many.guarantee == budget
        assert made.provenance == {**drawn.provenance, "drawn": list(many.joint.q)}
        assert len(drawn) == 9
        assert [made[q] for q in many.joint.q] == list(drawn.values)
        assert (made.guarantee, made.note) == (drawn.guarantee, drawn.note)


def test_no_record_is_read_for_what_lies_between() -> None:
    data = np.random.default_rng(1).normal(50, 10, 20_000)
    one, other = (RecordingView(dpq.ArrayView(data, grid_of(data))) for _ in range(2))
    many = Between(q=DECILES, budget=PureDP(epsilon=1.0), number=3)
    many.release(one, random.Random(3))
    many.joint.release(other, random.Random(3))
    assert one.asked_index == other.asked_index
    assert one.asked_steps == other.asked_steps
    index = many.demand(20_000, one.grid).index
    assert one.asked_index <= set(index.tolist())
    assert len(index) < 20_000


@pytest.mark.parametrize(
    ("q", "number", "drawn"),
    [
        (DECILES, 3, (0.1, 0.5, 0.9)),
        (DECILES, 5, (0.1, 0.3, 0.5, 0.7, 0.9)),
        (DECILES, 9, DECILES),
        (DECILES, 30, DECILES),
        ((0.5,), 3, (0.5,)),
        ((0.2, 0.7), 3, (0.2, 0.7)),
        ((0.1, 0.11, 0.12, 0.13, 0.9), 3, (0.1, 0.13, 0.9)),
    ],
)
def test_evenly_spread_quantiles_are_drawn(q: Values, number: int, drawn: Values) -> None:
    assert tuple(spread(np.array(q), number).tolist()) == drawn


def test_answers_between_are_on_the_line_or_on_a_tie() -> None:
    drawn, steps = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0, 100, 104, 104, 120])
    q = np.array([0.0, 0.05, 0.25, 0.3, 0.375, 0.4, 0.6, 0.8, 0.9, 1.0])
    found = between(drawn, steps, q).tolist()
    assert found == [0, 20, 100, 100, 100, 104, 104, 104, 120, 120]
    assert between(np.array([0.5]), np.array([7]), np.array([0.5])).tolist() == [7]
    assert between(drawn[:2], np.array([5, 6]), q[:3]).tolist() == [5, 5, 6]
    assert between(drawn[:2], np.array([0, 9]), np.array([0.0, 0.05, 0.1])).tolist() == [0, 2, 4]


def test_the_largest_steps_do_not_overflow() -> None:
    largest = 2**61
    q = np.array([0.1, 0.5, np.nextafter(0.9, 0), 0.9])
    found = between(q[[0, 3]], np.array([0, largest - 1]), q).tolist()
    assert found == sorted(found)
    assert (found[1], found[3]) == (largest // 2, largest - 1)


@pytest.mark.parametrize("gap", [2**53 + 1, 2**60 + 1, 2**60 - 1])
def test_drawn_steps_stay_as_they_are(gap: int) -> None:
    """A product of a share and a large gap would be rounded up or down."""
    steps = np.array([-gap, 0, 0, gap])
    drawn = np.array([0.1, 0.4, 0.6, 0.9])
    assert between(drawn, steps, drawn).tolist() == steps.tolist()
    assert between(drawn[[0, 3]], steps[[1, 3]], drawn[[0, 3]]).tolist() == [0, gap]


def test_neighboring_doubles_as_quantiles() -> None:
    """Then the last quantile that is drawn may be the last but one; no answer leaves the drawn."""
    for q in (0.3, 0.6, 0.9):
        ends = np.unique([0.1, q, np.nextafter(q, 1), np.nextafter(np.nextafter(q, 1), 1)])
        drawn = spread(ends, 3)
        steps = np.arange(len(drawn)) * 1000
        found = between(drawn, steps, ends).tolist()
        assert drawn[0] == ends[0]
        assert found == sorted(found)
        assert (found[0], found[-1]) == (0, steps[-1])


def grid_of(data: Any) -> Any:
    """The grid of data of which nothing is stated."""
    return dpq.grid.default_grid(open_data(data).source(None).kind, None, None)


START = date(2020, 1, 1)
NUMBERS = np.random.default_rng(2).integers(0, 400, 200).tolist()
COLUMNS: list[Any] = [
    np.array(NUMBERS),
    np.array(NUMBERS) / 4,
    [Decimal(number) / 100 for number in NUMBERS],
    [START + timedelta(number) for number in NUMBERS],
    [timedelta(minutes=number) for number in NUMBERS],
    [],
    [10.0**300, -(10.0**300)] * 50,
    [2**62, -(2**62)] * 50,
]


@pytest.mark.parametrize("data", COLUMNS, ids=range(len(COLUMNS)))
def test_answers_of_every_type_ascend_on_the_drawn_member(data: Any) -> None:
    data = data if len(data) else np.array([], dtype=float)
    grid = grid_of(data)
    view, q = dpq.ArrayView(data, grid), (0.9, 0.0, 1.0, 0.9, *(k / 50 for k in range(50)))
    for seed in range(5):
        made = Between(q=q, budget=PureDP(epsilon=1.0), number=5).release(view, random.Random(seed))
        ascending = [value for _, value in sorted(zip(q, made.values, strict=True))]
        assert ascending == sorted(ascending)
        assert len(made.values) == len(q)
        provenance: Any = made.provenance
        member = grid.members[provenance["grid"]["member"]["index"]]
        numbers = np.array([grid.kind.number(value, "values") for value in made.values])
        assert member.decode(member.encode(numbers)) == list(made.values)
