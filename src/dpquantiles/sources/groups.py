"""The rows of a table by group, read in portions that fit in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.grid import Grid
from dpquantiles.kinds import column as as_numbers
from dpquantiles.privacy import Units
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import engine_of, pinned, safe
from dpquantiles.sources.keys import Key, KeyColumns, as_columns, coded, codes
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.source import Source
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows, has_codes, present
from dpquantiles.views import AnyGroups, Groups, SortedView, is_dropped, stand_in
from dpquantiles.views.protocol import Ints

VALUE, UNIT, CODE, COUNT = "dpq_value", "dpq_person", "dpq_code", "dpq_count"
"""Our own names for columns, because one column of the table may be used twice."""

MOST_ROWS = 5_000_000
"""The most rows of a lazy table to fetch at once. A larger group is scanned by the engine."""


class Portion(NamedTuple):
    """Some of the groups: their places in the list of keys, and their records."""

    places: Ints
    records: Groups | SortedView
    """The records of several groups, or of a single one that is too large to be fetched."""


def grouped_rows(
    table: Table,
    columns: KeyColumns,
    column: str,
    source: Source,
    keys: Sequence[Key] | None,
    units: Units,
    drop_first: bool,
    bits: Bits,
) -> "GroupedRows":
    """The rows of these groups, or of all groups, before anything is read.

    Missing values may be dropped first, so that they do not use up a unit's rows. Where the sizes
    of groups are public, they count in these sizes and must stay.
    """
    names = tuple(f"dpq_key_{i}" for i in range(len(columns.by)))
    given = zip(columns.by, names, strict=True)
    parts = [_spelled(table, by).alias(name) for by, name in given]
    people = [] if units.column is None else [_spelled(table, units.column).alias(UNIT)]
    frame = table.frame.select(*parts, nw.col(column).alias(VALUE), *people)
    frame = safe(Table(frame), (VALUE,)).frame
    frame = coded(Table(frame), dict(zip(names, columns.types, strict=True)))
    # An object that has no text has no key either.
    frame = frame.filter(*(~nw.col(name).is_null() for name in names))
    listed_codes = None if keys is None else codes(keys, frame.collect_schema(), names)
    if listed_codes is not None:
        frame = listed(frame, names, listed_codes)
    if drop_first:
        frame = present(Table(frame), VALUE).frame
    if units.column is not None:
        frame = bound_rows(Table(frame), UNIT, units.rows, (VALUE, *names), bits).frame
    return GroupedRows(Table(frame), names, source, listed_codes)


def _spelled(table: Table, column: str) -> Any:
    """A column of names, with Arrow's dictionaries as text, because some cannot be filtered."""
    coded = table.dtype(column) == nw.Categorical and not table.lazy
    spelled = coded and not has_codes(table.frame[column])
    return nw.col(column).cast(nw.String) if spelled else nw.col(column)


