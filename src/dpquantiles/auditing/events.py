"""Ways to look at the outputs of a function: each gives every output a label.

An event is a set of labels. The rule that gives labels may depend on the outputs that `reference`
marks, and on no others.

    whole      the output as it is
    place      a number among the quantiles of the reference outputs
    all places all numbers of an output together, more coarsely
    last bit   the exponent of the lowest bit that is set in a double. Noise that was drawn in
               doubles and added to a number leaves out low bits, and which ones depends on the
               number (Mironov, "On significance of the least significant bits for differential
               privacy", CCS 2012)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidType
from dpquantiles.kernels.algebra import Floats
from dpquantiles.results import Description, GroupedRelease, Release

Labels = NDArray[np.int64]
Bools = NDArray[np.bool_]

PLACES = 64
ALL_PLACES = 256
"""The number of labels for one number, and for all numbers together."""

MOST_TOGETHER = 8
"""The most numbers that share labels: two places for each of eight make 256."""

MANTISSA = 53


class Failed(NamedTuple):
    """The error that a function raised; it counts as an output, because a user sees it too."""

    error: str


class Look(NamedTuple):
    """One way to look at all outputs."""

    name: str
    labels: Labels


def looks(outputs: Sequence[Any], reference: Bools) -> Iterator[Look]:
    """All ways to look at these outputs."""
    flat = [tuple(_parts(output)) for output in outputs]
    yield Look("the whole output", _codes(repr(parts) for parts in flat))
    numbers = _matrix(flat)
    if numbers is None:
        return
    columns = list(numbers.T)
    places = [_place(column, reference, PLACES) for column in columns]
    for k, (column, labels) in enumerate(zip(columns, places, strict=True), start=1):
        which = "the number" if len(columns) == 1 else f"number {k}"
        yield Look(f"where {which} lies", labels)
        bits = last_bits(column)
        if len(np.unique(bits)) > 1:
            yield Look(f"the last bit of {which}", bits)
    if 1 < len(columns) <= MOST_TOGETHER:
        each = max(2, int(ALL_PLACES ** (1 / len(columns))))
        together = np.zeros(len(numbers), dtype=np.int64)
        for column in columns:
            together = together * (each + 1) + _place(column, reference, each)
        yield Look("where all numbers lie", together)


def _parts(output: Any) -> Iterator[Any]:
    """The single values in an output: a release, a tuple, an array, a table or a dictionary."""
    if isinstance(output, Mapping):
        yield from (part for item in output.items() for part in _parts(item))
    elif isinstance(output, Release):
        yield from _parts(public(output))
    elif isinstance(output, Description):
        yield from _parts(output.releases)
    elif isinstance(output, GroupedRelease):
        yield from _parts((output.keys, output.values, output.provenance.get("sizes", ())))
    elif hasattr(output, "columns") and hasattr(output, "to_numpy"):  # some iterate over names
        yield from _parts((list(output.columns), output.to_numpy()))
    elif isinstance(output, (str, bytes, Failed)) or not hasattr(output, "__iter__"):
        yield _told(output)
    elif isinstance(output, np.ndarray):
        yield from output.ravel().tolist()
    else:
        yield from (part for item in output for part in _parts(item))


def public(release: Release) -> tuple[Any, ...]:
    """The parts of a release that depend on records: answers, bought sizes, measured ranks."""
    ranks = () if release.ranks is None else (release.ranks.lower, release.ranks.counts)
    return (*release.values, release.provenance.get("size", 0), *ranks)


def _told(value: Any) -> Any:
    """The value itself, refused if its text is only an address, which would hide its content."""
    plain = isinstance(value, (str, bytes, int, float, np.generic, Failed))
    if not plain and f"{id(value):x}" in repr(value).lower():
        raise InvalidType(
            "release must return what can be compared, such as numbers, text, lists or tables, "
            f"got an object of type {type(value).__name__}; return what is in it"
        )
    return value


def _codes(keys: Iterable[str]) -> Labels:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.int64)


def _matrix(flat: Sequence[tuple[Any, ...]]) -> Floats | None:
    """The outputs as rows of numbers; None if they are not numbers, or not equally many."""
    numbers = (bool, int, float, np.number)
    if not flat[0] or len({len(parts) for parts in flat}) > 1:
        return None
    if not all(isinstance(part, numbers) for parts in flat for part in parts):
        return None
    try:
        return np.array(flat, dtype=np.float64)
    except OverflowError:
        return None


def _place(column: Floats, reference: Bools, count: int) -> Labels:
    """The quantiles of the reference outputs between which each number lies; NaN comes last."""
    ordered = np.sort(column[reference & ~np.isnan(column)])
    edges = (
        np.unique(ordered[np.arange(1, count) * len(ordered) // count]) if len(ordered) else ordered
    )
    labels = np.searchsorted(edges, column, side="right")
    return np.where(np.isnan(column), count, labels).astype(np.int64)


def last_bits(column: Floats) -> Labels:
    """The exponent of the lowest bit that is set; 0 for whole, infinite and missing numbers."""
    fraction, exponent = np.frexp(np.where(np.isfinite(column), column, 0.0))
    mantissa = np.abs(np.ldexp(fraction, MANTISSA)).astype(np.int64)
    lowest = np.maximum(mantissa & -mantissa, 1)
    bits = exponent - MANTISSA + np.log2(lowest).astype(np.int64)
    return np.where(mantissa == 0, 0, np.minimum(0, bits)).astype(np.int64)


def caught(function: Callable[[Any], Any], data: Any) -> Any:
    """The output of a function, or the error that it raises, which reveals something too."""
    try:
        return function(data)
    except Exception as error:
        return Failed(type(error).__name__)
