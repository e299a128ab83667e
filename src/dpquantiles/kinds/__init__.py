"""Value types: how values of each Python or NumPy type become numbers, and numbers values.

Real numbers stay as they are. All other types become integers: days, microseconds or decimal units.
The map is monotone, so it preserves ranks. It is exact, so answers have the type of the data. It
maps each record by itself.
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
