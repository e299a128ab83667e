"""Many draws of JointExp at once, on many small data sets at once, in plain floating point.

The forward pass and the walk back of `mechanisms/joint_exp.md`, equations (5) to (8), with a batch
axis in front. A plan needs thousands of draws and no secrecy: masses are ordinary numbers, scaled
by their largest at every step, and the axis of errors is only as long as draws ever go: `Drawn`
says whether any came near one of its ends. Inside a gap between records, where all places have the
same rank, answers are drawn as from a continuum.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # random numbers are loaded when somebody plans
    from numpy.random import Generator

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

UPPER, GAP, LOWER, INTERIOR = range(4)


@dataclass(frozen=True, eq=False)
class Chains:
    """Data sets b = 0 .. B-1 around the same targets, at the same rate.

    `records[k, b]` holds the steps around the ranks of answer k: cell i of the axis is the rank
    targets[k] + start + i, between entries i and i + 1. Before the first record stands -1, after
    the last the number of points. `n` and `surplus` are per data set.
    """

    rate: float
    targets: Ints
    start: int
    records: Ints
    n: Ints
    surplus: Ints
    total: Floats = field(init=False)
    upper: Floats = field(init=False)
    gap: Floats = field(init=False)
    lower: Floats = field(init=False)
    entering: Floats = field(init=False)
    log_scale: Floats = field(init=False)

    def __post_init__(self) -> None:
        steps, batch, width = self.records.shape
        shape = (steps + 1, batch, width - 1)
        for name in ("total", "upper", "gap", "lower", "entering"):
            object.__setattr__(self, name, np.zeros(shape))
        object.__setattr__(self, "log_scale", np.zeros((steps + 1, batch)))
        self.total[0, :, -self.start] = 1.0
        for k in range(1, steps + 1):
            self._advance(k)

    @property
    def length(self) -> int:
        """How many cells the axis has."""
        return int(self.records.shape[2]) - 1

    def _widths(self, k: int) -> Ints:
        return self.records[k - 1, :, 1:] - self.records[k - 1, :, :-1] - 1

    def _advance(self, k: int) -> None:
        """Equations (6) to (8) for step k."""
        widths, before = self._widths(k), self.total[k - 1]
        ranks = self.targets[k - 1] + np.arange(self.start, self.start + self.length)
        on_data = (ranks >= 0) & (ranks <= self.n[:, None])
        boundary, interior = on_data & (widths >= 0), on_data & (widths < 0)
        move = self.length if k == 1 else int(self.targets[k - 1] - self.targets[k - 2])
        down, up = window(before, move, self.rate), prefix(before, self.rate)
        if move < self.length:
            down[:, : -move or None] += self.upper[k - 1][:, move:] * math.exp(-self.rate * move)
        self.upper[k] = np.where(boundary & (ranks > 0), down, 0.0)
        self.lower[k] = np.where(boundary & (ranks < self.n[:, None]), up, 0.0)
        self.entering[k] = down
        self.entering[k, :, 1:] += up[:, :-1] * math.exp(-self.rate)
        self.gap[k] = self._gap(k, np.maximum(widths, 0).astype(np.float64))
        outside = self.upper[k] + self.lower[k] + self.gap[k]
        self.total[k] = np.where(interior, before, outside)
        largest = np.maximum(self.total[k].max(axis=1), 1e-300)
        for masses in (self.total, self.upper, self.gap, self.lower, self.entering):
            masses[k] /= largest[:, None]
        self.log_scale[k] = self.log_scale[k - 1] + np.log(largest)

    def shifts(self, k: int) -> Ints:
        """How much target k exceeds itself and those before it, as far as the axis reaches."""
        found: Ints = self.targets[k - 1] - self.targets[:k][::-1]
        return found[found < self.length]

    def _gap(self, k: int, points: Floats) -> Floats:
        """(8), nested, in the scale of step k - 1.

        Terms with j answers before this one are kept in the scale of step k - j, in which they are
        small: the product of all widths may be beyond every double.
        """
        mass, held = np.zeros_like(points), points > 0
        shifts = self.shifts(k).tolist()
        for j, shift in reversed(list(enumerate(shifts))):
            here = slice(None, self.length - shift)
            mass[:, here] += np.where(held[:, here], self.entering[k - j][:, shift:], 0.0)
            mass *= (points + j) / (j + 1.0)
            if j > 0:
                fade = self.log_scale[k - j] - self.log_scale[min(k - j + 1, k - 1)]
                mass *= np.exp(fade - self.rate * (shift - shifts[j - 1]))[:, None]
        return mass

    def draw(self, rng: "Generator", walks: Ints) -> "Drawn":
        """One draw for every entry of `walks`, which names its data set."""
        return Walks(self, rng, walks).back()


@dataclass(frozen=True)
class Drawn:
    """Row w: the answers of draw w as steps; and whether draws stayed away from the axis' ends."""

    steps: Ints
    low_enough: bool
    high_enough: bool


