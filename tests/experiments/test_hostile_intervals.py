"""Intervals hold the records as they are: on ties, at the ends of types, finer than the grid."""

from pathlib import Path

import pytest
from scipy import stats

from experiments import hostile_intervals
from experiments.hostile_data import HOSTILE


def fewest(trials: int) -> float:
    """What a true coverage of the level falls below once in 100,000 runs."""
    return float(stats.binom.ppf(1e-5, trials, hostile_intervals.LEVEL)) / trials


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 40


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_records_are_covered(name: str) -> None:
    """At a large epsilon, where intervals are as narrow as the grid allows."""
    assert hostile_intervals.measure(name, 4, epsilon=100.0).covered == 1
    assert hostile_intervals.measure(name, 8).covered >= fewest(8)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_records_are_covered_at_length(name: str) -> None:
    assert hostile_intervals.measure(name, 2000).covered >= fewest(2000)


def test_the_page_has_a_table_of_all_of_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "intervals.md").read_text("utf-8")
    rows = page.partition(hostile_intervals.BEGIN)[2].partition(hostile_intervals.END)[0]
    found = [line.split(" | ") for line in rows.splitlines() if line.startswith("| ")][1:]
    assert {cells[0].removeprefix("| ") for cells in found} == set(HOSTILE)
    assert all(float(cells[1]) >= hostile_intervals.LEVEL for cells in found)
    assert sum(cells[3].startswith("2,000") for cells in found) >= hostile_intervals.WORST
