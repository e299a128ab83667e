"""The one place where all meet: public parameters are settled, then data are read, then drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid, default_grid
from dpquantiles.ledger import Ledger
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.law import Mechanism
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.privacy.spending import held
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
    mechanism: str = "joint_exp"

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _pair(self.bounds))
        if self.grid is not None:
            self._check_grid()
        object.__setattr__(self, "missing", self._missing_policy())
        self.build()

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

    def build(self) -> Mechanism:
        """The mechanism for the distinct quantiles, in ascending order."""
        distinct = tuple(sorted(set(self.q)))
        mechanism: Mechanism = registry.build(
            self.mechanism, self.budget, q=distinct, size=self.size
        )
        return mechanism

    def describe(self) -> dict[str, object]:
        """The public parameters beside the budget, as plain values."""
        stated = (name.name for name in fields(self) if name.name != "budget")
        return {name: _plain(getattr(self, name)) for name in stated}


def _plain(value: Any) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Grid):
        return value.describe()
    return value if value is None or type(value) in (bool, int, float, str) else str(value)


@dataclass(frozen=True, kw_only=True)
class Account:
    """Where a release is charged: a data set of a ledger, or one of its disjoint parts."""

    ledger: Ledger
    dataset: str
    part: str | None = None
    request_id: str | None = None
    about: Mapping[str, object] = field(default_factory=dict)
    """What else must be the same when the request is repeated."""

    def __post_init__(self) -> None:
        if not isinstance(self.ledger, Ledger):
            raise TypeError(
                "ledger must be a Ledger, such as Ledger('budget.db'), got "
                f"{require.shown(self.ledger)}"
            )


def _pair(bounds: Any) -> tuple[Any, Any]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise TypeError(
            f"bounds must be a pair (lower, upper), got {require.shown(bounds)}"
        ) from None
    return lower, upper


def run(data: Any, request: Request, bits: Bits, account: Account | None = None) -> Release:
    """Charge, read, draw, record, and hand back the answers in the order asked."""
    if account is None:
        return _draw(data, request, bits)
    return charged(account, request, bits, lambda granted: _draw(data, granted, bits))


def charged(
    account: Account, request: Request, bits: Bits, draw: Callable[[Request], Release]
) -> Release:
    """The release that `draw` makes once the request was charged; one made before is returned.

    The ledger counts the digits of the budget, so the request is run with the doubles just below.
    What it then promises is stated for the budget as asked, which is no less.
    """
    if not entropy.is_private(bits):
        raise ValueError(
            "rng must be left out when a ledger is charged: a seeded release has no guarantee"
        )
    promised = request.build().guarantee
    granted = replace(request, budget=held(request.budget))
    return account.ledger.release(
        request.budget,
        lambda: replace(draw(granted), guarantee=promised),
        dataset=account.dataset,
        part=account.part,
        request_id=account.request_id,
        parameters={**request.describe(), **account.about},
    )


@np.errstate(all="ignore")
def _draw(data: Any, request: Request, bits: Bits) -> Release:
    """Read, draw, and put the answers in the order asked.

    What NumPy says about overflow or underflow depends on the data, so the caller's own settings
    must not turn it into a warning or an error.
    """
    stated = None if request.grid is None else request.grid.kind
    values, kind = memory.read(data, stated)
    grid = request.grid or default_grid(kind, request.bounds, request.resolution)
    view = ArrayView(values, grid, missing=request.missing)
    release = request.build().release(view, bits)
    answers = dict(zip(release.q, release.values, strict=True))
    return replace(release, q=request.q, values=tuple(answers[q] for q in request.q))
