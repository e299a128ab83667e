"""Keys of groups: public lists of keys, and the codes that replace keys while rows are read.

A code is a plain value, one for each key, that can always be read. The code of text is its bytes in
UTF-8, and that of a date is the number of days since 1970. Whole numbers and booleans are their own
codes. The engine computes codes, and codes are compared, counted and fetched. Only the keys that a
release shows are decoded. In libraries that cannot compare bytes, codes are text, in which `MARK`
begins every code that is not plain text.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.kinds import INT64
from dpquantiles.require import shown
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import engine_of
from dpquantiles.sources.memory import as_arrow
from dpquantiles.sources.tables import PANDAS_LIKE, Table, find_table, free_name
from dpquantiles.sources.units import has_codes, is_untyped, named

Key = tuple[Any, ...]

PRIVATE = "private"
"""Asks for a private selection of the keys in the data."""

RESERVED = ("q", "value")
"""Columns of the result, whose names cannot be used for keys."""

UINT64 = np.iinfo(np.uint64)

EPOCH = dt.date(1970, 1, 1)
MARK = "\x01"
"""Begins a code that is not plain text: "=" and the text follow, or "#" and its bytes."""

NOT_SHOWN = "<not shown: {}>"
"""Shown in place of a key that Python cannot hold."""


@dataclass(frozen=True)
class KeyColumns:
    """The columns of a table that name its groups, and the types of their keys."""

    by: tuple[str, ...]
    types: tuple[str, ...]
    unsigned: frozenset[str] = frozenset()
    """The columns of unsigned 64-bit numbers. All other whole numbers fit in signed ones."""

    @classmethod
    def of(cls, table: Table, by: str | Iterable[str]) -> "KeyColumns":
        """Columns by name, with their types from the schema."""
        names = (by,) if isinstance(by, str) else tuple(by)
        if len(set(names)) < len(names):
            raise InvalidValue(f"by must name each column once, got {list(names)!r}")
        for name in names:
            if name in RESERVED:
                raise InvalidValue(
                    f"by must name no column {name!r}, which the result has itself; rename it"
                )
        dtypes = {name: table.names_type(name, "by") for name in names}
        unsigned = frozenset(name for name, dtype in dtypes.items() if dtype == nw.UInt64)
        return cls(names, tuple(_key_type(*column) for column in dtypes.items()), unsigned)

    def check(self, keys: Any) -> tuple[Key, ...]:
        """Check a public list of keys: one tuple per group, in the given order."""
        if keys is None:
            raise InvalidValue(
                "keys must be given with by: the groups to release, known without looking at the "
                "data, because a group that appears reveals that somebody is in it; or "
                "keys='private' (with delta), which spends part of the budget on finding groups"
            )
        listed = self._listed(keys)
        checked = tuple(self._plain(listed) or map(self._key, listed))
        if not checked:
            raise InvalidValue("keys must name at least one group, got none")
        counted = Counter(checked)
        if len(counted) < len(checked):
            twice = self.shown(counted.most_common(1)[0][0])
            raise InvalidValue(f"keys must name each group once, got {twice!r} more than once")
        return checked

    def shown(self, key: Key) -> Any:
        """A key as users write it: not a tuple if there is only one column."""
        return key[0] if len(self.by) == 1 else key

    def _listed(self, keys: Any) -> Sequence[Any]:
        if isinstance(keys, (str, bytes, dict)) or not hasattr(keys, "__iter__"):
            raise InvalidType(
                f"keys must be a list of keys, a table or 'private', got {shown(keys)}"
            )
        table = find_table(keys)
        if table is None:
            return keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        for name in self.by:
            table.dtype(name, "by")
        frame = table.select(self.by).frame
        rows = (frame.collect() if table.lazy else frame).rows()
        return [row[0] for row in rows] if len(self.by) == 1 else rows

    def _plain(self, keys: Sequence[Any]) -> Iterable[Key] | None:
        """Many keys of one column at once, if nothing about them needs to be converted."""
        limits = UINT64 if self.by[0] in self.unsigned else INT64
        if self.types != ("int",) or set(map(type, keys)) != {int}:
            return None
        return zip(keys) if limits.min <= min(keys) and max(keys) <= limits.max else None

    def _key(self, key: Any) -> Key:
        parts = (key,) if len(self.by) == 1 and not isinstance(key, tuple) else key
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.by):
            raise InvalidType(
                f"keys must be tuples of {len(self.by)} values, for {', '.join(self.by)}, "
                f"got {shown(key)}"
            )
        return tuple(map(self._part, parts, self.types, self.by))

    def _part(self, value: Any, name: str, column: str) -> Any:
        """One part of a key as a plain value of its column's type."""
        if name == "str" and isinstance(value, str):
            return _writable(str(value))
        truth = isinstance(value, (bool, np.bool_))
        if name == "bool" and truth:
            return bool(value)
        if name == "int" and isinstance(value, Integral) and not truth:
            return _fitting(int(value), UINT64 if column in self.unsigned else INT64, column)
        if name == "date" and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            return value
        if value is None or value != value:
            raise InvalidValue(f"keys must not be missing, got {value!r} for {column!r}")
        raise InvalidType(
            f"keys must be of type {name} like the column {column!r}, got {shown(value)}"
        )


