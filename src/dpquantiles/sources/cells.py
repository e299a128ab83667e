"""Values written as text, in the cells of a CSV file or on a command line.

Text has no type. A column has the stated type or, if none is stated, the type that most of its
first cells fit; if two types fit equally well, it is the narrower one (whole numbers before
numbers, dates before datetimes). Either way, the type of a column counts as public, like the schema
of a Parquet file. State it if it must not depend on the records. Once the type is fixed, a cell
affects only its own record: a cell that does not fit counts as missing and never raises. So does a
cell that is known to mean a missing value, even if it would fit.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType
from dpquantiles.kinds import BY_NAME, DecimalUnits, Kind, infer
from dpquantiles.kinds.domain import of_kind
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Dialect

SAMPLE = 10_000
"""If no type is stated for a column of CSV files, this many of its cells tell the type."""

BY_RULE = frozenset({"int", "float", "bool"})
"""Types of which every reader reads the same values in the same cells."""

USUAL = Dialect()
NUMBERS = frozenset({"int", "float", "decimal"})
WHITESPACE = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
"""What is stripped from both ends of a cell."""

MISSING = frozenset({"", "na", "nan", "null", "none", "n/a"})
"""Cells that mean a missing value, in lower case."""

_SHAPES = re.compile(
    r"""(?P<int>[+-]?\d+)
    | (?P<float>[+-]?(?:\d+\.\d*|\.?\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?)
    | (?P<bool>true|false)
    | (?P<date>\d{4}-\d\d-\d\d)
    | (?P<datetime>\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_DIGITS = re.compile(r"[+-]?[0-9][0-9.,' ]*")
_FITTING = {
    "int": ("int",),
    "float": ("int", "float"),
    "bool": ("bool",),
    "date": ("date",),
    "datetime": ("date", "datetime"),
}
"""Types that are recognized in text, narrower ones first, and the shapes of cells that fit."""

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_TRUTHS = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)

_N = r"\d+(?:\.\d+)?"
_DURATIONS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # 1:30, "2 days, 3:04:05.5" and "-1 day, 23:00:00", where only the days are negative
        r"(?:(?P<days>[+-]?\d+) days?,? \+?|(?P<sign>[+-]))?"
        rf"(?P<hours>\d+):(?P<minutes>\d\d)(?::(?P<seconds>{_N}))?",
        # ISO 8601: P1DT2H30M
        rf"(?P<sign>[+-])?P(?:(?P<weeks>{_N})W)?(?:(?P<days>{_N})D)?"
        rf"(?:T(?:(?P<hours>{_N})H)?(?:(?P<minutes>{_N})M)?(?:(?P<seconds>{_N})S)?)?",
        # 7d, 1h 30min, 250 ms
        rf"(?P<sign>[+-])?(?:(?P<weeks>{_N}) ?w(?:eeks?)?)? ?(?:(?P<days>{_N}) ?d(?:ays?)?)? ?"
        rf"(?:(?P<hours>{_N}) ?h(?:ours?)?)? ?(?:(?P<minutes>{_N}) ?m(?:in(?:utes?)?)?)? ?"
        rf"(?:(?P<seconds>{_N}) ?s(?:ec(?:onds?)?)?)? ?(?:(?P<milliseconds>{_N}) ?ms)? ?"
        rf"(?:(?P<microseconds>{_N}) ?us)?",
    )
]


def _whole(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise ValueError(text)
    return _TRUTHS[text.lower()]


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if number.is_nan():
        raise ValueError(text)
    return number


def _date(text: str) -> dt.date:
    return dt.datetime.fromisoformat(text).date()


def _duration(text: str) -> dt.timedelta:
    for pattern in _DURATIONS:
        match = pattern.fullmatch(text)
        parts = {name: part for name, part in match.groupdict().items() if part} if match else {}
        sign = -1 if parts.pop("sign", "+") == "-" else 1
        if parts:
            return sign * dt.timedelta(**{name: float(part) for name, part in parts.items()})
    raise ValueError(text)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "int": _whole,
    "float": float,
    "bool": _truth,
    "decimal": _decimal,
    "date": _date,
    "datetime": dt.datetime.fromisoformat,
    "timedelta": _duration,
}


