"""Charges: what is asked of a ledger, as plain values and in words."""

import json
import os
from collections.abc import Mapping
from typing import Any

from dpquantiles.errors import InvalidType
from dpquantiles.ledger.entries import canonical
from dpquantiles.ledger.names import require_name, require_part
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.spending import Part, Spending
from dpquantiles.require import shown

ASKED = ("dataset", "unit", "part", "cost", "parameters")
"""What must be the same when a request is repeated."""


def asked(
    cost: Guarantee,
    *,
    dataset: str,
    part: str | None,
    unit: str,
    request_id: str | None,
    parameters: Mapping[str, object],
) -> dict[str, Any]:
    """A charge as it is entered; a request without an id gets one that nobody else has."""
    if not isinstance(cost, (PureDP, ApproxDP, ZCDP)):
        raise InvalidType(f"cost must be a guarantee, such as PureDP(epsilon=1), got {shown(cost)}")
    charge = {
        "action": "charge",
        "dataset": require_name(dataset=dataset),
        "unit": require_name(unit=unit),
        "part": require_part(part=part),
        "request": new_id() if request_id is None else require_name(request_id=request_id),
        "cost": cost.to_dict(),
        "parameters": dict(parameters),
    }
    plain: dict[str, Any] = json.loads(canonical(charge))
    return plain


def new_id() -> str:
    """A name that nobody else has."""
    return os.urandom(16).hex()


def probe(budget: Guarantee) -> Guarantee:
    """A charge in the measure of a budget, to ask how large it may be."""
    if isinstance(budget, ZCDP):
        return budget
    return PureDP(epsilon=budget.epsilon, neighbors=budget.neighbors)


def measure(cost: Guarantee) -> str:
    """The number that a cost is stated in."""
    return "rho" if isinstance(cost, ZCDP) else "epsilon"


def left(account: Spending, cost: Guarantee, part: Part | None) -> str:
    """What remains for charges like this one, in words."""
    found = f"{measure(cost)} = {digits(account.remaining(cost, part))}"
    if not isinstance(cost, ApproxDP):
        return found
    most = account.remaining_delta(cost, part)
    if cost.delta <= most:
        return found
    return f"delta = {digits(most)} for charges of epsilon and delta,"


def digits(number: float) -> str:
    """All digits of a number: rounded ones may be more than it is."""
    return repr(number).removesuffix(".0")


def words(cost: Guarantee) -> str:
    """The numbers of a cost or a budget."""
    named = [(name, getattr(cost, name, None)) for name in ("epsilon", "delta", "rho")]
    return ", ".join(f"{name} = {digits(number)}" for name, number in named if number is not None)


def unreleased(charge: Mapping[str, Any]) -> str:
    """What was charged by a request that failed, and how to run it again."""
    return (
        f"data set {charge['dataset']!r} was charged and nothing was released; the same "
        f"request with the id {charge['request']!r} runs again without another charge"
    )
