"""Differentially private quantiles: many at once, exact, at no extra budget per quantile."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpquantiles import forking
from dpquantiles.version import __version__

if TYPE_CHECKING:
    from dpquantiles.api import deciles, describe, median, percentiles, quantiles, quartiles
    from dpquantiles.auditing import Audit, audit
    from dpquantiles.errors import (
        BudgetExceeded,
        DemandTooLarge,
        LedgerError,
        MissingBackend,
        NotReleased,
        PublicError,
        ReleaseFailed,
        ScanFailed,
    )
    from dpquantiles.grid import FloatGrid, UniformGrid
    from dpquantiles.intervals import Interval, Intervals
    from dpquantiles.ledger import Ledger
    from dpquantiles.mechanisms import JointExp
    from dpquantiles.planner.needs import epsilon_for, size_for
    from dpquantiles.planner.plans import Plan, plan
    from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
    from dpquantiles.results import Description, GroupedRelease, Release
    from dpquantiles.sources.named import csv
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
    "NotReleased",
    "Plan",
    "PublicError",
    "PureDP",
    "Release",
    "ReleaseFailed",
    "ScanFailed",
    "UniformGrid",
    "__version__",
    "audit",
    "csv",
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

_PLACES = {
    "api": ("deciles", "describe", "median", "percentiles", "quantiles", "quartiles"),
    "auditing": ("Audit", "audit"),
    "errors": (
        *("BudgetExceeded", "DemandTooLarge", "LedgerError", "MissingBackend"),
        *("NotReleased", "PublicError", "ReleaseFailed", "ScanFailed"),
    ),
    "grid": ("FloatGrid", "UniformGrid"),
    "intervals": ("Interval", "Intervals"),
    "ledger": ("Ledger",),
    "mechanisms": ("JointExp",),
    "planner.needs": ("epsilon_for", "size_for"),
    "planner.plans": ("Plan", "plan"),
    "privacy": ("ZCDP", "ApproxDP", "Neighbors", "PureDP"),
    "results": ("Description", "GroupedRelease", "Release"),
    "sources.named": ("csv",),
    "views": ("ArrayView",),
}
"""The public names by module. A module is loaded when one of its names is first used."""


if not TYPE_CHECKING:  # a type checker would believe that every name exists

    def __getattr__(name: str) -> Any:
        """Load a public name, or a module of the package, when it is first used."""
        for place, names in _PLACES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"{__name__}.{place}"), name)
                return value
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
