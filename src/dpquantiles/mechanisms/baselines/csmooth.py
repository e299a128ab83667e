"""CSmooth: each quantile by itself, with noise scaled to its smooth sensitivity.

Gillenwater, Joseph, Kulesza, "Differentially Private Quantiles" (arXiv 2102.08244), Section 4 and
appendix: the smooth sensitivity of Nissim, Raskhodnikova and Smith (STOC 2007) with the noise of
Bun and Steinke, "Average-Case Averages" (arXiv 1906.02830v1). Proof: `csmooth.md` beside this file.

    sensitivity   S(X) = max over i <= j <= l of (x_l - x_i) exp(-t max(l - i - 1, 0))         (1)
    window        S~(X) = max(S(X), (b - a) exp(-t W)),  which needs W records on each side     (2)
    answer        x_j + S~(X) / s * Z,   Z = Laplace(1) * exp(sigma * Normal(0, 1))             (3)
    price         rho = epsilon^2 / 2,   epsilon = t / sigma + exp(1.5 sigma^2) s              (4)
    given t       sigma^3 - (t / epsilon) sigma^2 - t / (5 epsilon) = 0, the one real root,     (5)
                  s = exp(-1.5 sigma^2) (epsilon - t / sigma) = exp(-1.5 sigma^2) t / (5 sigma^3)

Each of m quantiles costs rho / m. The parameter t is tuned for the least variance of (3) on normal
order statistics, never on the records (`tuned_smoothness`). The paper tunes it on random normal
records. Sorting, clamping and rounding to the grid are post-processing. Lengths are measured in
steps, so the grid must be evenly spaced; its ends are the bounds a and b.

Research only, under swap neighbors only. (4) is valid for real numbers, but the noise is drawn in
floating point, where gaps between numbers depend on their size. Rounding to the grid hides most of
this, but there is no proof that it hides enough.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar, NamedTuple

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import FloatGrid, Grid, finest
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.smooth import Ints, laplace, normal, smooth_sensitivity
from dpquantiles.kernels.struck import struck_below
from dpquantiles.mechanisms.mechanism import Mechanism, Profile, values_in_order
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView
from dpquantiles.views.protocol import merged

FINENESS = 1024
"""The constant of (2) is at most one step divided by this, which rounding hides."""

TUNING_RECORDS = 1000
TUNING_BOUND = 100.0
TUNING_STEPS = 2.0**30
TRIED = np.geomspace(1e-2, 10.0, 60)
"""The values of t / epsilon that are tried."""

LARGEST_SMOOTHNESS = 3.0
"""A larger t gains nothing: each record already fades by a factor of 20."""


class Noise(NamedTuple):
    """The parameters of (3) for one quantile."""

    t: float
    sigma: float
    log_s: float

    @classmethod
    def of(cls, epsilon: float, t: float) -> "Noise":
        """The parameters by both lines of (5)."""
        sigma = float(shape(t / epsilon))
        return cls(t, sigma, math.log(t / 5) - 3 * math.log(sigma) - 1.5 * sigma**2)

    def draw(self, bits: Bits) -> float:
        """Z / s, in units of the smooth sensitivity."""
        return laplace(bits) * math.exp(min(self.sigma * normal(bits) - self.log_s, 600.0))


class Window(NamedTuple):
    """The window (2) of one quantile; rank 0 is the lower end of the grid, rank n + 1 the upper."""

    first: int
    rank: int
    last: int
    least: float
    noise: Noise

    def records(self, n: int) -> range:
        """The positions of its records."""
        return range(max(0, self.first - 1), min(n, self.last))


def shape(ratio: float | Floats) -> Floats:
    """The real root of (5) for t / epsilon, by Cardano's formula; both terms are positive."""
    cube = np.asarray(ratio, dtype=np.float64) ** 3 / 27
    tenth = np.asarray(ratio, dtype=np.float64) / 10
    root = np.cbrt(cube + tenth + np.sqrt(tenth * (2 * cube + tenth)))
    return np.asarray(root + cube ** (2 / 3) / root + ratio / 3)


