"""Quantiles as measurements of the real OpenDP: what they release, and what OpenDP counts."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpquantiles import MissingBackend
from dpquantiles.opendp import make_quantiles as typed_make_quantiles
from dpquantiles.opendp import then_quantiles

dp: Any = pytest.importorskip("opendp.prelude")

make_quantiles: Any = typed_make_quantiles  # wrong types are tried too
RECORDS = [float(k) for k in range(1000)]


@pytest.fixture(autouse=True)
def _features() -> Iterator[None]:
    """User measurements are behind two features, which callers enable themselves."""
    names = ("contrib", "honest-but-curious")
    dp.enable_features(*names)
    yield
    dp.disable_features(*names)


def space(metric: str = "symmetric_distance", type_name: Any = float, **about: Any) -> Any:
    domain = dp.vector_domain(dp.atom_domain(T=type_name), **about)
    return domain, getattr(dp, metric)()


def test_answers_are_a_list_in_the_order_of_the_quantiles() -> None:
    measurement = make_quantiles(*space(), [0.9, 0.1, 0.5], epsilon=20.0)
    high, low, middle = measurement(RECORDS)
    assert (round(low, -1), round(middle, -1), round(high, -1)) == (100, 500, 900)
    assert all(type(answer) is float for answer in (low, middle, high))


@pytest.mark.parametrize("type_name", ["f64", "f32", "i64", "i32", "bool"])
def test_no_records_release_the_type_of_the_domain(type_name: str) -> None:
    kinds = {"f": float, "i": int, "b": bool}
    (answer,) = make_quantiles(*space(type_name=type_name), "median", epsilon=1.0)([])
    assert type(answer) is kinds[type_name[0]]


@pytest.mark.parametrize(
    ("metric", "budget", "costs"),
    [
        ("symmetric_distance", {"epsilon": 0.3}, [0.3, 0.6, 0.9]),
        ("insert_delete_distance", {"epsilon": 0.3}, [0.3, 0.6, 0.9]),
        ("change_one_distance", {"epsilon": 0.3}, [0.3, 0.6, 0.9]),
        ("hamming_distance", {"rho": 0.1}, [0.1, 0.4, 0.9]),
        ("symmetric_distance", {"rho": 0.1}, [0.1, 0.4, 0.9]),
    ],
)
def test_the_privacy_map_is_that_of_groups_and_rounded_up(
    metric: str, budget: dict[str, Any], costs: list[float]
) -> None:
    measurement = make_quantiles(*space(metric), "quartiles", **budget)
    power, (amount,) = (2 if "rho" in budget else 1), budget.values()
    for distance, cost in enumerate(costs, start=1):
        mapped = measurement.map(distance)
        assert mapped == pytest.approx(cost)
        assert Fraction(mapped) >= Fraction(amount) * distance**power
    assert measurement.map(0) == 0
    assert measurement.check(1, costs[0])
    assert not measurement.check(1, np.nextafter(costs[0], 0))


def test_the_measure_follows_the_budget() -> None:
    pure = make_quantiles(*space(), "median", epsilon=1.0)
    concentrated = make_quantiles(*space(), "median", rho=1.0)
    assert pure.output_measure == dp.max_divergence()
    assert concentrated.output_measure == dp.zero_concentrated_divergence()


def test_opendp_spends_its_budget_on_it() -> None:
    measurement = space() >> then_quantiles("deciles", epsilon=1.0)
    composition = dp.c.make_adaptive_composition(
        *space(), dp.max_divergence(), d_in=1, d_mids=[1.0, 0.5]
    )
    queryable = composition(RECORDS)
    assert len(queryable(measurement)) == 9
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        queryable(measurement)


def test_a_chain_from_another_type() -> None:
    chain = space(type_name=str) >> dp.t.then_cast_default(TOA=float)
    assert (chain >> then_quantiles("median", epsilon=20.0))([f"{k}" for k in range(101)])


def test_a_domain_with_a_size_states_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def recorded(*_: Any, **options: Any) -> Any:
        asked.append(options.get("size"))

    monkeypatch.setattr("dpquantiles.opendp.quantiles", recorded)
    make_quantiles(*space(size=1000), "median", epsilon=1.0)
    make_quantiles(*space(size=1000), "median", epsilon=1.0, size=7)
    make_quantiles(*space("change_one_distance", size=1000), "median", epsilon=1.0)
    assert asked == [1000, 7, None]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_quantiles(*space(type_name=str), "median", epsilon=1), "vector domain of"),
        (
            lambda: make_quantiles(dp.atom_domain(T=float), dp.symmetric_distance(), 0.5, rho=1),
            "vector domain of",
        ),
        (
            lambda: make_quantiles(space()[0], dp.l1_distance(T=float), 0.5, epsilon=1),
            "input_metric must be symmetric_distance",
        ),
        (
            lambda: make_quantiles(*space("change_one_distance"), 0.5, epsilon=1, size=3),
            "size must be left out with ChangeOneDistance",
        ),
        (lambda: make_quantiles(*space(), 0.5), "epsilon"),
        (lambda: make_quantiles(*space(), 50, epsilon=1), "q must lie between 0 and 1"),
        (lambda: make_quantiles(*space(), 0.5, epsilon=1, bounds=(2, 1)), "lower < upper"),
        (lambda: make_quantiles(*space(), 0.5, epsilon=1, mechanism="magic"), "mechanism must"),
    ],
)
def test_wrong_parameters_are_refused_when_it_is_made(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_without_opendp_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingBackend, match=r"pip install 'dpquantiles\[opendp\]'"):
        make_quantiles(None, None, 0.5, epsilon=1)
