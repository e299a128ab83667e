"""Claims that follow from formulas alone."""

import math
from collections.abc import Iterator

from dpquantiles.privacy import zcdp_epsilon
from experiments.paper.claims.claim import SUBJECTS, Claim, Finding
from experiments.paper.contenders import DELTA, OURS
from experiments.paper.intervals import Accepted, Measured
from experiments.paper.results import Results

FORMULA = "the paper's formula"


def _claim(sentence: str, paper: str, quantity: str, accepted: Accepted) -> Claim:
    return Claim(
        sentence=sentence,
        paper=paper,
        quantity=quantity,
        accepted=accepted,
        figure="claims",
        part="tuning",
    )


CONVERTED = _claim(
    "A 1/2-CDP algorithm is (ε, 1e-6)-DP for ε ≥ 5.76",
    "5.76",
    "the least ε: by rho + 2 sqrt(rho ln(1/δ)), as in the paper, and by the tightest we know",
    Accepted(5.75, 5.77, "below"),
)
TESTED = _claim(
    "Propose-test-release on 1,000 uniform records: ln²(n) + 2 is about 50",
    "about 50",
    "ln²(1000) + 2",
    Accepted(49, 51),
)
AT_LIMIT = _claim(
    "... Laplace noise of scale 6 ends at a limit of [-5, 5] with probability 0.434",
    "0.434",
    "P[|Laplace(6)| ≥ 5]",
    Accepted(0.4335, 0.4355),
)
EXPECTED = _claim(
    "... its expected error is in excess of 200 points",
    "more than 200",
    "expected missed points of 1,000, 100 per unit of noise and at most 500",
    Accepted(200, math.inf),
)


def findings(_: Results) -> Iterator[Finding]:
    """Numbers without noise."""
    formula = 0.5 + 2 * math.sqrt(0.5 * math.log(1 / DELTA))
    yield from CONVERTED.found(FORMULA, "", Measured.exactly(formula))
    yield from CONVERTED.found(SUBJECTS[OURS], "", Measured.exactly(zcdp_epsilon(0.5, DELTA)))
    yield from TESTED.found(FORMULA, "", Measured.exactly(math.log(1000) ** 2 + 2))
    yield from AT_LIMIT.found(FORMULA, "", Measured.exactly(math.exp(-5 / 6)))
    yield from EXPECTED.found(FORMULA, "", Measured.exactly(-600 * math.expm1(-5 / 6)))
