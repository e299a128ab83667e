"""Requests for intervals, and measured ranks: the noisy counts that prove intervals.

A cut lies between two neighboring grid points. C cuts divide the grid into C + 1 cells, and the
number of records in each cell was released with discrete Laplace noise. Let L be the number of
records below a cut, and n the number of all records. If L < q n, the point above the cut is at most
every q-quantile of the data. If L > q n, the point below it is at least every q-quantile.

An interval is found from outside inward: it moves to the next cut as long as a test refutes that
this cut is already on the wrong side. Only the first cut on the wrong side can mislead it. So one
test per side is enough, at the chance of error that the level leaves for that side, however many
cuts there are. Proof: `mechanisms/bracketed.md`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.intervals import tails
from dpquantiles.intervals.tails import Floats
from dpquantiles.kinds import Kind

Subject = Literal["data", "population"]

DATA: Final = "data"
POPULATION: Final = "population"
SUBJECTS: tuple[Subject, ...] = (DATA, POPULATION)

DEFAULT_LEVEL = 0.95
LARGEST_LEVEL = 1 - 1e-6
"""For larger levels, rounding could change the result."""

SAMPLING_SHARE = 0.5
"""The share of the chance of a miss that sampling gets in intervals for the population."""

SIZE_SHARE = 0.05
"""The share that the number of records gets where it is protected."""

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """A request for intervals that contain their quantile with a chance of at least `level`.

    The chance holds for all data. `of` says which quantile is meant: that of the "data" at hand, or
    that of the "population" from which the records were drawn independently. The second adds the
    error of sampling. A release places its cuts for this choice. It can still give intervals of
    the other kind later; they are valid, but may be wider than necessary.
    """

    level: float = DEFAULT_LEVEL
    of: Subject = DATA

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", require_level(level=self.level))
        require.choice(SUBJECTS, of=self.of)

    def check_rows(self, rows: int) -> None:
        """Refuse intervals for the population from several rows of a unit: they are dependent."""
        if self.of == POPULATION and rows > 1:
            raise InvalidValue(
                f"intervals of the population need max_rows_per_unit=1, got {rows}: rows of one "
                "unit are not independent draws; ask for intervals of the data"
            )


AskedIntervals: TypeAlias = bool | float | Subject | Intervals | None
"""Intervals as a caller may write them."""


def require_level(**parameter: object) -> float:
    """Check the level of an interval."""
    ((name, stated),) = parameter.items()
    if isinstance(stated, (int, float)) and 1 < stated < 100:
        raise InvalidValue(
            f"{name} must lie strictly between 0 and 1, got {stated!r}; for {stated:g}% write "
            f"{stated / 100:g}"
        )
    level = require.fraction(**parameter)
    if level > LARGEST_LEVEL:
        raise InvalidValue(f"{name} must be at most 0.999999, got {level!r}")
    return level


def require_intervals(intervals: Any) -> Intervals | None:
    """Read a request for intervals; None when there is none.

    A caller may write True for the defaults, a level such as 0.9, "data" or "population", or an
    `Intervals`.
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


class Interval(NamedTuple):
    """Two values, both included; None for an open end."""

    lower: Any
    upper: Any

    def holds(self, value: Any) -> bool:
        """Whether a value lies in it."""
        above = self.lower is None or self.lower <= value
        return bool(above and (self.upper is None or value <= self.upper))

    def __str__(self) -> str:
        if self.lower is None:
            return "any value" if self.upper is None else f"{self.upper} or less"
        return f"{self.lower} or more" if self.upper is None else f"{self.lower} to {self.upper}"


class Estimates(NamedTuple):
    """For each cut, the weight of the counts on its right, and how many have noise on each side.

    The counts on the left have the rest of the weight.
    """

    share: Floats
    left: Ints
    right: Ints


