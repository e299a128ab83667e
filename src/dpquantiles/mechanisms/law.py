"""What every mechanism offers: public numbers in, a law where one is known, and one draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView


class Law(Protocol):
    """The distribution of a mechanism's answers on given data."""

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released."""

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a mechanism can do, for people and programs that choose one."""

    kinds: tuple[str, ...]
    """Budgets that it can meet: "pure", "approximate", "concentrated"."""
    neighbors: tuple[str, ...]
    cost: str
    """Time after selection, in m quantiles, n records and the reach R."""
    when: str
    """One line on when to use it."""
    needs_bounds: bool = False
    uses_size: bool = True
    """Whether add-remove neighbors want a public size, stated or bought."""
    size_share: float = COUNT_SHARE
    """The share of a budget that buys it."""
    research_only: bool = False


class Mechanism(Protocol):
    """A frozen set of public numbers that turns a sorted view into a release."""

    name: ClassVar[str]
    profile: ClassVar[Profile]

    @property
    def q(self) -> tuple[float, ...]:
        """The quantiles, in the order of the answers."""

    @classmethod
    def within(cls, budget: Guarantee, *, q: tuple[float, ...], size: int | None = None) -> Self:
        """The mechanism that spends this budget, of a kind that its profile names."""

    @property
    def guarantee(self) -> Guarantee:
        """What every release promises."""

    def demand(self, n: int, grid: Grid) -> Demand:
        """What it will ask of a view."""

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""


def require_size(size: int | None, neighbors: Neighbors) -> int | None:
    """A public number of records, which add-remove neighbors leave to be stated, or None."""
    if size is None:
        return None
    if neighbors is Neighbors.SWAP:
        raise InvalidValue(
            "size must be left out under swap neighbors, where the number of records is public, "
            f"got {size!r}; for a protected number of records use neighbors='add-remove'"
        )
    return require.count(size=size)


def steps_of(grid: Grid, values: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Answers as the steps that they stand for, for a law to be asked about; `count` of them."""
    if len(values) != count:
        raise InvalidValue(f"values must be {count} answers, got {len(values)}")
    numbers = [grid.kind.number(value, "values") for value in values]
    steps = grid.encode(np.array(numbers))
    if [grid.kind.number(value, "values") for value in grid.decode(steps)] != numbers:
        raise InvalidValue("values must be points of the grid")
    return steps


def released(
    mechanism: Mechanism,
    view: SortedView,
    bits: Bits,
    values: Sequence[Any],
    **provenance: object,
) -> Release:
    """Answers as a release; seeded bits give one without a guarantee.

    `provenance` must hold public numbers only: under add-remove not the number of records.
    """
    private = entropy.is_private(bits)
    return Release(
        values=tuple(values),
        q=mechanism.q,
        guarantee=mechanism.guarantee if private else None,
        mechanism=mechanism.name,
        type=view.grid.kind.name,
        note="" if private else entropy.SEEDED_NOTE,
        provenance={
            "budget": mechanism.guarantee.to_dict(),
            "grid": view.grid.describe(),
            **provenance,
        },
    )
