"""What a release owes to units: tables that differ in one unit are hard to tell apart.

All tables of few rows, all units, every choice of the rows that are kept, and all answers: the laws
are added up, not sampled. Budgets come from the plan of the release itself.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.job import Job
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ApproxDP, Guarantee, Neighbors, PureDP, Units
from dpquantiles.sources.keys import KeyColumns
from dpquantiles.views import SortedSteps

Row = tuple[str, int]
"""Its group and its value."""
Rows = tuple[Row, ...]
Output = tuple[Any, ...]
Law = dict[Output, float]

GRID = dpq.UniformGrid(0, 1, 1)
GONE = 2
"""The value of a row whose value is missing."""
KEYS = ("a", "b")
COLUMNS = KeyColumns(("group",), ("str",))
ROWS: tuple[Row, ...] = tuple(itertools.product(KEYS, (0, 1)))


def kept(unit: Rows, k: int) -> Iterator[tuple[float, Rows]]:
    """Every choice of rows of one unit, with its probability."""
    choices = list(itertools.combinations(unit, min(k, len(unit))))
    for choice in choices:
        yield 1 / len(choices), choice


def mixture(table: tuple[Rows, ...], k: int, law: Callable[[Rows], Law]) -> Law:
    """The law of a release on the rows that are kept of a table, given as its units' rows."""
    total: Counter[Output] = Counter()
    for choice in itertools.product(*(kept(unit, k) for unit in table)):
        chance = math.prod(weight for weight, _ in choice)
        rows = tuple(sorted(row for _, part in choice for row in part))
        for output, probability in law(rows).items():
            total[output] += chance * probability  # type: ignore[assignment]
    return dict(total)


@cache
def answers(mechanism: JointExp, records: tuple[int, ...]) -> Law:
    """The law of one group."""
    present = np.array([x for x in records if x < GONE], dtype=np.int64)
    law = mechanism.law(SortedSteps(GRID, present, len(records) - len(present)))
    found = itertools.combinations_with_replacement((0, 1), len(mechanism.q))
    return {answer: math.exp(law.log_probability(answer)) for answer in found}


def of_all_keys(job: Job, rows: Rows, size: int) -> Law:
    """The law of all groups with public keys."""
    mechanism = job.build("joint_exp", size)
    assert isinstance(mechanism, JointExp)
    parts = [
        answers(mechanism, tuple(sorted(value for group, value in rows if group == key)))
        for key in KEYS
    ]
    return {
        tuple(answer for answer, _ in outcome): math.prod(p for _, p in outcome)
        for outcome in itertools.product(*(part.items() for part in parts))
    }


def excess(one: Law, other: Law, epsilon: float) -> float:
    """The largest P[S] - exp(epsilon) P'[S] over all sets of outputs."""
    parts = (p - math.exp(epsilon) * other.get(output, 0.0) for output, p in one.items())
    return math.fsum(part for part in parts if part > 0)


def worst(
    tables: Iterator[tuple[Rows, ...]], k: int, law: Callable[[Rows], Law], epsilon: float
) -> float:
    """The largest excess over all tables and all of their units, removed or added."""
    found = 0.0
    for table in tables:
        whole = mixture(table, k, law)
        for i in range(len(table)):
            rest = mixture(table[:i] + table[i + 1 :], k, law)
            found = max(found, excess(whole, rest, epsilon), excess(rest, whole, epsilon))
    return found


def tables(sizes: tuple[int, ...], rows: tuple[Row, ...] = ROWS) -> Iterator[tuple[Rows, ...]]:
    """All tables whose units have these numbers of rows."""
    units = [itertools.combinations_with_replacement(rows, size) for size in sizes]
    return itertools.product(*units)


def job_of(budget: Guarantee, k: int, keys: Any = KEYS) -> Job:
    return Job(
        data=None,
        columns=("value",),
        q=(0.5,),
        budget=budget,
        grid=GRID,
        by=("group",),
        keys=keys,
        size=None if isinstance(keys, str) else SIZE,
        units=Units.of("unit", k),
    )


BUDGET = PureDP(epsilon=1.2, neighbors=Neighbors.ADD_REMOVE)
SLACK, SIZE = 1e-9, 3


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(3,), (2, 1), (1, 3)])
def test_units_in_several_groups_are_protected(k: int, sizes: tuple[int, ...]) -> None:
    job = job_of(BUDGET, k)
    assert job.promise() == replace(BUDGET, unit="unit")
    found = worst(tables(sizes), k, lambda rows: of_all_keys(job, rows, SIZE), BUDGET.epsilon)
    assert found <= SLACK


@pytest.mark.parametrize("k", [1, 2, 3])
def test_units_are_protected_over_all_neighboring_tables(k: int) -> None:
    """One group: three units of up to four rows."""
    job = job_of(BUDGET, k)
    values = tuple(("a", value) for value in (0, 1))
    for sizes in ((4, 1), (2, 3), (1, 2, 2)):
        every = tables(sizes, values)
        assert worst(every, k, lambda rows: of_all_keys(job, rows, SIZE), BUDGET.epsilon) <= SLACK


