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
from dpquantiles.views import Groups, SortedView, stand_in
from dpquantiles.views.protocol import Ints

VALUE, UNIT, CODE, COUNT = "dpq_value", "dpq_person", "dpq_code", "dpq_count"
"""Columns get names of our own, because one column of the table may be used twice."""

MOST_ROWS = 5_000_000
"""Rows of a lazy table that are fetched at once; groups with more are scanned where they are."""


class Portion(NamedTuple):
    """Some groups: their places in the list of keys, and their records."""

    places: Ints
    records: Groups | SortedView
    """Of several groups, or of a single one that is too large to be fetched."""


def grouped_rows(
    table: Table,
    columns: KeyColumns,
    column: str,
    source: Source,
    keys: Sequence[Key] | None,
    units: Units,
    missing: Any,
    bits: Bits,
) -> "GroupedRows":
    """The rows that count of these groups, or of all groups; nothing is read yet.

    What is dropped row by row is dropped first, so that it takes no place of a unit's rows.
    """
    names = tuple(f"dpq_key_{i}" for i in range(len(columns.by)))
    given = zip(columns.by, names, strict=True)
    parts = [_spelled(table, by).alias(name) for by, name in given]
    people = [] if units.column is None else [_spelled(table, units.column).alias(UNIT)]
    frame = table.frame.select(*parts, nw.col(column).alias(VALUE), *people)
    frame = safe(Table(frame), (VALUE,)).frame
    frame = coded(Table(frame), dict(zip(names, columns.types, strict=True)))
    # Objects that cannot be written as text have no key either.
    frame = frame.filter(*(~nw.col(name).is_null() for name in names))
    listed_codes = None if keys is None else codes(keys, frame.collect_schema(), names)
    if listed_codes is not None:
        frame = listed(frame, names, listed_codes)
    if isinstance(missing, str) and missing == "drop":
        frame = present(Table(frame), VALUE).frame
    if units.column is not None:
        frame = bound_rows(Table(frame), UNIT, units.rows, (VALUE, *names), bits).frame
    return GroupedRows(Table(frame), names, source, listed_codes)


def _spelled(table: Table, column: str) -> Any:
    """A column of names; Arrow's dictionaries as text, because not all of them can be filtered."""
    coded = table.dtype(column) == nw.Categorical and not table.lazy
    spelled = coded and not has_codes(table.frame[column])
    return nw.col(column).cast(nw.String) if spelled else nw.col(column)


def listed(frame: Any, names: Sequence[str], keys: Sequence[Key]) -> Any:
    """The rows of which every part of the key is among the parts of these keys."""
    # Polars warns of columns in place of lists, lazy tables take none; others need their types.
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
    """Rows of groups, in memory or where they are: the codes of their keys, and their values."""

    table: Table
    names: tuple[str, ...]
    source: Source
    listed_codes: tuple[Key, ...] | None = None
    """The codes of the keys that are listed; None where all keys count."""

    @contextmanager
    def pinned(self) -> Iterator["GroupedRows"]:
        """The same rows, which stand still while the body runs."""
        with pinned(self.table) as table:
            yield replace(self, table=table)

    def _collected(self, frame: Any) -> Any:
        return engine_of(self.table).collected(frame) if self.table.lazy else frame

    @cached_property
    def counts(self) -> dict[Key, int]:
        """The codes of all keys that occur, ascending, and how many rows each has."""
        sizes = [nw.len().alias(COUNT)]
        if self.table.lazy:
            # Values are read as well: which lines of CSV files DuckDB leaves out depends on what
            # it reads, and this scan must see the lines that the next will.
            sizes.append(nw.col(VALUE).count())
        counted = self.table.frame.group_by(*self.names).agg(*sizes)
        rows = self._collected(counted).select(*self.names, COUNT).rows()
        return {tuple(map(_plain, key)): int(count) for *key, count in sorted(rows)}

    def portions(self, keys: Sequence[Key], grid: Grid, missing: Any) -> Iterator[Portion]:
        """The records of groups, by the codes of their keys, as many at a time as fit in memory."""
        for places in self._places(keys):
            some = [keys[place] for place in places.tolist()]
            if len(some) == 1 and self.counts.get(some[0], 0) > MOST_ROWS:
                yield Portion(places, self._view(some[0], grid, missing))
            else:
                whole = len(some) == len(keys)
                frame = self.table.frame
                frame = frame if whole else listed(frame, self.names, some)
                codes, typed = self._coded(self._collected(frame), some)
                self._expect(some, np.bincount(codes, minlength=len(some)))
                yield Portion(places, on_grid(grid, missing, codes, typed, len(some)))

    def _places(self, keys: Sequence[Key]) -> list[Ints]:
        """Runs of keys with few enough rows together; a table in memory is read in one go."""
        if not self.table.lazy:
            return [np.arange(len(keys))]
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
        """One group by scans of the table where it is."""
        frame = listed(self.table.frame, self.names, [key]).select(VALUE)
        view, rows = LazyColumn.of(Table(frame), VALUE).counted_view(grid, missing)
        self._expect([key], np.array([rows]))
        return view

    def _expect(self, keys: Sequence[Key], sizes: Ints) -> None:
        """Refuse groups of other sizes than the rows that were counted."""
        if self.table.lazy:
            counted = [self.counts.get(key, 0) for key in keys]
            engine_of(self.table).require_same(same=sizes.tolist() == counted)

    def _coded(self, frame: Any, keys: Sequence[Key]) -> tuple[Ints, TypedColumn]:
        """The group of every row, by its place in the list, and its value; other rows left out."""
        schema = frame.collect_schema()
        columns = dict(zip(self.names, as_columns(keys, len(self.names)), strict=True))
        coded = nw.from_dict(
            {**columns, CODE: list(range(len(keys)))},
            schema={**{name: schema[name] for name in self.names}, CODE: nw.Int64},
            backend=frame.implementation,
        )
        # A row must be in one group only, whatever a library takes for equal.
        coded = coded.unique(list(self.names), keep="any")
        joined = frame.join(coded, on=list(self.names), how="inner")
        codes = joined[CODE].to_numpy().astype(np.int64, copy=False)
        return codes, memory.read(joined[VALUE].to_native(), self.source.kind)


def _plain(part: Any) -> Any:
    """A part of a key without the type of a library."""
    return part.item() if isinstance(part, np.generic) else part


def on_grid(grid: Grid, missing: Any, codes: Ints, typed: TypedColumn, count: int) -> Groups:
    """Rows on the grid, by group; missing values as the policy says."""
    numbers, absent = as_numbers(grid.kind, typed.values)
    steps, filling = grid.encode(numbers), stand_in(grid, missing)
    if absent is not None and isinstance(missing, str) and missing == "drop":
        codes, steps = codes[~absent], steps[~absent]
    elif absent is not None:
        steps = np.where(absent, filling, steps)
    return Groups.of(grid, codes, steps, count)
