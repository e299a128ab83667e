"""`dpq.audit` of a function: who passes, who fails, and what is refused."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.kernels.draws import discrete_laplace

PAIR = ([0] * 5, [0] * 4 + [1])


def counting(rate: Fraction) -> Callable[[Sequence[int]], int]:
    bits = random.Random(5)
    return lambda data: sum(data) + discrete_laplace(bits, rate)


def test_a_correct_function_passes() -> None:
    found = dpq.audit(counting(Fraction(1)), neighbors=PAIR, epsilon=1.0, draws=4000)
    (row,) = found.findings
    assert found.passed
    assert 0.5 < row.worst <= 1.0
    assert (row.cases, row.method, row.limit) == (8000, "statistical", 1.0)


def test_half_the_noise_fails() -> None:
    found = dpq.audit(counting(Fraction(2)), neighbors=PAIR, epsilon=1.0, draws=4000)
    assert not found.passed
    assert found.failures[0].worst > 1.0
    assert "does not hold" in str(found)
    assert "1 of 1 claims failed" in found._repr_html_()


def test_noise_in_doubles_fails() -> None:
    rng = random.Random(1)

    def in_doubles(data: Sequence[int]) -> float:
        return sum(data) + rng.expovariate(1.0) - rng.expovariate(1.0)

    found = dpq.audit(in_doubles, neighbors=([0], [1]), epsilon=1.0, draws=4000)
    assert not found.passed
    assert found.failures[0].evidence.startswith("the last bit")
    assert found.failures[0].subject == "in_doubles"


def test_an_error_tells_neighbors_apart() -> None:
    found = dpq.audit(lambda data: 1 / data[0], neighbors=([0], [1]), epsilon=1.0, draws=200)
    assert not found.passed


def test_delta_is_part_of_the_claim() -> None:
    bits = random.Random(2)

    def leaky(data: Sequence[int]) -> object:
        return tuple(data) if bits.random() < 0.05 else "nothing"

    claim = {"neighbors": PAIR, "epsilon": 1.0, "draws": 2000}
    assert not dpq.audit(leaky, **claim).passed  # type: ignore[arg-type]
    assert dpq.audit(leaky, **claim, delta=0.06).passed  # type: ignore[arg-type]


def test_releases_are_taken_as_they_are() -> None:
    found = dpq.audit(
        lambda data: dpq.median(data, epsilon=1.0, bounds=(0, 4), rng=random.Random(0)),
        neighbors=([0, 0, 4], [0, 4, 4]),
        epsilon=1.0,
        draws=100,
    )
    assert json.loads(found.to_json())["findings"][0]["cases"] == 200


def table(data: Sequence[int]) -> pd.DataFrame:
    return pd.DataFrame({"v": data, "g": 1})


ASKED: dict[str, Any] = {"q": [0.99], "mechanism": "joint_exp", "epsilon": 50.0}
LEAKS: dict[str, Callable[[Sequence[int]], object]] = {
    "pandas": table,
    "polars": lambda data: pl.DataFrame({"v": data}),
    "description": lambda data: dpq.describe(table(data), ["v"], bounds={"v": (0, 1)}, **ASKED),
    "groups": lambda data: dpq.quantiles(
        table(data), column="v", by="g", keys=[1], bounds=(0, 1), **ASKED
    ),
    "mapping": lambda data: MappingProxyType({"sum": sum(data)}),
}


@pytest.mark.parametrize("name", LEAKS)
def test_tables_and_releases_are_looked_into(name: str) -> None:
    # A release of all zeros is one half of the time the other's answer, a loss of log(2) = 0.69.
    assert not dpq.audit(LEAKS[name], neighbors=PAIR, epsilon=0.2, draws=400).passed


def test_measured_ranks_are_looked_at() -> None:
    released = dpq.median([0, 1, 1], epsilon=1.0, intervals=True)
    ranks = released.ranks
    assert ranks is not None

    def constant_but_for_the_counts(data: Sequence[int]) -> dpq.Release:
        return replace(released, ranks=replace(ranks, counts=(sum(data),) * len(ranks.counts)))

    found = dpq.audit(constant_but_for_the_counts, neighbors=PAIR, epsilon=1.0, draws=200)
    assert not found.passed


@pytest.mark.parametrize("opaque", [lambda _: object(), lambda data: lambda: data])
def test_what_cannot_be_looked_into_is_refused(opaque: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"must return what can be compared.*got an object of type"):
        dpq.audit(opaque, neighbors=PAIR, epsilon=1.0, draws=20)


def test_what_never_works_says_why() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        dpq.audit(lambda data: sum(data), neighbors=(["a"], ["b"]), epsilon=1.0, draws=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"release": len}, "neighbors and epsilon must be given"),
        ({"release": len, "neighbors": (1, 2)}, "neighbors and epsilon must be given"),
        ({"release": "joint_exp", "epsilon": 1.0}, "must be a function"),
        ({"epsilon": 1.0}, "release must be given"),
        ({"release": len, "neighbors": (1,), "epsilon": 1.0}, "must be a pair"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dpq.audit(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"draws": 3}, {"confidence": 1.0}, {"epsilon": -1}])
def test_wrong_numbers_are_refused(wrong: dict[str, object]) -> None:
    asked: dict[str, object] = {"neighbors": ([0], [1]), "epsilon": 1.0, "draws": 10, **wrong}
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
        dpq.audit(len, **asked)  # type: ignore[arg-type]
