"""The base class of all mechanisms, their profiles, and the laws of their answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.struck import struck_below
from dpquantiles.mechanisms.count import COUNT_SHARE, PrivateCount
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.privacy.guarantees import IN_WORDS
from dpquantiles.results import Release
from dpquantiles.views import Demand, SortedView

MOST_PERMUTED = 16
"""The most answers for a sum over permutations, whose cost is 2**m."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The abilities of a mechanism, for people and programs that choose one."""

    kinds: tuple[str, ...]
    """The kinds of budgets that it can meet: "pure", "approximate", "concentrated"."""
    neighbors: tuple[str, ...]
    cost: str
    """The time after selection, for m quantiles, n records and reach R."""
    when: str
    """One sentence on when to use it, for people who do not know how it works."""
    needs_bounds: bool = False
    uses_size: bool = True
    """Whether it needs a public size, stated or bought, under add-remove neighbors."""
    size_share: float = COUNT_SHARE
    """The share of a budget that buys the size."""
    research_only: bool = False

    def objection(self, name: str, budget: Guarantee) -> str:
        """Why the mechanism of this name cannot meet a budget; empty if it can."""
        if budget.kind not in self.kinds:
            possible = " or ".join(IN_WORDS[kind] for kind in self.kinds)
            return (
                f"mechanism must work with a budget of {IN_WORDS[budget.kind]}, got {name!r}, "
                f"which needs {possible}"
            )
        if budget.neighbors not in self.neighbors:
            return (
                f"mechanism must support neighbors {str(budget.neighbors)!r}, got {name!r}, which "
                f"supports {_listed(self.neighbors)}"
            )
        return ""

    def spent(self, budget: Guarantee) -> Guarantee:
        """The part of a budget that the mechanism spends: no delta unless it needs one."""
        stated = budget.without_delta if PureDP.kind in self.kinds else budget
        return replace(stated, research_only=self.research_only, unit=None, within=())


def _listed(options: tuple[str, ...]) -> str:
    return ", ".join(repr(str(option)) for option in options)


