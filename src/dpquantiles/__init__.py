"""Differentially private quantiles: many at once, exact, at no extra budget per quantile."""

from dpquantiles import forking
from dpquantiles.api import deciles, describe, median, percentiles, quantiles, quartiles
from dpquantiles.auditing import Audit, audit
from dpquantiles.described import Description
from dpquantiles.errors import (
    BudgetExceeded,
    DemandTooLarge,
    LedgerError,
    MissingBackend,
    ScanFailed,
)
from dpquantiles.grid import FloatGrid, UniformGrid
from dpquantiles.grouped import GroupedRelease
from dpquantiles.intervals import Interval, Intervals
from dpquantiles.ledger import Ledger
from dpquantiles.mechanisms import JointExp
from dpquantiles.planner import Plan, epsilon_for, plan, size_for
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.release import Release
from dpquantiles.version import __version__
from dpquantiles.views import ArrayView

forking.wait_for_imports()

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ArrayView",
    "Audit",
    "BudgetExceeded",
    "DemandTooLarge",
    "Description",
    "FloatGrid",
    "GroupedRelease",
    "Interval",
    "Intervals",
    "JointExp",
    "Ledger",
    "LedgerError",
    "MissingBackend",
    "Neighbors",
    "Plan",
    "PureDP",
    "Release",
    "ScanFailed",
    "UniformGrid",
    "__version__",
    "audit",
    "deciles",
    "describe",
    "epsilon_for",
    "median",
    "percentiles",
    "plan",
    "quantiles",
    "quartiles",
    "size_for",
]
