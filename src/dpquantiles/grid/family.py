"""Grid families: many grids at once, for data whose range and rounding nobody has stated.

A member of a family is a range and a step. A mechanism that understands families draws the member
together with its answers, so what nobody stated is paid for once and not once per answer. For
every other mechanism a family is its finest grid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid.floating import FloatGrid
from dpquantiles.grid.member import (
    Member,
    multiples_of,
    nearest_multiples,
    single_index,
    singles,
)
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.uniform import UniformGrid
from dpquantiles.kinds import Kind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

VERSION = 1
"""The version of the default families: their ranges, steps and weights."""

LARGEST = 2**61
"""Multiples go so far, and their half steps are 64-bit integers. Only numbers of float32 go
farther, and records there count as the nearest of them."""

PLENTY, COARSE = 128, 0.5
"""Members with fewer points than PLENTY count less, by this power per answer."""

TOGETHER = 2**14
"""About so many records, once for every step, are placed together: many small calls take longer."""

FEW = 2**12
"""Among so few points, trees reach every one with few cuts."""


@dataclass(frozen=True)
class GridFamily:
    """A public set of grids with weights, and the finest grid, `base`, that records are kept on."""

    base: FloatGrid | UniformGrid
    members: tuple[Member, ...]
    weights: tuple[float, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.members:
            raise InvalidValue("bounds and resolution must leave a grid of at least one point")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.base, self.members, self.weights))

    @property
    def kind(self) -> Kind:
        """The type of its values."""
        return self.base.kind

    @property
    def size(self) -> int:
        """How many points the finest grid has."""
        return self.base.size

    @property
    def unbounded(self) -> bool:
        """Whether nobody has said where values lie, and the type has no limits."""
        if isinstance(self.base, FloatGrid):
            return self.base.unbounded
        return self.base.step is not None and self.kind.limits is None

    def encode(self, numbers: NDArray[Any]) -> Ints:
        """The step of the finest grid nearest to each number."""
        return self.base.encode(numbers)

    def decode(self, steps: Ints) -> list[Any]:
        """The value of each step of the finest grid.

        Where nobody stated a step, the grid's own means nothing, and the shortest number is it.
        """
        base = self.base
        if isinstance(base, UniformGrid) and base.step is None and not self.kind.integral:
            return self.kind.values(base.shortest(steps))
        return base.decode(steps)

    def describe(self) -> dict[str, object]:
        """The public parameters as plain values."""
        sizes = {"members": len(self.members), "steps": len(self.by_step)}
        return {**self.base.describe(), "family": {"version": VERSION, **sizes}}

    def describe_member(self, index: int) -> dict[str, object]:
        """The same, with the member that was used."""
        return {**self.describe(), "member": {"index": index, **self.members[index].describe()}}

    def log_weights(self, answers: int) -> Floats:
        """The log weights of all members, which add up to one, for this many answers.

        Few points happen to lie well more often than many. So a member counts less if its points
        are coarse: K points count by the factor (K / PLENTY)**(COARSE answers).
        """
        return _log_weights(self, answers)

    @cached_property
    def points(self) -> Ints:
        """The sizes of all members."""
        return np.array([member.size for member in self.members], dtype=np.int64)

    @cached_property
    def low(self) -> Ints:
        """The half step before the points of each member, and all points before them."""
        return np.array([2 * member.first for member in self.members], dtype=np.int64)

    @cached_property
    def high(self) -> Ints:
        """The half step after the points of each member."""
        return self.low + 2 * self.points

    @cached_property
    def by_step(self) -> list[tuple[Fraction | None, int, Ints]]:
        """For every step: its width, how far its members reach in multiples, and which they are."""
        groups: dict[Fraction | None, list[int]] = {}
        for index, member in enumerate(self.members):
            groups.setdefault(member.step, []).append(index)
        return [
            (step, max(self.members[index].reach for index in group), np.array(group))
            for step, group in groups.items()
        ]

    def halves(self, steps: Ints) -> Iterator[tuple[Ints, Ints]]:
        """For every step: its members, and records of the finest grid in half steps."""
        count = max(1, TOGETHER // max(1, len(steps)))
        for start in range(0, len(self.by_step), count):
            some = self.by_step[start : start + count]
            halves = self._halves(steps, [(width, reach) for width, reach, _ in some])
            yield from zip((group for _, _, group in some), halves, strict=True)

    def member_halves(self, member: Member, steps: Ints) -> Ints:
        """Records of the finest grid in half steps of one member, from 0 to twice its size."""
        (halves,) = self._halves(steps, [(member.step, member.reach)])
        low, high = 2 * member.first, 2 * (member.first + member.size)
        return np.asarray(np.clip(halves, low, high) - low)

    def _halves(self, steps: Ints, widths: Sequence[tuple[Fraction | None, int]]) -> Ints:
        """A row for each step. Point j is the half step 2j + 1; between j and j + 1 lies 2j + 2.

        Real numbers are compared with points on the finest grid, where both are rounded alike.
        """
        numbers = self.base.numbers(steps)
        shape = len(widths), len(steps)
        nearest, points = np.empty(shape, np.int64), np.empty(shape, numbers.dtype)
        single = np.array([width is None for width, _ in widths])
        for row in np.flatnonzero(single):
            nearest[row] = single_index(self.kind, numbers)
            points[row] = singles(self.kind, nearest[row])
        multiples = [(width, reach) for width, reach in widths if width is not None]
        if multiples:
            found = nearest_multiples(self.kind, numbers, multiples)
            nearest[~single] = found
            points[~single] = multiples_of(self.kind, found, [width for width, _ in multiples])
        if self.kind.integral:
            sides = np.sign(numbers - points)
        else:
            sides = np.sign(steps - self.base.encode(points))
        sides[single] *= np.abs(numbers) <= LARGEST
        return np.asarray(2 * nearest + 1 + sides)


def decimal_base(grid: Grid) -> FloatGrid | UniformGrid | None:
    """The finest grid of a family, if trees look there for the numbers that people write."""
    if not isinstance(grid, GridFamily) or grid.kind.limits is not None or grid.size <= FEW:
        return None
    return grid.base


def finest(grid: Grid) -> Grid:
    """The grid itself, or the finest grid of a family."""
    return grid.base if isinstance(grid, GridFamily) else grid


@lru_cache(maxsize=256)
def _log_weights(family: GridFamily, answers: int) -> Floats:
    coarse = np.log(np.minimum(family.points, PLENTY) / PLENTY)
    logs = np.log(family.weights) + COARSE * answers * coarse
    logs -= np.logaddexp.reduce(logs)
    logs.setflags(write=False)
    return logs
