"""Privacy guarantees as frozen values: what a release promises, and what a budget can buy.

A budget is a guarantee that is still to be spent. Its methods divide it and turn it into rates of
noise and ranges of privacy loss. They follow the rounding rule (`conversions.py`), so that the
parts of a budget never cost more than the budget.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.privacy import conversions
from dpquantiles.privacy.conversions import SAFE, above, below, in_words, reading, root_below
from dpquantiles.privacy.units import Neighbors

RESEARCH_NOTE = "research only: drawn with continuous noise in floating point, so not exact"


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """The fields and methods that all guarantees share.

    `unit` names the column that identifies whom the guarantee protects, such as people; without it,
    the guarantee protects one record. `within` names the columns that a swap leaves as they are.
    `research_only` marks a guarantee that holds for exact arithmetic only.
    """

    kind: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]] = ("epsilon",)
    """The names of the number fields, the measure first."""
    power: ClassVar[int] = 1
    """The measure grows as this power of a rate of noise, and of the number of rows."""
    neighbors: Neighbors = Neighbors.SWAP
    research_only: bool = False
    unit: str | None = None
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.neighbors, Neighbors):
            stated = require.choice(Neighbors, neighbors=self.neighbors)
            object.__setattr__(self, "neighbors", Neighbors(stated))
        object.__setattr__(self, "within", tuple(self.within))

    @property
    def measure(self) -> str:
        """The name of the main number: epsilon or rho."""
        return self.numbers[0]

    @property
    def amount(self) -> float:
        """The main number itself."""
        amount: float = getattr(self, self.measure)
        return amount

    def at(self, amount: float) -> Self:
        """The same guarantee with another amount."""
        changed: dict[str, Any] = {self.measure: amount}
        return replace(self, **changed)

    @property
    def stated_for(self) -> dict[str, Any]:
        """All fields but the numbers, to build another guarantee for the same neighbors."""
        names = ("neighbors", "research_only", "unit", "within")
        return {name: getattr(self, name) for name in names}

    @property
    def without_delta(self) -> "PureDP | ZCDP":
        """The same guarantee for a mechanism that needs no delta."""
        return self  # type: ignore[return-value]

    @property
    def noise_rate(self) -> float:
        """The rate of discrete Laplace noise on a number that changes by one between neighbors."""
        return self.amount

    def counting_rate(self, times: int = 1) -> float:
        """The rate of noise on disjoint counts in which each record counts so many times."""
        return self.divided(times * self.neighbors.records).noise_rate

    def bounded_range(self, calls: int = 1) -> float:
        """The largest range of privacy loss of each of so many exponential mechanisms."""
        return self.divided(calls).amount

    @property
    def spendable(self) -> Self:
        """The largest doubles that are not above the decimal digits of the numbers."""
        return self._each(reading)

    def split(self, *shares: float | Fraction) -> "tuple[Guarantee, ...]":
        """Parts with these shares, and the rest; together they are no more than the whole.

        The rest gets the delta, if there is one; the parts need none.
        """
        whole = Fraction(self.amount)
        parts = [below(whole * Fraction(share)) for share in shares]
        rest: Any = self.at(below(whole - sum(map(Fraction, parts))))
        return (*(self.without_delta.at(part) for part in parts), rest)

    def divided(self, parts: int) -> Self:
        """One of several equal parts that are all spent on the same people."""
        return self if parts == 1 else self._each(lambda number: Fraction(number) / parts)

    def per_row(self, rows: int) -> Self:
        """The budget of one row if so many rows of a unit count: see `units.md`."""
        require.count(minimum=1, rows=rows)
        row = self if rows == 1 else self.at(below(Fraction(self.amount) / rows**self.power))
        return replace(row, unit=None)

    def scaled(self, factor: float) -> Self:
        """A budget that allows so many times the rate. Not rounded, so it is for plans only."""
        return self.at(self.amount * factor**self.power)

    def _each(self, exact: Callable[[float], Fraction]) -> Self:
        """All numbers changed exactly, and rounded down."""
        changed: dict[str, Any] = {n: below(exact(getattr(self, n))) for n in self.numbers}
        return replace(self, **changed)

    def _sentence(self, promise: str) -> str:
        note = f"; {RESEARCH_NOTE}" if self.research_only else ""
        change = self.neighbors.sentence(self.unit, self.within)
        return f"{promise} ({self.kind}; {change}{note})"

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`; an empty unit or within is left out."""
        plain = {"kind": self.kind, **vars(self), "neighbors": str(self.neighbors)}
        narrowed = {"unit": self.unit, "within": list(self.within)}
        kept = {name: value for name, value in plain.items() if name not in narrowed}
        return {**kept, **{name: value for name, value in narrowed.items() if value}}


@dataclass(frozen=True, kw_only=True)
class PureDP(_Stated):
    """Pure differential privacy.

    For all neighbors X, X' and every output o:  P[M(X) = o] <= exp(epsilon) P[M(X') = o].
    """

    kind: ClassVar[str] = "pure"
    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))

    def __str__(self) -> str:
        return self._sentence(f"{in_words(self.epsilon)}-differential privacy")

    @property
    def odds(self) -> float:
        """The most by which one record can change the odds of any event: exp(epsilon)."""
        return math.exp(self.epsilon) if self.epsilon < 700 else math.inf

    def approximate(self, delta: float) -> "ApproxDP":
        """The same promise as (epsilon, delta); the delta stays unused."""
        return ApproxDP(epsilon=self.epsilon, delta=delta, **self.stated_for)

    def concentrated(self) -> "ZCDP":
        """epsilon^2 / 2 (Bun, Steinke, arXiv 1605.02065v1, Proposition 1.4)."""
        return ZCDP(rho=above(Fraction(self.epsilon) ** 2 / 2), **self.stated_for)

    def as_swap(self) -> "PureDP":
        """The guarantee for swap neighbors: a swap is a removal and an addition."""
        if self.neighbors is Neighbors.SWAP:
            return self
        return replace(self, neighbors=Neighbors.SWAP, epsilon=2 * self.epsilon)


