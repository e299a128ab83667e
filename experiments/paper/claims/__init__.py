"""The claims table: every quantitative sentence of the paper's experiments, as data, and tested.

Each claim is a sentence, the numbers with which we take it for true, and how its number is computed
from rows; where it makes sense for the paper's mechanism and for ours.
"""

from experiments.paper.claims import accuracy, conditions, formulas, times, tuned
from experiments.paper.claims.claim import Claim, Finding
from experiments.paper.results import Results

__all__ = ["Claim", "Finding", "findings"]


def findings(results: Results) -> list[Finding]:
    """The whole table."""
    parts = (accuracy, conditions, times, tuned, formulas)
    return [finding for part in parts for finding in part.findings(results)]
