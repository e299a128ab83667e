"""Claims about time."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from experiments.paper import spec
from experiments.paper.cells import RECORDS
from experiments.paper.claims.claim import SUBJECTS, Claim, Finding
from experiments.paper.contenders import PAPER
from experiments.paper.data import Floats
from experiments.paper.intervals import Accepted, median_ratio
from experiments.paper.results import Results
from experiments.paper.runs import LARGEST_M, LINE_BY_LINE
from experiments.paper.tuning import TIMED_M


def _claim(sentence: str, paper: str, quantity: str, accepted: Accepted) -> Claim:
    return Claim(
        sentence=sentence,
        paper=paper,
        quantity=quantity,
        accepted=accepted,
        figure="time",
        part="timing",
    )


SECONDS = {
    RECORDS: _claim(
        "For m = 30, JointExp takes roughly 1 ms for n = 1,000",
        "0.001 s",
        "seconds",
        Accepted(0.0005, 0.002, "below"),
    ),
    spec.TIMED_SIZES[1]: _claim(
        "For m = 30, JointExp takes slightly under 1 minute for n = 1 million",
        "slightly under 60 s",
        "seconds",
        Accepted(40, 60, "below"),
    ),
}
ORDER = {
    "CSmooth": _claim(
        "CSmooth is the slowest, slower than JointExp",
        "below 1",
        "its time over that of CSmooth, n = 1,000, m = 29",
        Accepted(0, 1),
    ),
    "AppIndExp": _claim(
        "JointExp is slower than AppIndExp",
        "above 1",
        "its time over that of AppIndExp, n = 1,000, m = 29",
        Accepted(1, math.inf, "below"),
    ),
    "AggTree": _claim(
        "JointExp is slower than AggTree",
        "above 1",
        "its time over that of AggTree, n = 1,000, m = 29",
        Accepted(1, math.inf, "below"),
    ),
}
assert set(ORDER) == set(PAPER[1:])


def _over_sort(claim: Claim, n: int, sort: Floats) -> Claim:
    """The same claim with the paper's seconds and ours over those of sorting the same array."""
    unit = float(np.median(sort))
    low, high, better = claim.accepted
    return replace(
        claim,
        sentence=f"{claim.sentence}, over numpy.sort",
        paper=f"{spec.PAPER_SECONDS[n] / unit:.3g} (its seconds over sorting here)",
        quantity="time over that of numpy.sort on the same array, measured in turn",
        accepted=Accepted(low / unit, high / unit, better),
    )


def findings(results: Results) -> Iterator[Finding]:
    """Seconds, and who is slower than whom."""
    everyone = {**SUBJECTS, LINE_BY_LINE: "the paper's JointExp, line by line"}
    for n, claim in SECONDS.items():
        for name, who in everyone.items():
            seconds, sort = results.times(name, n, TIMED_M)
            if not len(seconds):
                continue
            data = f"Gaussian, {n:,} records"
            yield from claim.found(who, data, median_ratio(seconds, np.ones(len(seconds))))
            measured = median_ratio(seconds, sort)
            yield from _over_sort(claim, n, sort).found(who, data, measured)
    for rival, claim in ORDER.items():
        for name, who in SUBJECTS.items():
            own, other = (results.times(each, RECORDS, LARGEST_M)[0] for each in (name, rival))
            yield from claim.found(who, f"Gaussian, {RECORDS:,} records", median_ratio(own, other))
