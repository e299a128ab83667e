"""The sorted view: all that a mechanism ever sees of the data."""

from dpquantiles.views.array import ArrayView
from dpquantiles.views.demand import Demand
from dpquantiles.views.filled import FilledView, filled, stand_in
from dpquantiles.views.part import PartView
from dpquantiles.views.protocol import SortedView
from dpquantiles.views.recording import RecordingView
from dpquantiles.views.window import WindowView

__all__ = [
    "ArrayView",
    "Demand",
    "FilledView",
    "PartView",
    "RecordingView",
    "SortedView",
    "WindowView",
    "filled",
    "stand_in",
]
