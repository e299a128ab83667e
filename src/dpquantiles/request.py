"""A release as it is asked for: public parameters, checked once, and the mechanism they build."""

from dataclasses import dataclass, field, fields
from typing import Any

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, require_grid
from dpquantiles.intervals import Intervals
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.planner import AUTO, Choice, answers, choose
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.views.filled import MISSING_POLICIES


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
    intervals: Intervals | None = None
    _usual: Mechanism | Bracketed = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", require.pair(bounds=self.bounds))
        if self.grid is not None:
            require_grid(self.grid, self.bounds, self.resolution)
        object.__setattr__(self, "missing", self._missing_policy())
        require.choice((AUTO, *registry.MECHANISMS), mechanism=self.mechanism)
        usual = JointExp.name if self.mechanism == AUTO else self.mechanism
        object.__setattr__(self, "_usual", self._built(usual))

    def _missing_policy(self) -> Any:
        swap = self.budget.neighbors is Neighbors.SWAP
        if self.missing is None:
            return "upper" if swap else "drop"
        if isinstance(self.missing, str):
            require.choice(MISSING_POLICIES, missing=self.missing)
            if swap and self.missing == "drop":
                raise InvalidValue(
                    "missing='drop' would show how many records are missing, which swap neighbors "
                    "do not protect; use 'lower', 'upper' or a value, or neighbors='add-remove'"
                )
        return self.missing

    def build(self, name: str | None = None) -> Mechanism | Bracketed:
        """The named mechanism for the distinct quantiles, in ascending order.

        Without a name it is the one asked for, or the usual one where the choice is left to us.
        """
        usual = JointExp.name if self.mechanism == AUTO else self.mechanism
        if name is None or name == usual:
            return self._usual
        return self._built(name)

    def _built(self, name: str) -> Mechanism | Bracketed:
        distinct = tuple(sorted(set(self.q)))
        if self.intervals is not None:
            return Bracketed(
                mechanism=name,
                budget=self.budget,
                q=distinct,
                intervals=self.intervals,
                size=self.size,
            )
        return registry.build(name, self.budget, q=distinct, size=self.size)

    def choice(self, n: int, grid: Grid) -> Choice:
        """The mechanism and why; n counts only where the number of records is public."""
        if self.mechanism != AUTO:
            return Choice(self.mechanism, "asked for")
        size = n if self.budget.neighbors is Neighbors.SWAP else self.size
        return choose(self.budget, answers(self.q, self.intervals), size, grid)

    def without_intervals(self, name: str | None = None) -> Mechanism:
        """The mechanism for groups and units, around whose answers there are no intervals."""
        mechanism = self.build(name)
        if isinstance(mechanism, Bracketed):
            raise InvalidValue("intervals must be left out with by and with unit, got both")
        return mechanism

    def describe(self) -> dict[str, object]:
        """The public parameters beside the budget, as plain values."""
        stated = (known.name for known in fields(self) if known.init and known.name != "budget")
        return {name: plain(getattr(self, name)) for name in stated}


def plain(value: Any) -> object:
    """A public parameter as a value that a ledger can write down."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Grid):
        return value.describe()
    return value if value is None or type(value) in (bool, int, float, str) else str(value)
