"""The rows of a table by group: keys become codes and values a typed column, read in one go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kinds import Kind
from dpquantiles.sources import memory
from dpquantiles.sources.keys import Key, KeyColumns, as_columns
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.scan import collected
from dpquantiles.sources.source import Source, open_source
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import bound_rows
from dpquantiles.views.protocol import Ints

VALUE, UNIT, CODE, COUNT = "dpq_value", "dpq_person", "dpq_code", "dpq_count"
"""Columns under names of their own: one column of the table may serve twice."""


@dataclass(frozen=True)
class GroupedColumn:
    """One column of a table with the columns that name its groups; nothing has been read."""

    table: Table
    keys: KeyColumns
    column: str
    source: Source

    @classmethod
    def of(
        cls, table: Table, keys: KeyColumns, column: str, stated: Kind | None
    ) -> "GroupedColumn":
        """The named column; its type is public, like those of the keys."""
        return cls(table, keys, column, open_source(table, column, stated))

    @property
    def kind(self) -> Kind:
        """The type of its values."""
        return self.source.kind

    def read(
        self, keys: Sequence[Key] | None, unit: str | None, rows: int, bits: Bits
    ) -> "GroupedRows":
        """The rows of these groups, or of all groups; at most `rows` of every unit."""
        import narwhals.stable.v2 as nw

        names = self._names
        frame = self._renamed(unit)
        present = [~nw.col(name).is_null() for name in names]
        listed = [] if keys is None else as_columns(keys, len(names))
        asked = [nw.col(name).is_in(values) for name, values in zip(names, listed, strict=False)]
        frame = frame.filter(*present, *asked)
        if unit is not None:
            frame = bound_rows(Table(frame), UNIT, rows, (VALUE, *names), bits).frame
        if isinstance(self.source, LazyColumn) and Table(frame).lazy:
            frame = collected(self.source.numbers, frame)
        return GroupedRows(frame, names, self.kind)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"dpq_key_{i}" for i in range(len(self.keys.by)))

    def _renamed(self, unit: str | None) -> Any:
        """Keys, value and unit under names of their own: one column may serve twice."""
        import narwhals.stable.v2 as nw

        keys = [
            (nw.col(column).cast(nw.String) if name == "str" else nw.col(column)).alias(alias)
            for column, name, alias in zip(self.keys.by, self.keys.types, self._names, strict=True)
        ]
        people = [] if unit is None else [nw.col(unit).alias(UNIT)]
        return self.table.frame.select(*keys, nw.col(self.column).alias(VALUE), *people)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in memory: the parts of their keys, and their values."""

    frame: Any
    names: tuple[str, ...]
    kind: Kind

    def counted(self) -> tuple[list[Key], Ints]:
        """All keys that occur, in ascending order, and how many rows each has."""
        import narwhals.stable.v2 as nw

        counts = self.frame.group_by(*self.names).agg(nw.len().alias(COUNT))
        found = sorted(zip(counts.select(*self.names).rows(), counts[COUNT].to_list(), strict=True))
        return [key for key, _ in found], np.array([count for _, count in found], dtype=np.int64)

    def coded(self, keys: Sequence[Key]) -> tuple[Ints, TypedColumn]:
        """The group of every row, by its place in the list, and its value; other rows left out."""
        import narwhals.stable.v2 as nw

        schema = self.frame.collect_schema()
        columns = dict(zip(self.names, as_columns(keys, len(self.names)), strict=True))
        listed = nw.from_dict(
            {**columns, CODE: list(range(len(keys)))},
            schema={**{name: schema[name] for name in self.names}, CODE: nw.Int64},
            backend=self.frame.implementation,
        )
        joined = self.frame.join(listed, on=list(self.names), how="inner")
        codes = joined[CODE].to_numpy().astype(np.int64, copy=False)
        return codes, memory.read(joined[VALUE].to_native(), self.kind)
