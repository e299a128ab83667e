"""Value types: how each Python or NumPy type becomes numbers, one record at a time, and back.

Every type but the real numbers becomes *integers*: days, microseconds, decimal units. The map is
monotone, so order and ranks survive, and exact, so an answer comes back in the type that went in.
`numbers` converts data and never raises on a record: what cannot be read counts as missing.
`number` converts one public parameter (a bound, a step) and raises when it is of another type.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
INT64 = np.iinfo(np.int64)
LONGEST = np.timedelta64(INT64.max // 86_400_000_000, "D")
"""The whole days that 64 bits of microseconds can count."""

DEFAULT_PLACES = 6
"""Decimals that come without a declared scale are kept to this many places."""


class Column(NamedTuple):
    """Data as numbers: a one-dimensional NumPy array and a mask of its missing records, if any."""

    numbers: NDArray[Any]
    missing: NDArray[np.bool_] | None


class Kind(Protocol):
    """One value type."""

    @property
    def name(self) -> str:
        """What the type is called in messages and in JSON."""

    @property
    def integral(self) -> bool:
        """Whether its numbers are integers."""

    def number(self, value: object, parameter: str) -> int | float:
        """The exact number of a public parameter; TypeError when it is of another type."""

    def value(self, number: int | float) -> Any:
        """The value of a number; the inverse of `number`."""

    def numbers(self, values: NDArray[Any]) -> Column:
        """The numbers of all records; never raises on a record."""

    def to_json(self, value: Any) -> object:
        """A value as JSON can hold it."""

    def from_json(self, plain: Any) -> Any:
        """The inverse of `to_json`."""


def _wrong_type(parameter: str, kind: str, value: object) -> TypeError:
    return TypeError(
        f"{parameter} must be of type {kind} like the data, "
        f"got {value!r} of type {type(value).__name__}"
    )


def _clip_int64(number: int) -> int:
    return min(max(number, INT64.min), INT64.max)


def _whole(record: object) -> int | None:
    """A record as a 64-bit integer: rounded, clamped, None when it is not a number."""
    if isinstance(record, (int, np.integer)):
        return _clip_int64(int(record))
    if isinstance(record, (float, np.floating, Decimal, Fraction)):
        if record != record:
            return None
        if record in (math.inf, -math.inf):
            return INT64.max if record > 0 else INT64.min
        return _clip_int64(round(record))  # type: ignore[arg-type]
    return None


def _real(record: object) -> float:
    """A record as a double; NaN when it is not a number."""
    if isinstance(record, (int, float, np.integer, np.floating, Decimal, Fraction)):
        try:
            return float(record)
        except OverflowError:
            return math.inf if record > 0 else -math.inf
        except ValueError:  # a signaling NaN
            return math.nan
    return math.nan


def _records(values: NDArray[Any], convert: Callable[[object], int | None]) -> Column:
    """Integers of an array of Python objects, one record at a time."""
    converted = [convert(record) for record in values]
    missing = np.fromiter((c is None for c in converted), dtype=bool, count=len(converted))
    numbers = np.fromiter((c or 0 for c in converted), dtype=np.int64, count=len(converted))
    return Column(numbers, missing if missing.any() else None)


def _plain_numbers(values: NDArray[Any], kind: str) -> Column:
    """Numbers of a numeric array, without a copy where its type allows."""
    if values.dtype.kind == "b":
        return Column(values.view(np.int8), None)
    if values.dtype.kind in "iu":
        return Column(values, None)
    if values.dtype.kind == "f":
        numbers = values if values.dtype == np.float64 else values.astype(np.float64)
        missing = np.isnan(numbers)
        return Column(numbers, missing if missing.any() else None)
    raise TypeError(f"the data must be of type {kind} like the grid, got {describe_dtype(values)}")


def describe_dtype(values: NDArray[Any]) -> str:
    """What an array holds, in words for a message."""
    return "text" if values.dtype.kind in "USTO" else f"an array of {values.dtype}"


@dataclass(frozen=True)
class Real:
    """Floating-point numbers."""

    name: ClassVar[str] = "float"
    integral: ClassVar[bool] = False

    def number(self, value: object, parameter: str) -> float:
        if isinstance(value, bool) or not isinstance(
            value, (int, float, np.integer, np.floating, Fraction, Decimal)
        ):
            raise _wrong_type(parameter, "number", value)
        return float(value)

    def value(self, number: int | float) -> float:
        return float(number)

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype == object:
            values = np.fromiter(map(_real, values), dtype=np.float64, count=len(values))
        return _plain_numbers(values, "number")

    def to_json(self, value: float) -> object:
        return value

    def from_json(self, plain: Any) -> float:
        return float(plain)


@dataclass(frozen=True)
class Integer:
    """Whole numbers."""

    name: ClassVar[str] = "int"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int | float:
        if isinstance(value, (bool, np.bool_)):
            raise _wrong_type(parameter, "number", value)
        if isinstance(value, (int, np.integer)):
            return int(value)
        return REAL.number(value, parameter)

    def value(self, number: int | float) -> int:
        return int(number)

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype == object:
            return _records(values, _whole)
        return _plain_numbers(values, "number")

    def to_json(self, value: int) -> object:
        return value

    def from_json(self, plain: Any) -> int:
        return int(plain)


@dataclass(frozen=True)
class Boolean:
    """False and True."""

    name: ClassVar[str] = "bool"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, (bool, np.bool_)) or value in (0, 1):
            return int(value)  # type: ignore[call-overload, no-any-return]
        raise _wrong_type(parameter, self.name, value)

    def value(self, number: int | float) -> bool:
        return bool(number)

    def numbers(self, values: NDArray[Any]) -> Column:
        return INTEGER.numbers(values)

    def to_json(self, value: bool) -> object:
        return value

    def from_json(self, plain: Any) -> bool:
        return bool(plain)


@dataclass(frozen=True)
class DecimalUnits:
    """Decimal numbers with a fixed number of places, as integers of the last place."""

    places: int = DEFAULT_PLACES
    name: ClassVar[str] = "decimal"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int | float:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, np.integer)):
            raise _wrong_type(parameter, "decimal number", value)
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if not exact.is_finite():
            return float(exact)
        scaled = Fraction(exact) * Fraction(10) ** self.places
        return int(scaled) if scaled.denominator == 1 else float(scaled)

    def value(self, number: int | float) -> Decimal:
        return Decimal(f"{int(number)}E{-self.places}")

    def _units(self, record: object) -> int | None:
        if isinstance(record, Decimal) and record.is_finite():
            if record.adjusted() + self.places > 18:
                return INT64.max if record > 0 else INT64.min
            if record.adjusted() + self.places < -1:
                return 0
            return _clip_int64(round(record.scaleb(self.places)))
        if isinstance(record, int):
            return _clip_int64(record * 10**self.places)
        if isinstance(record, float) and math.isfinite(record):
            return _whole(record * 10.0**self.places)
        return _whole(record)

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype.kind not in "biufO":
            raise TypeError(f"the data must be numbers, got {describe_dtype(values)}")
        return _records(values.astype(object), self._units)

    def to_json(self, value: Decimal) -> object:
        return str(value)

    def from_json(self, plain: Any) -> Decimal:
        return Decimal(plain)


def _instants(values: NDArray[Any], dtype: str, low: Any, high: Any) -> Column:
    """Integers of a datetime64 or timedelta64 array, clamped before the unit changes."""
    missing = np.isnat(values)
    with np.errstate(all="ignore"):
        numbers = np.clip(values, low, high).astype(dtype).view(np.int64)
    return Column(numbers, missing if missing.any() else None)


@dataclass(frozen=True)
class Date:
    """Calendar days, as days since 1970-01-01."""

    name: ClassVar[str] = "date"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[D]").item()
        if isinstance(value, dt.timedelta) and parameter in ("step", "resolution"):
            if value % dt.timedelta(days=1):
                raise ValueError(f"{parameter} must be a whole number of days, got {value!r}")
            return value.days
        if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
            raise _wrong_type(parameter, self.name, value)
        return value.toordinal() - EPOCH.toordinal()

    def value(self, number: int | float) -> dt.date:
        return dt.date.fromordinal(int(number) + EPOCH.toordinal())

    def _days(self, record: object) -> int | None:
        if isinstance(record, dt.date) and not _is_not_a_time(record):
            return record.toordinal() - EPOCH.toordinal()
        return None

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype.kind == "M":
            return _instants(
                values, "datetime64[D]", np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
            )
        if values.dtype != object:
            raise TypeError(f"the data must be dates, got {describe_dtype(values)}")
        return _records(values, self._days)

    def to_json(self, value: dt.date) -> object:
        return value.isoformat()

    def from_json(self, plain: Any) -> dt.date:
        return dt.date.fromisoformat(plain)


@dataclass(frozen=True)
class Datetime:
    """Points in time, as microseconds since 1970; `zone` None for naive clock readings."""

    zone: dt.tzinfo | None = None
    name: ClassVar[str] = "datetime"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, dt.timedelta) and parameter in ("step", "resolution"):
            return value // MICROSECOND
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            value = dt.datetime(value.year, value.month, value.day, tzinfo=self.zone)
        number = self._microseconds(value)
        if number is None:
            raise _wrong_type(parameter, f"{'aware' if self.zone else 'naive'} datetime", value)
        return number

    def value(self, number: int | float) -> dt.datetime:
        instant = EPOCH + int(number) * MICROSECOND
        if self.zone is None:
            return instant
        return instant.replace(tzinfo=dt.UTC).astimezone(self.zone)

    def _microseconds(self, record: object) -> int | None:
        if not isinstance(record, dt.datetime) or _is_not_a_time(record):
            return None
        if (record.utcoffset() is None) != (self.zone is None):
            return None
        if self.zone is not None:
            return (record - EPOCH.replace(tzinfo=dt.UTC)) // MICROSECOND
        return (record - EPOCH) // MICROSECOND

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype.kind == "M":
            low, high = np.datetime64("0001-01-02"), np.datetime64("9999-12-30")
            return _instants(values, "datetime64[us]", low, high)
        if values.dtype != object:
            raise TypeError(f"the data must be datetimes, got {describe_dtype(values)}")
        return _records(values, self._microseconds)

    def to_json(self, value: dt.datetime) -> object:
        return value.isoformat()

    def from_json(self, plain: Any) -> dt.datetime:
        return dt.datetime.fromisoformat(plain)


@dataclass(frozen=True)
class Duration:
    """Lengths of time, as microseconds."""

    name: ClassVar[str] = "timedelta"
    integral: ClassVar[bool] = True

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, np.timedelta64):
            value = value.astype("timedelta64[us]").item()
        if not isinstance(value, dt.timedelta):
            raise _wrong_type(parameter, self.name, value)
        return value // MICROSECOND

    def value(self, number: int | float) -> dt.timedelta:
        return int(number) * MICROSECOND

    def _microseconds(self, record: object) -> int | None:
        if not isinstance(record, dt.timedelta) or _is_not_a_time(record):
            return None
        return _clip_int64(record // MICROSECOND)

    def numbers(self, values: NDArray[Any]) -> Column:
        if values.dtype.kind == "m":
            return _instants(values, "timedelta64[us]", -LONGEST, LONGEST)
        if values.dtype != object:
            raise TypeError(f"the data must be durations, got {describe_dtype(values)}")
        return _records(values, self._microseconds)

    def to_json(self, value: dt.timedelta) -> object:
        return value // MICROSECOND

    def from_json(self, plain: Any) -> dt.timedelta:
        return int(plain) * MICROSECOND


REAL, INTEGER, BOOLEAN, DATE, DURATION = Real(), Integer(), Boolean(), Date(), Duration()

BY_NAME: dict[str, Kind] = {
    kind.name: kind
    for kind in (REAL, INTEGER, BOOLEAN, DecimalUnits(), DATE, Datetime(), DURATION)
}


def as_array(values: Iterable[Any]) -> NDArray[Any]:
    """Any one-dimensional data as a NumPy array, masked where it came masked."""
    if isinstance(values, np.ma.MaskedArray):
        array: NDArray[Any] = values
    elif isinstance(values, np.ndarray) or hasattr(values, "__array__"):
        array = np.asarray(values)
    else:
        listed = list(values)
        array = np.empty(len(listed), dtype=object)
        array[:] = listed
        array = _compact(array)
    if array.ndim != 1:
        raise ValueError(f"the data must be one column, got {array.ndim} dimensions")
    return array


def column(kind: Kind, values: Iterable[Any]) -> Column:
    """Data of any origin as numbers of a kind; masked records count as missing."""
    array = as_array(values)
    numbers, missing = kind.numbers(np.ma.getdata(array))
    mask = np.ma.getmask(array)
    if mask is np.ma.nomask or not np.any(mask):
        return Column(numbers, missing)
    return Column(numbers, mask if missing is None else mask | missing)


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """A typed array where all records are plain numbers; else the objects as they are."""
    types = set(map(type, array))
    if types and types <= {int, float, bool, np.int64, np.float64, np.bool_}:
        try:
            typed: NDArray[Any] = np.array(array.tolist())
        except OverflowError:
            return array
        return typed if typed.dtype.kind in "biuf" else array
    return array


def infer(array: NDArray[Any]) -> Kind:
    """The type of a column: from its dtype, or, for plain objects, from the types of its records.

    A column's type is public, like its name. A list has no declared type, so the types of its
    records stand in for one; a single odd record among many cannot make this raise.
    """
    by_code: dict[str, Kind] = {"b": BOOLEAN, "i": INTEGER, "u": INTEGER, "f": REAL, "m": DURATION}
    if array.dtype.kind in by_code:
        return by_code[array.dtype.kind]
    if array.dtype.kind == "M":
        return DATE if np.datetime_data(array.dtype)[0] in "YMWD" else Datetime()
    if array.dtype != object:
        raise _unsupported(describe_dtype(array))
    return _infer_objects(array)


def _unsupported(found: str) -> TypeError:
    return TypeError(
        "the data must be numbers, booleans, decimals, dates, datetimes or durations, "
        f"got {found}"
    )


def _infer_objects(array: NDArray[Any]) -> Kind:
    families = Counter(map(_family, array))
    known = [(n, name) for name, n in families.items() if name not in ("missing", "other")]
    if not known:
        if families["other"]:
            raise _unsupported("text or other objects")
        return REAL
    family = max(known)[1]
    if family == "number":
        return _widest({type(record) for record in array if _family(record) == "number"})
    if family == "aware datetime":
        zones = {record.tzinfo for record in array if _family(record) == family}
        return Datetime(zones.pop() if len(zones) == 1 else dt.UTC)
    return {"date": DATE, "naive datetime": Datetime(), "duration": DURATION}[family]


def _family(record: object) -> str:
    """Which types may stand together in one list."""
    if isinstance(record, (int, float, np.integer, np.floating, np.bool_, Decimal, Fraction)):
        return "number"
    if record is None or _is_not_a_time(record) or type(record).__name__ == "NAType":
        return "missing"
    if isinstance(record, dt.datetime):
        return "naive datetime" if record.utcoffset() is None else "aware datetime"
    if isinstance(record, dt.date):
        return "date"
    return "duration" if isinstance(record, dt.timedelta) else "other"


def _is_not_a_time(record: object) -> bool:
    """Whether a record is a NaT: pandas derives its own from datetime."""
    return isinstance(record, (dt.date, dt.timedelta)) and record != record


def _widest(types: set[type]) -> Kind:
    """The narrowest number type that holds all of these."""
    if any(issubclass(t, Decimal) for t in types):
        return DecimalUnits()
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return BOOLEAN
    if all(issubclass(t, (int, np.integer, np.bool_)) for t in types):
        return INTEGER
    return REAL
