"""What a run measures: errors as the paper defines them, tuning by its formulas, seeds."""

import math
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from experiments.paper import data, runs, spec, tuning
from experiments.paper.cells import Cell
from experiments.paper.contenders import CONTENDERS, Question, even_quantiles
from experiments.paper.scale import FULL, QUICK, Scale, batches, slow_batches
from experiments.rows import key

Cut = Callable[[int], Iterator[tuple[int, int]]]


@pytest.fixture(scope="module")
def tables() -> data.Tables:
    return data.load([])


def test_missed_points_are_the_records_between_the_answers() -> None:
    values = np.array([5.0, 1.0, 3.0, 3.0, 9.0])
    true, answers = np.array([3.0, 3.0, 3.0, 9.0]), np.array([3.0, 2.9, 8.0, 0.0])
    # |#(x > true) - #(x > answer)|: 0, both threes, the five, all five records.
    assert runs.missed_points(values, true, answers).tolist() == [0, 2, 1, 5]


def test_true_quantiles_are_the_lower_record() -> None:
    assert runs.true_quantiles(np.array([4.0, 1.0, 2.0, 3.0]), (0.5,)).tolist() == [2.0]


def test_a_run_gives_the_same_row_every_time(tables: data.Tables) -> None:
    cell = Cell(study="accuracy", data="gaussian", contender="JointExp", m=3)
    run = runs.Trials(cell=cell, first=0, trials=4)
    first = run.measure(tables)
    assert first == run.measure(tables)
    later = runs.Trials(cell=cell, first=2, trials=2).measure(tables)
    assert later == {name: found[2:] for name, found in first.items()}


def test_a_refusal_is_a_row(tables: data.Tables) -> None:
    cell = Cell(study="many", data="gaussian", contender="slice_quantiles", m=29)
    found = runs.Trials(cell=cell, first=0, trials=1).measure(tables)
    assert set(found) == {"refused"}


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_answers_in_order_and_within_bounds(name: str, tables: data.Tables) -> None:
    values = tables.sample("delays", 5000, 0)
    question = Question(
        q=(0.25, 0.5), resolution=0.01, shape=(3, 8), smoothness=(0.05, 0.05), bounds=(-2.0, 15.0)
    )
    answers = CONTENDERS[name](values, question, random.Random(1))
    assert answers.shape == (2,)
    assert -2 <= answers[0] <= answers[1] <= 15


def test_the_remedy_for_ties_answers_with_values_that_records_can_have(
    tables: data.Tables,
) -> None:
    values = tables.sample("made-up hours", 1000, 0)
    question = Question(q=even_quantiles(9), resolution=1, bounds=(0.0, 168.0))
    bits = random.Random(1)
    answers = CONTENDERS["JointExp, ties undone"](values, question, bits)
    assert (answers == np.rint(answers)).all()
    assert np.count_nonzero(answers == 40) >= 3


def test_a_quantile_has_the_rank_below_which_its_share_lies() -> None:
    assert [runs.rank_of(q) for q in (0.001, 1 / 3, 0.5, 0.7, 0.999)] == [1, 334, 500, 700, 999]
    # 0.7 * 1000 is a little more than 700 when it comes as 7 tenths of something.
    assert runs.rank_of(7 / 10 + 1e-16) == 700


def test_tuned_t_has_the_least_variance_by_the_papers_formulas(tables: data.Tables) -> None:
    run = runs.TunedSmoothness(m=5, trial=0)
    values = np.sort(tables.sample("standard", 1000, 0))
    x = np.concatenate([np.full(1001, -100.0), values, np.full(1001, 100.0)])
    for q, found in zip(even_quantiles(5), run.measure(tables)["t"], strict=True):
        center = 1001 + runs.rank_of(q) - 1
        variances = {
            t: _variance(x, center, t, 1 / math.sqrt(5)) for t in np.geomspace(0.01, 1, 50)
        }
        assert found == pytest.approx(min(variances, key=variances.__getitem__), rel=1e-6)


def _variance(x: data.Floats, j: int, t: float, epsilon: float) -> float:
    """2 S^2 / (exp(-5 sigma^2) (epsilon - t / sigma)^2), all as written in the appendix."""
    smooth = max(
        math.exp(-t * m) * np.max(x[j : j + m + 2] - x[j - m - 1 : j + 1]) for m in range(1000)
    )
    roots = np.roots([5 * epsilon / t, -5, 0, -1])
    sigma = float(roots[np.abs(roots.imag) < 1e-9].real[0])
    return float(2 * smooth**2 / (math.exp(-5 * sigma**2) * (epsilon - t / sigma) ** 2))


def test_shapes_are_checked_on_records_that_did_not_choose_them() -> None:
    chosen = {t for run in tuning.tree_runs(FULL) for t in range(run.first, run.first + run.trials)}
    fresh = {
        t for run in tuning.tree_checks(FULL) for t in range(run.first, run.first + run.trials)
    }
    assert (len(chosen), len(fresh)) == (50, 150)
    assert not chosen & fresh


def test_a_tree_answers_all_questions_at_once(tables: data.Tables) -> None:
    found = runs.TunedTree(height=3, branching=6, first=0, trials=2).measure(tables)
    assert np.shape(found["missed"]) == np.shape(found["distance"]) == (2, 29)
    assert 0 < np.mean(found["missed"]) < 60


def test_the_shape_with_the_least_mean_error_is_chosen() -> None:
    scale = Scale(**{**vars(QUICK), "most_leaves": 9, "tree_trials": 1})
    found = {}
    for run in tuning.tree_runs(scale):
        error = abs(run.branching - 2) + np.arange(29) / 100 * (run.height == 3)
        found[key(run)] = {"missed": [error.tolist()], "distance": [(-error).tolist()]}
    tuned = tuning.chosen(found, scale)
    assert tuned.shapes["missed"][5] == (2, 2)
    assert tuned.shapes["distance"][5] == (2, 3)


@pytest.mark.parametrize("cut", [batches, slow_batches])
@pytest.mark.parametrize("total", [1, 2, 5, 7, 20, 200])
def test_batches_cover_all_trials_once(cut: Cut, total: int) -> None:
    trials = [t for first, count in cut(total) for t in range(first, first + count)]
    assert trials == list(range(total))


def test_a_full_run_goes_on_from_a_quick_one(tables: data.Tables) -> None:
    tuned = tuning.Tuned(
        {m: (0.1,) * m for m in range(1, 31)}, dict.fromkeys(tuning.PAPER_SHAPES, ((3, 10),) * 29)
    )
    quick, full = ({key(run) for run in spec.trial_runs(s, tables, tuned)} for s in (QUICK, FULL))
    assert len(quick - full) < 0.05 * len(quick)


def test_the_paper_tables_are_complete() -> None:
    assert [len(shapes) for shapes in tuning.PAPER_SHAPES.values()] == [29, 29]
    assert tuning.PAPER_SHAPES["missed"][4] == (2, 14)
    assert tuning.PAPER_SHAPES["distance"][28] == (3, 5)


def test_times_are_taken_of_both(tables: data.Tables) -> None:
    run = runs.Timing(contender="JointExp", n=1000, m=2, rounds=3, beside="nothing")
    found = run.measure(tables)
    assert len(found["seconds"]) == len(found["sort"]) == 3
    assert min(found["seconds"] + found["sort"]) > 0