def require_size(size: int | None, neighbors: Neighbors) -> int | None:
    """Check a public number of records, which may be stated only under add-remove neighbors."""
    if size is None:
        return None
    if neighbors is Neighbors.SWAP:
        raise InvalidValue(
            "size must be left out under swap neighbors, where the number of records is public, "
            f"got {size!r}; for a protected number of records use neighbors='add-remove'"
        )
    return require.count(size=size)


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """Quantiles `q` within a budget.

    `size` is the public number of records under add-remove neighbors. A mechanism that needs it
    and is given none buys one with a share of the budget.
    """

    name: ClassVar[str]
    profile: ClassVar[Profile]
    q: tuple[float, ...]
    budget: Guarantee
    size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", require.quantiles(q=self.q))
        if not isinstance(self.budget, (PureDP, ApproxDP, ZCDP)):
            raise InvalidType(
                "budget must be a PureDP, an ApproxDP or a ZCDP, such as PureDP(epsilon=1), got "
                f"{require.shown(self.budget)}"
            )
        objection = self.profile.objection(self.name, self.budget)
        if objection:
            raise InvalidValue(objection)
        object.__setattr__(self, "budget", self.profile.spent(self.budget))
        object.__setattr__(self, "size", self._checked_size())

    def _checked_size(self) -> int | None:
        """The stated size, if there is one and it may be stated."""
        if self.size is not None and not self.profile.uses_size:
            raise InvalidValue(f"size must be left out: no public size is used, got {self.size!r}")
        return require_size(self.size, self.neighbors)

    @property
    def neighbors(self) -> Neighbors:
        """The neighbors that the budget refers to."""
        return self.budget.neighbors

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of every release."""
        return self.budget

    @property
    def buys_size(self) -> bool:
        """Whether a release buys the number of records."""
        protected = self.neighbors is Neighbors.ADD_REMOVE
        return protected and self.profile.uses_size and self.size is None

    def left_out(self, view: SortedView) -> int:
        """How many missing records were left out that the public number of records includes."""
        return (view.missing or 0) if self.neighbors is Neighbors.SWAP else 0

    def counted(self, view: SortedView) -> int:
        """The number of records, with missing ones where the public number includes them."""
        return view.n + self.left_out(view)

    def public_size(self, n: int) -> int:
        """The number of all records if it is public, else the stated size."""
        if self.neighbors is Neighbors.SWAP:
            return n
        if self.size is None:
            raise InvalidValue(
                "size must be given for the law under add-remove neighbors; "
                "without it only release() works, which buys a private count first"
            )
        return self.size

    @abstractmethod
    def demand(self, n: int, grid: Grid) -> Demand:
        """What the mechanism will read from a view."""

    @abstractmethod
    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""

    def released(
        self, view: SortedView, bits: Bits, values: Sequence[Any], **provenance: object
    ) -> Release:
        """Make a release of answers; seeded bits give one without a guarantee.

        `provenance` must contain public numbers only. Under add-remove neighbors, the number of
        records is not one of them.
        """
        private = entropy.is_private(bits)
        return Release(
            values=tuple(values),
            q=self.q,
            guarantee=self.guarantee if private else None,
            mechanism=self.name,
            type=view.grid.kind.name,
            note="" if private else entropy.SEEDED_NOTE,
            provenance={
                "budget": self.guarantee.to_dict(),
                "grid": view.grid.describe(),
                **provenance,
            },
        )


class Law(Protocol):
    """The distribution of a mechanism's answers on a given data set."""

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability that exactly these values are released."""

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""


class WithLaw(Mechanism):
    """A mechanism that knows the law of its answers, and draws from it."""

    @abstractmethod
    def law(self, view: SortedView) -> Law:
        """The exact distribution of the answers, given a public size."""

    def priced(self, size: int = 0) -> tuple[PrivateCount, Self]:
        """The private count that buys a size, and this mechanism with the rest of the budget."""
        count, rest = self.budget.split(self.profile.size_share)
        return PrivateCount(budget=count), replace(self, budget=rest, size=size)

    def sized(self, view: SortedView, bits: Bits) -> Self:
        """This mechanism with a public size, which is bought if needed."""
        return self.bought(view, bits) if self.buys_size else self

    def bought(self, view: SortedView, bits: Bits) -> Self:
        """This mechanism with a size that a share of the budget buys."""
        count, priced = self.priced()
        # If this cannot work at any size, raise before bits are drawn.
        priced.demand(0, view.grid)
        return replace(priced, size=count.draw(view.n, bits))

    def release(self, view: SortedView, bits: Bits) -> Release:
        """One draw, as a release."""
        sized = self.sized(view, bits)
        share = {} if sized is self else {"size_share": self.profile.size_share}
        values, drawn = sized.drawn(view, bits)
        numbers = sized.public_numbers(self.counted(view))
        return self.released(view, bits, values, **numbers, **share, **drawn)

    def drawn(self, view: SortedView, bits: Bits) -> tuple[Sequence[Any], dict[str, object]]:
        """One draw, and what was drawn beside the answers."""
        return self.law(view).draw(bits), {}

    def public_numbers(self, n: int) -> dict[str, object]:
        """The numbers that a release states beside its answers."""
        return {"size": self.public_size(n)}


def target_ranks(q: Floats, size: Any, missing: Any = 0) -> NDArray[np.int64]:
    """The ranks round(q size) of ascending quantiles, less the ranks that missing records strike.

    `size` counts missing records too. Both numbers may be arrays; then there is a row for every
    quantile and a column for every entry.
    """
    targets: NDArray[np.int64] = np.rint(np.multiply.outer(q, size)).astype(np.int64)
    if not np.count_nonzero(missing):
        return targets
    return targets - struck_below(targets, np.asarray(size), np.asarray(missing))


def values_in_order(
    grid: Grid, ascending: Sequence[int] | NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[Any, ...]:
    """The values of ascending steps, in the order of the quantiles, which `order` sorts."""
    steps = np.empty(len(order), dtype=np.int64)
    steps[order] = ascending
    return tuple(grid.decode(steps))


def steps_of(grid: Grid, values: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Convert `count` answers to steps; they must be grid points."""
    if len(values) != count:
        raise InvalidValue(f"values must be {count} answers, got {len(values)}")
    numbers = [grid.kind.number(value, "values") for value in values]
    steps = grid.encode(np.array(numbers))
    if [grid.kind.number(value, "values") for value in grid.decode(steps)] != numbers:
        raise InvalidValue("values must be points of the grid")
    return steps


def log_probability_in_order(chances: Floats, repeats: Sequence[int]) -> float:
    """The log probability of independent answers that were sorted:

        log of  sum over permutations s of prod_k P_k[o_s(k)] / prod of repeats!

    Entry (k, i) of `chances` is log P_k[o_i] for ascending answers o. `repeats` are the numbers of
    equal answers; the sum counts a vector once for each order of equal answers.
    """
    if len(chances) > MOST_PERMUTED:
        raise InvalidValue(
            f"values must be at most {MOST_PERMUTED} answers, got {len(chances)}: the "
            "probability is a sum over all permutations"
        )
    return _log_permanent(chances) - sum(math.lgamma(count + 1) for count in repeats)


def _log_permanent(chances: Floats) -> float:
    """The log of the sum over permutations of products of entries.

    It is computed row by row over sets of columns. All terms are positive, so no precision is lost.
    """
    m = len(chances)
    sets = np.arange(1 << m)
    masses = np.full(1 << m, -math.inf)
    masses[0] = 0.0
    for row in chances:
        grown = np.full(1 << m, -math.inf)
        for column, chance in enumerate(row):
            without = sets[sets & (1 << column) == 0]
            place = without | (1 << column)
            grown[place] = np.logaddexp(grown[place], masses[without] + chance)
        masses = grown
    return float(masses[-1])
