"""Claims about tuned parameters."""

from collections.abc import Iterator

import numpy as np

from experiments.paper.claims.claim import Claim, Finding
from experiments.paper.data import Floats
from experiments.paper.intervals import Accepted, Measured, bootstrapped, mean_of, share_of
from experiments.paper.results import Results
from experiments.paper.tuning import PAPER_SHAPES, PAPER_T, Shape

TUNED_T = Claim(
    sentence="Tuned t of CSmooth: about 0.13 for m = 3 and q = 0.5",
    paper="0.13",
    quantity="the tuned t, mean over sets of records; two steps of its scale are accepted",
    accepted=Accepted(0.108, 0.157),
    figure="smoothness",
    part="tuning",
)
CLUSTERED_T = Claim(
    sentence="Of 150 values of t between 1e-10 and 10, those selected cluster in a narrow range",
    paper="all within 0.01 to 1",
    quantity="share of selected t within 0.01 to 1",
    accepted=Accepted(0.95, 1.0),
    figure="smoothness",
    part="tuning",
)
SAME_SHAPE = {
    error: Claim(
        sentence=f"Tuned height and branching of AggTree ({words})",
        paper="its table is best",
        quantity="error of the paper's shapes over ours on fresh records, mean of m = 1 .. 29",
        accepted=Accepted(0.9, 1.1),
        figure="shapes",
        part="tuning",
    )
    for error, words in (("missed", "missed points"), ("distance", "distance"))
}
RETUNED = Claim(
    sentence="Re-tuned for distance, the results are essentially the same",
    paper="the same",
    quantity="missed points of shapes tuned for distance over those tuned for missed points",
    accepted=Accepted(0.9, 1.1),
    figure="shapes",
    part="tuning",
)


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
    return bootstrapped(
        columns,
        lambda means: np.asarray(np.exp(np.log(means["top"] / means["bottom"]).mean(axis=1))),
    )


def findings(results: Results) -> Iterator[Finding]:
    """CSmooth, then AggTree."""
    for m, q in PAPER_T:
        if m in results.smoothness:
            column = results.smoothness[m][:, round(q * (m + 1)) - 1]
            yield from TUNED_T.found("CSmooth", "N(0, 1)", mean_of(column))
    wide = np.array(results.wide_smoothness)
    hits = int(np.count_nonzero((wide >= 0.01) & (wide <= 1.0)))
    share = share_of(hits, len(wide))
    yield from CLUSTERED_T.found("CSmooth", "N(0, 1) and the four data sets", share)
    shapes, checks = results.tuned.shapes, results.tree_checks
    for error, claim in SAME_SHAPE.items():
        measured = shapes_ratio(checks[error], PAPER_SHAPES[error], shapes[error])
        yield from claim.found("AggTree", "N(0, 1)", measured)
    measured = shapes_ratio(checks["missed"], shapes["distance"], shapes["missed"])
    yield from RETUNED.found("AggTree", "N(0, 1)", measured)
