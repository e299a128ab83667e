"""The rows of a table by group: their keys, their units, and their records on a grid.

A table in memory is read at once. In an engine, a small table of keys is joined to the rows, so
that each row gets the place of its key as a number; `group_scans` then counts and fetches them.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid
from dpquantiles.privacy import Units
from dpquantiles.sources import memory
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import CODE, engine_of, pinned, renamed, safe
from dpquantiles.sources.group_scans import (
    ABSENT,
    CHUNK,
    COUNT,
    VALUE,
    EngineGroups,
    by_place,
    counted,
    on_grid,
)
from dpquantiles.sources.keys import Key, KeyColumns, as_columns, coded, codes
from dpquantiles.sources.memory import TypedColumn, as_numpy
from dpquantiles.sources.source import Source
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows, has_codes, present
from dpquantiles.views import AnyGroups, Groups
from dpquantiles.views.protocol import Ints

NO_UNITS = Units()

DENSE = 16
"""Keys are looked up in a table if it has at most so many entries for each of them."""

UNIT = "dpq_person"
"""The column of units, beside `VALUE`; one column of the table may be used for both."""


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
    people = {} if units.column is None else {UNIT: units.column}
    own = {**dict(zip(names, columns.by, strict=True)), VALUE: column, **people}
    rows = renamed(table, own)
    rows = Table(rows.frame.with_columns(*(_spelled(rows, name) for name in (*names, *people))))
    frame = safe(rows, (VALUE,)).frame
    frame = coded(Table(frame), dict(zip(names, columns.types, strict=True)))
    # An object that has no text has no key either.
    if holed := [name for name in names if table.lazy or frame[name].null_count()]:
        frame = frame.filter(*(~nw.col(name).is_null() for name in holed))
    listed_codes = None if keys is None else codes(keys, frame.collect_schema(), names)
    if drop_first:
        frame = present(Table(frame), VALUE).frame
    return GroupedRows(Table(frame), names, source, listed_codes, units, bits)


def _spelled(table: Table, column: str) -> Any:
    """A column of names, with Arrow's dictionaries as text, because some cannot be filtered."""
    coded = table.dtype(column) == nw.Categorical and not table.lazy
    spelled = coded and not has_codes(table.frame[column])
    return nw.col(column).cast(nw.String) if spelled else nw.col(column)


def listed(frame: Any, names: Sequence[str], keys: Sequence[Key]) -> Any:
    """The rows in memory for which each part of the key is a part of one of these keys."""
    # Polars wants lists. Other libraries want a series of the right type.
    schema = frame.collect_schema()

    def among(name: str, parts: list[Any]) -> Any:
        distinct: Any = list(dict.fromkeys(parts))
        if not frame.implementation.is_polars():
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
    units: Units = NO_UNITS
    bits: Bits | None = None
    """Chooses the rows of units."""

    @contextmanager
    def pinned(self) -> Iterator["GroupedRows"]:
        """The same rows, which do not change while the body runs: a few of each unit, if any."""
        with ExitStack() as stack:
            table = stack.enter_context(self._of_keys())
            if self.units.column is not None:
                assert self.bits is not None
                columns = (VALUE, *self.names)
                table = bound_rows(table, UNIT, self.units.rows, columns, self.bits)
            yield replace(self, table=stack.enter_context(pinned(table)))

    @contextmanager
    def _of_keys(self) -> Iterator[Table]:
        """The rows of the listed keys. Without units, `groups` drops all others."""
        codes, table = self.listed_codes, self.table
        if codes is None or self.units.column is None:
            yield table
        elif not table.lazy:
            yield Table(listed(table.frame, self.names, codes))
        else:
            with engine_of(table).with_places(table.frame, self.names, codes) as frame:
                yield Table(frame)

    @cached_property
    def counts(self) -> dict[Key, tuple[int, int]]:
        """The codes of all keys, ascending, with the number of their rows and missing values."""
        rows = counted(self.table, self.names).select(*self.names, COUNT, ABSENT).rows()
        return {tuple(map(_plain, key)): (int(n), int(gone)) for *key, n, gone in sorted(rows)}

    @contextmanager
    def groups(self, keys: Sequence[Key], grid: Grid, missing: Any) -> Iterator[AnyGroups]:
        """The records of groups, by the codes of their keys."""
        table, kind = self.table, self.source.kind
        if not table.lazy:
            codes, typed = self._coded(table.frame, keys)
            yield on_grid(grid, missing, codes, typed, len(keys))
            return
        if not keys:  # a private selection may find none
            nothing = np.empty(0, dtype=np.int64)
            yield Groups.of(grid, nothing, nothing, 0)
            return
        engine = engine_of(table)
        with engine.with_places(table.frame, self.names, keys) as frame:
            rows = frame.select(CODE, VALUE)
            if "counts" in self.__dict__:  # to find private keys
                counts = np.array([self.counts[key] for key in keys], dtype=np.int64).reshape(-1, 2)
            else:
                counts = by_place(counted(Table(rows), (CODE,)), len(keys))
            yield EngineGroups(engine, rows, kind, grid, missing, *counts.T)

    def _coded(self, frame: Any, keys: Sequence[Key]) -> tuple[Ints, TypedColumn]:
        """The group of each listed row, by its place in the list, and its value."""
        codes = _dense_codes(frame[self.names[0]], keys) if len(self.names) == 1 else None
        if codes is None:
            frame = self._joined(frame, keys)
            codes = as_numpy(frame[CODE]).astype(np.int64, copy=False)
        elif codes.min(initial=0) < 0:
            rows = nw.new_series(CODE, codes >= 0, nw.Boolean, backend=frame.implementation)
            frame, codes = frame.filter(rows), codes[codes >= 0]
        return codes, memory.read(frame[VALUE].to_native(), self.source.kind)

    def _joined(self, frame: Any, keys: Sequence[Key]) -> Any:
        """The rows with one of these keys, and its place in the list."""
        schema = frame.collect_schema()
        columns = dict(zip(self.names, as_columns(keys, len(self.names)), strict=True))
        coded = nw.from_dict(
            {**columns, CODE: list(range(len(keys)))},
            schema={**{name: schema[name] for name in self.names}, CODE: nw.Int64},
            backend=frame.implementation,
        )
        # A row must belong to one group only, whichever keys a library considers equal.
        coded = coded.unique(list(self.names), keep="any")
        return frame.join(coded, on=list(self.names), how="inner")


def _dense_codes(series: Any, keys: Sequence[Key]) -> Ints | None:
    """The place of each row's key, or -1, by a table of all numbers between the keys.

    That is much faster than a join. None if keys are no whole numbers, or too far apart.
    """
    found = as_numpy(series) if keys and series.dtype.is_integer() else np.empty(0)
    if not (found.dtype.kind in "iu" and np.can_cast(found.dtype, np.int64)):
        return None
    numbers = np.array(keys, dtype=np.int64)[:, 0]
    first, last = int(numbers.min()), int(numbers.max())
    between = last - first + 1
    if between > DENSE * len(keys):
        return None
    places = np.full(between + 1, -1, dtype=np.int64)
    places[numbers - first] = np.arange(len(keys))
    codes = np.empty(len(found), dtype=np.int64)
    for start in range(0, len(found), CHUNK):
        # What lies before the first key, or so far behind that it overflows, is a large number.
        index = (found[start : start + CHUNK].astype(np.int64) - first).view(np.uint64)
        codes[start : start + CHUNK] = places[np.minimum(index, between)]
    return codes


def _plain(part: Any) -> Any:
    """A part of a key as a plain Python value."""
    return part.item() if isinstance(part, np.generic) else part
