"""Grids and column types: the default grid of a type, and what a grid rounds and clamps.

Everything follows from public parameters and the declared type, never from records. The proof that
intervals enclose the records is in `mechanisms/bracketed.md`.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid.families import family_of
from dpquantiles.grid.family import finest
from dpquantiles.grid.floating import EXACT_INTEGERS, FloatGrid
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.uniform import UniformGrid, places_of
from dpquantiles.kinds import (
    ANYTHING,
    BOOLEAN,
    DATE,
    INT64,
    INTEGER,
    REAL,
    Datetime,
    DecimalUnits,
    Domain,
    Duration,
    Kind,
    measure,
)

Ints = NDArray[np.int64]

TO_DOUBLES = "are rounded to 53 significant bits."
"""The end of the note on whole numbers beyond those that doubles hold."""


def require_grid(grid: object, bounds: object, resolution: object) -> Grid:
    """Check a grid that is given in place of bounds and resolution."""
    if not isinstance(grid, Grid):
        raise InvalidType(
            "grid must be a grid, such as UniformGrid(0, 100) or FloatGrid(), "
            f"got {require.shown(grid)}"
        )
    if bounds is not None or resolution is not None:
        raise InvalidValue("grid must be given alone, got bounds or resolution as well")
    return grid


def default_grid(kind: Kind, bounds: tuple[Any, Any] | None = None, resolution: Any = None) -> Grid:
    """The family of grids of a type; with both bounds and a resolution, or two values, one grid."""
    if isinstance(kind, DecimalUnits) and resolution is not None:
        kind = DecimalUnits(places_of(resolution))
    for bound in bounds or ():
        kind.number(bound, "bounds")
    if resolution is not None:
        kind.step(resolution, "resolution")
    limits = kind.limits if kind == BOOLEAN else None
    lower, upper = bounds or limits or (None, None)
    if lower is not None and (resolution is not None or limits is not None):
        grid: Grid = _uniform(kind, lower, upper, resolution)
    else:
        grid = family_of(kind, bounds, resolution)
    if grid.size == 1:
        step = "" if resolution is None else f" with a resolution of {resolution!r}"
        raise InvalidValue(
            f"bounds must leave at least two possible answers, got {lower!r} and {upper!r}{step}"
        )
    return grid


@lru_cache(maxsize=128, typed=True)
def _uniform(kind: Kind, lower: Any, upper: Any, resolution: Any) -> UniformGrid:
    """Cached, because exact fractions are slower than a small draw."""
    return UniformGrid(lower, upper, resolution, kind, step_name="resolution")


@dataclass(frozen=True)
class TypedGrid:
    """A grid, and the declared type of the values that it rounds."""

    grid: Grid
    domain: Domain = ANYTHING

    def lower(self, cuts: Ints) -> tuple[Any, ...]:
        """For each cut, a value that is at most every record above the cut.

        A cut is named by the step above it. The value is None where records may lie below every
        value.
        """
        return self._enclosing(cuts, -1)

    def upper(self, cuts: Ints) -> tuple[Any, ...]:
        """For each cut, a value that is at least every record below the cut, or None."""
        return self._enclosing(cuts, 1)

    def _enclosing(self, cuts: Ints, side: int) -> tuple[Any, ...]:
        """The far point of each cut, or the near one where the type has no value in between."""
        pairs = zip(self.grid.decode(cuts - 1), self.grid.decode(cuts), strict=True)
        ends = (pair[self._is_next(*pair) == (side < 0)] for pair in pairs)
        return tuple(None if self._saturates_at(end, side) else end for end in ends)

    @property
    def ends(self) -> tuple[Any, Any]:
        """The ends of the grid; None where the type has values beyond the end."""
        first, last = self._ends
        return None if self._goes_on(-1) else first, None if self._goes_on(1) else last

    @property
    def notes(self) -> list[str]:
        """Sentences on rounding and clamping that nobody requested."""
        return [*self._rounded(), *self._clamped()]

    def _is_next(self, below: Any, above: Any) -> bool:
        """Whether the type has no value between two neighboring points."""
        return self._whole and self._number(above) - self._number(below) == 1

    @cached_property
    def _whole(self) -> bool:
        """Whether every value of the type is a whole number of the kind's units.

        A date stands for all moments of its day.
        """
        kind, unit = self.grid.kind, self.domain.unit
        if kind in (BOOLEAN, DATE):
            return True
        return kind.integral and unit is not None and (unit / measure(kind)).denominator == 1

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        first, last = self.grid.decode(np.array([0, self.grid.size - 1]))
        return first, last

    def _number(self, value: Any) -> Fraction:
        return Fraction(self.grid.kind.number(value, "values"))

    @cached_property
    def _reach(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest number up to which records are told apart."""
        first, last = map(self._number, self._ends)
        if self._saturates:
            return max(first, Fraction(INT64.min)), min(last, Fraction(INT64.max))
        return first, last

    @property
    def _saturates(self) -> bool:
        """Whether records are converted to 64-bit integers before the grid encodes them."""
        return self.grid.kind.integral and not (self.grid.kind == INTEGER and self.domain.native)

    def _type_passes(self, number: Fraction, side: int) -> bool:
        """Whether the type has values below (-1) or above (1) a number."""
        limit = self.domain.low if side < 0 else self.domain.high
        return limit is None or side * limit > side * number * measure(self.grid.kind)

    def _goes_on(self, side: int) -> bool:
        """Whether the type has values below (-1) or above (1) the reach."""
        return self.grid.kind != BOOLEAN and self._type_passes(self._reach[side > 0], side)

    def _saturates_at(self, end: Any, side: int) -> bool:
        """Whether records beyond a point count as that point because 64 bits end there."""
        edge = self._reach[side > 0]
        if edge == self._number(self._ends[side > 0]):
            return False
        return self._goes_on(side) and side * self._number(end) >= side * edge

    def _clamped(self) -> Iterator[str]:
        """A sentence on values that are clamped to an end that nobody stated."""
        usual = map(self._number, TypedGrid(default_grid(self.grid.kind))._ends)
        stated = map(self._number, self._ends)
        low, high = (
            None if not self._goes_on(side) or (edge == own != common) else edge
            for side, edge, own, common in zip((-1, 1), self._reach, stated, usual, strict=True)
        )
        if not self.grid.kind.integral:  # only infinities lie beyond all doubles
            base = finest(self.grid)
            low = None if getattr(base, "lower", low) is None else low
            high = None if getattr(base, "upper", high) is None else high
        least, most = ("" if edge is None else self._shown(edge) for edge in (low, high))
        what = f"above {most} count as {most}" if most else f"below {least} count as {least}"
        if least and most:
            what = f"outside {least} to {most} count as the nearer of the two"
        if least or most:
            yield f"{self._noun} {what}{self._type('goes further')}."

    def _rounded(self) -> Iterator[str]:
        """Sentences on rounding, unless a step was given."""
        grid, kind = finest(self.grid), self.grid.kind
        if isinstance(grid, UniformGrid) and grid.step is not None:
            return
        if kind.integral and not self._whole:
            yield f"{self._noun} are rounded {self._unit}{self._type('is finer')}."
        if kind.integral and isinstance(grid, FloatGrid) and self._passes(EXACT_INTEGERS):
            edge = self._shown(Fraction(EXACT_INTEGERS))
            yield f"{self._noun} outside -{edge} to {edge} {TO_DOUBLES}"
        if not kind.integral and isinstance(grid, UniformGrid):
            yield f"{self._noun} are rounded to multiples of {float(grid.width):.3g}."

    def _passes(self, size: int) -> bool:
        """Whether both the type and the grid have numbers larger than this in size."""
        return any(
            side * self._reach[side > 0] > size and self._type_passes(Fraction(side * size), side)
            for side in (-1, 1)
        )

    @property
    def _noun(self) -> str:
        kind = self.grid.kind
        if kind == DATE:
            return "Dates"
        return "Times" if isinstance(kind, (Datetime, Duration)) else "Values"

    @property
    def _unit(self) -> str:
        kind = self.grid.kind
        if isinstance(kind, DecimalUnits):
            return f"to {kind.places} decimal places"
        return "to whole numbers" if kind == INTEGER else "down to microseconds"

    def _type(self, what: str) -> str:
        return f" (the column's type, {self.domain.name}, {what})" if self.domain.name else ""

    def _shown(self, number: Fraction) -> str:
        """A number of the kind as text, the way people write its value."""
        if self.grid.kind == REAL:
            return f"{float(number):.8g}"
        value = self.grid.kind.value(int(number))
        if isinstance(value, (int, Decimal)):
            return f"{value:,}"
        return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def precision(grid: Grid, domain: Domain) -> dict[str, object]:
    """The entry of a release on rounding and clamping that nobody requested, if there is any."""
    notes = precision_notes(grid, domain)
    return {"precision": list(notes)} if notes else {}


@lru_cache(maxsize=256)
def precision_notes(grid: Grid, domain: Domain) -> tuple[str, ...]:
    """The same as sentences; cached, because exact fractions are slower than a small draw."""
    return tuple(TypedGrid(grid, domain).notes)
