"""Guarantees: frozen values that say what they promise, through JSON and back."""

import dataclasses
import json
import math
from typing import Any

import pytest

from dpquantiles import privacy
from dpquantiles.privacy import Neighbors, PureDP


def test_a_guarantee_is_a_frozen_value() -> None:
    guarantee = PureDP(epsilon=1)
    assert guarantee == PureDP(epsilon=1.0, neighbors=Neighbors.SWAP)
    assert guarantee != PureDP(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE)
    assert guarantee != PureDP(epsilon=math.nextafter(1.0, 2.0))
    assert len({guarantee, PureDP(epsilon=1.0)}) == 1
    assert type(guarantee.epsilon) is float
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = 2.0  # type: ignore[misc]


def test_neighbors_may_come_as_text() -> None:
    guarantee = PureDP(epsilon=1, neighbors="add-remove")  # type: ignore[arg-type]
    assert guarantee.neighbors is Neighbors.ADD_REMOVE


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, r"^epsilon must be positive and finite, got 0\.0$"),
        ({"epsilon": math.nan}, ValueError, r"^epsilon must be positive and finite, got nan$"),
        ({"epsilon": "1"}, TypeError, r"^epsilon must be a positive, finite number, got '1'"),
        ({"epsilon": 1, "neighbors": "swop"}, ValueError, r"did you mean 'swap'\?$"),
        ({"epsilon": 1, "neighbors": None}, TypeError, r"^neighbors must be one of 'swap', "),
    ],
)
def test_parameters_are_checked(
    parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PureDP(**parameters)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 5e-324, 1e308])
def test_json_keeps_guarantees(epsilon: float, neighbors: Neighbors) -> None:
    guarantee = PureDP(epsilon=epsilon, neighbors=neighbors)
    assert privacy.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


@pytest.mark.parametrize("changes", [{"kind": "perfect"}, {"epsilon": -1}, {"neighbors": "near"}])
def test_other_guarantees_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"^{next(iter(changes))} must be "):
        privacy.from_dict({**PureDP(epsilon=1).to_dict(), **changes})


def test_the_words_say_what_is_protected() -> None:
    assert str(PureDP(epsilon=0.5)) == (
        "0.5-differential privacy "
        "(pure; one record replaced by any other; the number of records is public)"
    )
    both = str(PureDP(epsilon=2, neighbors=Neighbors.ADD_REMOVE))
    assert both.endswith(
        "(pure; one record added or removed; the number of records is protected too)"
    )


def test_odds() -> None:
    assert PureDP(epsilon=math.log(3)).odds == pytest.approx(3)
    assert PureDP(epsilon=1e300).odds == PureDP(epsilon=700).odds == math.inf
    assert PureDP(epsilon=699).odds < math.inf


def test_a_guarantee_says_what_it_is_counted_in() -> None:
    stated = (PureDP(epsilon=2), privacy.ApproxDP(epsilon=2, delta=0.1), privacy.ZCDP(rho=2))
    assert [guarantee.measure for guarantee in stated] == ["epsilon", "epsilon", "rho"]
    assert all(guarantee.amount == 2 for guarantee in stated)
    assert all({"measure", "amount"}.isdisjoint(guarantee.to_dict()) for guarantee in stated)
