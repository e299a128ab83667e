"""The claims table: every quantitative sentence of the paper's experiments, as data, and tested.

A claim is a sentence, the numbers with which we take it for true, and how to compute the number
from rows. Each is computed for the paper's mechanism and, where it makes sense, for ours.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpquantiles.privacy import zcdp_epsilon
from experiments.paper import evidence, spec, tuning
from experiments.paper.contenders import OURS, PAPER
from experiments.paper.data import DATASETS, PAPER_BOUNDS, Floats
from experiments.paper.evidence import Accepted, Means, Measured
from experiments.paper.results import Cell, Results
from experiments.paper.runs import LINE_BY_LINE, RECORDS
from experiments.paper.tuning import PAPER_SHAPES, PAPER_T, Shape

SUBJECTS = {"JointExp": "the paper's JointExp", OURS: "dpquantiles"}
RIVALS = PAPER[1:]
COMMAND = "python -m experiments.paper"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the table."""

    claim: str
    about: str
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
        """The line as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper and the numbers with which it is true."""

    sentence: str
    paper: str
    quantity: str
    accepted: Accepted
    figure: str
    only: str

    def found(self, about: str, measured: Measured | None) -> Iterator[Finding]:
        """The line of the table, if the number could be computed."""
        if measured is None:
            return
        yield Finding(
            claim=self.sentence,
            about=about,
            paper=self.paper,
            measured=measured.value,
            low=measured.low,
            high=measured.high,
            verdict=self.accepted.verdict(measured),
            quantity=self.quantity,
            accepted=_shown(self.accepted),
            figure=self.figure,
            command=f"{COMMAND} --only {self.only}",
        )


def _shown(accepted: Accepted) -> str:
    if math.isinf(accepted.high):
        return f"at least {accepted.low:g}"
    if accepted.low <= 0:
        return f"at most {accepted.high:g}"
    return f"{accepted.low:g} to {accepted.high:g}"


@dataclass(frozen=True)
class Evidence:
    """Results and rows of tuning, from which every claim is computed."""

    results: Results
    smoothness: dict[int, Floats]
    wide_smoothness: list[float]
    tree_checks: dict[str, dict[Shape, Floats]]

    def curves(self, error: str, data: str, names: tuple[str, ...]) -> dict[str, Floats]:
        """Errors of contenders: one line per trial, one column per m; none if any is absent."""
        found = {}
        for name in names:
            cells = [Cell(study="accuracy", data=data, contender=name, m=m) for m in spec.COUNTS]
            columns = [self.results.errors(error, cell) for cell in cells]
            if len({len(column) for column in columns}) != 1:
                return {}
            found[name] = np.array(columns).T
        return found


def _ratio(top: str, bottom: str, m: int) -> evidence.Statistic:
    return lambda means: means[top][:, m - 1] / means[bottom][:, m - 1]


def _closest(means: Means) -> Floats:
    return np.min([means[name] for name in RIVALS], axis=0)


def _lead(subject: str, first: int, last: int) -> evidence.Statistic:
    """How many times smaller than the closest rival's, as a geometric mean over m."""

    def statistic(means: Means) -> Floats:
        ratios = np.log(_closest(means) / means[subject])[:, first - 1 : last]
        return np.exp(ratios.mean(axis=1))

    return statistic


def _best_counts(subject: str) -> evidence.Statistic:
    """For how many m nobody is better by more than a tenth."""
    return lambda means: (means[subject] <= 1.1 * _closest(means)).sum(axis=1).astype(float)


def _steepest(subject: str) -> evidence.Statistic:
    """The largest factor by which the error grows over five further quantiles."""
    return lambda means: (means[subject][:, 5:] / means[subject][:, :-5]).max(axis=1)


