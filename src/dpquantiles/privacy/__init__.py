"""The terms of privacy as plain values: neighbors, guarantees, conversions and composition."""

from dpquantiles.privacy.composition import to_events, total
from dpquantiles.privacy.conversions import (
    bounded_range_eta,
    bounded_range_rho,
    composed_delta,
    composed_epsilon,
    per_call_epsilon,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dpquantiles.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    budget,
    from_dict,
)
from dpquantiles.privacy.units import Neighbors, NeighborsName, Units

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Neighbors",
    "NeighborsName",
    "PureDP",
    "Units",
    "bounded_range_eta",
    "bounded_range_rho",
    "budget",
    "composed_delta",
    "composed_epsilon",
    "from_dict",
    "per_call_epsilon",
    "to_events",
    "total",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
