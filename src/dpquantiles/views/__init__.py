"""Sorted views: the only way in which a mechanism sees data."""

from dpquantiles.views.array import (
    DROP,
    MISSING_POLICIES,
    AnyGroups,
    ArrayView,
    FilledView,
    Groups,
    SortedSteps,
    filled,
    is_dropped,
    stand_in,
)
from dpquantiles.views.parts import PartView, ReadAhead
from dpquantiles.views.protocol import (
    Demand,
    Limits,
    SortedView,
    WindowView,
    copied,
    copied_demand,
    occupied,
    rough_ranks,
)

__all__ = [
    "DROP",
    "MISSING_POLICIES",
    "AnyGroups",
    "ArrayView",
    "Demand",
    "FilledView",
    "Groups",
    "Limits",
    "PartView",
    "ReadAhead",
    "SortedSteps",
    "SortedView",
    "WindowView",
    "copied",
    "copied_demand",
    "filled",
    "is_dropped",
    "occupied",
    "rough_ranks",
    "stand_in",
]
