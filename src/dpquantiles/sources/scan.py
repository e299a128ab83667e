"""The two questions that an engine answers in one scan each: count by bins, and fetch ranges."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import MissingBackend, ScanFailed
from dpquantiles.kinds import INT64
from dpquantiles.sources.bins import Map
from dpquantiles.sources.numbers import Numbers
from dpquantiles.views.protocol import Ints

MISSING = -1
"""The bin of missing values."""

Range = tuple[Any, Any]
"""The least and the greatest value of what is wanted, both included."""


class Counts(NamedTuple):
    """Bins that hold records, in no particular order, and how many records are missing."""

    low: Any
    """The least value of each bin, as a Narwhals series."""
    high: Any
    counts: Ints
    missing: int


def count_bins(numbers: Numbers, bins: Map, ranges: Sequence[Range] | None = None) -> Counts:
    """The size, the least and the greatest value of each bin; of the records in ranges only."""
    import narwhals.stable.v2 as nw

    bin_of = nw.when(numbers.missing).then(nw.lit(MISSING))
    bin_of = bin_of.otherwise(bins.bin(numbers.position).cast(nw.Int32))
    frame = numbers.frame if ranges is None else numbers.frame.filter(_inside(numbers, ranges))
    binned = frame.select(numbers.value, bin_of.cast(nw.Int32).alias("bin"))
    value = numbers.value
    grouped = binned.group_by("bin").agg(
        nw.len().alias("count"), value.min().alias("low"), value.max().alias("high")
    )
    found = collected(numbers, grouped)
    missing = found.filter(nw.col("bin") == MISSING)["count"].sum()
    present = found.filter(nw.col("bin") != MISSING)
    counts = present["count"].to_numpy().astype(np.int64)
    return Counts(present["low"], present["high"], counts, int(missing or 0))


def fetch(numbers: Numbers, ranges: Sequence[Range]) -> NDArray[Any]:
    """The values in these ranges, in no particular order."""
    frame = numbers.frame.filter(_inside(numbers, ranges)).select(numbers.value)
    return numbers.array(collected(numbers, frame)[frame.collect_schema().names()[0]])


def _inside(numbers: Numbers, ranges: Sequence[Range]) -> Any:
    """Whether a value lies in one of the ranges: a predicate on the value itself, not its bin."""
    value = numbers.value
    # NaN compares as the greatest number or not at all, so an upper end leaves it out.
    within = [and_(value >= _literal(low), value <= _literal(high)) for low, high in ranges]
    while len(within) > 1:  # by pairs, because engines limit how deep an expression may nest
        within = [reduce(or_, within[k : k + 2]) for k in range(0, len(within), 2)]
    return within[0]


def _literal(value: Any) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(value, int) and value > INT64.max:
        return nw.lit(value, dtype=nw.UInt64)
    return nw.lit(value)


def collected(numbers: Numbers, frame: Any) -> Any:
    """The rows of a query; an engine that fails gets an error that quotes nothing of the data."""
    try:
        return numbers.collect(frame)
    except (KeyboardInterrupt, SystemExit):
        raise
    except ImportError as error:
        raise MissingBackend(
            f"reading from {numbers.engine} needs {error.name or 'another library'}: "
            f"pip install 'dpquantiles[{numbers.extra}]'"
        ) from None
    except BaseException as error:  # a panic in Rust is not an Exception
        raise ScanFailed(
            f"{numbers.engine} failed while the data were read ({type(error).__name__}), so nothing "
            "was released; its own message may quote data and is left out. Check the connection "
            "and that the same query runs there, then ask again"
        ) from None
