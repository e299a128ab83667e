"""IndExp and AppIndExp, in order of strength: law, privacy, demand, draws, parameters."""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.mechanisms.baselines import ind_exp
from dpquantiles.mechanisms.baselines.ind_exp import AppIndExp, IndExp
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.views import PartView
from tests.mechanisms import joint_exp_checks as checks
from tests.mechanisms import shares_checks
from tests.mechanisms.building import built
from tests.mechanisms.mutation import check_caught

Patch = pytest.MonkeyPatch
Answer = tuple[int, ...]


def single_chances(
    records: Sequence[int], points: int, q: float, epsilon: float, nu: int, swap: bool
) -> list[float]:
    """One quantile: a set distance, an exponential, a sum."""
    target, weights = round(q * nu), []
    for o in range(points if swap else points + 1):
        cuts = range(sum(x < o for x in records), sum(x <= o for x in records) + 1)
        if swap:
            weights.append(math.exp(-epsilon / 2 * min(abs(r - target) for r in cuts)))
        else:
            beyond = range(len(records), len(records) + nu + 1)
            cuts = cuts if o < points else beyond
            blocks = (abs(r - target) + abs(len(records) - r - (nu - target)) for r in cuts)
            weights.append(math.exp(-epsilon / 2 * min(blocks)))
    # What lies beyond all records is released as the last point.
    weights[points - 1 :] = [sum(weights[points - 1 :])]
    return [weight / sum(weights) for weight in weights]


def oracle(
    mechanism: IndExp | AppIndExp, records: Sequence[int], points: int
) -> dict[Answer, float]:
    """All independent draws, put in order, by adding up over every vector of draws."""
    nu = len(records) if mechanism.size is None else mechanism.size
    swap = mechanism.neighbors is Neighbors.SWAP
    singles = [
        single_chances(records, points, q, mechanism.each, nu, swap) for q in sorted(mechanism.q)
    ]
    law = dict.fromkeys(checks.all_answers(points, len(singles)), 0.0)
    for drawn in itertools.product(range(points), repeat=len(singles)):
        law[tuple(sorted(drawn))] += math.prod(s[o] for s, o in zip(singles, drawn, strict=True))
    return law


def cases() -> Iterator[tuple[Any, list[int], int]]:
    for q in [(0.5,), (0.2, 0.7), (0.5, 0.5), (0.0, 0.4, 1.0)]:
        for records in ([], [2], [1, 1, 1, 4], [0, 1, 2, 3, 5, 5]):
            yield IndExp(q=q, budget=PureDP(epsilon=2.0)), records, 6
            yield AppIndExp(q=q, budget=ApproxDP(epsilon=2.0, delta=1e-3)), records, 6
            yield (
                IndExp(q=q, budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), size=3),
                records,
                6,
            )


@pytest.mark.parametrize(("mechanism", "records", "points"), list(cases()))
def test_the_law_is_the_equation(mechanism: Any, records: list[int], points: int) -> None:
    said = shares_checks.law_of(mechanism, records, points)
    for answer, chance in oracle(mechanism, records, points).items():
        assert math.exp(said[answer]) == pytest.approx(chance, rel=1e-6)


PURE = [
    (IndExp(q=(0.5,), budget=PureDP(epsilon=1.5)), [4], 6),
    (IndExp(q=(0.25, 0.75), budget=PureDP(epsilon=2.0)), [3, 4], 4),
    (IndExp(q=(0.5, 0.5), budget=PureDP(epsilon=0.5)), [4], 5),
    (IndExp(q=(0.2, 0.5, 0.9), budget=PureDP(epsilon=3.0)), [4], 4),
    (
        IndExp(q=(0.5, 0.5), budget=privacy.budget(epsilon=2.0, neighbors="add-remove"), size=4),
        [3],
        5,
    ),
]


@pytest.mark.parametrize(("mechanism", "sizes", "points"), PURE)
def test_all_neighbors_and_answers_are_within_epsilon(
    mechanism: IndExp, sizes: list[int], points: int
) -> None:
    shares_checks.check_pure(mechanism, sizes, points)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_all_neighbors_are_within_epsilon_and_delta(neighbors: str) -> None:
    size = 4 if neighbors == "add-remove" else None
    budget = ApproxDP(epsilon=1.0, delta=0.02, neighbors=Neighbors(neighbors))
    mechanism = AppIndExp(q=(0.5, 0.5), budget=budget, size=size)
    assert mechanism.guarantee == budget
    sizes = [3] if neighbors == "add-remove" else [4]
    delta = shares_checks.worst_delta(shares_checks.pairs(mechanism, sizes, 5), 1.0)
    assert 0.001 < delta <= 0.02


