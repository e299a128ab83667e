"""Sorted views: the only way in which a mechanism sees data."""

from dpquantiles.views.array import (
    DROP,
    MISSING_POLICIES,
    ArrayView,
    FilledView,
    Groups,
    SortedSteps,
    filled,
    is_dropped,
    stand_in,
)
from dpquantiles.views.protocol import (
    Demand,
    PartView,
    SortedView,
    WindowView,
    copied,
    copied_demand,
)

__all__ = [
    "DROP",
    "MISSING_POLICIES",
    "ArrayView",
    "Demand",
    "FilledView",
    "Groups",
    "PartView",
    "SortedSteps",
    "SortedView",
    "WindowView",
    "copied",
    "copied_demand",
    "filled",
    "is_dropped",
    "stand_in",
]
