"""Brings the rows of each unit together, where a table lies in parts that cannot see each other.

Each row gets a place: a number that is equal for equal names of units, in whatever type a part
holds them. All rows with the same place meet in one part. There, a row is known by its unit and by
its turn among the unit's own rows, in the order of the table. A secret key and these two determine
which rows are kept, so a part that is computed again keeps the same ones. Proof:
`privacy/units.md`.
"""

import calendar
import datetime as dt
import zlib
from collections.abc import Iterable
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels.many_draws import Ints
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.memory import arrow_as_numpy, as_arrow, as_numpy
from dpquantiles.sources.tables import Table
from dpquantiles.sources.units import absent_in, codes_of, has_codes, is_untyped, least_of_each

PLACE, TURN = "dpq_place", "dpq_turn"
"""Columns that are added to each part: where a row goes, and how it is ordered there."""

LONGEST = 1 << 40
"""More rows than a part can have."""

TO_MILLISECONDS = {"D": 86_400_000, "s": 1000, "ms": 1}
PARTS = {"us": 1000, "ns": 1_000_000}
"""How many milliseconds are in a unit of time, or how many units are in a millisecond."""

ODD = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
"""Multipliers that spread numbers over all 64 bits."""


def placed(table: Table, unit: str, part: int) -> tuple[Ints, Ints]:
    """The places and turns of the rows of one part, which is the `part`-th of its table."""
    units = table.frame[unit]
    return _places(units), part * LONGEST + np.arange(len(units))


def kept(table: Table, unit: str, rows: int, key: int) -> Ints:
    """Which rows of a part are kept: at most `rows` of each unit whose rows have met here."""
    order = np.argsort(as_numpy(table.frame[TURN]), kind="stable")
    absent = as_numpy(table.frame.select(absent_in(table, unit))[unit]).astype(bool)
    codes = np.where(absent, 0, codes_of(table.frame[unit], absent) + 1)[order]
    by_unit = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[by_unit], prepend=-1))
    turn = np.empty(len(codes), dtype=np.int64)
    turn[by_unit] = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    places = as_numpy(table.frame[PLACE])[order]
    return np.sort(order[least_of_each(codes, _mixed(places, turn, key), rows)])


def _mixed(places: Ints, turn: Ints, key: int) -> NDArray[np.uint64]:
    """A number for each place and turn, which looks random to those who do not know the key."""
    number = places.view(np.uint64) * ODD[0] + np.uint64(key)
    number ^= turn.astype(np.uint64) * ODD[1]
    for odd in ODD[1:]:
        number = (number ^ (number >> np.uint64(30))) * odd
    return number ^ (number >> np.uint64(31))


def _places(units: Any) -> Ints:
    """Equal numbers for equal names. Others may be equal, too, which only costs time."""
    native = units.to_native()
    if is_untyped(units):
        return _of_objects(units.to_list())
    if has_codes(units):
        names = nw.from_native(native.cat.categories.to_series(), series_only=True)
        return np.append(_places(names), 0)[np.asarray(native.cat.codes, dtype=np.int64)]
    arrow = as_arrow(units)
    if arrow is not None:
        return np.concatenate([np.empty(0, dtype=np.int64), *map(_of_arrow, arrow.chunks)])
    if units.dtype == nw.Datetime:
        ticks = native.array.asi8
        return _of_ticks(np.where(native.isna(), 0, ticks), native.dt.unit)
    if units.dtype.is_numeric() or units.dtype == nw.Boolean:
        return _of_numbers(native.to_numpy(dtype=np.float64, na_value=np.nan))
    return _of_objects(units.to_list())


def _of_arrow(chunk: Any) -> Ints:
    """An array of Arrow, by what it holds itself: not all of it is text or a day in Python."""
    import pyarrow as pa

    kind = chunk.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        chunk = chunk.cast(pa.large_binary()).dictionary_encode()
        kind = chunk.type
    if pa.types.is_large_binary(kind):
        return np.array([0 if text is None else zlib.crc32(text) for text in chunk.to_pylist()])
    if pa.types.is_dictionary(kind):
        names = np.append(_of_arrow(chunk.dictionary), np.int64(0))
        return names[arrow_as_numpy(chunk.indices.fill_null(-1)).astype(np.int64)]
    if pa.types.is_date32(kind):
        return _of_ticks(arrow_as_numpy(chunk.cast(pa.int32()).fill_null(0)), "D")
    if pa.types.is_timestamp(kind):
        return _of_ticks(arrow_as_numpy(chunk.cast(pa.int64()).fill_null(0)), kind.unit)
    if pa.types.is_boolean(kind):
        chunk, kind = chunk.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(arrow_as_numpy(chunk.fill_null(0)))
    if pa.types.is_decimal(kind):
        return _of_objects(chunk.to_pylist())
    return np.zeros(len(chunk), dtype=np.int64)


def _of_numbers(numbers: NDArray[Any]) -> Ints:
    """The bits of the doubles; all that are not a number have the same place."""
    doubles: NDArray[np.float64] = numbers.astype(np.float64)
    doubles[np.isnan(doubles)] = 0.0
    doubles += 0.0  # there is no -0.0 among them any more
    return doubles.view(np.int64)


def _of_ticks(ticks: NDArray[Any], unit: str) -> Ints:
    """Moments, and the beginnings of days, in milliseconds."""
    whole = ticks.astype(np.int64)
    return whole * TO_MILLISECONDS[unit] if unit in TO_MILLISECONDS else whole // PARTS[unit]


def _of_objects(units: Iterable[Any]) -> Ints:
    return np.array([_of_object(unit) for unit in units], dtype=np.int64)


def _of_object(unit: Any) -> int:
    """Zero for missing names, and for those that are no text, no number and no day or moment."""
    with suppress(Exception):
        if isinstance(unit, str):
            return zlib.crc32(unit.encode("utf-8", "surrogatepass"))
        if isinstance(unit, np.datetime64):
            return int(unit.astype("datetime64[ms]").astype(np.int64))
        if isinstance(unit, dt.datetime):
            return 1000 * calendar.timegm(unit.utctimetuple()) + unit.microsecond // 1000
        if isinstance(unit, dt.date):
            return 1000 * calendar.timegm(unit.timetuple())
        if isinstance(unit, Number | np.generic):
            return int(_of_numbers(np.array([float(unit)]))[0])  # type: ignore[arg-type]
    return 0