def listed(frame: Any, names: Sequence[str], keys: Sequence[Key]) -> Any:
    """The rows for which each part of the key is a part of one of these keys."""
    # Polars and lazy tables want lists. Other libraries want a series of the right type.
    schema = frame.collect_schema()
    as_lists = isinstance(frame, nw.LazyFrame) or frame.implementation.is_polars()

    def among(name: str, parts: list[Any]) -> Any:
        distinct: Any = list(dict.fromkeys(parts))
        if not as_lists:
            distinct = nw.new_series(name, distinct, schema[name], backend=frame.implementation)
        return nw.col(name).is_in(distinct)

    columns = zip(names, as_columns(keys, len(names)), strict=True)
    return frame.filter(*(among(name, parts) for name, parts in columns))


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The rows of groups, in memory or in an engine: the codes of their keys, and their values."""

    table: Table
    names: tuple[str, ...]
    source: Source
    listed_codes: tuple[Key, ...] | None = None
    """The codes of the keys in the public list; None if there is none and all keys count."""

    @contextmanager
    def pinned(self) -> Iterator["GroupedRows"]:
        """The same rows, which do not change while the body runs."""
        with pinned(self.table) as table:
            yield replace(self, table=table)

    def _collected(self, frame: Any) -> Any:
        return engine_of(self.table).collected(frame) if self.table.lazy else frame

    @cached_property
    def counts(self) -> dict[Key, int]:
        """The codes of all keys that occur, in ascending order, and the number of their rows."""
        sizes = [nw.len().alias(COUNT)]
        if self.table.lazy:
            # Read the values too: which lines of CSV files DuckDB leaves out depends on the columns
            # that it reads, and this scan must see the same lines as the next one.
            sizes.append(nw.col(VALUE).count())
        counted = self.table.frame.group_by(*self.names).agg(*sizes)
        rows = self._collected(counted).select(*self.names, COUNT).rows()
        return {tuple(map(_plain, key)): int(count) for *key, count in sorted(rows)}

    def groups(self, keys: Sequence[Key], grid: Grid, missing: Any) -> AnyGroups:
        """The records of groups, by the codes of their keys: all at once if they fit in memory."""
        if not keys:
            nobody = np.zeros(0, dtype=np.int64)
            return Groups.of(grid, nobody, nobody, 0)
        if self.table.lazy and sum(self.counts.get(key, 0) for key in keys) > MOST_ROWS:
            return DividedGroups(self, keys, grid, missing)
        return self._fetched(keys, grid, missing)

    def portions(self, keys: Sequence[Key], grid: Grid, missing: Any) -> Iterator[Portion]:
        """The same in portions that fit in memory, or a group by itself that does not fit."""
        for places in self._places(keys):
            some = [keys[place] for place in places.tolist()]
            if len(some) == 1 and self.counts.get(some[0], 0) > MOST_ROWS:
                yield Portion(places, self._view(some[0], grid, missing))
            else:
                yield Portion(places, self._fetched(some, grid, missing))

    def _fetched(self, keys: Sequence[Key], grid: Grid, missing: Any) -> Groups:
        """The records of groups that fit in memory together."""
        whole = not self.table.lazy or len(keys) == len(self.listed_codes or self.counts)
        frame = self.table.frame if whole else listed(self.table.frame, self.names, keys)
        codes, typed = self._coded(self._collected(frame), keys)
        self._expect(keys, np.bincount(codes, minlength=len(keys)))
        return on_grid(grid, missing, codes, typed, len(keys))

    def _places(self, keys: Sequence[Key]) -> list[Ints]:
        """Divide keys into runs with few enough rows."""
        runs: list[list[int]] = [[]]
        rows = 0
        for place, key in enumerate(keys):
            count = self.counts.get(key, 0)
            if runs[-1] and rows + count > MOST_ROWS:
                runs.append([])
                rows = 0
            runs[-1].append(place)
            rows += count
        return [np.array(run, dtype=np.int64) for run in runs]

    def _view(self, key: Key, grid: Grid, missing: Any) -> SortedView:
        """One group, scanned by the engine."""
        frame = listed(self.table.frame, self.names, [key]).select(VALUE)
        view, rows = LazyColumn.of(Table(frame), VALUE).counted_view(grid, missing)
        self._expect([key], np.array([rows]))
        return view

    def _expect(self, keys: Sequence[Key], sizes: Ints) -> None:
        """Stop if the groups are not as large as they were when their rows were counted."""
        if self.table.lazy:
            counted = [self.counts.get(key, 0) for key in keys]
            engine_of(self.table).require_same(same=sizes.tolist() == counted)

    def _coded(self, frame: Any, keys: Sequence[Key]) -> tuple[Ints, TypedColumn]:
        """The group of each listed row, by its place in the list, and its value."""
        schema = frame.collect_schema()
        columns = dict(zip(self.names, as_columns(keys, len(self.names)), strict=True))
        coded = nw.from_dict(
            {**columns, CODE: list(range(len(keys)))},
            schema={**{name: schema[name] for name in self.names}, CODE: nw.Int64},
            backend=frame.implementation,
        )
        # A row must belong to one group only, whichever keys a library considers equal.
        coded = coded.unique(list(self.names), keep="any")
        joined = frame.join(coded, on=list(self.names), how="inner")
        codes = joined[CODE].to_numpy().astype(np.int64, copy=False)
        return codes, memory.read(joined[VALUE].to_native(), self.source.kind)


@dataclass(frozen=True, eq=False)
class DividedGroups:
    """The records of groups that do not fit in memory all at once; keys are codes."""

    rows: GroupedRows
    keys: Sequence[Key]
    grid: Grid
    policy: Any
    """What becomes of missing values."""
    missing: None = None
    """Missing values count in `n`, where they are not left out before."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n(self) -> Ints:
        """The number of rows of each group."""
        return np.array([self.rows.counts.get(key, 0) for key in self.keys], dtype=np.int64)

    def views(self, which: Ints) -> Iterator[SortedView]:
        """Some groups, in this order, each as a data set of its own."""
        keys = [self.keys[place] for place in which.tolist()]
        for places, records in self.rows.portions(keys, self.grid, self.policy):
            if isinstance(records, Groups):
                yield from records.views(np.arange(len(places)))
            else:
                yield records

    def portions(self) -> Iterator[Portion]:
        """All groups, in portions that fit in memory."""
        return self.rows.portions(self.keys, self.grid, self.policy)


def _plain(part: Any) -> Any:
    """A part of a key as a plain Python value."""
    return part.item() if isinstance(part, np.generic) else part


def on_grid(grid: Grid, missing: Any, codes: Ints, typed: TypedColumn, count: int) -> Groups:
    """Rows on the grid, by group, with the policy for missing values applied."""
    numbers, absent = as_numbers(grid.kind, typed.values)
    steps, filling = grid.encode(numbers), stand_in(grid, missing)
    gone = np.zeros(len(codes), dtype=bool) if absent is None else absent
    if not is_dropped(missing):
        return Groups.of(grid, codes, np.where(gone, filling, steps), count)
    left_out = np.bincount(codes[gone], minlength=count)
    return Groups.of(grid, codes[~gone], steps[~gone], count, left_out)
