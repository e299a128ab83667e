"""Differentially private quantiles: many at once, exact, at no extra budget per quantile."""

from dpquantiles.api import deciles, median, percentiles, quantiles, quartiles
from dpquantiles.errors import BudgetExceeded, DemandTooLarge, LedgerError, MissingBackend
from dpquantiles.grid import FloatGrid, UniformGrid
from dpquantiles.ledger import Ledger
from dpquantiles.mechanisms import JointExp
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.release import Release
from dpquantiles.version import __version__
from dpquantiles.views import ArrayView

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ArrayView",
    "BudgetExceeded",
    "DemandTooLarge",
    "FloatGrid",
    "JointExp",
    "Ledger",
    "LedgerError",
    "MissingBackend",
    "Neighbors",
    "PureDP",
    "Release",
    "UniformGrid",
    "__version__",
    "deciles",
    "median",
    "percentiles",
    "quantiles",
    "quartiles",
]
