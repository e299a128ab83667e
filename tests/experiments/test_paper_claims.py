"""The claims table is computed, and its arithmetic is right: by hand, on stored rows."""

import math
from statistics import fmean, geometric_mean

import pytest

from experiments.paper import claims
from experiments.paper.cells import Cell
from experiments.paper.claims import Finding
from experiments.paper.intervals import BETTER, FAILS, HOLDS
from experiments.paper.results import Results
from experiments.paper.tuning import PAPER_SHAPES
from tests.experiments import stored

RIVALS = ("AppIndExp", "CSmooth", "AggTree")
SUBJECTS = {"JointExp": "the paper's JointExp", "joint_exp": "dpquantiles"}


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return claims.findings(stored.results())


def mean(name: str, m: int, error: str = "missed") -> float:
    return fmean(stored.ERRORS_BY_NAME[name][error][m - 1])


def closest(m: int, error: str = "missed") -> float:
    return min(mean(name, m, error) for name in RIVALS)


def the(findings: list[Finding], words: str, of: str) -> Finding:
    found = [f for f in findings if words in f.claim and f.of == of]
    assert len(found) == 1, [f.claim for f in found]
    return found[0]


@pytest.mark.parametrize(("name", "of"), SUBJECTS.items())
def test_ratios_at_one_quantile(findings: list[Finding], name: str, of: str) -> None:
    for rival, words in zip(
        RIVALS,
        ("matches AppIndExp", "better error than CSmooth", "better error than AggTree"),
        strict=True,
    ):
        expected = mean(rival, 1) / mean(name, 1)
        assert the(findings, words, of).measured == pytest.approx(expected)


@pytest.mark.parametrize(("name", "of"), SUBJECTS.items())
def test_leads_over_the_closest_competitor(findings: list[Finding], name: str, of: str) -> None:
    for words, counts in (("2-3 times smaller", range(2, 21)), ("gap closes", range(27, 30))):
        expected = geometric_mean([closest(m) / mean(name, m) for m in counts])
        assert the(findings, words, of).measured == pytest.approx(expected)


@pytest.mark.parametrize(("name", "of"), SUBJECTS.items())
def test_how_often_nobody_is_better(findings: list[Finding], name: str, of: str) -> None:
    for words, error in (("highest utility", "missed"), ("strongest performance", "distance")):
        expected = sum(mean(name, m, error) <= 1.1 * closest(m, error) for m in range(1, 30))
        assert the(findings, words, of).measured == expected


@pytest.mark.parametrize("name", ["AppIndExp", *SUBJECTS])
def test_the_sharpest_increase(findings: list[Finding], name: str) -> None:
    expected = max(mean(name, m + 5, "distance") / mean(name, m, "distance") for m in range(1, 25))
    found = the(findings, "sharp increase", SUBJECTS.get(name, name))
    assert found.measured == pytest.approx(expected)


def test_errors_of_all_batches_are_in_the_order_of_their_trials() -> None:
    cell = Cell(study="accuracy", data="gaussian", contender="JointExp", m=7)
    found = stored.results().errors("missed", cell)
    assert found.tolist() == stored.ERRORS_BY_NAME["JointExp"]["missed"][6]


def test_times(findings: list[Finding]) -> None:
    found = the(findings, "roughly 1 ms for n = 1,000, over", "the paper's JointExp")
    assert found.measured == pytest.approx(130)
    assert found.paper.startswith("10 ")
    assert found.accepted == "5 to 20"
    assert found.verdict == FAILS
    seconds = [f for f in findings if f.claim.endswith("1 ms for n = 1,000")]
    assert [f.measured for f in seconds] == [0.013, 0.5]
    slowest = the(findings, "CSmooth is the slowest", "the paper's JointExp")
    assert slowest.measured == pytest.approx(0.65)
    assert slowest.verdict == HOLDS


def test_tuning(findings: list[Finding]) -> None:
    tuned = the(findings, "Tuned t", "CSmooth")
    assert (tuned.measured, tuned.low, tuned.high) == pytest.approx((0.13, 0.12, 0.14))
    wide = the(findings, "cluster in a narrow range", "CSmooth")
    assert wide.measured == pytest.approx(0.99)
    assert wide.low < 0.99 < wide.high
    by_table = geometric_mean([10 + b for _, b in PAPER_SHAPES["missed"]]) / 20
    assert the(findings, "(missed points)", "AggTree").measured == pytest.approx(by_table)
    assert the(findings, "Re-tuned", "AggTree").measured == pytest.approx(19 / 20)


def test_formulas(findings: list[Finding]) -> None:
    stated = the(findings, "5.76", "the paper's formula")
    assert (round(stated.measured, 2), stated.verdict) == (5.76, HOLDS)
    assert the(findings, "5.76", "dpquantiles").verdict == BETTER
    assert the(findings, "0.434", "the paper's formula").measured == math.exp(-5 / 6)


def test_every_interval_holds_its_number_and_every_line_says_how_to_make_it(
    findings: list[Finding],
) -> None:
    for found in findings:
        assert found.low <= found.measured <= found.high
        assert found.verdict in {HOLDS, FAILS, BETTER}
        assert found.command.startswith("python -m experiments.paper --only ")
        assert found.to_dict().keys() >= {"claim", "paper", "measured", "low", "high", "verdict"}


def test_a_claim_that_was_not_measured_is_left_out() -> None:
    nothing = Results(tables=stored.results().tables, tuned=stored.results().tuned)
    empty = Results(
        tables=nothing.tables, tuned=nothing.tuned, tree_checks={"missed": {}, "distance": {}}
    )
    assert {found.figure for found in claims.findings(empty)} == {"claims"}
