"""Types of columns for generated data: usual cells, hostile ones, and cells to look for in leaks.

A cell is a tick: the number that stands for a value of the type (a float, a whole number, a count
of days or of units of time), None where it is null, or, in lists and CSV files, any odd object.
"""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = dt.datetime(1970, 1, 1)
FAR = 2**63 - 1
CANARY_TEXT = ("canary-73519-harmless", "canary-86427-hostile")
"""Text that only data hold: of the harmless data set, and of the hostile one."""


@dataclass(frozen=True, repr=False)
class ColumnType:
    """A type of column: what it is called, how Arrow stores it, and which ticks it takes."""

    family: str
    arrow: Any
    usual: tuple[int, int]
    ends: tuple[Any, ...]
    canaries: tuple[Any, Any] | None = None
    """Ticks to look for in messages, where the type has room for telling ones."""

    def __repr__(self) -> str:
        return str(self.arrow)

    @property
    def zone(self) -> str | None:
        """The time zone of its datetimes."""
        return self.arrow.tz if self.family == "datetime" else None

    def tick(self, rng: Random) -> Any:
        """An unremarkable cell."""
        if self.family == "float":
            return round(rng.uniform(*self.usual), rng.randrange(4))
        return rng.randint(*self.usual)

    def value(self, tick: Any) -> Any:
        """The Python value of a tick, clamped to what Python can write."""
        if tick is None or isinstance(tick, Odd):
            return tick.record if isinstance(tick, Odd) else None
        return VALUES[self.family](tick, self.arrow)

    def array(self, ticks: list[Any]) -> Any:
        """Ticks as Arrow stores them."""
        if self.family == "float":
            return pa.array(ticks, pa.float64(), from_pandas=False).cast(self.arrow, safe=False)
        if self.family in ("int", "text"):
            return pa.array(ticks, self.arrow)
        if self.family in ("bool", "decimal"):
            return pa.array([self.value(tick) for tick in ticks], self.arrow)
        stored = pa.int32() if self.arrow == pa.date32() else pa.int64()
        return pa.array(ticks, stored).cast(self.arrow)


@dataclass(frozen=True)
class Odd:
    """A record of a list, or a cell of a CSV file, that is not of the column's type."""

    record: Any

    def __repr__(self) -> str:
        return f"Odd({type(self.record).__name__})"


def _decimal(tick: int, arrow: Any) -> Decimal:
    return Decimal(f"{tick}E{-arrow.scale}")


def _date(tick: int, _: Any) -> dt.date:
    day = tick + EPOCH.toordinal()
    return dt.date.fromordinal(min(max(day, 1), dt.date.max.toordinal()))


def _duration(tick: int, arrow: Any) -> dt.timedelta:
    micros = tick * 10**6 // SECONDS[arrow.unit]
    most = 86_399_999_913_600_000_000
    return min(max(micros, -most), most) * dt.timedelta(microseconds=1)


