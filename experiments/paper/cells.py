"""A cell: a question to one contender, without the trials in which it is asked."""

from dataclasses import dataclass

from experiments.paper.data import PAPER_BOUNDS, Bounds

RECORDS = 1000


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Public numbers that one point of a figure stands for."""

    study: str
    data: str
    contender: str
    m: int
    n: int = RECORDS
    epsilon: float = 1.0
    bounds: Bounds | None = PAPER_BOUNDS
    neighbors: str = "swap"
