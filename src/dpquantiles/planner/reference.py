"""Reference data sets: made-up records, given by a formula, that plans use in place of data.

A reference consists of pieces. A piece is a share of the records, evenly spaced over a run of grid
steps; if the run is a single step, these records are tied. A formula gives positions and ranks, so
a reference of a billion records costs no more than one of ten. Only smooth records are random, from
a seeded generator.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import FloatGrid, Grid, GridFamily, UniformGrid, decimal_base, finest
from dpquantiles.kernels.cells import parts

Ints = NDArray[np.int64]

MOST_RECORDS = 2**31
"""The most records; beyond this number, rank errors no longer depend on it."""

MOST_DRAWN = 2**22
"""The most records of a random reference, which must fit in memory."""

MOST_SEARCHED = 2**22
"""Up to this many records, ranks are searched, which is faster than the formula."""

CLUSTERS = 20
CLUSTER_WIDTH = 2.0**-22
"""The width of a cluster as a share of the grid: about a thousand of the 32-bit integers."""

TIES = 80
LEAST_STEP = 1e-9
"""Rounded records follow a step of at least this."""
GOLDEN = (math.sqrt(5) - 1) / 2

SPREAD = 0.5
FLOAT_SPREAD = 2.0**-8
"""The spread without bounds: one sign, and at most about a factor of two between records."""

UNEVEN, ASIDE = 1 - 1 / 18.7, GOLDEN / 6
"""The usual spread on a family of grids is smaller by the first factor, and its middle is moved by
the second part of it: quantiles on round numbers would make a family look too good."""

WHOLE_NUMBERS = round(100_000 * UNEVEN)
"""Whole numbers without bounds run from zero to this, and so do multiples of a resolution."""


class Piece(NamedTuple):
    """A share of the records, and the first step and the number of steps of its run."""

    share: float
    first: int
    steps: int


@dataclass(frozen=True, eq=False)
class Reference:
    """A sorted view of made-up records; `words` describes them."""

    n: int
    grid: Grid
    words: str
    pieces: tuple[Piece, ...]
    labels: int = 1
    """The number of labels per step; with more than one, tied records can be told apart."""
    seed: int = 0
    """The seed of samples, of cluster sizes and of simulated draws."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", min(self.n, MOST_RECORDS))

    @property
    def missing(self) -> int:
        """Plans assume that no record is missing; how many are is never public."""
        return 0

    @cached_property
    def _ends(self) -> Ints:
        """How many records lie in each piece and all pieces before it."""
        through = np.cumsum([piece.share for piece in self.pieces])
        return np.asarray(np.rint(through / through[-1] * self.n).astype(np.int64))

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], self._ends[:-1]])

    @cached_property
    def _first(self) -> Ints:
        """The first step of each piece, counted in labels."""
        return np.array([piece.first * self.labels for piece in self.pieces], dtype=np.int64)

    @cached_property
    def _steps(self) -> Ints:
        """The number of steps of each piece, counted in labels."""
        return np.array([piece.steps * self.labels for piece in self.pieces], dtype=np.int64)

    @property
    def points(self) -> int:
        """The size of the grid, counted in labels."""
        return self.grid.size * self.labels

    @cached_property
    def contrast(self) -> float:
        """The log of the ratio of the room between pieces to the room inside them."""
        return self._room(np.diff(self._first)) if len(self.pieces) > 1 else 0.0

    @cached_property
    def outside(self) -> float:
        """The log of the ratio of the room around all pieces to the room inside them."""
        end = self._first[-1] + self._steps[-1]
        return self._room(np.array([self._first[0], self.points - end]))

    def _room(self, steps: Ints) -> float:
        inside = self._steps / np.maximum(1, self._ends - self._starts)
        return math.log(max(1.0, float(steps.max() / max(1.0, inside.min()))))

    def resized(self, n: int) -> "Reference":
        """The same shape with another number of records."""
        return replace(self, n=n)

    def told_apart(self, labels: int) -> "Reference":
        """The same records, with tied ones evenly spaced over the labels of their step."""
        return replace(self, labels=labels)

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions of the sorted records."""
        index = np.asarray(index)
        if len(self.pieces) == 1:
            return self._first + _scaled(index, self._steps, self._ends)
        piece = np.searchsorted(self._ends, index, side="right")
        count = (self._ends - self._starts)[piece]
        return self._first[piece] + _scaled(index - self._starts[piece], self._steps[piece], count)

    def ranks(self, steps: Ints) -> tuple[Ints, Ints]:
        """How many records lie below, and how many at or below, each step."""
        steps = np.asarray(steps)
        return self.below(steps), self.below(steps + 1)

    def occupied(self, length: int) -> int:
        """How many runs of `length` steps contain records."""
        last = (self._first + self._steps - 1) // length
        return int(np.minimum(self._ends - self._starts, last - self._first // length + 1).sum())

    @cached_property
    def _records(self) -> Ints:
        return self.order_statistics(np.arange(self.n))

    def below(self, steps: Ints) -> Ints:
        """How many records lie below each step."""
        if self.n <= MOST_SEARCHED:
            return np.searchsorted(self._records, steps)
        piece = np.searchsorted(self._first, steps, side="right") - 1
        piece = np.maximum(piece, 0)
        count, width = (self._ends - self._starts)[piece], self._steps[piece]
        offset = np.clip(steps - self._first[piece], 0, width)
        # The smallest i with position(i) >= offset, near offset / width * count.
        guess = np.floor(offset / width * count).astype(np.int64)
        rank = np.full(len(guess), 0, dtype=np.int64)
        for i in (guess - 2, guess - 1, guess, guess + 1):
            inside = (i >= 0) & (i < count)
            low = _scaled(np.where(inside, i, 0), width, np.maximum(count, 1)) < offset
            rank = np.where(inside & low, i + 1, rank)
        rank = np.where(guess - 2 >= count, count, rank)
        return self._starts[piece] + np.clip(rank, 0, count)


@dataclass(frozen=True, eq=False)
class Sample(Reference):
    """Records drawn at random from a single piece, always the same ones for the same seed."""

    drawn: int = 0
    """How many were drawn; if `n` is smaller, records are left out at equal distances."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", min(self.n, MOST_DRAWN))
        object.__setattr__(self, "drawn", self.drawn or self.n)

    @cached_property
    def _records(self) -> Ints:
        (piece,) = self.pieces
        steps = _drawn(self.seed, self.drawn, piece.first, piece.steps)
        steps = steps[(2 * np.arange(self.n) + 1) * self.drawn // (2 * max(1, self.n))]
        if self.labels == 1:
            return steps
        first = np.searchsorted(steps, steps)
        ties = np.searchsorted(steps, steps, side="right") - first
        label = (2 * (np.arange(self.n) - first) + 1) * self.labels // (2 * ties)
        return np.asarray(steps * self.labels + label)

    def order_statistics(self, index: Ints) -> Ints:
        """The steps at these positions of the sorted records."""
        return np.asarray(self._records[index])

    def occupied(self, length: int) -> int:
        """How many runs of `length` steps contain records."""
        return parts(self._records, length)

    def below(self, steps: Ints) -> Ints:
        """How many records lie below each step."""
        return np.searchsorted(self._records, steps)


@lru_cache(maxsize=16)
def _drawn(seed: int, count: int, first: int, steps: int) -> Ints:
    """The sorted records of a sample; cached, because many mechanisms use the same sample."""
    return np.sort(np.random.default_rng([seed, count]).integers(first, first + steps, count))


def _scaled(i: Ints, width: Ints, count: Ints) -> Ints:
    """The step of the i-th of `count` records that are evenly spaced over `width` steps.

    Whole steps per record are exact, and the rest is below `count`: small enough for a double.
    """
    whole = width // count
    rest = (width - whole * count) / count
    return np.asarray(i * whole + (i * rest).astype(np.int64) + whole // 2)


def _apart(count: int, first: int, steps: int, width: int, seed: int) -> tuple[Piece, ...]:
    """Pieces at equal distances; their shares follow no pattern that quantiles could match."""
    places = [first + steps * (2 * k + 1) // (2 * count) for k in range(count)]
    shares = [0.5 + (k + 1) * GOLDEN % 1 for k in range(seed * count, (seed + 1) * count)]
    return tuple(Piece(share, place, width) for share, place in zip(shares, places, strict=True))


Shape = Literal["even", "smooth", "clustered", "tied", "rounded"]
"""The shapes that data may be assumed to have."""

SHAPES: dict[Shape, str] = {
    "even": "evenly spread over",
    "smooth": "drawn at random from",
    "clustered": "in {} narrow clusters over",
    "tied": "tied on {} values over",
    "rounded": "rounded to {} values over",
}
"""A description of each shape, with the number of clusters or ties."""


def reference(shape: str, n: int, grid: Grid, spread: Any = None, seed: int = 0) -> Reference:
    """A reference of the named shape over a part of the grid: a fraction of it, or two values.

    References with other seeds differ only by chance.
    """
    words = SHAPES[require.choice(SHAPES, data=shape)]
    first, steps, where = part(grid, spread)
    pieces: tuple[Piece, ...] = (Piece(1.0, first, steps),)
    if shape == "clustered":
        count = min(CLUSTERS, steps)
        width = max(1, min(int(grid.size * CLUSTER_WIDTH), steps // (2 * count)))
        pieces = _apart(count, first, steps, width, seed)
    elif shape in ("tied", "rounded"):
        pieces = _apart(min(TIES, steps), first, steps, 1, seed)
        pieces = (_with_few_digits if shape == "tied" else _rounded)(grid, pieces)
    family = Sample if shape == "smooth" else Reference
    return family(n, grid, f"records {words.format(len(pieces))} {where}", pieces, seed=seed)


def _with_few_digits(grid: Grid, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The same ties on numbers of float32: values that many records share have few digits."""
    base = finest(grid)
    if not isinstance(base, FloatGrid) or grid.kind.integral:
        return pieces
    numbers = base.numbers(np.array([piece.first for piece in pieces]))
    places = base.encode(numbers.astype(np.float32).astype(np.float64))
    return tuple(
        piece._replace(first=place) for piece, place in zip(pieces, places.tolist(), strict=True)
    )


def _rounded(grid: Grid, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The same ties on multiples of the largest power of ten that keeps them apart.

    If they lie close together and far out, they stay where they are.
    """
    base = grid if isinstance(grid, FloatGrid) else decimal_base(grid)
    if base is None:
        return pieces
    numbers = base.numbers(np.array([piece.first for piece in pieces])).astype(np.float64)
    apart = float(np.diff(numbers).min(initial=math.inf))
    if not LEAST_STEP <= apart < math.inf:
        return pieces
    places = math.floor(math.log10(apart))
    step = 10.0 ** abs(places)
    rounded = np.rint(numbers / step) * step if places >= 0 else np.rint(numbers * step) / step
    steps = base.encode(rounded).tolist()
    return tuple(piece._replace(first=step) for piece, step in zip(pieces, steps, strict=True))


def part(grid: Grid, spread: Any) -> tuple[int, int, str]:
    """The first step, the number of steps, and a description of a part of the grid."""
    if isinstance(spread, (tuple, list)):
        return _between(grid, spread)
    unbounded = not bounded(grid)
    base = finest(grid)
    if spread is None and unbounded and isinstance(base, UniformGrid):
        first, last = grid.encode(np.array([0, float(WHOLE_NUMBERS * base.width)])).tolist()
        return first, last - first + 1, f"the first {WHOLE_NUMBERS:,} multiples of {base.step}"
    if spread is None and unbounded and grid.kind.integral:
        first, last = (int(step) for step in grid.encode(np.array([0, WHOLE_NUMBERS])))
        return first, last - first + 1, f"the whole numbers from 0 to {WHOLE_NUMBERS:,}"
    fraction = (FLOAT_SPREAD if unbounded else SPREAD) if spread is None else spread
    share = require.positive(spread=fraction)
    if share > 1:
        raise InvalidValue(
            "spread must be a fraction of the bounds, at most 1, or a pair of values, "
            f"got {share!r}"
        )
    usual = spread is None and isinstance(grid, GridFamily)
    share *= UNEVEN if usual else 1
    steps = min(grid.size, max(1, round(grid.size * share)))
    middle = 3 * grid.size // 4 if unbounded else grid.size // 2
    if usual:
        middle += round(ASIDE * steps)
    first = max(0, min(middle - steps // 2, grid.size - steps))
    where = f"{share:.3g} of the bounds"
    return first, steps, "a small part of all floating-point numbers" if unbounded else where


def bounded(grid: Grid) -> bool:
    """Whether somebody stated where the grid ends, or its type has few values."""
    return not (isinstance(grid, FloatGrid | GridFamily) and grid.unbounded)


def extent(grid: Grid, spread: Any) -> float | None:
    """The distance between the ends of a part of the grid, as a number of its type.

    None where the ends are only assumed: without bounds, and without a pair of values.
    """
    if isinstance(spread, (tuple, list)):
        _between(grid, spread)
        ends = list(spread)
    elif not bounded(grid):
        return None
    else:
        first, steps, _ = part(grid, spread)
        ends = list(grid.decode(np.array([first, first + steps - 1])))
    low, high = (grid.kind.number(end, "spread") for end in ends)
    return float(high - low)


def _between(grid: Grid, spread: Any) -> tuple[int, int, str]:
    if len(spread) != 2:
        raise InvalidValue(f"spread must be a fraction or a pair (low, high), got {spread!r}")
    low, high = (grid.kind.number(value, "spread") for value in spread)
    first, last = (int(step) for step in grid.encode(np.array([low, high])))
    ends = [grid.kind.number(v, "bounds") for v in grid.decode(np.array([0, grid.size - 1]))]
    if not (ends[0] <= low < high <= ends[1]):
        raise InvalidValue(
            f"spread must be a pair low < high inside the bounds, got {spread[0]!r}, {spread[1]!r}"
        )
    return first, last - first + 1, " to ".join(map(_readable, spread))


def _readable(value: Any) -> str:
    """A number as people write it, such as 10,000 for 10000.0; other values as they are."""
    return f"{value:,.15g}" if isinstance(value, (int, float, np.integer)) else str(value)
