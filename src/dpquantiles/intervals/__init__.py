"""Intervals around answers: how they are requested, and how measured ranks prove them."""

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
