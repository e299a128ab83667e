"""One case from its number to a report: both calls, and what is wrong with them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from experiments.fuzz.calls import Unheld, watched
from experiments.fuzz.cases import build
from experiments.fuzz.properties import findings

RELEASED = "released"
UNHELD = "no library could hold such data"


@dataclass(frozen=True)
class Report:
    """What became of one case."""

    number: int
    case: str
    outcome: str
    """`RELEASED`, `UNHELD`, or the words of the refusal."""
    findings: tuple[str, ...] = ()


def check(number: int) -> Report:
    """Run a case on both of its data sets."""
    case = build(number)
    outcomes = []
    for data in case.data:
        with tempfile.TemporaryDirectory(prefix="dpquantiles-fuzz-") as folder:
            try:
                outcomes.append(watched(case, data, Path(folder)))
            except Unheld:
                return Report(number, repr(case), UNHELD)
    harmless, hostile = outcomes
    found = findings(case, harmless, hostile)
    return Report(number, repr(case), harmless.words or RELEASED, tuple(found))
