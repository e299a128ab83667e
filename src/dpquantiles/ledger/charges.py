"""Charges: the names that users give, the content of an entry, and amounts in words.

Names that look the same are the same: blanks around a name are removed, and accents are joined with
their letters. Otherwise a typing error could open a second budget for the same data.
"""

import json
import os
import unicodedata
from collections.abc import Mapping
from typing import Any

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.ledger.entries import canonical
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpquantiles.privacy.spending import Part, Spending
from dpquantiles.require import shown

RECORD = "record"
"""The name of the unit if a guarantee protects single records."""

LONGEST_NAME = 200

IDENTITY = ("dataset", "unit", "part", "cost", "parameters")
"""The fields that must be the same when a request is repeated."""


def require_name(**parameter: object) -> str:
    """A printable, non-empty name, in the spelling in which ledgers store it."""
    ((name, value),) = parameter.items()
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be a name, such as 'payroll-2026', got {shown(value)}")
    if not value.strip() or not value.isprintable() or len(value) > LONGEST_NAME:
        raise InvalidValue(
            f"{name} must be a printable name of 1 to {LONGEST_NAME} characters, got "
            f"{value[:LONGEST_NAME]!r}"
        )
    return unicodedata.normalize("NFC", value.strip())


def require_part(*, part: object) -> str | None:
    """None, or a partition and a label: region=north."""
    if part is None:
        return None
    text = require_name(part=part)
    partition, equals, label = (piece.strip() for piece in text.partition("="))
    if not (partition and equals and label):
        raise InvalidValue(
            f"part must be written partition=label, such as 'region=north', got {text!r}; parts "
            "of one partition must be disjoint"
        )
    return f"{partition}={label}"


def part_of(text: str | None) -> Part | None:
    """The part that was written as partition=label."""
    return None if text is None else Part(*text.split("=", 1))


def charge_content(
    cost: Guarantee,
    *,
    dataset: str,
    part: str | None,
    unit: str,
    request_id: str | None,
    parameters: Mapping[str, object],
) -> dict[str, Any]:
    """The content of a charge's entry; a request without an id gets a unique one."""
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
    """A unique name."""
    return os.urandom(16).hex()


def probe(budget: Guarantee) -> Guarantee:
    """A charge in the measure of a budget, to ask how large such a charge may be."""
    if isinstance(budget, ZCDP):
        return budget
    return PureDP(epsilon=budget.epsilon, neighbors=budget.neighbors)


def left(account: Spending, cost: Guarantee, part: Part | None) -> str:
    """The amount that remains for charges like this one, in words."""
    if isinstance(cost, ApproxDP):
        most = account.remaining_delta(cost, part)
        if cost.delta > most:
            return f"delta = {digits(most)} for charges of epsilon and delta,"
    return f"{cost.measure} = {digits(account.remaining(cost, part))}"


def digits(number: float) -> str:
    """All digits of a number, because rounding could show more than it is."""
    return repr(number).removesuffix(".0")


def words(cost: Guarantee) -> str:
    """The numbers of a cost or a budget, in words."""
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(cost, name)]
    return ", ".join(f"{name} = {digits(getattr(cost, name))}" for name in names)


def unreleased(charge: Mapping[str, Any]) -> str:
    """A note about the charge of a failed request, and how to run it again."""
    return (
        f"data set {charge['dataset']!r} was charged and nothing was released; the same "
        f"request with the id {charge['request']!r} runs again without another charge"
    )
