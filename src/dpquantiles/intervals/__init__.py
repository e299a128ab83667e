"""Intervals around answers: what is asked for, what was measured, and what follows from it."""

from dpquantiles.intervals.asked import DATA, POPULATION, Intervals
from dpquantiles.intervals.ranks import Interval, MeasuredRanks

__all__ = ["DATA", "POPULATION", "Interval", "Intervals", "MeasuredRanks"]
