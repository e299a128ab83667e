"""Numbers with 95% confidence intervals, from errors of trials, and what they say of a claim."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Means = Mapping[Any, Floats]
Statistic = Callable[[Means], Floats]

RESAMPLES = 2000
LEVEL = 0.95
SEED = 2021


class Measured(NamedTuple):
    """A number and its 95% confidence interval; a number without noise has no width."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Measured":
        """A number that was computed and not sampled."""
        return cls(value, value, value)


def bootstrapped(errors: Mapping[Any, Floats], statistic: Statistic) -> Measured | None:
    """A function of mean errors, with the percentile interval over resampled trials.

    Trial k has the same records for all contenders, so that all errors of a trial are taken or
    left together. `errors` maps a name to an array with one line per trial; the statistic gets the
    means under the same names, one line for each resample, and gives one number for each.
    """
    count = min((len(lines) for lines in errors.values()), default=0)
    if count == 0:
        return None
    rng = np.random.default_rng(SEED)
    draws = rng.multinomial(count, np.full(count, 1 / count), RESAMPLES)
    weights = np.vstack([np.ones(count), draws]) / count
    means = {name: weights @ lines[:count] for name, lines in errors.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        return _interval(statistic(means))


def median_ratio(
    over: Sequence[float] | Floats, under: Sequence[float] | Floats
) -> Measured | None:
    """The ratio of two medians of times."""
    if not len(over) or not len(under):
        return None
    rng = np.random.default_rng(SEED)
    return _interval(_medians(rng, over) / _medians(rng, under))


def _medians(rng: np.random.Generator, values: Sequence[float] | Floats) -> Floats:
    """The median itself, and those of resamples."""
    picked = rng.choice(values, (RESAMPLES, len(values)))
    return np.concatenate([[np.median(values)], np.median(picked, axis=1)])


def mean_of(values: Sequence[float] | Floats) -> Measured | None:
    """A mean of few numbers, with the bootstrap interval."""
    column = np.asarray(values, dtype=np.float64)[:, None]
    return bootstrapped({"": column}, lambda means: means[""][:, 0])


def share_of(hits: int, total: int) -> Measured | None:
    """A share, with Wilson's interval."""
    if total == 0:
        return None
    z, share = 1.959964, hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    reach = z / (1 + z * z / total)
    half = reach * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Measured(share, min(share, middle - half), max(share, middle + half))


def _interval(found: Floats) -> Measured | None:
    """The first number, and the middle of the others; an error of zero makes some of them none."""
    others = found[1:][~np.isnan(found[1:])]
    if not np.isfinite(found[0]) or not len(others):
        return None
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(others, [tail, 100 - tail], method="inverted_cdf")
    return Measured(float(found[0]), float(min(low, found[0])), float(max(high, found[0])))


HOLDS, FAILS, BETTER = "holds", "does not hold", "better"


class Accepted(NamedTuple):
    """The numbers with which a sentence is true, and the side on which more would be better."""

    low: float
    high: float
    better: str = ""

    def verdict(self, measured: Measured) -> str:
        """It holds if the confidence interval meets the accepted numbers."""
        if measured.high >= self.low and measured.low <= self.high:
            return HOLDS
        side = "above" if measured.low > self.high else "below"
        return BETTER if side == self.better else FAILS
