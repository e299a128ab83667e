"""What every mechanism offers: public numbers in, a law and one draw from it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.privacy import PureDP
from dpquantiles.release import Release
from dpquantiles.views import SortedView


class Law(Protocol):
    """The distribution of a mechanism's answers on given data."""

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released."""

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""


class Mechanism(Protocol):
    """A frozen set of public numbers that turns a sorted view into a release."""

    name: ClassVar[str]

    @property
    def guarantee(self) -> PureDP:
        """What every release promises."""

    def demand(self, n: int, grid: Grid | None = None) -> tuple[range, ...]:
        """Positions of the sorted records that it will ask for, as ascending disjoint runs."""

    def law(self, view: SortedView) -> Law:
        """The exact distribution of its answers."""

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
