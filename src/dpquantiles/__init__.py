"""Differentially private quantiles: many at once, exact, at no extra budget per quantile."""

from dpquantiles.api import deciles, describe, median, percentiles, quantiles, quartiles
from dpquantiles.described import Description
from dpquantiles.errors import DemandTooLarge, MissingBackend, ScanFailed
from dpquantiles.grid import FloatGrid, UniformGrid
from dpquantiles.grouped import GroupedRelease
from dpquantiles.intervals import Interval, Intervals
from dpquantiles.mechanisms import JointExp
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.release import Release
from dpquantiles.version import __version__
from dpquantiles.views import ArrayView

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ArrayView",
    "DemandTooLarge",
    "Description",
    "FloatGrid",
    "GroupedRelease",
    "Interval",
    "Intervals",
    "JointExp",
    "MissingBackend",
    "Neighbors",
    "PureDP",
    "Release",
    "ScanFailed",
    "UniformGrid",
    "__version__",
    "deciles",
    "describe",
    "median",
    "percentiles",
    "quantiles",
    "quartiles",
]
