"""A column of a lazy table as an engine compares and bins it, told from the schema alone."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kinds import (
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
from dpquantiles.kinds.times import MICROSECONDS
from dpquantiles.sources import memory
from dpquantiles.sources.bins import Map
from dpquantiles.sources.predicates import VALUE, Keep, by_halves
from dpquantiles.sources.tables import Table

BIN, MISSING = "bin", -1
"""The column of bins, and the bin of missing values."""

COUNT, LOW, HIGH = "count", "low", "high"
"""The columns of a frame grouped by bins: its size, its least and its greatest value."""

POSITION = "p"
"""The column of positions, where values do not cast to them."""


_DTYPES = {"float": "f8", "int": "i8", "bool": "i1", "date": "M8[D]", "datetime": "M8[us]"}
_DTYPES |= {"timedelta": "m8[us]", "decimal": "O"}


def collect(frame: Any) -> Any:
    """The rows of a lazy frame, as the library of its engine brings them by default."""
    return frame.collect()


def plain(series: Any) -> NDArray[Any]:
    """Collected values as an array that a kind can read."""
    return memory.read(series.to_native()).values


@dataclass(frozen=True)
class Numbers:
    """What is scanned: values that compare, and positions, doubles in the same order, that bin."""

    frame: Any
    """A lazy Narwhals frame with the column `VALUE`, and `POSITION` where values do not cast."""
    kind: Kind
    domain: Domain | None = None
    """What its type can hold, where Narwhals does not know that type as the engine does."""
    tick: Fraction = Fraction(1)
    """What a position counts: a plain number, or microseconds."""
    array: Callable[[Any], NDArray[Any]] = plain
    """Collected values as an array that a kind can read."""
    locate: Callable[[Any], float] = float
    """The position of one value."""
    keep: Keep = by_halves
    grouped: Callable[[Any, Map], Any] | None = None
    """How to count a frame by bins, where the engine has a faster way than Narwhals."""
    collect: Callable[[Any], Any] = collect
    engine: str = ""
    """What messages call the engine."""
    extra: str = ""
    """The extra that installs what it needs."""

    @property
    def blank(self) -> NDArray[Any]:
        """An array of this type without records."""
        return np.empty(0, dtype=_DTYPES[self.kind.name])

    @property
    def value(self) -> Any:
        """The values, as an expression."""
        import narwhals.stable.v2 as nw

        return nw.col(VALUE)

    @property
    def position(self) -> Any:
        """Their positions, as an expression."""
        import narwhals.stable.v2 as nw

        schema = self.frame.collect_schema()
        return nw.col(POSITION if POSITION in schema else VALUE).cast(nw.Float64)

    @property
    def missing(self) -> Any:
        """Whether a value is missing, as an expression: null, or not a number."""
        floating = self.frame.collect_schema()[VALUE].is_float()
        return self.value.is_null() | self.value.is_nan() if floating else self.value.is_null()


def kind_of(dtype: Any) -> Kind:
    """The type that a schema states; TypeError when it has no quantiles here."""
    import narwhals.stable.v2 as nw

    if isinstance(dtype, nw.Decimal):
        return DecimalUnits(memory.places(dtype))
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
    raise unsupported(f"a column of {'text' if dtype == nw.String else dtype}")


def is_time(dtype: Any) -> bool:
    """Whether values are days, points in time or lengths of time."""
    import narwhals.stable.v2 as nw

    return dtype in (nw.Date, nw.Datetime, nw.Duration)


def as_numbers(table: Table, column: str) -> Numbers:
    """Numbers, truth values and decimals, which every engine compares as they are."""
    import narwhals.stable.v2 as nw

    dtype = table.dtype(column)
    value = nw.col(column)
    if dtype == nw.Boolean:
        value = value.cast(nw.Int32)  # some databases cast to no narrower one
    return Numbers(table.frame.select(value.alias(VALUE)), kind_of(dtype))


def in_microseconds(dtype: Any) -> Any:
    """The same type of time, dates excepted, counted in microseconds."""
    import narwhals.stable.v2 as nw

    if dtype == nw.Datetime:
        return nw.Datetime("us", dtype.time_zone)
    return nw.Duration("us") if dtype == nw.Duration else dtype


def as_ticks(frame: Any, dtype: Any) -> Numbers:
    """Times whose `VALUE` is a whole number: days of dates, else of the unit of their type."""
    import narwhals.stable.v2 as nw

    unit = "D" if dtype == nw.Date else dtype.time_unit
    letter = "m" if dtype == nw.Duration else "M"

    def array(series: Any) -> NDArray[Any]:
        whole: NDArray[np.int64] = series.to_numpy().astype(np.int64, copy=False)
        return whole.view(f"{letter}8[{unit}]")

    return Numbers(frame, kind_of(dtype), tick=MICROSECONDS[unit], array=array)
