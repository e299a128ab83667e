"""Partitions of the grid into cells that are small where there are many records.

A cell of depth d is a run of BRANCHING**(height - d) steps; the deepest cells are single steps.
Cells of a depth below `free` are always cut, the whole grid among them. A smaller cell of depth d
with c records is cut if

    max(1 - toll, c - least - (d - free) toll) + z >= 1                                        (1)

where z is the noise of the cell. Every level requires `toll` more records, so only few of the cells
that contain a given record are close to the threshold. A cell with far too few records has a margin
of 1 - `toll`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BRANCHING = 4
MOST_CELLS = 1 << 20
"""The most cells of a partition; growing stops before a level that would exceed it."""


class Rule(NamedTuple):
    """The public numbers of (1)."""

    least: int
    toll: int
    free: int = 1

    def margin(self, counts: Ints, depth: int) -> Ints:
        """The left side of (1) without noise."""
        return np.maximum(1 - self.toll, counts - self.least - (depth - self.free) * self.toll)


class Cells(NamedTuple):
    """The cells of several partitions.

    Each cell has the number of its partition, its first step, and the numbers of records below it
    and inside it.
    """

    partition: Ints
    start: Ints
    below: Ints
    inside: Ints


Final = Callable[[Ints, Ints], NDArray[np.bool_]]
"""Tells which cells, by their first steps and ends, are never cut; it must be public."""

Noise = Callable[[int, Ints], Ints]
"""The noise of cells of one depth, by their first steps. A cell always has the same."""


def never(first: Ints, end: Ints) -> NDArray[np.bool_]:  # noqa: ARG001
    """No cell is final, other than single steps."""
    return np.zeros(len(first), dtype=bool)


def height(points: int) -> int:
    """How many times cells must be cut until they are single steps."""
    return ((points - 1).bit_length() + 1) // 2


def parts(steps: Ints, length: int) -> int:
    """How many parts of `length` steps contain some of these ascending steps."""
    return min(1, len(steps)) + int(np.count_nonzero(np.diff(steps // length)))


def grown(
    below: Callable[[Ints], Ints],
    points: int,
    rule: Rule,
    noise: Noise,
    partitions: int = 1,
    final: Final = never,
) -> Cells:
    """Grow independent partitions of all steps; `below` counts the records below steps.

    Cells that are `final` are not cut. Cells are sorted by partition, then by step.
    """
    levels, origin = height(points), np.zeros(partitions, dtype=np.int64)
    cells = Cells(np.arange(partitions), origin, origin, origin + below(np.array([points])))
    whole: list[Cells] = []
    for depth in range(levels):
        end = _ends(cells.start, BRANCHING ** (levels - depth), points)
        cut = _cut(rule, noise, final, depth, cells.start, end, cells.inside)
        kept = sum(len(level.start) for level in whole) + len(cut)
        if kept + (BRANCHING - 1) * np.count_nonzero(cut) > MOST_CELLS * partitions:
            break
        whole.append(_chosen(cells, ~cut))
        cells = _parts(_chosen(cells, cut), BRANCHING ** (levels - depth - 1), points, below)
    grown_cells = Cells(*(np.concatenate(arrays) for arrays in zip(*whole, cells, strict=True)))
    return _chosen(grown_cells, np.lexsort((grown_cells.start, grown_cells.partition)))


def reached(
    rough: Callable[[Ints], tuple[Ints, Ints]],
    points: int,
    rule: Rule,
    noise: Noise,
    final: Final = never,
) -> Ints:
    """The edges of all cells that `grown` may come to, in ascending order.

    `rough` tells at least and at most how many records lie below steps. A cell is cut only if, with
    the same noise, it would be cut if it held the most records that it may hold. The search ends
    at a level where more than `MOST_CELLS` cells may be cut, so that their parts are missing.
    """
    levels, start = height(points), np.zeros(1, dtype=np.int64)
    found = [np.array([0, points])]
    for depth in range(levels):
        end = _ends(start, BRANCHING ** (levels - depth), points)
        most = rough(end)[1] - rough(start)[0]
        start = start[_cut(rule, noise, final, depth, start, end, most)]
        if not 0 < len(start) <= MOST_CELLS:
            break
        width = BRANCHING ** (levels - depth - 1)
        which, part = _inside(start, width, points)
        start = start[which] + width * part
        found.append(start)
    return np.unique(np.concatenate(found))


def _cut(
    rule: Rule, noise: Noise, final: Final, depth: int, start: Ints, end: Ints, inside: Ints
) -> NDArray[np.bool_]:
    """Which cells of one depth are cut, by the numbers of records inside them."""
    if depth < rule.free:
        return np.ones(len(start), dtype=bool)
    cut = ~final(start, end)
    cut[cut] = rule.margin(inside[cut], depth) + noise(depth, start[cut]) >= 1
    return cut


def _inside(start: Ints, width: int, points: int) -> tuple[Ints, Ints]:
    """The cells and the numbers of their parts of this width that begin before the last step."""
    last = np.minimum((points - 1 - start) // width, BRANCHING - 1)
    which, part = np.nonzero(np.arange(BRANCHING) <= last[:, None])
    return which, part


def _ends(start: Ints, width: int, points: int) -> Ints:
    """Where cells of this width end; sums beyond all steps might not fit in 64 bits."""
    return start + np.minimum(min(width, points), points - start)


def _chosen(cells: Cells, which: NDArray[np.bool_] | Ints) -> Cells:
    return Cells(*(numbers[which] for numbers in cells))


def _parts(cells: Cells, width: int, points: int, below: Callable[[Ints], Ints]) -> Cells:
    """The parts of cells that have been cut; parts beyond the last step are left out."""
    which, part = _inside(cells.start, width, points)
    last = np.bincount(which, minlength=len(cells.start)) - 1
    start, lower = cells.start[which] + width * part, cells.below[which]
    lower[part > 0] = below(start[part > 0])
    # A part ends where the next one begins; the last part ends with its cell.
    upper = np.where(part == last[which], (cells.below + cells.inside)[which], np.roll(lower, -1))
    return Cells(cells.partition[which], start, lower, upper - lower)
