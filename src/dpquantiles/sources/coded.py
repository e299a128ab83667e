"""Keys of groups as codes: plain values, one for each key, that no record can make unreadable.

Text is the bytes of its UTF-8, dates are days since 1970, whole numbers and truth values are
themselves. Columns become codes where they are, and codes are compared, counted and fetched; only
keys that a release names are read from their codes. Libraries that compare no bytes hold text, in
which `MARK` begins what is no plain text.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpquantiles.sources.frames import free_name
from dpquantiles.sources.keys import Key, as_columns
from dpquantiles.sources.memory import as_arrow
from dpquantiles.sources.tables import PANDAS_LIKE, Table
from dpquantiles.sources.units import absent_in, has_codes, is_untyped
from dpquantiles.sources.values import engine_of

EPOCH = dt.date(1970, 1, 1)
MARK = "\x01"
"""What begins text that is no plain text: with "=" the text itself, with "#" its bytes in hex."""

NOT_SHOWN = "<not shown: {}>"
"""What stands for a key that Python cannot show."""


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The rows that have keys, with these as codes; null where an object cannot be written."""
    frame = table.frame
    if table.engine != "dask":  # whose partitions come here one by one
        # Rows without a key go first, because some libraries write a null as the text "None".
        frame = frame.filter(*(~absent_in(table, name) for name in types))
        table = replace(table, frame=frame)
    if table.lazy and table.engine != "polars":
        frame = engine_of(table).coded(table, types)
        types = {name: stated for name, stated in types.items() if stated == "int"}
    ways = {"int": _whole, "str": _text, "date": _days}
    parts = [ways[stated](frame, name) for name, stated in types.items() if stated in ways]
    return frame.with_columns(*parts) if parts else frame


def _whole(frame: Any, name: str) -> Any:
    """Numbers in a type that holds all keys which may be listed, so that none wraps."""
    import narwhals.stable.v2 as nw

    unsigned = frame.collect_schema()[name] == nw.UInt64
    return nw.col(name) if unsigned else nw.col(name).cast(nw.Int64)


def _days(_: Any, name: str) -> Any:
    import narwhals.stable.v2 as nw

    return nw.col(name).cast(nw.Int32).cast(nw.Int64)  # Arrow casts days to 32 bits only


def _text(frame: Any, name: str) -> Any:
    import narwhals.stable.v2 as nw

    if str(frame.implementation.value) not in PANDAS_LIKE:
        return nw.col(name).cast(nw.String).cast(nw.Binary)
    cells = _cells(frame[name])
    if cells is None:
        return nw.col(name).cast(nw.String)
    return nw.new_series(name, cells, nw.String, backend=frame.implementation)


def _cells(series: Any) -> list[str | None] | None:
    """Names that pandas holds, row by row; None where their own text is their code already."""
    if has_codes(series):
        own = series.to_native().cat
        cells: Any = np.array([*map(_written, own.categories), None], dtype=object)[own.codes]
        return list(cells)
    if is_untyped(series):
        return [_written(cell) for cell in series]
    held = as_arrow(series)
    if held is None:
        names = {cell: _written(cell) for cell in series.unique().to_list()}
        same = all(cell == name for cell, name in names.items())
        return None if same else [names[cell] for cell in series]
    text = held.cast("large_binary")
    known = {raw: marked(raw) for raw in text.unique().to_pylist()}
    same = all(raw == name.encode() for raw, name in known.items())
    return None if same else [known[raw] for raw in text.to_pylist()]


def _written(cell: Any) -> str | None:
    """A Python object as text that every library can hold; None where it raises instead."""
    try:
        return marked(str(cell).encode("utf-8", "surrogatepass"))
    except Exception:
        return None


def marked(raw: bytes) -> str:
    """Bytes as text: themselves where they are plain text, else behind a mark."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{MARK}#{raw.hex()}"
    return f"{MARK}={text}" if text.startswith(MARK) else text


def codes(keys: Sequence[Key], schema: Mapping[str, Any], names: Sequence[str]) -> tuple[Key, ...]:
    """Keys as the columns of a coded frame hold them."""
    dtypes = [schema[name] for name in names]
    return tuple(tuple(map(_code, key, dtypes)) for key in keys)


def _code(part: Any, dtype: Any) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(part, str):
        return part.encode() if dtype == nw.Binary else marked(part.encode())
    return (part - EPOCH).days if isinstance(part, dt.date) else part


def read(codes: Sequence[Key], types: Sequence[str]) -> tuple[Key, ...]:
    """Keys from their codes, the inverse of `codes`; stand-ins for those that cannot be shown."""
    columns = zip(as_columns(codes, len(types)), types, strict=True)
    return tuple(zip(*(_read(parts, stated) for parts, stated in columns), strict=True))


def _read(parts: list[Any], stated: str) -> list[Any]:
    """One column of keys; equal parts that cannot be shown have one stand-in, by a number."""
    found = {part: _plain(part, stated) for part in parts}
    hidden = [part for part, plain in found.items() if plain is None]
    taken = set(found.values())
    for number, part in enumerate(hidden, start=1):
        found[part] = free_name(NOT_SHOWN.format(number), taken)
    return [found[part] for part in parts]


def _plain(code: Any, stated: str) -> Any:
    """A part of a key from its code; None for text that is not UTF-8 and dates beyond Python's."""
    if stated == "date":
        day = code + EPOCH.toordinal()
        return dt.date.fromordinal(day) if 1 <= day <= dt.date.max.toordinal() else None
    if isinstance(code, bytes):
        code = marked(code)
    if stated != "str" or not code.startswith(MARK):
        return code
    return code[len(MARK) + 1 :] if code.startswith(f"{MARK}=") else None
