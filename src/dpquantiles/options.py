"""The options of a release, for type checkers; `api.quantiles` explains them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Required, TypedDict

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.intervals import AskedIntervals
from dpquantiles.planner import AskedMechanism
from dpquantiles.privacy import NeighborsName

if TYPE_CHECKING:
    from dpquantiles.ledger import Ledger


class CommonOptions(TypedDict, total=False):
    """Options that are the same with and without groups."""

    unit: str | None
    max_rows_per_unit: int | None
    epsilon: float | None
    delta: float | None
    rho: float | None
    bounds: tuple[Any, Any] | None
    resolution: Any
    grid: Grid | None
    neighbors: NeighborsName
    missing: Any
    mechanism: AskedMechanism
    rng: Bits | None
    ledger: "Ledger | None"
    dataset: str | None
    part: str | None
    request_id: str | None


class Options(CommonOptions, total=False):
    """The options of a release without groups."""

    column: str | None
    by: None
    min_size: None
    size: int | None
    intervals: AskedIntervals


class GroupOptions(CommonOptions, total=False):
    """The options of a release by group."""

    column: Required[str]
    by: Required[str | Iterable[str]]
    keys: Any
    size: int | Mapping[Any, int] | None
    min_size: int | None
    intervals: AskedIntervals
