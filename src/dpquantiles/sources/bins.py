"""Bins of a column: public maps from values to small integers that an engine can group by.

A map is double arithmetic that never overflows, never raises and does not decrease. Nothing rests
on that but speed: a bin comes back with its own least and greatest value, and bins that overlap
are joined (see `dpquantiles.sources.scanned`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from dpquantiles.grid import Grid
from dpquantiles.kinds import Date, Datetime, measure

BINS = 1 << 15
"""The most bins of one scan: more would fetch less, but outgrow the caches of those who count."""

MOST_NUMBERS = 1 << 16
"""Up to so many whole numbers get a bin each, and then nothing is left to fetch."""

EVEN = 2.0**32
"""Ranges of numbers up to this width get bins of one width; beyond, bins that widen."""

MOST = {True: 2.0**56, False: 2.0**40}
"""Up to this magnitude whole and real numbers get bins of their own where bins widen."""

HALVINGS = 4
"""How many square roots are taken, one of another."""

DAY = 86_400_000_000
FOCUS = (-16_436 * DAY, 47_482 * DAY)
"""Microseconds from 1970 to the years 1925 and 2100, where most dates lie."""


class Map(Protocol):
    """A map from positions to bins, in two steps: engines repeat what is not a column."""

    def prepared(self, position: Any) -> Any:
        """What is to be a column of its own, as an expression."""

    def bin(self, position: Any, prepared: Any) -> Any:
        """The bin of a position, as an expression."""

    def sql(self, position: str) -> str:
        """The same bin in SQL; of a position that is not missing."""


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
        import narwhals.stable.v2 as nw

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
        """As many bins for each range as leave `BINS` for all."""
        each = max(2, BINS // max(1, len(ranges)))
        return cls([Even(low, high, each) for low, high in ranges])

    def prepared(self, position: Any) -> Any:
        return position

    def bin(self, position: Any, prepared: Any) -> Any:
        """By halves, so that a row meets few comparisons."""
        import narwhals.stable.v2 as nw

        first, rest = self.pieces[: len(self.pieces) // 2], self.pieces[len(self.pieces) // 2 :]
        if not first:
            (piece,) = rest
            return piece.bin(position, piece.prepared(prepared))
        offset = sum(piece.bins for piece in first)
        inside = nw.when(position <= first[-1].high).then(Pieces(first).bin(position, prepared))
        return inside.otherwise(Pieces(rest).bin(position, prepared) + offset)

    def sql(self, position: str) -> str:
        first, rest = self.pieces[: len(self.pieces) // 2], self.pieces[len(self.pieces) // 2 :]
        if not first:
            return rest[0].sql(position)
        offset = sum(piece.bins for piece in first)
        below, above = Pieces(first).sql(position), Pieces(rest).sql(position)
        edge = double(first[-1].high)
        return f"CASE WHEN {position} <= {edge} THEN {below} ELSE {above} + {offset} END"


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
