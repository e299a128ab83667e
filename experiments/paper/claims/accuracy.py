"""Claims about the two error figures."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from experiments.paper.claims.claim import SUBJECTS, Claim, Finding
from experiments.paper.contenders import OURS, PAPER
from experiments.paper.data import Floats
from experiments.paper.intervals import Accepted, Means, Statistic, bootstrapped
from experiments.paper.results import Results
from experiments.paper.tuning import PANELS

RIVALS = PAPER[1:]
GROWTH = 5
"""A sharp increase is one that happens within this many further quantiles."""


def _ratio_at_one(rival: str, subject: str) -> Statistic:
    return lambda means: means[rival][:, 0] / means[subject][:, 0]


def _closest(means: Means) -> Floats:
    return np.asarray(np.min([means[name] for name in RIVALS], axis=0))


def _lead(subject: str, first: int, last: int) -> Statistic:
    """How many times smaller than the closest rival's, as a geometric mean over m."""

    def statistic(means: Means) -> Floats:
        ratios = (_closest(means) / means[subject])[:, first - 1 : last]
        return np.asarray(np.exp(np.log(ratios).mean(axis=1)))

    return statistic


def _best_counts(subject: str) -> Statistic:
    """For how many m nobody is better by more than a tenth."""
    return lambda means: (means[subject] <= 1.1 * _closest(means)).sum(axis=1).astype(np.float64)


def _steepest(subject: str) -> Statistic:
    """The largest factor by which the error grows over a few further quantiles."""
    return lambda means: np.asarray(
        (means[subject][:, GROWTH:] / means[subject][:, :-GROWTH]).max(axis=1)
    )


class Comparison(NamedTuple):
    """A claim about a subject among its rivals."""

    claim: Claim
    error: str
    statistic: Callable[[str], Statistic]


def _missed(sentence: str, paper: str, quantity: str, accepted: Accepted) -> Claim:
    return Claim(
        sentence=sentence,
        paper=paper,
        quantity=quantity,
        accepted=accepted,
        figure="missed",
        part="accuracy",
    )


COMPARISONS = (
    Comparison(
        _missed(
            "At m = 1, JointExp matches AppIndExp",
            "equal",
            "missed points of AppIndExp over its own, m = 1",
            Accepted(0.8, 1.25, "above"),
        ),
        "missed",
        lambda subject: _ratio_at_one("AppIndExp", subject),
    ),
    Comparison(
        _missed(
            "At m = 1, roughly an order of magnitude better error than CSmooth",
            "about 10 times",
            "missed points of CSmooth over its own, m = 1",
            Accepted(5, 20, "above"),
        ),
        "missed",
        lambda subject: _ratio_at_one("CSmooth", subject),
    ),
    Comparison(
        _missed(
            "At m = 1, roughly an order of magnitude better error than AggTree",
            "about 10 times",
            "missed points of AggTree over its own, m = 1",
            Accepted(5, 20, "above"),
        ),
        "missed",
        lambda subject: _ratio_at_one("AggTree", subject),
    ),
    Comparison(
        _missed(
            "As m grows, error roughly 2-3 times smaller than the closest competitor's",
            "2 to 3 times",
            "missed points of the closest competitor over its own, mean of m = 2 .. 20",
            Accepted(1.75, 3.5, "above"),
        ),
        "missed",
        lambda subject: _lead(subject, 2, 20),
    ),
    Comparison(
        _missed(
            "... until the gap closes around m = 30",
            "about 1 at m = 30",
            "missed points of the closest competitor over its own, mean of m = 27 .. 29",
            Accepted(0.75, 1.5, "above"),
        ),
        "missed",
        lambda subject: _lead(subject, 27, 29),
    ),
    Comparison(
        _missed(
            "The highest utility for any m between 1 and approximately 30",
            "29 of 29",
            "numbers m of 1 .. 29 at which no competitor is better by more than 10%",
            Accepted(26, 29),
        ),
        "missed",
        _best_counts,
    ),
    Comparison(
        Claim(
            sentence="Distance error: still the strongest performance for a wide range of m",
            paper="most of 29",
            quantity="numbers m of 1 .. 29 at which no competitor is better by more than 10%",
            accepted=Accepted(15, 29),
            figure="distance",
            part="accuracy",
        ),
        "distance",
        _best_counts,
    ),
)
SHARP = Claim(
    sentence="Distance error: AppIndExp and JointExp at some point show a sharp increase",
    paper="a sharp increase",
    quantity="largest factor between the distance errors at m and at m + 5",
    accepted=Accepted(2, math.inf, "below"),
    figure="distance",
    part="accuracy",
)
MEDIAN = _missed(
    "The tested algorithms have average error at most 25 for the median of uniform data",
    "at most 25",
    "missed points of the worst of the four, m = 1",
    Accepted(0, 25),
)


def findings(results: Results) -> Iterator[Finding]:
    """Panel by panel, for the paper's mechanism and for ours."""
    for claim, error, statistic in COMPARISONS:
        for subject, who in SUBJECTS.items():
            for panel in PANELS:
                curves = results.curves(error, panel, (*RIVALS, subject))
                measured = bootstrapped(curves, statistic(subject))
                yield from claim.found(who, results.title(panel), measured)
    for name in ("AppIndExp", "JointExp", OURS):
        for panel in PANELS:
            curves = results.curves("distance", panel, (name,))
            measured = bootstrapped(curves, _steepest(name))
            yield from SHARP.found(SUBJECTS.get(name, name), results.title(panel), measured)
    worst = bootstrapped(
        results.curves("missed", "uniform", PAPER),
        lambda means: np.max([means[name][:, 0] for name in PAPER], axis=0),
    )
    yield from MEDIAN.found("all four", results.title("uniform"), worst)