@pytest.mark.parametrize(("m", "each"), [(5, 0.2328), (10, 0.1550), (30, 0.0872), (100, 0.0475)])
def test_each_answer_spends_what_composition_allows(m: int, each: float) -> None:
    q = tuple(np.linspace(0, 1, m).tolist())
    mechanism = AppIndExp(q=q, budget=ApproxDP(epsilon=1.0, delta=1e-6))
    assert mechanism.each == pytest.approx(each, abs=6e-5)
    assert mechanism.each > IndExp(q=q, budget=PureDP(epsilon=1.0)).each


def spend_all_on_each(patch: Patch) -> None:
    patch.setattr(IndExp, "each", property(lambda self: self.budget.amount))


def halve_the_sensitivity(patch: Patch) -> None:
    patch.setattr(dpq.JointExp, "sensitivity", property(lambda _: 1))


def forget_the_factorials(patch: Patch) -> None:
    patch.setattr(ind_exp, "Counter", lambda _: {})


def forget_to_sort(patch: Patch) -> None:
    patch.setattr(ind_exp, "sorted", lambda items, **_: list(items), raising=False)


def use_the_true_size(patch: Patch) -> None:
    """Under add-remove, targets at fractions of the true n, as if that were public."""
    original = dpq.JointExp.law_on_grid
    patch.setattr(
        dpq.JointExp, "law_on_grid", lambda self, view: original(replace(self, size=view.n), view)
    )


@cache
def is_private(index: int) -> Callable[[], None]:
    def check() -> None:
        shares_checks.check_within(*PURE[index])

    return check


def approximate_privacy() -> None:
    mechanism = AppIndExp(q=(0.5, 0.5), budget=ApproxDP(epsilon=1.0, delta=0.005))
    assert shares_checks.worst_delta(shares_checks.pairs(mechanism, [4], 5), 1.0) <= 0.005


def equation() -> None:
    test_the_law_is_the_equation(IndExp(q=(0.2, 0.7), budget=PureDP(epsilon=2.0)), [1, 1, 1, 4], 6)


def fitting() -> None:
    law: Any = IndExp(q=(0.4, 0.6), budget=PureDP(epsilon=1.0)).law(checks.view_of([1, 1, 1, 4], 6))
    assert checks.fit(checks.draw_many(law, 3000, seed=11), law, 6) > 1e-3


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (spend_all_on_each, is_private(1)),
        (spend_all_on_each, approximate_privacy),
        (halve_the_sensitivity, is_private(0)),
        (use_the_true_size, is_private(4)),
        (forget_the_factorials, equation),
        (forget_to_sort, fitting),
    ],
)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    check_caught(mutate, check, monkeypatch)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_a_window_is_enough(neighbors: str) -> None:
    size = 990 if neighbors == "add-remove" else None
    mechanism = IndExp(
        q=(0.9, 0.1), budget=privacy.budget(epsilon=20.0, neighbors=neighbors), size=size
    )
    records = sorted(random.Random(1).choices(range(12), k=1000))
    view = checks.view_of(records, 12)
    assert 0 < len(mechanism.demand(view.n, view.grid).index) < 900
    checks.check_window(mechanism, records, 12)  # type: ignore[arg-type]


def test_the_demand_before_a_count_is_everything() -> None:
    view = checks.view_of([1, 2, 3], 5)
    mechanism = IndExp(q=(0.5,), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    assert mechanism.demand(view.n, view.grid).index.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="size must be given for the law"):
        mechanism.law(view)


def test_draws_fit_the_law_and_no_other() -> None:
    records, points = [1, 1, 2, 4, 4, 4, 5, 6], 8
    mechanism = IndExp(q=(0.4, 0.6), budget=PureDP(epsilon=4.0))
    law: Any = mechanism.law(checks.view_of(records, points))
    drawn = checks.draw_many(law, 8000, seed=11)
    assert checks.fit(drawn, law, points) > 1e-3
    for wrong in (0.8, 1.2):
        other: Any = replace(mechanism, budget=PureDP(epsilon=wrong * 4.0)).law(
            checks.view_of(records, points)
        )
        assert checks.fit(drawn, other, points) < 1e-6


def test_the_sampler_has_the_law(monkeypatch: Patch) -> None:
    mechanism: Any = IndExp(q=(0.4, 0.6), budget=PureDP(epsilon=2.0))
    checks.check_walk(mechanism, [1, 1, 3], 4, monkeypatch.setattr)