@lru_cache(maxsize=4096)
def tuned_smoothness(epsilon: float, depth: int) -> float:
    """The t with the least variance of (3) for the `depth`-th of 1000 normal order statistics.

    It uses public numbers only: epsilon per quantile, and the number of records between the
    quantile and the nearer end. Any t is private; this one is accurate on bell-shaped data.
    """
    center = min(depth, TUNING_RECORDS // 2)
    tried = np.minimum(epsilon * TRIED, LARGEST_SMOOTHNESS)
    sensitivities = [smooth_sensitivity(_normal_records(), center, t) for t in tried.tolist()]
    sigma = shape(tried / epsilon)
    log_deviation = np.log(sensitivities) + 2.5 * sigma**2 + 3 * np.log(sigma) - np.log(tried)
    return float(tried[np.argmin(log_deviation)])


@lru_cache(maxsize=1)
def _normal_records() -> Ints:
    """The quantiles (k - 1/2) / 1000 of N(0, 1) between bounds of -100 and 100, as steps."""
    ranks = (np.arange(TUNING_RECORDS) + 0.5) / TUNING_RECORDS
    inner = [NormalDist().inv_cdf(rank) for rank in ranks.tolist()]
    numbers = np.array([-TUNING_BOUND, *inner, TUNING_BOUND])
    return np.rint((numbers + TUNING_BOUND) * TUNING_STEPS).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class CSmooth(Mechanism):
    """Quantiles `q` at total cost rho, as the paper compares them; research only.

    `smoothness` is t for all quantiles; None uses the tuned value for each.
    """

    name: ClassVar[str] = "csmooth"
    profile: ClassVar[Profile] = Profile(
        kinds=("concentrated",),
        neighbors=("swap",),
        cost="m W log W, W about 40 / t records",
        when="Only to reproduce a comparison in the paper.",
        needs_bounds=True,
        research_only=True,
    )
    smoothness: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smoothness is not None:
            t = require.positive(smoothness=self.smoothness)
            if t > LARGEST_SMOOTHNESS:
                raise InvalidValue(f"smoothness must be at most {LARGEST_SMOOTHNESS:g}, got {t!r}")
            object.__setattr__(self, "smoothness", t)

    @property
    def epsilon(self) -> float:
        """The epsilon of (4) for each quantile."""
        return self.budget.divided(len(self.q)).noise_rate

    def demand(self, n: int, grid: Grid, missing: int = 0) -> Demand:
        """The records of the windows of (2) around every quantile."""
        _require_even_spacing(grid)
        runs = [window.records(n) for window in self._windows(n, grid.size, missing)]
        return Demand(runs=merged(sorted(runs, key=lambda run: run.start)))

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
        _require_even_spacing(view.grid)
        windows = self._windows(view.n, view.grid.size, self.left_out(view))
        answers = [_answer(view, window, bits) for window in windows]
        order = np.argsort(self.q, kind="stable")
        values = values_in_order(view.grid, np.sort(answers), order)
        return self.released(view, bits, values, size=self.counted(view))

    def _windows(self, n: int, points: int, missing: int = 0) -> list[Window]:
        """The windows of (2) for ascending q."""
        return [self._window(q, n, points, missing) for q in sorted(self.q)]

    def _window(self, q: float, n: int, points: int, missing: int = 0) -> Window:
        size = n + missing
        place = max(1, min(math.ceil(q * size), size))
        t = self.smoothness or tuned_smoothness(self.epsilon, max(1, min(place, size + 1 - place)))
        width = math.ceil(math.log(FINENESS * points) / t)
        # Only the rank depends on how many records are missing; t and the width are public.
        struck = struck_below(*np.array([place, size, missing]))
        rank = max(1, place - int(struck))
        first, last = max(0, rank - width), min(n + 1, rank + width)
        least = (points - 1) * math.exp(-t * width)
        return Window(first, rank, last, least, Noise.of(self.epsilon, t))


def _require_even_spacing(grid: Grid) -> None:
    if isinstance(finest(grid), FloatGrid):
        raise InvalidValue(
            "bounds must be given for csmooth, whose noise is scaled to the range, got a grid "
            "without bounds; joint_exp and above_threshold work without bounds"
        )


def _answer(view: SortedView, window: Window, bits: Bits) -> int:
    """Draw (3) for one quantile, clamped and rounded."""
    top, noise, center = view.grid.size - 1, window.noise, window.rank - window.first
    ends = [0] * (window.first == 0), [top] * (window.last > view.n)
    inner = np.array(window.records(view.n), dtype=np.int64)
    records = np.concatenate([ends[0], view.order_statistics(inner), ends[1]]).astype(np.int64)
    scale = max(smooth_sensitivity(records, center, noise.t), window.least)
    noisy = float(records[center]) + scale * noise.draw(bits)
    return min(max(round(noisy), 0), top)