def test_too_large_a_row_budget_is_caught() -> None:
    """A row that may spend what a unit may spend breaks the promise."""
    broken = job_of(BUDGET, 1)  # of which every unit has two rows
    found = worst(tables((2, 1)), 2, lambda rows: of_all_keys(broken, rows, SIZE), BUDGET.epsilon)
    assert found > 0.01


def test_too_many_rows_are_caught() -> None:
    """More rows than are paid for break the promise."""
    job = job_of(BUDGET, 1)
    found = worst(tables((2, 1)), 2, lambda rows: of_all_keys(job, rows, SIZE), BUDGET.epsilon)
    assert found > 0.01


def of_a_sum(rows: Rows) -> Law:
    """A mechanism that attains its budget: the sum of values 1 and -1, with geometric noise."""
    total = sum(2 * value - 1 for _, value in rows)
    return {(y,): math.exp(-BUDGET.epsilon * abs(y - total)) for y in range(-9, 10)}


def worst_names(named: Callable[[Rows, Rows], tuple[Rows, ...]]) -> float:
    """The largest loss over all rows of one person, and of another one who is always there.

    `named` tells which rows share a name.
    """
    found = 0.0
    for rows, others in tables((4, 1), (("a", 0), ("a", 1))):
        both, alone = (mixture(table, 1, of_a_sum) for table in (named(rows, others), (others,)))
        found = max(found, *(abs(math.log(both[y] / alone[y])) for y in both))
    return found


def test_two_people_under_one_name_break_the_promise() -> None:
    """The rows of one of them push out those of the other: one row goes, and another comes."""
    assert worst_names(lambda rows, others: (rows, others)) <= BUDGET.epsilon + SLACK
    assert worst_names(lambda rows, others: (rows + others,)) > 1.5 * BUDGET.epsilon


def test_one_person_under_two_names_breaks_the_promise() -> None:
    split = worst_names(lambda rows, others: (rows[:2], rows[2:], others))
    assert split == pytest.approx(2 * BUDGET.epsilon)


def of_private_keys(job: Job, rows: Rows) -> Law:
    """The law of keys that are found in the data: what each group shows, and its answers."""
    selection = job.price.keys
    assert isinstance(selection, PrivateKeys)
    found: Law = {(): 1.0}
    for key in KEYS:
        records = tuple(sorted(value for group, value in rows if group == key))
        shown = of_one_key(job, selection, records)
        found = {
            (*before, *after): p * r for before, p in found.items() for after, r in shown.items()
        }
    return found


def of_one_key(job: Job, selection: PrivateKeys, records: tuple[int, ...]) -> Law:
    k, n = selection.threshold, len(records)
    noise = {z: math.exp(-selection.epsilon * abs(z)) for z in range(-k, k + 1)}
    total = math.fsum(noise.values())
    shown: Counter[Output] = Counter()
    for z, weight in noise.items():
        if n == 0 or n + z <= k:
            shown[(None,)] += weight / total  # type: ignore[assignment]
            continue
        mechanism = job.build("joint_exp", n + z)
        assert isinstance(mechanism, JointExp)
        for answer, probability in answers(mechanism, records).items():
            shown[((n + z, answer),)] += weight / total * probability  # type: ignore[assignment]
    return dict(shown)


@pytest.mark.parametrize("k", [1, 2])
def test_private_keys_are_private_over_all_neighboring_tables(k: int) -> None:
    budget = ApproxDP(epsilon=4.0, delta=0.3, neighbors=Neighbors.ADD_REMOVE)
    job = job_of(budget, k, keys="private")
    assert job.promise() == replace(budget, unit="unit")
    for sizes in ((2,), (2, 1), (1, 2)):
        found = worst(tables(sizes), k, lambda rows: of_private_keys(job, rows), budget.epsilon)
        assert 0 < found <= budget.delta


def test_swap_of_a_unit_replaces_one_row() -> None:
    """One row per unit, no groups: the public number of units is the number of kept rows.

    A missing value may be what is kept of a unit.
    """
    budget = PureDP(epsilon=1.0)
    units = Units.of("unit", 1)
    job = Job(data=None, columns=("value",), q=(0.5,), budget=budget, grid=GRID, units=units)
    mechanism = job.usual
    assert isinstance(mechanism, JointExp)

    def law(rows: Rows) -> Law:
        return answers(mechanism, tuple(sorted(value for _, value in rows)))

    assert not job.drops_first
    values = tuple(("a", value) for value in (0, 1, GONE))
    people = [u for n in (1, 2, 3) for u in itertools.combinations_with_replacement(values, n)]
    for rest in people:
        laws = [mixture((unit, rest), 1, law) for unit in people]
        for one, other in itertools.permutations(laws, 2):
            assert excess(one, other, budget.epsilon) <= SLACK
