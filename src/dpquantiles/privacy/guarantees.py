"""Privacy guarantees as frozen values: what a release promises, readable by people and programs."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.privacy import conversions
from dpquantiles.privacy.conversions import in_words
from dpquantiles.privacy.neighbors import Neighbors

RESEARCH_NOTE = "research only: drawn with continuous noise in floating point, so not exact"


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """What all guarantees share: the neighbors they are stated for, and whether they are exact.

    `unit` names the column whose values tell apart what is protected, such as people; without it
    that is one record. `within` names the columns that a swap leaves as they are.
    """

    kind: ClassVar[str]
    measure: ClassVar[str] = "epsilon"
    """What a guarantee of this kind is counted in."""
    neighbors: Neighbors = Neighbors.SWAP
    research_only: bool = False
    unit: str | None = None
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = require.choice(Neighbors, neighbors=self.neighbors)
        object.__setattr__(self, "neighbors", Neighbors(known))
        object.__setattr__(self, "within", tuple(self.within))

    @property
    def amount(self) -> float:
        """How much of its measure."""
        amount: float = getattr(self, self.measure)
        return amount

    @property
    def stated_for(self) -> dict[str, Any]:
        """All but the measure and its size: for a guarantee on the same neighbors."""
        names = ("neighbors", "research_only", "unit", "within")
        return {name: getattr(self, name) for name in names}

    def _sentence(self, promise: str) -> str:
        note = f"; {RESEARCH_NOTE}" if self.research_only else ""
        change = self.neighbors.sentence(self.unit, self.within)
        return f"{promise} ({self.kind}; {change}{note})"

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`; what protects records names no unit."""
        plain = {"kind": self.kind, **vars(self), "neighbors": str(self.neighbors)}
        narrowed = {"unit": self.unit, "within": list(self.within)}
        kept = {name: value for name, value in plain.items() if name not in narrowed}
        return {**kept, **{name: value for name, value in narrowed.items() if value}}

    def _as_swap(self, **parameters: Any) -> Self:
        return replace(self, neighbors=Neighbors.SWAP, **parameters)


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
        """The same promise as (epsilon, delta): delta is not used."""
        return ApproxDP(epsilon=self.epsilon, delta=delta, **self.stated_for)

    def concentrated(self) -> "ZCDP":
        """epsilon^2 / 2 (Bun, Steinke, arXiv 1605.02065v1, Proposition 1.4)."""
        rho = conversions.above(Fraction(self.epsilon) ** 2 / 2)
        return ZCDP(rho=rho, **self.stated_for)

    def as_swap(self) -> "PureDP":
        """Stated for swap neighbors: a swap is a removal and an addition."""
        if self.neighbors is Neighbors.SWAP:
            return self
        return self._as_swap(epsilon=2 * self.epsilon)


@dataclass(frozen=True, kw_only=True)
class ApproxDP(_Stated):
    """Approximate differential privacy.

    For all neighbors X, X' and every set S:  P[M(X) in S] <= exp(epsilon) P[M(X') in S] + delta.
    """

    kind: ClassVar[str] = "approximate"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", require.fraction(delta=self.delta))

    def __str__(self) -> str:
        both = f"({in_words(self.epsilon)}, {in_words(self.delta)})"
        return self._sentence(f"{both}-differential privacy")

    def as_swap(self) -> "ApproxDP":
        """Stated for swap neighbors, by group privacy of two records."""
        if self.neighbors is Neighbors.SWAP:
            return self
        growth = 1 + math.exp(self.epsilon) if self.epsilon < 700 else math.inf
        delta = growth * self.delta / conversions.SAFE
        if delta >= 1:
            raise InvalidValue(
                "delta must stay below 1 when it is stated for swap neighbors, where it grows by "
                f"1 + exp(epsilon), got epsilon={self.epsilon!r}, delta={self.delta!r}"
            )
        return self._as_swap(epsilon=2 * self.epsilon, delta=delta)


@dataclass(frozen=True, kw_only=True)
class ZCDP(_Stated):
    """Zero-concentrated differential privacy.

    For all neighbors and every order a > 1, the Renyi divergence of order a is at most rho a.
    """

    kind: ClassVar[str] = "concentrated"
    measure: ClassVar[str] = "rho"
    rho: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rho", require.positive(rho=self.rho))

    def __str__(self) -> str:
        return self._sentence(f"{in_words(self.rho)}-zero-concentrated differential privacy")

    def approximate(self, delta: float) -> ApproxDP:
        """The least epsilon at this delta, by the tight conversion."""
        epsilon = conversions.zcdp_epsilon(self.rho, delta)
        return ApproxDP(epsilon=epsilon, delta=delta, **self.stated_for)

    def concentrated(self) -> "ZCDP":
        """Itself."""
        return self

    def as_swap(self) -> "ZCDP":
        """Stated for swap neighbors: groups of two cost four times as much."""
        if self.neighbors is Neighbors.SWAP:
            return self
        return self._as_swap(rho=4 * self.rho)


Guarantee = PureDP | ApproxDP | ZCDP

KINDS: dict[str, type[PureDP] | type[ApproxDP] | type[ZCDP]] = {
    cls.kind: cls for cls in (PureDP, ApproxDP, ZCDP)
}


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
            raise InvalidValue("rho must stand alone, got epsilon or delta beside it")
        return ZCDP(rho=rho, neighbors=stated)
    if epsilon is None:
        raise InvalidType("epsilon must be given (or epsilon and delta, or rho)")
    if delta is None:
        return PureDP(epsilon=epsilon, neighbors=stated)
    return ApproxDP(epsilon=epsilon, delta=delta, neighbors=stated)
