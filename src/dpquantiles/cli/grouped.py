"""`dpquantiles release --by` and `--unit`: groups and people from arguments and files."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpquantiles import engine, group_engine
from dpquantiles.cli.place import Place
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.group_engine import Grouping, Plan
from dpquantiles.kinds import Kind
from dpquantiles.privacy import Guarantee, Units
from dpquantiles.request import Request
from dpquantiles.results import GroupedRelease, Release
from dpquantiles.sources.cells import parse
from dpquantiles.sources.files import as_kind, check_readable
from dpquantiles.sources.keys import PRIVATE, KeyColumns
from dpquantiles.sources.source import Source, open_source
from dpquantiles.sources.tables import Table, nearest
from dpquantiles.sources.units import require_units


@dataclass(frozen=True)
class WholeTable:
    """A table with all of its columns, of which one is asked for."""

    table: Table
    kind: Kind
    percent: Callable[[], float]


@dataclass(frozen=True)
class Asked:
    """Groups and units as they were typed; a release that names neither is one column's."""

    by: tuple[str, ...]
    keys: str | None
    units: Units
    size: int | None

    def __post_init__(self) -> None:
        if self.keys is not None and not self.by:
            raise InvalidValue("keys needs --by, the columns that they are keys of")

    @property
    def whole(self) -> bool:
        """Whether other columns matter too."""
        return bool(self.by) or self.units.column is not None

    def promise(self, request: Request) -> Guarantee:
        """What a release will promise, before anything is read."""
        if self.by:
            return Plan.price(self._grouping(self.keys), request).guarantee
        if self.units.column is None:
            return request.build().guarantee
        priced = replace(request, budget=self.units.price(request.budget, grouped=False))
        return self.units.stated(priced.without_intervals().guarantee, request.budget)

    def per_row(self, request: Request) -> Request:
        """What is asked at the budget of one row, after units and keys are paid for."""
        if self.by:
            return Plan.price(self._grouping(self.keys), request).request
        return replace(request, budget=self.units.price(request.budget, grouped=False))

    def settle(self, place: Place, request: Request) -> Any:
        """The keys as they are read; refuses wrong names of columns and wrong keys.

        Schemas and lists of keys are public: no record is read.
        """
        if not self.whole:
            return None
        table = place.columns()
        if self.units.column is not None:
            require_units(table, self.units.column)
        if not self.by:
            return None
        columns = KeyColumns.of(table, self.by)
        return Plan.of(columns, self._grouping(self._read(columns)), request).keys or PRIVATE

    def rehearse(self, request: Request, rows: int | None) -> None:
        """Refuse what public numbers forbid, where the type of the column is known."""
        if request.grid is None:
            return
        if self.by:
            sizes = None if self.size is None else np.array([self.size], dtype=np.int64)
            grouping = self._grouping(self.keys)
            choice = Plan.price(grouping, request).choice(request.grid)
            plan = Plan.price(grouping, replace(request, mechanism=choice.mechanism))
            group_engine.rehearse(plan, sizes, request.grid)
        else:
            row = self.units.price(request.budget, grouped=False)
            engine.rehearse(replace(request, budget=row), request.grid, rows)

    def _read(self, columns: KeyColumns) -> Any:
        if self.keys is None or self.keys == PRIVATE:
            return self.keys
        return read_keys(self.keys, columns)

    def _grouping(self, keys: Any) -> Grouping:
        chosen = keys if keys == PRIVATE or not isinstance(keys, str) else (keys,)
        return Grouping(by=self.by, keys=chosen, size=self.size, units=self.units)

    def restore(self, plain: Mapping[str, Any]) -> Release | GroupedRelease:
        """A release as it was recorded."""
        return GroupedRelease.from_dict(plain) if self.by else Release.from_dict(plain)

    def open(self, place: Place, column: str, type_name: str | None) -> Source | WholeTable:
        """The column alone, or the whole table where other columns matter too."""
        if not self.whole:
            return place.open(column, type_name)
        opened = place.table(column, type_name)
        kind = open_source(opened.table, column).kind
        return WholeTable(opened.table, as_kind(kind, column, type_name), opened.percent)

    def run(
        self, source: Source | WholeTable, column: str, request: Request, bits: Bits
    ) -> Release | GroupedRelease:
        """The release, by group where there are groups."""
        if not isinstance(source, WholeTable):
            return engine.run(source, request, bits)
        if not self.by:
            return engine.run_for_units(source.table, request, bits, column, self.units)
        keys = self._read(KeyColumns.of(source.table, self.by))
        return group_engine.run(source.table, column, self._grouping(keys), request, bits)


def read_keys(text: str, columns: KeyColumns) -> list[Any]:
    """Keys of a CSV file with a column for each part, or of a list with commas between."""
    if text.lower().endswith(".csv") or Path(text).exists():
        rows = _read_rows(Path(text), columns.by)
    elif len(columns.by) == 1:
        rows = [[key] for key in text.split(",")]
    else:
        raise InvalidValue(
            f"keys must be a CSV file with the columns {', '.join(columns.by)}, got {text!r}"
        )
    return [tuple(_part(*part) for part in zip(row, columns.types, strict=True)) for row in rows]


def _read_rows(path: Path, by: Sequence[str]) -> list[list[str]]:
    check_readable(path)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        header = [name.strip() for name in next(rows, [])]
        for name in by:
            if name not in header:
                raise InvalidValue(f"keys: '{path}' has no column {name!r}{nearest(name, header)}")
        places = [header.index(name) for name in by]
        kept = [row for row in rows if row]
    return [[row[i].strip() if i < len(row) else "" for i in places] for row in kept]


def _part(text: str, name: str) -> Any:
    """One part of a key in the type of its column; what cannot be read stays text."""
    if name == "str":
        return text
    parsed = parse(text.strip(), name)
    return text if parsed is None else parsed
