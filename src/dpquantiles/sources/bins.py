"""What scans ask an engine to compute: bins of values, and whether values lie in ranges.

Bins are small integers to group by. A map from values to bins is double arithmetic that never
overflows, never raises and does not decrease. Only speed depends on that: a bin comes back with its
own least and greatest value, and bins that overlap are joined (see `dpquantiles.sources.lazy`).

A filter by ranges compares the value itself, not its bin, so that engines can skip what it rules
out. NaN compares as the greatest number or not at all, so an upper end leaves it out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.kinds import INT64, Date, Datetime, measure
from dpquantiles.sources import narwhals as nw

VALUE = "x"
"""The column of values in the frame that is scanned."""

Range = tuple[Any, Any]
"""The least and the greatest value of what is wanted, both included."""

Written = TypeVar("Written")

BINS = 1 << 15
"""The most bins of one scan. More would fetch less, but no longer fit in the caches of CPUs."""

MOST_NUMBERS = 1 << 16
"""Up to this many whole numbers get a bin each, and then nothing is left to fetch."""

EVEN = 2.0**32
"""Ranges of numbers up to this width get bins of one width; beyond, bins that widen."""

MOST = {True: 2.0**56, False: 2.0**40}
"""Up to this magnitude whole and real numbers get bins of their own where bins widen."""

HALVINGS = 4
"""How many times the square root is taken."""

DAY = 86_400_000_000
FOCUS = (-16_436 * DAY, 47_482 * DAY)
"""Microseconds from 1970 to the years 1925 and 2100, where most dates lie."""


class Map(Protocol):
    """A map from positions to bins in two steps, the first of which becomes a column.

    Engines compute an expression anew wherever it is used, but a column once.
    """

    def prepared(self, position: Any) -> Any:
        """The first step as an expression, which becomes a column of its own."""

    def bin(self, position: Any, prepared: Any) -> Any:
        """The bin of a position, as an expression."""

    def sql(self, position: str) -> str:
        """The bin of a position that is not missing, in SQL."""


@dataclass(frozen=True)
class Even:
    """Bins of equal width between two ends; what lies outside shares the bins at the ends."""

    low: float
    high: float
    bins: int = BINS

    @property
    def helps(self) -> bool:
        """Whether doubles can tell its ends apart well enough to divide by their distance."""
        return 1e-280 < self.high - self.low < math.inf

    def prepared(self, position: Any) -> Any:
        low, high = (self.low, self.high) if self.helps else (0.0, 0.0)
        return position.clip(low, high)

    def bin(self, position: Any, prepared: Any) -> Any:  # noqa: ARG002
        if not self.helps:
            return prepared
        start, scale = self._line
        return ((prepared - start) * scale).floor()

    def sql(self, position: str) -> str:
        if not self.helps:
            return "0"
        inside = f"least(greatest({position}, {double(self.low)}), {double(self.high)})"
        start, scale = map(double, self._line)
        return f"floor(({inside} - {start}) * {scale})"

    @property
    def _line(self) -> tuple[float, float]:
        """Where bins start, and bins per unit."""
        width = self.high - self.low
        # A little lower than the low end: some databases raise where a product underflows.
        start = self.low - width * 2.0**-60
        # A little less than all bins, so that the high end falls into the last.
        return start, self.bins * (1 - 2.0**-40) / width


@dataclass(frozen=True)
class Roots:
    """Bins of equal width of the sixteenth root, on both sides of zero, of magnitudes to `most`.

    Such bins have nearly one ratio over many decades, as those of a logarithm would; but square
    roots are cheaper on Spark and in Polars, exact to the last bit, and take zero as it is.
    """

    most: float
    bins: int = BINS

    def prepared(self, position: Any) -> Any:
        root = position.abs().clip(0.0, self.most)
        for _ in range(HALVINGS):
            root = root.sqrt()
        return root

    def bin(self, position: Any, prepared: Any) -> Any:
        signed = nw.when(position < 0).then(-self._scale).otherwise(self._scale) * prepared
        return (signed + self.bins / 2).floor()

    def sql(self, position: str) -> str:
        root = f"least(abs({position}), {double(self.most)})"
        for _ in range(HALVINGS):
            root = f"sqrt({root})"
        up, down, middle = map(double, (self._scale, -self._scale, self.bins / 2))
        return f"floor(CASE WHEN {position} < 0 THEN {down} ELSE {up} END * {root} + {middle})"

    @property
    def _scale(self) -> float:
        """Bins per unit of the root, on each side of zero."""
        return (self.bins / 2 - 1) / math.pow(self.most, 0.5**HALVINGS)


class Pieces(NamedTuple):
    """Even bins inside each of several ranges, in ascending order."""

    pieces: Sequence[Even]

    @classmethod
    def of(cls, ranges: Sequence[tuple[float, float]]) -> "Pieces":
        """The same number of bins for each range, `BINS` in all."""
        each = max(2, BINS // max(1, len(ranges)))
        return cls([Even(low, high, each) for low, high in ranges])

    def prepared(self, position: Any) -> Any:
        return position

    def bin(self, position: Any, prepared: Any) -> Any:
        """By halves, so that a row meets few comparisons."""
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            return piece.bin(position, piece.prepared(prepared))
        lower, upper, edge, offset = self._halves
        below = nw.when(position <= edge).then(lower.bin(position, prepared))
        return below.otherwise(upper.bin(position, prepared) + offset)

    def sql(self, position: str) -> str:
        if len(self.pieces) == 1:
            return self.pieces[0].sql(position)
        lower, upper, edge, offset = self._halves
        below, above = lower.sql(position), upper.sql(position)
        return f"CASE WHEN {position} <= {double(edge)} THEN {below} ELSE {above} + {offset} END"

    @property
    def _halves(self) -> tuple["Pieces", "Pieces", float, int]:
        """Two halves, where the lower one ends, and how many bins it has."""
        lower, upper = halves(self.pieces)
        return Pieces(lower), Pieces(upper), lower[-1].high, sum(piece.bins for piece in lower)


def double(number: float) -> str:
    """A double in SQL, exactly."""
    return f"CAST('{number!r}' AS DOUBLE)"


def first_map(grid: Grid, tick: Fraction) -> Map:
    """The bins of the first scan, from public numbers; `tick` is what a position counts."""
    scale = measure(grid.kind) / tick
    ends = (grid.kind.number(end, "grid") for end in grid.decode(np.array([0, grid.size - 1])))
    low, high = (Fraction(end) for end in ends)
    if isinstance(grid.kind, (Date, Datetime)):
        early, late = (Fraction(edge) / measure(grid.kind) for edge in FOCUS)
        if max(low, early) < min(high, late):
            low, high = max(low, early), min(high, late)
    elif high - low > EVEN:
        return Roots(float(Fraction(MOST[grid.kind.integral]) * scale))
    if grid.kind.integral and high - low < MOST_NUMBERS:  # one bin for each number
        half = Fraction(1, 2)
        return Even(float((low - half) * scale), float((high + half) * scale), int(high - low) + 1)
    return Even(float(low * scale), float(high * scale))


def halves(parts: Sequence[Written]) -> tuple[Sequence[Written], Sequence[Written]]:
    """The first half of several parts, and the rest."""
    return parts[: len(parts) // 2], parts[len(parts) // 2 :]


def first_that_reaches(
    ends: Sequence[tuple[Written, Written]], choose: Callable[[Written, Any, Any], Any]
) -> Any:
    """The low end of the first range that does not end below the value, as an expression.

    Where the value is at most an end, `choose` takes the first of two expressions, else the second.
    """
    if len(ends) == 1:
        return ends[0][0]
    lower, upper = halves(ends)
    ways = (first_that_reaches(lower, choose), first_that_reaches(upper, choose))
    return choose(lower[-1][1], *ways)


def by_halves(frame: Any, ranges: Sequence[Range]) -> Any:
    """The rows in ranges, for engines that evaluate only the branch that a row takes."""
    value, ends = nw.col(VALUE), [(_literal(low), _literal(high)) for low, high in ranges]
    inside = (value >= ends[0][0]) & (value <= ends[-1][1])
    if len(ends) > 1:
        inside &= value >= first_that_reaches(
            ends, lambda end, below, above: nw.when(value <= end).then(below).otherwise(above)
        )
    return frame.filter(inside)


def any_of(frame: Any, ranges: Sequence[Range]) -> Any:
    """The rows in ranges, for engines that evaluate every branch for every row."""
    value, ends = nw.col(VALUE), [(_literal(low), _literal(high)) for low, high in ranges]
    inside = [(value >= low) & (value <= high) for low, high in ends]
    while len(inside) > 1:  # by pairs, because engines limit how deep an expression may nest
        pairs = zip(inside[::2], inside[1::2], strict=False)
        inside = [first | second for first, second in pairs] + inside[len(inside) & ~1 :]
    return frame.filter(inside[0])


def _literal(value: Any) -> Any:
    if isinstance(value, int) and value > INT64.max:
        return nw.lit(value, dtype=nw.UInt64)
    return nw.lit(value)