@dataclass(frozen=True, kw_only=True)
class MeasuredRanks:
    """Cuts, the noisy counts between them, and the rate of the noise; all of it is public.

    `lower` has, for each cut, the lower end of an interval that starts there, and `upper` the upper
    end of an interval that stops there. `ends` are the widest ends. None stands for an open end.
    `size` is the number of records where it is public. If missing records were left out, it
    includes them, and `missing` is their number with noise of the same rate.
    """

    requested: Intervals
    lower: tuple[Any, ...]
    upper: tuple[Any, ...]
    counts: tuple[int, ...]
    rate: float
    size: int | None
    ends: tuple[Any, Any]
    missing: int | None = None

    def interval(self, q: float, value: Any, wanted: Intervals) -> Interval:
        """The interval for one quantile, widened to include its answer."""
        lower, upper = self.ends
        if q > 0:
            below = self._lies(-1, q, wanted)
            lower = (lower, *self.lower)[_leading(below)]
        if q < 1:
            beyond = self._lies(1, q, wanted)
            upper = (upper, *reversed(self.upper))[_leading(beyond[::-1])]
        return Interval(
            None if lower is None else min(lower, value),
            None if upper is None else max(upper, value),
        )

    def _lies(self, side: int, q: float, wanted: Intervals) -> Flags:
        """For each cut, whether it surely lies below (-1) or above (1) the quantile."""
        estimates = self._estimates(q)
        margin, chance = 0.0, (1 - wanted.level) / 2
        if wanted.of == POPULATION:
            margin = self._sampling(q if side < 0 else 1 - q, chance)
            chance *= 1 - SAMPLING_SHARE
        return self._refuted(side * self._surplus(q, estimates.share) - margin, estimates, chance)

    def _refuted(self, beyond: Floats, estimates: Estimates, chance: float) -> Flags:
        """Where noise alone is this far off with at most this chance."""
        share, left, right = estimates
        bound = tails.log_noise_bound(beyond, rate=self.rate, left=left, right=right, share=share)
        surely: Flags = bound <= math.log(chance)
        for cut in np.flatnonzero(~surely & (beyond > 0)):
            surely[cut] = chance >= tails.noise_tail(
                float(beyond[cut]),
                rate=self.rate,
                left=int(left[cut]),
                right=int(right[cut]),
                share=float(share[cut]),
            )
        return surely

    @np.errstate(all="ignore")
    def _estimates(self, q: float) -> Estimates:
        """How L - q n is estimated for each cut.

        Where n is the public size less a noisy count of missing records, this count has no weight,
        that of a count on the right, or that of one on the left: what gives the least variance.
        """
        left = np.arange(1, len(self.counts))
        right = len(self.counts) - left
        if self.size is not None and self.missing is None:
            return Estimates(left / len(self.counts), left, right)
        if self.size is None:
            return Estimates(np.full(len(left), q), left, right)
        shares = np.array([[q], [q / 2], [(1 + q) / 2]])
        lefts, rights = left + np.array([[0], [0], [1]]), right + np.array([[0], [1], [0]])
        best = np.argmin((1 - shares) ** 2 * lefts + shares**2 * rights, axis=0)
        cuts = np.arange(len(left))
        return Estimates(shares[best, 0], lefts[best, cuts], rights[best, cuts])

    def _surplus(self, q: float, share: Floats) -> Floats:
        """Noisy L - q n for every cut, estimated from the counts on both sides of it."""
        left = self._cumulated[1:-1]
        right: Floats = self._cumulated[-1] - left
        if self.size is None:
            return np.asarray((1 - q) * left - q * right)
        n = self.size - (self.missing or 0)
        return np.asarray((1 - share) * left + share * (n - right) - q * n)

    @cached_property
    def _cumulated(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(np.array(self.counts, dtype=np.float64))])

    def _sampling(self, q: float, chance: float) -> float:
        """How far the rank of the population's quantile may lie from q n."""
        if self.size is not None and self.missing is None:
            return tails.sampling_margin(self.size, q, SAMPLING_SHARE * chance)
        counted, terms = sum(self.counts), len(self.counts)
        if self.size is not None:
            counted, terms = self.size - (self.missing or 0), 1
        off = tails.noise_margin(SIZE_SHARE * chance, rate=self.rate, terms=terms)
        most = max(0, counted + off)
        most = most if self.size is None else min(most, self.size)
        return tails.sampling_margin(most, q, (SAMPLING_SHARE - SIZE_SHARE) * chance) + 1

    def to_dict(self, kind: Kind) -> dict[str, object]:
        """Write the ranks as a plain dictionary."""

        def written(values: tuple[Any, ...]) -> list[object]:
            return [None if value is None else kind.to_json(value) for value in values]

        return {
            "level": self.requested.level,
            "of": self.requested.of,
            "lower": written(self.lower),
            "upper": written(self.upper),
            "counts": list(self.counts),
            "rate": self.rate,
            "size": self.size,
            "ends": written(self.ends),
            **({} if self.missing is None else {"missing": self.missing}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], kind: Kind) -> "MeasuredRanks":
        """Read the ranks that `to_dict` wrote."""

        def read(name: str) -> tuple[Any, ...]:
            return tuple(None if value is None else kind.from_json(value) for value in plain[name])

        first, last = read("ends")
        return cls(
            requested=Intervals(level=plain["level"], of=plain["of"]),
            lower=read("lower"),
            upper=read("upper"),
            counts=tuple(plain["counts"]),
            rate=plain["rate"],
            size=plain["size"],
            ends=(first, last),
            missing=plain.get("missing"),
        )


def _leading(flags: Flags) -> int:
    """How many flags are true before the first that is false."""
    return int(np.argmin(np.append(flags, False)))
