"""The planner: it chooses mechanisms and predicts their errors, from public numbers only.

A release needs only the choice, so plans (`plans.py`) and their inverse (`needs.py`) are not
imported here.
"""

from dpquantiles.planner.choice import (
    AUTO,
    AskedMechanism,
    Choice,
    answers,
    choose,
    expected_error,
    negligible,
)
from dpquantiles.planner.costs import SourceKind

__all__ = [
    "AUTO",
    "AskedMechanism",
    "Choice",
    "SourceKind",
    "answers",
    "choose",
    "expected_error",
    "negligible",
]