def test_one_quantile_is_joint_exp() -> None:
    view = checks.view_of([0, 2, 2, 5, 7], 9)
    one, joint = (
        IndExp(q=(0.3,), budget=PureDP(epsilon=1.0)),
        dpq.JointExp(q=(0.3,), budget=PureDP(epsilon=1.0)),
    )
    for o in range(9):
        said = one.law(view).log_probability([o])
        assert said == pytest.approx(joint.law(view).log_probability([o]), abs=1e-12)


@pytest.mark.parametrize("records", [[], [0], [1] * 50, [0, 1]])
@pytest.mark.parametrize("points", [1, 2, 5])
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_any_data_give_answers(records: list[int], points: int, neighbors: str) -> None:
    whole = checks.view_of([min(x, points - 1) for x in records], 5)
    view = PartView(whole, 0, whole.n, 0, points - 1)
    q = (0.9, 0.1, 0.5, 0.5, 0.0, 1.0)
    for mechanism in (
        IndExp(q=q, budget=privacy.budget(epsilon=1.0, neighbors=neighbors)),
        AppIndExp(q=q, budget=privacy.budget(epsilon=1.0, delta=1e-6, neighbors=neighbors)),
    ):
        values = mechanism.release(view, random.Random(3)).values
        assert values == mechanism.release(view, random.Random(3)).values
        in_order = [values[place] for place in np.argsort(q, kind="stable")]
        assert in_order == sorted(in_order)
        assert all(0 <= value < points for value in values)


def test_the_private_count_is_paid_from_the_budget() -> None:
    pure = IndExp(q=(0.5, 0.6), budget=privacy.budget(epsilon=1.0, neighbors="add-remove"))
    sized = pure.sized(checks.view_of([1] * 1000, 5), random.Random(5))
    assert sized.size is not None
    assert abs(sized.size - 1000) < 200
    assert sized.budget.amount + COUNT_SHARE <= 1.0
    approximate = AppIndExp(
        q=(0.5,), budget=privacy.budget(epsilon=1.0, delta=1e-6, neighbors="add-remove")
    )
    assert (
        approximate.sized(checks.view_of([1] * 9, 5), random.Random(5)).budget.amount + COUNT_SHARE
        <= 1.0
    )
    concentrated = IndExp(q=(0.5, 0.6), budget=ZCDP(rho=1.0, neighbors=Neighbors.ADD_REMOVE))
    left = concentrated.sized(checks.view_of([1] * 9, 5), random.Random(5)).guarantee
    assert isinstance(left, ZCDP)
    assert left.rho + COUNT_SHARE <= 1.0
    release = pure.release(checks.view_of([1, 2, 3], 5), random.Random(5))
    assert release.provenance["size_share"] == COUNT_SHARE


def test_the_shares_add_up_to_the_budget() -> None:
    for m in (1, 3, 7, 49):
        mechanism = IndExp(q=tuple(np.linspace(0, 1, m).tolist()), budget=PureDP(epsilon=0.3))
        assert 0.3 * (1 - 1e-12) < m * mechanism.each <= 0.3
        assert mechanism.guarantee == PureDP(epsilon=0.3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, got 0.0"),
        ({"q": ()}, "q must name at least one quantile"),
        ({"q": (1.5,)}, "q must lie between 0 and 1, got 1.5"),
        ({"size": 10}, "size must be left out under swap"),
        ({"neighbors": "swop"}, "did you mean 'swap'"),
        ({"delta": 0.0}, "delta must"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"q": (0.5,), "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ValueError, match=message):
        built(AppIndExp, **{**good, **parameters})


def test_bad_statements_budgets_and_values() -> None:
    with pytest.raises(ValueError, match="must work with a budget of epsilon and delta"):
        IndExp(q=(0.5,), budget=ApproxDP(epsilon=1.0, delta=0.1))
    with pytest.raises(ValueError, match="must work with a budget of epsilon alone"):
        AppIndExp(q=(0.5,), budget=PureDP(epsilon=1.0))
    view = checks.view_of([1, 2, 3], 5)
    law = IndExp(q=(0.7, 0.2), budget=PureDP(epsilon=1.0)).law(view)
    assert law.log_probability([1, 3]) == -math.inf
    assert law.log_probability([3, 1]) > -math.inf
    with pytest.raises(ValueError, match="2 answers, got 1"):
        law.log_probability([3])
    with pytest.raises(ValueError, match="points of the grid"):
        law.log_probability([17, 3])
    with pytest.raises(ValueError, match="at most 16 answers"):
        IndExp(q=(0.5,) * 17, budget=PureDP(epsilon=1.0)).law(view).log_probability([1] * 17)