ACCURACY = {
    "figure": "missed",
    "only": "accuracy",
}
WITH_RIVALS: tuple[tuple[Claim, str, Callable[[str], evidence.Statistic]], ...] = (
    (
        Claim(
            sentence="At m = 1, JointExp matches AppIndExp",
            paper="equal",
            quantity="missed points of AppIndExp over its own, m = 1",
            accepted=Accepted(0.8, 1.25, "above"),
            **ACCURACY,
        ),
        "missed",
        lambda subject: _ratio("AppIndExp", subject, 1),
    ),
    (
        Claim(
            sentence="At m = 1, roughly an order of magnitude better error than CSmooth",
            paper="about 10 times",
            quantity="missed points of CSmooth over its own, m = 1",
            accepted=Accepted(5, 20, "above"),
            **ACCURACY,
        ),
        "missed",
        lambda subject: _ratio("CSmooth", subject, 1),
    ),
    (
        Claim(
            sentence="At m = 1, roughly an order of magnitude better error than AggTree",
            paper="about 10 times",
            quantity="missed points of AggTree over its own, m = 1",
            accepted=Accepted(5, 20, "above"),
            **ACCURACY,
        ),
        "missed",
        lambda subject: _ratio("AggTree", subject, 1),
    ),
    (
        Claim(
            sentence="As m grows, error roughly 2-3 times smaller than the closest competitor's",
            paper="2 to 3 times",
            quantity="missed points of the closest competitor over its own, mean of m = 2 .. 20",
            accepted=Accepted(1.75, 3.5, "above"),
            **ACCURACY,
        ),
        "missed",
        lambda subject: _lead(subject, 2, 20),
    ),
    (
        Claim(
            sentence="... until the gap closes around m = 30",
            paper="about 1 at m = 30",
            quantity="missed points of the closest competitor over its own, mean of m = 27 .. 29",
            accepted=Accepted(0.75, 1.5, "above"),
            **ACCURACY,
        ),
        "missed",
        lambda subject: _lead(subject, 27, 29),
    ),
    (
        Claim(
            sentence="The highest utility for any m between 1 and approximately 30",
            paper="29 of 29",
            quantity="numbers m of 1 .. 29 at which no competitor is better by more than 10 %",
            accepted=Accepted(26, 29),
            **ACCURACY,
        ),
        "missed",
        _best_counts,
    ),
    (
        Claim(
            sentence="Distance error: still the strongest performance for a wide range of m",
            paper="most of 29",
            quantity="numbers m of 1 .. 29 at which no competitor is better by more than 10 %",
            accepted=Accepted(15, 29),
            figure="distance",
            only="accuracy",
        ),
        "distance",
        _best_counts,
    ),
)
SHARP = Claim(
    sentence="Distance error: AppIndExp and JointExp at some point show a sharp increase",
    paper="a sharp increase",
    quantity="largest growth of the distance error over five further quantiles",
    accepted=Accepted(2, math.inf, "below"),
    figure="distance",
    only="accuracy",
)
MEDIAN = Claim(
    sentence="The tested algorithms have average error at most 25 for the median of uniform data",
    paper="at most 25",
    quantity="missed points of the worst of the four, m = 1",
    accepted=Accepted(0, 25),
    figure="missed",
    only="accuracy",
)


def accuracy_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """Claims about the two error figures, panel by panel."""
    results = evidence_at_hand.results
    for claim, error, statistic in WITH_RIVALS:
        for panel in spec.PANELS:
            data = results.tables.name(panel)
            for subject, who in SUBJECTS.items():
                curves = evidence_at_hand.curves(error, data, (*RIVALS, subject))
                about = f"{who}, {results.title(panel)}"
                yield from claim.found(
                    about, evidence.bootstrapped(curves, statistic(subject))
                )
    for panel in spec.PANELS:
        data = results.tables.name(panel)
        for name in ("JointExp", "AppIndExp", OURS):
            curves = evidence_at_hand.curves("distance", data, (name,))
            who = SUBJECTS.get(name, name)
            measured = evidence.bootstrapped(curves, _steepest(name))
            yield from SHARP.found(f"{who}, {results.title(panel)}", measured)
    curves = evidence_at_hand.curves("missed", "uniform", PAPER)
    worst = evidence.bootstrapped(
        curves, lambda means: np.max([means[name][:, 0] for name in PAPER], axis=0)
    )
    yield from MEDIAN.found("all four, Uniform", worst)


TIES_ABSENT = Claim(
    sentence="Large numbers of duplicates: this issue did not arise in our experiments",
    paper="no effect",
    quantity="missed points of the paper's JointExp over ours, which knows ties; m = 9",
    accepted=Accepted(0, 1.25),
    figure="tied",
    only="tied",
)
TIES_RESOLVED = Claim(
    sentence="Perturbing the data by a small amount of data-independent noise resolves it",
    paper="resolved",
    quantity="missed points of JointExp on perturbed data over ours; m = 9",
    accepted=Accepted(0, 1.25),
    figure="tied",
    only="tied",
)


def tied_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """Claims about duplicates."""
    results = evidence_at_hand.results
    pairs = ((TIES_ABSENT, "JointExp"), (TIES_RESOLVED, "JointExp, ties undone"))
    for claim, name in pairs:
        for wanted in spec.TIED:
            data = results.tables.name(wanted)
            measured = _cells_ratio(
                results,
                _tied_cell(data, name),
                _tied_cell(data, OURS),
            )
            yield from claim.found(results.title(wanted), measured)


def _tied_cell(data: str, name: str) -> Cell:
    bounds = DATASETS[data].bounds
    return Cell(study="tied", data=data, contender=name, m=spec.ONE_M, bounds=bounds)


