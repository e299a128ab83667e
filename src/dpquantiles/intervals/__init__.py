"""Intervals around answers: what is asked for, what was measured, and what follows from it."""

from dpquantiles.intervals.asked import (
    DATA,
    POPULATION,
    SUBJECTS,
    AskedIntervals,
    Intervals,
    Subject,
    require_intervals,
    require_level,
)
from dpquantiles.intervals.ranks import Interval, MeasuredRanks

__all__ = [
    "DATA",
    "POPULATION",
    "SUBJECTS",
    "AskedIntervals",
    "Interval",
    "Intervals",
    "MeasuredRanks",
    "Subject",
    "require_intervals",
    "require_level",
]
