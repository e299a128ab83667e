"""Keys of groups: public lists of them, checked against the columns that they belong to."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.kinds import INT64
from dpquantiles.require import shown
from dpquantiles.sources.tables import Table, find_table

Key = tuple[Any, ...]

PRIVATE = "private"
"""What stands for keys that are found in the data by a private selection."""

RESERVED = ("q", "value")
"""Columns of the result, which cannot be keys as well."""

UINT64 = np.iinfo(np.uint64)


@dataclass(frozen=True)
class KeyColumns:
    """The columns of a table that name its groups, and the types of their keys."""

    by: tuple[str, ...]
    types: tuple[str, ...]
    unsigned: frozenset[str] = frozenset()
    """Those that hold unsigned numbers of 64 bits; all other whole numbers fit in signed ones."""

    @classmethod
    def of(cls, table: Table, by: str | Iterable[str]) -> "KeyColumns":
        """Columns by name, with the types that the schema states."""
        names = (by,) if isinstance(by, str) else tuple(by)
        if len(set(names)) < len(names):
            raise InvalidValue(f"by must name each column once, got {list(names)!r}")
        for name in names:
            if name in RESERVED:
                raise InvalidValue(
                    f"by must name no column {name!r}, which the result has itself; rename it"
                )
        import narwhals.stable.v2 as nw

        dtypes = {name: table.names_type(name, "by") for name in names}
        unsigned = frozenset(name for name, dtype in dtypes.items() if dtype == nw.UInt64)
        return cls(names, tuple(_key_type(*column) for column in dtypes.items()), unsigned)

    def check(self, keys: Any) -> tuple[Key, ...]:
        """A public list of keys, one tuple per group, in the order given."""
        if keys is None:
            raise InvalidValue(
                "keys must be given with by: the groups to answer for, known without looking at "
                "the data, because a group that shows up tells that somebody is in it; or "
                "keys='private' (with delta), which finds groups by a selection that is paid for"
            )
        found = tuple(self._key(key) for key in self._listed(keys))
        if not found:
            raise InvalidValue("keys must name at least one group, got none")
        counted = Counter(found)
        if len(counted) < len(found):
            twice = self.shown(counted.most_common(1)[0][0])
            raise InvalidValue(f"keys must name each group once, got {twice!r} more than once")
        return found

    def shown(self, key: Key) -> Any:
        """A key as users write it: without its tuple where there is one column."""
        return key[0] if len(self.by) == 1 else key

    def _listed(self, keys: Any) -> Iterable[Any]:
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

    def _key(self, key: Any) -> Key:
        parts = (key,) if len(self.by) == 1 and not isinstance(key, tuple) else key
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.by):
            raise InvalidType(
                f"keys must be tuples of {len(self.by)} values, for {', '.join(self.by)}, "
                f"got {shown(key)}"
            )
        columns = zip(parts, self.types, self.by, strict=True)
        return tuple(self._part(value, name, column) for value, name, column in columns)

    def _part(self, value: Any, name: str, column: str) -> Any:
        part = _plain_part(value, name, column)
        if name == "int":
            _require_fit(part, UINT64 if column in self.unsigned else INT64, column)
        return part


def _key_type(column: str, dtype: Any) -> str:
    import narwhals.stable.v2 as nw

    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "str"
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return "int"
    for stated, name in ((nw.Boolean, "bool"), (nw.Date, "date")):
        if dtype == stated:
            return name
    raise InvalidType(
        "by must name columns of text, whole numbers (of up to 64 bits), booleans or dates, got "
        f"{column!r} of type {dtype}; cut it into classes or cast it first"
    )


def _plain_part(value: Any, name: str, column: str) -> Any:
    """One part of a key as a plain value of its column's type."""
    if name == "str" and isinstance(value, str):
        return _writable(str(value))
    truth = isinstance(value, (bool, np.bool_))
    if name == "bool" and truth:
        return bool(value)
    if name == "int" and isinstance(value, Integral) and not truth:
        return int(value)
    if name == "date" and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if value is None or value != value:
        raise InvalidValue(f"keys must not be missing, got {value!r} for {column!r}")
    raise InvalidType(f"keys must be of type {name} like the column {column!r}, got {shown(value)}")


def _writable(text: str) -> str:
    """Text as it is; ValueError where a column of text cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue(f"keys must be text that UTF-8 can write, got {shown(text)}") from None
    return text


def _require_fit(number: int, limits: np.iinfo[Any], column: str) -> None:
    """A number beyond the column's own is a group like any other, but a computer must hold it."""
    if not limits.min <= number <= limits.max:
        raise InvalidValue(
            f"keys must be whole numbers from {limits.min} to {limits.max} for the column "
            f"{column!r}, got {shown(number)}"
        )


def as_columns(keys: Sequence[Key], count: int) -> list[list[Any]]:
    """The parts of keys by column."""
    return [[key[i] for key in keys] for i in range(count)]
