"""The sorted view: all that a mechanism ever sees of the data."""

from dpquantiles.views.array import ArrayView
from dpquantiles.views.filled import FilledView, filled, stand_in
from dpquantiles.views.part import PartView
from dpquantiles.views.protocol import Demand, SortedView, WindowView

__all__ = [
    "ArrayView",
    "Demand",
    "FilledView",
    "PartView",
    "SortedView",
    "WindowView",
    "filled",
    "stand_in",
]
