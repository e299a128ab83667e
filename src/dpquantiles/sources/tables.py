"""Tables of any library that Narwhals knows: what their schemas say, and results as tables."""

import datetime as dt
import difflib
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue, MissingBackend
from dpquantiles.kinds import (
    ANYTHING,
    BOOLEAN,
    BY_NAME,
    DATE,
    DURATION,
    INTEGER,
    REAL,
    Datetime,
    DecimalUnits,
    Domain,
    Kind,
    unsupported,
    zone_by_name,
)
from dpquantiles.kinds.domain import TRUTHS, days, decimals, floats, integers, times
from dpquantiles.kinds.numbers import DEFAULT_PLACES
from dpquantiles.sources import narwhals as nw

WIDEST_DECIMAL = 18
"""Decimals of up to this many digits fit in 64 bits at their declared scale."""

SIZED = re.compile(r"(U?Int|Float)(\d+)")

PANDAS_LIKE = ("pandas", "modin", "dask")
MOST_NAMES = 20
"""How many column names a message lists."""

BACKENDS = ("pandas", "polars", "pyarrow", "modin")
"""Libraries whose frames can hold a result."""

NUMBER_TYPES = frozenset({"int", "float", "bool", "decimal"})
"""A column of one of these types may be read as any other of them."""

