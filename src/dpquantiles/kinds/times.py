"""Types of times: dates, datetimes and durations."""

import datetime as dt
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.kinds.protocol import (
    INT64,
    Column,
    Kind,
    each,
    safely,
    with_missing,
    wrong_column,
    wrong_type,
)

EPOCH = dt.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=dt.UTC)
EPOCH_DAY = EPOCH.toordinal()
DAY = dt.timedelta(days=1)
MICROSECOND = dt.timedelta(microseconds=1)

_DAY = 86_400_000_000
MICROSECONDS = {
    **{"Y": Fraction(366 * _DAY), "M": Fraction(31 * _DAY), "W": Fraction(7 * _DAY)},
    **{"D": Fraction(_DAY), "h": Fraction(_DAY, 24), "m": Fraction(_DAY, 1440)},
    **{"s": Fraction(10**6), "ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)},
    **{"ps": Fraction(1, 10**6), "fs": Fraction(1, 10**9), "as": Fraction(1, 10**12)},
}
"""The largest length, in microseconds, of each time unit of NumPy."""


def _ticks(values: NDArray[Any]) -> Column:
    """A datetime64 or timedelta64 array in microseconds, rounded down and clamped to 64 bits."""
    unit, count = np.datetime_data(values.dtype)
    length = MICROSECONDS.get(unit, Fraction(1)) * count
    limit = min(INT64.max, int(INT64.max // length))
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    records = native.view(np.int64)
    ticks = np.clip(records, -limit, limit)
    if unit in ("Y", "M"):  # these vary in length, so NumPy's calendar converts them
        numbers = ticks.view(native.dtype).astype(f"{native.dtype.kind}8[us]").view(np.int64)
    else:
        whole, rest = np.divmod(ticks, length.denominator)
        numbers = whole * length.numerator + rest * length.numerator // length.denominator
    # Records that do not fit in 64 bits of microseconds become the largest such number.
    numbers = np.where(records == ticks, numbers, np.sign(records) * INT64.max)
    return with_missing(numbers, np.isnat(values))


def _tick(record: np.datetime64 | np.timedelta64) -> int | None:
    """The same for one NumPy scalar; None if it is missing."""
    numbers, missing = _ticks(np.array([record]))
    return int(numbers[0]) if missing is None else None


class _Time(Kind):
    """What all types of times share: how arrays and single objects become numbers."""

    letter = "M"
    """NumPy's letter for arrays of this type."""
    length = 1
    """The number of microseconds in one unit."""
    unit = MICROSECOND

    @abstractmethod
    def _number(self, record: Any) -> int | None:
        """The number of a Python object; returns None or raises if it has none."""

    def number(self, value: object, parameter: str) -> int:
        number = safely(self._number, value)
        if number is None:
            raise wrong_type(parameter, self.name, value)
        return number

    def step(self, value: object, parameter: str) -> int:
        return DURATION.number(value, parameter)

    def numbers(self, values: NDArray[Any]) -> Column:
        """Convert an array; NumPy times have no zone, and are read as UTC if the type has one."""
        if values.dtype.kind == self.letter:
            ticks, missing = _ticks(values)
            return Column(ticks if self.length == 1 else ticks // self.length, missing)
        if values.dtype != object:
            raise wrong_column(self.name, values)
        return each(values, self._number)


@dataclass(frozen=True)
class Duration(_Time):
    """Durations, in microseconds."""

    name = "timedelta"
    letter = "m"

    def value(self, number: int | float) -> dt.timedelta:
        return int(number) * MICROSECOND

    def _number(self, record: Any) -> int | None:
        if isinstance(record, dt.timedelta):
            return int(record // MICROSECOND)
        return _tick(record) if isinstance(record, np.timedelta64) else None

    def to_json(self, value: dt.timedelta) -> object:
        return value // MICROSECOND


@dataclass(frozen=True)
class Date(_Time):
    """Dates, in days since 1970-01-01."""

    name = "date"
    length = _DAY
    unit = DAY
    limits = (dt.date.min, dt.date.max)

    def number(self, value: object, parameter: str) -> int:
        if isinstance(value, dt.datetime):
            raise wrong_type(parameter, self.name, value)
        return super().number(value, parameter)

    def step(self, value: object, parameter: str) -> int:
        days, rest = divmod(super().step(value, parameter), _DAY)
        if rest:
            raise InvalidValue(f"{parameter} must be a whole number of days, got {value!r}")
        return days

    def value(self, number: int | float) -> dt.date:
        return dt.date.fromordinal(int(number) + EPOCH_DAY)

    def _number(self, record: Any) -> int | None:
        if isinstance(record, dt.date):
            return record.toordinal() - EPOCH_DAY
        moment = _tick(record) if isinstance(record, np.datetime64) else None
        return None if moment is None else moment // _DAY

    def to_json(self, value: dt.date) -> object:
        return value.isoformat()

    def from_json(self, plain: Any) -> dt.date:
        return dt.date.fromisoformat(plain)


@dataclass(frozen=True)
class Datetime(_Time):
    """Datetimes, in microseconds since 1970; `zone` is None for naive ones."""

    zone: dt.tzinfo | None = None
    name = "datetime"

    @property
    def limits(self) -> tuple[dt.datetime, dt.datetime]:
        # One day inside the range of datetime, so that no time zone overflows.
        first, last = EPOCH.replace(1, 1, 2), EPOCH.replace(9999, 12, 30)
        return first.replace(tzinfo=self.zone), last.replace(tzinfo=self.zone)

    def number(self, value: object, parameter: str) -> int:
        moment = value
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            moment = dt.datetime(value.year, value.month, value.day, tzinfo=self.zone)
        number = safely(self._number, moment)
        if number is None:
            raise wrong_type(parameter, f"{'aware' if self.zone else 'naive'} datetime", value)
        return number

    def value(self, number: int | float) -> dt.datetime:
        moment = EPOCH + int(number) * MICROSECOND
        return moment if self.zone is None else moment.replace(tzinfo=dt.UTC).astimezone(self.zone)

    def _number(self, record: Any) -> int | None:
        # Subtracting naive and aware datetimes, or NaT, raises or gives no number.
        if isinstance(record, dt.datetime):
            return int((record - (EPOCH_UTC if self.zone else EPOCH)) // MICROSECOND)
        naive = self.zone is None and isinstance(record, np.datetime64)
        return _tick(record) if naive else None

    def to_json(self, value: dt.datetime) -> object:
        return value.isoformat()

    def from_json(self, plain: Any) -> dt.datetime:
        moment = dt.datetime.fromisoformat(plain)
        return moment if self.zone is None else moment.astimezone(self.zone)


DATE, DURATION = Date(), Duration()


def zone_name(value: object) -> str | None:
    """The name of a value's time zone, if it has one."""
    return getattr(getattr(value, "tzinfo", None), "key", None)


def zone_by_name(name: str) -> dt.tzinfo:
    """A time zone from its name, or from an offset such as +02:00 or UTC+02:00."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    try:
        return dt.datetime.strptime(name.removeprefix("UTC"), "%z").tzinfo or dt.UTC
    except ValueError:
        raise InvalidValue(
            f"a time zone must be known on this system or be an offset, got {name!r}"
        ) from None
