"""Mechanisms from plain numbers, as tests list them."""

from typing import Any

from dpquantiles import privacy

OF_A_BUDGET = ("epsilon", "delta", "rho", "neighbors")


def built(family: Any, **parameters: Any) -> Any:
    """A mechanism whose budget is made of those parameters that are a budget's."""
    stated = {name: parameters.pop(name) for name in OF_A_BUDGET if name in parameters}
    return family(budget=privacy.budget(**stated), **parameters)