@dataclass(frozen=True, kw_only=True)
class ApproxDP(_Stated):
    """Approximate differential privacy.

    For all neighbors X, X' and every set S:  P[M(X) in S] <= exp(epsilon) P[M(X') in S] + delta.
    """

    kind: ClassVar[str] = "approximate"
    numbers: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", require.fraction(delta=self.delta))

    def __str__(self) -> str:
        both = f"({in_words(self.epsilon)}, {in_words(self.delta)})"
        return self._sentence(f"{both}-differential privacy")

    @property
    def without_delta(self) -> PureDP:
        """The epsilon alone, for a mechanism that needs no delta."""
        return PureDP(epsilon=self.epsilon, **self.stated_for)

    def bounded_range(self, calls: int = 1) -> float:
        """Uses delta, so that mechanisms that are all chosen beforehand cost less together."""
        return conversions.per_call_epsilon(self.epsilon, self.delta, calls)

    def per_row(self, rows: int) -> Self:
        """Divides epsilon by k, and delta by (exp(epsilon) - 1) / (exp(epsilon / k) - 1)."""
        row = super().per_row(rows)
        if rows == 1:
            return row
        part = self.epsilon / rows
        # The inverse of that quotient, written so that nothing overflows.
        ratio = math.exp(part - self.epsilon) * math.expm1(-part) / math.expm1(-self.epsilon)
        return replace(row, delta=self.delta * ratio * SAFE)

    def as_swap(self) -> "ApproxDP":
        """The guarantee for swap neighbors, by group privacy for two records."""
        if self.neighbors is Neighbors.SWAP:
            return self
        growth = 1 + math.exp(self.epsilon) if self.epsilon < 700 else math.inf
        delta = growth * self.delta / SAFE
        if delta >= 1:
            raise InvalidValue(
                "delta must stay below 1 when it is stated for swap neighbors, where it grows by "
                f"1 + exp(epsilon), got epsilon={self.epsilon!r}, delta={self.delta!r}"
            )
        return replace(self, neighbors=Neighbors.SWAP, epsilon=2 * self.epsilon, delta=delta)


@dataclass(frozen=True, kw_only=True)
class ZCDP(_Stated):
    """Zero-concentrated differential privacy.

    For all neighbors and every order a > 1, the Renyi divergence of order a is at most rho a.
    """

    kind: ClassVar[str] = "concentrated"
    numbers: ClassVar[tuple[str, ...]] = ("rho",)
    power: ClassVar[int] = 2
    rho: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rho", require.positive(rho=self.rho))

    def __str__(self) -> str:
        return self._sentence(f"{in_words(self.rho)}-zero-concentrated differential privacy")

    @property
    def noise_rate(self) -> float:
        """The rate e with e^2 / 2 = rho: noise of this rate is e-differentially private."""
        return root_below(2 * Fraction(self.rho))

    def bounded_range(self, calls: int = 1) -> float:
        """Uses the exact rho of a bounded range eta, which is below eta^2 / 8."""
        return conversions.bounded_range_eta(self.divided(calls).rho)

    def approximate(self, delta: float) -> ApproxDP:
        """The least epsilon at this delta, by the tight conversion."""
        epsilon = conversions.zcdp_epsilon(self.rho, delta)
        return ApproxDP(epsilon=epsilon, delta=delta, **self.stated_for)

    def concentrated(self) -> "ZCDP":
        """The guarantee itself."""
        return self

    def as_swap(self) -> "ZCDP":
        """The guarantee for swap neighbors: a group of two records costs four times as much."""
        if self.neighbors is Neighbors.SWAP:
            return self
        return replace(self, neighbors=Neighbors.SWAP, rho=4 * self.rho)


Guarantee = PureDP | ApproxDP | ZCDP

KINDS: dict[str, type[PureDP] | type[ApproxDP] | type[ZCDP]] = {
    cls.kind: cls for cls in (PureDP, ApproxDP, ZCDP)
}

IN_WORDS = {PureDP.kind: "epsilon alone", ApproxDP.kind: "epsilon and delta", ZCDP.kind: "rho"}
"""What a budget of each kind is stated in, for messages."""


def from_dict(plain: dict[str, Any]) -> Guarantee:
    """The guarantee that `to_dict` wrote."""
    cls = KINDS[require.choice(KINDS, kind=plain.get("kind"))]
    return cls(**{name: value for name, value in plain.items() if name != "kind"})


def budget(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = Neighbors.SWAP,
) -> Guarantee:
    """A budget as users state it: epsilon, epsilon and delta, or rho."""
    stated = Neighbors(require.choice(Neighbors, neighbors=neighbors))
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise InvalidValue("rho must be given alone, got epsilon or delta as well")
        return ZCDP(rho=rho, neighbors=stated)
    if epsilon is None:
        raise InvalidType("epsilon must be given (or epsilon and delta, or rho)")
    if delta is None:
        return PureDP(epsilon=epsilon, neighbors=stated)
    return ApproxDP(epsilon=epsilon, delta=delta, neighbors=stated)
