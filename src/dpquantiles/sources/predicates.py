"""The rows whose value lies in one of several ranges, asked for in the form that suits an engine.

The predicate is on the value itself, not on its bin, so that engines can skip what it rules out.
NaN compares as the greatest number or not at all, so an upper end leaves it out.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dpquantiles.kinds import INT64

VALUE = "x"
"""The column of values in the frame that is scanned."""

Range = tuple[Any, Any]
"""The least and the greatest value of what is wanted, both included."""

Keep = Callable[[Any, Sequence[Range]], Any]
"""From a lazy frame and ascending ranges to the rows of the frame that lie in one of them."""


def by_halves(frame: Any, ranges: Sequence[Range]) -> Any:
    """For engines that evaluate only the branch that a row takes: few comparisons a row."""
    import narwhals.stable.v2 as nw

    value = nw.col(VALUE)
    inside = _within(value, (ranges[0][0], ranges[-1][1]))
    return frame.filter(inside & (value >= _low(value, ranges)) if len(ranges) > 1 else inside)


def any_of(frame: Any, ranges: Sequence[Range]) -> Any:
    """For engines that evaluate every branch for every row: comparisons and nothing else."""
    import narwhals.stable.v2 as nw

    within = [_within(nw.col(VALUE), wanted) for wanted in ranges]
    while len(within) > 1:  # by pairs, because engines limit how deep an expression may nest
        pairs = zip(within[::2], within[1::2], strict=False)
        within = [first | second for first, second in pairs] + within[len(within) & ~1 :]
    return frame.filter(within[0])


def _low(value: Any, ranges: Sequence[Range]) -> Any:
    """The low end of the first range that does not end below the value."""
    import narwhals.stable.v2 as nw

    if len(ranges) == 1:
        return _literal(ranges[0][0])
    lower, upper = ranges[: len(ranges) // 2], ranges[len(ranges) // 2 :]
    below = nw.when(value <= _literal(lower[-1][1])).then(_low(value, lower))
    return below.otherwise(_low(value, upper))


def _within(value: Any, wanted: Range) -> Any:
    return (value >= _literal(wanted[0])) & (value <= _literal(wanted[1]))


def _literal(value: Any) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(value, int) and value > INT64.max:
        return nw.lit(value, dtype=nw.UInt64)
    return nw.lit(value)
