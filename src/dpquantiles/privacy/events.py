"""Guarantees as events of Google's dp-accounting library, to be added up by its accountants.

A pure guarantee becomes the binary randomized response with the same epsilon, which every
epsilon-DP mechanism can be simulated from (Kairouz, Oh, Viswanath, arXiv 1311.0776), so nothing is
lost and nothing gained. Accountants take it under the relation REPLACE_ONE; what they report holds
for the neighbors that the guarantees are stated for, and for swap where they are stated for both.
"""

from collections.abc import Iterable
from typing import Any

from dpquantiles.errors import InvalidValue, MissingBackend
from dpquantiles.privacy.composition import alike
from dpquantiles.privacy.conversions import SAFE
from dpquantiles.privacy.guarantees import ZCDP, Guarantee, PureDP


def to_events(guarantees: Iterable[Guarantee]) -> Any:
    """One `ComposedDpEvent` of all guarantees, which must protect the same unit."""
    try:
        from dp_accounting import dp_event
    except ImportError as missing:
        raise MissingBackend(
            "dp-accounting is needed to export events: pip install 'dpquantiles[accounting]'"
        ) from missing
    return dp_event.ComposedDpEvent(
        [_event(guarantee, dp_event) for guarantee in alike(tuple(guarantees))]
    )


def _event(guarantee: Guarantee, dp_event: Any) -> Any:
    if isinstance(guarantee, PureDP):
        # Less noise promises less: none where doubles cannot tell how little it is.
        chance_of_noise = 2 / (1 + guarantee.odds) * SAFE
        return dp_event.RandomizedResponseDpEvent(chance_of_noise, 2)
    if isinstance(guarantee, ZCDP):
        return dp_event.ZCDpEvent(guarantee.rho)
    raise InvalidValue(
        "guarantees must be pure or concentrated to become events, got "
        f"{guarantee}; dp-accounting has no event for it"
    )
