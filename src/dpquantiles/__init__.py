"""Differentially private quantiles: many at once, exact, at no extra budget per quantile."""

from dpquantiles.api import deciles, median, percentiles, quantiles, quartiles
from dpquantiles.errors import DemandTooLarge, MissingBackend
from dpquantiles.grid import FloatGrid, UniformGrid
from dpquantiles.mechanisms import JointExp
from dpquantiles.planner import Plan, epsilon_for, plan, size_for
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.release import Release
from dpquantiles.version import __version__
from dpquantiles.views import ArrayView

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ArrayView",
    "DemandTooLarge",
    "FloatGrid",
    "JointExp",
    "MissingBackend",
    "Neighbors",
    "Plan",
    "PureDP",
    "Release",
    "UniformGrid",
    "__version__",
    "deciles",
    "epsilon_for",
    "median",
    "percentiles",
    "plan",
    "quantiles",
    "quartiles",
    "size_for",
]