def _key_type(column: str, dtype: Any) -> str:
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "str"
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return "int"
    for stated, name in ((nw.Boolean, "bool"), (nw.Date, "date")):
        if dtype == stated:
            return name
    raise InvalidType(
        "by must name columns of text, whole numbers (of up to 64 bits), booleans or dates, got "
        f"{column!r} of type {dtype}; bin it or cast it first"
    )


def _writable(text: str) -> str:
    """The same text; ValueError if a column of text cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue(f"keys must be text that UTF-8 can write, got {shown(text)}") from None
    return text


def _fitting(number: int, limits: np.iinfo[Any], column: str) -> int:
    """The same number; ValueError if a column of this type cannot hold it."""
    if not limits.min <= number <= limits.max:
        raise InvalidValue(
            f"keys must be whole numbers from {limits.min} to {limits.max} for the column "
            f"{column!r}, got {shown(number)}"
        )
    return number


def as_columns(keys: Sequence[Key], count: int) -> list[list[Any]]:
    """The parts of keys by column."""
    return [[key[i] for key in keys] for i in range(count)]


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The rows that have keys, with codes in their place; null for objects that have no text."""
    if table.lazy:
        return engine_of(table).coded(table, types)
    # Drop rows without a key first, because some libraries turn a null into the text "None".
    frame = named(table, types)
    codes = {"int": whole_code, "str": _text, "date": _days}
    parts = [codes[stated](frame, name) for name, stated in types.items() if stated in codes]
    return frame.with_columns(*parts) if parts else frame


def whole_code(frame: Any, name: str) -> Any:
    """Whole numbers in a type that holds all keys of a public list without overflow."""
    unsigned = frame.collect_schema()[name] == nw.UInt64
    return nw.col(name) if unsigned else nw.col(name).cast(nw.Int64)


def _days(_: Any, name: str) -> Any:
    return nw.col(name).cast(nw.Int32).cast(nw.Int64)  # Arrow casts dates only to 32 bits


def _text(frame: Any, name: str) -> Any:
    if str(frame.implementation.value) not in PANDAS_LIKE:
        return nw.col(name).cast(nw.String).cast(nw.Binary)
    cells = _cells(frame[name])
    if cells is None:
        return nw.col(name).cast(nw.String)
    return nw.new_series(name, cells, nw.String, backend=frame.implementation)


def _cells(series: Any) -> list[str | None] | None:
    """The codes of names in pandas, row by row; None if their text is their code already."""
    if has_codes(series):
        own = series.to_native().cat
        cells: Any = np.array([*map(_written, own.categories), None], dtype=object)[own.codes]
        return list(cells)
    if is_untyped(series):
        return [_written(cell) for cell in series]
    arrow = as_arrow(series)
    if arrow is None:
        names = {cell: _written(cell) for cell in series.unique().to_list()}
        same = all(cell == name for cell, name in names.items())
        return None if same else [names[cell] for cell in series]
    text = arrow.cast("large_binary")
    written = {raw: marked(raw) for raw in text.unique().to_pylist()}
    same = all(raw == name.encode() for raw, name in written.items())
    return None if same else [written[raw] for raw in text.to_pylist()]


def _written(cell: Any) -> str | None:
    """A Python object as text that every library can hold; None if it raises instead."""
    try:
        return marked(str(cell).encode("utf-8", "surrogatepass"))
    except Exception:
        return None


def marked(raw: bytes) -> str:
    """Bytes as text, after a mark if they are not plain text."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{MARK}#{raw.hex()}"
    return f"{MARK}={text}" if text.startswith(MARK) else text


def codes(keys: Sequence[Key], schema: Mapping[str, Any], names: Sequence[str]) -> tuple[Key, ...]:
    """The codes of keys, as the columns of a coded frame hold them."""
    if all(isinstance(part, int) for key in keys[:1] for part in key):
        return tuple(keys)  # whole numbers and booleans are their own codes
    dtypes = [schema[name] for name in names]
    return tuple(tuple(map(_code, key, dtypes)) for key in keys)


def _code(part: Any, dtype: Any) -> Any:
    if isinstance(part, str):
        return part.encode() if dtype == nw.Binary else marked(part.encode())
    return (part - EPOCH).days if isinstance(part, dt.date) else part


def read(codes: Sequence[Key], types: Sequence[str]) -> tuple[Key, ...]:
    """The inverse of `codes`. A placeholder replaces keys that cannot be shown."""
    if {*types} <= {"int", "bool"}:
        return tuple(codes)
    columns = zip(as_columns(codes, len(types)), types, strict=True)
    return tuple(zip(*(_read(parts, stated) for parts, stated in columns), strict=True))


def _read(parts: list[Any], stated: str) -> list[Any]:
    """One column of keys. Parts that cannot be shown get numbered placeholders."""
    shown = {part: _plain(part, stated) for part in parts}
    hidden = [part for part, plain in shown.items() if plain is None]
    others = set(shown.values())
    for number, part in enumerate(hidden, start=1):
        shown[part] = free_name(NOT_SHOWN.format(number), others)
    return [shown[part] for part in parts]


def _plain(code: Any, stated: str) -> Any:
    """A part of a key from its code; None for text that is not UTF-8, or a date beyond Python's."""
    if stated == "date":
        day = code + EPOCH.toordinal()
        return dt.date.fromordinal(day) if 1 <= day <= dt.date.max.toordinal() else None
    if isinstance(code, bytes):
        code = marked(code)
    if stated != "str" or not code.startswith(MARK):
        return code
    return code[len(MARK) + 1 :] if code.startswith(f"{MARK}=") else None
