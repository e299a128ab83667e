"""Sorted views: the only way in which a mechanism sees data."""

from dpquantiles.views.array import (
    MISSING_POLICIES,
    ArrayView,
    FilledView,
    Groups,
    SortedSteps,
    filled,
    stand_in,
)
from dpquantiles.views.protocol import Demand, PartView, SortedView, WindowView

__all__ = [
    "MISSING_POLICIES",
    "ArrayView",
    "Demand",
    "FilledView",
    "Groups",
    "PartView",
    "SortedSteps",
    "SortedView",
    "WindowView",
    "filled",
    "stand_in",
]
