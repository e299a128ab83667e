"""Intervals by group and by unit: what their draws read and cost, over all neighbors."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.results import Release
from dpquantiles.views import SortedView

KEYS = ["a", "b"]
ROWS = [("a", 1), ("a", 4), ("b", 4), ("b", 9), ("b", 2)]
BOUNDS = (0, 9)
Seen = list[tuple[dpq.PureDP, Counter[int]]]


@contextmanager
def watched() -> Iterator[Seen]:
    """The budget and the records of every draw with intervals."""
    seen: Seen = []
    release = Bracketed.release

    def record(self: Bracketed, view: SortedView, bits: Any) -> Release:
        steps = view.order_statistics(np.arange(view.n, dtype=np.int64))
        assert isinstance(self.budget, dpq.PureDP)
        seen.append((self.budget, Counter(steps.tolist())))
        return release(self, view, bits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bracketed, "release", record)
        yield seen


def draws(rows: Sequence[tuple[Any, ...]], neighbors: str, **options: Any) -> Seen:
    names = ["g", "x", "who"][: len(rows[0])] if rows else ["g", "x"]
    table = pl.DataFrame(
        rows, schema=dict.fromkeys(names, pl.String) | {"x": pl.Int64}, orient="row"
    )
    asked: dict[str, Any] = {"by": "g", "keys": KEYS, "epsilon": 1.0, "bounds": BOUNDS}
    asked |= {"neighbors": neighbors, "intervals": True, "rng": random.Random(3), **options}
    with watched() as seen:
        dpq.median(table, column="x", **asked)
    return seen


def changed(one: Seen, other: Seen) -> list[tuple[int, int]]:
    """For every draw, how many records are only in the one, and only in the other."""
    assert [budget for budget, _ in one] == [budget for budget, _ in other]
    return [
        ((mine - yours).total(), (yours - mine).total())
        for (_, mine), (_, yours) in zip(one, other, strict=True)
    ]


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_one_record_changes_the_rows_of_one_group(neighbors: str) -> None:
    """So that all groups together cost the budget of one, which is the whole budget."""
    before = draws(ROWS, neighbors)
    assert [budget.epsilon for budget, _ in before] == [1.0, 1.0]
    for place, (group, value) in enumerate(ROWS):
        others = ROWS[:place] + ROWS[place + 1 :]
        tables = [others]
        if neighbors == "swap":
            tables = [[*others, (group, other)] for other in range(10) if other != value]
        for rows in tables:
            differences = changed(before, draws(rows, neighbors))
            assert sorted(differences) == [(0, 0), (1, 1 if neighbors == "swap" else 0)]


@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_changes_few_rows(most: int) -> None:
    """Each of them at the budget of one row; no unit has more rows than count."""
    people = "uvwyz" if most == 1 else "uvuvw"
    rows = [(group, value, who) for (group, value), who in zip(ROWS, people, strict=True)]
    options = {"unit": "who", "max_rows_per_unit": most}
    before = draws(rows, "add-remove", **options)
    assert all(budget.epsilon * most <= 1.0 for budget, _ in before)
    for who in set(people):
        after = draws([row for row in rows if row[2] != who], "add-remove", **options)
        differences = changed(before, after)
        assert 1 <= sum(gone for gone, _ in differences) <= most
        assert sum(come for _, come in differences) == 0


def test_released_sizes_alone_decide_which_groups_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Told the same noisy sizes, all tables show the same groups."""
    for sizes in itertools.product((0, 4, 5, 60), repeat=2):
        told = np.array(sizes, dtype=np.int64)
        monkeypatch.setattr(PrivateCount, "draw_all", lambda *_, told=told: told)
        for place in range(len(ROWS) + 1):
            table = pl.DataFrame(ROWS[:place], schema={"g": pl.String, "x": pl.Int64}, orient="row")
            made = dpq.median(
                table,
                column="x",
                by="g",
                keys=KEYS,
                epsilon=1,
                neighbors="add-remove",
                mechanism="joint_exp",
                min_size=5,
            )
            shown = [(key, size) for key, size in zip(KEYS, sizes, strict=True) if size >= 5]
            assert list(made) == [key for key, _ in shown]
            assert made.provenance["sizes"] == [size for _, size in shown]
            assert made.provenance["hidden"] == 2 - len(shown)
