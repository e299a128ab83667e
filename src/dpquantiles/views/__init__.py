"""The sorted view: all that a mechanism ever sees of the data."""

from dpquantiles.views.array import ArrayView, stand_in
from dpquantiles.views.demand import Demand
from dpquantiles.views.filled import FilledView
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
    "stand_in",
]