LONGEST = dt.timedelta(microseconds=2**62)
"""Every library can hold lengths of time up to this one."""


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """For a message: the name that is most like the requested one, if there is any."""
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(wanted.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def nearest(wanted: str, columns: Iterable[str]) -> str:
    """For a message: the nearest name, and the names that exist."""
    names = tuple(columns)
    listed = ", ".join(repr(short(name)) for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{suggestion(wanted, names) or ';'} its columns: {listed}{more}"


def short(name: str) -> str:
    """A name that fits in a message."""
    return name if len(name) <= 40 else f"{name[:39]}…"


Listing = Callable[[str, Iterable[str]], str]
"""Writes the part of a message that lists the columns, when a requested one does not exist."""


@dataclass(frozen=True)
class Table:
    """A Narwhals frame. Everything that this class does needs only its schema."""

    frame: Any
    """A `narwhals.stable.v2` DataFrame, or a LazyFrame of an engine."""
    listing: Listing = nearest
    domains: Mapping[str, Domain] = field(default_factory=dict, hash=False)
    """What columns can hold that were cast from text, because their types do not tell."""
    percent: Callable[[], float] | None = field(default=None, compare=False)
    """The progress of the running scan, from 0 to 100, if the engine reports it."""
    rows: Callable[[], int] | None = field(default=None, compare=False)
    """The number of rows, if metadata tell it."""
    origin: str | None = None
    """The name of the files that it was opened from, if any."""

    @property
    def engine(self) -> str:
        """The library: "pandas", "polars", "pyarrow", "modin", "duckdb", "pyspark", "ibis" ..."""
        return str(self.frame.implementation.value)

    @property
    def lazy(self) -> bool:
        """Whether the records stay in the engine until they are collected."""
        return isinstance(self.frame, nw.LazyFrame)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.collect_schema().names())

    def dtype(self, column: str, parameter: str = "column") -> Any:
        """The Narwhals type of a column; ValueError with the nearest name if it does not exist."""
        require.column_name(**{parameter: column})
        names = self.names
        if column not in names:
            wrong = f"{parameter} must name a column of the table, got {column!r}"
            if self.origin is not None and parameter == "column":
                wrong = f"'{self.origin}' has no column {column!r}"
            raise InvalidValue(f"{wrong}{self.listing(column, names)}")
        return self.frame.collect_schema()[column]

    def names_type(self, column: str, parameter: str) -> Any:
        """The Narwhals type of a column that names groups or units.

        Narwhals calls Arrow's dictionaries of bytes categories, but not all bytes are text. It
        calls Arrow's views of text text, but Arrow supports few operations on views.
        """
        dtype, native, declared = self.dtype(column, parameter), self.frame.to_native(), None
        if self.engine == "pyarrow":
            declared = native.schema.field(column).type
        elif self.engine in PANDAS_LIKE:
            declared = getattr(native.dtypes[column], "pyarrow_dtype", None)
        content = str(getattr(declared, "value_type", declared))
        if content.endswith("_view"):
            return nw.Unknown()
        return nw.Binary() if "binary" in content else dtype

    def select(self, columns: Iterable[str]) -> "Table":
        """The same rows with only these columns."""
        return replace(self, frame=self.frame.select(*columns))


def find_table(data: Any) -> Table | None:
    """Data as a table; None for an array, a list, a single column, or anything else."""
    if data is None or isinstance(data, (list, tuple, dict, int, float)):
        return None
    if isinstance(data, Table):
        return data
    wrapped = nw.from_native(data, pass_through=True, allow_series=True)
    return Table(wrapped) if isinstance(wrapped, (nw.DataFrame, nw.LazyFrame)) else None


def open_table(data: Any) -> Table:
    """Data as a table; TypeError for anything else."""
    table = find_table(data)
    if table is None:
        raise InvalidType(
            "data must be a table of pandas, Polars, PyArrow, DuckDB, PySpark, Ibis or Dask when "
            f"a column is named, got an object of type {type(data).__name__}"
        )
    return table


def kind_of(dtype: Any, declared: Any = None) -> Kind:
    """The kind of a Narwhals type; TypeError if quantiles of such a type are not supported.

    The message uses `declared`, the name of the type in its own library, if it is given.
    """
    if isinstance(dtype, nw.Decimal):
        return DecimalUnits(places(dtype))
    if isinstance(dtype, nw.Datetime):
        return Datetime(None if dtype.time_zone is None else zone_by_name(dtype.time_zone))
    simple: dict[Any, Kind] = {nw.Boolean: BOOLEAN, nw.Date: DATE, nw.Duration: DURATION}
    for stated, kind in simple.items():
        if dtype == stated:
            return kind
    if dtype.is_integer():
        return INTEGER
    if dtype.is_float():
        return REAL
    if dtype in (nw.Categorical, nw.Enum):
        raise unsupported("categories; cast them to the type of their values first")
    called = dtype if declared is None else declared
    raise unsupported(f"a column of {'text' if dtype == nw.String else called}")


def places(declared: Any) -> int:
    """How many decimal places to keep, so that large numbers still fit in 64 bits."""
    scale = int(declared.scale)
    return scale if declared.precision <= WIDEST_DECIMAL else min(scale, DEFAULT_PLACES)


def is_time(dtype: Any) -> bool:
    """Whether values are days, points in time or lengths of time."""
    return dtype in (nw.Date, nw.Datetime, nw.Duration)


def domain_of(dtype: Any) -> Domain:
    """What a Narwhals type can hold; anything if the type does not tell."""
    if dtype == nw.Boolean:
        return TRUTHS
    if dtype == nw.Date:
        return days(32)
    if isinstance(dtype, nw.Decimal):
        return decimals(dtype.precision, dtype.scale)
    if isinstance(dtype, (nw.Datetime, nw.Duration)):
        return times("datetime" if dtype == nw.Datetime else "duration", dtype.time_unit)
    sized = SIZED.fullmatch(str(dtype))
    if sized is None:
        return ANYTHING
    name, bits = sized.groups()
    return floats(int(bits)) if name == "Float" else integers(int(bits), signed=name == "Int")


def as_kind(kind: Kind, column: str, type_name: str | None) -> Kind:
    """The stated type, if there is one and the schema allows it; otherwise the schema's type."""
    if type_name in (None, kind.name):
        return kind
    if {type_name, kind.name} <= NUMBER_TYPES:
        return BY_NAME[str(type_name)]
    raise InvalidType(
        f"column {column!r} is of type {kind.name} by the file's schema, and cannot be read "
        f"as {type_name}; leave the type out"
    )


def frame(columns: Mapping[str, Sequence[Any]], backend: str) -> Any:
    """A frame of a library with these columns."""
    require.choice(BACKENDS, backend=backend)
    lists = {name: _writable(values) for name, values in columns.items()}
    try:
        return nw.from_dict(lists, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError:
        raise MissingBackend(
            f"a frame of {backend} needs that library: pip install 'dpquantiles[{backend}]'"
        ) from None


def _writable(values: Sequence[Any]) -> Any:
    """A column in a form that every library can hold.

    Whole numbers beyond 64 bits become doubles. Only grids of doubles have such points, so nothing
    is rounded. Lengths of time of hundreds of thousands of years become an array of NumPy, because
    Arrow does not take them from Python objects.
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
    """The name, followed by as many underscores as make it different from the others."""
    while name in others:
        name += "_"
    return name


def any_backend() -> str:
    """An installed library, preferably one that is loaded, for data that came from none."""
    for name in (*(b for b in BACKENDS if b in sys.modules), *BACKENDS):
        if name in sys.modules or find_spec(name):
            return name
    raise MissingBackend("a frame needs a library: pip install 'dpquantiles[pandas]'")