def parse(text: str, type_name: str) -> Any:
    """The value that text stands for in a type; None if it stands for none."""
    try:
        return _PARSERS[type_name](text)
    except (ValueError, ArithmeticError):
        return None


def looks_like_a_value(text: str) -> bool:
    """Whether text is a number, a truth value or a date rather than a name."""
    return _SHAPES.fullmatch(text) is not None or _DIGITS.fullmatch(text) is not None


def missing_cells(na: Iterable[str] = ()) -> frozenset[str]:
    """All cells that mean a missing value, in lower case."""
    return MISSING | {text.strip().lower() for text in na}


def parse_cell(cell: str, type_name: str, dialect: Dialect = USUAL) -> Any:
    """The value of a cell in a type; None if it has none. Numbers are written as files do."""
    if type_name not in NUMBERS:
        return parse(cell, type_name)
    is_number = re.fullmatch(dialect.number, cell) is not None
    return parse(dialect.plain(cell), type_name) if is_number else None


def read_cells(
    cells: Sequence[str], column: str, type_name: str | None = None, dialect: Dialect = USUAL
) -> TypedColumn:
    """The values of a column of text.

    If a type is stated, no cell can raise: cells that do not fit are missing. If none is stated and
    most of the first cells fit no type at all, the column holds text, which is a TypeError.
    """
    gone = missing_cells(dialect.na)
    if type_name is None:
        first = Counter(cells[:SAMPLE])
        present = {c: n for c, n in first.items() if c.lower() not in gone}
        type_name = _likeliest(present, column, dialect)
    # Cells often repeat, so each distinct one is parsed only once.
    parsed = {
        cell: None if cell.lower() in gone else parse_cell(cell, type_name, dialect)
        for cell in set(cells)
    }
    records = np.empty(len(cells), dtype=object)
    records[:] = [parsed[cell] for cell in cells]
    # The time zone is part of the type of datetimes, and the name of the type does not tell it.
    fitting = any(value is not None for value in parsed.values())
    kind = infer(records) if type_name == "datetime" and fitting else BY_NAME[type_name]
    return TypedColumn(_compact(records, kind), kind, of_kind(kind))


def _likeliest(present: Mapping[str, int], column: str, dialect: Dialect) -> str:
    """The type that most cells fit; the first in `_FITTING` if there are several."""
    if not present:
        return "float"
    shapes: Counter[str | None] = Counter()
    for cell, count in present.items():
        shapes[_shape(cell, dialect)] += count
    name = max(_FITTING, key=lambda name: sum(shapes[shape] for shape in _FITTING[name]))
    fitting = sum(n for cell, n in present.items() if parse_cell(cell, name, dialect) is not None)
    if 2 * fitting < sum(present.values()):
        raise InvalidType(
            f"column {column!r} must hold numbers, booleans, dates or datetimes, got a column of "
            "text; choose another column, or state its type; numbers like 1,234.5 need "
            "thousands=',', numbers like 1.234,5 need decimal=',' and thousands='.', and dates "
            "must be written like 2024-03-31"
        )
    return name


def _shape(cell: str, dialect: Dialect) -> str | None:
    if re.fullmatch(dialect.whole, cell):
        return "int"
    if re.fullmatch(dialect.number, cell):
        return "float"
    match = _SHAPES.fullmatch(cell)
    return match.lastgroup if match and match.lastgroup not in NUMBERS else None


def _compact(records: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """The records as a typed array, with missing ones masked. Decimals stay Python objects."""
    if isinstance(kind, DecimalUnits):
        return records
    numbers, missing = kind.numbers(records)
    dtypes = {"date": "datetime64[D]", "datetime": "datetime64[us]", "timedelta": "timedelta64[us]"}
    typed: NDArray[Any] = numbers.astype(dtypes.get(kind.name, numbers.dtype))
    return typed if missing is None else np.ma.masked_array(typed, missing)
