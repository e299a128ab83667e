"""Small results as frames of the library that the data came from."""

import datetime as dt
import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.errors import MissingBackend
from dpquantiles.sources import narwhals as nw
from dpquantiles.sources.engine import engine_of
from dpquantiles.sources.tables import Table

BACKENDS = ("pandas", "polars", "pyarrow", "modin")
"""Libraries that hold a result in memory."""

LONGEST = dt.timedelta(microseconds=2**62)
"""Lengths of time within this fit into every library."""


def backend_of(table: Table) -> str:
    """The library of the results for a table: its own, or the one that collects it."""
    if table.lazy:
        return engine_of(table).backend
    return table.engine if table.engine in BACKENDS else "pyarrow"


def frame(columns: Mapping[str, Sequence[Any]], backend: str) -> Any:
    """Columns as a frame of a library."""
    require.choice(BACKENDS, backend=backend)
    lists = {name: _writable(values) for name, values in columns.items()}
    try:
        return nw.from_dict(lists, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError:
        raise MissingBackend(
            f"a frame of {backend} needs that library: pip install 'dpquantiles[{backend}]'"
        ) from None


def _writable(values: Sequence[Any]) -> Any:
    """A column as libraries can hold it: whole numbers beyond 64 bits as doubles.

    Only grids of doubles have such points, so nothing is rounded. Lengths of time of hundreds of
    thousands of years are NumPy's, because Arrow takes none of Python's.
    """
    if any(isinstance(value, dt.timedelta) and abs(value) > LONGEST for value in values):
        return np.array(values, dtype="m8[us]")
    whole = [value for value in values if type(value) is int]
    low, high = min(whole, default=0), max(whole, default=0)
    if low >= -(2**63) and high < 2**63:
        return list(values)
    unsigned = low >= 0 and high < 2**64
    return np.array(values, dtype=np.uint64 if unsigned else np.float64)


def free_name(name: str, others: Container[str]) -> str:
    """The name, with as many underscores behind it as keep it apart from the others."""
    while name in others:
        name += "_"
    return name


def any_backend() -> str:
    """A library that is installed, loaded ones first, for results of data without one."""
    from importlib.util import find_spec

    for name in (*(b for b in BACKENDS if b in sys.modules), *BACKENDS):
        if name in sys.modules or find_spec(name):
            return name
    raise MissingBackend("a frame needs a library: pip install 'dpquantiles[pandas]'")