def _datetime(tick: int, arrow: Any) -> dt.datetime:
    micros = min(max(tick * 10**6 // SECONDS[arrow.unit], -62 * 10**15), 253 * 10**15)
    moment = EPOCH + micros * dt.timedelta(microseconds=1)
    if arrow.tz is None:
        return moment
    zone = dt.timezone(dt.timedelta(hours=2)) if arrow.tz == "+02:00" else ZoneInfo(arrow.tz)
    return moment.replace(tzinfo=dt.UTC).astimezone(zone)


VALUES = {
    "float": lambda tick, _: float(tick),
    "int": lambda tick, _: int(tick),
    "bool": lambda tick, _: bool(tick),
    "text": lambda tick, _: str(tick),
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
}

FLOAT_ENDS = (math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, 1e-300)


def _integers() -> list[ColumnType]:
    types = []
    for bits in (8, 16, 32, 64):
        signed, unsigned = getattr(pa, f"int{bits}")(), getattr(pa, f"uint{bits}")()
        canaries = (735197351, 864279351) if bits > 16 else None
        ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0)
        types.append(ColumnType("int", signed, (0, 99), ends, canaries))
        types.append(ColumnType("int", unsigned, (0, 99), (0, 2**bits - 1), canaries))
    return types


def _decimals() -> list[ColumnType]:
    types = []
    for precision, scale in ((5, 0), (10, 2), (18, 6), (38, 9), (38, 0)):
        most = 10**precision - 1
        room = (7351973519, 8642793519) if precision > 10 else None
        arrow = pa.decimal128(precision, scale)
        types.append(ColumnType("decimal", arrow, (0, 9999), (most, -most, 0), room))
    return types


def _times() -> list[ColumnType]:
    types = []
    for unit, second in SECONDS.items():
        usual = (1_500_000_000 * second, 1_700_000_000 * second)
        canaries = (5_073_519_735 * second, 5_186_427_935 * second)
        ends = (FAR, -FAR, -FAR - 1, 0, -1)
        for zone in (None, "UTC", "Europe/Berlin", "+02:00"):
            arrow = pa.timestamp(unit, zone)
            types.append(ColumnType("datetime", arrow, usual, ends, canaries))
        arrow = pa.duration(unit)
        types.append(ColumnType("duration", arrow, (0, 10**6 * second), ends, canaries))
    return types


REAL = [
    ColumnType("float", pa.float64(), (0, 100), FLOAT_ENDS, (73519.73519, 86427.93519)),
    ColumnType("float", pa.float32(), (0, 100), (*FLOAT_ENDS, 3.4e38), (73519.75, 86427.75)),
]
DATE = ColumnType("date", pa.date32(), (18_000, 19_000), (2**31 - 1, -(2**31), 0), (73_519, 86_427))
BOOLEAN = ColumnType("bool", pa.bool_(), (0, 1), (0, 1))
INTEGERS = _integers()
TEXT = ColumnType("text", pa.string(), (0, 5), (), CANARY_TEXT)

VALUE_TYPES = {
    "float": REAL,
    "int": INTEGERS,
    "bool": [BOOLEAN],
    "decimal": _decimals(),
    "date": [DATE],
    "datetime": [kind for kind in _times() if kind.family == "datetime"],
    "duration": [kind for kind in _times() if kind.family == "duration"],
}
"""What quantiles are taken of."""

NAME_TYPES = [TEXT, INTEGERS[6], INTEGERS[0], BOOLEAN, DATE]
"""What groups and units are told apart by."""


def _refuse(*_: object) -> Any:
    raise RuntimeError(CANARY_TEXT[1])


class Unfriendly:
    """An object that raises however it is looked at."""

    __eq__ = __ne__ = __lt__ = __gt__ = __bool__ = __repr__ = __str__ = _refuse
    __len__ = __iter__ = __float__ = __int__ = __index__ = __hash__ = _refuse


class UnfriendlyFloat(float):
    """A number that raises when it is used."""

    __float__ = __eq__ = __ne__ = __lt__ = __gt__ = __bool__ = __repr__ = _refuse
    __hash__ = float.__hash__


def odd_records(family: str, stated: bool) -> list[Any]:
    """Objects that any list may hold, and that leave the type of the list as it is.

    A list of whole numbers with one fraction is a list of fractions, so such objects are left out
    unless a grid states the type.
    """
    neutral = [None, math.nan, CANARY_TEXT[1], b"86427", object(), [86427], {}, 1j, Unfriendly()]
    numbers: dict[str, list[Any]] = {
        "int": [10**400, -(10**400), 2**63],
        "float": [10**400, -(10**400), Fraction(1, 3), math.inf, UnfriendlyFloat(2.5)],
        "decimal": [
            Decimal("sNaN"),
            Decimal("Infinity"),
            Decimal("-1E+999999"),
            Decimal("1E-999999"),
            10**400,
            math.inf,
        ],
        "date": [dt.date.min, dt.date.max],
        "datetime": [dt.datetime.min, dt.datetime.max, dt.date(2020, 1, 1)],
        "duration": [dt.timedelta.max, dt.timedelta.min],
    }
    mine = [] if family == "datetime" else numbers.get(family, [])
    anything = [record for records in numbers.values() for record in records]
    return neutral + (anything if stated else mine)


def odd_cells(family: str) -> list[str]:
    """Cells of CSV files that leave the likeliest type of the column as it is."""
    cells = [CANARY_TEXT[1], "", "  ", "NaN", "null", 'a "quoted, cell"', "two\nlines", "é" * 50]
    numbers = {"int": ["9" * 400, "-" + "9" * 400, " 7 ", "+8", "007"]}
    numbers["float"] = ["1e999", "-inf", "1e-999", *numbers["int"]]
    return cells + numbers.get(family, [])
