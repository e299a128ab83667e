"""How far answers are from what was asked: in ranks, in value, and beyond all reason."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUE_ERROR = 10.0
"""A relative error of 1000% counts as much as any larger one: one absurd answer would otherwise
hide all others."""

ABSURD_SPANS = 10.0


def rank_error(ordered: NDArray[Any], q: Any, answers: Any) -> float:
    """Mean distance of q n to [#(x < o), #(x <= o)]."""
    below = np.searchsorted(ordered, np.asarray(answers), side="left")
    through = np.searchsorted(ordered, np.asarray(answers), side="right")
    wanted = np.asarray(q) * len(ordered)
    return float(np.maximum(0, np.maximum(below - wanted, wanted - through)).mean())


def value_error(ordered: NDArray[Any], q: Any, answers: Any) -> float:
    """Mean of |o / x - 1|, each at most 10, for the records x at the quantiles."""
    truth = np.quantile(ordered, np.asarray(q), method="inverted_cdf")
    off = np.abs(np.asarray(answers, dtype=float) / truth - 1)
    return float(np.minimum(off, MOST_VALUE_ERROR).mean())


def absurd(ordered: NDArray[Any], answers: Any) -> bool:
    """Whether any answer is more than ten spans of the records from their middle."""
    low, high = float(ordered[0]), float(ordered[-1])
    off = np.abs(np.asarray(answers, dtype=float) - (low + high) / 2)
    return bool((off > ABSURD_SPANS * (high - low)).any())