def _cells_ratio(results: Results, top: Cell, bottom: Cell) -> Measured | None:
    """The ratio of two mean errors in missed points."""
    errors = {
        "top": results.errors("missed", top)[:, None],
        "bottom": results.errors("missed", bottom)[:, None],
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        return evidence.bootstrapped(
            errors, lambda means: (means["top"] / means["bottom"])[:, 0]
        )


LOOSE = Claim(
    sentence="Choosing loose bounds does not greatly affect utility",
    paper="not greatly",
    quantity="missed points with loose bounds over those with [-100, 100], m = 9",
    accepted=Accepted(0, 1.5),
    figure="bounds",
    only="bounds",
)


def bounds_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """Claims about loose bounds, and for ours about none."""
    results = evidence_at_hand.results
    for panel in spec.PANELS:
        data = results.tables.name(panel)
        for name, who in SUBJECTS.items():
            tight = Cell(study="bounds", data=data, contender=name, m=spec.ONE_M)
            for factor in spec.LOOSENESS[1:]:
                bounds = None if factor is None else tuple(factor * b for b in PAPER_BOUNDS)
                loose = Cell(
                    study="bounds",
                    data=data,
                    contender=name,
                    m=spec.ONE_M,
                    bounds=bounds,  # type: ignore[arg-type]
                )
                words = "no bounds" if factor is None else f"{factor} times looser"
                about = f"{who}, {results.title(panel)}, {words}"
                yield from LOOSE.found(about, _cells_ratio(results, loose, tight))


ADD_REMOVE = Claim(
    sentence="The sensitivity is slightly lower under add-remove privacy",
    paper="2 (1 - 1/10) in place of 2: error 0.9 times",
    quantity="missed points under add-remove over those under swap, m = 9",
    accepted=Accepted(0.8, 1.0, "below"),
    figure="neighbors",
    only="neighbors",
)


def neighbor_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """What add-remove neighbors change."""
    for name, who in (("paper_joint_exp", SUBJECTS["JointExp"]), (OURS, "dpquantiles, n public")):
        cells = (
            Cell(
                study="neighbors", data="gaussian", contender=name, m=spec.ONE_M, neighbors=kind
            )
            for kind in ("add-remove", "swap")
        )
        yield from ADD_REMOVE.found(who, _cells_ratio(evidence_at_hand.results, *cells))


FAST = Claim(
    sentence="For m = 30, JointExp takes roughly 1 ms for n = 1,000",
    paper="0.001 s",
    quantity="seconds for n = 1,000, m = 30",
    accepted=Accepted(0.0005, 0.002, "below"),
    figure="time",
    only="timing",
)
MILLION = Claim(
    sentence="For m = 30, slightly under 1 minute for n = 1 million",
    paper="slightly under 60 s",
    quantity="seconds for n = 1,000,000, m = 30",
    accepted=Accepted(40, 60, "below"),
    figure="time",
    only="timing",
)
BETWEEN = {
    name: Claim(
        sentence=f"JointExp is slower than {name} and faster than the slowest, CSmooth"
        if name != "CSmooth"
        else "CSmooth is the slowest, slower than JointExp",
        paper="slower" if name != "CSmooth" else "faster",
        quantity=f"its time over that of {name}, n = 1,000, m = 29",
        accepted=Accepted(1, math.inf, "below") if name != "CSmooth" else Accepted(0, 1),
        figure="time",
        only="timing",
    )
    for name in RIVALS
}


def timing_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """Claims about time."""
    results = evidence_at_hand.results
    everyone = {**SUBJECTS, LINE_BY_LINE: "the paper's JointExp, line by line"}
    for claim, n in ((FAST, spec.TIMED_SIZES[0]), (MILLION, spec.TIMED_SIZES[1])):
        for name, who in everyone.items():
            seconds, _ = results.times(name, n, spec.TIMED_M)
            yield from claim.found(who, evidence.of_median(seconds, np.ones(len(seconds))))
    for rival, claim in BETWEEN.items():
        for name, who in SUBJECTS.items():
            own, other = (results.times(each, RECORDS, 29)[0] for each in (name, rival))
            yield from claim.found(who, evidence.of_median(own, other))


TUNED_T = Claim(
    sentence="Tuned t of CSmooth: t = 0.13 for m = 3 and q = 0.5",
    paper="0.13",
    quantity="the tuned t, mean over sets of records",
    accepted=Accepted(0.104, 0.156),
    figure="smoothness",
    only="tuning",
)
CLUSTERED_T = Claim(
    sentence="Of 150 values of t between 1e-10 and 10, those selected cluster in a narrow range",
    paper="all within 0.01 to 1",
    quantity="share of selected t within 0.01 to 1, on N(0, 1) and the four data sets",
    accepted=Accepted(0.95, 1.0),
    figure="smoothness",
    only="tuning",
)
SAME_SHAPE = {
    error: Claim(
        sentence=f"Tuned height and branching of AggTree ({words})",
        paper="its table is best",
        quantity="error of the paper's shapes over ours on fresh records, mean of m = 1 .. 29",
        accepted=Accepted(0.95, 1.05),
        figure="shapes",
        only="tuning",
    )
    for error, words in (("missed", "missed points"), ("distance", "distance"))
}
RETUNED = Claim(
    sentence="Re-tuned for distance, the results are essentially the same",
    paper="the same",
    quantity="missed points of shapes tuned for distance over those tuned for missed points",
    accepted=Accepted(0.9, 1.1),
    figure="shapes",
    only="tuning",
)


def tuning_findings(evidence_at_hand: Evidence) -> Iterator[Finding]:
    """Claims about tuned parameters."""
    for (m, q), _ in PAPER_T.items():
        t = evidence_at_hand.smoothness.get(m)
        if t is not None:
            middle = t[:, round(q * (m + 1)) - 1]
            yield from TUNED_T.found("CSmooth, N(0, 1)", evidence.of_mean(middle))
    wide = np.array(evidence_at_hand.wide_smoothness)
    hits = int(np.count_nonzero((wide >= 0.01) & (wide <= 1.0)))
    yield from CLUSTERED_T.found("CSmooth, five data sets", evidence.of_share(hits, len(wide)))
    shapes = evidence_at_hand.results.tuned.shapes
    for error, claim in SAME_SHAPE.items():
        measured = shapes_ratio(
            evidence_at_hand.tree_checks[error], PAPER_SHAPES[error], shapes[error]
        )
        yield from claim.found("AggTree, N(0, 1)", measured)
    measured = shapes_ratio(
        evidence_at_hand.tree_checks["missed"], shapes["distance"], shapes["missed"]
    )
    yield from RETUNED.found("AggTree, N(0, 1)", measured)


def shapes_ratio(
    errors: dict[Shape, Floats], top: tuple[Shape, ...], bottom: tuple[Shape, ...]
) -> Measured | None:
    """The ratio of errors of two choices of shapes, as a geometric mean over m."""
    if not errors or not top or not bottom:
        return None
    columns = {
        name: np.array([errors[shape][:, place] for place, shape in enumerate(shapes)]).T
        for name, shapes in (("top", top), ("bottom", bottom))
    }
    return evidence.bootstrapped(
        columns,
        lambda means: np.exp(np.log(means["top"] / means["bottom"]).mean(axis=1)),
    )


CONVERTED = Claim(
    sentence="A 1/2-CDP algorithm is (epsilon, 1e-6)-DP for epsilon >= 5.76",
    paper="5.76",
    quantity="the least epsilon, by the same formula and by the tightest that we know",
    accepted=Accepted(5.75, 5.77, "below"),
    figure="claims",
    only="tuning",
)
TESTED = Claim(
    sentence="Propose-test-release on 1000 uniform records: ln^2(n) + 2 is about 50",
    paper="about 50",
    quantity="ln^2(1000) + 2",
    accepted=Accepted(49, 51),
    figure="claims",
    only="tuning",
)
AT_LIMIT = Claim(
    sentence="... Laplace noise of scale 6 ends at a limit of [-5, 5] with probability 0.434",
    paper="0.434",
    quantity="P[|Laplace(6)| >= 5]",
    accepted=Accepted(0.4335, 0.4355),
    figure="claims",
    only="tuning",
)
EXPECTED = Claim(
    sentence="... its expected error is in excess of 200 points",
    paper="more than 200",
    quantity="expected missed points of 1000, 100 per unit and at most 500",
    accepted=Accepted(200, math.inf),
    figure="claims",
    only="tuning",
)


def computed_findings(_: Evidence) -> Iterator[Finding]:
    """Numbers of the paper that follow from formulas alone."""
    formula = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
    yield from CONVERTED.found("the paper's formula", Measured.exactly(formula))
    yield from CONVERTED.found("dpquantiles", Measured.exactly(zcdp_epsilon(0.5, 1e-6)))
    yield from TESTED.found("formula", Measured.exactly(math.log(1000) ** 2 + 2))
    yield from AT_LIMIT.found("formula", Measured.exactly(math.exp(-5 / 6)))
    yield from EXPECTED.found("formula", Measured.exactly(600 * -math.expm1(-5 / 6)))


PARTS = (
    accuracy_findings,
    bounds_findings,
    tied_findings,
    neighbor_findings,
    timing_findings,
    tuning_findings,
    computed_findings,
)


def findings(evidence_at_hand: Evidence) -> list[Finding]:
    """The whole table."""
    return [finding for part in PARTS for finding in part(evidence_at_hand)]


assert tuning.PAPER_T
