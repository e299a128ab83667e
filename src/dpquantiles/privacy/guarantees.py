"""Privacy guarantees as frozen values: what a release promises, readable by people and programs."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpquantiles import require
from dpquantiles.privacy.neighbors import Neighbors


@dataclass(frozen=True, kw_only=True)
class PureDP:
    """Pure differential privacy.

    For all neighbors X, X' and every output o:  P[M(X) = o] <= exp(epsilon) P[M(X') = o].
    """

    kind: ClassVar[str] = "pure"
    epsilon: float
    neighbors: Neighbors = Neighbors.SWAP

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", require.positive(epsilon=self.epsilon))
        known = require.choice(Neighbors, neighbors=self.neighbors)
        object.__setattr__(self, "neighbors", Neighbors(known))

    def __str__(self) -> str:
        return f"{self.epsilon:g}-differential privacy (pure; {self.neighbors.sentence})"

    @property
    def odds(self) -> float:
        """The most by which one record can change the odds of any event: exp(epsilon)."""
        return math.exp(self.epsilon) if self.epsilon < 700 else math.inf

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        return {"kind": self.kind, "epsilon": self.epsilon, "neighbors": str(self.neighbors)}


def from_dict(plain: dict[str, object]) -> PureDP:
    """The guarantee that `to_dict` wrote."""
    require.choice([PureDP.kind], kind=plain.get("kind"))
    epsilon = require.positive(epsilon=plain.get("epsilon"))
    known = require.choice(Neighbors, neighbors=plain.get("neighbors"))
    return PureDP(epsilon=epsilon, neighbors=Neighbors(known))
