"""A claim: a sentence of the paper, the numbers with which it is true, and what was found."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from experiments.paper.contenders import OURS
from experiments.paper.intervals import Accepted, Measured

COMMAND = "python -m experiments.paper"
SUBJECTS = {"JointExp": "the paper's JointExp", OURS: "dpquantiles"}
"""For whom a sentence about JointExp is tested, and what they are called."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the claims table: a sentence, of what, on which data, and the verdict."""

    claim: str
    of: str
    data: str
    paper: str
    measured: float
    low: float
    high: float
    verdict: str
    quantity: str
    accepted: str
    figure: str
    command: str

    def to_dict(self) -> dict[str, Any]:
        """The line as plain values; an interval without an upper end has none."""
        return asdict(self) | {"high": self.high if math.isfinite(self.high) else None}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence, what is measured for it, and the numbers with which we take it for true."""

    sentence: str
    paper: str
    quantity: str
    accepted: Accepted
    figure: str
    part: str
    """What must be run to measure it."""

    def found(self, of: str, data: str, measured: Measured | None) -> Iterator[Finding]:
        """The line of the table, if the number could be computed."""
        if measured is None:
            return
        yield Finding(
            claim=self.sentence,
            of=of,
            data=data,
            paper=self.paper,
            measured=measured.value,
            low=measured.low,
            high=measured.high,
            verdict=self.accepted.verdict(measured),
            quantity=self.quantity,
            accepted=shown(self.accepted),
            figure=self.figure,
            command=f"{COMMAND} --only {self.part}",
        )


def shown(accepted: Accepted) -> str:
    """The accepted numbers in words."""
    if math.isinf(accepted.high):
        return f"at least {accepted.low:g}"
    if accepted.low <= 0:
        return f"at most {accepted.high:.4g}"
    return f"{accepted.low:.4g} to {accepted.high:.4g}"
