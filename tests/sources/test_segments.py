"""Segments: whatever the bins, what they tell of the sorted order is right."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpquantiles.sources.segments import Run, Segments

RECORDS = st.lists(st.integers(0, 30), min_size=1, max_size=40)


def segmented(records: list[int], bins: list[int]) -> Segments:
    """Segments of records that are their own steps, binned in any way at all."""
    groups: dict[int, list[int]] = {}
    for record, place in zip(records, bins, strict=False):
        groups.setdefault(place, []).append(record)
    low, high, counts = (
        np.array([f(g) for g in groups.values()], dtype=np.int64) for f in (min, max, len)
    )
    objects = (low.astype(object), high.astype(object))
    bins_found = np.array(list(groups), dtype=np.int64)
    return Segments.of(objects, (low, high), (low, high), counts, (bins_found, bins_found))


@given(RECORDS, st.lists(st.integers(0, 8), min_size=40, max_size=40))
def test_overlapping_bins_become_one_segment(records: list[int], bins: list[int]) -> None:
    found = segmented(records, bins)
    assert found.counts.sum() == len(records)
    assert (found.low[1:] >= found.high[:-1]).all()
    ordered = sorted(records)
    ends = np.cumsum(found.counts)
    for start, stop, low, high in zip(
        ends - found.counts, ends, found.least, found.greatest, strict=True
    ):
        assert (ordered[start], ordered[stop - 1]) == (low, high)


def test_bins_that_touch_stay_apart_and_only_whole_bins_know_their_parts() -> None:
    """A segment of several bins is none of them: its records would be looked for in one alone."""
    found = segmented([1, 5, 5, 9, 20, 24, 22, 26], [3, 3, 4, 4, 6, 6, 7, 7])
    assert list(zip(found.low, found.high, found.counts, strict=True)) == [
        (1, 5, 2),
        (5, 9, 2),
        (20, 26, 4),
    ]
    assert found.first.tolist() == found.last.tolist() == [3, 4, -1]


@given(RECORDS, st.integers(1, 10), st.lists(st.integers(-1, 31), max_size=6))
def test_counts_are_right_where_no_step_touches_what_is_open(
    records: list[int], width: int, steps: list[int]
) -> None:
    found = segmented(records, [record // width for record in records])
    asked = np.array(steps, dtype=np.int64)
    open_ = found.touched(asked) & ~found.complete
    fetched = found.with_fetched(open_)
    members = [r for r in sorted(records) if _segment_of(found, r) in np.flatnonzero(open_)]
    below, through = fetched.counting(np.array(members, dtype=np.int64), asked)
    ordered = np.sort(records)
    np.testing.assert_array_equal(below, np.searchsorted(ordered, asked, side="left"))
    np.testing.assert_array_equal(through, np.searchsorted(ordered, asked, side="right"))


def _segment_of(found: Segments, record: int) -> int:
    return int(np.searchsorted(found.high, record))


@given(
    st.lists(st.booleans(), min_size=1, max_size=30),
    st.lists(st.booleans(), min_size=30, max_size=30),
    st.integers(1, 6),
)
def test_runs_cover_what_is_wanted_and_nothing_fetched(
    wanted: list[bool], fetched: list[bool], most: int
) -> None:
    n = len(wanted)
    ends = np.arange(n, dtype=np.int64)
    counts = ends % 5 + 1
    mask = np.array(fetched[:n]) & ~np.array(wanted)
    objects, one = ends.astype(object), np.zeros_like(ends)
    segments = Segments(objects, objects, ends, ends, counts, mask, ends, one)
    index = np.flatnonzero(wanted)
    if not len(index):
        return
    runs = segments.runs(index, most)
    covered = segments.covered(runs)
    assert covered[index].all()
    assert not (covered & mask).any()
    walls = sum(bool(mask[a:b].any()) for a, b in pairwise(index))
    assert len(runs) <= max(most, walls + 1)
    assert all(run.first <= run.last for run in runs)


def test_runs_keep_the_widest_gaps() -> None:
    ends = np.arange(7, dtype=np.int64)
    counts = np.array([1, 9, 1, 2, 1, 90, 1])
    none = np.zeros(7, dtype=bool)
    segments = Segments(
        *(ends.astype(object), ends.astype(object), ends, ends + 1, counts, none, ends),
        np.zeros_like(ends),
    )
    wanted = np.array([0, 2, 4, 6])
    assert segments.runs(wanted, 2) == [Run(0, 4), Run(6, 6)]
    assert segments.runs(wanted, 3) == [Run(0, 0), Run(2, 4), Run(6, 6)]
    assert len(segments.runs(wanted, 9)) == 4


CUTS = st.lists(st.integers(0, 30), max_size=4)


def cut(records: list[int], cuts: list[int]) -> Segments:
    """Segments of records by bins that do not overlap."""
    return segmented(records, [sum(record > end for end in cuts) for record in records])


@given(RECORDS, CUTS, CUTS, RECORDS)
def test_the_same_records_fill_their_segments(
    records: list[int], cuts: list[int], finer: list[int], others: list[int]
) -> None:
    """And others fill them only where they are as many in each, between the same ends."""
    asked, pieces = cut(records, cuts), cut(records, [*cuts, *finer])
    assert asked.filled_by(pieces.low, pieces.high, pieces.counts)
    found = np.sort(np.array(others, dtype=np.int64))
    ends = np.cumsum(asked.counts)
    same = len(found) == len(records) and all(
        (found[start], found[stop - 1]) == (low, high)
        for start, stop, low, high in zip(
            ends - asked.counts, ends, asked.low, asked.high, strict=True
        )
    )
    assert asked.filled_by(found, found, np.ones_like(found)) == same


@given(RECORDS, CUTS, st.integers(0, 39), st.integers(0, 30))
def test_a_record_that_moves_to_another_segment_is_found(
    records: list[int], cuts: list[int], place: int, value: int
) -> None:
    place %= len(records)
    moved = np.sort([*records[:place], value, *records[place + 1 :]])
    asked = cut(records, cuts)
    before, after = (sum(record > end for end in set(cuts)) for record in (records[place], value))
    found = asked.filled_by(moved, moved, np.ones_like(moved))
    assert before == after or not found


def test_runs_are_joined_to_one_segment_each() -> None:
    segments = cut([1, 2, 5, 6, 7, 12, 20], [3, 8, 15])
    joined = segments.joined([Run(0, 1), Run(3, 3)])
    assert joined.low.tolist() == [1, 20]
    assert joined.high.tolist() == [7, 20]
    assert joined.counts.tolist() == [5, 1]
    none = np.empty(0, dtype=np.int64)
    assert not joined.filled_by(none, none, none)


@given(RECORDS, st.integers(1, 10), st.integers(1, 8), st.data())
def test_bounds_hold_the_true_numbers(
    records: list[int], width: int, length: int, data: st.DataObject
) -> None:
    found = segmented(records, [record // width for record in records])
    fetched = np.array(data.draw(st.lists(st.booleans(), min_size=40, max_size=40)))
    found = found.with_fetched(fetched[: len(found.counts)])
    ordered, ends = np.sort(records), np.cumsum(found.counts)
    pool = ordered[np.repeat(found.fetched, found.counts)]
    steps = np.arange(-1, 33)
    least, most = found.below(pool, steps)
    true = np.searchsorted(ordered, steps)
    assert ((least <= true) & (true <= most)).all()
    few, many = found.parts(pool, length)
    occupied = len(set((ordered // length).tolist()))
    assert few <= occupied <= many
    if found.fetched.all():
        assert few == many
        assert (least == most).all()
    assert found.agrees_with(segmented(records, [record // length for record in records]))
    whole = found.inner(31)
    if whole is not None:
        middle = found.middle(whole, data.draw(st.integers(1, 50)))
        assert whole.first <= middle.first <= middle.last <= whole.last
        assert ends[middle.last] >= 1


def test_segments_that_moved_do_not_agree() -> None:
    found = segmented([1, 2, 3, 20, 21, 22], [0, 0, 0, 1, 1, 1])
    assert not found.agrees_with(segmented([1, 2, 19, 20, 21, 22], [0, 0, 1, 1, 1, 1]))
    assert not found.agrees_with(segmented([1, 2, 3, 20, 21], [0, 0, 0, 1, 1]))
