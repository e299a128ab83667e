"""Quantiles as a measurement of OpenDP, so that its odometers, sessions and chains can hold them.

The privacy map is that of d neighbors in a row: d times epsilon, or d squared times rho.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpquantiles import privacy, require
from dpquantiles.api import quantiles
from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.planner import AskedMechanism
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from dpquantiles.require import AskedQuantiles

NEIGHBORS = {
    "SymmetricDistance": Neighbors.ADD_REMOVE,
    "InsertDeleteDistance": Neighbors.ADD_REMOVE,
    "ChangeOneDistance": Neighbors.SWAP,
    "HammingDistance": Neighbors.SWAP,
}
"""The neighbors at distance one, by the name of a metric."""

TYPES = {
    "Vec<f64>": np.float64,
    "Vec<f32>": np.float32,
    "Vec<i64>": np.int64,
    "Vec<i32>": np.int32,
    "Vec<bool>": np.bool_,
}
"""The type of records, by what a domain carries."""


def make_quantiles(
    input_domain: Any,
    input_metric: Any,
    q: AskedQuantiles,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    size: int | None = None,
    mechanism: AskedMechanism = "auto",
) -> Any:
    """An OpenDP measurement that releases private quantiles, all of them together.

    OpenDP counts it as a user measurement, so its features "contrib" and "honest-but-curious" must
    be enabled.

    Args:
        input_domain: A vector domain of numbers or booleans, such as
            `dp.vector_domain(dp.atom_domain(T=float))`. If it has a size, this is the stated size.
        input_metric: `dp.symmetric_distance()` or `dp.insert_delete_distance()` for add-remove
            neighbors, `dp.change_one_distance()` or `dp.hamming_distance()` for swap neighbors.
        q: The quantiles, as in `dpquantiles.quantiles`.
        epsilon: The budget at distance one, in pure differential privacy.
        rho: Instead of epsilon, a budget in zero-concentrated differential privacy.
        bounds: As in `dpquantiles.quantiles`.
        resolution: As in `dpquantiles.quantiles`.
        size: For add-remove neighbors, as in `dpquantiles.quantiles`.
        mechanism: As in `dpquantiles.quantiles`.

    Returns:
        A `dp.Measurement` whose release is a list of answers, in the order of `q`. Its output
        measure is `dp.max_divergence()` or `dp.zero_concentrated_divergence()`.
    """
    dp = _library()
    dtype = _dtype(input_domain)
    budget = privacy.budget(epsilon=epsilon, rho=rho, neighbors=_neighbors(input_metric))
    options: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "neighbors": budget.neighbors}
    options |= {"bounds": bounds, "resolution": resolution, "mechanism": mechanism}
    if budget.neighbors is Neighbors.ADD_REMOVE:
        options["size"] = getattr(input_domain, "size", None) if size is None else size
    elif size is not None:
        raise InvalidValue(f"size must be left out with {input_metric}, got {size!r}")
    asked = require.quantiles(q=q)
    quantiles(np.zeros(0, dtype), asked, **options)  # a wrong option is refused here, not later

    def release(records: Any) -> list[Any]:
        return list(quantiles(np.asarray(records, dtype), asked, **options).values)

    pure = isinstance(budget, PureDP)
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    privacy_map = _privacy_map(budget)
    return dp.m.make_user_measurement(input_domain, input_metric, measure, release, privacy_map)


def then_quantiles(q: AskedQuantiles, **options: Any) -> Any:
    """`make_quantiles` for chains, which add the domain and the metric.

    For example `(domain, metric) >> then_quantiles("deciles", epsilon=1.0)`.
    """
    _library()
    from opendp import mod

    constructor: Any = mod._PartialConstructor  # OpenDP has no other way into its chains
    return constructor(lambda domain, metric: make_quantiles(domain, metric, q, **options))


def _library() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingBackend("OpenDP is needed: pip install 'dpquantiles[opendp]'") from None
    return dp


def _dtype(domain: Any) -> Any:
    carried = str(getattr(domain, "carrier_type", domain))
    if carried not in TYPES:
        raise InvalidType(
            "input_domain must be a vector domain of numbers or booleans, for example "
            f"dp.vector_domain(dp.atom_domain(T=float)), got {domain}"
        )
    return TYPES[carried]


def _neighbors(metric: Any) -> Neighbors:
    name = str(getattr(metric, "type", metric))
    if name not in NEIGHBORS:
        raise InvalidValue(
            "input_metric must be symmetric_distance(), insert_delete_distance(), "
            f"change_one_distance() or hamming_distance(), got {metric}"
        )
    return NEIGHBORS[name]


def _privacy_map(budget: Guarantee) -> Callable[[int], float]:
    """The cost of a distance, rounded up: group privacy, by which rho grows with its square."""
    power = 2 if isinstance(budget, ZCDP) else 1
    one = Fraction(budget.amount)

    def cost(distance: int) -> float:
        exact = one * distance**power
        rounded = float(exact)
        return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)

    return cost
