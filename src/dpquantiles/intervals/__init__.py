"""Intervals around answers: what is asked for, what was measured, and what follows from it."""

from dpquantiles.intervals.ranks import (
    DATA,
    POPULATION,
    SUBJECTS,
    AskedIntervals,
    Interval,
    Intervals,
    MeasuredRanks,
    Subject,
    require_intervals,
    require_level,
)

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
