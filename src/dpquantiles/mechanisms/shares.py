"""One budget in equal shares: what mechanisms made of several JointExps have in common.

A mechanism of this kind runs in `parts` rounds, one after the other, and every round costs the same
range of privacy loss, `each`. As pure privacy the rounds add up to

    epsilon = parts * each                                                                     (1)

and as concentrated privacy, because a round is a mechanism of bounded range, to

    rho = parts * rho_BR(each),  rho_BR as in `bounded_range_rho`.                             (2)

Under add-remove neighbors without a public size a private count is bought first (`count.py`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.mechanisms.count import BELOW, COUNT_SHARE, bought
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.law import Law, Profile, released
from dpquantiles.privacy import (
    ZCDP,
    Guarantee,
    Neighbors,
    PureDP,
    bounded_range_eta,
    bounded_range_rho,
)
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

CANCELED = 1 - 2.0**-39
"""As `BELOW`, where `bounded_range_rho` cancels: it is not monotone beyond its twelfth digit."""


@dataclass(frozen=True, kw_only=True)
class Shares(ABC):
    """Quantiles, a budget, neighbors and a public size, with the meaning they have in JointExp."""

    name: ClassVar[str]
    profile: ClassVar[Profile]
    q: tuple[float, ...]
    epsilon: float
    neighbors: str = Neighbors.SWAP
    size: int | None = None

    def __post_init__(self) -> None:
        checked = JointExp(q=self.q, epsilon=self.epsilon, neighbors=self.neighbors, size=self.size)
        for field in ("q", "epsilon", "neighbors", "size"):
            object.__setattr__(self, field, getattr(checked, field))

    @classmethod
    @abstractmethod
    def within(cls, budget: Guarantee, *, q: tuple[float, ...], size: int | None = None) -> Self:
        """The mechanism that spends this budget."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What every release promises."""

    @property
    @abstractmethod
    def each(self) -> float:
        """The range of privacy loss of one round."""

    @abstractmethod
    def demand(self, n: int, grid: Grid) -> Demand:
        """What it will ask of a view."""

    @abstractmethod
    def law(self, view: SortedView) -> Law:
        """The exact distribution of the answers, given a public size."""

    def public_size(self, n: int) -> int:
        """nu: n where it is public, else the stated or bought size."""
        if self.neighbors is Neighbors.SWAP:
            return n
        if self.size is None:
            raise InvalidValue(
                "size must be given for the law under add-remove neighbors; "
                "without it only release() works, which buys a private count first"
            )
        return self.size

    def sized(self, n: int, bits: Bits) -> Self:
        """This mechanism with its public size settled, bought by a private count where needed."""
        if self.neighbors is Neighbors.SWAP or self.size is not None:
            return self
        size, rest = bought(self.guarantee, n, bits)
        return self.within(rest, q=self.q, size=size)

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
        sized = self.sized(view.n, bits)
        share = {} if sized is self else {"size_share": COUNT_SHARE}
        values = sized.law(view).draw(bits)
        return released(self, view, bits, values, size=sized.public_size(view.n), **share)


@dataclass(frozen=True, kw_only=True)
class EvenShares(Shares):
    """Shares of a pure or a concentrated budget; `epsilon` is the sum (1) in either case."""

    stated_as: str = PureDP.kind

    def __post_init__(self) -> None:
        super().__post_init__()
        require.choice((PureDP.kind, ZCDP.kind), stated_as=self.stated_as)

    @staticmethod
    @abstractmethod
    def parts(m: int) -> int:
        """The number of rounds for m quantiles."""

    @property
    def each(self) -> float:
        return self.epsilon / self.parts(len(self.q)) * BELOW

    @classmethod
    def within(cls, budget: Guarantee, *, q: tuple[float, ...], size: int | None = None) -> Self:
        """Spends epsilon as it is; of a rho, as much per round as its exact price allows."""
        neighbors = budget.neighbors
        if isinstance(budget, ZCDP):
            parts = cls.parts(len(require.quantiles(q=q)))
            epsilon = parts * bounded_range_eta(budget.rho / parts * CANCELED)
            return cls(q=q, epsilon=epsilon, neighbors=neighbors, size=size, stated_as=ZCDP.kind)
        return cls(q=q, epsilon=budget.epsilon, neighbors=neighbors, size=size)

    @property
    def guarantee(self) -> Guarantee:
        """(1), or (2)."""
        neighbors = Neighbors(self.neighbors)
        if self.stated_as == ZCDP.kind:
            rho = self.parts(len(self.q)) * bounded_range_rho(self.each)
            return ZCDP(rho=rho, neighbors=neighbors)
        return PureDP(epsilon=self.epsilon, neighbors=neighbors)
