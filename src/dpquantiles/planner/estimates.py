"""Estimates of the rank errors of a mechanism, from many draws on made-up records."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid, GridFamily
from dpquantiles.intervals import Intervals
from dpquantiles.mechanisms import MECHANISMS, JointExp, registry
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.planner.reference import Reference, reference
from dpquantiles.privacy import Guarantee, Neighbors

Floats = NDArray[np.float64]

QUICK = ("joint_exp", "ind_exp")
"""Mechanisms whose draws on made-up records are quick."""

MOST_CELLS = 1 << 18
"""The most cells of a quick draw on a family of grids, which are real ones: about a second."""

LEVEL = 0.95
CAUTION = 2.5


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The expected rank errors of one mechanism, per quantile in the requested order."""

    mechanism: str
    expected: tuple[float, ...]
    """Mean errors, in ranks."""
    bound: tuple[float, ...]
    """Bounds on the errors that 95% of releases meet, for each quantile by itself, in ranks."""

    @property
    def mean(self) -> float:
        """The expected error, averaged over the quantiles."""
        return math.fsum(self.expected) / len(self.expected)

    @property
    def worst(self) -> float:
        """The largest bound."""
        return max(self.bound)


@lru_cache(maxsize=256)
def expected_errors(
    name: str,
    budget: Guarantee,
    q: tuple[float, ...],
    size: int,
    grid: Grid,
    intervals: Intervals | None = None,
) -> Estimate | None:
    """What a plan says about this very request; None where that would take long.

    A release states it, so it must be quick: about a tenth of a second, at most about one, and once
    for each request.
    """
    if not is_quick(name, q) or not size:
        return None
    mechanism = _answering(name, budget, tuple(sorted(set(q))), size, intervals)
    on_family = mechanism if isinstance(grid, GridFamily) else None
    if isinstance(on_family, JointExp) and on_family.cells(size, grid) > MOST_CELLS:
        return None
    return estimate(name, budget, q, reference("even", size, grid), None, intervals)


def is_quick(name: str, q: tuple[float, ...]) -> bool:
    """Whether a release has the time to state its own errors."""
    return name in QUICK and len(set(q)) <= registry.FEW


def estimate(
    name: str,
    budget: Guarantee,
    q: tuple[float, ...],
    view: Reference,
    draws: int | None = None,
    intervals: Intervals | None = None,
    *,
    sized: bool = True,
) -> Estimate:
    """The errors of one mechanism on a reference data set, from at most `draws` draws.

    With `sized` the number of records is public or stated. Without, a mechanism that needs it pays
    for it, but noise in that number is left out.
    """
    distinct = tuple(sorted(set(q)))
    if not sized:
        mechanism = registry.build(name, budget, q=distinct)
        if mechanism.buys_size:
            _, budget = budget.split(mechanism.profile.size_share)
    if sized or mechanism.buys_size:
        mechanism = _answering(name, budget, distinct, view.n, intervals)
    most = registry.REGISTERED[name].draws_for(len(mechanism.q))
    errors = simulated_errors(mechanism, view, most if draws is None else min(draws, most))
    errors = errors[:, np.searchsorted(np.sort(mechanism.q), distinct)]
    bounds = dict(zip(distinct, upper_points(errors).tolist(), strict=True))
    means = dict(zip(distinct, errors.mean(axis=0).tolist(), strict=True))
    return Estimate(
        mechanism=name,
        expected=tuple(means[x] for x in q),
        bound=tuple(bounds[x] for x in q),
    )


def _answering(
    name: str, budget: Guarantee, q: tuple[float, ...], size: int, intervals: Intervals | None
) -> Mechanism:
    """The mechanism that draws the answers; intervals add answers and take part of the budget."""
    swap = budget.neighbors is Neighbors.SWAP
    if intervals is None:
        stated = None if swap or not MECHANISMS[name].profile.uses_size else size
        return registry.build(name, budget, q=q, size=stated)
    stated = None if swap else size
    whole = Bracketed(mechanism=name, budget=budget, q=q, intervals=intervals, size=stated)
    return whole.answering(size)


def simulated_errors(mechanism: Mechanism, view: Reference, draws: int) -> Floats:
    """Row d has the rank errors of draw d, for the quantiles in ascending order."""
    steps = registry.REGISTERED[mechanism.name].simulate(mechanism, view, draws)
    return rank_errors(view, np.sort(mechanism.q), steps)


def rank_errors(view: Reference, q: Floats, steps: NDArray[np.int64]) -> Floats:
    """The rank errors of rows of answers.

    The error of an answer o for quantile q is the distance from q n to [#(x < o), #(x <= o)].
    """
    below, through = (counts.reshape(steps.shape) for counts in view.ranks(steps.ravel()))
    wanted = q * view.n
    return np.maximum(0.0, np.maximum(below - wanted, wanted - through))


def upper_points(errors: Floats) -> Floats:
    """The 95% point of every column, with its rank raised by `CAUTION` standard errors."""
    draws = len(errors)
    rank = draws * LEVEL + CAUTION * math.sqrt(draws * LEVEL * (1 - LEVEL))
    index = min(draws, math.ceil(rank)) - 1
    return np.asarray(np.sort(errors, axis=0)[index])