class Walks:
    """Draws in step with each other, from the last answer back to the first."""

    def __init__(self, chains: Chains, rng: "Generator", walks: Ints) -> None:
        self.chains, self.rng, self.data = chains, rng, walks
        self.axis = np.arange(chains.length)
        self.copies = np.zeros(len(walks), dtype=np.int64)
        self.room = np.zeros(len(walks))

    def back(self) -> Drawn:
        chains, m = self.chains, len(self.chains.targets)
        answers = np.empty((len(self.data), m), dtype=np.int64)
        errors = self.axis + chains.start
        away = np.exp(-chains.rate * np.abs(errors - chains.surplus[:, None]))
        cell = self._choose((chains.total[m] * away)[self.data])
        standing = self._standing(m, cell)
        low, high = int(cell.min()), int(cell.max())
        for k in range(m, 0, -1):
            low, high = min(low, int(cell.min())), max(high, int(cell.max()))
            answers[:, k - 1] = self._answers(k, cell, standing)
            if k > 1:
                cell, standing = self._before(k, cell, standing)
        edge = max(1, chains.length // 16)
        return Drawn(answers, low >= edge, high < chains.length - edge)

    def _choose(self, weights: Floats) -> Ints:
        """A column of each row, in proportion."""
        through = np.cumsum(weights, axis=1)
        drawn = self.rng.random(len(weights)) * through[:, -1]
        chosen = (through <= drawn[:, None]).sum(axis=1)
        return np.asarray(np.minimum(chosen, weights.shape[1] - 1))

    def _standing(self, k: int, cell: Ints) -> Ints:
        chains, at = self.chains, (k, self.data, cell)
        weights = np.stack([chains.upper[at], chains.gap[at], chains.lower[at]], axis=1)
        below, above = self._records(k, cell)
        return np.where(below == above, INTERIOR, self._choose(weights))

    def _records(self, k: int, cell: Ints) -> tuple[Ints, Ints]:
        """The records on both sides of the cut of answer k."""
        records = self.chains.records
        return records[k - 1, self.data, cell], records[k - 1, self.data, cell + 1]

    def _answers(self, k: int, cell: Ints, standing: Ints) -> Ints:
        below, above = self._records(k, cell)
        fresh = np.flatnonzero((standing == GAP) & (self.copies == 0))
        if len(fresh):
            width = (above - below - 1)[fresh]
            self.copies[fresh] = self._copies(k, fresh, cell[fresh], width.astype(np.float64))
            self.room[fresh] = width
        drawn = self.rng.random(len(cell))
        in_gap = standing == GAP
        # The largest of so many points that are left, and so on downwards.
        self.room[in_gap] *= drawn[in_gap] ** (1.0 / self.copies[in_gap])
        offset = np.minimum(self.room.astype(np.int64), np.maximum(above - below - 2, 0))
        return np.where(in_gap, below + 1 + offset, np.where(standing == LOWER, above, below))

    def _copies(self, k: int, who: Ints, cell: Ints, points: Floats) -> Ints:
        """How many answers share the gap: the terms of (8)."""
        chains, shifts = self.chains, self.chains.shifts(k)
        j = np.arange(len(shifts))
        place = cell[:, None] + shifts
        held = place < chains.length
        entered = chains.entering[k - j, self.data[who][:, None], np.where(held, place, 0)]
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(held, entered, 0.0)) - chains.rate * shifts
        logs += chains.log_scale[k - j, self.data[who][:, None]]
        logs += np.cumsum(np.log((points[:, None] + j) / (j + 1.0)), axis=1)
        return 1 + self._choose(np.exp(logs - logs.max(axis=1, keepdims=True)))

    def _before(self, k: int, cell: Ints, standing: Ints) -> tuple[Ints, Ints]:
        """Cell and standing of answer k - 1."""
        chains = self.chains
        move = int(chains.targets[k - 1] - chains.targets[k - 2])
        staying = (standing == GAP) & (self.copies > 1)
        self.copies[standing == GAP] -= 1
        total = chains.total[k - 1][self.data]
        away = self.axis - cell[:, None]
        weights = total * np.exp(-chains.rate * np.abs(away))
        stop = np.where(standing == LOWER, 1, move)[:, None]
        weights[((standing == UPPER)[:, None] & (away < 0)) | (away >= stop)] = 0.0
        tied = cell + move
        held = (standing != LOWER) & (tied < chains.length)
        upper = chains.upper[k - 1, self.data, np.minimum(tied, chains.length - 1)]
        same = np.where(held, upper * math.exp(-chains.rate * move), 0.0)
        choice = self._choose(np.concatenate([weights, same[:, None]], axis=1))
        at_tie = (choice == chains.length) & (standing != INTERIOR)
        moved = np.where(staying | at_tie, tied, np.where(standing == INTERIOR, cell, choice))
        moved = np.minimum(moved, chains.length - 1)
        found = self._standing(k - 1, moved)
        found = np.where(staying, GAP, np.where(at_tie, UPPER, found))
        self.copies[found != GAP] = 0
        return moved, found


def prefix(masses: Floats, rate: float) -> Floats:
    """P(e) = sum over x <= e of exp(-rate (e - x)) F(x), by doubling."""
    found, width = masses.copy(), 1
    while width < masses.shape[1] and rate * width < 745:
        found[:, width:] = found[:, width:] + found[:, :-width] * math.exp(-rate * width)
        width *= 2
    return found


def window(masses: Floats, move: int, rate: float) -> Floats:
    """W(e) = sum over e <= x < e + move of exp(-rate (x - e)) F(x), by doubling."""
    found, power, covered, width = np.zeros_like(masses), masses.copy(), 0, 1
    length = masses.shape[1]
    left = min(move, length)
    while left:
        if left & 1 and covered < length:
            found[:, : length - covered] += power[:, covered:] * math.exp(-min(rate * covered, 745))
            covered += width
        left >>= 1
        if left and width < length:
            grown = power.copy()
            grown[:, :-width] += power[:, width:] * math.exp(-min(rate * width, 745))
            power = grown
        width *= 2
    return found
