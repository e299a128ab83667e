"""The two questions that an engine answers in one scan each: count by bins, and fetch ranges."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import MissingBackend, ScanFailed
from dpquantiles.failures import is_interrupt
from dpquantiles.sources.bins import Map
from dpquantiles.sources.numbers import BIN, COUNT, HIGH, LOW, MISSING, Numbers
from dpquantiles.sources.predicates import VALUE, Range
from dpquantiles.views.protocol import Ints


class Counts(NamedTuple):
    """Bins that hold records, in no particular order, and how many records are missing."""

    low: Any
    """The least value of each bin, as a Narwhals series."""
    high: Any
    counts: Ints
    missing: int


def count_bins(numbers: Numbers, bins: Map, ranges: Sequence[Range] | None = None) -> Counts:
    """The size, the least and the greatest value of each bin; of the records in ranges only."""
    with _failure_reported(numbers):
        found = numbers.collect(_grouped(numbers, bins, ranges)).sort(BIN)
        index, counts = (found[name].to_numpy().astype(np.int64) for name in (BIN, COUNT))
        absent = int(np.searchsorted(index, MISSING, side="right"))
        present = found[absent:]
        missing = int(counts[:absent].sum())
        return Counts(present[LOW], present[HIGH], counts[absent:], missing)


def _grouped(numbers: Numbers, bins: Map, ranges: Sequence[Range] | None) -> Any:
    import narwhals.stable.v2 as nw

    frame = numbers.frame if ranges is None else numbers.keep(numbers.frame, ranges)
    if numbers.grouped:
        return numbers.grouped(frame, bins)
    value = numbers.value
    return (
        _binned(numbers, frame, bins)
        .group_by(BIN)
        .agg(nw.len().alias(COUNT), value.min().alias(LOW), value.max().alias(HIGH))
    )


def _binned(numbers: Numbers, frame: Any, bins: Map) -> Any:
    import narwhals.stable.v2 as nw

    position = numbers.position
    frame = frame.with_columns(bins.prepared(position).alias("prepared"))
    place = bins.bin(position, nw.col("prepared")).cast(nw.Int32)
    bin_of = nw.when(numbers.missing).then(nw.lit(MISSING)).otherwise(place)
    return frame.select(numbers.value, bin_of.cast(nw.Int32).alias(BIN))


def fetch(numbers: Numbers, ranges: Sequence[Range]) -> NDArray[Any]:
    """The values in these ranges, in no particular order."""
    with _failure_reported(numbers):
        found = numbers.collect(numbers.keep(numbers.frame, ranges).select(numbers.value))
        return numbers.array(found[VALUE])


def collected(numbers: Numbers, frame: Any) -> Any:
    """The rows of a query on the engine of these numbers."""
    with _failure_reported(numbers):
        return numbers.collect(frame)


def require_same(numbers: Numbers, *, same: bool) -> None:
    """Refuse to go on where one scan contradicts another."""
    if not same:
        raise ScanFailed(
            f"the data in {numbers.engine} changed between two scans, so nothing was released; "
            "read from a table that stands still, such as a snapshot, and ask again"
        )


@contextmanager
def held(numbers: Numbers, taken: AbstractContextManager[Any]) -> Iterator[Any]:
    """What an engine holds while the body runs, and lets go of whatever happens there."""
    with ExitStack() as stack:
        with _failure_reported(numbers):
            native = stack.enter_context(taken)
        yield native
        with _failure_reported(numbers):
            stack.close()


@contextmanager
def _failure_reported(numbers: Numbers) -> Iterator[None]:
    """An engine that fails gets an error of our own that quotes nothing of the data."""
    try:
        yield
    except SystemExit:
        raise
    except ImportError as error:
        raise MissingBackend(
            f"reading from {numbers.engine} needs {error.name or 'another library'}: "
            f"pip install 'dpquantiles[{numbers.extra}]'"
        ) from None
    except BaseException as error:  # a panic in Rust is not an Exception
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise ScanFailed(
            f"{numbers.engine} failed while the data were read ({type(error).__name__}), so "
            "nothing was released; its own message may quote data and is left out. Check the "
            "connection and that the same query runs there, then ask again"
        ) from None
