"""Tables of any library that Narwhals knows, and what their schemas say; no record is read."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.kinds import (
    ANYTHING,
    BOOLEAN,
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


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """For a message: the name that is most like the wanted one, if any is."""
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(wanted.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def nearest(wanted: str, columns: Iterable[str]) -> str:
    """For a message: the nearest name, and what names there are."""
    names = tuple(columns)
    listed = ", ".join(repr(short(name)) for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{suggestion(wanted, names) or ';'} its columns: {listed}{more}"


def short(name: str) -> str:
    """A name that fits in a message."""
    return name if len(name) <= 40 else f"{name[:39]}…"


Listing = Callable[[str, Iterable[str]], str]
"""How a message lists the columns there are, where one is wanted that is not among them."""


@dataclass(frozen=True)
class Table:
    """A Narwhals frame; all that is done with it here needs its schema only."""

    frame: Any
    """A `narwhals.stable.v2` DataFrame, or a LazyFrame of an engine that works where data live."""
    listing: Listing = nearest
    domains: Mapping[str, Domain] = field(default_factory=dict, hash=False)
    """What columns can hold that were cast from text, where their types do not say it."""
    percent: Callable[[], float] | None = field(default=None, compare=False)
    """How much of the running scan is done, 0 to 100, where the engine can tell."""
    rows: Callable[[], int] | None = field(default=None, compare=False)
    """How many rows there are, where metadata tell."""
    origin: str | None = None
    """The files that it was opened from, if any."""

    @property
    def engine(self) -> str:
        """The library: "pandas", "polars", "pyarrow", "modin", "duckdb", "pyspark", "ibis" ..."""
        return str(self.frame.implementation.value)

    @property
    def lazy(self) -> bool:
        """Whether records stay with the engine until they are collected."""
        return isinstance(self.frame, nw.LazyFrame)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.collect_schema().names())

    def dtype(self, column: str, parameter: str = "column") -> Any:
        """The Narwhals type of a column; ValueError with the nearest name where there is none."""
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

        Narwhals takes Arrow's dictionaries of bytes for categories and its views of text for text;
        but not all bytes are text, and Arrow does little with views.
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
        """The same records with these columns only."""
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
    """The kind of a type of Narwhals; TypeError when it has no quantiles here.

    The message uses `declared`, the name of the type in its own library, where it is given.
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
    """Decimal places that leave room for large numbers in 64 bits."""
    scale = int(declared.scale)
    return scale if declared.precision <= WIDEST_DECIMAL else min(scale, DEFAULT_PLACES)


def is_time(dtype: Any) -> bool:
    """Whether values are days, points in time or lengths of time."""
    return dtype in (nw.Date, nw.Datetime, nw.Duration)


def domain_of(dtype: Any) -> Domain:
    """What a type of Narwhals can hold; anything where it does not say."""
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
