"""The one place where all meet: public parameters are settled, then data are read, then drawn."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid, default_grid
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.law import Mechanism
from dpquantiles.planner import AUTO, Choice, choose
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.release import Release
from dpquantiles.sources import memory
from dpquantiles.views import ArrayView
from dpquantiles.views.array import MISSING_POLICIES


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release as it is asked for: public parameters only, checked once."""

    q: tuple[float, ...]
    budget: Guarantee
    bounds: tuple[Any, Any] | None = None
    resolution: Any = None
    grid: Grid | None = None
    size: int | None = None
    missing: Any = None
    mechanism: str = AUTO

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _pair(self.bounds))
        if self.grid is not None:
            self._check_grid()
        object.__setattr__(self, "missing", self._missing_policy())
        require.choice((AUTO, *registry.MECHANISMS), mechanism=self.mechanism)
        self.build(JointExp.name if self.mechanism == AUTO else self.mechanism)

    def _check_grid(self) -> None:
        if not isinstance(self.grid, Grid):
            raise TypeError(
                "grid must be a grid, such as UniformGrid(0, 100) or FloatGrid(), "
                f"got {require.shown(self.grid)}"
            )
        if self.bounds is not None or self.resolution is not None:
            raise ValueError("grid must stand alone, got bounds or resolution beside it")

    def _missing_policy(self) -> Any:
        swap = self.budget.neighbors is Neighbors.SWAP
        if self.missing is None:
            return "upper" if swap else "drop"
        if isinstance(self.missing, str):
            require.choice(MISSING_POLICIES, missing=self.missing)
            if swap and self.missing == "drop":
                raise ValueError(
                    "missing='drop' would show how many records are missing, which swap neighbors "
                    "do not protect; use 'lower', 'upper' or a value, or neighbors='add-remove'"
                )
        return self.missing

    def build(self, name: str) -> Mechanism:
        """The named mechanism for the distinct quantiles, in ascending order."""
        distinct = tuple(sorted(set(self.q)))
        mechanism: Mechanism = registry.build(name, self.budget, q=distinct, size=self.size)
        return mechanism

    def choice(self, n: int, grid: Grid) -> Choice:
        """The mechanism and why; n counts only where the number of records is public."""
        if self.mechanism != AUTO:
            return Choice(self.mechanism, "asked for")
        size = n if self.budget.neighbors is Neighbors.SWAP else self.size
        return choose(self.budget, len(set(self.q)), size, grid)


def _pair(bounds: Any) -> tuple[Any, Any]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise TypeError(
            f"bounds must be a pair (lower, upper), got {require.shown(bounds)}"
        ) from None
    return lower, upper


@np.errstate(all="ignore")
def run(data: Any, request: Request, bits: Bits) -> Release:
    """Read, draw, and hand back the answers in the order asked.

    What NumPy says about overflow or underflow depends on the data, so the caller's own settings
    must not turn it into a warning or an error.
    """
    stated = None if request.grid is None else request.grid.kind
    values, kind = memory.read(data, stated)
    grid = request.grid or default_grid(kind, request.bounds, request.resolution)
    view = ArrayView(values, grid, missing=request.missing)
    choice = request.choice(view.n, grid)
    release = request.build(choice.mechanism).release(view, bits)
    answers = dict(zip(release.q, release.values, strict=True))
    return replace(
        release,
        q=request.q,
        values=tuple(answers[q] for q in request.q),
        provenance={**release.provenance, "choice": choice.why},
    )
