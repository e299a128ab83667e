"""Brings the rows of each unit together, where a table lies in parts that cannot see each other.

Names of units become what the schema of the table states, cell by cell, so that they are equal or
different whatever type a part has. Each row gets a place: a number that follows from its name. All
rows with the same place meet in one part. There, a row is known by its unit and by its turn among
the unit's own rows, in the order of the table. A secret key and these two determine which rows are
kept. Proof: `privacy/units.md`.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpquantiles.kernels.many_draws import Ints
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.memory import arrow_as_numpy, as_arrow
from dpquantiles.sources.units import coded_units, least_of_each, turns

PLACE, LINE = "dpq_place", "dpq_line"
"""Columns that are added to each part: where a row goes, and where it comes from."""

LONGEST = 1 << 40
"""More rows than a part can have."""

TEXT = pa.large_binary()
"""Text is compared by its bytes. Not all text has characters that Python knows."""

ODD = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
"""Multipliers that spread numbers over all 64 bits."""


def stated_type(native: Any, dtype: Any) -> Any:
    """What names become if the schema states this type; None for types that have to be fetched.

    A column of Python objects states nothing, although it often holds text.
    """
    if isinstance(native, np.dtype) and native.kind == "O":
        return None
    if dtype == nw.String:
        return TEXT
    if dtype.is_float():
        return pa.float64()
    if dtype == nw.UInt64:
        return pa.uint64()
    return pa.int64() if dtype.is_integer() or dtype == nw.Boolean else None


def placed(part: Any, unit: str, stated: Any, number: int) -> Any:
    """One part, the `number`-th of its table, with the places and lines of its rows."""
    names = _as_stated(part[unit], stated)
    lines = number * LONGEST + np.arange(len(part))
    added = {unit: pd.arrays.ArrowExtensionArray(names), PLACE: _places(names), LINE: lines}
    return part.assign(**added)


def kept(part: Any, unit: str, rows: int, columns: Sequence[str], key: int) -> Any:
    """The rows that are kept of a part where units have met: at most `rows` of each."""
    part = part.sort_values(LINE)
    absent = part[unit].isna().to_numpy()
    codes = coded_units(nw.from_native(part[unit], series_only=True), absent)
    by_unit = np.argsort(codes, kind="stable")
    turn = np.empty(len(codes), dtype=np.int64)
    turn[by_unit] = turns(codes[by_unit])
    numbers = _mixed(part[PLACE].to_numpy(), turn, key)
    return part[list(columns)][least_of_each(codes, numbers, rows)]


def _mixed(places: Ints, turn: Ints, key: int) -> NDArray[np.uint64]:
    """A number for each place and turn, which looks random to those who do not know the key."""
    number = places.view(np.uint64) * ODD[0] + np.uint64(key)
    number ^= turn.astype(np.uint64) * ODD[1]
    for odd in ODD[1:]:
        number = (number ^ (number >> np.uint64(30))) * odd
    return number ^ (number >> np.uint64(31))


def _as_stated(names: Any, stated: Any) -> Any:
    """The names of one part in the stated type; those that do not fit are missing."""
    own = as_arrow(nw.from_native(names, series_only=True))
    if own is None and isinstance(names.dtype, np.dtype) and names.dtype.kind in "iufb":
        plain = names.to_numpy(np.float64) if names.dtype.kind == "f" else names.to_numpy()
        own = pa.chunked_array([pa.array(plain, from_pandas=True)])
    if own is not None and pa.types.is_boolean(own.type):
        own = own.cast(pa.int8())
    if own is not None and _fits(own.type, stated):
        return own.cast(stated, safe=False)
    cells = [_cell(name, stated) for name in names.tolist()]
    return pa.chunked_array([pa.array(cells, stated)])


def _fits(own: Any, stated: Any) -> bool:
    """Whether all values of one type are values of the other, up to the rounding of doubles."""
    if stated == TEXT:
        return bool(pa.types.is_string(own) or pa.types.is_large_string(own))
    if pa.types.is_floating(stated):
        return bool(pa.types.is_integer(own) or own in (pa.float32(), pa.float64()))
    if pa.types.is_unsigned_integer(own):
        return bool(own.bit_width < 64 or own == stated)
    return bool(pa.types.is_signed_integer(own) and stated == pa.int64())


def _cell(name: Any, stated: Any) -> bytes | float | int | None:
    """One name of any type, in the stated type."""
    with suppress(Exception):
        if stated == TEXT:
            return name.encode("utf-8", "surrogatepass") if isinstance(name, str) else None
        if not isinstance(name, Real | Decimal | np.bool_) or name != name:
            return None
        number: Any = name.item() if isinstance(name, np.generic) else name
        if stated == pa.float64():
            return float(number)
        least, most = (0, 2**64) if stated == pa.uint64() else (-(2**63), 2**63)
        return int(number) if least <= number < most and int(number) == number else None
    return None


def _places(names: Any) -> Ints:
    """A number for each name, equal for equal ones. If others are equal, that only costs time."""
    parts = [np.empty(0, dtype=np.int64), *map(_places_of_chunk, names.chunks)]
    return np.concatenate(parts)


def _places_of_chunk(names: Any) -> Ints:
    if names.type == TEXT:
        coded = names.dictionary_encode()
        texts = np.array([*map(zlib.crc32, coded.dictionary.to_pylist()), 0], dtype=np.int64)
        return np.asarray(texts[arrow_as_numpy(coded.indices.fill_null(-1))])
    numbers = arrow_as_numpy(names.fill_null(0))
    if numbers.dtype.kind == "f":
        # All that are not a number have one place, and -0.0 has that of 0.0.
        numbers = np.where(np.isnan(numbers), 0.0, numbers) + 0.0
    return np.ascontiguousarray(numbers).view(np.int64)
