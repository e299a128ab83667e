"""The records of groups that stay in an engine: counted by one scan, and fetched by another.

Each row has the place of its key among all keys. The rows come ordered by it, so that the groups
can be drawn portion by portion. Groups that are too large to be fetched are scanned by themselves.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.kinds import Kind
from dpquantiles.kinds import column as as_numbers
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import CODE, Engine, engine_of
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn, as_numpy
from dpquantiles.sources.tables import Table
from dpquantiles.views import Groups, SortedView, is_dropped, stand_in
from dpquantiles.views.array import portions
from dpquantiles.views.protocol import Ints

VALUE = "dpq_value"
"""Our own name for the column of values."""

COUNT, ABSENT = "dpq_count", "dpq_gone"
"""The columns of counted groups: the number of rows, and of rows without a value."""

CHUNK = 1 << 16
"""Rows that are read together: what is made of them on the way stays in the cache."""

MOST_ROWS = 1_000_000
"""A group with more rows is scanned by the engine, and not fetched."""


def counted(table: Table, names: Sequence[str]) -> Any:
    """Scan a table once for the number of rows, and of missing values, of each group.

    The values of a table in memory are not looked at, because it is read as a whole later. Those of
    others are: which lines of CSV files DuckDB leaves out depends on the columns that it reads, and
    this scan must see the same lines as the next one.
    """
    value = nw.col(VALUE)
    gone = value.is_null() | value.is_nan() if table.dtype(VALUE).is_float() else value.is_null()
    frame = table.frame.select(
        *names, (gone if table.lazy else nw.lit(0)).cast(nw.Int32).alias(ABSENT)
    )
    counts = frame.group_by(*names).agg(nw.len().alias(COUNT), nw.col(ABSENT).sum())
    # Databases add up in types that are wider than any count, and that Python reads slowly.
    counts = counts.with_columns(nw.col(ABSENT).cast(nw.Int64))
    return engine_of(table).collected(counts) if table.lazy else counts


def by_place(counts: Any, count: int) -> Ints:
    """For each place, the number of rows and of missing values."""
    found = np.zeros((count, 2), dtype=np.int64)
    found[integers(counts[CODE])] = np.stack([integers(counts[COUNT]), integers(counts[ABSENT])], 1)
    return found


def integers(series: Any) -> Ints:
    """Collected whole numbers as an array."""
    return np.asarray(as_numpy(series)).astype(np.int64, copy=False)


def on_grid(grid: Grid, missing: Any, codes: Ints, typed: TypedColumn, count: int) -> Groups:
    """Rows on the grid, by group, with the policy for missing values applied."""
    numbers, absent = as_numbers(grid.kind, typed.values)
    steps, filling = np.empty(len(numbers), dtype=np.int64), stand_in(grid, missing)
    for start in range(0, len(numbers), CHUNK):
        steps[start : start + CHUNK] = grid.encode(numbers[start : start + CHUNK])
    if not is_dropped(missing):
        steps = steps if absent is None else np.where(absent, filling, steps)
        return Groups.of(grid, codes, steps, count)
    if absent is None:
        return Groups.of(grid, codes, steps, count, np.zeros(count, dtype=np.int64))
    left_out = np.bincount(codes[absent], minlength=count)
    return Groups.of(grid, codes[~absent], steps[~absent], count, left_out)


@dataclass(frozen=True, eq=False)
class EngineGroups:
    """The records of groups that stay in an engine until they are drawn."""

    engine: Engine
    frame: Any
    """The place of each row's key among all keys, and its value."""
    kind: Kind
    grid: Grid
    policy: Any
    """What becomes of missing values."""
    rows: Ints
    """How many rows each group has, rows without a value included."""
    absent: Ints
    """How many of them have no value."""

    @property
    def missing(self) -> Ints | None:
        return self.absent if is_dropped(self.policy) else None

    @property
    def n(self) -> Ints:
        return self.rows if self.missing is None else self.rows - self.missing

    @property
    def _large(self) -> Any:
        return self.rows > MOST_ROWS

    def __len__(self) -> int:
        return len(self.rows)

    def views(self, which: Ints) -> Iterator[SortedView]:
        """A few groups, with ascending places, by a scan of their own."""
        return self._some(which).views(np.arange(len(which)))

    def portions(self) -> Iterator[tuple[Ints, Groups]]:
        """Portions with large groups are read by scans of their own, between the others."""
        runs = portions(self.rows)
        for is_large, stretch in itertools.groupby(runs, lambda run: self._large[run].any()):
            if is_large:
                yield from ((np.array(run), self._some(np.array(run))) for run in stretch)
                continue
            some = list(stretch)
            fetched = self.engine.portions(self.frame, some)
            yield from ((np.array(run), self._groups(np.array(run), next(fetched))) for run in some)

    def _some(self, places: Ints) -> Groups:
        """Some groups: small ones are fetched, and large ones scanned where they are."""
        large = self._large[places]
        small = places[~large].tolist()
        rows = self.engine.collected(self.frame.filter(nw.col(CODE).is_in(small)))
        groups = self._groups(places, rows)
        apart = {i: self._scanned(int(places[i])) for i in np.flatnonzero(large).tolist()}
        missing = groups.missing
        if missing is not None:
            missing = np.where(large, self.absent[places], missing)
        return replace(groups, missing=missing, apart=apart)

    def _groups(self, places: Ints, rows: Any) -> Groups:
        """Fetched rows by group. A row of any other group is counted behind the last of these."""
        index = np.full(len(self.rows), len(places))
        index[places] = np.arange(len(places))
        codes = index[integers(rows[CODE])]
        fetched = np.bincount(codes, minlength=len(places))
        expected = np.where(self._large[places], 0, self.rows[places])
        self.engine.require_same(same=np.array_equal(fetched, expected))
        typed = memory.read(rows[VALUE].to_native(), self.kind)
        return on_grid(self.grid, self.policy, codes, typed, len(places))

    def _scanned(self, place: int) -> SortedView:
        """One group, scanned by the engine."""
        frame = self.frame.filter(nw.col(CODE) == place).select(VALUE)
        view, rows = LazyColumn.of(Table(frame), VALUE).counted_view(self.grid, self.policy)
        self.engine.require_same(same=rows == self.rows[place])
        return view
