"""Data frames of Dask: partitions of pandas become numbers one by one, where they are."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpquantiles.kinds import REAL, DecimalUnits, Kind, column, measure
from dpquantiles.sources import memory
from dpquantiles.sources.coded import coded as keys_of_pandas
from dpquantiles.sources.numbers import (
    POSITION,
    Numbers,
    as_ticks,
    in_microseconds,
    is_time,
    kind_of,
)
from dpquantiles.sources.predicates import VALUE, any_of
from dpquantiles.sources.tables import Table, open_table


def safe(table: Table, columns: Sequence[str]) -> Table:  # noqa: ARG001
    """Columns as they are: partitions are tables in memory."""
    return table


def numbers(table: Table, name: str) -> Numbers:
    """A column as Dask compares and bins it."""
    import narwhals.stable.v2 as nw

    dtype, native = table.dtype(name), table.frame.to_native()
    kind, raw = kind_of(dtype), native.dtypes[name]
    numeric = not is_time(dtype) and dtype not in (nw.Boolean, nw.Decimal)
    meta = {VALUE: raw if numeric else "Int64", POSITION: "float64"}
    parts = native[[name]].map_partitions(_values if numeric else _whole, name, kind, meta=meta)
    frame = nw.from_native(parts)
    found = as_ticks(frame, in_microseconds(dtype)) if is_time(dtype) else Numbers(frame, kind)
    if isinstance(kind, DecimalUnits):
        found = replace(found, tick=measure(kind), array=lambda units: _decimals(units, kind))
    return replace(found, keep=any_of, collect=_collect, engine="Dask", extra="dask")


def _values(part: Any, name: str, _: Kind) -> Any:
    """One partition of numbers; missing ones have the position zero."""
    double = column(REAL, memory.read(part[name]).values)
    missing = np.False_ if double.missing is None else double.missing
    position = np.where(missing, 0.0, double.numbers)
    return pd.DataFrame({VALUE: part[name], POSITION: position}, index=part.index)


def _whole(part: Any, name: str, kind: Kind) -> Any:
    """One partition of other types, as the whole numbers of their kind."""
    found = column(kind, memory.read(part[name]).values)
    numbers = found.numbers.astype(np.int64)
    missing = np.zeros(len(part), dtype=bool) if found.missing is None else found.missing
    whole = pd.arrays.IntegerArray(numbers, missing)
    return pd.DataFrame({VALUE: whole, POSITION: numbers.astype(np.float64)}, index=part.index)


def _decimals(units: Any, kind: Kind) -> NDArray[Any]:
    return np.array([kind.value(unit) for unit in units.to_list()], dtype=object)


def _collect(frame: Any) -> Any:
    return frame.collect(backend="pandas")


def coded(table: Table, types: Mapping[str, str]) -> Any:
    """The frame with columns of keys as codes, partition by partition as pandas has them."""
    import narwhals.stable.v2 as nw

    native = table.frame.to_native()
    return nw.from_native(native.map_partitions(_coded, types, meta=_coded(native._meta, types)))


def _coded(part: Any, types: Mapping[str, str]) -> Any:
    return keys_of_pandas(open_table(part), types).to_native()


@contextmanager
def pinned(frame: Any) -> Iterator[Any]:
    """A frame whose rows stand still: held by the workers, where it is more than parts of files."""
    yield frame if all(map(_is_plain, frame.expr.walk())) else frame.persist()


def _is_plain(step: Any) -> bool:
    """Whether a step gives the same rows at every run; functions of the user's may not."""
    names = {known.__name__ for known in type(step).__mro__}
    known = "Blockwise" in names and "Sample" not in names
    return "FromGraph" in names or (known and not any(map(_is_foreign, step.operands)))


def _is_foreign(operand: Any) -> bool:
    """Whether an operand is a function, but neither Dask's nor our own."""
    if not callable(operand) or isinstance(operand, type):
        return False
    whole = operand.func if isinstance(operand, partial) else operand
    return not str(getattr(whole, "__module__", None)).startswith(("dask.", __name__))
