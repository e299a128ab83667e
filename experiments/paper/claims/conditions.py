"""Claims about what else may be: loose bounds, tied data, other neighbors."""

from collections.abc import Iterator

from experiments.paper import spec
from experiments.paper.cells import Cell
from experiments.paper.claims.claim import SUBJECTS, Claim, Finding
from experiments.paper.contenders import OURS
from experiments.paper.intervals import Accepted, Measured, bootstrapped
from experiments.paper.results import Results
from experiments.paper.tuning import PANELS

LOOSE = Claim(
    sentence="Choosing loose bounds does not greatly affect utility",
    paper="not greatly",
    quantity="missed points with loose bounds over those with [-100, 100], m = 9",
    accepted=Accepted(0, 1.5),
    figure="bounds",
    part="bounds",
)
TIES_ABSENT = Claim(
    sentence="Large numbers of duplicate points: this issue did not arise in our experiments",
    paper="no effect",
    quantity="missed points of the paper's JointExp over ours, which knows ties; m = 9",
    accepted=Accepted(0, 1.25),
    figure="tied",
    part="tied",
)
TIES_RESOLVED = Claim(
    sentence="Perturbing the data by a small amount of data-independent noise resolves it",
    paper="resolved",
    quantity="missed points of JointExp on perturbed data, rounded, over ours; m = 9",
    accepted=Accepted(0, 1.25),
    figure="tied",
    part="tied",
)
ADD_REMOVE = Claim(
    sentence="The sensitivity is slightly lower under add-remove privacy",
    paper="0.9 times (sensitivity 1.8 in place of 2)",
    quantity="missed points under add-remove over those under swap, m = 9",
    accepted=Accepted(0.8, 1.0, "below"),
    figure="neighbors",
    part="neighbors",
)


def ratio(results: Results, top: Cell, bottom: Cell) -> Measured | None:
    """The ratio of two mean errors in missed points, over the trials that both have."""
    errors = {
        name: results.errors("missed", cell)[:, None]
        for name, cell in (("top", top), ("bottom", bottom))
    }
    return bootstrapped(errors, lambda means: (means["top"] / means["bottom"])[:, 0])


def findings(results: Results) -> Iterator[Finding]:
    """Bounds, ties, neighbors."""
    yield from _bounds(results)
    yield from _ties(results)
    yield from _neighbors(results)


def _bounds(results: Results) -> Iterator[Finding]:
    for name, who in SUBJECTS.items():
        for factor in spec.LOOSENESS[1:]:
            words = "no bounds" if factor is None else f"{factor:,} times looser"
            for panel in PANELS:
                cells = (
                    spec.bounds_cell(results.tables.name(panel), name, looseness)
                    for looseness in (factor, 1)
                )
                measured = ratio(results, *cells)
                yield from LOOSE.found(f"{who}, {words}", results.title(panel), measured)


def _ties(results: Results) -> Iterator[Finding]:
    pairs = ((TIES_ABSENT, "JointExp"), (TIES_RESOLVED, "JointExp, ties undone"))
    for claim, name in pairs:
        for wanted in spec.TIED:
            data = results.tables.name(wanted)
            cells = (spec.tied_cell(data, each, spec.ONE_M) for each in (name, OURS))
            measured = ratio(results, *cells)
            yield from claim.found(SUBJECTS["JointExp"], results.title(wanted), measured)


def _neighbors(results: Results) -> Iterator[Finding]:
    for name, who in (("paper_joint_exp", SUBJECTS["JointExp"]), (OURS, SUBJECTS[OURS])):
        kinds = ("add-remove", "swap")
        cells = (spec.neighbors_cell(name, kind, spec.ONE_M) for kind in kinds)
        yield from ADD_REMOVE.found(who, results.title("gaussian"), ratio(results, *cells))
