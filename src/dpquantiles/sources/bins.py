"""What scans ask an engine to compute: bins of values, and whether values lie in ranges.

Bins are small integers to group by. A map from values to bins uses doubles, never overflows, never
raises, and should not decrease. If it did, only speed would suffer, because each bin is returned
with its least and greatest value, and overlapping bins are joined (see `dpquantiles.sources.lazy`).

A filter by ranges compares the value itself, not its bin, so that engines can skip blocks of rows.
Engines treat NaN as the greatest number, or as equal to none, so an upper end leaves it out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import Grid
from dpquantiles.kinds import INT64, Date, Datetime, measure
from dpquantiles.sources import narwhals as nw

VALUE = "x"
"""The column of values in the frame that is scanned."""

Range = tuple[Any, Any]
"""The least and the greatest value of a range, both included."""

Written = TypeVar("Written")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = 1 << 15
"""The most bins of a scan of some ranges. More bins would not fit in CPU caches."""

EVEN_BINS, ROOT_BINS = 1 << 18, 1 << 20
"""The bins of the first scan: of equal width, and bins that widen, most of which are empty."""

BITS = 50
"""There are about two to this power parts of bins, so that doubles tell them apart."""

MOST_NUMBERS = 1 << 16
"""Up to this many whole numbers get a bin each, so that nothing is left to fetch."""

EVEN = 2.0**32
"""Ranges up to this width get bins of equal width, wider ranges get bins that widen."""

MOST = {True: 2.0**56, False: 2.0**40}
"""Bins that widen end at this magnitude: the first for whole numbers, the second for others."""

HALVINGS = 4
"""How many times the square root is taken."""

DAY = 86_400_000_000
FOCUS = (-16_436 * DAY, 47_482 * DAY)
"""Microseconds from 1970 to the years 1925 and 2100, where most dates lie."""


class Map(Protocol):
    """A map from positions to bins in two steps.

    The result of the first step becomes a column, because engines compute a column once. Some of
    them, such as DuckDB, compute an expression again in each place where it is used.
    """

    @property
    def span(self) -> int:
        """A number above all bins."""

    def prepared(self, position: Any) -> Any:
        """The first step, as an expression."""

    def bin(self, position: Any, prepared: Any) -> Any:
        """The bin of a position, as an expression."""

    def sql(self, position: str) -> str:
        """The bin of a position that is not missing, as SQL."""

    def places(self, positions: Floats) -> Ints:
        """The bins of some positions, up to the rounding of roots."""


@dataclass(frozen=True)
class Even:
    """Bins of equal width between two ends. Positions outside fall into the first or last bin."""

    low: float
    high: float
    bins: int = BINS
    parts: int = 1
    """Into how many parts each bin is divided. It is a power of two, so that all of them lie inside
    their bin, however positions are rounded."""

    @property
    def helps(self) -> bool:
        """Whether the ends are far enough apart to divide by their distance in doubles."""
        return 1e-280 < self.high - self.low < math.inf

    @property
    def span(self) -> int:
        return (self.bins + 1) * self.parts

    def prepared(self, position: Any) -> Any:
        low, high = (self.low, self.high) if self.helps else (0.0, 0.0)
        return position.clip(low, high)

    def bin(self, position: Any, prepared: Any) -> Any:  # noqa: ARG002
        if not self.helps:
            return prepared
        start, scale = self._line
        return ((prepared - start) * scale * float(self.parts)).floor()

    def sql(self, position: str) -> str:
        if not self.helps:
            return "0"
        inside = f"least(greatest({position}, {double(self.low)}), {double(self.high)})"
        start, scale, parts = map(double, (*self._line, float(self.parts)))
        return f"floor(({inside} - {start}) * {scale} * {parts})"

    def places(self, positions: Floats) -> Ints:
        if not self.helps:
            return np.zeros(len(positions), dtype=np.int64)
        start, scale = self._line
        line = (np.clip(positions, self.low, self.high) - start) * scale
        places: Ints = np.floor(line * self.parts).astype(np.int64)
        return places

    def around(self, bins: Ints) -> tuple[Floats, Floats]:
        """Positions below and above all those in each of some bins, with a bin to spare."""
        start, scale = self._line if self.helps else (0.0, math.inf)
        ends = ((start + (bins + beside) / scale) for beside in (-1, 2))
        low, high = (np.clip(end, self.low, self.high) for end in ends)
        return low, high

    @property
    def _line(self) -> tuple[float, float]:
        """The start of the first bin, and the number of bins per unit."""
        width = self.high - self.low
        # Start a little below the low end, because some databases raise if a product underflows.
        start = self.low - width * 2.0**-60
        # Scale to a little less than all bins, so that the high end falls into the last one.
        return start, self.bins * (1 - 2.0**-40) / width


@dataclass(frozen=True)
class Roots:
    """Bins of equal width of the sixteenth root, on both sides of zero, for magnitudes to `most`.

    The ends of such bins have nearly the same ratio over many decades, as with a logarithm. But
    square roots are cheaper in Spark and Polars, exact to the last bit, and defined for zero.
    """

    most: float
    bins: int = ROOT_BINS
    parts: int = 1
    """As for `Even`."""
    by_power: bool = False
    """Whether the root is a power. Databases write the nested roots of an expression out in full,
    with the casts of each, and compute all of them."""

    @property
    def span(self) -> int:
        return (self.bins + 1) * self.parts

    def prepared(self, position: Any) -> Any:
        root = position.abs().clip(0.0, self.most)
        if self.by_power:
            return root ** (0.5**HALVINGS)
        for _ in range(HALVINGS):
            root = root.sqrt()
        return root

    def bin(self, position: Any, prepared: Any) -> Any:
        signed = nw.when(position < 0).then(-self._scale).otherwise(self._scale) * prepared
        return ((signed + self.bins / 2) * float(self.parts)).floor()

    def sql(self, position: str) -> str:
        root = f"least(abs({position}), {double(self.most)})"
        for _ in range(HALVINGS):
            root = f"sqrt({root})"
        numbers = (self._scale, -self._scale, self.bins / 2, float(self.parts))
        up, down, middle, parts = map(double, numbers)
        signed = f"CASE WHEN {position} < 0 THEN {down} ELSE {up} END * {root}"
        return f"floor(({signed} + {middle}) * {parts})"

    def places(self, positions: Floats) -> Ints:
        root = np.minimum(np.abs(positions), self.most)
        for _ in range(HALVINGS):
            np.sqrt(root, out=root)
        signed = np.copysign(self._scale * root, positions)
        places: Ints = np.floor((signed + self.bins / 2) * self.parts).astype(np.int64)
        return places

    def around(self, bins: Ints) -> tuple[Floats, Floats]:
        """As for `Even`."""
        roots = ((bins + beside - self.bins / 2) / self._scale for beside in (-1, 2))
        low, high = (np.copysign(root ** (1 << HALVINGS), root) for root in roots)
        return np.clip(low, -self.most, self.most), np.clip(high, -self.most, self.most)

    @property
    def _scale(self) -> float:
        """Bins per unit of the root, on each side of zero."""
        return (self.bins / 2 - 1) / math.pow(self.most, 0.5**HALVINGS)


class Intervals(NamedTuple):
    """Ascending intervals of parts of bins, each inside one bin; both ends are included."""

    first: Ints
    last: Ints

    def cut(self, starts: Ints) -> tuple[Ints, "Intervals"]:
        """The places of intervals that have a cut before one of these parts, and their pieces."""
        owner = np.searchsorted(self.first, starts, side="right") - 1
        inside = (owner >= 0) & (starts > self.first[owner]) & (starts <= self.last[owner])
        which = np.unique(owner[inside])
        first = np.union1d(self.first[which], starts[inside])
        owner = np.searchsorted(self.first, first, side="right") - 1
        last = np.append(first[1:], 0) - 1
        ends = np.append(owner[1:] != owner[:-1], True)[: len(first)]
        return which, Intervals(first, np.where(ends, self.last[owner], last))


class Pieces(NamedTuple):
    """Bins of equal width in each of several ascending ranges."""

    pieces: Sequence[Even]

    @classmethod
    def of(cls, ranges: Sequence[tuple[float, float]]) -> "Pieces":
        """The same number of bins for each range, `BINS` in all."""
        each = max(2, BINS // max(1, len(ranges)))
        return cls([Even(low, high, each) for low, high in ranges])

    @property
    def span(self) -> int:
        return sum(piece.span for piece in self.pieces)

    def prepared(self, position: Any) -> Any:
        return position

    def bin(self, position: Any, prepared: Any) -> Any:
        """Find the piece by halving, so that each row needs few comparisons."""
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

    def places(self, positions: Floats) -> Ints:
        low, high = (np.array([getattr(p, end) for p in self.pieces]) for end in ("low", "high"))
        lines = [piece._line if piece.helps else (0.0, 0.0) for piece in self.pieces]
        (start, scale), bins = np.array(lines).T, [piece.bins for piece in self.pieces]
        before = np.cumsum([0, *bins[:-1]])
        which = np.minimum(np.searchsorted(high, positions), len(high) - 1)
        inside = np.clip(positions, low[which], high[which]) - start[which]
        return np.asarray(np.floor(inside * scale[which]).astype(np.int64) + before[which])

    @property
    def _halves(self) -> tuple["Pieces", "Pieces", float, int]:
        """The two halves, the end of the lower one, and its number of bins."""
        lower, upper = halves(self.pieces)
        return Pieces(lower), Pieces(upper), lower[-1].high, sum(piece.bins for piece in lower)


def cells_over(low: Floats, high: Floats, count: int) -> tuple[Even, NDArray[np.bool_]]:
    """Cells of equal width over ascending ranges, and which of them may hold a part of a range."""
    cells = Even(float(low[0]), float(high[-1]), count)
    wanted = np.zeros(count, dtype=bool)
    for first, last in zip(cells.places(low).tolist(), cells.places(high).tolist(), strict=True):
        wanted[first : last + 1] = True
    return cells, wanted


Parted = Even | Roots
"""Maps whose bins can be divided into parts."""


def finely(bins: Parted) -> Parted:
    """The same bins, divided into so many parts that hardly any part holds several records."""
    return replace(bins, parts=1 << max(0, BITS - bins.bins.bit_length()))


def double(number: float) -> str:
    """A double as SQL, exactly."""
    return f"CAST('{number!r}' AS DOUBLE)"


def first_map(grid: Grid, tick: Fraction) -> Parted:
    """The bins of the first scan, from public numbers. `tick` is one unit of position."""
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
    return Even(float(low * scale), float(high * scale), EVEN_BINS)


def halves(parts: Sequence[Written]) -> tuple[Sequence[Written], Sequence[Written]]:
    """The first half of a list of parts, and the rest."""
    return parts[: len(parts) // 2], parts[len(parts) // 2 :]


def first_that_reaches(
    ends: Sequence[tuple[Written, Written]], choose: Callable[[Written, Any, Any], Any]
) -> Any:
    """The low end of the first range that does not end below the value, as an expression.

    `choose` makes an expression from an end and two others: the first of them if the value is at
    most the end, otherwise the second.
    """
    if len(ends) == 1:
        return ends[0][0]
    lower, upper = halves(ends)
    ways = (first_that_reaches(lower, choose), first_that_reaches(upper, choose))
    return choose(lower[-1][1], *ways)


def by_halves(frame: Any, ranges: Sequence[Range]) -> Any:
    """The rows in these ranges, for engines that evaluate only the branch that a row takes."""
    value, dtype = nw.col(VALUE), frame.collect_schema()[VALUE]
    ends = [(_literal(low, dtype), _literal(high, dtype)) for low, high in ranges]
    inside = (value >= ends[0][0]) & (value <= ends[-1][1])
    if len(ends) > 1:
        inside &= value >= first_that_reaches(
            ends, lambda end, below, above: nw.when(value <= end).then(below).otherwise(above)
        )
    return frame.filter(inside)


def any_of(frame: Any, ranges: Sequence[Range]) -> Any:
    """The rows in these ranges, for engines that evaluate every branch for every row."""
    value, dtype = nw.col(VALUE), frame.collect_schema()[VALUE]
    ends = [(_literal(low, dtype), _literal(high, dtype)) for low, high in ranges]
    inside = [(value >= low) & (value <= high) for low, high in ends]
    while len(inside) > 1:  # join pairs, because engines limit the depth of expressions
        pairs = zip(inside[::2], inside[1::2], strict=False)
        inside = [first | second for first, second in pairs] + inside[len(inside) & ~1 :]
    return frame.filter(inside[0])


def _literal(value: Any, dtype: Any) -> Any:
    """A value of a column of this type, exactly."""
    if isinstance(value, Decimal):  # Ibis rounds decimals, and DuckDB reads long ones as doubles
        return nw.lit(f"{value:f}").cast(dtype)
    if isinstance(value, int) and value > INT64.max:
        return nw.lit(value, dtype=nw.UInt64)
    return nw.lit(value)
