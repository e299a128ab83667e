"""The engine: public parameters are settled before any data are read."""

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import engine
from dpquantiles.kinds import INTEGER, Datetime
from dpquantiles.privacy import Neighbors, PureDP
from dpquantiles.sources.memory import TypedColumn


class Untouchable:
    """Data that fail the test when they are read."""

    def __iter__(self) -> Iterator[Any]:
        pytest.fail("data were read")

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"{name} of the data was asked for")


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"q": 2},
        {"bounds": 3},
        {"grid": 3},
        {"neighbors": "near"},
        {"size": -1, "neighbors": "add-remove"},
        {"missing": "never"},
        {"mechanism": "magic"},
        {"rng": 3},
    ],
    ids=lambda options: next(iter(options)),
)
def test_parameters_are_checked_before_data_are_read(options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^{next(iter(options))} must "):
        dpq.quantiles(Untouchable(), **{"q": 0.5, "epsilon": 1, **options})


def test_a_request_is_a_frozen_value() -> None:
    budget = PureDP(epsilon=1, neighbors=Neighbors.ADD_REMOVE)
    request = engine.Request(q=(0.5,), budget=budget, bounds=[0, 9])  # type: ignore[arg-type]
    assert request.bounds == (0, 9)
    assert request.missing == "drop"
    assert engine.Request(q=(0.5,), budget=PureDP(epsilon=1)).missing == "upper"
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.size = 2  # type: ignore[misc]


def test_a_request_builds_its_mechanism_for_distinct_ascending_quantiles() -> None:
    mechanism = engine.Request(q=(0.9, 0.1, 0.9), budget=PureDP(epsilon=2)).build("joint_exp")
    assert (mechanism.q, mechanism.guarantee) == ((0.1, 0.9), PureDP(epsilon=2.0))


def test_typed_columns_are_taken_as_they_are() -> None:
    bits = random.Random(7)
    request = engine.Request(q=(0.5,), budget=PureDP(epsilon=40))
    typed = TypedColumn(np.full(301, 2.6), INTEGER)
    assert engine.run(typed, request, bits).value == 3
    moments = TypedColumn(np.full(301, 10**15).view("M8[us]"), Datetime())
    assert engine.run(moments, request, bits).type == "datetime"
