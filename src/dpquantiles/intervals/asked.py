"""Intervals as they are asked for: at which level, and for the quantiles of what."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from dpquantiles import require
from dpquantiles.errors import InvalidValue

Subject = Literal["data", "population"]

DATA: Final = "data"
POPULATION: Final = "population"
SUBJECTS: tuple[Subject, ...] = (DATA, POPULATION)

DEFAULT_LEVEL = 0.95
LARGEST_LEVEL = 1 - 1e-6
"""Beyond this the numbers behind a level are no longer certain to the last digit."""


@dataclass(frozen=True)
class Intervals:
    """Each interval holds its quantile with a chance of at least `level`, whatever the data are.

    `of` says which quantile: that of the "data" at hand, or that of the "population" from which
    they were drawn independently; the second allows for what sampling adds. It also says where to
    look: asked for the other one later, a release is right, but not as narrow as it might be.
    """

    level: float = DEFAULT_LEVEL
    of: Subject = DATA

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", require_level(level=self.level))
        require.choice(SUBJECTS, of=self.of)


AskedIntervals: TypeAlias = bool | float | Subject | Intervals | None
"""Intervals as a caller may write them."""


def require_level(**parameter: object) -> float:
    """A chance that an interval can be right with."""
    ((name, _),) = parameter.items()
    level = require.fraction(**parameter)
    if level > LARGEST_LEVEL:
        raise InvalidValue(f"{name} must be at most 0.999999, got {level!r}")
    return level


def require_intervals(intervals: Any) -> Intervals | None:
    """What a caller may write: True, a level such as 0.9, "population", or all of it; or nothing.

    True asks for the default, it selects no algorithm.
    """
    if intervals is None or intervals is False:
        return None
    if intervals is True:
        return Intervals()
    if isinstance(intervals, Intervals):
        return intervals
    if isinstance(intervals, str):
        return Intervals(of=require.choice(SUBJECTS, intervals=intervals))
    return Intervals(level=require_level(intervals=intervals))
