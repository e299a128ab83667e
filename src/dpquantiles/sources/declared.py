"""Domains of columns by the types that their libraries declare, without a look at a record."""

import re
from typing import Any

from dpquantiles.kinds import ANYTHING, Domain
from dpquantiles.kinds.domain import TRUTHS, days, decimals, floats, integers, times

SIZED = re.compile(r"(U?Int|Float)(\d+)")


def domain_of(dtype: Any) -> Domain:
    """What a type of Narwhals can hold; anything where it does not say."""
    import narwhals.stable.v2 as nw

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
