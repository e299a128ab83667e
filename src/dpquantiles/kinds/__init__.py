"""Value types: how each Python or NumPy type becomes numbers, one record at a time, and back.

Every type but the real numbers becomes *integers*: days, microseconds, decimal units. The map is
monotone, so order and ranks survive, and exact, so an answer comes back in the type that went in.
"""

from dpquantiles.kinds.domain import ANYTHING, Domain, measure
from dpquantiles.kinds.inference import BY_NAME, infer, named, unsupported
from dpquantiles.kinds.numbers import BOOLEAN, INTEGER, REAL, Boolean, DecimalUnits, Real
from dpquantiles.kinds.protocol import INT64, Column, Kind, as_array, clamp, column
from dpquantiles.kinds.times import (
    DATE,
    DURATION,
    Date,
    Datetime,
    Duration,
    zone_by_name,
    zone_name,
)

__all__ = [
    "ANYTHING",
    "BOOLEAN",
    "BY_NAME",
    "DATE",
    "DURATION",
    "INT64",
    "INTEGER",
    "REAL",
    "Boolean",
    "Column",
    "Date",
    "Datetime",
    "DecimalUnits",
    "Domain",
    "Duration",
    "Kind",
    "Real",
    "as_array",
    "clamp",
    "column",
    "infer",
    "measure",
    "named",
    "unsupported",
    "zone_by_name",
    "zone_name",
]
